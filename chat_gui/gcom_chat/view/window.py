"""The main window: tabs, menus, and the one place where updates of the client meet the model and the widgets."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, Qt, Slot
from PySide6.QtGui import QCloseEvent, QMoveEvent, QResizeEvent
from PySide6.QtWidgets import (
    QFileDialog,
    QLabel,
    QMainWindow,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

import gcom
from gcom_chat.client.client import ChatClient
from gcom_chat.model.chat import Chat, Notice
from gcom_chat.model.group_state import GroupState, PrivateTalk, Talk
from gcom_chat.model.input.commands import BadCommand, parse
from gcom_chat.model.rows import ChatRow
from gcom_chat.model.text import normal
from gcom_chat.model.texts.isolates import apart
from gcom_chat.model.texts.words import translate
from gcom_chat.model.updates import (
    Arrived,
    Connected,
    FoundOnDisk,
    HistoryCame,
    InvitationAccepted,
    LinesMoved,
    ProtectionTold,
    ReceiptCame,
    RegistryFound,
    SurroundingsCame,
    Update,
    WishFailed,
)
from gcom_chat.model.wire import TextTooLong
from gcom_chat.storage.places import Places
from gcom_chat.view.bridge import Bridge
from gcom_chat.view.desk import Desk
from gcom_chat.view.desktop.connector import Connector, usual_registry
from gcom_chat.view.desktop.keeper import Keeper
from gcom_chat.view.desktop.languages import install
from gcom_chat.view.desktop.retranslation import Retranslation
from gcom_chat.view.desktop.window_face import WindowFace
from gcom_chat.view.dialogs.asking import Asking
from gcom_chat.view.dock.debug_stripe import DebugStripe
from gcom_chat.view.dock.dock import InsightDock
from gcom_chat.view.dock.duel_dialog import DuelDialog
from gcom_chat.view.group_tab import GroupTab
from gcom_chat.view.open_tabs import OpenTabs
from gcom_chat.view.rows.rows_model import LINE_ACTIONS
from gcom_chat.view.start_page import StartPage
from gcom_chat.view.tab_strip import TabStrip
from gcom_chat.view.tour import TourBar
from gcom_chat.view.writing.command_runner import CommandRunner, now_ms
from gcom_chat.view.writing.line_actions import LineActions

_LOOKS = QEvent.Type.ActivationChange, QEvent.Type.WindowStateChange, QEvent.Type.PaletteChange


class ChatWindow(QMainWindow):
    """Holds the model, the client and a tab per group."""

    desk: Desk
    dock: InsightDock
    _open_tabs: OpenTabs

    def __init__(
        self,
        nick: str = "",
        registry: str = "",
        groups: tuple[str, ...] = (),
        places: Places | None = None,
        log_dir: str = "",
    ) -> None:
        """`places`: where settings, session and scrollback are kept; None: nowhere. `log_dir`: for delivery logs."""
        super().__init__()
        self.chat = Chat()
        self.bridge = Bridge(self)
        self.keeper = Keeper(places, self.bridge.post, self)
        self._language = install(self.keeper.settings.language) if places else ""
        self._chosen = self.keeper.settings.language
        self.client = ChatClient(self.bridge.post)
        self.tabs: dict[str, GroupTab] = {}
        self._commands, self._lines = CommandRunner(self), LineActions(self)
        self._joins: dict[str, gcom.Definition | None] = {}  # that wait for their scrollback; what to create
        if log_dir:
            self.keeper.change(log_folder=log_dir, write_logs=True)
        settings = self.keeper.settings
        # Who is named on the command line wants to talk, and not to be asked for an address first.
        registry = registry or settings.registry or (usual_registry(nick) if nick else "")
        self.connector = Connector(self, self, nick or settings.nick, registry, groups)
        self.keeper.turn_to(registry)
        self.asking = Asking(self, self, self.connector.nick, registry)
        self._build()
        # Before the bridge is listened to: an update would open tabs in front of those of the last time.
        self._open_tabs.restore(groups)
        self.connector.wanted = tuple(self.chat.groups)
        for trouble in self.keeper.troubles:
            self._tell(Notice(trouble, error=True, lasting=True))
        self.bridge.arrived.connect(self.on_updates)
        self.keeper.changed.connect(self._on_settings)
        self._on_settings()
        self.connector.polled.connect(self._on_poll)
        self.connector.started.connect(self._start.on_started)
        self.desk.follow_pulse(self.client.pulse)
        self.connector.begin()

    # how it is built

    def _build(self) -> None:
        self._face = WindowFace(self)
        self.resize(980, 640)
        self._tabs = TabStrip(self)
        self._open_tabs = OpenTabs(self, self, self._tabs)
        self._tabs.close_wanted.connect(self.close_tab)
        self._tabs.currentChanged.connect(self._on_turned)
        self._tabs.tabBar().tabMoved.connect(self._open_tabs.save)
        self._start = StartPage(self.connector.nick, self.connector.registry, self)
        self._start.connect_wanted.connect(self.connect_to)
        self._start.create_wanted.connect(lambda: self.asking.create())
        self._start.join_wanted.connect(self.asking.join)
        self._start.demo_wanted.connect(self.asking.demo)
        self._start.registry_wanted.connect(self.connector.start_registry)
        self._start.accept_wanted.connect(self.client.accept)
        self._stack = QStackedWidget(self)
        self._stack.addWidget(self._start)
        self._stack.addWidget(self._tabs)
        self.desk = Desk(self, self.chat, self.keeper, self._tabs, self._commands.rename)
        self.desk.connect_wanted.connect(self.connect_to)
        self.desk.protection_wanted.connect(self.client.ask_protection)
        middle = QWidget(self)
        layout = QVBoxLayout(middle)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self._stack, 1)
        layout.addWidget(self.desk.search)
        self.setCentralWidget(middle)
        self._connection = QLabel(self)
        self.statusBar().addPermanentWidget(self._connection)
        self._build_menus()
        self._show_connection()

    def _build_menus(self) -> None:
        bar = self.menuBar()
        connection, group = bar.addMenu(self.tr("&Connection")), bar.addMenu(self.tr("&Group"))
        edit, view = bar.addMenu(self.tr("&Edit")), bar.addMenu(self.tr("&View"))
        make = self.desk.actions.make
        connection.addAction(make("connect", self.tr("&Connect to a registry…"), "Ctrl+R", self.asking.connect_to))
        connection.addAction(make("quit", self.tr("&Quit"), "Ctrl+Q", self.close))
        group.addAction(make("create", self.tr("C&reate…"), "Ctrl+N", lambda: self.asking.create()))
        group.addAction(make("join", self.tr("&Join…"), "Ctrl+J", self.asking.join))
        group.addAction(make("leave", self.tr("&Leave"), "Ctrl+W", self._leave_current))
        self.desk.add_turns(view)
        self.dock = InsightDock(self.client.group, lambda: self.client.node, self)
        self._stripe = DebugStripe(self)
        self._stripe.off_wanted.connect(lambda: self.dock.debug.switch.setChecked(False))
        self.dock.debug.changed.connect(self._stripe.show_faults)
        self.addToolBar(self._stripe)
        self.dock.tabs.currentChanged.connect(self._open_tabs.save)
        keep_logs = self.keeper.change
        self.dock.audit.logs_wanted.connect(lambda folder, write: keep_logs(log_folder=folder, write_logs=write))
        self.dock.audit.reconnect_wanted.connect(self.connector.again)
        self.dock.message_wanted.connect(self.desk.reveal_message)
        self.dock.hide()
        self.addDockWidget(Qt.DockWidgetArea.BottomDockWidgetArea, self.dock)
        self.desk.actions.adopt("inside", self.dock.action)
        view.addAction(self.dock.action)
        view.addAction(make("duel", self.tr("&Ordering duel…"), "", lambda: DuelDialog(self).show()))
        self._tour: TourBar | None = None
        about = bar.addMenu(self.tr("&Help"))
        self.desk.add_actions(edit, view, about)
        about.addAction(make("tour", self.tr("&Tour"), "", self.show_tour))

    def show_tour(self) -> None:
        """Show the guided tour, from its beginning."""
        if self._tour is not None:
            self.removeToolBar(self._tour)
            self._tour.deleteLater()
        self._tour = TourBar(self)
        self.addToolBar(Qt.ToolBarArea.BottomToolBarArea, self._tour)
        self._tour.show()

    # updates

    @Slot(list)
    def on_updates(self, updates: list[Update]) -> None:
        """Bring the model up to date, then what is shown."""
        for update in updates:
            # Asked for while the chat was at another registry, whose groups of the same names are others.
            if isinstance(update, HistoryCame) and not self.keeper.is_current(update):
                continue
            for notice in self.chat.apply(update, now_ms()):
                self._tell(notice)
            if isinstance(update, Connected):
                self.connector.on_answer()
                self._on_connected()
            elif isinstance(update, HistoryCame):
                self._on_history(update)
            elif isinstance(update, ReceiptCame):
                self.desk.show_receipt(update.receipt)
            elif isinstance(update, FoundOnDisk | SurroundingsCame):
                self.desk.on_disk(update)
            elif isinstance(update, RegistryFound):
                self._start.on_found(update.address, update.answers)
                self.connector.on_found(update.address, update.answers)
            elif isinstance(update, ProtectionTold):
                self._on_protection(update)
            elif isinstance(update, InvitationAccepted):
                self.connect_to(update.name, update.registry)
            elif isinstance(update, WishFailed):
                self.connector.on_answer()
                self.asking.on_failed(update, None if self.tabs else self._start.show_trouble)
        self.dock.on_updates(updates)
        self.refresh()

    def _on_connected(self) -> None:
        self.keeper.change(nick=self.chat.nick, registry=self.chat.registry)
        self.client.ask_protection(self.chat.nick, self.chat.registry)
        # Groups of one name at two registries have a scrollback each.
        if self.keeper.turn_to(self.chat.registry):
            self._open_tabs.open_anew()
        for name in self.connector.taken():
            self.join(name)

    def _on_protection(self, told: ProtectionTold) -> None:
        self.asking.on_protection(told)
        self.desk.protection_told.emit(told)
        if (told.name, told.registry) == (self.chat.nick, self.chat.registry):
            self._connection.setToolTip(told.text)

    def _on_history(self, update: HistoryCame) -> None:
        self.keeper.on_history(update)
        if update.older and update.group in self.tabs:
            self.tabs[update.group].conversation.prepend(update.rows)
        self._join_loaded()

    def join(self, group: str, create: gcom.Definition | None = None) -> None:
        """Open a group's tab with what was said in it, and join the group, or create it."""
        group = normal(group)
        self.open_group(group)
        self._joins[group] = create
        self._join_loaded()
        self.refresh()

    def open_group(self, group: str) -> GroupState:
        """Return the state of a group's tab, which is shown at the next look."""
        if group not in self.chat.groups:
            self.keeper.load(group)
        return self.chat.open(group)

    def open_private(self, group: str, peer: str) -> PrivateTalk:
        """Return a private conversation, whose tab is shown at the next look."""
        return self.chat.open_private(group, peer)

    def show_private(self, group: str, peer: str) -> None:
        """Show the tab of a private conversation."""
        name = self.open_private(group, peer).name
        self.refresh()
        self.desk.go_to(name)

    def _join_loaded(self) -> None:
        # Not before its scrollback is here: rows of the group would have no numbers that follow it.
        for group in [group for group in self._joins if self.keeper.is_loaded(group)]:
            if definition := self._joins.pop(group):
                self.client.create(definition)
            else:
                # The last to leave ends a group: whoever has its tab and comes back begins it again.
                self.client.join(group, self.chat.groups[group].definition)

    def _tell(self, notice: Notice) -> None:
        self.desk.say(notice.text)
        self.desk.notify(notice, now_ms())
        tab = self._tabs.current if notice.lasting else self.tabs.get(notice.group)
        if tab and notice.error and not notice.shown:
            tab.talk.notice(notice.text, now_ms())

    def refresh(self) -> None:
        """Show what is new in every tab."""
        for shown in self.chat.talks:
            if shown.name not in self.tabs:
                self._add_tab(shown)
            self._refresh_tab(self.tabs[shown.name])
        self.asking.refresh()
        self._show_connection()
        if self._face.show(self.chat, current.shown if (current := self._tabs.current) else None):
            self.desk.notifier.show_face()
        self._open_tabs.save()

    def _refresh_tab(self, tab: GroupTab) -> None:
        # Not only the tab in front: what comes while the window is behind another one is unread.
        front = self._tabs.currentWidget() is tab and self.in_sight
        if front:
            tab.talk.watched = True
            tab.talk.seen()
        news = tab.refresh(self.chat, now_ms())
        if front:
            self.desk.announcer.on_rows(news)
        self._keep(tab, news)
        self._tabs.show_signs(tab)

    @property
    def in_sight(self) -> bool:
        """Tell whether somebody looks at the window, as far as a window can know."""
        return self.isActiveWindow() and not self.isMinimized()

    def _keep(self, tab: GroupTab, news: list[ChatRow]) -> None:
        self.keeper.keep(tab.name, tab.talk.own.changes())
        self.keeper.add(tab.name, news)
        self.keeper.rewrite(tab.name, tab.talk.rewritten())

    def _add_tab(self, shown: Talk) -> None:
        name, group = shown.name, shown.group
        tab = self.tabs[name] = GroupTab(shown, shown.conversation.before, self._group_names, self)
        tab.entered.connect(self._on_entered)
        tab.private_wanted.connect(lambda peer: self.show_private(group, peer))
        tab.ignore_wanted.connect(self._commands.toggle_ignored)
        tab.banner.pressed.connect(lambda button: self._on_banner(name, button))
        tab.conversation.line_wanted.connect(lambda action, line: self._on_line(name, action, line))
        tab.conversation.receipt_wanted.connect(lambda row: self.client.ask_receipt(group, row.process, row.number))
        tab.conversation.open_wanted.connect(lambda row: self.desk.open_text(name, row))
        tab.input.textChanged.connect(self._open_tabs.save)
        tab.conversation.delegate.show_clock(self.keeper.settings.clock)
        tab.members.show_ignored(self.chat.ignored)
        tab.show_width(self.keeper.session.members_width)
        tab.conversation.older_wanted.connect(lambda key: self.keeper.load_older(name, key))
        at = self._tabs.addTab(tab, name)
        self._stack.setCurrentWidget(self._tabs)
        # A member that says something in private takes nobody away from what is read.
        if not tab.peer:
            self._tabs.setCurrentIndex(at)
            tab.input.setFocus()
        elif not self.keeper.load(name):
            self.chat.apply(HistoryCame(name, (), older=False), now_ms())

    def _show_connection(self) -> None:
        if self.chat.registry_away:
            text = self.tr("registry away")
        elif self.chat.registry:
            text = self.tr("{} at {}").format(apart(self.chat.nick), self.chat.registry)
        else:
            text = self.tr("not connected")
        self._connection.setText(text)
        self._start.show_connection(self.chat.registry_away or text, bool(self.chat.registry))
        self._stack.setCurrentWidget(self._tabs if self.tabs else self._start)

    def _group_names(self) -> list[str]:
        return [group.definition.group for group in self.chat.listed]

    @Slot()
    def _on_settings(self) -> None:
        """Take over what the desk does not know of."""
        settings = self.keeper.settings
        self.dock.audit.restore(settings.log_folder, settings.write_logs)
        self.client.log_dir = self.dock.audit.wanted
        self.client.listen, self.client.advertise = settings.listen, settings.advertise
        if settings.language != self._chosen:
            self._chosen, before = settings.language, self._language or "en"
            self._language = install(settings.language)
            Retranslation(before, self._language).run()
        for tab in self.tabs.values():
            tab.conversation.delegate.show_clock(settings.clock)
            tab.conversation.scheduleDelayedItemsLayout()
            tab.members.show_ignored(frozenset(settings.ignored))

    @Slot()
    def _on_poll(self) -> None:
        self.connector.wants_list = self.asking.wants_list
        self.refresh()  # a word that all is well again goes after a while

    # what is typed

    @Slot(str, str)
    def _on_entered(self, name: str, line: str) -> None:
        tab = self.tabs[name]
        try:
            done = self._commands.run(self.chat.talk(name), parse(line))
        except (BadCommand, TextTooLong) as error:
            tab.talk.notice(str(error), now_ms())
            done = False
        if done:
            tab.input.accept(line)
            tab.conversation.to_end()
        self.refresh()

    def debug(self, name: str, rest: str, members: Sequence[str]) -> str:
        """Carry out a command of the debug mode; return what became of it."""
        return self.dock.debug.command(name, rest, members)

    def rename(self, nick: str) -> None:
        """Come back to all groups under another name."""
        self.connector.connect_to(nick, self.chat.registry)

    def ask_path(self, name: str) -> str:
        """Ask where to write a file; empty: nowhere."""
        return QFileDialog.getSaveFileName(self, self.tr("Export the conversation"), name)[0]

    # wishes

    @Slot(str, str)
    def connect_to(self, nick: str, registry: str) -> None:
        """Take a name at a registry, and come to all groups that are open."""
        self.asking.wished(translate("wish", "connect"))
        self.connector.connect_to(nick, registry)

    @Slot(list)
    def come_forward(self, groups: list[str]) -> None:
        """Show the window, for a second start that wanted these groups."""
        self.showNormal() if self.isMinimized() else self.show()
        self.raise_()
        self.activateWindow()
        for group in groups:
            self.join(group)

    def _on_banner(self, name: str, button: str) -> None:
        group = self.tabs[name].group
        if button in LINE_ACTIONS:
            self._on_line(name, button, "")
        elif self.client.group(group):
            self.client.list_groups()
        else:
            self.asking.again(group)

    def _on_line(self, name: str, action: str, identity: str) -> None:
        if text := self._lines.run(name, action, identity):
            self.tabs[name].input.give_back(text)
        self.refresh()

    def _leave_current(self) -> None:
        if tab := self._tabs.current:
            self.close_tab(tab.name)

    def close_tab(self, name: str) -> None:
        """Close a tab; with a group's tab its private conversations, and leave the group."""
        tab = self.tabs[name]
        self.drop_tab(tab)
        if not tab.peer:
            self.client.leave(tab.group)
        self._show_connection()
        self._open_tabs.save()

    def drop_tab(self, tab: GroupTab) -> None:
        """Take a tab away, and forget what it shows; those of its private conversations, too."""
        self._joins.pop(tab.name, None)
        for name in self.chat.close(tab.name):
            self.keeper.forget(name)
            if gone := self.tabs.pop(name, None):
                self._tabs.removeTab(self._tabs.indexOf(gone))
                gone.deleteLater()

    @Slot(int)
    def _on_turned(self, _: int) -> None:
        for tab in self.tabs.values():
            if tab is not self._tabs.currentWidget() and tab.talk.watched:
                tab.talk.left()
        if current := self._tabs.current:
            current.input.setFocus()
            self.dock.follow(current.group)
        self.refresh()

    def changeEvent(self, event: QEvent) -> None:
        """Take note of whether somebody looks: what comes meanwhile is unread."""
        super().changeEvent(event)
        if event.type() in _LOOKS and hasattr(self, "desk"):
            if not self.in_sight and (current := self._tabs.current):
                current.talk.left()
            self.refresh()

    def moveEvent(self, event: QMoveEvent) -> None:
        """Keep where the window is."""
        super().moveEvent(event)
        self._open_tabs.save()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keep how large the window is."""
        super().resizeEvent(event)
        self._open_tabs.save()

    def closeEvent(self, event: QCloseEvent) -> None:
        """Leave all groups, and end."""
        self._open_tabs.save_now()
        self.connector.stop()
        self.dock.close_all()
        # Before the client leaves its groups: what it still tells has no window any more.
        self.bridge.close()
        self.client.close()
        # What became of the own lines while the groups were left is kept, too.
        for update in self.bridge.rest():
            if isinstance(update, Arrived | LinesMoved):
                self.chat.apply(update, now_ms())
        for tab in self.tabs.values():
            self._keep(tab, tab.talk.news())
        self.keeper.close()
        event.accept()
