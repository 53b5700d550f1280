"""Carries out what is typed: sends a text, opens a tab at /join, and so on (model/input/commands.py)."""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence
from typing import Protocol

import gcom
from gcom_chat.client.client import ChatClient
from gcom_chat.model.chat import Chat
from gcom_chat.model.group_state import GroupState, Talk
from gcom_chat.model.input.commands import BadCommand, Command, help_text, named
from gcom_chat.model.members import Pulse, presence_text
from gcom_chat.model.text import clean
from gcom_chat.model.texts.isolates import apart
from gcom_chat.model.texts.orderings import ORDERINGS
from gcom_chat.model.texts.words import translate
from gcom_chat.model.wire import ChatMessage, MessageKind, encode
from gcom_chat.view.desktop.keeper import Keeper


def now_ms() -> int:
    """Return the wall clock, in ms since 1970."""
    return time.time_ns() // 1_000_000


class CommandHost(Protocol):
    """The part of the window that commands use."""

    chat: Chat
    client: ChatClient
    keeper: Keeper

    def join(self, group: str) -> None: ...

    def close_tab(self, name: str) -> None: ...

    def show_private(self, group: str, peer: str) -> None: ...

    def rename(self, nick: str) -> None: ...

    def ask_path(self, name: str) -> str: ...

    def debug(self, name: str, rest: str, members: Sequence[str]) -> str: ...


class CommandRunner:
    """Carries commands out, for the tab in which they were typed."""

    def __init__(self, host: CommandHost) -> None:
        self._host = host

    def run(self, shown: Talk, command: Command) -> bool:
        """Carry out a command; return whether it is done, so that the input may be emptied.

        Raises BadCommand, TextTooLong.
        """
        match command.name:
            case "":
                return self._say(shown, MessageKind.TEXT, command.rest)
            case "me":
                return self._say(shown, MessageKind.ACTION, command.rest)
            case "topic" if command.rest:
                return self._say(self._group_of(shown), MessageKind.TOPIC, command.rest)
            case "msg":
                view = self._host.chat.groups[shown.group].members.view
                return self._whisper(shown.group, *named(command.rest, view.names if view else ()))
            case "join":
                self._host.join(command.rest)
            case "leave":
                self._host.close_tab(shown.name)
            case "nick":
                self.rename(command.rest)
            case "export":
                self._export(shown, command.rest)
            case _:
                self._note(shown, self._answer(shown, command))
        return True

    def _group_of(self, shown: Talk) -> GroupState:
        return self._host.chat.groups[shown.group]

    def _answer(self, shown: Talk, command: Command) -> str:
        """Return the answer to a command that changes nothing in the group."""
        state = self._group_of(shown)
        match command.name:
            case "topic":
                topic = state.conversation.topic
                return (
                    translate("topic", "the topic is: {}").format(apart(topic))
                    if topic
                    else translate("topic", "no topic")
                )
            case "who":
                return who_text(state, self._host.client.pulse(shown.group), time.monotonic())
            case "order":
                return order_text(state)
            case "ignore" | "unignore":
                return self._ignore(command)
            case "help":
                return help_text()
            case _:
                view = state.members.view
                return self._host.debug(command.name, command.rest, view.names if view else ())

    def _say(self, shown: Talk, kind: MessageKind, text: str) -> bool:
        # Of chance and not counted: messages of all members stand in one conversation, by these ids.
        message = ChatMessage(kind, clean(text), secrets.token_hex(6), now_ms())
        # Encoded only to see whether it fits a message: TextTooLong leaves the text in the input.
        encode(message)
        if why := self._host.client.send(shown.group, message, shown.peer):
            self._note(shown, translate("chat", "not sent: {}").format(why))
            return False
        # After the send, but before anything comes of it: that is told in a later turn of this thread.
        shown.conversation.sending(message, self._host.chat.nick, now_ms(), shown.peer)
        return True

    def _whisper(self, group: str, peer: str, text: str) -> bool:
        """Say something to one member, in a tab of its own. Raises BadCommand."""
        view = self._host.chat.groups[group].members.view
        if peer == self._host.chat.nick or (view and peer not in view.names):
            others = ", ".join(apart(name) for name in (view.names if view else ()) if name != self._host.chat.nick)
            text = translate("commands", "/msg needs another member of the group: {}; got {}")
            raise BadCommand(text.format(others or translate("receipt", "nobody"), apart(peer[:40])))
        done = self._say(self._host.chat.open_private(group, peer), MessageKind.TEXT, text)
        self._host.show_private(group, peer)
        return done

    def rename(self, nick: str) -> None:
        """Tell all groups the name under which this chat comes back to them, and do so. Raises BadCommand."""
        nick = _checked(nick)
        for state in self._host.chat.groups.values():
            self._say(state, MessageKind.NICK, nick)
        self._host.rename(nick)

    # ignoring

    def _ignore(self, command: Command) -> str:
        name, ignored = command.rest, self._host.chat.ignored
        if not name:
            names = ", ".join(map(apart, sorted(ignored))) or translate("receipt", "nobody")
            return translate("ignore", "ignored: {}").format(names)
        name = _checked(name)
        if (name in ignored) == (command.name == "ignore"):
            return (
                translate("ignore", "{} is ignored already")
                if name in ignored
                else translate("ignore", "{} is not ignored")
            ).format(apart(name))
        self.toggle_ignored(name)
        return self._ignored_text(name)

    def _ignored_text(self, name: str) -> str:
        if name in self._host.chat.ignored:
            text = translate("ignore", "nothing is shown of what {0} says from now on; /unignore {0} ends that")
        else:
            text = translate("ignore", "what {} says from now on is shown again")
        return text.format(apart(name))

    def toggle_ignored(self, name: str) -> None:
        """Show nothing of what a member says from now on, or show it again."""
        ignored = self._host.chat.ignored ^ {name}
        self._host.keeper.change(ignored=tuple(sorted(ignored)))

    def _export(self, shown: Talk, path: str) -> None:
        path = path or self._host.ask_path(f"{shown.name}.txt")
        if path:
            self._host.keeper.export(shown.name, shown.conversation.rows, path)

    def _note(self, shown: Talk, text: str) -> None:
        shown.conversation.notice(text, now_ms())


def _checked(name: str) -> str:
    """Return a name in the library's form. Raises BadCommand."""
    try:
        # By the library's rule, before anything is told: a name that cannot be is told to nobody.
        return gcom.Definition("x", static=(name,)).static[0]
    except gcom.BadValue as error:
        raise BadCommand(str(error)) from error


def who_text(state: GroupState, pulse: Pulse | None, now_s: float) -> str:
    """Return the members of a group, a line for each, and when each was last heard."""
    lines = []
    for member in state.members.list(state.process, pulse, now_s):
        leads = translate("who", "leader") if member.leads else ""
        heard = "" if member.heard_s is None else translate("who", "heard {} s ago").format(member.heard_s)
        words = (presence_text(member.presence), leads, heard, member.why)
        lines.append(f"{apart(member.name)}: {', '.join(word for word in words if word)}")
    return "\n".join(lines) or translate("who", "nobody is known yet")


def order_text(state: GroupState) -> str:
    """Return what the ordering of a group promises."""
    if state.definition is None:
        return translate("order", "not known before this chat is in the group")
    name, multicast = state.definition.ordering.value, state.definition.multicast.value
    return f"{name}, {multicast}: {translate('orderings', ORDERINGS[name])}"
