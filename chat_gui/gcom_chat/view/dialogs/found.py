"""The hits of a search on disk, and what was said before and after the chosen one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime

from PySide6.QtCore import QModelIndex, Qt, QTimer, Signal, Slot
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QLabel, QSplitter, QVBoxLayout, QWidget

from gcom_chat.model.query import MATCH_CASE, Query
from gcom_chat.model.rows import ChatRow, RowKind
from gcom_chat.model.updates import FoundOnDisk, SurroundingsCame
from gcom_chat.view.dialogs.whole_text import WholeText
from gcom_chat.view.rows.conversation_view import ConversationView


class FoundDialog(QDialog):
    """Two lists: hits above, and below the surroundings of one, for which `around_wanted` asks by group and key."""

    around_wanted = Signal(str, int)

    def __init__(self, found: FoundOnDisk, parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle(
            self.tr("Found in the scrollback: {}").format(found.text.removeprefix(MATCH_CASE).strip()[:60])
        )
        # Each search opens another one, and its lists of rows would stay with the window.
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.hits = ConversationView(lambda *_: (), self)
        self.hits.setAccessibleName(self.tr("Hits"))
        self.around = ConversationView(lambda *_: (), self)
        self.around.setAccessibleName(self.tr("What was said around it"))
        self._places: list[tuple[str, int]] = []  # by row of the list: group and key; a heading has no key
        self._wanted = ("", 0)
        self._step = 1  # from a heading on to a hit, as the keys went
        rows: list[ChatRow] = []
        several = len({group for group, _ in found.found}) > 1
        for group, row in found.found:
            if several and (not self._places or self._places[-1][0] != group):
                rows.append(ChatRow(0, RowKind.DAY, row.at_ms, "", group))
                self._places.append((group, 0))
            # Keys of two groups may be equal; those of a list are not. All is earlier, so nothing need look so.
            rows.append(replace(row, key=len(rows) + 1, text=_with_day(row), earlier=False))
            self._places.append((group, row.key))
        self.hits.rows.append(rows, trim=False)
        for view in (self.hits, self.around):
            view.mark(Query.parse(found.text))
            view.open_wanted.connect(lambda row: WholeText(row, self).show())
        split = QSplitter(Qt.Orientation.Vertical, self)
        split.setChildrenCollapsible(False)
        split.addWidget(self.hits)
        split.addWidget(self.around)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close, self)
        buttons.rejected.connect(self.reject)
        layout = QVBoxLayout(self)
        layout.addWidget(QLabel(self.tr("Choose a line to see what was said around it."), self))
        layout.addWidget(split, 1)
        layout.addWidget(buttons)
        self.resize(720, 560)
        self.hits.selectionModel().currentChanged.connect(self._on_chosen)
        self.hits.setCurrentIndex(self.hits.rows.index(len(rows) - 1))

    def _on_chosen(self, index: QModelIndex, before: QModelIndex) -> None:
        group, key = self._places[index.row()] if index.isValid() else ("", 0)
        if key:
            self._wanted = group, key
            self.around_wanted.emit(group, key)
        elif index.isValid():
            self._step = -1 if 0 < index.row() < before.row() else 1
            QTimer.singleShot(0, self._pass_heading)  # the list selects the row after it told of it

    @Slot()
    def _pass_heading(self) -> None:
        row = self.hits.currentIndex().row()
        if row >= 0 and not self._places[row][1]:
            self.hits.setCurrentIndex(self.hits.rows.index(row + self._step))

    def ask(self) -> None:
        """Ask for the surroundings of the hit that is chosen."""
        if self._wanted[1]:
            self.around_wanted.emit(*self._wanted)

    def show_around(self, came: SurroundingsCame) -> None:
        """Show the surroundings of the hit that is chosen now."""
        if (came.group, came.key) == self._wanted:
            self.around.rows.beginResetModel()
            self.around.rows.rows = list(_with_day_lines([replace(row, earlier=False) for row in came.rows]))
            self.around.rows.endResetModel()
            self.around.delegate.restyle()  # rows of another group may have the same keys, not the same heights
            # Now: `reveal` scrolls to where the rows lie.
            self.around.doItemsLayout()
            self.around.reveal(came.key)


def _with_day(row: ChatRow) -> str:
    return f"({_day(row)}) {row.text}"


def _with_day_lines(rows: Iterable[ChatRow]) -> Iterator[ChatRow]:
    """Yield rows with a line over the first one of each day; the scrollback has such a line for some of them."""
    day = ""
    for row in rows:
        if row.kind is not RowKind.DAY and _day(row) != day:
            # Heights are kept by key, and no row on disk has a negative one.
            yield ChatRow(-row.key, RowKind.DAY, row.at_ms, "", _day(row))
        day = _day(row)
        yield row


def _day(row: ChatRow) -> str:
    return f"{datetime.fromtimestamp(row.at_ms / 1000):%Y-%m-%d}"
