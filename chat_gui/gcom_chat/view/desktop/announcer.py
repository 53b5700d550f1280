"""Tells assistive technology what is new: messages in the tab that is in front, and what went wrong.

What comes within a moment is told in one sentence, so that a flood does not keep a screen reader talking.
"""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QObject, QTimer, Signal, Slot
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent
from PySide6.QtWidgets import QWidget

from gcom_chat.model.rows import ChatRow, RowKind
from gcom_chat.model.texts.copies import plain

EVERY_MS = 1_000  # the time of a short sentence: what comes meanwhile is told as a number
TEXT_CHARS_MAX = 300  # twenty seconds of speech
_TOLD = RowKind.MESSAGE, RowKind.ACTION, RowKind.PRIVATE, RowKind.VIEW, RowKind.NOTICE


class Announcer(QObject):
    """Announces rows politely, and troubles at once; `announced` brings what was said."""

    announced = Signal(str)

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._window = window
        self._last: ChatRow | None = None
        self._count = 0
        self._timer = QTimer(self, singleShot=True, interval=EVERY_MS)
        self._timer.timeout.connect(self._tell)

    def on_rows(self, rows: Sequence[ChatRow]) -> None:
        """Take new rows of the conversation in front; own ones, and what was said before, need no telling."""
        told = [row for row in rows if row.kind in _TOLD and not row.own and not row.earlier]
        if told:
            # Only the last is read out: a screen reader that is behind cannot be told to skip.
            self._last, self._count = told[-1], self._count + len(told)
            # Not begun anew with each row, or a talk without a pause would never be told.
            if not self._timer.isActive():
                self._timer.start()

    def say(self, text: str, urgent: bool = False) -> None:
        """Announce a text; an urgent one interrupts."""
        # Cut: a peer's long text cannot keep the reader talking.
        event = QAccessibleAnnouncementEvent(self._window, text[:TEXT_CHARS_MAX])
        kinds = QAccessible.AnnouncementPoliteness
        event.setPoliteness(kinds.Assertive if urgent else kinds.Polite)
        QAccessible.updateAccessibility(event)
        self.announced.emit(event.message())

    @Slot()
    def _tell(self) -> None:
        last, count, self._last, self._count = self._last, self._count, None, 0
        if last is not None:
            text = plain(last)
            self.say(text if count == 1 else self.tr("%n new; the last: {}", "", count).format(text))
