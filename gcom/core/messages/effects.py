"""Effects: what the core wants done; the closed union that both drivers, runtime and simulator, carry out in order.

The contract (etcd raft's Ready, in Python): effects of one step are carried out in the order given. `Sent` and
`Installed` are logged before any frame taken later leaves the process.
"""

from __future__ import annotations

from dataclasses import dataclass

from gcom.core.messages.registry import Request
from gcom.core.messages.sequencer import SequencerRequest
from gcom.errors import GComError
from gcom.values.answers import Outcome
from gcom.values.names import Process
from gcom.values.run import Payload, Run
from gcom.values.view import View


@dataclass(frozen=True, slots=True)
class Sent:
    """A run of this process got its numbers, in view `run.view`."""

    # One effect for a run, before the run is in any frame: so the log of the sender has what others may deliver.
    run: Run


@dataclass(frozen=True, slots=True)
class Deliver:
    """Hand a run to the application, in view `view`. In a total order its first message has `serial`, the next +1, …"""

    run: Run
    view: int
    # 0: no total order. One serial suffices: a run is split where its serials are not consecutive.
    serial: int = 0


@dataclass(frozen=True, slots=True)
class Skip:
    """Messages `first … first+count-1` of `sender` are given up by rule and never delivered later.

    In a total order the first would have had `serial`. `no_op`: no survivor has them, and the cut of the succession
    ends before them; only their serials are used up.
    """

    # An effect, and a line in the log: without it the audit could not tell a gap by rule from a lost message.
    sender: Process
    first: int
    count: int
    view: int
    serial: int = 0
    no_op: bool = False


@dataclass(frozen=True, slots=True)
class Succeeds:
    """The view of another instance that the first view of an instance follows.

    In it each stream ended at `cut`, and the order at `serial`. `by`: proof (no quorum of it can be again), operator,
    or ended (all had gone). `gone` will never vote again, each by its proof; what only those in `gives_up` held, an
    operator gave up.
    """

    instance: str
    view: int
    cut: dict[Process, int]
    serial: int
    by: str
    gone: dict[Process, str]
    gives_up: tuple[Process, ...] = ()


@dataclass(frozen=True, slots=True)
class Installed:
    """A view is in force. `base` is given to one that enters: what earlier views had, 1…n of each sender.

    `base_serial` is the last serial of the earlier views. The first view of an instance that follows another `succeeds`
    it.
    """

    view: View
    joined: tuple[Process, ...]
    left: dict[Process, str]  # by member, the reason: request, merge, accused, or a suspicion's
    # A log that begins here cannot know what was before: the audit needs the base to tell a late joiner from a loser.
    base: dict[Process, int] | None = None
    base_serial: int = 0
    succeeds: Succeeds | None = None


@dataclass(frozen=True, slots=True)
class Quorum:
    """This process hears no quorum of its view any more, so it is detached; or (`has`) it hears one again.

    `in_doubt` are the first and last of its own messages that some member may not hold, or that have no agreed place.
    """

    # No end: the session goes on when a quorum is heard again, so nothing is handed back yet.
    view: int
    has: bool
    in_doubt: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class DoubtSettled:
    """The fate of messages first … last of this process, which were in doubt.

    `arrived`: every member that goes on has them; else none of them will ever be delivered.
    """

    # Told once for each message, and never contradicted: an application sends again what did not arrive.
    first: int
    last: int
    arrived: bool


@dataclass(frozen=True, slots=True)
class Suspected:
    """This process began to suspect another."""

    process: Process
    view: int
    reason: str


@dataclass(frozen=True, slots=True)
class Ended:
    """The end of the process's session in the instance; nothing follows for it.

    `reason` is request (a leave), merge (a leave for another instance), succession, expelled, dissolved (all have
    left), fork or exit; the runtime adds defect. `settled` is the view that goes on without a leaver whose cut it
    delivered in full. `unconfirmed` are the first and last of its own messages that may not have arrived. `into` is the
    instance that it goes over to.
    """

    view: int
    reason: str
    settled: int | None = None
    unconfirmed: tuple[int, int] | None = None
    into: str = ""
    arrived: int | None = None  # of its own messages 1…arrived are in the cut, and none after; None: unknown


@dataclass(frozen=True, slots=True)
class EntryFailed:
    """The process could not get into the group; `error` says why. Nothing follows for it.

    `final`: nor will another incarnation get in: the name is taken, or the group was dissolved.
    """

    error: GComError
    final: bool = False


@dataclass(frozen=True, slots=True)
class AskRegistry:
    """Put a request to the registry; its answer, or that there was none, comes back as an event."""

    request: Request


@dataclass(frozen=True, slots=True)
class AskSequencer:
    """Put a request to the registry's sequencer, at most once; its answer, or that there was none, is an event."""

    # At most once: an OPEN that was put twice could reach a registry that has started again, and give serials twice.
    request: SequencerRequest


@dataclass(frozen=True, slots=True)
class TakeState:
    """The barrier of `view`: when the application gets here, ask it for its state; answered with StateTaken."""

    # The barrier is this effect's place in the queue, not the moment at
    # which it is told: messages of earlier views may be unread before it.
    view: int


@dataclass(frozen=True, slots=True)
class AwaitState:
    """Hand nothing that follows to the application until its state is settled, or the end (delivery_queue.py).

    An end by succession is none of these: the process goes on waiting in the successor.
    """


@dataclass(frozen=True, slots=True)
class SetState:
    """The state at the barrier of `view`, for the application; what waits of earlier views is covered by it.

    `uncovered`: that state began anew after a loss, and lacks what this application still has from before. `since`: how
    many successions ago, and in which view, it began anew; (0, 0): it never did.
    """

    view: int
    data: bytes
    donor: Process = ""
    uncovered: bool = False
    since: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True)
class HeldUncovered:
    """A state that may lack messages which this process held back as it awaited it, and dropped.

    The queue puts this behind such a SetState.
    """

    view: int
    donor: Process


@dataclass(frozen=True, slots=True)
class StateUnavailable:
    """Nobody can give the state: the application goes on without, from the barrier of `view`.

    What waits of earlier views is handed over, too: it may be the last to have it. `uncovered`: it still has a state of
    its own, from before it was put out.
    """

    view: int
    reason: str
    uncovered: bool = False


@dataclass(frozen=True, slots=True)
class KeepState:
    """Nobody can give the state: from the barrier of `view` the group goes on with what this application has.

    What waits of earlier views is not covered: nobody else has it. `has_all`: whoever may still come back has nothing
    that this state lacks.
    """

    # No data: the application has it. An effect all the same, since the queue was closed for a state to come.
    view: int
    reason: str
    has_all: bool = False


@dataclass(frozen=True, slots=True)
class MergeState:
    """Merge the state with which `sender` left another instance, at the barrier of `view`."""

    view: int
    sender: Process
    data: bytes


@dataclass(frozen=True, slots=True)
class DeliverUnicast:
    """Hand a unicast to the application; once read, it comes back as the event UnicastRead."""

    # Of no view, and in no log: a unicast waits for no state, and belongs to none (docs/protocols/state.md).
    sender: Process
    payload: Payload


@dataclass(frozen=True, slots=True)
class UnicastLost:
    """Unicasts to a process that departed, oldest first; none is known to have arrived, the first ones may have."""

    target: Process
    payloads: tuple[Payload, ...]


@dataclass(frozen=True, slots=True)
class Serve:
    """Have the application answer a request of `caller`; what it says comes back as the event Served."""

    caller: Process
    # By the caller's own count, so the answer finds its call after any change of the view.
    call: int
    payload: Payload


@dataclass(frozen=True, slots=True)
class Answered:
    """A result of a group call of this process: each member asked has one, unless the call ends before."""

    call: int
    member: Process
    outcome: Outcome
    payload: Payload = b""


@dataclass(frozen=True, slots=True)
class GroupCallOver:
    """The time of a group call is over; nothing follows for it."""

    call: int


OfState = TakeState | AwaitState | SetState | KeepState | StateUnavailable | MergeState
OfUnicast = DeliverUnicast | UnicastLost | Serve | Answered | GroupCallOver
Asked = AskRegistry | AskSequencer
OfQuorum = Quorum | DoubtSettled
Effect = Sent | Deliver | Skip | Installed | OfQuorum | Suspected | Ended | EntryFailed | Asked | OfState | OfUnicast


Delivery = Deliver | Skip  # what goes to the application
