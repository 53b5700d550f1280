"""The rows that one conversation shows: a window of the newest, to which older ones are added as they are asked for."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from gcom_chat.model.rows import ChatRow, MessageState
from gcom_chat.model.texts.copies import plain
from gcom_chat.model.texts.words import QT_TRANSLATE_NOOP

SHOWN_MAX = 1_000  # rows while the end is shown: the list lays out all of them whenever one comes
ROW_ROLE = Qt.ItemDataRole.UserRole
_Index = QModelIndex | QPersistentModelIndex
_NOWHERE = QModelIndex()

DELIVERY_TEXT = {
    MessageState.WAITING: QT_TRANSLATE_NOOP("delivery", "waiting: still on this computer"),
    MessageState.SENT: QT_TRANSLATE_NOOP("delivery", "sent"),
    MessageState.ORDERED: QT_TRANSLATE_NOOP("delivery", "ordered and delivered here; not yet known to be held by all"),
    MessageState.HELD: QT_TRANSLATE_NOOP("delivery", "held by all members"),
    MessageState.DOUBT: QT_TRANSLATE_NOOP("delivery", "in doubt: it may not have arrived, and the chat finds out"),
    MessageState.LOST: QT_TRANSLATE_NOOP("delivery", "not sent"),
    MessageState.UNCONFIRMED: QT_TRANSLATE_NOOP("delivery", "it may not have arrived"),
}
# By name, for lines that ended badly: as links below each, in its menu, and on the banner for all.
LINE_ACTIONS = {
    "again": QT_TRANSLATE_NOOP("lines", "Send again"),
    "edit": QT_TRANSLATE_NOOP("lines", "Edit"),
    "discard": QT_TRANSLATE_NOOP("lines", "Discard"),
}


class RowsModel(QAbstractListModel):
    """A list of rows, oldest first; the own messages that have no place yet stand at its end."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.rows: list[ChatRow] = []
        self._outbox: list[ChatRow] = []
        self._look: list[tuple[str, MessageState]] = []
        self.marker: int | None = None

    def rowCount(self, parent: _Index = _NOWHERE) -> int:
        """Return the number of rows."""
        return 0 if parent.isValid() else len(self.rows) + len(self._outbox)

    def row(self, index: int) -> ChatRow:
        """Return the row at an index."""
        return self.rows[index] if index < len(self.rows) else self._outbox[index - len(self.rows)]

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        """Return a row's text, as assistive technology reads it, or the row itself."""
        if not index.isValid():
            return None
        row = self.row(index.row())
        if role == ROW_ROLE:
            return row
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            return plain(row)
        return None

    def append(self, rows: Sequence[ChatRow], trim: bool) -> None:
        """Add rows at the end, before the outbox; `trim`: the oldest go, since nobody reads them."""
        if not rows:
            return
        # All that is shown would go, row by row: a list that begins anew is laid out once.
        if trim and len(rows) >= SHOWN_MAX:
            self.beginResetModel()
            self.rows = list(rows[-SHOWN_MAX:])
            self.endResetModel()
            return
        at = len(self.rows)
        self.beginInsertRows(QModelIndex(), at, at + len(rows) - 1)
        self.rows.extend(rows)
        self.endInsertRows()
        over = len(self.rows) - SHOWN_MAX
        if trim and over > 0:
            self.beginRemoveRows(QModelIndex(), 0, over - 1)
            del self.rows[:over]
            self.endRemoveRows()

    def prepend(self, rows: Sequence[ChatRow]) -> None:
        """Add older rows at the top."""
        if rows:
            self.beginInsertRows(QModelIndex(), 0, len(rows) - 1)
            self.rows[:0] = rows
            self.endInsertRows()

    def show_outbox(self, rows: Sequence[ChatRow]) -> bool:
        """Replace what stands at the end without a place; return whether it was others."""
        # By what they are and how they look: the rows are the same objects while their states change.
        look = [(row.id, row.delivery) for row in rows]
        if look == self._look:
            return False
        self._look = look
        at = len(self.rows)
        if self._outbox:
            self.beginRemoveRows(QModelIndex(), at, at + len(self._outbox) - 1)
            self._outbox = []
            self.endRemoveRows()
        if rows:
            self.beginInsertRows(QModelIndex(), at, at + len(rows) - 1)
            self._outbox = list(rows)
            self.endInsertRows()
        return True

    def refresh(self, keys: set[int]) -> None:
        """Have rows painted again, by their keys."""
        first = self.rows[0].key if self.rows else 0
        for key in keys:
            at = key - first  # keys of neighbours follow each other, unless older ones were loaded
            if not (0 <= at < len(self.rows) and self.rows[at].key == key):
                at = next((place for place, row in enumerate(self.rows) if row.key == key), -1)
            if at >= 0:
                self.dataChanged.emit(self.index(at), self.index(at))

    def index_of(self, key: int) -> QModelIndex:
        """Return the index of a key; an invalid one if the row is not shown."""
        return next((self.index(at) for at, row in enumerate(self.rows) if row.key == key), QModelIndex())
