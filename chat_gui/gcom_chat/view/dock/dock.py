"""The dock: a page for each thing that can be seen of the group in front, and the probe that looks while it is open."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from PySide6.QtCore import QEvent, Qt, Signal, Slot
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QDockWidget, QMainWindow, QTabWidget, QWidget

import gcom
from gcom_chat.client.probe import GroupProbe
from gcom_chat.model.insight.group_insight import GroupInsight, Probed
from gcom_chat.model.settings import SavedSession
from gcom_chat.model.texts.isolates import apart
from gcom_chat.model.updates import Arrived, Joined, Update
from gcom_chat.view.dock.audit_page import AuditPage
from gcom_chat.view.dock.clocks_page import ClocksPage
from gcom_chat.view.dock.debug_page import DebugPage
from gcom_chat.view.dock.latency_page import LatencyPage
from gcom_chat.view.dock.page import InsightPage
from gcom_chat.view.dock.spacetime_page import SpaceTimePage
from gcom_chat.view.dock.tables_pages import HeldPage, OrderPage, ViewsPage


class InsightDock(QDockWidget):
    """Follows the tab in front. `find` returns a group by its name, from any thread."""

    message_wanted = Signal(str, str, int)  # group, sender, number
    _probed = Signal(object)

    def __init__(
        self,
        find: Callable[[str], gcom.Group | None],
        find_node: Callable[[], gcom.Node | None],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setObjectName("insight")
        self.setWindowTitle(self.tr("Inside the group"))
        self.insights: dict[str, GroupInsight] = {}
        self._find, self._group = find, ""
        self._height = 0  # of the last time that it was open
        self._probe: GroupProbe | None = None
        self.tabs = QTabWidget(self, documentMode=True)
        self.tabs.setAccessibleName(self.tr("Inside the group"))
        self.debug = DebugPage(find_node, self)
        self.audit = AuditPage(self)
        self.audit.incident_wanted.connect(self.message_wanted)
        self.pages: list[InsightPage] = [
            ClocksPage(self),
            HeldPage(self),
            OrderPage(self),
            ViewsPage(self),
            SpaceTimePage(self),
            LatencyPage(self),
            self.debug,
            self.audit,
        ]
        for page in self.pages:
            self.tabs.addTab(page, page.title)
            page.message_wanted.connect(lambda sender, number: self.message_wanted.emit(self._group, sender, number))
        self.setWidget(self.tabs)
        self.action = QAction(self.tr("&Inside the group"), self, checkable=True)
        self.action.setShortcut(QKeySequence("F12"))
        self.action.triggered.connect(self._on_action)
        # isHidden is about the dock itself; the signal tells as well of a window around it that is hidden.
        self.visibilityChanged.connect(lambda _: self.action.setChecked(not self.isHidden()))
        self.tabs.currentChanged.connect(lambda _: self._show())
        # Queued: the probe's thread emits it.
        self._probed.connect(self._on_probed, Qt.ConnectionType.QueuedConnection)
        self.visibilityChanged.connect(self._on_visible)

    @Slot(bool)
    def _on_action(self, on: bool) -> None:
        self.setVisible(on)

    # what outlives the window

    def saved(self, session: SavedSession) -> SavedSession:
        """Return the session with the dock as it is now."""
        # A dock that was never shown has a height that nobody gave it.
        page, height = type(self.tabs.currentWidget()).__name__, self.height() if self.isVisible() else self._height
        return replace(session, dock_open=not self.isHidden(), dock_page=page, dock_height=height)

    def restore(self, session: SavedSession) -> None:
        """Be as the dock of a session was."""
        page = next((page for page in self.pages if type(page).__name__ == session.dock_page), self.pages[0])
        self.tabs.setCurrentWidget(page)
        self._height = session.dock_height
        # Before its height is set: a dock that is hidden is not in the layout.
        self.setVisible(session.dock_open)
        window = self.parentWidget()
        if isinstance(window, QMainWindow) and self._height:
            window.resizeDocks([self], [self._height], Qt.Orientation.Vertical)

    # what comes

    def on_updates(self, updates: Sequence[Update]) -> None:
        """Take what of the client's updates belongs on the timelines."""
        for update in updates:
            # Kept while the dock is closed as well, so that a timeline has no gaps when it is opened.
            if isinstance(update, Joined):
                self._insight(update.group).timeline.on_view(update.view, _now_ms())
            elif isinstance(update, Arrived):
                self._insight(update.group).timeline.on_events(update.events, update.at_ms)

    def follow(self, group: str) -> None:
        """Show this group from now on."""
        if group != self._group:
            self._group = group
            self._show_title()
            self._show()

    def _show_title(self) -> None:
        self.setWindowTitle(
            self.tr("Inside {}").format(apart(self._group)) if self._group else self.tr("Inside the group")
        )

    def _insight(self, group: str) -> GroupInsight:
        return self.insights.setdefault(group, GroupInsight())

    @Slot(object)
    def _on_probed(self, probed: Probed) -> None:
        self._insight(probed.group).on_probed(probed.snapshot, probed.traces, _now_ms())
        # A look at the tab before may still be queued: it is kept, and not shown.
        if probed.group == self._group:
            self._show()

    def _show(self) -> None:
        page = self.tabs.currentWidget()
        if isinstance(page, InsightPage) and self.isVisible():
            page.show_insight(self._insight(self._group), _now_ms())

    # the probe

    @Slot(bool)
    def _on_visible(self, visible: bool) -> None:
        if visible and self._probe is None:
            self._probe = GroupProbe(lambda: self._find(self._group) if self._group else None, self._probed.emit)
        elif not visible:
            self.stop()
        self._show()

    def stop(self) -> None:
        """Look no more."""
        if self._probe is not None:
            self._probe.stop()
            self._probe = None

    def close_all(self) -> None:
        """Look no more, and change no faults: the window closes."""
        self.stop()
        self.debug.close_control()
        self.audit.stop()

    def changeEvent(self, event: QEvent) -> None:
        """Show the pages anew in another palette."""
        super().changeEvent(event)
        if event.type() is QEvent.Type.PaletteChange:
            self._show()
        elif event.type() is QEvent.Type.LanguageChange:
            self._show_title()
            self._show()


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
