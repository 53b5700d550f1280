"""The page of the audit: writes delivery logs if asked to, judges them, and leads from an incident to its messages."""

from __future__ import annotations

from pathlib import Path
from threading import Thread

from PySide6.QtCore import QStandardPaths, Qt, QUrl, Signal, Slot
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import (
    QCheckBox,
    QFileDialog,
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QLineEdit,
    QProgressBar,
    QPushButton,
    QTableWidgetItem,
    QVBoxLayout,
    QWidget,
)

from gcom_chat.client.audit_run import AuditFailed, AuditRun
from gcom_chat.model.insight.audit import AuditIncident, AuditOutcome
from gcom_chat.view import colours
from gcom_chat.view.dock.page import FactTable, InsightPage, quiet_label


def log_place() -> str:
    """Return the folder of delivery logs where none was chosen."""
    place = QStandardPaths.writableLocation(QStandardPaths.StandardLocation.AppLocalDataLocation)
    return str(Path(place) / "delivery-logs")


class AuditPage(InsightPage):
    """Judges a folder of delivery logs; `incident_wanted` names a group and a message of an incident."""

    incident_wanted = Signal(str, str, int)
    logs_wanted = Signal(str, bool)  # the folder, and whether logs are written there from the next connect on
    reconnect_wanted = Signal()
    judged = Signal(bool)
    _said = Signal(str)
    _ended = Signal(object, str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.title = self.tr("Audit")
        self.outcome: AuditOutcome | None = None
        self._run: AuditRun | None = None
        self._judged: AuditRun | None = None  # whose report can be opened
        self._next: tuple[int, int] = (-1, 0)  # the incident that was chosen last, and which of its messages is next
        self._build()
        # Queued: the audit's thread emits these, and only the window's own thread may touch a widget.
        self._said.connect(self.about_said, Qt.ConnectionType.QueuedConnection)
        self._ended.connect(self._on_ended, Qt.ConnectionType.QueuedConnection)

    def _build(self) -> None:
        self.folder = QLineEdit(log_place(), self)
        self.folder.setAccessibleName(self.tr("Folder of delivery logs"))
        self.folder.editingFinished.connect(self._on_folder)
        choose = QPushButton(self.tr("Cho&ose…"), self)
        choose.clicked.connect(self._on_choose)
        self.write = QCheckBox(self.tr("&Write delivery logs there"), self)
        self.write.toggled.connect(self._on_write)
        self.reconnect = QPushButton(self.tr("Connect agai&n"), self)
        self.reconnect.setToolTip(
            self.tr("Logs begin when the chat connects: leave the groups, and come back to them.")
        )
        self.reconnect.clicked.connect(self.reconnect_wanted)
        self.all_rules = QCheckBox(self.tr("&Unpromised rules, too"), self)
        self.all_rules.setToolTip(self.tr("Judge what the group's ordering does not promise: see what it costs."))
        self.judge = QPushButton(self.tr("&Judge"), self)
        self.judge.clicked.connect(self._on_judge)
        self.open = QPushButton(self.tr("O&pen report"), self)
        self.open.setEnabled(False)
        self.open.clicked.connect(self._on_open)
        # Without an end: an audit does not know how much there is to do.
        self._busy = QProgressBar(self, maximum=0)
        self._busy.setTextVisible(False)
        self._busy.setFixedWidth(120)
        self._busy.hide()
        self.about = quiet_label(self)
        self.about.setText(
            self.tr("Members that write delivery logs into one folder can be judged by what they wrote: gcom audit.")
        )
        heads = [self.tr("Rule"), self.tr("Group"), self.tr("Promised"), self.tr("What happened")]
        self.table = FactTable(heads, self.tr("Incidents"), self)
        self.table.horizontalHeader().setSectionResizeMode(3, QHeaderView.ResizeMode.Stretch)
        self.table.itemActivated.connect(self._on_activated)
        self._lay_out(choose)

    def _lay_out(self, choose: QPushButton) -> None:
        label = QLabel(self.tr("&Logs in"), self)
        label.setBuddy(self.folder)
        places, actions = QHBoxLayout(), QHBoxLayout()
        of_places: list[QWidget] = [label, self.folder, choose, self.write, self.reconnect]
        of_actions: list[QWidget] = [self.judge, self.all_rules, self.open, self._busy, self.about]
        for row, widgets in ((places, of_places), (actions, of_actions)):
            for widget in widgets:
                row.addWidget(widget, 1 if widget in (self.folder, self.about) else 0)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 6, 0, 0)
        layout.setSpacing(4)
        for row in (places, actions):
            row.setContentsMargins(8, 0, 8, 0)
            layout.addLayout(row)
        layout.addWidget(self.table, 1)

    @property
    def wanted(self) -> str | None:
        """The folder in which delivery logs are wanted; None: they are not."""
        return self.folder.text() if self.write.isChecked() else None

    def restore(self, folder: str, write: bool) -> None:
        """Have what was chosen the last time."""
        for widget in (self.folder, self.write):
            # What is only shown again was not chosen now: it is not written into the settings once more.
            widget.blockSignals(True)
        self.folder.setText(folder or log_place())
        self.write.setChecked(write)
        for widget in (self.folder, self.write):
            widget.blockSignals(False)

    # wishes

    @Slot()
    def _on_choose(self) -> None:
        if path := QFileDialog.getExistingDirectory(self, self.tr("Folder of delivery logs"), self.folder.text()):
            self.folder.setText(path)
            self._on_write(self.write.isChecked())

    @Slot()
    def _on_folder(self) -> None:
        self.logs_wanted.emit(self.folder.text(), self.write.isChecked())

    @Slot(bool)
    def _on_write(self, on: bool) -> None:
        self.logs_wanted.emit(self.folder.text(), on)
        if on:
            self.about.setText(self.tr("Logs begin with the next connect; Connect again does it now."))

    @Slot()
    def _on_judge(self) -> None:
        if self._run is not None:
            self._run.stop()
            return
        self.judge.setText(self.tr("Stop"))
        self.open.setEnabled(False)
        self._busy.show()
        self.about.setText(self.tr("Judging {}…").format(self.folder.text()))
        self._run = AuditRun(self.folder.text(), self.all_rules.isChecked())
        Thread(target=self._wait, args=(self._run,), name="chat audit", daemon=True).start()

    def _wait(self, run: AuditRun) -> None:
        try:
            outcome = run.wait(self._said.emit)
        except AuditFailed as error:
            self._ended.emit(None, str(error))
        else:
            self._ended.emit(outcome, "")

    @Slot(str)
    def about_said(self, text: str) -> None:
        """Show what the audit says while it works."""
        if self._run is not None:
            self.about.setText(text)

    @Slot(object, str)
    def _on_ended(self, outcome: AuditOutcome | None, why: str) -> None:
        # First: what the audit said last may still be queued, and is not shown over the verdict.
        run, self._run = self._run, None
        self.judge.setText(self.tr("&Judge"))
        self._busy.hide()
        if outcome is None or run is None:
            self.about.setText(self.tr("No verdict: {}").format(why))
        else:
            self._judged = run
            self.open.setEnabled(run.report.exists())
            self.show_outcome(outcome)
        self.judged.emit(outcome is not None)

    def show_outcome(self, outcome: AuditOutcome) -> None:
        """Show a verdict and its incidents."""
        self.outcome, self._next = outcome, (-1, 0)
        more = self.tr(" {} more are in the report.").format(outcome.more) if outcome.more else ""
        lead = self.tr(" Double click: the messages.") if outcome.incidents else ""
        self.about.setText(outcome.sentence + "." + more + lead)
        self.table.show_rows([self._row(each) for each in outcome.incidents])
        for at, each in enumerate(outcome.incidents):
            item = self.table.item(at, 2)
            if item is not None:
                item.setForeground(colours.warning(self.palette()) if each.promised else self.palette().text())

    def _row(self, incident: AuditIncident) -> tuple[str, ...]:
        promised = self.tr("✗ yes") if incident.promised else self.tr("no")
        return incident.rule, incident.group, promised, incident.sentence

    @Slot()
    def _on_open(self) -> None:
        if self._judged is not None:
            QDesktopServices.openUrl(QUrl.fromLocalFile(str(self._judged.report)))

    def _on_activated(self, item: QTableWidgetItem) -> None:
        """Show a message of an incident; once more, its next one."""
        if self.outcome is None or item.row() >= len(self.outcome.incidents):
            return
        incident = self.outcome.incidents[item.row()]
        at = self._next[1] if self._next[0] == item.row() else 0
        # It goes round: after the last message of an incident comes its first.
        self._next = (item.row(), at + 1)
        if incident.messages:
            self.incident_wanted.emit(incident.group, *incident.messages[at % len(incident.messages)])

    def stop(self) -> None:
        """End an audit that runs: the window closes."""
        if self._run is not None:
            self._run.stop()
