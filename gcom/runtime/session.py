"""A machine and what is kept for it: the rhythm lock, step, carry out, unlock for one group at one process.

Carrying out an effect never waits for a peer, and never calls the application: deliveries go to a queue, which the
receiver empties later, requests to the registry go to a thread of the host, frames are taken by the links. So
the lock is held for as long as a step takes, and a callback, which runs without it, may send.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

from loguru import logger

from gcom.core.machine import GroupMachine
from gcom.core.messages import events
from gcom.core.messages.effects import (
    Answered,
    AskRegistry,
    AskSequencer,
    Deliver,
    DeliverUnicast,
    DoubtSettled,
    Effect,
    Ended,
    EntryFailed,
    GroupCallOver,
    Installed,
    OfState,
    OfUnicast,
    Quorum,
    Sent,
    Serve,
    Skip,
    Suspected,
    UnicastLost,
)
from gcom.core.messages.frames import Frame, Reply
from gcom.core.messages.registry import Answer, GroupInfo, Refusal, Request
from gcom.core.messages.sequencer import SequencerRequest
from gcom.core.own_deliveries import OwnDeliveries
from gcom.errors import GComError, RegistryUnavailable, VersionMismatch
from gcom.runtime import queue_items
from gcom.runtime.awaited_state import AwaitedState, StateOwner
from gcom.runtime.group_calls import GroupCalls
from gcom.runtime.logs import SessionLog
from gcom.runtime.request_handlers import CallServer
from gcom.runtime.step_lock import DirectListener, StepLock
from gcom.runtime.traces import TraceRecorder
from gcom.runtime.waiting import WatchedCondition, change
from gcom.trace.writer import DeliveryLog
from gcom.values import limits
from gcom.values.names import Process
from gcom.values.run import Payload, Run, up_to

# Read, and told to the machine at the next tick at the latest. A small part of the smallest window: no sender waits.
READ_MESSAGES = limits.WINDOW_MESSAGES_MIN // 8
READ_BYTES = limits.WINDOW_BYTES_MAX // 8
UNAWAITED = frozenset((Sent, AskRegistry, AskSequencer))  # nobody waits for these, but `wait_for_room` for Sent
Notice = Installed | Quorum | DoubtSettled | Suspected | Skip | UnicastLost


class SessionHost(Protocol):
    """The part of the host that a session uses. All but `lock` is called with the lock held."""

    lock: StepLock

    def now_ms(self) -> int: ...

    def reschedule(self, session: Session) -> None: ...

    def serve(self, session: Session, peer: Process) -> None: ...

    def ask_registry(self, session: Session, request: Request) -> None: ...

    def ask_sequencer(self, session: Session, request: SequencerRequest) -> None: ...


class SessionOwner(StateOwner, Protocol):
    """The membership that a session is part of, which outlives it. Called with the lock held."""

    changed: WatchedCondition
    call_server: CallServer
    recorder: TraceRecorder | None
    unread: bool
    direct_listener: DirectListener | None

    @property
    def receives(self) -> bool: ...

    @property
    def session(self) -> Session: ...

    def on_entered(self, session: Session) -> None: ...

    def on_ended(self, session: Session, ended: Ended) -> None: ...

    def on_failed(self, session: Session, final: bool) -> None: ...

    def on_log_stopped(self, session: Session, reason: str) -> None: ...

    def leave(self, timeout_s: float) -> None: ...


class Session:
    """A process in one group. Every field is guarded by the host's lock."""

    def __init__(
        self, host: SessionHost, machine: GroupMachine, log: DeliveryLog | None, membership: SessionOwner
    ) -> None:
        self.machine = machine
        self.membership = membership
        self.ended: Ended | None = None
        self.carried_on = False  # unsent messages went on to the session that follows
        self.detached = False  # it hears no quorum of its view, and goes on when it does
        self.leaving = False  # the application asked to leave: it sends no more
        self.has_left = False  # the application had asked that when something else ended the session
        self.failure: GComError | None = None
        self.registry_failure: GComError | None = None
        self.listed: GroupInfo | None = None  # as the registry said last
        self.changed = membership.changed
        self._host = host
        self._links_woken = machine.links_woken  # the links' own set: asked after each step without a call
        self._log = SessionLog(log, machine) if log else None
        self.log_stopped = False  # and the application knows
        self._queue = membership.queue
        self._receive = membership.receives
        self._buffer: list[Payload] = []  # sent by the application, not yet handed to the machine
        # Of each sender, not yet told to the machine: up to which number, so many messages, so many bytes.
        self._read: dict[Process, tuple[int, int, int]] = {}
        self._notices = 0  # an upper bound on queued items that are no deliveries
        self.state = AwaitedState(machine.process, membership)
        self.calls = GroupCalls(self, membership.call_server, host.now_ms)
        self._unsent_size = 0  # characters or bytes of messages that have no number yet
        self.last_number = 0  # of the messages put: numbers follow the order of sending
        self.own = OwnDeliveries(machine.process)
        self.acks_awaited = 0  # waits for members to hold a message; no effect tells of acks
        self._room_awaited = 0  # waits until the application may send

    # steps; each takes the lock

    def handle(self, event: events.Event) -> None:
        """Step the machine with an event and carry out what follows."""
        with self._host.lock:
            self.step(event)
            self.reschedule()

    def reschedule(self) -> None:
        """Wake the timer or the reader if a step has given it something to do sooner. Holds the lock."""
        self._host.reschedule(self)

    def step(self, event: events.Event) -> None:
        """Do what `handle` does, for a caller that holds the lock."""
        self._carry_out(self.machine.handle(event, self._host.now_ms()))

    def tick(self) -> None:
        """Step the machine at its deadline. Holds the lock."""
        if self._buffer:
            self._submit()  # now at the latest: every link may be idle
        self.tell_read()
        self.calls.serve_early(self.machine.view is not None)
        self.step(events.Tick())

    def receive(self, frame: Frame) -> Reply:
        """Answer the frame of a peer. Holds the lock; before the answer goes, `log_before_frame` is due."""
        if self.membership.recorder is not None:
            self.membership.recorder.on_frame(frame)
        if self._buffer:
            self._submit()  # first, so that the reply can say what the application has sent
        if self._read and not frame.runs:
            self.tell_read()  # without data it is a heartbeat, or asks how this member stands
        reply, effects = self.machine.receive(frame, self._host.now_ms())
        self._carry_out(effects, self.membership.direct_listener)
        self.reschedule()
        return reply

    def take(self, peer: Process) -> Frame | None:
        """Return the next frame for a peer, if it is due. Holds the lock."""
        if self._buffer:
            self._submit()
        frame, effects = self.machine.take(peer, self._host.now_ms())
        if effects:
            self._carry_out(effects)
        # A step without effects may still have woken links, and only those that are served look for what to put.
        elif self._links_woken:
            self._serve_woken_links()
        return frame

    def end_by_defect(self) -> None:
        """End by a defect of GCom: all who wait here are told, the log ends where it is. Holds the lock."""
        self.failure = self.failure or GComError("a defect in GCom ended this node; its traceback was printed")
        if self.ended is None:
            view = self.machine.view
            self.ended = Ended(view.number if view else 0, "defect", unconfirmed=self.machine.in_doubt)
            self.membership.on_ended(self, self.ended)
        self.changed.notify_all()

    def log_before_frame(self) -> None:
        """Write out the log, before a frame or reply can tell of its records."""
        # Otherwise: 1. A member sends, and a peer delivers and logs the message. 2. The member is killed before its own
        # log is written. 3. The audit finds a delivery of a message that nobody sent.
        if self._log:
            self._log.flush_before_frame()

    # sending

    @property
    def has_room(self) -> bool:
        """Tell whether the application may send now: both bounds on unsent messages have room."""
        # Two bounds: a million empty messages have no bytes, and ten of the largest are few.
        few = len(self._buffer) + self.machine.unsent_count < limits.PENDING_MESSAGES_MAX
        return few and self._unsent_size < limits.PENDING_BYTES_MAX

    @property
    def unnumbered(self) -> int:
        """Return the number of messages sent by the application that have no number yet."""
        return 0 if self.carried_on else len(self._buffer) + self.machine.unsent_count

    @property
    def awaiting_state(self) -> list[Deliver]:
        """The deliveries that wait for the application's state, oldest first."""
        return [it for it in self._queue.waiting if isinstance(it, Deliver)]

    @property
    def has_unsent(self) -> bool:
        """Tell whether a message sent here waits, and can go."""
        view = self.machine.view
        return bool(self.unnumbered and view and view.started) or not self.machine.unicasts_held()

    def put(self, payload: Payload) -> int:
        """Queue a message, and hand it over unless others wait; return its number. Holds the lock."""
        self.last_number = number = self.last_number + 1
        if self.membership.recorder is not None:
            self.membership.recorder.on_put(number, number)
        self._buffer.append(payload)
        self._unsent_size += len(payload)
        self._submit_unless_others_wait()
        return number

    def put_many(self, payloads: Sequence[Payload]) -> int:
        """Queue as many as there is room for, one at least; return how many. Holds the lock."""
        room = max(1, limits.PENDING_MESSAGES_MAX - self.unnumbered)
        taken = up_to(limits.PENDING_BYTES_MAX - self._unsent_size, payloads[:room])
        if self.membership.recorder is not None:
            self.membership.recorder.on_put(self.last_number + 1, self.last_number + len(taken))
        self.last_number += len(taken)
        self._buffer += taken
        self._unsent_size += sum(map(len, taken))
        self._submit_unless_others_wait()
        return len(taken)

    def _submit_unless_others_wait(self) -> None:
        # Where others wait for a number, links have as much under way as they may: what collects until one is answered
        # becomes one run, which costs as much as one message (decision 0001).
        if not self.machine.unsent_count or not self.machine.peers:
            self._submit()

    def take_unsent(self) -> list[Payload]:
        """Hand over what never got a number: it goes on with the process. Holds the lock."""
        # In the order of sending: what the machine was handed came before what still lies here.
        unsent, self._buffer = [*self.machine.unsent, *self._buffer], []
        self.carried_on = True
        return unsent

    def _submit(self) -> None:
        if self.ended is not None:
            return  # the machine takes nothing more: what lies here was never sent, and counts so (`unnumbered`)
        payloads, self._buffer = self._buffer, []
        self.step(events.Submit(payloads))

    def begin_leaving(self) -> None:
        """Send no more; own messages count as read, so that the window opens for the rest. Holds the lock."""
        self.leaving = True
        # 1. The application sends many messages and leaves, without having read its own. 2. Its window opens only as
        # far as all members have read, itself among them. 3. The rest would wait for a number until the time is over.
        mine = [it for it in self._queue.tail if isinstance(it, Deliver) and it.run.sender == self.machine.process]
        for delivery in mine[-1:]:
            self.consumed(delivery)
        self.tell_read()
        self.changed.notify_all()

    def ask_status(self, peers: Sequence[Process]) -> None:
        """Have members say now what they would say at their next heartbeat. Holds the lock."""
        now_ms = self._host.now_ms()
        for peer in peers:
            self.machine.bring_forward(peer, now_ms, limits.REST_MS)
            self._host.serve(self, peer)

    @contextmanager
    def awaiting_acks(self) -> Iterator[None]:
        """Let `wait_for_change` return after every step: no effect tells of acks. Holds the lock."""
        self.acks_awaited += 1
        self.reschedule()
        try:
            yield
        finally:
            self.acks_awaited -= 1

    async def wait_for_room(self, deadline: float | None) -> bool:
        """Do what `wait_for_change` does, and return when messages got their numbers, too. Holds the lock."""
        self._room_awaited += 1
        try:
            return await self.wait_for_change(deadline)
        finally:
            self._room_awaited -= 1

    async def wait_for_change(self, deadline: float | None) -> bool:
        """Wait for a change; return False when the deadline, in monotonic seconds, has passed. Holds the lock."""
        return await change(self.changed, deadline)

    @property
    def members(self) -> tuple[Process, ...]:
        """Return the members of the view in force, oldest first."""
        return view.members if (view := self.machine.view) else ()

    # effects

    def _carry_out(self, effects: list[Effect], listener: DirectListener | None = None) -> None:
        done: list[Deliver | Skip] = []
        follows: list[events.Event] = []
        if self.membership.recorder is not None:
            self.membership.recorder.record(self.machine, effects)
        # Each record before its effect is seen: a log that lacks what an application knows is no evidence.
        for effect in effects:
            if self._log:
                self._log.record(effect)
            match effect:
                case Sent(run):
                    self._on_numbered(run)
                case Deliver():
                    self.own.record(effect)
                    if self._receive:
                        self._queue.tail.append(effect)
                    if not self._receive or (self.leaving and effect.run.sender == self.machine.process):
                        done.append(effect)
                case Installed() | Suspected():
                    self.membership.on_entered(self)
                    self._notice(effect)
                case Quorum(_, has):
                    self.detached = not has
                    self._notice(effect)
                case DoubtSettled(first, last, arrived):
                    if not arrived:
                        self.own.lost.append((first, last))
                    self._notice(effect)
                case Skip() if self._receive:
                    self._notice(effect)
                case Skip():
                    done.append(effect)
                case Ended():
                    self.ended = effect
                    self.membership.on_ended(self, effect)
                case EntryFailed(error, final):
                    better = self.registry_failure if isinstance(error, RegistryUnavailable) else None
                    self.failure = better or error  # the registry client's words are better than the machine's
                    self.membership.on_failed(self, final)
                case AskRegistry(request):
                    self._host.ask_registry(self, request)
                case AskSequencer(question):
                    self._host.ask_sequencer(self, question)
                case DeliverUnicast() | UnicastLost() | Serve() | Answered() | GroupCallOver():
                    follows += self._on_unicast(effect)
                case _:  # of state transfer: mypy holds that none else is left
                    done += self._on_state(effect)
        if self._notices >= queue_items.NOTICES_MAX and not self.ended:  # deliveries have credit, these no other bound
            self._leave_unread()
        for delivery in done:  # a step of its own: its effects come after these
            self.consumed(delivery)
        for event in follows:
            self.step(event)
        if self.calls.waiting and not self.state.awaited:
            self.calls.serve_waiting()
        self._wake(set(map(type, effects)) - UNAWAITED, listener)
        if self._buffer and not self.machine.peers:  # the link that would have taken it went with its peer
            self._submit()
        if self._links_woken:
            self._serve_woken_links()

    def _wake(self, awaited: set[type[Effect]], listener: DirectListener | None) -> None:
        # Each wake costs two switches of threads, as much as a step. For a delivery only the receiver waits, and where
        # that is a direct listener, the worker whose step this is may call back without one.
        if listener and awaited == {Deliver} and not self.acks_awaited:
            self._host.lock.listeners_due.append(listener)
        elif awaited or self.acks_awaited:
            self._host.lock.notify_on_release(self.changed)

    def _on_numbered(self, run: Run) -> None:
        """Count a run as sent, which gives room for others."""
        self._unsent_size -= sum(map(len, run.payloads))
        if self._room_awaited:
            self._host.lock.notify_on_release(self.changed)

    def _leave_unread(self) -> None:
        logger.warning("{} reads nothing: it leaves group {}", self.machine.process, self.machine.group)
        self.membership.unread = True
        self.step(events.Exit())

    def _on_unicast(self, effect: OfUnicast) -> list[events.Event]:
        """Carry out an effect of unicasts and group calls; return the events for the machine that follow."""
        match effect:
            case DeliverUnicast() if self._receive:
                self._queue.put(effect)
            case DeliverUnicast(sender):
                return [events.UnicastRead(sender)]
            case UnicastLost():
                self._notice(effect)
            case _:
                return self.calls.on_effect(effect, self.state.awaited)
        return []

    def _on_state(self, effect: OfState) -> list[Deliver | Skip]:
        """Carry out an effect of state transfer; return what is not handed over any more, since the state covers it."""
        # Before their view: the reader, still in the former session, would find that nobody there asks for its state.
        self.membership.on_entered(self)
        return self.state.on_effect(effect, self._host.now_ms())

    def on_state_set(self) -> None:
        """Serve the calls that waited for the application's state. Holds the lock."""
        self.state.awaited = False
        self.calls.serve_waiting()
        self.changed.notify_all()

    def confirm(self, number: int, by: str) -> None:
        """Log that a message was confirmed to the application as held by `by`. Holds the lock."""
        # Nothing follows the end in a log: its last record says how the session ended.
        if self._log and self.ended is None:
            self._log.confirm(number, by)

    def _notice(self, notice: Notice) -> None:
        """Queue a notice beside messages, and count it: a process that leaves too many unread cannot stay."""
        if self._receive:
            # With an empty queue the application has read all that was counted so far.
            self._notices = self._notices + 1 if self._queue.tail else 1
            self._queue.put(notice)

    def consumed(self, done: Deliver | Skip | DeliverUnicast) -> None:
        """Take what the application has read, which is credit. Holds the lock."""
        if self.ended:  # the machine has no stream any more
            return
        if isinstance(done, DeliverUnicast):
            self.step(events.UnicastRead(done.sender))
            return
        if isinstance(done, Deliver):
            run = done.run
            sender, last, count, size = run.sender, run.last, len(run.payloads), len(run.encoded)
        else:
            sender, last, count, size = done.sender, done.first + done.count - 1, done.count, 0  # no bytes came
        # To tell the machine costs a tenth of what a single message costs here, and nobody waits for little credit.
        before = self._read.get(sender, (0, 0, 0))
        # Not always the last: of one that leaves, its own count as read before it reads them.
        self._read[sender] = _, messages, bytes_ = max(last, before[0]), before[1] + count, before[2] + size
        definition = self.machine.definition
        # In a causal order a sender may wait for it (`held_by`): who has read a message has what that follows.
        if messages >= READ_MESSAGES or bytes_ >= READ_BYTES or (definition and definition.ordering.is_causal):
            self.tell_read()

    def tell_read(self) -> None:
        """Give credit for what the application has read. Holds the lock."""
        read, self._read = self._read, {}
        for sender, (last, _, size) in read.items():
            self.step(events.Consumed(sender, last, size))

    def _serve_woken_links(self) -> None:
        for peer in self.machine.woken():
            self._host.serve(self, peer)

    def on_registry(self, request: Request, answer: Answer | None, failure: GComError | None) -> None:
        """Step the machine with the registry's answer, or without one."""
        # Treated as no answer, this would tell a newcomer that there is no registry.
        answer = Refusal("VersionMismatch", str(failure)) if isinstance(failure, VersionMismatch) else answer
        with self._host.lock:
            self.registry_failure = failure
            self.listed = answer if isinstance(answer, GroupInfo) else self.listed
            self.step(events.RegistryAnswered(request, answer))
