"""`Asking`: the dialogs in which one wishes for something, and what is said when a wish is not granted."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Protocol

from PySide6.QtCore import QObject, QProcess
from PySide6.QtWidgets import QWidget

import gcom
from gcom_chat.client.client import ChatClient
from gcom_chat.model.chat import Chat
from gcom_chat.model.group_state import GroupStanding
from gcom_chat.model.texts.words import translate
from gcom_chat.model.updates import ProtectionTold, WishFailed
from gcom_chat.view.dialogs.groups import ConnectDialog, CreateDialog, JoinDialog
from gcom_chat.view.dialogs.trouble import TroubleDialog


class AskingHost(Protocol):
    """The part of the window that wishes are made to."""

    chat: Chat
    client: ChatClient

    def join(self, group: str, create: gcom.Definition | None = None) -> None: ...

    def connect_to(self, nick: str, registry: str) -> None: ...


class Asking(QObject):
    """Asks for a registry, for the properties of a new group, and which group to join."""

    def __init__(self, host: AskingHost, window: QWidget, nick: str, registry: str) -> None:
        super().__init__(window)
        self._host, self._window = host, window
        self._nick, self._registry = nick, registry
        # By their words, which `WishFailed` brings back: a wish has no other name.
        self._open: set[str] = set()  # what the user wished for, and has not heard of
        # Kept after the join began: "Join again" makes the same group, and not one of other promises.
        self._definitions: dict[str, gcom.Definition] = {}  # of groups to create
        self._list: JoinDialog | None = None
        self._connecting: ConnectDialog | None = None

    @property
    def wants_list(self) -> bool:
        """Tell whether a list of groups is open, which is to be kept up to date."""
        return self._list is not None

    def refresh(self) -> None:
        """Show the groups that are known now in the list that is open."""
        if self._list:
            self._list.show_groups(self._host.chat.listed)

    def wished(self, what: str) -> None:
        """Take note of a wish whose failure is to be said in a dialog."""
        self._open.add(what)

    def connect_to(self) -> None:
        """Ask for nick and registry, and connect."""
        chat = self._host.chat
        dialog = ConnectDialog(chat.nick or self._nick, chat.registry or self._registry, self._window)
        self.about_to_connect(dialog)
        done = dialog.exec()
        self._connecting = None
        if done and (invitation := dialog.invitation.text().strip()):
            self.wished(translate("wish", "accept the invitation"))
            self._host.client.accept(invitation)
        elif done:
            self._host.connect_to(*dialog.wish())
        dialog.deleteLater()  # a child of the window would live as long as that

    def about_to_connect(self, dialog: ConnectDialog) -> None:
        """Tell a dialog from now on how the connection that stands in it is protected."""
        dialog.protection_wanted.connect(self._host.client.ask_protection)
        self._connecting = dialog

    def on_protection(self, told: ProtectionTold) -> None:
        """Say how a connection is protected, in the dialog that asks."""
        if self._connecting:
            self._connecting.show_protection(told.name, told.registry, told.text, told.trouble)

    def create(self, name: str = "") -> None:
        """Ask for the properties of a group, make it and join it."""
        if not self._host.chat.registry:
            self.connect_to()
            return
        chat = self._host.chat
        dialog = CreateDialog(chat.nick, chat.certified, self._window, name)
        if dialog.exec():
            definition = dialog.definition()
            self._definitions[definition.group] = definition
            self.wished(translate("wish", "create the group {}").format(definition.group))
            self._host.join(definition.group, definition)
        dialog.deleteLater()

    def join(self) -> None:
        """Ask which group to join."""
        if not self._host.chat.registry:
            self.connect_to()
            return
        # Asked now, and shown as it comes: what is known may be of minutes ago.
        self._host.client.list_groups()
        inside = {name for name, state in self._host.chat.groups.items() if state.standing is GroupStanding.IN}
        dialog = self._list = JoinDialog(self._host.chat.listed, inside, self._window)
        if dialog.exec():
            self._host.join(dialog.chosen())
        self._list = None
        dialog.deleteLater()

    def again(self, group: str) -> None:
        """Wish once more for a group that could not be joined; one that was to be created still is."""
        state = self._host.chat.groups.get(group)
        if state and state.missing and group not in self._definitions:
            self.create(group)
        else:
            self._host.join(group, self._definitions.get(group))

    def demo(self) -> None:
        """Start the demonstration, as a chat of its own that goes on when this one ends."""
        # Detached: a child would end with this window, in the middle of what it shows.
        started, _ = QProcess.startDetached(sys.executable, ["-m", "gcom_chat", "--demo"])
        if not started:
            text = self.tr("Start it from a terminal: gcom-chat --demo")
            TroubleDialog(self.tr("The demo did not start"), text, "", self._window).open()

    def on_failed(self, failed: WishFailed, start: Callable[[str], None] | None) -> None:
        """Say what failed where it was wished for: on the start page, if it shows, else in a dialog, once per wish."""
        what = self.tr("Could not {}").format(failed.what)
        todo = self.tr("Check the address, and that gcom-registry runs there; the chat tries again by itself.")
        todo = todo if failed.what == translate("wish", "connect") else ""
        if start is not None:
            start(f"{what}: {failed.why}\n{todo}".strip())
        # What nobody wished for by hand, a group of the last session say, is told in the status bar alone.
        elif failed.what in self._open:
            # Not exec: its event loop would run within the slot that brings updates, and bring others meanwhile.
            TroubleDialog(what, failed.why, todo, self._window).open()
        self._open.discard(failed.what)
