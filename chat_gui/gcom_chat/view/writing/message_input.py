"""The input: Enter sends, Shift+Enter begins a line, Tab completes, Up and Down walk through what was sent."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, QMimeData, Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent, QResizeEvent, QTextCursor
from PySide6.QtWidgets import QPlainTextEdit, QWidget

from gcom_chat.model.input.completion import InputHistory, candidates
from gcom_chat.model.text import folded, unfolded
from gcom_chat.view.writing.completion_list import CompletionList

LINES_SHOWN_MAX = 6  # above that it scrolls: the conversation needs the room


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
        # Tab completes: with True Qt takes the key before `keyPressEvent` sees it.
        self.setTabChangesFocus(False)
        self._list = CompletionList(self)
        self._list.chosen.connect(self._on_chosen)
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
        """Paste text, its long lines folded."""
        if source.hasText():
            self.insertPlainText(folded(source.text()))

    def createMimeDataFromSelection(self) -> QMimeData:
        """Copy what was typed, without the folds."""
        data = QMimeData()
        data.setText(unfolded(self.textCursor().selection().toPlainText()))
        return data

    def setPlainText(self, text: str) -> None:
        """Show a text in place of what is there, its long lines folded."""
        super().setPlainText(folded(text))

    def toPlainText(self) -> str:
        """Return what was typed, without the folds."""
        return unfolded(super().toPlainText())

    def _fit(self) -> None:
        # The layout's lines, not the text's: a long one that is wrapped takes several.
        lines = min(LINES_SHOWN_MAX, max(1, round(self.document().size().height())))
        margins = (
            self.contentsMargins().top() + self.contentsMargins().bottom() + 2 * round(self.document().documentMargin())
        )
        self.setFixedHeight(lines * self.fontMetrics().lineSpacing() + margins + 4)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Fit what is wrapped otherwise now."""
        super().resizeEvent(event)
        self._fit()

    def changeEvent(self, event: QEvent) -> None:
        """Fit a new font."""
        super().changeEvent(event)
        # Qt may send it while the base class is being made, when there are no fields yet.
        if event.type() == QEvent.Type.FontChange and hasattr(self, "_history"):
            self._fit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Handle the keys that mean something here; the rest is typing."""
        key, shift = event.key(), bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        if key in (Qt.Key.Key_Tab, Qt.Key.Key_Backtab):
            if not self._complete(-1 if key == Qt.Key.Key_Backtab else 1):
                # Else Qt keeps the focus here for ever: Tab is a key to type with, as it was told.
                self.setTabChangesFocus(True)
                self.focusNextPrevChild(key == Qt.Key.Key_Tab)
                self.setTabChangesFocus(False)
            return
        self.end_completion()
        if key in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and not shift:
            if self.toPlainText().strip():
                self.entered.emit(self.toPlainText())
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.textCursor().insertBlock()  # Qt's own would be a break within a line, at which Up and Down do not stop
            self.ensureCursorVisible()
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
        # With the folds: the cursor's position counts them.
        text, cursor = super().toPlainText(), self.textCursor()
        if self._cycle is None:
            start, found = candidates(text, cursor.position(), self._members(), self._groups())
            if not found or not text:
                return False
            at = 0
        else:
            start, found, before = self._cycle
            at = (before + step) % len(found)
        self._put(start, found, at)
        return True

    def _put(self, start: int, found: list[str], at: int) -> None:
        cursor = self.textCursor()
        cursor.setPosition(start, QTextCursor.MoveMode.KeepAnchor)
        cursor.insertText(found[at])
        self._cycle = start, found, at
        # Where the word begins: the list stays there, however long each form is.
        begin = QTextCursor(self.document())
        begin.setPosition(start)
        self._list.show_choice(found, at, self.viewport().mapToGlobal(self.cursorRect(begin).topLeft()))

    def _on_chosen(self, at: int) -> None:
        if self._cycle is not None:
            start, found, _ = self._cycle
            self._put(start, found, at)
            self.end_completion()

    def end_completion(self) -> None:
        """Take the word as it stands now."""
        self._cycle = None
        self._list.hide()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """End the completion: its list belongs to what is typed."""
        super().focusOutEvent(event)
        self.end_completion()
