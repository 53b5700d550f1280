"""`Desk`: what surrounds the tabs: search, preferences, zoom, notifications, shortcuts, and the ways between tabs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from time import monotonic

from PySide6.QtCore import QObject, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QCursor, QKeySequence
from PySide6.QtWidgets import QLabel, QMainWindow, QMenu, QTabWidget, QToolTip

import gcom
from gcom_chat.model.chat import Chat, Notice
from gcom_chat.model.conversation import Conversation
from gcom_chat.model.members import Pulse
from gcom_chat.model.query import Query
from gcom_chat.model.rows import ChatRow
from gcom_chat.model.settings import next_zoom
from gcom_chat.model.updates import FoundOnDisk, SurroundingsCame
from gcom_chat.view.desktop.actions import Actions
from gcom_chat.view.desktop.announcer import Announcer
from gcom_chat.view.desktop.appearance import Appearance
from gcom_chat.view.desktop.keeper import Keeper
from gcom_chat.view.desktop.notifications import Notifier
from gcom_chat.view.dialogs.found import FoundDialog
from gcom_chat.view.dialogs.preferences import PreferencesDialog
from gcom_chat.view.dialogs.shortcuts import ShortcutSection, ShortcutSheet, Switcher, section_of
from gcom_chat.view.dialogs.whole_text import WholeText
from gcom_chat.view.group_tab import GroupTab
from gcom_chat.view.rows.row_words import receipt_text
from gcom_chat.view.search_bar import SearchBar
from gcom_chat.view.writing.command_runner import now_ms

TABS_BY_KEY = 9  # the digits of a keyboard
STATUS_MARGIN = 40  # pixels for the frame, the grip and a gap
STATUS_MS = 8_000  # two lines are read in that time
PULSE_MS = 1_000  # how often the member list says who is silent


class Desk(QObject):
    """Works on the tabs of a window; `rename` comes back under another nick."""

    connect_wanted = Signal(str, str)  # nick and registry, from the preferences
    protection_wanted = Signal(str, str)
    protection_told = Signal(object)  # a ProtectionTold

    def __init__(
        self, window: QMainWindow, chat: Chat, keeper: Keeper, tabs: QTabWidget, rename: Callable[[str], None]
    ) -> None:
        super().__init__(window)
        self._window, self._chat, self._keeper, self._tabs, self._rename = window, chat, keeper, tabs, rename
        self.search = SearchBar(self._talks, window)
        self.search.found.connect(self._reveal)
        self.search.marked.connect(self._mark)
        self.search.disk_wanted.connect(keeper.search)
        self.search.older_wanted.connect(self.show_found)
        self._found: FoundDialog | None = None
        self._opening = ("", 0)  # tab and key of the row whose text is read from disk
        tabs.currentChanged.connect(self._on_turned)
        self.notifier = Notifier(window)
        self.notifier.opened.connect(self.go_to)
        self.announcer = Announcer(window)
        self.actions = Actions(window)
        self._appearance = Appearance()
        keeper.changed.connect(self.apply)
        self.apply()

    @Slot()
    def apply(self) -> None:
        """Take the settings over, at once."""
        settings = self._keeper.settings
        self._appearance.apply(settings)
        self.notifier.apply(settings)
        self._chat.collapse = settings.collapse
        self._chat.set_words(settings.words)
        self._chat.ignored = frozenset(settings.ignored)
        self.actions.apply(settings.shortcuts)

    def say(self, text: str) -> None:
        """Show a text in the status line for a while, as much of it as there is room for beside the connection."""
        bar = self._window.statusBar()
        # Qt would write it on below the connection's label, where half of a word looks like the end of another.
        room = bar.width() - sum(label.sizeHint().width() for label in bar.findChildren(QLabel)) - STATUS_MARGIN
        text = gcom.isolated(text)
        bar.showMessage(bar.fontMetrics().elidedText(text, Qt.TextElideMode.ElideRight, room), STATUS_MS)

    def notify(self, notice: Notice, now_ms: int) -> None:
        """Tell the desktop of a mention or a private message, and assistive technology of that and of troubles."""
        self.announcer.say(notice.text, urgent=notice.error)
        if notice.group and not notice.error:
            self.notifier.notify(self._keeper.settings, notice.group, notice.text, now_ms)

    # actions

    def add_actions(self, edit: QMenu, view: QMenu, about: QMenu) -> None:
        """Add what the desk offers to the menus, and give all actions the keys that the user chose."""
        make = self.actions.make
        edit.addAction(make("copy", self.tr("&Copy"), QKeySequence.StandardKey.Copy, lambda: self._copy("text")))
        edit.addAction(make("copy-header", self.tr("Copy with &header"), "Ctrl+Shift+C", lambda: self._copy("header")))
        edit.addAction(make("copy-json", self.tr("Copy as &JSON"), "Ctrl+Alt+C", lambda: self._copy("json")))
        edit.addSeparator()
        edit.addAction(make("find", self.tr("&Find…"), QKeySequence.StandardKey.Find, self.search.open))
        edit.addAction(make("find-previous", self.tr("Find p&revious"), "Shift+F3", self.search.previous))
        edit.addAction(make("find-next", self.tr("Find &next"), "F3", self.search.next))
        edit.addSeparator()
        edit.addAction(make("preferences", self.tr("&Preferences…"), "Ctrl+,", self.ask_preferences))
        view.addAction(make("go-to-group", self.tr("&Go to a group…"), "Ctrl+K", self.ask_group))
        view.addAction(make("next-unread", self.tr("Next &unread tab"), "Alt+Shift+Down", self.go_to_unread))
        view.addAction(
            make("first-unread", self.tr("Go to the &first unread message"), "Shift+PgUp", self.go_to_marker)
        )
        view.addAction(make("all-seen", self.tr("All is &seen, go to the newest"), "Esc", self.settle))
        view.addSeparator()
        for name, text, keys, step in (
            ("zoom-in", self.tr("&Zoom in"), ("Ctrl++", "Ctrl+="), 1),
            ("zoom-out", self.tr("Zoom ou&t"), ("Ctrl+-",), -1),
            ("zoom-back", self.tr("Zoom &back to 100 %"), ("Ctrl+0",), 0),
        ):
            view.addAction(make(name, text, keys, partial(self.zoom, step)))
        for number in range(1, TABS_BY_KEY + 1):
            text = self.tr("Go to tab {}").format(number)
            keys = (f"Ctrl+{number}", f"Alt+{number}")
            # Of the window and in no menu: an action that no widget has has no keys, and nine lines would fill a menu.
            self._window.addAction(make(f"tab-{number}", text, keys, partial(self._turn_to, number - 1)))
        about.addAction(make("shortcuts", self.tr("&Shortcuts"), ("F1", "Ctrl+/"), self.show_shortcuts))
        # Once more: the constructor did so when there were no actions yet.
        self.actions.apply(self._keeper.settings.shortcuts)

    def add_turns(self, view: QMenu) -> None:
        """Add the ways to the neighbours of the tab in front."""
        make = self.actions.make
        view.addAction(make("next-tab", self.tr("&Next tab"), ("Ctrl+PgDown", "Ctrl+Tab"), lambda: self._turn(1)))
        view.addAction(
            make("previous-tab", self.tr("&Previous tab"), ("Ctrl+PgUp", "Ctrl+Shift+Tab"), lambda: self._turn(-1))
        )
        view.addSeparator()

    def show_shortcuts(self) -> None:
        """Show what each key does."""
        sheet = ShortcutSheet(self.shortcuts(), self._window)
        sheet.exec()
        sheet.deleteLater()  # a child of the window would live as long as that

    def shortcuts(self) -> list[ShortcutSection]:
        """Return all keys: those of the menus, and those of the input."""
        tabs = self.tr("Ctrl+1 to Ctrl+{}, Alt+1 to Alt+{}").format(TABS_BY_KEY, TABS_BY_KEY)
        typing = [
            (self.tr("Enter"), self.tr("Send the message")),
            (self.tr("Shift+Enter"), self.tr("Begin a new line")),
            (self.tr("Tab"), self.tr("Complete a name or a command")),
            (self.tr("Up, Down"), self.tr("Walk through what was sent")),
            (tabs, self.tr("Go to a tab")),
        ]
        menus = [action.menu() for action in self._window.menuBar().actions()]
        sections = [section_of(menu) for menu in menus if isinstance(menu, QMenu)]
        return [(self.tr("Writing"), typing), *sections]

    def ask_preferences(self) -> None:
        """Open the preferences."""
        dialog = PreferencesDialog(self._keeper, self._chat.nick, self.actions, self._window)
        dialog.renamed.connect(self._on_renamed)
        network = dialog.network
        network.connect_wanted.connect(self.connect_wanted)
        network.protection_wanted.connect(self.protection_wanted)
        self.protection_told.connect(network.show_protection)
        dialog.exec()
        self.protection_told.disconnect(network.show_protection)
        dialog.deleteLater()

    @Slot(str)
    def _on_renamed(self, nick: str) -> None:
        if self._chat.registry:
            self._rename(nick)
        else:
            self._keeper.change(nick=nick)

    def zoom(self, step: int) -> None:
        """Make all texts larger or smaller; 0: as they were."""
        self._keeper.change(zoom=next_zoom(self._keeper.settings.zoom, step))

    # tabs

    def follow_pulse(self, pulse_of: Callable[[str], Pulse | None]) -> None:
        """Show in the tab in front, again and again, how its members were last heard."""
        # By a clock: of a member that falls silent no update comes.
        timer = QTimer(self, interval=PULSE_MS)
        timer.timeout.connect(lambda: self._show_pulse(pulse_of))
        timer.start()

    def _show_pulse(self, pulse_of: Callable[[str], Pulse | None]) -> None:
        if tab := self._current():
            tab.show_pulse(pulse_of(tab.group), monotonic())
            tab.show_banner(self._chat, now_ms())

    def _group_tabs(self) -> list[GroupTab]:
        return [tab for at in range(self._tabs.count()) if isinstance(tab := self._tabs.widget(at), GroupTab)]

    def _current(self) -> GroupTab | None:
        tab = self._tabs.currentWidget()
        return tab if isinstance(tab, GroupTab) else None

    @Slot(str)
    def go_to(self, group: str) -> None:
        """Show a group's tab."""
        for tab in self._group_tabs():
            if tab.name == group:
                self._tabs.setCurrentWidget(tab)

    def ask_group(self) -> None:
        """Ask which group to go to."""
        dialog = Switcher([tab.name for tab in self._group_tabs()], self._window)
        if dialog.exec():
            self.go_to(dialog.chosen())
        dialog.deleteLater()

    def go_to_unread(self) -> None:
        """Go to the next tab with something unread, mentions first."""
        tabs = self._group_tabs()
        start = self._tabs.currentIndex() + 1
        tabs = tabs[start:] + tabs[:start]
        # A stable sort: among those with mentions the next one to the right comes first.
        tabs.sort(key=lambda tab: not tab.talk.mentioned)
        for tab in tabs:
            if tab.talk.unread or tab.talk.mentioned:
                self._tabs.setCurrentWidget(tab)
                return

    def _turn(self, step: int) -> None:
        if self._tabs.count():
            self._tabs.setCurrentIndex((self._tabs.currentIndex() + step) % self._tabs.count())

    def _turn_to(self, at: int) -> None:
        if at < self._tabs.count():
            self._tabs.setCurrentIndex(at)

    # the conversation in front

    def go_to_marker(self) -> None:
        """Show the first message that was not seen."""
        tab = self._current()
        if tab and tab.talk.marker:
            tab.conversation.reveal(tab.talk.marker)

    def settle(self) -> None:
        """Take the unread line away, end the search, and show the newest."""
        self.search.end()
        if tab := self._current():
            tab.talk.marker = tab.conversation.rows.marker = None
            tab.conversation.select_part(None)
            tab.conversation.to_end()
            # The line is no row of the model, so nothing else would paint without it.
            tab.conversation.viewport().update()
            tab.input.setFocus()

    def _copy(self, form: str) -> None:
        tab = self._current()
        # The menu's action takes Ctrl+C from the input, so what is selected there comes first.
        if tab and tab.input.textCursor().hasSelection() and form == "text":
            tab.input.copy()
        elif tab:
            tab.conversation.copy(form)

    def show_receipt(self, receipt: gcom.Receipt) -> None:
        """Say who has an own message, at the mouse and in the status line."""
        text = receipt_text(receipt)
        self.say(text)
        QToolTip.showText(QCursor.pos(), text, self._window)

    # search

    def _talks(self, everywhere: bool) -> list[Conversation]:
        current = self._current()
        tabs = self._group_tabs() if everywhere else [current] if current else []
        return [tab.talk for tab in tabs]

    @Slot(object)
    def show_found(self, found: FoundOnDisk) -> None:
        """Show what a search found on disk, beside the window."""
        dialog = self._found = FoundDialog(found, self._window)
        dialog.around_wanted.connect(self._keeper.look_around)
        dialog.finished.connect(self._on_found_closed)
        # Its constructor has chosen a hit already, when nobody listened.
        dialog.ask()
        dialog.show()

    @Slot()
    def _on_found_closed(self) -> None:
        # It deletes itself when it is closed: what comes late must not reach it.
        self._found = None

    def on_disk(self, update: FoundOnDisk | SurroundingsCame) -> None:
        """Take what came of the scrollback on disk."""
        if isinstance(update, FoundOnDisk):
            # It may have been asked for at another registry, whose groups of these names are others.
            if update.registry == self._keeper.registry:
                self.search.on_found(update)
        elif self._opening == (update.group, update.key):
            self._opening = ("", 0)
            for row in update.rows:
                if row.key == update.key:
                    WholeText(row, self._window).show()
        elif self._found:
            self._found.show_around(update)

    def open_text(self, name: str, row: ChatRow) -> None:
        """Show the whole text of a row, which may be on disk alone."""
        if row.whole or not row.cut or not self._keeper.look_around(name, row.key):
            WholeText(row, self._window).show()
        else:
            self._opening = name, row.key

    @Slot(str, int)
    def _reveal(self, group: str, key: int) -> None:
        self.go_to(group)
        if tab := self._current():
            tab.conversation.reveal(key)
            self.search.field.setFocus()

    @Slot(str, str, int)
    def reveal_message(self, group: str, sender: str, number: int) -> None:
        """Show a message in the conversation of its group."""
        tab = next((tab for tab in self._group_tabs() if tab.name == group), None)
        if tab is not None:
            self._tabs.setCurrentWidget(tab)
            rows = tab.talk.rows
            key = next((row.key for row in rows if (row.process, row.number) == (sender, number)), 0)
            if not key or not tab.conversation.reveal(key):
                text = self.tr("this message is not in the conversation any more")
                self.say(text)

    @Slot(object)
    def _mark(self, query: Query) -> None:
        for tab in self._group_tabs():
            tab.conversation.mark(query)

    @Slot()
    def _on_turned(self) -> None:
        if not self.search.everywhere.isChecked():
            self.search.renew()
