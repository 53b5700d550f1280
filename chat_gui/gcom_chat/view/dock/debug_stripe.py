"""The stripe over the window while debug mode is on, so that nobody takes a fault for a defect."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPolygonF, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QSizePolicy, QToolBar, QWidget

import gcom

YELLOW, BLACK, STRIPE = "#ffd23d", "#1a1a1a", 16


class _Line(QLabel):
    """A line of text, of which is shown what there is room for; the tooltip has it whole."""

    def set_whole(self, text: str) -> None:
        """Show another text."""
        self.setToolTip(gcom.isolated(text))
        self._elide()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Show as much as there is room for now."""
        super().resizeEvent(event)
        self._elide()

    def _elide(self) -> None:
        room = self.contentsRect().width()
        # The tooltip keeps the text whole: the label's own is what was left of it the last time.
        self.setText(self.fontMetrics().elidedText(self.toolTip(), Qt.TextElideMode.ElideRight, room))


class DebugStripe(QToolBar):
    """A bar at the top of the window; hidden while debug mode is off."""

    off_wanted = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("debug")
        self.setWindowTitle(self.tr("Debug mode"))
        self.setMovable(False)
        # The window's own menu would offer to hide it, and then somebody would take a fault for a defect.
        self.toggleViewAction().setVisible(False)
        self._label = _Line(self)
        self._label.setTextFormat(Qt.TextFormat.PlainText)
        # A long text must not make the window wider than the screen.
        self._label.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        # Black on yellow in a dark window too: a warning that adapts is overlooked.
        self._label.setStyleSheet(f"color: {BLACK}; background: {YELLOW}; padding: 3px 10px; font-weight: bold;")
        off = QPushButton(self.tr("Turn off"), self)
        off.clicked.connect(self.off_wanted)
        box = QWidget(self)
        # A tool bar gives a widget no more room than it asks for.
        box.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        layout = QHBoxLayout(box)
        layout.setContentsMargins(4 * STRIPE, 3, STRIPE, 3)
        layout.addWidget(self._label, 1)
        layout.addWidget(off)
        self.addWidget(box)
        self.hide()

    def show_faults(self, on: bool, faults: str) -> None:
        """Show or hide the stripe."""
        what = self.tr("nothing goes wrong yet") if faults == "none" else faults.replace(",", ", ")
        text = self.tr("DEBUG MODE: the network is bad on purpose. {}").format(what)
        self._label.set_whole(text)
        self.setAccessibleDescription(text)
        self.setVisible(on)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint slanted stripes at both ends."""
        painter = QPainter(self)
        painter.fillRect(self.rect(), QColor(YELLOW))
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(BLACK))
        painter.setClipRect(QRectF(0, 0, 3.6 * STRIPE, self.height()))
        slant = self.height()
        for at in range(-2, 5):
            x = at * 2 * STRIPE
            points = QPolygonF()
            for dx, y in ((slant, 0), (slant + STRIPE, 0), (STRIPE, self.height()), (0, self.height())):
                points.append(QRectF(x + dx, y, 0, 0).topLeft())
            painter.drawPolygon(points)
