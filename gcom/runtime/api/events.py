"""The events that an application reads from a group, in the order in which they happened (docs/reference/events.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from gcom.values import names
from gcom.values.clock import VectorClock
from gcom.values.run import data_of, text_of
from gcom.values.view import View


# A named tuple and no dataclass: thousands are made per second, by `tuple.__new__`, which is C.
class Message(NamedTuple):
    """A delivered message: `number` in the stream of `sender`, delivered in `view`.

    `serial` is its place in a total order, which goes on through all views and instances; None in another order.
    `instance` is the one that it was sent in: in a successor the numbers of each sender begin at 1 again.
    `past`, in a causal order: how many messages of each other process the sender had delivered when it sent this one;
    None in another order. `clock` is the vector clock that this makes.
    """

    sender: str  # a process: another life of the same name counts from 1 again
    number: int
    view: int
    payload: bytes | str
    serial: int | None = None
    instance: str = ""
    past: Mapping[str, int] | None = None

    @property
    def name(self) -> str:
        """The sender's name, without its incarnation."""
        return names.name_of(self.sender)

    @property
    def text(self) -> str:
        """The payload as text; bytes that are no UTF-8 are replaced."""
        return text_of(self.payload)

    @property
    def data(self) -> bytes:
        """The payload as bytes; text as UTF-8."""
        return data_of(self.payload)

    @property
    def clock(self) -> VectorClock | None:
        """The vector clock in a causal order, else None; of two messages the lesser may have caused the other."""
        return None if self.past is None else VectorClock({**self.past, self.sender: self.number})


class Unicast(NamedTuple):
    """A message that `sender` sent to this process alone."""

    # Without a number: it is in no stream of the group, and no other member has it.
    sender: str
    payload: bytes | str

    @property
    def name(self) -> str:
        """The sender's name, without its incarnation."""
        return names.name_of(self.sender)

    @property
    def text(self) -> str:
        """The payload as text; bytes that are no UTF-8 are replaced."""
        return text_of(self.payload)

    @property
    def data(self) -> bytes:
        """The payload as bytes; text as UTF-8."""
        return data_of(self.payload)


@dataclass(frozen=True, slots=True)
class Undelivered:
    """Unicasts to a process that departed, oldest first; none is known to have arrived, the first ones may have."""

    process: str
    # The payloads, not their count: an application may send them to whoever comes after, and GCom keeps them no more.
    payloads: tuple[bytes | str, ...]


@dataclass(frozen=True, slots=True)
class ViewChange:
    """A new view in force. `left` says why each process went.

    request: it left, also where one of its state callbacks raised, which only its own Departure says. merge: it went
    over to another instance. Any other: why it was put out, as a rule the reason of a Suspicion.
    """

    view: View
    joined: tuple[str, ...]
    left: dict[str, str]


@dataclass(frozen=True, slots=True)
class Lost:
    """A gap: messages first … first+count-1 of `sender` will never be delivered here.

    Over BASIC, messages that a failed call lost. In a total order, those that have a place and that no member of the
    next view holds, and those without an agreed place when the group went on as a successor: also this process's own,
    and Settled says so. Over RELIABLE, in a causal order, messages of a
    departed sender that follow one which no member has: nobody delivers them, and their sender was told that they are
    unconfirmed.
    """

    sender: str
    first: int
    count: int


@dataclass(frozen=True, slots=True)
class Suspicion:
    """A suspicion of another process; whether it goes is for the next view to say."""

    process: str
    reason: str


@dataclass(frozen=True, slots=True)
class QuorumLost:
    """A loss of contact: this process hears no quorum of its view, and until it does `send` raises Detached.

    It stays in its view, and nothing is lost by that. `in_doubt` are the first and last of its own messages that some
    member may not hold or, in a total order, that may have no place yet. A Settled event says of each what became of
    it; where this process ends before that, its last Departure has it in `unconfirmed`.
    """

    in_doubt: tuple[int, int] | None  # None: of all that has a number the end is known


@dataclass(frozen=True, slots=True)
class QuorumRegained:
    """A quorum of the view is heard again: the group goes on, and so does `send`."""

    in_doubt: tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class Settled:
    """The end of a doubt: this process's own messages first … last have arrived, or never will.

    `arrived`: they are delivered wherever the group goes on. Else they never will be: to send their content again makes
    no doubles; but what the application had read itself comes along where its own state is the group's later: merged
    (`merge_states`), told by StateRestored, or where it begins a PARTITIONABLE group again. Where an operator gave
    living members up (`gcom fork`), those may have delivered them: what they have is handed to them by StateUnmerged.
    `process` gave them these numbers in `instance`: who reads this late may be in another one by now.
    """

    first: int
    last: int
    arrived: bool
    process: str = ""
    instance: str = ""


@dataclass(frozen=True, slots=True)
class StateLost:
    """A state that nobody can give: this process goes on from `view` without. `reason` says who failed how.

    The application begins anew, empty, and is then handed all that came since it entered. Of those who waited when
    the last member that had the state died, only the one that had waited longest is told so; the others are given the
    state of that one.
    In a successor this event comes first, then what came in the predecessor, the Departure, Returned, and the rest.
    One that keeps what it had of its own has another state than the others, for good; it is handed that by a
    StateUnmerged event just before, to keep it aside.
    """

    view: int
    reason: str


@dataclass(frozen=True, slots=True)
class StateRestored:
    """A state that nobody else can give: the group goes on from `view` with what this process had of its own.

    It was out, and came back, and all who had a later state are dead: before they gave it, or before it was in again,
    so that it begins the group anew. Its application goes on as it is: what came while it was out is lost, and others
    are given what it has. `reason` says who failed how.

    One of these others that had waited for the state before it was back is told, too, behind its `set_state`: what it
    had stored until then, also of its own and confirmed, may not be in the state that it was given.
    """

    view: int
    reason: str


@dataclass(frozen=True, slots=True)
class StateUnmerged:
    """The state that this process had in an instance that it lost, and that nobody here is known to have merged.

    Of a PARTITIONABLE group, also where the process ends before it is in another instance. Of a PRIMARY one where its
    instance gave way to another, or where it comes back to one that has nothing of its own: a registry forgot the
    group, or an operator gave this process up, and others began the name. Then it comes before `Returned`. Or all who
    had the group's state died while this process was out: then it comes right behind the `set_state` that takes its
    place, or before StateLost.

    `data` is what its `get_state` returned then: GCom keeps it no longer, so it is the application's to keep aside, or
    to bring in by messages of its own. `reason` says why it was not merged.
    """

    data: bytes
    reason: str


@dataclass(frozen=True, slots=True)
class LogEnded:
    """The end of this process's delivery log; messages go on. `reason` says why, and where it lies."""

    process: str
    reason: str


@dataclass(frozen=True, slots=True)
class Departure:
    """The end of this process's session, for one of these reasons.

    request, exit: it left. expelled: the others went on without it, in a later view or in a successor; it comes back as
    another process. succession: so many of its view are dead that no quorum of it can be again, and this very process
    is in the instance that succeeds it, with its state, from the start. merge, or fork (of a PARTITIONABLE group): it
    goes over to another instance. dissolved: while it was cut off all others left, or died, and the group is over: it
    keeps what it has, and whoever joins the name begins another one. taken: on its way back its name, or
    the group's, was another's.
    state: one of its own state callbacks raised. unread: its application read none of very many events, and what came
    after those is lost to it. defect: one of GCom's.

    `unconfirmed`: first and last of its own messages of which nobody can say any more whether they arrived; `unsent`:
    how many more `send` had taken that never got a number. `returning`: it tries to come back, and `Returned` will say
    so. `undelivered`: how many of its unicasts may not have arrived. `process` and `instance`: what it was, and where;
    the numbers are of these.
    """

    reason: str
    unconfirmed: tuple[int, int] | None
    unsent: int = 0
    returning: bool = False
    undelivered: int = 0
    process: str = ""
    instance: str = ""


@dataclass(frozen=True, slots=True)
class Returned:
    """A return after a Departure; its ViewChange follows. The numbers of its messages begin at 1 again.

    It is another process; in a successor (the Departure's reason is `succession`) it is the same one, in another
    `instance`. What the others sent meanwhile is not delivered here; with `set_state` the state that comes next covers
    it. Without a succession another `instance` of a PRIMARY group than before says that the group began anew.
    """

    process: str
    instance: str


QuorumChange = QuorumLost | QuorumRegained | Settled
Event = (
    Message
    | Unicast
    | ViewChange
    | Lost
    | Suspicion
    | Undelivered
    | QuorumChange
    | StateLost
    | StateRestored
    | StateUnmerged
    | LogEnded
    | Departure
    | Returned
)
