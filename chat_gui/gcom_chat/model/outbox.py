"""The outbox: the own lines of a conversation that are not known to be held by all, and what became of each.

A line without a place among the others' rows stands at the end. One that ended badly stays until the user sends it
again or discards it.
"""

from __future__ import annotations

from dataclasses import dataclass

from gcom_chat.model.input.commands import typed
from gcom_chat.model.rows import ENDED_BADLY, ChatRow, MessageState, RowKind
from gcom_chat.model.text import in_full, shown
from gcom_chat.model.texts.isolates import apart
from gcom_chat.model.texts.words import translate
from gcom_chat.model.wire import ChatMessage, MessageKind

_KINDS = {MessageKind.TEXT: RowKind.MESSAGE, MessageKind.ACTION: RowKind.ACTION, MessageKind.TOPIC: RowKind.ACTION}


@dataclass(slots=True)
class OwnLine:
    """An own line; `to` names a member, or is empty for all. `placed`: its row stands among the others'."""

    message: ChatMessage
    to: str
    row: ChatRow
    placed: bool = False
    why: str = ""  # it ended badly

    @property
    def state(self) -> MessageState:
        """The state that its row shows."""
        return self.row.delivery

    @property
    def ended_badly(self) -> bool:
        """Tell whether it is for the user to decide what becomes of it."""
        return self.state in ENDED_BADLY


def own_line(
    message: ChatMessage, to: str, name: str, at_ms: int, state: MessageState = MessageState.WAITING, why: str = ""
) -> OwnLine | None:
    """Return a line with a row that shows it; None for a message that nobody typed as a line."""
    if not typed(message):
        return None
    kind = RowKind.PRIVATE if to and message.kind is MessageKind.TEXT else _KINDS[message.kind]
    text = message.text
    if message.kind is MessageKind.TOPIC:
        text = translate("chat", "sets the topic: {}").format(apart(text))
    row = ChatRow(0, kind, at_ms, name, shown(text), id=message.id, sent_ms=message.at_ms, peer=to, own=True)
    row.whole = in_full(text)
    row.cut, row.delivery = bool(row.whole), state
    return OwnLine(message, to, row, why=why)


def after_restart(line: OwnLine) -> OwnLine:
    """Return a line of a chat that ended, with what can be said of it now."""
    if line.state is MessageState.WAITING:
        line.row.delivery, line.why = MessageState.LOST, translate("chat", "the chat ended before it was sent")
    elif not line.ended_badly:
        line.row.delivery = MessageState.UNCONFIRMED
        line.why = translate("chat", "the chat ended before all were known to hold it")
    return line


class ChatOutbox:
    """The own lines by id, in the order of typing; `changes` are for the disk."""

    def __init__(self) -> None:
        self.lines: dict[str, OwnLine] = {}
        self._changes: dict[str, OwnLine | None] = {}

    def put(self, line: OwnLine) -> None:
        """Take a line, or one that changed."""
        self.lines[line.message.id] = line
        self._changes[line.message.id] = line

    def drop(self, identity: str) -> OwnLine | None:
        """Forget a line whose end is known, or which is discarded."""
        line = self.lines.pop(identity, None)
        if line is not None:
            self._changes[identity] = None
        return line

    def changes(self) -> dict[str, OwnLine | None]:
        """Return the lines that changed since the last call, None for those that are forgotten."""
        changes, self._changes = self._changes, {}
        return changes

    @property
    def rows(self) -> list[ChatRow]:
        """The rows that have no place among the others', in the order of typing."""
        return [line.row for line in self.lines.values() if not line.placed]

    @property
    def unfinished(self) -> list[OwnLine]:
        """The lines that ended badly."""
        return [line for line in self.lines.values() if line.ended_badly]

    def count(self, *states: MessageState) -> int:
        """Return how many lines are in one of some states."""
        return sum(line.state in states for line in self.lines.values())
