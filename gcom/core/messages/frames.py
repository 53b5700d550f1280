"""Frames: the content of one call between two processes, and of its reply.

A call is `receive(frame) -> reply`. A frame brings the caller's status, control items, runs or a fragment of one, a
piece of the order, and envelopes; the reply brings the callee's status. A reply may be lost without the callee
noticing, so it holds only what can be said again: the status; answers whose question is put again, to a Join, a
discovery message, or the proposer of a view change; the INSTALL of a succession (docs/protocols/link.md). Control items
are at least once and in any order: every handler is idempotent and fenced by the view and the ballot.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple

from gcom.core.messages.orders import Orders
from gcom.values.envelope import Envelope, EnvelopeReceipt
from gcom.values.lineage import NO_EXTENT, Extent
from gcom.values.names import Address, GroupName, InstanceId, Process
from gcom.values.run import Fragment, Run
from gcom.values.view import View

Misses = Mapping[int, int]  # by rank, the members that each misses, as bits of their ranks
NO_MISSES: Misses = {}

ORDER: Process = ""  # the log of the view's order, where it counts as one more stream beside the senders'
Ballot = tuple[int, int]  # (attempt, proposer's rank in the view that is left); a rank has one process, so none clash
NO_BALLOT: Ballot = (0, 0)
Source = tuple[Process, int]  # a donor, and the view of the barrier (docs/protocols/state.md)
NO_RECEIPT = EnvelopeReceipt()
# Proofs that a member will never vote again. Silence, a reset or `unknown` are none.
DEAD = "dead"  # its own kernel, or another life at its address, says so
ENDED = "ended"  # its node says that its session is over
LEAVES_FOR = ("request", "merge")  # of the application; to enter another instance, to which this one gives way


# Status and frame are made four times for each message and peer: as named tuples in a fifth of a dataclass's time.
class Status(NamedTuple):
    """The source's word about itself and about the target's stream: state, said twice, late or never without harm."""

    view: int  # installed at the source; 0 while it is entering
    # Two counts. With one, a slow application would make senders send again, or a fast core would open the window of a
    # slow application.
    held: int = 0  # of the target's stream: 1…held are stored here (stability, resend)
    consumed: int = 0  # of the target's stream: 1…consumed are behind the application (flow control)
    stable: int = 0  # of the source's stream: 1…stable are held by all of the view
    sent: int = 0  # of the source's stream: 1…sent were put to the target, this frame's runs included
    safe: int = 0  # of the source's stream: 1…safe are held by a majority of the view
    ordered: int = 0  # of the view's order: the source holds it up to this serial
    agreed: int = 0  # of the view's order: a majority holds it up to this serial
    cut_off: bool = False  # the registry's sequencer does not serve the source
    reaches: bool = False  # the registry has answered the source for RETURN_MS
    wedged: bool = False  # promised to a view change: takes no data of the old view
    leaving: str = ""  # what it wants to go for, if it does: LEAVES_FOR
    suspects: tuple[Process, ...] = ()
    partial: int = 0  # of the target's stream: so many bytes of the run after `held` are here
    receipt: EnvelopeReceipt = NO_RECEIPT  # of the target's envelopes
    state: int = 0  # chunks held of the state that the target gives
    needs_donor: bool = False  # waits for state, and its donor has failed
    unheard: Misses = NO_MISSES  # which member misses which now, as the source knows
    arrived: int = 0  # of a large view's leader: which others have installed the view, as bits of their ranks - 1


class Keeping(IntEnum):
    """The standing of a member with the application's state. The numbers are those of the wire."""

    NOTHING = 0  # keeps none, or cannot give it
    LATER = 1  # can give what it saw since it entered, or since the state was lost: asked only if nobody has more
    AWAITED = 2  # has set_state, and waits; knows its source, and which donors have failed it
    WHOLE = 3  # has it, and can give it: it founded the group, was given it, or is named as donor


@dataclass(frozen=True, slots=True)
class Standing:
    """The standing that a promise reports. One that awaits the state has a source, and knows which donors failed it.

    `own` is how far its own state reaches, from before it was put out; NO_EXTENT: it has none.
    """

    keeping: Keeping = Keeping.NOTHING
    source: Source | None = None
    failed: tuple[Process, ...] = ()
    own: Extent = NO_EXTENT


NO_STANDING = Standing()


@dataclass(frozen=True, slots=True)
class Succession:
    """The part of a decision that begins `instance` in place of the view's own, in which no quorum can be again.

    `gone` are the members that will never vote again, each with its proof; `gives_up` those that an operator gave up
    without one. `by` is proof or operator.
    """

    instance: InstanceId
    by: str
    gone: dict[Process, str]
    gives_up: tuple[Process, ...] = ()


@dataclass(frozen=True, slots=True)
class Decision:
    """The one value that a view change agrees on: the next view, and how far each stream counts in the old.

    `cut` has each sender's stream and, in a total order, under ORDER the log of the view's order. `sources` names the
    donor for each member that waits for state; itself, if no member can give it. With a `succession` the next view is
    view 1 of another instance: its number here only says which view is left.
    """

    view: View
    joined: tuple[Process, ...]
    left: dict[Process, str]
    cut: dict[Process, int]
    at_registry: bool = True  # the next view's sequencer; else it is at its leader
    sources: dict[Process, Source] = field(default_factory=dict)
    succession: Succession | None = None


@dataclass(frozen=True, slots=True)
class Join:
    """A process asks the leader to be admitted; it listens at `address`, and may want the application's state.

    `reached` are the members that answered it just now, if it was asked to reach them; `own` is as in Standing.
    """

    address: Address
    takes_state: bool = False
    reached: tuple[Process, ...] = ()
    own: Extent = NO_EXTENT


@dataclass(frozen=True, slots=True)
class Redirect:
    """The source is not the leader; `process` at `address` is."""

    # A hint, no appointment: who does not lead redirects again.
    process: Process
    address: Address


@dataclass(frozen=True, slots=True)
class JoinRefused:
    """A Join is refused. `code` is the name of the exception in gcom.errors that says it."""

    code: str
    text: str


@dataclass(frozen=True, slots=True)
class Reach:
    """The source admits the target once the target has reached all of these.

    A process of its name went for a bad link, or is a member that does not answer.
    """

    members: tuple[Process, ...]
    addresses: tuple[Address, ...]


@dataclass(frozen=True, slots=True)
class Prepare:
    """The owner of `ballot` asks for a promise in the change out of view `view`, or (`succession`) of its instance."""

    view: int
    ballot: Ballot
    succession: bool = False


@dataclass(frozen=True, slots=True)
class Promise:
    """A promise: nothing below `ballot` will be accepted, nothing new of the view stored; this is held and accepted.

    `agreed`: a majority of the view was known to hold its order up to this serial.
    """

    view: int
    ballot: Ballot
    held: dict[Process, int]
    accepted_ballot: Ballot = NO_BALLOT
    accepted: Decision | None = None
    standing: Standing = NO_STANDING
    agreed: int = 0


@dataclass(frozen=True, slots=True)
class Nack:
    """A ballot was refused because `promised` is higher."""

    view: int
    promised: Ballot


@dataclass(frozen=True, slots=True)
class Cut:
    """The value to accept. `holders` lists, for each sender, processes that hold its stream up to the cut."""

    view: int
    ballot: Ballot
    decision: Decision
    holders: dict[Process, tuple[Process, ...]]


@dataclass(frozen=True, slots=True)
class CutOk:
    """The value is recorded and every payload of its cut is held."""

    view: int
    ballot: Ballot


@dataclass(frozen=True, slots=True)
class Install:
    """The value is decided. `serial` is the last one of the view that is left, for those who enter.

    `ballot`, under which it was decided, is passed on and decides nothing. A process that promised to a succession, or
    not to enter the view, takes or refuses the INSTALL whatever its ballot (docs/protocols/continuity.md, story 3).
    """

    decision: Decision
    serial: int = 0
    ballot: Ballot = NO_BALLOT


@dataclass(frozen=True, slots=True)
class Fetch:
    """A member misses messages first…last of `sender`, of view `view`, but for `at_byte` bytes of the first run.

    Where `sender` is ORDER, first and last are serials.
    """

    view: int
    sender: Process
    first: int
    last: int
    at_byte: int = 0


@dataclass(frozen=True, slots=True)
class StateChunk:
    """Piece `index` of `count` of the source's state at the barrier of `view`; pieces are numbered from 1.

    `since` is the rank of the view in which all that came before was lost (`lineage.rank`); 0: the state is whole.
    """

    view: int
    index: int
    count: int
    data: bytes
    since: int = 0


@dataclass(frozen=True, slots=True)
class StateRefused:
    """The source cannot give its state of the barrier of `view`; `text` says why."""

    view: int
    text: str


@dataclass(frozen=True, slots=True)
class MergeInto:
    """Another instance, led by `process` at `address`, stands above this one, whose members are to go over to it."""

    process: Process
    address: Address


@dataclass(frozen=True, slots=True)
class DiscoverRequest:
    """A process at `address` looks for an instance; it had that `rank` in view `view` of its last one.

    As every discovery message it is for the process that has the target's name now.
    """

    view: int
    rank: int
    address: Address


@dataclass(frozen=True, slots=True)
class DiscoverReply:
    """The source is in the frame's instance: so many `members` in view `view`, led by `process` at `address`."""

    view: int
    members: int
    process: Process
    address: Address


@dataclass(frozen=True, slots=True)
class Probe:
    """The source hears nothing from these, and asks whether the target does."""

    view: int
    silent: tuple[Process, ...]


@dataclass(frozen=True, slots=True)
class IndirectAck:
    """The source has heard these just now. Of others it says nothing: the bad link may be its own."""

    view: int
    heard: tuple[Process, ...]


StateItem = StateChunk | StateRefused
OfDiscovery = DiscoverRequest | DiscoverReply
OfChange = Prepare | Promise | Nack | Cut | CutOk
Control = (
    Join
    | Redirect
    | JoinRefused
    | Reach
    | OfChange
    | Install
    | Fetch
    | StateItem
    | MergeInto
    | OfDiscovery
    | Probe
    | IndirectAck
)


class Frame(NamedTuple):
    """A call, or the reply to one (which has no runs, fragments, orders or envelopes, and of control only
    answers).
    """

    group: GroupName
    instance: InstanceId
    # The process, beside its address: that may be another one's by the time the call is made.
    source: Process
    target: Process
    status: Status
    control: tuple[Control, ...] = ()
    runs: tuple[Run, ...] = ()
    fragments: tuple[Fragment, ...] = ()
    orders: Orders | None = None
    envelopes: tuple[Envelope, ...] = ()

    @property
    def discovery(self) -> DiscoverRequest | DiscoverReply | None:
        """The item that makes this frame one for the process that has the target's name now, of whatever instance."""
        return next((item for item in self.control if isinstance(item, DiscoverRequest | DiscoverReply)), None)


@dataclass(frozen=True, slots=True)
class Refused:
    """The reply to a frame that was not taken.

    `unknown`: no such process here, as far as this node remembers; `ended`: that process takes no part in the group any
    more, and never will; `returning`: as that, but it is on its way back as another one, with a state that reaches as
    far as `reach`; `entering`: it is on its way in, may still be let in, and has such a state; `elsewhere`: it is in
    another instance, or over, and its name is in one; `expelled`: the group goes on without the source, and has its
    messages up to `settled` (None: that is not known any more); `version`: another protocol version. What is no frame
    at all is answered by the endpoint, as a failed call. `life` is the life of the process that answers; empty: it
    names none.
    """

    code: str
    text: str
    settled: int | None = None
    life: str = ""
    reach: Extent = NO_EXTENT


Reply = Frame | Refused


def supersedes(later: Reply, earlier: Reply) -> bool:
    """Return whether an answer says all that an earlier one to the same process said, which need not be taken then."""
    # A status is state: it may be said twice, late, or not at all. A refusal and an item of control are said once.
    if not isinstance(earlier, Frame) or not isinstance(later, Frame):
        return False
    return not earlier.control and earlier.source == later.source and earlier.instance == later.instance
