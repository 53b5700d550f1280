"""The page of debug mode: a matrix of links to choose from, sliders for the chosen ones, a record that is replayed."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import Qt, QTimer, Signal, Slot
from PySide6.QtGui import QBrush, QPalette
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFileDialog,
    QGridLayout,
    QHBoxLayout,
    QHeaderView,
    QPushButton,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

import gcom
from gcom_chat.client.fault_control import FaultControl
from gcom_chat.model.insight.debugging import (
    REGISTRY,
    FaultRecording,
    Link,
    for_all,
    link_text,
    obey,
    with_cuts,
    with_link,
)
from gcom_chat.model.insight.group_insight import GroupInsight
from gcom_chat.model.insight.names import short
from gcom_chat.model.texts.isolates import apart
from gcom_chat.view import colours
from gcom_chat.view.dock.link_editor import LinkEditor
from gcom_chat.view.dock.page import FactTable, InsightPage, quiet_label

REPLAY_MS = 50  # a step comes at most so late: a recording's steps are further apart
FIRST_SEED, SEED_MAX = 1, 999_999


class DebugPage(InsightPage):
    """Changes the faults of the chat's node; `changed` tells whether debug mode is on, and the faults in words."""

    changed = Signal(bool, str)
    _told = Signal(str)

    def __init__(self, find: Callable[[], gcom.Node | None], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.title = self.tr("Debug mode")
        self.faults = gcom.Faults(seed=FIRST_SEED)
        self.recording: FaultRecording | None = None
        self._replayed: tuple[FaultRecording, int, int] | None = None  # of what, since when, up to where
        self._began_ms = 0
        self._names: list[str] = []
        self._chosen: list[Link] = []  # by their names: rows and columns move when members come and go
        # Queued: the thread of FaultControl emits it.
        self._told.connect(self._on_told, Qt.ConnectionType.QueuedConnection)
        self.control = FaultControl(find, self._told.emit)
        self._build()
        self._replay_timer = QTimer(self, interval=REPLAY_MS)
        self._replay_timer.timeout.connect(self._on_replay_tick)
        self._show_state("")

    # how it is built

    def _build(self) -> None:
        self.switch = _toggle(self.tr("&Turn debug mode on"), self)
        self.switch.toggled.connect(self._on_switched)
        self.seed = QSpinBox(self, minimum=0, maximum=SEED_MAX, value=FIRST_SEED)
        self.seed.setPrefix(self.tr("seed "))
        self.seed.setAccessibleName(self.tr("Seed of all chance"))
        self.seed.valueChanged.connect(lambda seed: self._have(replace(self.faults, seed=seed)))
        self.record = _toggle(self.tr("&Record"), self)
        self.record.toggled.connect(self._on_record)
        self._play = QPushButton(self.tr("Re&play…"), self)
        self._play.clicked.connect(self._on_play)
        self._heal = QPushButton(self.tr("Hea&l all"), self)
        self._heal.clicked.connect(self.heal)
        self.about = quiet_label(self)
        self.matrix = FactTable([], self.tr("Links, from the row's member to the column's"), self)
        self.matrix.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectItems)
        self.matrix.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.matrix.setShowGrid(True)
        self.matrix.setAlternatingRowColors(False)
        self.matrix.verticalHeader().show()
        self.matrix.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        self.matrix.horizontalHeader().setMinimumSectionSize(96)
        self.matrix.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        self.matrix.horizontalHeader().setStretchLastSection(False)
        self.matrix.horizontalHeader().setDefaultAlignment(Qt.AlignmentFlag.AlignCenter)
        self.matrix.viewport().setBackgroundRole(QPalette.ColorRole.Window)
        self.matrix.itemSelectionChanged.connect(self._on_selected)
        self.editor = LinkEditor(self)
        self.editor.edited.connect(self._on_edited)
        self.editor.freeze_wanted.connect(self._on_freeze)
        self._lay_out()

    def _lay_out(self) -> None:
        buttons = QGridLayout()
        buttons.addWidget(self.switch, 0, 0, 1, 2)
        buttons.addWidget(self.seed, 1, 0, 1, 2)
        buttons.addWidget(self.record, 2, 0)
        buttons.addWidget(self._play, 2, 1)
        buttons.addWidget(self._heal, 3, 0, 1, 2)
        buttons.setRowStretch(4, 1)
        row = QHBoxLayout()
        row.setContentsMargins(8, 0, 8, 4)
        row.setSpacing(12)
        row.addLayout(buttons)
        row.addWidget(self.matrix, 1)
        row.addWidget(self.editor)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(2)
        layout.addWidget(self.about)
        layout.addLayout(row, 1)

    # what is wished

    @property
    def on(self) -> bool:
        """Return whether debug mode is on."""
        return self.switch.isChecked()

    def command(self, name: str, rest: str, members: Sequence[str]) -> str:
        """Obey a command in a group of these members; return what it did in words. Raises BadCommand."""
        if name == "debug":
            self.switch.setChecked({"on": True, "off": False}.get(rest, not self.on))
            return self.tr("debug mode is on") if self.on else self.tr("debug mode is off")
        if not self.on:
            return self.tr("debug mode is off: /debug on turns it on")
        self._have(obey(self.faults, name, rest, members))
        self._show_editor()
        return self.tr("faults now: {}").format(self.faults)

    @Slot()
    def heal(self) -> None:
        """Have no faults, but the same seed."""
        self._have(gcom.Faults(seed=self.faults.seed))
        self._show_editor()

    def _have(self, faults: gcom.Faults) -> None:
        """Have these faults, as far as debug mode is on."""
        self.faults = faults
        # Set only where it differs: the field's own signal would bring the faults here once more.
        if self.seed.value() != faults.seed:
            self.seed.setValue(faults.seed)
        if self.recording is not None:
            self.recording.add(_now_ms() - self._began_ms, faults)
        if self.on:
            self.control.put(faults)
            self.changed.emit(True, str(faults))
        self._show_matrix()

    @Slot(bool)
    def _on_switched(self, on: bool) -> None:
        self.switch.setText(self.tr("&Turn debug mode off") if on else self.tr("&Turn debug mode on"))
        self.control.put(self.faults if on else gcom.Faults())
        self.changed.emit(on, str(self.faults))
        self._show_state("")

    @Slot(str)
    def _on_told(self, why: str) -> None:
        """Show that faults were refused: then debug mode is not on."""
        if why and self.on:
            # Silently: its own slot would change the faults of the node, which has just refused them.
            self.switch.blockSignals(True)
            self.switch.setChecked(False)
            self.switch.blockSignals(False)
            self.switch.setText(self.tr("&Turn debug mode on"))
            # The stripe goes as well, though no slot of the switch has run.
            self.changed.emit(False, "")
        self._show_state(why)

    def _show_state(self, why: str) -> None:
        if why:
            text = self.tr("Debug mode is not on: {}").format(why)
        else:
            text = self.tr(
                "Faults of this chat’s own calls, on purpose; on loopback only. Choose links in the matrix (row: from, "
                "column: to), then set what happens to them. Other members keep theirs, unless all follow one file."
            )
        self.about.setText(text)

    # links

    def show_insight(self, insight: GroupInsight, now_ms: int) -> None:
        """Show the links of the members there are."""
        names = [*dict.fromkeys(short(each) for each in insight.clocks.members), REGISTRY]
        # Before the first look there is the registry alone, and no link.
        if names != self._names and len(names) > 1:
            self._names = names
            # While its cells move, what is selected is nobody's choice.
            self.matrix.blockSignals(True)
            self.matrix.setRowCount(len(names))
            self.matrix.setColumnCount(len(names))
            self.matrix.show_heads([self.tr("to {}").format(apart(name)) for name in names], names, names)
            self._show_matrix()
            self._select_chosen()
            self.matrix.blockSignals(False)

    def _select_chosen(self) -> None:
        self.matrix.clearSelection()
        for source, target in self._chosen:
            if source in self._names and target in self._names:
                item = self.matrix.item(self._names.index(source), self._names.index(target))
                if item is not None:
                    item.setSelected(True)

    def _show_matrix(self) -> None:
        for row, source in enumerate(self._names):
            for column, target in enumerate(self._names):
                text = "" if source == target else link_text(self.faults, source, target)
                item = self.matrix.put(row, column, text)
                item.setTextAlignment(Qt.AlignmentFlag.AlignCenter)
                words = self.tr("from {} to {}: {}").format(apart(source), apart(target), text or self.tr("no faults"))
                item.setData(Qt.ItemDataRole.AccessibleTextRole, words)
                item.setToolTip(words)
                palette, faint = self.palette(), colours.faint(self.palette())
                ground = palette.base().color()
                if source == target:
                    ground = colours.tint(palette, faint, 0.2)
                elif text:
                    ground = colours.tint(
                        palette, colours.warning(palette) if "✂" in text else colours.accent(palette), 0.2
                    )
                item.setBackground(QBrush(ground))

    def chosen(self) -> list[Link]:
        """Return the links that were chosen in the matrix; a member that is gone may come back to them."""
        return list(self._chosen)

    @Slot()
    def _on_selected(self) -> None:
        found = [(self._names[each.row()], self._names[each.column()]) for each in self.matrix.selectedIndexes()]
        self._chosen = [(source, target) for source, target in found if source != target]
        self._show_editor()

    def _show_editor(self) -> None:
        links = self._chosen
        first = links[0] if links else ("*", "*")
        self.editor.show_link(links, self.faults.of_link(*first), bool(links) and self.faults.cut(*first))

    @Slot(object, bool)
    def _on_edited(self, settings: gcom.LinkFaults, cut: bool) -> None:
        links = self.chosen()
        if links:
            self._have(with_cuts(with_link(self.faults, links, settings), links, cut))
        else:
            self._have(for_all(self.faults, settings))

    @Slot(int)
    def _on_freeze(self, freeze_ms: int) -> None:
        """Freeze the members of the chosen rows; the wish is not kept, so that the next change freezes nobody."""
        frozen = {source: freeze_ms for source, _ in self.chosen() if source != REGISTRY}
        if frozen and self.on:
            self.control.put(replace(self.faults, freeze=frozen))
            if self.recording is not None:
                self.recording.add(_now_ms() - self._began_ms, replace(self.faults, freeze=frozen))

    # record and replay

    @Slot(bool)
    def _on_record(self, on: bool) -> None:
        if on:
            self.recording, self._began_ms = FaultRecording(), _now_ms()
            # What is in force when the record begins is its first step, or a replay would begin with other faults.
            self.recording.add(0, self.faults)
            self.record.setText(self.tr("&Save record…"))
            return
        path = QFileDialog.getSaveFileName(self, self.tr("Save the record"), "faults.json", "JSON (*.json)")[0]
        if not path and self.on:
            # Not thrown away by an Esc: nobody could make the same record again.
            self.record.blockSignals(True)
            self.record.setChecked(True)
            self.record.blockSignals(False)
            self.about.setText(self.tr("The record goes on: save it later, or turn debug mode off to drop it."))
            return
        recording, self.recording = self.recording, None
        self.record.setText(self.tr("&Record"))
        if path and recording is not None:
            self.save(recording, path)

    def save(self, recording: FaultRecording, path: str) -> None:
        """Write a recording to a file."""
        try:
            Path(path).write_text(recording.to_json(), "utf-8")
        except OSError as error:
            self.about.setText(self.tr("cannot write {}: {}; choose another place").format(path, error.strerror))

    @Slot()
    def _on_play(self) -> None:
        path = QFileDialog.getOpenFileName(self, self.tr("Replay a record"), "", "JSON (*.json)")[0]
        if path:
            self.replay(path)

    def replay(self, path: str) -> None:
        """Have the faults of a record, each as late as it was recorded."""
        try:
            recording = FaultRecording.from_json(Path(path).read_text("utf-8"))
        except (OSError, UnicodeDecodeError, gcom.BadValue) as error:
            self.about.setText(self.tr("{} cannot be replayed: {}").format(path, error))
            return
        # First, so that the faults of the record's beginning are in force before its clock runs.
        self.switch.setChecked(True)
        self._replayed = (recording, _now_ms(), 0)
        self._replay_timer.start()

    @Slot()
    def _on_replay_tick(self) -> None:
        if self._replayed is None:
            return
        recording, since_ms, done_ms = self._replayed
        now_ms = _now_ms() - since_ms
        if (faults := recording.due(done_ms, now_ms)) is not None:
            self._have(faults)
            self._show_editor()
        self._replayed = (recording, since_ms, now_ms)
        if now_ms > recording.length_ms or not self.on:
            self._replay_timer.stop()
            self._replayed = None

    def close_control(self) -> None:
        """Change nothing more: the window closes."""
        self._replay_timer.stop()
        self.control.close()


def _toggle(text: str, parent: QWidget) -> QPushButton:
    button = QPushButton(text, parent)
    button.setCheckable(True)
    return button


def _now_ms() -> int:
    # Not the wall clock: a record is of spans, and that clock may be set meanwhile.
    return time.monotonic_ns() // 1_000_000
