"""The dock: a page for each thing that can be seen of the group in front, and the probe that looks while it is open."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from PySide6.QtCore import QEvent, Qt, Signal, Slot
from PySide6.QtWidgets import QDockWidget, QTabWidget, QWidget

import gcom
from chat_gui.client.probe import GroupProbe
from chat_gui.model.insight.group_insight import GroupInsight, Probed
from chat_gui.model.updates import Arrived, Joined, Update
from chat_gui.view.dock.audit_page import AuditPage
from chat_gui.view.dock.clocks_page import ClocksPage
from chat_gui.view.dock.debug_page import DebugPage
from chat_gui.view.dock.latency_page import LatencyPage
from chat_gui.view.dock.page import InsightPage
from chat_gui.view.dock.spacetime_page import SpaceTimePage
from chat_gui.view.dock.tables_pages import HeldPage, OrderPage, ViewsPage


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
        self.tabs.currentChanged.connect(lambda _: self._show())
        self._probed.connect(self._on_probed, Qt.ConnectionType.QueuedConnection)
        self.visibilityChanged.connect(self._on_visible)

    # what comes

    def on_updates(self, updates: Sequence[Update]) -> None:
        """Take what of the client's updates belongs on the timelines."""
        for update in updates:
            if isinstance(update, Joined):
                self._insight(update.group).timeline.on_view(update.view, _now_ms())
            elif isinstance(update, Arrived):
                self._insight(update.group).timeline.on_events(update.events, update.at_ms)

    def follow(self, group: str) -> None:
        """Show this group from now on."""
        if group != self._group:
            self._group = group
            name = self.tr("Inside {}").format(group) if group else self.tr("Inside the group")
            self.setWindowTitle(name)
            self._show()

    def _insight(self, group: str) -> GroupInsight:
        return self.insights.setdefault(group, GroupInsight())

    @Slot(object)
    def _on_probed(self, probed: Probed) -> None:
        self._insight(probed.group).on_probed(probed.snapshot, probed.traces, _now_ms())
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


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
