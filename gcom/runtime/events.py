"""What an application reads from a group, in the order in which it happened (docs: README, Library)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from gcom.runtime import payloads
from gcom.values import names
from gcom.values.names import Process
from gcom.values.run import Payload
from gcom.values.view import View


class Message(NamedTuple):
    """One delivered message: `number` in the stream of `sender`, delivered in `view`."""

    sender: Process
    number: int
    view: int
    payload: Payload

    @property
    def name(self) -> str:
        """The sender's name, without its incarnation."""
        return names.name_of(self.sender)

    @property
    def text(self) -> str:
        """The payload as text; bytes that are no UTF-8 are replaced."""
        return payloads.text_of(self.payload)

    @property
    def data(self) -> bytes:
        """The payload as bytes; text as UTF-8."""
        return payloads.data_of(self.payload)


class Unicast(NamedTuple):
    """A message that `sender` sent to this process alone."""

    sender: Process
    payload: Payload

    @property
    def name(self) -> str:
        """The sender's name, without its incarnation."""
        return names.name_of(self.sender)

    @property
    def text(self) -> str:
        """The payload as text; bytes that are no UTF-8 are replaced."""
        return payloads.text_of(self.payload)

    @property
    def data(self) -> bytes:
        """The payload as bytes; text as UTF-8."""
        return payloads.data_of(self.payload)


@dataclass(frozen=True, slots=True)
class Undelivered:
    """Unicasts to a process that departed, oldest first; none is known to have arrived, the first ones may have."""

    process: Process
    payloads: tuple[Payload, ...]


@dataclass(frozen=True, slots=True)
class ViewChange:
    """A view is in force. `left` says why each process went."""

    view: View
    joined: tuple[Process, ...]
    left: dict[Process, str]


@dataclass(frozen=True, slots=True)
class Lost:
    """Messages first … first+count-1 of `sender` will never be delivered here.

    Over BASIC what a call lost. Over RELIABLE, in a causal order, what a sender that went had sent after something that
    no member has: nobody delivers it, and its sender was told that it is unconfirmed.
    """

    sender: Process
    first: int
    count: int


@dataclass(frozen=True, slots=True)
class Suspicion:
    """This process began to suspect another; whether it goes is for the next view to say."""

    process: Process
    reason: str


@dataclass(frozen=True, slots=True)
class QuorumLost:
    """This process hears no quorum of its view: it is detached, and `send` raises, until it hears one again.

    It stays in its view, and nothing is lost by that. `in_doubt` are the first and last of its own messages that some
    member may not hold; a Settled event says of each what became of it.
    """

    in_doubt: tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class QuorumRegained:
    """This process hears a quorum of its view again: the group goes on, and so does `send`."""

    in_doubt: tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class Settled:
    """What became of this process's own messages first … last, which were in doubt.

    `arrived`: they are delivered wherever the group goes on. Else they never will be: to send their content again makes
    no doubles.
    """

    first: int
    last: int
    arrived: bool


@dataclass(frozen=True, slots=True)
class StateLost:
    """Nobody can give this process the group's state: it goes on from `view` without. `reason` says who failed how."""

    view: int
    reason: str


@dataclass(frozen=True, slots=True)
class StateUnmerged:
    """What this process had in an instance that it lost, and nobody here is known to have merged.

    Of a PARTITIONABLE group; or of a PRIMARY one whose instance gave way to another, since a registry forgot it.

    `data` is what its `get_state` returned then: GCom keeps it no longer, so it is the application's to keep aside, or
    to bring in by messages of its own. `reason` says why it was not merged.
    """

    data: bytes
    reason: str


@dataclass(frozen=True, slots=True)
class LogEnded:
    """The delivery log of this process takes no more lines; messages go on. `reason` says why, and where it lies."""

    process: Process
    reason: str


@dataclass(frozen=True, slots=True)
class Departure:
    """This process's stay is over. Reason request or exit: it left. Expelled: the group went on without it. Succession:
    too few were left, and it goes on, with what is left, in an instance that succeeds its own. Merge, or fork (of a
    PARTITIONABLE group): it goes over to another instance. Dissolved: all others have left. Taken: on its way back its
    name was another's. State: one of its own state callbacks raised. Unread: its application read none of very many
    events, and what came after those is lost to it. Defect: one of GCom's.

    `unconfirmed`: first and last of its own messages of which nobody can say any more whether they arrived; `unsent`:
    how many more `send` had taken that never got a number. `returning`: it tries to come back, and `Returned` will say
    so. `undelivered`: how many of its unicasts may not have arrived.
    """

    reason: str
    unconfirmed: tuple[int, int] | None
    unsent: int = 0
    returning: bool = False
    undelivered: int = 0


@dataclass(frozen=True, slots=True)
class Returned:
    """After a Departure: in the group again, as another process, with numbers of its own; its ViewChange follows.

    What the others sent meanwhile is not delivered here; with `set_state` the state that comes next covers it. Another
    `instance` than before: the group began anew.
    """

    process: Process
    instance: str


OfQuorum = QuorumLost | QuorumRegained | Settled
Event = (
    Message
    | Unicast
    | ViewChange
    | Lost
    | Suspicion
    | Undelivered
    | OfQuorum
    | StateLost
    | StateUnmerged
    | LogEnded
    | Departure
    | Returned
)
