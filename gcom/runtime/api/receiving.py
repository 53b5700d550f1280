"""The receiving part of a group: events by iteration, by `receive`, or by the callbacks of a listener.

Messages wait in a queue that one thread at a time empties. What it has read is credit for the senders, so a slow reader
slows its senders and memory stays bounded. The application's state callbacks run in the thread of the loop or the
listener, between two events.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from threading import get_ident

from gcom.core.messages import effects
from gcom.core.messages.effects import (
    Deliver,
    DeliverUnicast,
    Installed,
    MergeState,
    SetState,
    Skip,
    Suspected,
    TakeState,
)
from gcom.errors import AlreadyReceiving, Exhausted, GComError, GComTimeout, StateFailed
from gcom.runtime.api import guards
from gcom.runtime.api.events import (
    Departure,
    Event,
    LogEnded,
    Lost,
    Message,
    QuorumLost,
    QuorumRegained,
    Returned,
    Settled,
    StateLost,
    StateRestored,
    StateUnmerged,
    Suspicion,
    Undelivered,
    Unicast,
    ViewChange,
)
from gcom.runtime.api.guards import deadline_of
from gcom.runtime.api.handle import GroupHandle
from gcom.runtime.api.listener import Callbacks, GroupListener, ListenerSource, MessageReader
from gcom.runtime.api.state_callbacks import StateCallbacks
from gcom.runtime.host import Host
from gcom.runtime.membership import Membership
from gcom.runtime.queue_items import Entered, Gone, LogStopped, Own, QueueItem, SetAside
from gcom.runtime.session import Session
from gcom.runtime.user_process.entry import application_call
from gcom.runtime.waiting import run
from gcom.values.run import StateToMerge
from gcom.values.view import View

_Event = (
    Deliver
    | DeliverUnicast
    | effects.UnicastLost
    | Installed
    | effects.Quorum
    | effects.DoubtSettled
    | Skip
    | Suspected
    | effects.HeldUncovered
    | effects.KeepState
    | effects.StateUnavailable
    | Own
)


class ReceiverPlace:
    """The place of a group's one receiver: the first of `takers`.

    A lock would stay taken for good: 1. A loop takes it. 2. A handler of a signal raises before the loop knows that.
    Here each receiver gives its place back in a `finally`, whether it has one or not, by `takers.pop(taker, None)`.
    That is written in C, so that no second handler interrupts it.
    """

    def __init__(self) -> None:
        self.takers: dict[object, None] = {}

    def take(self, taker: object) -> bool:
        """Take the place, and return True, unless another one has it."""
        self.takers[taker] = None
        # In one step: another thread may come while an iterator is open.
        if list(self.takers)[0] is taker:  # noqa: RUF015
            return True
        self.takers.pop(taker, None)
        return False


class ReceivingWaits(GroupHandle):
    """The queue of a group, and the waits of its receiver, for threads and for asyncio."""

    def __init__(self, host: Host, membership: Membership) -> None:
        super().__init__(host, membership)
        self._state = StateCallbacks(host, membership)
        self._source = membership.session  # of what is read now
        self._departed: Session | None = None  # whose end was told last
        self._receiver = ReceiverPlace()
        self._runs = MessageReader()
        self._current: Iterator[Message] = iter(())  # of the run that is being read
        self._given_back: deque[Event] = deque()  # events that were taken for a thread which was interrupted
        self._reading: Deliver | Skip | DeliverUnicast | None = None
        self._state_taker: object = None  # has the receiver's place while it sets the state

    def _take_place(self, taker: object) -> None:
        if not self._receiver.take(taker):
            raise AlreadyReceiving(f"group {self._session.machine.group!r} has a receiver: a loop or a listener")

    def _raise_if_through(self) -> None:
        with self._host.lock:
            # What came before the end is still to be read, so a listener may begin after it.
            if not self._membership.queued:
                guards.raise_if_over(self._membership)

    @application_call()
    def _leave_if_empty(self, event: Event) -> None:
        """Leave where the state is lost, and what reads is told of no such thing; raises StateFailed."""
        if not isinstance(event, StateLost) or self._membership.uses.allow_empty:
            return
        text = (
            f"the state of group {self._source.machine.group!r} is lost, and it is left: {event.reason}; join again, "
            "read StateLost by events, receive or on_event, or join with allow_empty=True to go on without"
        )
        with self._host.lock:
            self._membership.fail_state(text)
        raise StateFailed(text)

    def _give_back(self, event: Event | None) -> None:
        if event is not None:
            self._given_back.append(event)

    def _handled(self, item: QueueItem) -> Event | None:
        """Return the event that an item is to the application; None: it was about its state, and is done."""
        match item:
            case TakeState(view):
                self._state.take(self._source, view)
            case SetState():
                self._state.set(self._source, item)
            case MergeState(_, _, data):
                self._state.merge(self._source, data)
            case Deliver() if isinstance(item.run.payloads[0], StateToMerge):  # for MergeState, at the next barrier
                self._reading = item
                self._runs.note(item.run)
            case _:
                return self._event(item)
        return None

    def _event(self, item: _Event) -> Event:
        match item:
            case Deliver():
                # In the application's hands, but not read until it asks for the next event: only then the senders get
                # credit for it.
                self._reading = item
                self._current = self._runs.messages(item, self._source.machine)
                return next(self._current)
            case DeliverUnicast(sender, payload):
                self._reading = item
                return Unicast(sender, payload)
            case effects.UnicastLost(target, lost):
                return Undelivered(target, lost)
            case Installed(view, joined, left):
                if item.base is not None:
                    self._runs.begin(item.base)
                return ViewChange(view, joined, left)
            case Skip(sender, first, count, _):
                self._reading = item
                return Lost(sender, first, count)
            case effects.Quorum(_, has, in_doubt):
                return QuorumRegained(in_doubt) if has else QuorumLost(in_doubt)
            case effects.DoubtSettled(first, last, arrived):
                return Settled(first, last, arrived, self._source.machine.process, self._source.machine.instance)
            case Suspected(process, _, reason):
                return Suspicion(process, reason)
            case effects.StateUnavailable(view, reason, True) if own := self._state.uncovered(self._source):
                # Before `StateLost`, at which an application may well begin anew.
                self._membership.queued.appendleft(effects.StateUnavailable(view, reason))
                return StateUnmerged(own.data, own.reason)
            case effects.StateUnavailable(view, reason):
                self._state.bring_again(self._source)
                return StateLost(view, reason)
            case effects.HeldUncovered(view, donor):
                return StateRestored(view, f"{donor} goes on with its own: it may lack what came while this one waited")
            case effects.KeepState(view, reason):
                self._state.bring_again(self._source)
                return StateRestored(view, reason)
            case Gone(ended, returning, told):
                if returning:
                    self._state.keep(self._source)
                    if ended.reason == "merge" and (aside := self._state.set_aside(self._source)):
                        self._membership.queued.appendleft(aside)
                elif not told and (unmerged := self._state.give_up(self._source, ended)):
                    return StateUnmerged(unmerged.data, unmerged.reason)
                return self._departure(ended, returning)
            case SetAside(data, reason):
                return StateUnmerged(data, reason)
            case LogStopped(process, reason):
                return LogEnded(process, reason)
            case Entered(first, told):
                if not told and (aside := self._enter(first)):
                    # Before `Returned`: an application may wait for the new state right after that.
                    self._membership.queued.appendleft(Entered(first, told=True))
                    return StateUnmerged(aside.data, aside.reason)
                return Returned(self._source.machine.process, self._source.machine.instance)

    def _departure(self, ended: effects.Ended, returning: bool) -> Departure:
        # The way back may end, too: what that session did not send was told when it ended.
        again, self._departed = self._departed is self._source, self._source
        with self._host.lock:
            machine = self._source.machine
            unsent, undelivered = (0, 0) if again else (self._source.unnumbered, machine.undelivered)
            why, where = self._why_gone(ended), (machine.process, machine.instance)
        return Departure(why, ended.unconfirmed, unsent, returning, undelivered, *where)

    def _enter(self, first: bool) -> SetAside | None:
        """Go on to the next session; return the state of the last one if it is about to be replaced and lost."""
        former, self._source = self._source, self._membership.next_session()
        self._state.enter(former)
        self._state.bring(self._source, first)
        # Now, not when it was put out: as a rule the group went on with all that this process had. And who goes on in a
        # successor keeps its state.
        if first or former.machine.succeeded:
            return None
        return self._state.set_aside(former, self._source.machine.instance)

    def _why_gone(self, ended: effects.Ended) -> str:
        if self._membership.state_failure:
            return "state"
        if self._membership.unread:
            return "unread"
        # It had asked to leave, and something else ended it first: its side of a split is to go on by itself, say.
        return "request" if self._source.has_left else ended.reason

    async def _next_item(self, deadline: float | None) -> QueueItem | None:
        """Return what comes next; None at the deadline. Holds the lock."""
        membership, queued = self._membership, self._membership.queued
        # It asks for more, so it is through with this: the credit that opens the senders' windows.
        if self._reading is not None:
            reading, self._reading = self._reading, None
            self._source.consumed(reading)
        if direct := membership.direct_listener is not None:
            membership.listened_by = None  # it waits, so a worker may call back
        # Looked at last: what arrived before the end is read first.
        while not queued or (direct and membership.listened_by is not None):
            if not queued:
                guards.raise_if_over(membership)
            if not await self._source.wait_for_change(deadline):
                return None
        if direct:
            membership.listened_by = get_ident()
        return queued.popleft()

    async def _await_state(self, timeout_s: float | None, deadline: float | None) -> SetState | None:
        """Return the state for this thread to set, which is the receiver until then; None: it was set, or is lost."""
        queued = self._membership.queued
        # A session that has ended is waited out, too: the process may be on its way back, into one that awaits its
        # state.
        while (session := self._session).state.awaited or session.ended is not None:
            first = queued[0] if queued else None
            # Nobody receives, and the state is next: this thread takes it. Beside a receiver it only waits, since
            # what came before the state must be dealt with first.
            if isinstance(first, SetState) and self._receiver.take(taker := object()):
                self._state_taker = taker
                queued.popleft()
                return first
            if self._membership.state_failure:
                raise StateFailed(self._membership.state_failure)
            guards.raise_if_over(self._membership)
            if not await session.wait_for_change(deadline):
                donor = session.machine.transfer.donor or "its own reader"
                text = f"no state in group {session.machine.group!r} after {timeout_s} s: it waits for {donor}"
                raise GComTimeout(text)
        return None


class Receiving(ReceivingWaits):
    """The methods of a group that hand over events."""

    @application_call(kept_in="_given_back")
    def receive(self, timeout_s: float | None = None) -> Event | None:
        """Return the next event; None when there is none for `timeout_s` seconds.

        After the last Departure it raises NotAMember or Detached. Raises AlreadyReceiving beside a loop or a listener.
        """
        taker = object()
        try:
            self._take_place(taker)
            return self._next(timeout_s)
        finally:
            self._receiver.takers.pop(taker, None)

    def events(self, idle_s: float | None = None) -> Iterator[Event]:
        """Yield events until the last Departure, after which nothing comes, or until none came for `idle_s` seconds."""
        return self._loop(idle_s, None)

    def __iter__(self) -> Iterator[Message]:
        """Yield the multicast messages until this process leaves; raises Detached if it lost the group for good.

        Other events are passed over, unicasts too, and what was missed while it was away: `events` tells of all. Where
        the state is lost, it leaves and raises StateFailed, unless the group was joined with `allow_empty`.
        """
        return self._loop(None, self._raise_if_lost)  # type: ignore[return-value]  # of the rest it yields none

    def _loop(self, idle_s: float | None, is_told: Callable[[Event], bool] | None) -> Iterator[Event]:
        """Yield messages, and of the other events those that are told."""
        taker = object()
        try:
            self._take_place(taker)
            while True:
                # The rest of a run first, without a look at the queue: this is the path of every message.
                if not self._given_back:
                    yield from self._current
                event = self._next_of_loop(idle_s)
                if event is None:
                    return
                # No call between: a signal's handler could raise there, and the message would be lost.
                if is_told is None or event.__class__ is Message or is_told(event):
                    yield event
                if isinstance(event, Departure) and not event.returning:
                    return
        finally:
            self._receiver.takers.pop(taker, None)

    def _raise_if_lost(self, event: Event) -> bool:
        """Raise if a loop over messages ends by this event; else it is passed over."""
        if isinstance(event, StateLost):
            self._leave_if_empty(event)
        elif isinstance(event, Departure) and not event.returning and event.reason not in ("request", "exit"):
            guards.raise_if_ended(self._membership, self._session)
        return False

    @application_call()
    def listen(
        self,
        on_message: Callable[[Message], object] | None = None,
        on_view: Callable[[View], object] | None = None,
        on_event: Callable[[Event], object] | None = None,
        on_unicast: Callable[[Unicast], object] | None = None,
        direct: bool = False,
    ) -> None:
        """Call back for each event, one at a time and in order, until a Departure with `returning=False`.

        `on_event` is called for every event, and the one for its kind after it; without any, what comes is read and
        dropped. Without `on_event` a lost state has this process leave, unless it joined with `allow_empty`. A callback
        may send; it must not wait for other events. What it raises is printed, and the next event
        goes on. All come from one thread of this group's own, except with `direct=True`: then messages may also come
        from the threads that read the network, which saves a switch of threads. That is for callbacks that take less
        than a millisecond, and wait for nobody. A longer one is safe, but what its message's sender asks next is
        answered up to 40 ms late. Raises AlreadyReceiving beside a loop or a listener; NotAMember or Detached after
        the last Departure.
        """
        callbacks = Callbacks.checked(on_message, on_view, on_event, on_unicast)
        taker = object()
        self._take_place(taker)
        try:
            # In the caller's thread: the listener's would only end, and nobody would know why nothing comes.
            self._raise_if_through()
        except GComError:
            self._receiver.takers.pop(taker, None)
            raise
        source = ListenerSource(
            next_event=lambda: self._next_of_loop(None),
            consumed=lambda delivery: self._source.consumed(delivery),
            over=lambda: self._receiver.takers.pop(taker, None),
            messages=lambda delivery: self._runs.messages(delivery, self._source.machine),
            raise_if_lost=self._leave_if_empty,
            on_defect=self._host.on_defect,
        )
        try:
            GroupListener(self._host.lock, self._membership, callbacks, source, direct).start()
        except RuntimeError as error:
            self._receiver.takers.pop(taker, None)
            raise Exhausted("no thread can be started for the listener: end some, or try again later") from error

    @application_call(kept_in="_given_back")
    def _next_of_loop(self, timeout_s: float | None) -> Event | None:
        return self._next(timeout_s)

    def _next(self, timeout_s: float | None) -> Event | None:
        # What an interrupted call had taken from the queue comes first.
        if self._given_back:
            return self._given_back.popleft()
        message = next(self._current, None)
        if message is not None:
            return message
        self._membership.read_by = get_ident()  # a `leave` of another thread waits until it has given the state
        deadline = deadline_of(timeout_s)
        while True:
            with self._host.lock:
                item = run(self._next_item(deadline))
            if item is None:
                return None
            event = self._handled(item)
            if event is not None:
                return event

    # state

    @application_call()
    def wait_for_state(self, timeout_s: float | None = 10.0) -> bool:
        """Wait until `set_state` has been called, by this thread unless another one receives.

        False: the state is lost, and a StateLost event says so. True, at once, for the first of a group and for a
        member that asked for no state. Raises GComTimeout, StateFailed, NotAMember, Detached.
        """
        deadline = deadline_of(timeout_s)
        while (arrived := self._state_to_set(timeout_s, deadline)) is not None:
            try:
                self._state.set(self._source, arrived)
            finally:
                self._receiver.takers.pop(self._state_taker, None)
        return not self._session.state.lost

    def _state_to_set(self, timeout_s: float | None, deadline: float | None) -> SetState | None:
        with self._host.lock:
            return run(self._await_state(timeout_s, deadline))
