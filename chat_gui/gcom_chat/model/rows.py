"""The rows of a conversation: what people said, and what happened between."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, StrEnum


class RowKind(StrEnum):
    """The kind of a row; the words are those of the scrollback on disk."""

    MESSAGE = "message"
    ACTION = "action"
    PRIVATE = "private"  # a unicast, from or to `peer`
    NOTICE = "notice"  # a line of the chat's own
    VIEW = "view"  # a view change
    DAY = "day"


class MessageState(IntEnum):
    """The state of an own line. It ends as HELD (over BASIC as ORDERED), or in one of ENDED_BADLY."""

    NONE = 0  # another's, or not known any more
    WAITING = 1  # on this computer: the window is full, or no quorum is heard
    SENT = 2
    ORDERED = 3  # delivered here, so its place is fixed
    HELD = 4  # by all members
    DOUBT = 5  # it may not have arrived, and an event will say
    LOST = 6  # it was not sent, or never arrived
    UNCONFIRMED = 7  # nobody can say any more whether it arrived


# The user decides about these: to send again, or to discard.
ENDED_BADLY = frozenset({MessageState.LOST, MessageState.UNCONFIRMED})


@dataclass(frozen=True, slots=True)
class MessageTimes:
    """The times of one delivered message, as this process saw it; wall clock, ms since 1970.

    `sent_ms`: when `send` took an own one. `ordered_ms`: when its serial was known here, which may be before it came.
    `serial` is 0 without a total order; `clock`: the vector clock of its sending, where it is known.
    """

    received_ms: float
    delivered_ms: float
    sent_ms: float | None = None
    ordered_ms: float | None = None
    serial: int = 0
    clock: dict[str, int] | None = None

    @property
    def held_ms(self) -> float:
        """The time for which the message was held back between its arrival and its delivery."""
        return self.delivered_ms - self.received_ms


@dataclass(slots=True)
class ChatRow:
    """A row. `key` grows with the place in the conversation; `at_ms` is the wall clock here at its delivery.

    `number` is the message's in the stream of `process`; `sent_ms` the sender's wall clock, 0 if it did not say.
    """

    key: int
    kind: RowKind
    at_ms: int
    name: str  # who said it; empty for the chat's own
    text: str
    process: str = ""
    number: int = 0
    view: int = 0
    id: str = ""
    sent_ms: int = 0
    peer: str = ""
    own: bool = False
    mention: bool = False
    earlier: bool = False  # from the state or the disk: said before this process came
    looks_like: str = ""  # an older member for whom the sender's name may be taken
    delivery: MessageState = MessageState.NONE
    cut: bool = False  # `text` is the beginning of it
    whole: str = ""  # all of what is cut, while there is room for it in memory; on disk it is there for longer
    times: MessageTimes | None = None  # None: not a message of the group, or nobody watched

    @property
    def said(self) -> str:
        """The whole text, as far as it is in memory."""
        return self.whole or self.text
