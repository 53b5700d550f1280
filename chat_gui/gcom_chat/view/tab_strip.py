"""`TabStrip`: the tabs of the window, with their signs and colours."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QTabBar, QTabWidget, QWidget

from gcom_chat.view.group_tab import GroupTab


class ClosingTabBar(QTabBar):
    """Tabs that the middle button closes, as in a browser."""

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Ask to close the tab under the middle button."""
        at = self.tabAt(event.position().toPoint())
        if event.button() is Qt.MouseButton.MiddleButton and at >= 0:
            self.tabCloseRequested.emit(at)
        else:
            super().mouseReleaseEvent(event)


class TabStrip(QTabWidget):
    """Holds the tabs; `close_wanted` brings the name of one."""

    close_wanted = Signal(str)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent, documentMode=True)
        self.setAccessibleName(self.tr("Groups"))
        self.setTabBar(ClosingTabBar(self))
        # After the bar: another one has properties of its own.
        self.setMovable(True)
        self.setTabsClosable(True)
        self.tabCloseRequested.connect(self._on_close)

    @property
    def current(self) -> GroupTab | None:
        """The tab in front; None where there is none."""
        return tab if isinstance(tab := self.currentWidget(), GroupTab) else None

    def show_signs(self, tab: GroupTab) -> None:
        """Show a tab's title, what it says in words, and its colour."""
        at, bar = self.indexOf(tab), self.tabBar()
        # Only where it differs: a tab bar lays itself out anew at each text, and this runs 25 times a second.
        if self.tabText(at) != tab.title:
            self.setTabText(at, tab.title)
            self.setTabToolTip(at, tab.about)
        if bar.tabTextColor(at) != tab.colour:
            bar.setTabTextColor(at, tab.colour)

    def _on_close(self, at: int) -> None:
        if isinstance(tab := self.widget(at), GroupTab):
            self.close_wanted.emit(tab.name)
