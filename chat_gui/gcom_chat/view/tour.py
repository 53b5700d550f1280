"""A guided tour: a strip at the bottom of the window that points at one thing after another."""

from __future__ import annotations

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtWidgets import QApplication, QFrame, QHBoxLayout, QLabel, QPushButton, QToolBar, QWidget

from gcom_chat.view import colours


class Tour(QFrame):
    """Shows one step at a time; `ended` after the last, or when it is closed."""

    ended = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("Tour"))
        self._steps = self._texts()
        self._at = 0
        self._text = QLabel(self)
        self._text.setWordWrap(True)
        self._text.setTextFormat(Qt.TextFormat.PlainText)
        self._count = QLabel(self)
        self._back, self._next = QPushButton(self.tr("Back"), self), QPushButton(self.tr("Next"), self)
        close = QPushButton(self.tr("End the tour"), self)
        self._back.clicked.connect(lambda: self.go(-1))
        self._next.clicked.connect(lambda: self.go(1))
        close.clicked.connect(self.ended)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(12, 8, 12, 8)
        for widget in (self._count, self._text, self._back, self._next, close):
            layout.addWidget(widget, 1 if widget is self._text else 0)
        self.setAutoFillBackground(True)
        self._tint()
        self.go(0)

    def _tint(self) -> None:
        # From the application's colours, not its own, which were tinted before.
        palette = QApplication.palette()
        palette.setColor(self.backgroundRole(), colours.tint(palette, colours.good(palette), 0.18))
        self.setPalette(palette)

    def changeEvent(self, event: QEvent) -> None:
        """Take other colours over: another theme was chosen."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.ApplicationPaletteChange:
            self._tint()

    def _texts(self) -> tuple[str, ...]:
        return (
            self.tr(
                "bob, carol and dave are processes of their own. They talk in the group lounge; so can you, below."
            ),
            self.tr(
                "The sign at the right of your own lines: › sent, ✓ ordered and delivered here, ✓✓ held by all members."
            ),
            self.tr(
                "At the right: who is here. ♛ leads, ◐ is suspected, ○ is gone. Hover over a name to see since when."
            ),
            self.tr(
                "Lines across the talk are view changes: somebody came, left or crashed, and all who stay agree on it."
            ),
            self.tr(
                "F12 opens the instruments: clocks, held-back messages, the sequencer, views, a space-time diagram."
            ),
            self.tr("The debug page there breaks the network on purpose. Cut a link, and see what the banner says."),
            self.tr(
                "View > Ordering duel sends one talk through all five orderings side by side. "
                "That is the tour: have fun."
            ),
        )

    def go(self, step: int) -> None:
        """Go a step on or back; from the last one on to the end."""
        if self._at + step >= len(self._steps):
            self.ended.emit()
            return
        self._at = max(0, self._at + step)
        self._text.setText(self._steps[self._at])
        self._count.setText(f"{self._at + 1}/{len(self._steps)}")
        self._back.setEnabled(self._at > 0)
        self._next.setText(self.tr("Next") if self._at + 1 < len(self._steps) else self.tr("Done"))


class TourBar(QToolBar):
    """A bar with the tour in it, which goes with it."""

    def __init__(self, window: QWidget) -> None:
        tour = Tour(window)
        super().__init__(tour.windowTitle(), window, movable=False)
        self.tour = tour
        self.addWidget(tour)
        # The bar, not what is in it: an empty strip would stay.
        tour.ended.connect(self.hide)
