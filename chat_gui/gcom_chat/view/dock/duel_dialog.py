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
    QLineEdit,
    QPushButton,
    QScrollArea,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

from gcom_chat.client.duel import SEED, DuelFailed, DuelProcess
from gcom_chat.client.live_duel import LiveDuel
from gcom_chat.model.insight.duel import ORDERINGS, DuelRun
from gcom_chat.model.insight.live_duel import TEXT_CHARS_MAX
from gcom_chat.view.dock.duel_picture import PANEL, DuelPicture, render_duel

SEED_MAX = 999_999  # six digits can be read out to somebody


class DuelDialog(QDialog):
    """A conversation under the five orderings; `finished_run` is told whether all were done."""

    finished_run = Signal(bool)
    _told = Signal(object, object)  # the process, and a run of it
    _ended = Signal(object, str)

    def __init__(self, parent: QWidget | None = None, begin: bool = True) -> None:
        super().__init__(parent)
        self.runs: dict[str, DuelRun] = {}
        self._process: DuelProcess | LiveDuel | None = None
        self.setWindowTitle(self.tr("Ordering duel"))
        self.picture = DuelPicture(self)
        self._seed = QSpinBox(self, minimum=0, maximum=SEED_MAX, value=SEED)
        self._seed.setToolTip(self.tr("The seed of the network's chance: another one gives other delays."))
        self._again = QPushButton(self.tr("&Run again"), self)
        self._save = QPushButton(self.tr("&Save picture…"), self)
        self._status = QLabel(self)
        self._status.setTextFormat(Qt.TextFormat.PlainText)
        self.field = QLineEdit(self, maxLength=TEXT_CHARS_MAX)
        self.field.setPlaceholderText(
            self.tr("a live conversation: Bob and Carol answer what you say, in all five groups")
        )
        self._say = QPushButton(self.tr("Sa&y"), self)
        # Enter in a dialog presses its default button: in the field it is to say the text, and no more.
        self._say.setAutoDefault(False)
        self._say.clicked.connect(self.say)
        self.field.returnPressed.connect(self.say)
        self._again.setAutoDefault(False)
        self._save.setAutoDefault(False)
        self._again.clicked.connect(self.run)
        self._save.clicked.connect(self._on_save)
        # Queued: the thread that reads emits these.
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
        speak = QLabel(self.tr("Say as A&lice"), self)
        speak.setBuddy(self.field)
        talk = QHBoxLayout()
        talk.addWidget(speak)
        talk.addWidget(self.field, 1)
        talk.addWidget(self._say)
        scroll = QScrollArea(self, widgetResizable=True)
        scroll.setFrameShape(QScrollArea.Shape.NoFrame)
        scroll.setWidget(self.picture)
        layout = QVBoxLayout(self)
        layout.addLayout(bar)
        layout.addWidget(scroll, 1)
        layout.addLayout(talk)
        room = round(0.95 * self.screen().availableGeometry().height())
        self.resize(3 * PANEL.width() + 40, min(room, 2 * PANEL.height() + 116))

    @Slot()
    def run(self) -> None:
        """Run the script, unless it runs; a live conversation ends."""
        if isinstance(self._process, DuelProcess):
            return
        self._stop()
        self.runs = {}
        self.picture.show_runs(self.runs)
        self._again.setEnabled(False)
        self._save.setEnabled(False)
        self._show_progress()
        self._begin(DuelProcess(self._seed.value()))

    def _begin(self, process: DuelProcess | LiveDuel) -> None:
        self._process = process
        Thread(target=self._read, args=(process,), name="ordering duel", daemon=True).start()

    @Slot()
    def say(self) -> None:
        """Say what is typed as Alice, in a live conversation; the first text begins one."""
        text = self.field.text().strip()
        if not text:
            return
        if not isinstance(self._process, LiveDuel):
            self._stop()
            self.runs = {}
            self._again.setEnabled(True)
            self._save.setEnabled(True)
            self._begin(LiveDuel(self._seed.value()))
            self._status.setText(self.tr("Five groups of four members form; then your line goes out…"))
        if isinstance(self._process, LiveDuel):
            self._process.say(text)
        self.field.clear()

    def _stop(self) -> None:
        # Forgotten first: what it still tells is then of a run that nobody waits for.
        process, self._process = self._process, None
        if process is not None:
            process.stop()

    def _read(self, process: DuelProcess | LiveDuel) -> None:
        why = ""
        try:
            for run in process.runs():
                self._told.emit(process, run)
        except DuelFailed as error:
            why = str(error)
        self._ended.emit(process, why)

    @Slot(object, object)
    def _on_told(self, process: object, run: DuelRun) -> None:
        if process is not self._process:
            return  # of a run that was ended for another
        self.runs[run.ordering] = run
        self.picture.show_runs(self.runs)
        if run.goes_on:
            self._status.setText(self.tr("Live: you are Alice; Run again goes back to the script."))
        else:
            self._show_progress()

    def _show_progress(self) -> None:
        text = self.tr("The members talk: {} of {} orderings are done…")
        self._status.setText(text.format(len(self.runs), len(ORDERINGS)))

    @Slot(object, str)
    def _on_ended(self, process: object, why: str) -> None:
        if process is not self._process:
            return
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
