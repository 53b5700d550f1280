"""The window of the ordering duel: it runs the duel in a thread, and shows each ordering as it is done."""

from __future__ import annotations

from threading import Thread

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QCloseEvent
from PySide6.QtWidgets import (
    QDialog,
    QFileDialog,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QScrollArea,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

from chat_gui.client.duel import SEED, DuelFailed, DuelProcess
from chat_gui.model.insight.duel import ORDERINGS, DuelRun
from chat_gui.view.dock.duel_picture import PANEL, DuelPicture, render_duel

SEED_MAX = 999_999


class DuelDialog(QDialog):
    """One conversation under the five orderings; `finished_run` is told whether all were done."""

    finished_run = Signal(bool)
    _told = Signal(object)
    _ended = Signal(str)

    def __init__(self, parent: QWidget | None = None, begin: bool = True) -> None:
        super().__init__(parent)
        self.runs: dict[str, DuelRun] = {}
        self._process: DuelProcess | None = None
        self.setWindowTitle(self.tr("Ordering duel"))
        self.picture = DuelPicture(self)
        self._seed = QSpinBox(self, minimum=0, maximum=SEED_MAX, value=SEED)
        self._seed.setToolTip(self.tr("The seed of the network's chance: another one gives other delays."))
        self._again = QPushButton(self.tr("&Run again"), self)
        self._save = QPushButton(self.tr("&Save picture…"), self)
        self._status = QLabel(self)
        self._status.setTextFormat(Qt.TextFormat.PlainText)
        self._again.clicked.connect(self.run)
        self._save.clicked.connect(self._on_save)
        self._told.connect(self._on_told, Qt.ConnectionType.QueuedConnection)
        self._ended.connect(self._on_ended, Qt.ConnectionType.QueuedConnection)
        self._lay_out()
        if begin:
            self.run()

    def _lay_out(self) -> None:
        label = QLabel(self.tr("S&eed"), self)
        label.setBuddy(self._seed)
        bar = QHBoxLayout()
        for widget in (label, self._seed, self._again, self._save):
            bar.addWidget(widget)
        bar.addSpacing(8)
        bar.addWidget(self._status, 1)
        scroll = QScrollArea(self, widgetResizable=True)
        scroll.setFrameShape(QScrollArea.Shape.NoFrame)
        scroll.setWidget(self.picture)
        layout = QVBoxLayout(self)
        layout.addLayout(bar)
        layout.addWidget(scroll, 1)
        self.resize(3 * PANEL.width() + 40, min(880, 2 * PANEL.height() + 70))

    @Slot()
    def run(self) -> None:
        """Run the duel, unless it runs."""
        if self._process is not None:
            return
        self.runs = {}
        self.picture.show_runs(self.runs)
        self._again.setEnabled(False)
        self._save.setEnabled(False)
        self._show_progress()
        self._process = DuelProcess(self._seed.value())
        Thread(target=self._read, args=(self._process,), name="ordering duel", daemon=True).start()

    def _read(self, process: DuelProcess) -> None:
        try:
            for run in process.runs():
                self._told.emit(run)
        except DuelFailed as error:
            self._ended.emit(str(error))
        else:
            self._ended.emit("")

    @Slot(object)
    def _on_told(self, run: DuelRun) -> None:
        self.runs[run.ordering] = run
        self.picture.show_runs(self.runs)
        self._show_progress()

    def _show_progress(self) -> None:
        text = self.tr("The members talk: {} of {} orderings are done…")
        self._status.setText(text.format(len(self.runs), len(ORDERINGS)))

    @Slot(str)
    def _on_ended(self, why: str) -> None:
        self._process = None
        self._again.setEnabled(True)
        self._save.setEnabled(not why)
        text = (
            self.tr("The duel could not be run: {}")
            if why
            else self.tr("Run just now, by real groups of four members.")
        )
        self._status.setText(text.format(why))
        self.finished_run.emit(not why)

    @Slot()
    def _on_save(self) -> None:
        path = QFileDialog.getSaveFileName(self, self.tr("Save the picture"), "ordering-duel.png", "PNG (*.png)")[0]
        if path and not render_duel(self.runs, self.palette(), self.font()).save(path):
            self._status.setText(self.tr("The picture cannot be written to {}: choose another place.").format(path))

    def done(self, result: int) -> None:
        """Stop the groups, however the window is closed."""
        if self._process is not None:
            self._process.stop()
        super().done(result)

    def closeEvent(self, event: QCloseEvent) -> None:
        """Stop the groups."""
        self.done(0)
        event.accept()
