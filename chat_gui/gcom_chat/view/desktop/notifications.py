"""Notifications of the desktop: for mentions and private messages in tabs that nobody looks at, and not too often."""

from __future__ import annotations

from PySide6.QtCore import QObject, QTimer, Signal, Slot
from PySide6.QtWidgets import QApplication, QSystemTrayIcon, QWidget

from gcom_chat.model.alerts import Alerts
from gcom_chat.model.settings import Settings
from gcom_chat.model.texts.isolates import apart

SHOWN_MS = 6_000  # as most desktops show theirs


class Notifier(QObject):
    """Shows a notification where the system has a tray, and makes the window ask for attention anyway."""

    told = Signal(str, str)  # title and text of each notification
    opened = Signal(str)  # the group of the notification that was clicked

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._window, self._alerts = window, Alerts()
        self._tray: QSystemTrayIcon | None = None
        self._stays = False  # the icon is wanted, not only what it tells
        self._hide = QTimer(self, singleShot=True, interval=SHOWN_MS)
        self._hide.timeout.connect(self._on_shown)
        self._group = ""

    def apply(self, settings: Settings) -> None:
        """Show the tray's icon where it is wanted and the system has a place for it; else while it tells something."""
        self._stays = settings.tray
        if QSystemTrayIcon.isSystemTrayAvailable() and self._tray is None:
            self._tray = QSystemTrayIcon(self._window.windowIcon(), self._window)
            self._tray.setToolTip(self._window.windowTitle())
            self._tray.messageClicked.connect(self._on_clicked)
            self._tray.activated.connect(self._on_clicked)
        if self._tray:
            self._tray.setVisible(self._stays)

    def show_face(self) -> None:
        """Give the tray the window's icon and title."""
        if self._tray:
            self._tray.setIcon(self._window.windowIcon())
            self._tray.setToolTip(self._window.windowTitle())

    def notify(self, settings: Settings, group: str, text: str, now_ms: int) -> None:
        """Tell of a mention or a private message, unless nobody wants to be disturbed, or it is too soon."""
        # Counted even when nobody wants to be disturbed:
        # afterwards the first notice would else tell of old ones.
        count = self._alerts.due(group, now_ms)
        if not count or settings.do_not_disturb or not settings.notify:
            return
        title = group if count == 1 else self.tr("{} ({} messages)").format(apart(group), count)
        self._group = group
        QApplication.alert(self._window)
        if self._tray:
            # Qt shows a message only beside an icon that is visible.
            self._tray.show()
            self._hide.start()
            self._tray.showMessage(title, text, self._window.windowIcon(), SHOWN_MS)
        self.told.emit(title, text)

    @Slot()
    def _on_shown(self) -> None:
        if self._tray:
            self._tray.setVisible(self._stays)

    def _on_clicked(self) -> None:
        self._window.show()
        self._window.raise_()
        self._window.activateWindow()
        if self._group:
            self.opened.emit(self._group)
