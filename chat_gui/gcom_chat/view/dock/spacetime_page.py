"""The page of the space-time diagram: zoomed by the wheel with Ctrl or by + and -, a click shows the message."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QEvent, QPoint, QPointF, QRectF, QSize, Qt, Signal, Slot
from PySide6.QtGui import (
    QColor,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QPolygonF,
    QWheelEvent,
)
from PySide6.QtWidgets import QFileDialog, QHBoxLayout, QPushButton, QScrollArea, QToolTip, QVBoxLayout, QWidget

from gcom_chat.model.insight.group_insight import GroupInsight
from gcom_chat.model.insight.names import called, short
from gcom_chat.model.insight.shiviz import shiviz
from gcom_chat.model.insight.spacetime import DOTS_MAX, SpaceDot, SpaceTime, space_time
from gcom_chat.model.name_colours import NameColours
from gcom_chat.view import colours
from gcom_chat.view.dock.page import InsightPage, quiet_label

NAMES, TOP, LANE_MIN, RADIUS, STEP = 84, 16, 26, 5.0, 18.0
ZOOM_MIN, ZOOM_MAX = 0.2, 6.0
HELD_MS = 50.0  # what was held back for longer has a ring


class SpaceTimeView(QWidget):
    """Paints a diagram, as wide as its zoom makes it."""

    dot_clicked = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._diagram = SpaceTime((), (), ())
        self._colours = NameColours()
        self._zoom = 1.0
        self._chosen: SpaceDot | None = None
        self.setAccessibleName(self.tr("Space-time diagram"))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)

    def show_diagram(self, diagram: SpaceTime) -> bool:
        """Show a diagram; return whether it is another."""
        if diagram == self._diagram:
            return False
        self._diagram = diagram
        self._colours.settle(dict.fromkeys(map(short, diagram.lanes)))
        # As much as somebody listens to: hundreds of messages would be read out one by one.
        self.setAccessibleDescription("; ".join(dot.label for dot in diagram.dots[-20:]))
        self._resize()
        return True

    def zoom(self, factor: float) -> None:
        """Zoom in or out."""
        self._zoom = min(ZOOM_MAX, max(ZOOM_MIN, self._zoom * factor))
        self._resize()

    def _resize(self) -> None:
        width = NAMES + (len(self._diagram.dots) + 1) * STEP * self._zoom
        self.setMinimumSize(QSize(round(width), TOP + max(1, len(self._diagram.lanes)) * LANE_MIN))
        self.update()

    # places

    def _y(self, lane: int) -> float:
        height = max(LANE_MIN, (self.height() - TOP) / max(1, len(self._diagram.lanes)))
        return TOP + (lane + 0.5) * min(height, 2.2 * LANE_MIN)

    def _place(self, dot: SpaceDot) -> QPointF:
        return QPointF(NAMES + (dot.at + 0.7) * STEP * self._zoom, self._y(dot.lane))

    def _dot_at(self, point: QPoint) -> SpaceDot | None:
        near = [(QPointF(point) - self._place(dot)).manhattanLength() for dot in self._diagram.dots]
        if not near or min(near) > 2.5 * RADIUS:
            return None
        return self._diagram.dots[near.index(min(near))]

    # painting

    def _colour(self, process: str) -> QColor:
        return colours.of_number(self._colours.of(short(process)), self.palette())

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint lanes, arrows, and dots over them."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.fillRect(self.rect(), self.palette().base())
        faint = colours.faint(self.palette())
        for lane in range(len(self._diagram.lanes)):
            y = self._y(lane)
            painter.setPen(QPen(colours.tint(self.palette(), faint, 0.4), 1))
            painter.drawLine(QPointF(NAMES, y), QPointF(self.width(), y))
        places = [self._place(dot) for dot in self._diagram.dots]
        for begin, end in self._diagram.arrows:
            self._arrow(painter, places[begin], places[end], begin > end)
        for dot, place in zip(self._diagram.dots, places, strict=True):
            self._dot(painter, dot, place)
        # The names stay at the left edge while the diagram moves under them.
        left = max(0, -self.mapToParent(QPoint(0, 0)).x())
        painter.fillRect(QRectF(left, 0, NAMES - 8, self.height()), self.palette().base())
        for lane, process in enumerate(self._diagram.lanes):
            painter.setPen(self._colour(process))
            where = QRectF(left + 8, self._y(lane) - 10, NAMES - 20, 20)
            text = painter.fontMetrics().elidedText(called(process), Qt.TextElideMode.ElideMiddle, NAMES - 20)
            painter.drawText(where, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, text)

    def _arrow(self, painter: QPainter, begin: QPointF, end: QPointF, backward: bool) -> None:
        palette = self.palette()
        colour = colours.warning(palette) if backward else colours.tint(palette, colours.faint(palette), 0.5)
        painter.setPen(QPen(colour, 2 if backward else 1))
        way = end - begin
        length = max(1.0, (way.x() ** 2 + way.y() ** 2) ** 0.5)
        unit = QPointF(way.x() / length, way.y() / length)
        tip = end - unit * (RADIUS + 1)
        painter.drawLine(begin, tip)
        side = QPointF(-unit.y(), unit.x()) * 3
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(colour)
        painter.drawPolygon(QPolygonF([tip, tip - unit * 6 + side, tip - unit * 6 - side]))

    def _dot(self, painter: QPainter, dot: SpaceDot, place: QPointF) -> None:
        colour: QColor = self._colour(dot.sender)
        chosen = dot == self._chosen
        painter.setPen(QPen(self.palette().highlight().color(), 3) if chosen else Qt.PenStyle.NoPen)
        painter.setBrush(colour)
        painter.drawEllipse(place, RADIUS, RADIUS)
        if dot.held_ms > HELD_MS:
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(colours.accent(self.palette()), 1.5))
            painter.drawEllipse(place, RADIUS + 3, RADIUS + 3)
        # Closer together the numbers would stand over each other.
        if STEP * self._zoom >= 16:
            font = painter.font()
            font.setPixelSize(9)
            painter.save()
            painter.setFont(font)
            painter.setPen(colours.faint(self.palette()))
            where = QRectF(place.x() - 9, place.y() - RADIUS - 15, 18, 10)
            painter.fillRect(where, self.palette().base())
            painter.drawText(where, Qt.AlignmentFlag.AlignCenter, str(dot.number))
            painter.restore()

    # mouse and keys

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Choose a message."""
        dot = self._dot_at(event.position().toPoint())
        if dot is not None:
            self._choose(dot)

    def _choose(self, dot: SpaceDot) -> None:
        self._chosen = dot
        self.update()
        self.dot_clicked.emit(dot)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Zoom by + and -, and walk over the messages by Left and Right."""
        dots = self._diagram.dots
        if event.text() in ("+", "-"):
            self.zoom(1.25 if event.text() == "+" else 0.8)
        elif event.key() in (Qt.Key.Key_Left, Qt.Key.Key_Right) and dots:
            at = dots.index(self._chosen) if self._chosen in dots else len(dots)
            at += 1 if event.key() == Qt.Key.Key_Right else -1
            self._choose(dots[max(0, min(len(dots) - 1, at))])
        else:
            super().keyPressEvent(event)

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Zoom with Ctrl; else scroll."""
        if event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            self.zoom(1.25 if event.angleDelta().y() > 0 else 0.8)
            event.accept()
        else:
            # Ignored, so that the scroll area gets it.
            event.ignore()

    def event(self, event: QEvent) -> bool:
        """Tell of the message under the mouse."""
        if isinstance(event, QHelpEvent):
            dot = self._dot_at(event.pos())
            QToolTip.showText(event.globalPos(), dot.label if dot else "", self)
            return True
        return super().event(event)


class SpaceTimePage(InsightPage):
    """Shows the last messages in space and time."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.title = self.tr("Space-time")
        self.about = quiet_label(self)
        self.view = SpaceTimeView(self)
        self.view.dot_clicked.connect(lambda dot: self.message_wanted.emit(dot.sender, dot.number))
        self._insight = GroupInsight()
        self._note = ""  # what became of the last export
        self.export = QPushButton(self.tr("E&xport for ShiViz…"), self)
        self.export.setToolTip(self.tr("Write these messages as a log that the ShiViz visualizer draws."))
        self.export.clicked.connect(self._on_export)
        self._scroll = QScrollArea(self, widgetResizable=True)
        self._scroll.setFrameShape(QScrollArea.Shape.NoFrame)
        self._scroll.setWidget(self.view)
        # Qt moves what is painted, and the names, which are to stay, with it.
        self._scroll.horizontalScrollBar().valueChanged.connect(lambda _: self.view.update())
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        head = QHBoxLayout()
        head.setContentsMargins(0, 0, 8, 0)
        head.addWidget(self.about, 1)
        head.addWidget(self.export, 0, Qt.AlignmentFlag.AlignTop)
        layout.addLayout(head)
        layout.addWidget(self._scroll, 1)

    @Slot()
    def _on_export(self) -> None:
        path = QFileDialog.getSaveFileName(self, self.tr("Export for ShiViz"), "messages.shiviz.log", "*.log")[0]
        if path:
            self.write(path)

    def write(self, path: str) -> None:
        """Write the last messages as a log for ShiViz."""
        traces, snapshot = list(self._insight.traces)[-DOTS_MAX:], self._insight.snapshot
        try:
            Path(path).write_text(shiviz(traces, snapshot.process if snapshot else ""), "utf-8")
        except OSError as error:
            text = self.tr("Cannot write {}: {}; choose another place.")
            self._note = text.format(path, error.strerror)
        else:
            self._note = self.tr("Written to {}.").format(path)
        self.show_insight(self._insight, 0)

    def show_insight(self, insight: GroupInsight, now_ms: int) -> None:
        """Show the diagram; one that was at its end stays there."""
        self._insight = insight
        self.export.setEnabled(bool(insight.traces))
        diagram = space_time(insight.traces, insight.clocks.members)
        bar = self._scroll.horizontalScrollBar()
        # Asked before the diagram grows, which leaves the bar behind.
        at_end = bar.value() >= bar.maximum() - 2
        if self.view.show_diagram(diagram) and at_end:
            # First: the bar has the new range only once the view has the new width.
            self.view.adjustSize()
            bar.setValue(bar.maximum())
        text = self.tr(
            "The last {} messages, in the order of their delivery here; an arrow leads to a message whose sender had "
            "delivered the other. Ring: held back for more than 50 ms. Click: show it. Ctrl and wheel: zoom."
        ).format(min(DOTS_MAX, len(diagram.dots)))
        if diagram.backward:
            text += " " + self.tr("{} were delivered before what they follow.").format(diagram.backward)
        self.about.setText(f"{text} {self._note}".rstrip())
