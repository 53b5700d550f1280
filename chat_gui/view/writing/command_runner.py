"""Carries out what is typed: sends a text, opens a tab at /join, and so on (chat_gui/model/commands.py)."""

from __future__ import annotations

import secrets
import time
from typing import Protocol

import gcom
from chat_gui.client.client import ChatClient
from chat_gui.model.chat import Chat, GroupState
from chat_gui.model.commands import BadCommand, Command, help_text
from chat_gui.model.members import Pulse, presence_text
from chat_gui.model.text import clean
from chat_gui.model.texts.orderings import ORDERINGS
from chat_gui.model.texts.words import translate
from chat_gui.model.wire import ChatMessage, MessageKind, encode
from chat_gui.view.desktop.keeper import Keeper


def now_ms() -> int:
    """Return the wall clock, in ms since 1970."""
    return time.time_ns() // 1_000_000


class CommandHost(Protocol):
    """The part of the window that commands use."""

    chat: Chat
    client: ChatClient
    keeper: Keeper

    def join(self, group: str) -> None: ...

    def close_group(self, group: str) -> None: ...

    def rename(self, nick: str) -> None: ...

    def ask_path(self, name: str) -> str: ...

    def debug(self, name: str, rest: str) -> str: ...


class CommandRunner:
    """Carries commands out, in the group in whose tab they were typed."""

    def __init__(self, host: CommandHost) -> None:
        self._host = host

    def run(self, group: str, command: Command) -> bool:
        """Carry out a command; return whether it is done, so that the input may be emptied.

        Raises BadCommand, TextTooLong.
        """
        match command.name:
            case "":
                return self._say(group, MessageKind.TEXT, command.rest)
            case "me":
                return self._say(group, MessageKind.ACTION, command.rest)
            case "topic" if command.rest:
                return self._say(group, MessageKind.TOPIC, command.rest)
            case "msg":
                to, _, text = command.rest.partition(" ")
                return self._say(group, MessageKind.TEXT, text, to)
            case "join":
                self._host.join(command.rest)
            case "leave":
                self._host.close_group(group)
            case "nick":
                self.rename(command.rest)
            case "export":
                self._export(group, command.rest)
            case _:
                self._note(group, self._answer(group, command))
        return True

    def _answer(self, group: str, command: Command) -> str:
        """Return the answer to a command that changes nothing in the group."""
        state = self._host.chat.groups[group]
        match command.name:
            case "topic":
                topic = state.conversation.topic
                return translate("topic", "the topic is: {}").format(topic) if topic else translate("topic", "no topic")
            case "who":
                return who_text(state, self._host.client.pulse(group), time.monotonic())
            case "order":
                return order_text(state)
            case "help":
                return help_text()
            case _:
                return self._host.debug(command.name, command.rest)

    def _say(self, group: str, kind: MessageKind, text: str, to: str = "") -> bool:
        # Of chance and not counted: messages of all members stand in one conversation, by these ids.
        message = ChatMessage(kind, clean(text), secrets.token_hex(6), now_ms())
        # Encoded only to see whether it fits a message: TextTooLong leaves the text in the input.
        encode(message)
        if why := self._host.client.send(group, message, to):
            self._note(group, translate("chat", "not sent: {}").format(why))
            return False
        # After the send, but before anything comes of it: that is told in a later turn of this thread.
        self._host.chat.groups[group].conversation.sending(message, self._host.chat.nick, now_ms(), to)
        return True

    def rename(self, nick: str) -> None:
        """Tell all groups the name under which this chat comes back to them, and do so. Raises BadCommand."""
        try:
            # Checked before it is told to all groups: a nick that cannot be is told to nobody.
            gcom.Definition("x", static=(nick,))
        except gcom.BadValue as error:
            raise BadCommand(str(error)) from error
        for group in self._host.chat.groups:
            self._say(group, MessageKind.NICK, nick)
        self._host.rename(nick)

    def _export(self, group: str, path: str) -> None:
        path = path or self._host.ask_path(f"{group}.txt")
        if path:
            self._host.keeper.export(group, self._host.chat.groups[group].conversation.rows, path)

    def _note(self, group: str, text: str) -> None:
        self._host.chat.groups[group].conversation.notice(text, now_ms())


def who_text(state: GroupState, pulse: Pulse | None, now_s: float) -> str:
    """Return the members of a group, a line for each, and when each was last heard."""
    lines = []
    for member in state.members.list(state.process, pulse, now_s):
        leads = translate("who", "leader") if member.leads else ""
        heard = "" if member.heard_s is None else translate("who", "heard {} s ago").format(member.heard_s)
        words = (presence_text(member.presence), leads, heard, member.why)
        lines.append(f"{member.name}: {', '.join(word for word in words if word)}")
    return "\n".join(lines) or translate("who", "nobody is known yet")


def order_text(state: GroupState) -> str:
    """Return what the ordering of a group promises."""
    if state.definition is None:
        return translate("order", "not known before this chat is in the group")
    name, multicast = state.definition.ordering.value, state.definition.multicast.value
    return f"{name}, {multicast}: {translate('orderings', ORDERINGS[name])}"
