"""Colours: of names, and of the few things that have one of their own; each passes 4.5:1 on its background."""

from __future__ import annotations

from PySide6.QtGui import QColor, QPalette

# After the palette of Okabe and Ito (2008) for the colour-blind; each has 4.5:1 on white, or on #1e1e1e.
_ON_LIGHT = ("#005c99", "#8f4a00", "#00694b", "#8c2d6b", "#6b5500", "#c0281c", "#3d3d99", "#1f6f6f")
_ON_DARK = ("#6cc0f5", "#f0b04a", "#4fd1a5", "#e5a3cc", "#e8dc5a", "#ff8c7a", "#aab0ff", "#7fd6d6")


def is_dark(palette: QPalette) -> bool:
    """Return whether text is lighter than what it stands on."""
    return palette.color(QPalette.ColorRole.Base).lightness() < 128


def of_number(number: int, palette: QPalette) -> QColor:
    """Return the colour of a name, by its number (chat_gui/gcom_chat/model/name_colours.py)."""
    return QColor((_ON_DARK if is_dark(palette) else _ON_LIGHT)[number])


def faint(palette: QPalette) -> QColor:
    """Return the colour of what is beside the point: times, notices, separators."""
    return QColor("#a8a8a8" if is_dark(palette) else "#636363")


def outline(palette: QPalette) -> QColor:
    """Return the colour of the edge of a field or a check box: 3:1 on the window and on what is written on."""
    return QColor("#8a8a8a" if is_dark(palette) else "#808080")


def warning(palette: QPalette) -> QColor:
    """Return the colour of what is wrong."""
    return QColor("#ff8a80" if is_dark(palette) else "#a11d1d")


def good(palette: QPalette) -> QColor:
    """Return the colour of what is done."""
    return QColor("#6fd08c" if is_dark(palette) else "#1b6b35")


def accent(palette: QPalette) -> QColor:
    """Return the colour of marks: unread, mentions."""
    return QColor("#ffb74d" if is_dark(palette) else "#9a4b00")


def tint(palette: QPalette, colour: QColor, share: float = 0.14) -> QColor:
    """Return the background mixed with a little of a colour."""
    base = palette.color(QPalette.ColorRole.Base)
    pairs = (base.red(), colour.red()), (base.green(), colour.green()), (base.blue(), colour.blue())
    return QColor(*(round(a + (b - a) * share) for a, b in pairs))
