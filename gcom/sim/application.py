"""The application of one session: it sends now and then, reads what arrives, and answers from inside its callbacks.

It may keep a state, a digest of all that it was handed, which it gives to joiners. It reads one arrival after the
other, as a listener does; an application that reads slowly, or stalls, fills all senders' windows.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from random import Random

from gcom.core.delivery_queue import DeliveryQueue, Handed
from gcom.core.messages import events
from gcom.core.messages.effects import (
    AwaitState,
    Deliver,
    DeliverUnicast,
    Ended,
    HeldUncovered,
    Installed,
    KeepState,
    MergeState,
    OfUnicast,
    SetState,
    Skip,
    StateUnavailable,
    TakeState,
)
from gcom.core.state_transfer.reconciliation import StateReconciliation
from gcom.sim.checks.state import BEFORE, State
from gcom.sim.plan.events import Fault
from gcom.sim.unicasts import MemberSession, UnicastTraffic
from gcom.values.definition import Multicast, Netsplit
from gcom.values.lineage import carries_on, rank
from gcom.values.names import InstanceId
from gcom.values.run import Payload, StateToMerge
from gcom.values.view import View

PENDING_MAX = 64  # submitted and not yet numbered; here a real `send` would block, so the application does not send
BURST_MAX = 60  # some runs' worth: windows fill, and a burst is over within a call's time
STALL_POLL_MS = 50  # how late a stall's end may be seen: nothing waits for it more exactly
_WORDS = ("ask", "build", "cut", "deliver", "election", "fetch", "größe", "hold", "install", "join")


def merged(mine: bytes, theirs: bytes) -> bytes:
    """Merge two states, as an application's merge_states."""
    return State.load(mine).merged(State.load(theirs)).dump()


class Application:
    """The program of one member, with a random stream of its own, so that it disturbs no other member's draws."""

    def __init__(self, session: MemberSession, rng: Random) -> None:
        self._session = session
        self._simulation = session.simulation
        self._rng = rng
        self._queue: DeliveryQueue[MemberSession] = DeliveryQueue()
        self._source = session  # the session that the items read now came from: this one, or its predecessor
        self._state = State()
        # The arrivals while it awaited its state, each with its instance.
        self._held: list[tuple[InstanceId, Deliver | Installed]] = []
        self._awaits_since = 0  # the rank of the first view that it installed without its state; 0: there was none
        # The loss of its state, from its announcement until the reader reaches its barrier.
        self._lost: KeepState | StateUnavailable | None = None
        self._told_of_loss = False  # the state that it was given may lack what it held back
        self._view = 0  # the latest view installed; the reader may not have reached it
        self._reading = False
        self._composed = 0
        self._unconfirmed = 0  # the own message whose confirmation it waits for; 0: it waits for none
        # With a random stream of its own: a plan in which nobody writes envelopes draws the same messages
        # as one with envelopes.
        self._endpoint = UnicastTraffic(session, Random(f"mail {rng.random()}"), lambda: self.has_state)
        self._entered = False
        self._reconciliation = StateReconciliation()
        self._had: tuple[str, bytes] | None = None  # the instance of its former session, and its state there
        self._former = ""  # that instance, whether or not it keeps a state
        self._aside = False  # it was handed its own state, which another one is about to replace

    def go_on_from(self, former: Application) -> None:
        """Take over the state of the former session of the same process, which has read all that was handed to it."""
        machine = former._session.machine
        if machine.succeeded:
            self._held, self._awaits_since = former._held, former._awaits_since
        if machine.succeeded and not former.has_state:
            # What that one held is read where the state comes, or is lost.
            self._queue, self._source = former._queue, former._source
            self._queue.end(self._session, goes_on=True)
        else:
            # A successor goes on with the state that its former session leaves, so what that one had
            # queued is read first.
            for item in former._queue.queued:
                former._apply(item)
        self._state, self._reconciliation = former._state, former._reconciliation
        # Who goes on in a successor keeps its state.
        self._former = "" if machine.succeeded else machine.instance or former._former
        self._aside = former._aside
        # Only sides of a PARTITIONABLE group merge: a PRIMARY group's successor has all that was confirmed, and MERGE
        # would ask for what was rightly given up.
        if self._keeps and self._simulation.plan.definition.netsplit is Netsplit.PARTITIONABLE:
            self._had = former._session.machine.instance, self._state.dump()
            self._reconciliation.leave(*self._had, merged)

    def start(self) -> None:
        self._later(self._rng.randint(1, 100), self._write)

    def _later(self, delay_ms: int, action: object) -> None:
        assert callable(action)
        self._simulation.at(delay_ms, lambda: self._session.node.run(action))

    # sending

    @property
    def has_room(self) -> bool:
        return self._session.is_member and self._session.machine.unsent_count < PENDING_MAX

    def submit(self, count: int, mark: str = "") -> None:
        payloads: list[Payload] = [self._compose(mark) for _ in range(count)]
        self._simulation.submitted += count
        self._session.checker.calls.submit(self._session.process, payloads)
        self._session.handle(events.Submit(payloads))

    def _compose(self, mark: str) -> Payload:
        # Numbered, so that no two payloads are equal: a message that comes in another's place shows.
        self._composed += 1
        words = self._rng.choice(_WORDS) * self._rng.choice((1, self._simulation.plan.size))
        text = f"{mark}{self._session.process} {self._composed} {words}"
        # Texts and bytes are different kinds on the wire, and both must come back as what they were.
        return text.encode() if self._rng.random() < 0.3 else text

    def _write(self) -> None:
        if self._session.is_over:
            return
        self._confirm()
        if self.has_room:
            # Bursts and silence in turn: runs of many messages, and of one, and links that are idle.
            count = self._burst()
            if count:
                self.submit(count)
        if not self._simulation.silent:
            self._endpoint.write()
        self._later(self._rng.randint(5, 150), self._write)

    def _confirm(self) -> None:
        """Have one own message at a time confirmed: the last one, and the next when a majority holds that."""
        machine = self._session.machine
        reliable = self._simulation.plan.definition.multicast is Multicast.RELIABLE
        # Nothing is confirmed to a detached sender: `send` raises there.
        if not reliable or not self._session.is_member or machine.detached:
            return
        number = self._unconfirmed
        members = len(machine.view.members if machine.view else ()) - len(machine.newcomers(number))
        if number and machine.placed(number) and 2 * len(machine.lacking(number)) < members:
            self._session.confirm(number)
            self._unconfirmed = 0
        self._unconfirmed = self._unconfirmed or machine.number

    def _burst(self) -> int:
        """Return how many messages to send now, one or a burst, so that all members together send the plan's total."""
        behind = self._simulation.behind
        if self._simulation.silent:
            return 0
        # A little more than the plan asks for, so that links are idle at times and busy at others.
        if behind <= 0:
            return int(self._rng.random() < 0.2)
        return min(BURST_MAX, self._rng.choice((0, 1, 1, 2, behind // self._simulation.plan.members, behind)))

    # reading

    @property
    def has_state(self) -> bool:
        """Tell whether no state is on its way here."""
        return self._queue.is_open

    @property
    def _keeps(self) -> bool:
        return self._session.node.name in self._simulation.plan.keepers

    def posted(self, effect: OfUnicast | Ended) -> None:
        """Take a unicast, or the outcome of a unicast or a call; only unicasts wait to be read in turn."""
        if isinstance(effect, DeliverUnicast):
            self.arrived(effect)
        else:
            self._endpoint.arrived(effect)

    def arrived(self, item: Handed | AwaitState) -> None:
        if isinstance(item, Deliver | Installed) and not self.has_state:
            self._held.append((self._session.machine.instance, item))
        match item:
            # Before the queue: whoever has the state is known when the view is, as STATE_LOST compares members then.
            # What the reader learns of the view comes in _consume().
            case Installed(view):
                self._enter(view)
                if not self.has_state:
                    self._awaits_since = self._awaits_since or rank(self._session.machine.instance, view.number)
                if self._keeps and view.number == 1 and self.has_state and not self._queue.queued:  # and no loss
                    # Who founds a group has its state from the beginning, and so has a member of the predecessor: but
                    # only if it never lost it (`origin` is the view of a loss).
                    goes_on = item.succeeds and item.succeeds.by != "ended"
                    if not goes_on or self._state.origin == 0:  # else it has only what it saw since a loss
                        self._session.checker.states.on_given(self._session.process, BEFORE if goes_on else 0)
                self._view = view.number
            case SetState():
                self._session.checker.states.on_given(self._session.process, self._view)
                self._reconciliation.given()
            case KeepState(view, _, has_all):
                self._session.checker.states.on_given(self._session.process, 0 if has_all else view)
                self._bring(self._reconciliation.lost())
            case StateUnavailable():
                self._bring(self._reconciliation.lost())
            case MergeState(_, sender, data):
                # While this member's own state is on its way, what is merged here would be replaced by it.
                awaiting = not self._queue.is_open
                self._reconciliation.merged(self._session.process, sender, data, awaiting=awaiting)
            case _:
                pass
        # A state covers messages that were queued before it came: nobody will read them, and their credit
        # is given at once.
        for each in self._queue.put(item):
            self._later(0, partial(self._credit, each))
        if self._queue.queued and not self._reading:
            self._reading = True
            self._later(self._read_delay_ms(), self._read)

    def _enter(self, view: View) -> None:
        """Bring the state of the last session, with the first view."""
        if self._entered:
            return
        self._entered = True
        # Who is alone in the first view has nobody to merge with: its state is the instance's.
        first = view.members == (self._session.process,)
        instance = self._session.machine.instance
        # As the runtime does between two sessions (gcom/runtime/api/state_callbacks.py).
        self._aside |= bool(self._former) and not first and not carries_on(instance, self._former)
        brought = self._reconciliation.enter(instance, first)
        if first:
            self._state.origin = 0  # of this instance
        elif self._had and self._had[0] != self._session.machine.instance:
            self._session.checker.states.on_reconciliation(self._session.process, State.load(self._had[1]))
        self._bring(brought)

    def _bring(self, brought: StateToMerge | None) -> None:
        """Multicast the state of an earlier instance, if there is one to merge, as soon as this step is over."""
        if brought is not None:
            self._session.checker.states.on_reconciliation(self._session.process, State.load(brought))
            self._later(0, partial(self._multicast, brought))

    def _multicast(self, brought: StateToMerge) -> None:
        if self._session.is_member:
            self._session.checker.calls.submit(self._session.process, [brought])
            self._session.handle(events.Submit([brought]))

    @property
    def has_read(self) -> bool:
        return not self._queue.queued

    @property
    def state(self) -> State | None:
        """Return the state, None if the application keeps none."""
        return self._state if self._keeps else None

    @property
    def has_reconciled(self) -> bool:
        """Tell whether nothing of an earlier instance waits to be merged."""
        return self._reconciliation.done

    def _read_delay_ms(self) -> int:
        slow = self._session.node.reads_slowly
        if slow:
            self._simulation.count_once(Fault.SLOW_READER, self._session.node.name + slow)
        return self._rng.randint(100, 500) if slow == "crawls" else self._rng.randint(0, 20)

    def _read(self) -> None:
        """Read all that is here, or one arrival if it reads slowly."""
        if self._session.is_over:
            return
        slow = self._session.node.reads_slowly
        # Nobody tells when a stall is over, so it looks again from time to time.
        if slow == "stalls":
            self._later(STALL_POLL_MS, self._read)
            return
        queued = self._queue.queued
        # A listener takes all that is there; a slow one takes one and is late for the rest, so windows fill.
        for _ in range(1 if slow else len(queued)):
            self._consume(queued.popleft())
            # A callback may end the session, and then the rest is nobody's.
            if self._session.is_over:
                return
        self._reading = bool(queued)
        if self._reading:
            self._later(self._read_delay_ms(), self._read)

    def _consume(self, item: Handed | MemberSession) -> None:
        if not isinstance(item, Handed):
            self._source = item
        elif self._source is self._session or isinstance(item, StateUnavailable | KeepState):
            self._handle(item)
        else:
            self._apply(item)  # of a predecessor, where nobody takes credit or asks for a state any more

    def _handle(self, item: Handed) -> None:
        """Handle an item of this session: apply it, then answer, give credit, or report the barrier."""
        match item:
            case Deliver(run):
                # The credit last, as in the runtime: a message counts as read when the callback is through, and may
                # be answered from within.
                self._apply(item)
                self._call_back(starts=str(run.payloads[0])[:3])
                self._credit(item)
            case Skip():
                self._credit(item)
            case Installed(view):
                self._begin(view)
                self._call_back(starts="")
            case TakeState(view):
                self._give(view)
            case DeliverUnicast():
                self._endpoint.read(item)
            case StateUnavailable() | KeepState():
                self._apply(item)
                self._lost = item
            case _:
                self._apply(item)

    def _apply(self, item: Handed | MemberSession) -> None:
        """Apply an item to the application's state, and check CONTINUITY there; give no credit, and answer nothing."""
        match item:
            # What a side brought is not a message of the group: it comes as MergeState, in its place of the order.
            case Deliver(run) if not isinstance(run.payloads[0], StateToMerge):
                if self._state.since and run.sender not in self._state.streams:
                    where = self._source.machine.instance, self._state.since
                    self._simulation.continuity.on_counted(*where, run.sender, run.first)
                self._state.add(item)
            case SetState(_, data, _, uncovered):
                self._replace(State.load(data), uncovered)
            case StateUnavailable(view, _, uncovered):
                since = self._awaits_since or rank(self._session.machine.instance, view)
                self._replace(State(view, since=since), uncovered)
            case KeepState(view, _, has_all=False):
                # It has what it had. All others of the group go on from that, so it is an origin, as a loss is.
                since = self._awaits_since or rank(self._session.machine.instance, view)
                self._state.origin, self._state.since = view, since
                self._simulation.continuity.on_restored(since)
            case HeldUncovered():
                self._told_of_loss = True
            case MergeState(_, _, data) if self._keeps:
                self._state = self._state.merged(State.load(data))
            case _:
                pass

    def _replace(self, state: State, told: bool) -> None:
        aside, self._aside = self._aside, False
        self._simulation.continuity.on_given(self._session.process, self._state, state, told, aside)
        self._state = state

    def _credit(self, read: Deliver | Skip) -> None:
        match read:
            case Deliver(run):
                self._session.checker.calls.read(self._session.process, run.sender, len(run.payloads))
                self._session.handle(events.Consumed(run.sender, run.last, len(run.encoded)))
            case Skip(sender, first, count):
                self._session.handle(events.Consumed(sender, first + count - 1, 0))

    def _begin(self, view: View) -> None:
        """Report the state at the barrier of a view."""
        states, process = self._session.checker.states, self._session.process
        # Who goes on with its own state first reads what it held back of earlier views.
        if self._lost and self._lost.view <= view.number:
            had_own = isinstance(self._lost, StateUnavailable) and self._lost.uncovered
            states.on_lost(process, view, self._lost.reason, had_own)
            self._lost = None
        if self._keeps:
            states.on_barrier(process, view.number, self._state)
            told, self._told_of_loss = self._told_of_loss, False
            self._simulation.continuity.on_awaited(process, self._held_before(view), self._state, told)
            self._held.clear()

    def _held_before(self, view: View) -> Iterator[tuple[InstanceId, Deliver]]:
        """Yield what came while the state was awaited, up to the barrier of a view."""
        barrier = self._session.machine.instance, view.number
        for instance, item in self._held:
            if isinstance(item, Deliver):
                yield instance, item
            elif (instance, item.view.number) == barrier:
                return

    def _give(self, view: int) -> None:
        """Answer the machine with the state, as get_state does, or with its failure."""
        if self._session.machine.transfer.asks(view):
            # The failure of an application's get_state is a fault of its own: another donor must be asked.
            fails = self._rng.random() < self._simulation.plan.refusing
            data = None if fails else self._state.dump()
            self._session.handle(events.StateTaken(view, data, "its get_state raised" if fails else ""))

    def _call_back(self, starts: str) -> None:
        """Send, by chance, from inside a callback; never an answer to an answer."""
        answers = 0 if self._simulation.silent else self._simulation.plan.answering
        if answers and "re:" not in starts and self.has_room and self._rng.random() < answers:
            self.submit(1, "re:")
