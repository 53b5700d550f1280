"""The style of all controls: Qt's Fusion, with outlines that one sees on dark and on light alike."""

from __future__ import annotations

from PySide6.QtGui import QPainter, QPen
from PySide6.QtWidgets import QProxyStyle, QStyle, QStyleOption, QWidget

from gcom_chat.view import colours

# Fusion draws their edge a little darker than the window, which on a dark one is next to nothing.
_OUTLINED = (QStyle.PrimitiveElement.PE_IndicatorCheckBox, QStyle.PrimitiveElement.PE_PanelLineEdit)


class OutlinedStyle(QProxyStyle):
    """Fusion, with an outline of 3:1 (WCAG 2.2, 1.4.11) round check boxes and fields to write in."""

    def __init__(self) -> None:
        # Qt draws Fusion itself, alike on all systems: what was measured of contrasts holds on each.
        super().__init__("Fusion")

    def pixelMetric(
        self, metric: QStyle.PixelMetric, option: QStyleOption | None = None, widget: QWidget | None = None
    ) -> int:
        """Return a measure; Fusion cuts the feet of letters in tabs that are not in front."""
        more = 4 if metric is QStyle.PixelMetric.PM_TabBarTabVSpace else 0
        return super().pixelMetric(metric, option, widget) + more

    def drawPrimitive(
        self,
        element: QStyle.PrimitiveElement,
        option: QStyleOption,
        painter: QPainter,
        widget: QWidget | None = None,
    ) -> None:
        """Draw as Fusion does, and the outline over it."""
        super().drawPrimitive(element, option, painter, widget)
        # A field within another control has that one's frame: the option's line is 0 wide there.
        framed = element is not QStyle.PrimitiveElement.PE_PanelLineEdit or getattr(option, "lineWidth", 0) > 0
        if element in _OUTLINED and framed and option.state & QStyle.StateFlag.State_Enabled:
            focused = bool(option.state & QStyle.StateFlag.State_HasFocus)
            painter.save()
            colour = option.palette.highlight().color() if focused else colours.outline(option.palette)
            painter.setPen(QPen(colour, 1))
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            # By half a pixel inwards, so that a line of one pixel does not lie across two.
            painter.drawRoundedRect(option.rect.toRectF().adjusted(0.5, 0.5, -0.5, -0.5), 2, 2)
            painter.restore()
