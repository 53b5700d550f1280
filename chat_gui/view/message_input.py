"""Where one types: Enter sends, Shift+Enter begins a line, Tab completes, Up and Down walk through what was sent."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, QMimeData, Qt, Signal
from PySide6.QtGui import QKeyEvent, QTextCursor, QTextOption
from PySide6.QtWidgets import QPlainTextEdit, QWidget

from chat_gui.model.completion import InputHistory, candidates

LINES_SHOWN_MAX = 6
WRAPPED_CHARS_MAX = 20_000  # a longer text is broken anywhere


class MessageInput(QPlainTextEdit):
    """Emits `entered` with what was typed, and empties itself only when the slot says so by `accept`."""

    entered = Signal(str)

    def __init__(
        self, members: Callable[[], list[str]], groups: Callable[[], list[str]], parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._members, self._groups = members, groups
        self._history = InputHistory()
        self._cycle: tuple[int, list[str], int] | None = None  # where the completed word begins, its forms, which one
        self.setAccessibleName(self.tr("Message"))
        self.setPlaceholderText(self.tr("Message, or /help"))
        self.setTabChangesFocus(False)
        self.textChanged.connect(self._fit)
        self._fit()

    def accept(self, line: str) -> None:
        """Keep what was sent among the lines that Up brings back, and begin anew."""
        self._history.add(line)
        self.clear()

    def give_back(self, text: str) -> None:
        """Put a text back that could not be sent, before what is typed now."""
        now = self.toPlainText()
        self.setPlainText(f"{text}\n{now}" if now else text)
        self.moveCursor(QTextCursor.MoveOperation.End)

    def insertFromMimeData(self, source: QMimeData) -> None:
        """Paste; a long text at once."""
        self._wrap(self.document().characterCount() + len(source.text()))
        super().insertFromMimeData(source)

    def setPlainText(self, text: str) -> None:
        """Show a text in place of what is there; a long one at once."""
        self._wrap(len(text))
        super().setPlainText(text)

    def _wrap(self, characters: int) -> None:
        # Qt looks for the end of a word from each line anew: a word of a million characters would take minutes.
        long = characters > WRAPPED_CHARS_MAX
        mode = QTextOption.WrapMode
        self.setWordWrapMode(mode.WrapAnywhere if long else mode.WrapAtWordBoundaryOrAnywhere)

    def _fit(self) -> None:
        lines = min(LINES_SHOWN_MAX, max(1, self.document().blockCount()))
        margins = (
            self.contentsMargins().top() + self.contentsMargins().bottom() + 2 * round(self.document().documentMargin())
        )
        self.setFixedHeight(lines * self.fontMetrics().lineSpacing() + margins + 4)

    def changeEvent(self, event: QEvent) -> None:
        """Fit a new font."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange and hasattr(self, "_history"):
            self._fit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Handle the keys that mean something here; the rest is typing."""
        key, shift = event.key(), bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        if key in (Qt.Key.Key_Tab, Qt.Key.Key_Backtab):
            if not self._complete(-1 if key == Qt.Key.Key_Backtab else 1):
                self.focusNextPrevChild(key == Qt.Key.Key_Tab)
            return
        self._cycle = None
        if key in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and not shift:
            if self.toPlainText().strip():
                self.entered.emit(self.toPlainText())
        elif key == Qt.Key.Key_Up and self.textCursor().blockNumber() == 0 and not shift:
            self._show(self._history.older(self.toPlainText()))
        elif key == Qt.Key.Key_Down and self.textCursor().blockNumber() == self.blockCount() - 1 and not shift:
            self._show(self._history.newer())
        else:
            super().keyPressEvent(event)

    def _show(self, line: str | None) -> None:
        if line is not None:
            self.setPlainText(line)
            self.moveCursor(QTextCursor.MoveOperation.End)

    def _complete(self, step: int) -> bool:
        """Complete the word at the cursor, or go to its next form; False: there is nothing to complete."""
        text, cursor = self.toPlainText(), self.textCursor()
        if self._cycle is None:
            start, found = candidates(text, cursor.position(), self._members(), self._groups())
            if not found or not text:
                return False
            at = 0
        else:
            start, found, before = self._cycle
            at = (before + step) % len(found)
        cursor.setPosition(start, QTextCursor.MoveMode.KeepAnchor)
        cursor.insertText(found[at])
        self._cycle = start, found, at
        return True
