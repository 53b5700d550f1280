"""The group that an application holds: send, receive, see the view, leave.

Messages wait in a queue that the application empties in its own thread: by iteration, by `receive`, or by a listener's
one thread. What it has read is credit for the senders, so a slow reader slows its senders and memory stays bounded.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import repeat
from threading import Lock, Thread, get_ident
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, Literal, Self

from loguru import logger

from gcom.core.machine import Stage
from gcom.core.messages import effects, events
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
from gcom.errors import (
    AlreadyReceiving,
    BadValue,
    GComError,
    GComTimeout,
    StateFailed,
    WouldBlock,
)
from gcom.runtime import payloads
from gcom.runtime.deadlines import deadline_of
from gcom.runtime.events import (
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
    StateUnmerged,
    Suspicion,
    Undelivered,
    Unicast,
    ViewChange,
)
from gcom.runtime.rejoin import Arrival, Entered, Gone, Membership, Notice
from gcom.runtime.session import Session
from gcom.runtime.state_callbacks import Stateful
from gcom.runtime.unicast import Calling
from gcom.values import limits
from gcom.values.definition import Definition, Multicast
from gcom.values.names import Process
from gcom.values.run import Brought, Payload
from gcom.values.view import View

if TYPE_CHECKING:
    from gcom.runtime.node import Node


_Event = (
    Deliver
    | DeliverUnicast
    | effects.UnicastLost
    | Installed
    | effects.Quorum
    | effects.DoubtSettled
    | Skip
    | Suspected
    | effects.StateUnavailable
    | Gone
    | Entered
    | Notice
)
HeldBy = Literal["sender", "majority", "all"]
GOING_S = 1.0  # of the time that a leave is given, what is kept for the view change without this process


class Group(Calling, Stateful):
    """A membership, from `Node.join` until `leave`. Safe to use from any thread.

    A process that was put out of its group, or lost contact to a quorum, is told by a Departure, and cannot send until
    it has Returned: then `process`, `view` and `instance` are others.
    """

    def __init__(self, node: Node, membership: Membership) -> None:
        self._node = node
        self._membership = membership
        self._source = membership.session  # of what is read now
        self._receiving = Lock()  # held by the one receiver
        self._current: Iterator[Message] = iter(())  # of the run that is being read
        self._reading: Deliver | Skip | DeliverUnicast | None = None
        self._listener: Thread | None = None

    # what it is

    @property
    def _session(self) -> Session:
        return self._membership.session

    @property
    def name(self) -> str:
        """The group's name."""
        return self._session.machine.group

    @property
    def process(self) -> Process:
        """This process's identity in the group: name#incarnation."""
        return self._session.machine.process

    @property
    def instance(self) -> str:
        """The id of this life of the group's name."""
        return self._session.machine.instance

    @property
    def definition(self) -> Definition:
        """What the group's creator picked."""
        definition = self._session.machine.definition
        assert definition is not None, "a Group is made for a member"
        return definition

    @property
    def view(self) -> View:
        """The view in force; after the end, the last one."""
        view = self._session.machine.view
        assert view is not None, "a Group is made for a member"
        return view

    @property
    def members(self) -> tuple[str, ...]:
        """The names in the view, oldest first; the first leads."""
        return self.view.names

    @property
    def pending(self) -> int:
        """Messages sent here that have not yet gone into the group."""
        with self._node.lock:
            return self._session.unnumbered

    # sending

    def send(self, payload: Payload, timeout_s: float | None = 10.0, held_by: HeldBy = "sender") -> None:
        """Multicast bytes or text to all members, this one included; blocks while the window is full.

        With `held_by` "majority" or "all" (RELIABLE only) it returns once so many members of the view, this one
        included, have stored the message, whether or not they have read it: a crash of the others does not lose it. Who
        left the view does not count. Inside a callback that raises WouldBlock, and nothing is sent.

        Raises MessageTooLarge, BadValue, NotAMember (once `leave` began), Detached, GComTimeout; WouldBlock inside a
        callback. After an error that names the message, it was sent, and may still arrive.
        """
        payloads.check(payload, limits.MESSAGE_BYTES_MAX)
        if held_by != "sender":
            self._send_and_wait(payload, timeout_s, held_by)
            return
        with self._node.lock:
            session = self._membership.session
            if session.ended is not None or session.detached or session.leaving or not session.room:
                session = self._await_room(timeout_s, deadline_of(timeout_s))
            session.put(payload)

    def _send_and_wait(self, payload: Payload, timeout_s: float | None, held_by: HeldBy) -> None:
        if held_by not in ("majority", "all"):
            raise BadValue(f"held_by {held_by!r} is not allowed: it is sender, majority or all")
        if self.definition.multicast is not Multicast.RELIABLE:
            raise BadValue(f"held_by {held_by!r} needs RELIABLE; group {self.name!r} is {self.definition.multicast}")
        if self._in_callback:
            raise WouldBlock(f"a callback of group {self.name!r} must not wait for what the members hold")
        deadline = deadline_of(timeout_s)
        with self._node.lock:
            session = self._await_room(timeout_s, deadline)
            session.put(payload)
            number = session.last_number
            with session.awaiting_acks():
                while not _is_held(session, number, held_by):
                    session.raise_if_detached(f"{_named(session, number)} is not held by {held_by}")
                    if not session.wait(deadline):
                        raise GComTimeout(_why_not_held(session, number, held_by, timeout_s))
            session.confirm(number, held_by)

    def send_many(self, payloads: Iterable[Payload], timeout_s: float | None = 10.0) -> None:
        """As `send`, for each; `timeout_s` holds for each. What was sent before an error stays sent."""
        for payload in payloads:
            self.send(payload, timeout_s)

    @property
    def _in_callback(self) -> bool:
        return get_ident() == self._membership.listened_by

    def _await_room(self, timeout_s: float | None, deadline: float | None) -> Session:
        while True:
            session = self._session_to_send_in()
            if session.room:
                return session
            if self._in_callback:
                raise WouldBlock(f"the window of group {self.name!r} is full, and a callback must not wait for it")
            if not session.wait(deadline):
                waits_for = session.machine.waits_for or "the members to read"
                raise GComTimeout(
                    f"no room to send in group {self.name!r} after {timeout_s} s: it waits for {waits_for}"
                )

    def _raise_if_over(self) -> None:
        """Raise if nothing will ever follow; a process on its way back is not through."""
        if self._membership.over:
            self._session.raise_if_ended()

    def flush(self, timeout_s: float | None = 10.0) -> None:
        """Wait until every member holds all that was sent here, unicasts too.

        Raises GComTimeout, NotAMember, Detached.
        """
        deadline = deadline_of(timeout_s)
        with self._node.lock, (session := self._session).awaiting_acks():
            while session.unnumbered or not session.machine.flushed:
                session.raise_if_ended()
                session.raise_if_detached("not all that was sent is held by all")
                if not session.wait(deadline):
                    why = session.machine.waits_for or "the members to confirm"
                    text = f"not all that was sent in group {self.name!r} has arrived after {timeout_s} s"
                    raise GComTimeout(f"{text}: it waits for {why}")

    # receiving

    def receive(self, timeout_s: float | None = None) -> Event | None:
        """The next event; None when there is none for `timeout_s` seconds.

        After the last Departure it raises NotAMember or Detached. Raises AlreadyReceiving beside a loop or a listener.
        """
        with self._as_receiver():
            return self._next(timeout_s)

    def events(self, idle_s: float | None = None) -> Iterator[Event]:
        """All events, until the last Departure, after which nothing comes, or until none came for `idle_s` seconds."""
        with self._as_receiver():
            while True:
                yield from self._current
                event = self._next(idle_s)
                if event is None:
                    return
                yield event
                if isinstance(event, Departure) and not event.returning:
                    return

    def __iter__(self) -> Iterator[Message]:
        """The multicast messages, until this process leaves; raises Detached if it lost the group, and does not return.

        Other events are passed over, unicasts too, and what was missed while it was away: `events` tells of all.
        """
        for event in self.events():
            if isinstance(event, Message):
                yield event
            elif isinstance(event, Departure) and not event.returning and event.reason not in ("request", "exit"):
                self._session.raise_if_ended()

    def listen(
        self,
        on_message: Callable[[Message], object] | None = None,
        on_view: Callable[[View], object] | None = None,
        on_event: Callable[[Event], object] | None = None,
        on_unicast: Callable[[Unicast], object] | None = None,
    ) -> None:
        """Call back for each event, in order, from one thread of this group's own, until a Departure without return.

        A callback may send; it must not wait for other events. What it raises is printed, and the next event goes on.
        Without any callback what comes is read and dropped. Raises AlreadyReceiving beside a loop or a listener;
        NotAMember or Detached after the last Departure.
        """
        if not self._receiving.acquire(blocking=False):
            raise AlreadyReceiving(f"group {self.name!r} has a receiver: a loop or a listener")
        self._raise_if_through()
        calls = (on_message, on_view, on_event, on_unicast)
        self._listener = Thread(target=self._listen, args=calls, name=f"gcom listener {self.name}", daemon=True)
        self._listener.start()

    def _raise_if_through(self) -> None:
        try:
            with self._node.lock:
                if not self._membership.arrivals:
                    self._raise_if_over()
        except GComError:
            self._receiving.release()
            raise

    def _listen(
        self,
        on_message: Callable[[Message], object] | None,
        on_view: Callable[[View], object] | None,
        on_event: Callable[[Event], object] | None,
        on_unicast: Callable[[Unicast], object] | None,
    ) -> None:
        self._membership.listened_by = get_ident()
        event: Event | None = None
        while not isinstance(event, Departure) or event.returning:
            try:
                event = self._next(None)
            except StateFailed:
                traceback.print_exc()  # a departure follows
                continue
            try:
                if on_event and event:
                    on_event(event)
                if on_message and isinstance(event, Message):
                    on_message(event)
                elif on_unicast and isinstance(event, Unicast):
                    on_unicast(event)
                elif on_view and isinstance(event, ViewChange):
                    on_view(event.view)
            except Exception:  # outermost: what the application's callback raises is not this thread's end
                traceback.print_exc()  # the library's log may be disabled, and an application's mistake must be seen
                logger.error("a callback of group {} failed", self.name)
        self._membership.listened_by = None
        self._receiving.release()

    @contextmanager
    def _as_receiver(self) -> Iterator[None]:
        if not self._receiving.acquire(blocking=False):
            raise AlreadyReceiving(f"group {self.name!r} has a receiver: a loop or a listener")
        try:
            yield
        finally:
            self._receiving.release()

    def _next(self, timeout_s: float | None) -> Event | None:
        message = next(self._current, None)
        if message is not None:
            return message
        deadline = deadline_of(timeout_s)
        while True:
            match arrival := self._arrival(deadline):
                case TakeState(view):
                    self._take_state(view)
                case SetState(_, data):
                    self._set_state(data)
                case MergeState(_, _, data):
                    self._merge_state(data)
                case Deliver(run) if isinstance(run.payloads[0], Brought):  # for MergeState, at the next barrier
                    self._reading = arrival
                case None:
                    return None
                case _:
                    return self._event(arrival)

    def _event(self, arrival: _Event) -> Event:
        match arrival:
            case Deliver(run, view):
                self._reading = arrival
                numbers = range(run.first, run.last + 1)
                self._current = map(Message._make, zip(repeat(run.sender), numbers, repeat(view), run.payloads))
                return next(self._current)
            case DeliverUnicast(sender, payload):
                self._reading = arrival
                return Unicast(sender, payload)
            case effects.UnicastLost(target, lost):
                return Undelivered(target, lost)
            case Installed(view, joined, left):
                return ViewChange(view, joined, left)
            case Skip(sender, first, count, _):
                self._reading = arrival
                return Lost(sender, first, count)
            case effects.Quorum(_, has, in_doubt):
                return QuorumRegained(in_doubt) if has else QuorumLost(in_doubt)
            case effects.DoubtSettled(first, last, arrived):
                return Settled(first, last, arrived)
            case Suspected(process, _, reason):
                return Suspicion(process, reason)
            case effects.StateUnavailable(view, reason):
                self._bring_again()
                return StateLost(view, reason)
            case Gone(ended, returning):
                if returning:
                    self._keep_state()
                    self._set_aside_state(ended.reason)
                elif unmerged := self._give_up_state():
                    self._membership.arrivals.appendleft(arrival)
                    return unmerged
                with self._node.lock:
                    unsent, undelivered = self._source.unnumbered, self._source.machine.undelivered
                    return Departure(self._why_gone(ended), ended.unconfirmed, unsent, returning, undelivered)
            case StateUnmerged() | LogEnded():
                return arrival
            case Entered(session, first):
                self._source = session
                self._bring_state(first)
                return Returned(session.machine.process, session.machine.instance)

    def _why_gone(self, ended: effects.Ended) -> str:
        if self._membership.state_failure:
            return "state"
        return "unread" if self._membership.unread else ended.reason

    def _arrival(self, deadline: float | None) -> Arrival | None:
        arrivals = self._membership.arrivals
        with self._node.lock:
            if self._reading is not None:
                reading, self._reading = self._reading, None
                self._source.consumed(reading)
            while not arrivals:
                self._raise_if_over()
                if not self._source.wait(deadline):
                    return None
            return arrivals.popleft()

    # membership

    def wait_for_members(self, count: int, timeout_s: float | None = None) -> View:
        """Wait until the view has at least `count` members; raises GComTimeout, NotAMember, Detached.

        A process on its way back is in no view, and one that is detached has a view that may be over: so after Detached
        `wait_for_members(1)` waits until it may send again.
        """
        deadline = deadline_of(timeout_s)
        with self._node.lock:
            while self._session.ended or self._session.detached or len(self.view.members) < count:
                self._raise_if_over()
                if not self._session.wait(deadline):
                    present = ", ".join(self.members)
                    doubt = ", and hears too few of them to go on" if self._session.detached else ""
                    raise GComTimeout(
                        f"timed out after {timeout_s} s: group {self.name!r} has not {count} members, but {present}"
                        f"{doubt}"
                    )
            return self.view

    def leave(self, timeout_s: float = 10.0) -> None:
        """Leave: what was sent goes first, the others' view goes on without this process. May be called again.

        A detached member waits for a quorum, which alone can settle what it sent. After `timeout_s` seconds it goes
        without: then the Departure has the reason `exit`, and says what is unconfirmed. What the members' windows had
        no room for until then is not sent, and a WARNING says how many messages that were. Never raises for a group
        that is lost already.
        """
        deadline = monotonic() + timeout_s
        with self._node.lock:
            if self._membership.give_up():
                return
            session = self._session
            again = session.leaving or session.ended is not None
            session.begin_leaving()
            unsent_until = deadline - min(GOING_S, timeout_s / 2)
            with session.awaiting_acks():
                while (_has_unsent(session) or self._owes_state) and not session.ended and session.wait(unsent_until):
                    pass
            if session.machine.stage is Stage.MEMBER and not session.ended:
                session.step(events.Leave())
            while not session.ended and session.wait(deadline):
                pass
            if not session.ended:
                session.step(events.Exit())
        if session.unnumbered and not again:
            logger.warning("{} left with {} messages that were never sent", self.process, session.unnumbered)

    def __repr__(self) -> str:
        return f"<gcom.Group {self.name!r} as {self.process}, view {self.view.number}: {', '.join(self.members)}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.leave()


def _has_unsent(session: Session) -> bool:
    """Whether something that was sent here waits, and can go."""
    view = session.machine.view
    return bool(session.unnumbered and view and view.started) or not session.machine.mail_settled


def _is_held(session: Session, number: int, held_by: HeldBy) -> bool:
    """Raises NotAMember or Detached if the session has ended and the message may not have arrived."""
    machine, ended = session.machine, session.ended
    lacking = len(machine.lacking(number))
    if machine.placed(number) and (not lacking or (held_by == "majority" and 2 * lacking < len(session.members))):
        return True
    if ended is not None and (ended.settled is None or number > machine.number):
        session.raise_if_ended()
    return ended is not None  # a leaver's messages are in the cut of the view that goes on


def _named(session: Session, number: int) -> str:
    return f"message {number} of {session.machine.process} in group {session.machine.group!r}"


def _why_not_held(session: Session, number: int, held_by: HeldBy, timeout_s: float | None) -> str:
    machine = session.machine
    names_it = _named(session, number)
    if number > machine.number:
        return f"{names_it} still waits to be sent after {timeout_s} s, for {machine.waits_for or 'its turn'}"
    lacking = ", ".join(machine.lacking(number))
    return f"{names_it} is sent, but not held by {held_by} after {timeout_s} s: it waits for {lacking}"
