"""The names that Tab goes through, in a list over the input; it never takes the keys."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QModelIndex, QPoint, Qt, Signal
from PySide6.QtWidgets import QListWidget, QWidget

LINES_SHOWN_MAX = 8  # it stands over the conversation, which should stay readable


class CompletionList(QListWidget):
    """Shows the forms of a word, and which one stands in the input now; a click `chosen` takes another."""

    chosen = Signal(int)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        # A window, which no edge of the input cuts off; a Popup would be one too, and would take the keys.
        self.setWindowFlags(Qt.WindowType.ToolTip)
        self.setAttribute(Qt.WidgetAttribute.WA_ShowWithoutActivating)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setAccessibleName(self.tr("Completions"))
        self.clicked.connect(self._on_clicked)

    def show_choice(self, words: Sequence[str], at: int, above: QPoint) -> None:
        """Show words with the one at `at` marked, over a point of the screen; one alone needs no list."""
        if len(words) < 2:
            self.hide()
            return
        shown = [word.strip().removesuffix(":") for word in words]
        # Filled anew only for another word: each Tab only moves the mark.
        if shown != [self.item(row).text() for row in range(self.count())]:
            self.clear()
            self.addItems(shown)
        self.setCurrentRow(at)
        frame = 2 * self.frameWidth()
        bar = self.verticalScrollBar().sizeHint().width() if self.count() > LINES_SHOWN_MAX else 0
        self.setFixedSize(
            max(120, self.sizeHintForColumn(0) + frame + bar + 12),
            self.sizeHintForRow(0) * min(LINES_SHOWN_MAX, self.count()) + frame,
        )
        self.move(above - QPoint(0, self.height() + 2))
        self.show()

    def _on_clicked(self, index: QModelIndex) -> None:
        self.chosen.emit(index.row())
