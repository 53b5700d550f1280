"""`OpenTabs`: what is open, kept as it changes, and opened again at the next start or at another registry."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

from PySide6.QtCore import QByteArray, QObject, QTimer, Slot
from PySide6.QtWidgets import QMainWindow, QTabWidget

from gcom_chat.model.chat import Chat
from gcom_chat.model.group_state import AT, GroupState, PrivateTalk
from gcom_chat.model.settings import SavedSession, SavedTab, definition_of
from gcom_chat.view.desktop.keeper import Keeper
from gcom_chat.view.dock.dock import InsightDock
from gcom_chat.view.group_tab import GroupTab

SAVE_MS = 200  # what is typed within that time is lost if the chat is killed


class TabHost(Protocol):
    """The part of the window that opens and closes tabs."""

    chat: Chat
    keeper: Keeper
    tabs: dict[str, GroupTab]
    dock: InsightDock

    def open_group(self, group: str) -> GroupState: ...

    def open_private(self, group: str, peer: str) -> PrivateTalk: ...

    def drop_tab(self, tab: GroupTab) -> None: ...

    def refresh(self) -> None: ...


class OpenTabs(QObject):
    """Saves and opens the tabs of a window, and where it stands."""

    def __init__(self, host: TabHost, window: QMainWindow, tabs: QTabWidget) -> None:
        super().__init__(window)
        self._host, self._window, self._tabs = host, window, tabs
        self._restored = False
        self._saving = QTimer(self, interval=SAVE_MS, singleShot=True)
        self._saving.timeout.connect(self.save_now)

    def restore(self, groups: tuple[str, ...]) -> None:
        """Open the tabs of the last time, and of these groups; they are joined once there is a connection."""
        session = self._host.keeper.session
        self._open(session, groups)
        if session.geometry:
            self._window.restoreGeometry(QByteArray.fromBase64(session.geometry.encode()))
        self._host.dock.restore(session)
        self._restored = True

    def _open(self, session: SavedSession, more: tuple[str, ...] = ()) -> None:
        host = self._host
        groups = {saved.group for saved in session.tabs if AT not in saved.group} | set(more)
        # A private conversation is one of a group, which is opened first.
        for saved in sorted(session.tabs, key=lambda saved: AT in saved.group):
            group, _, peer = saved.group.partition(AT)
            if peer and group in groups:
                talk = host.open_private(group, peer).conversation
            elif not peer:
                state = host.open_group(group)
                state.definition, talk = definition_of(group, saved.promises), state.conversation
            else:
                continue
            talk.marker, talk.unread, talk.mentioned = saved.marker or None, saved.unread, saved.mentioned
        for group in more:
            host.open_group(group)
        host.refresh()
        opened = [saved for saved in session.tabs if saved.group in host.tabs]
        for at, saved in enumerate(opened):
            tab = host.tabs[saved.group]
            tab.input.give_back(saved.draft)
            self._tabs.tabBar().moveTab(self._tabs.indexOf(tab), at)
        if session.current in host.tabs:
            self._tabs.setCurrentWidget(host.tabs[session.current])

    def open_anew(self) -> None:
        """Open all tabs for another registry, whose groups of the same names are others; what is typed stays."""
        session = self._session()
        for tab in list(self._host.tabs.values()):
            self._host.drop_tab(tab)
        self._open(replace(session, tabs=tuple(SavedTab(tab.group, tab.draft) for tab in session.tabs)))

    def _session(self) -> SavedSession:
        shown = self._tabs.currentWidget()
        current = shown if isinstance(shown, GroupTab) else None
        geometry = bytes(self._window.saveGeometry().toBase64().data()).decode()
        tabs = [tab for at in range(self._tabs.count()) if isinstance(tab := self._tabs.widget(at), GroupTab)]
        width = current.members_width if current else self._host.keeper.session.members_width
        saved = SavedSession(tuple(tab.saved() for tab in tabs), current.name if current else "", geometry)
        return self._host.dock.saved(replace(saved, members_width=width))

    @Slot()
    def save(self) -> None:
        """Keep what is open, in a moment: a long draft would take its time at every key."""
        # Not while the last session is being opened, which would be overwritten by half of itself.
        if self._restored and not self._saving.isActive():
            self._saving.start()

    @Slot()
    def save_now(self) -> None:
        """Keep what is open."""
        self._saving.stop()
        self._host.keeper.save_session(self._session())
