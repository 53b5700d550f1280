"""The look of the chat: light, dark or as the system has it, the font, and the zoom of all texts."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QFont, QGuiApplication, QPalette
from PySide6.QtWidgets import QApplication

from gcom_chat.model.settings import Settings, Theme

_SCHEMES = {
    Theme.SYSTEM.value: Qt.ColorScheme.Unknown,
    Theme.LIGHT.value: Qt.ColorScheme.Light,
    Theme.DARK.value: Qt.ColorScheme.Dark,
}


_ROLE = QPalette.ColorRole
# Each text has 4.5:1 on what it stands on; where the system cannot be told to be light or dark, these are.
_LIGHT = {
    _ROLE.Window: "#f2f2f2",
    _ROLE.WindowText: "#1a1a1a",
    _ROLE.Base: "#ffffff",
    _ROLE.AlternateBase: "#f6f6f6",
    _ROLE.Text: "#1a1a1a",
    _ROLE.Button: "#ececec",
    _ROLE.ButtonText: "#1a1a1a",
    _ROLE.BrightText: "#ffffff",
    _ROLE.ToolTipBase: "#fffbe6",
    _ROLE.ToolTipText: "#1a1a1a",
    _ROLE.PlaceholderText: "#6a6a6a",
    _ROLE.Highlight: "#1a5fb4",
    _ROLE.HighlightedText: "#ffffff",
    _ROLE.Link: "#0b57b0",
    _ROLE.LinkVisited: "#6b3fa0",
}
_DARK = {
    _ROLE.Window: "#2b2b2b",
    _ROLE.WindowText: "#ececec",
    _ROLE.Base: "#1e1e1e",
    _ROLE.AlternateBase: "#262626",
    _ROLE.Text: "#ececec",
    _ROLE.Button: "#3a3a3a",
    _ROLE.ButtonText: "#ececec",
    _ROLE.BrightText: "#ffffff",
    _ROLE.ToolTipBase: "#3a3a3a",
    _ROLE.ToolTipText: "#ececec",
    _ROLE.PlaceholderText: "#a0a0a0",
    _ROLE.Highlight: "#2f6fbf",
    _ROLE.HighlightedText: "#ffffff",
    _ROLE.Link: "#7ab7ff",
    _ROLE.LinkVisited: "#c9a6ff",
}
_DISABLED = (_ROLE.WindowText, _ROLE.Text, _ROLE.ButtonText)


def palette_of(dark: bool) -> QPalette:
    """Return the light or the dark palette."""
    colours = _DARK if dark else _LIGHT
    palette = QPalette(QColor(colours[_ROLE.Button]), QColor(colours[_ROLE.Window]))
    for role, colour in colours.items():
        palette.setColor(role, QColor(colour))
    for role in _DISABLED:
        palette.setColor(QPalette.ColorGroup.Disabled, role, QColor("#8c8c8c"))
    return palette


class Appearance:
    """Applies settings to the application, and to its windows at once."""

    def __init__(self) -> None:
        # As it was before anything was applied: "as the system" must be found again after another choice.
        self._system = QFont(QApplication.font())
        # What is in force already: a chat without settings sets no font at its start.
        self._applied: tuple[object, ...] = ("", 0, 100)
        self._theme = Theme.SYSTEM.value

    def apply(self, settings: Settings) -> None:
        """Take a look over."""
        if settings.theme != self._theme:
            self._theme = settings.theme
            QGuiApplication.styleHints().setColorScheme(_SCHEMES[settings.theme])  # for the frame of the window
            forced = settings.theme != Theme.SYSTEM
            # An empty palette brings the system's own back.
            QApplication.setPalette(palette_of(settings.theme == Theme.DARK) if forced else QPalette())
        wanted = (settings.font, settings.font_points, settings.zoom)
        if wanted != self._applied:
            self._applied = wanted
            # From the system's font each time: a zoom of the last zoom would add up.
            font = QFont(self._system)
            if settings.font:
                font.setFamily(settings.font)
            font.setPointSizeF((settings.font_points or self._system.pointSizeF()) * settings.zoom / 100)
            QApplication.setFont(font)
