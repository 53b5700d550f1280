"""A membership, from the join until the leave: all its sessions, the queue to the application, and the way back in.

A process that is put out of its group, or loses its quorum, comes back as another process (ARCHITECTURE 4): another
machine, another session, another log. The application keeps its `Group`, and reads the end of one session and the
beginning of the next from the same queue.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from threading import enumerate as enumerate_threads
from threading import get_ident
from time import monotonic
from typing import Protocol

from loguru import logger

from gcom.core.delivery_queue import DeliveryQueue
from gcom.core.machine import RETURNS, GroupMachine, Stage
from gcom.core.messages import events
from gcom.core.messages.effects import Ended
from gcom.core.state_transfer.reconciliation import StateReconciliation
from gcom.errors import BadValue, Dissolved
from gcom.runtime import queue_items
from gcom.runtime.queue_items import Entered, Gone, LogStopped, Own
from gcom.runtime.request_handlers import CallServer, Handler
from gcom.runtime.session import Session
from gcom.runtime.step_lock import DirectListener, StepLock
from gcom.runtime.traces import TraceBuffer, TraceRecorder
from gcom.runtime.user_process.callbacks import check_callback
from gcom.runtime.user_process.entry import EnteredHost, called_outside
from gcom.runtime.waiting import run
from gcom.values.names import Process

LEAVE_S = 1.0  # of a leave's time, the share kept for the view change without this process


@dataclass(frozen=True, slots=True)
class Uses:
    """The uses that the application makes of a group: reading, coming back, callbacks for the state."""

    receive: bool = True
    rejoin: bool = True
    get_state: Callable[[], bytes] | None = None
    set_state: Callable[[bytes], object] | None = None
    merge_states: Callable[[bytes, bytes], bytes] | None = None
    on_call: Handler | None = None
    allow_empty: bool = False  # go on without a state that is lost, though nothing reads StateLost
    awaited: bool = False  # the callbacks are called by an event loop, and may be async

    def __post_init__(self) -> None:
        """Raise BadValue for callbacks that nobody can call, or would."""
        for name, count in (("get_state", 0), ("set_state", 1), ("merge_states", 2), ("on_call", 2)):
            check_callback(name, getattr(self, name), count, self.awaited)
        if self.merge_states and not (self.get_state and self.set_state):
            raise BadValue(
                "merge_states is given what get_state returns, and set_state what it returns: give all three"
            )
        if not self.receive and (self.get_state or self.set_state):
            raise BadValue("get_state and set_state are called by the thread that receives: leave out receive=False")

    def called_outside(self) -> Uses:
        """Return the uses with callbacks that a thread may call which is inside GCom."""
        give = self.get_state and called_outside(self.get_state)
        take = self.set_state and called_outside(self.set_state)
        merge = self.merge_states and called_outside(self.merge_states)
        return replace(self, get_state=give, set_state=take, merge_states=merge)

    @property
    def gives_state(self) -> bool:
        return self.get_state is not None

    @property
    def takes_state(self) -> bool:
        return self.set_state is not None


class MembershipHost(EnteredHost, Protocol):
    """The part of the host that a membership uses. All but `lock` and `on_defect` is called with the lock held."""

    lock: StepLock

    def add_session(self, membership: Membership, machine: GroupMachine) -> Session: ...

    def renew_process(self) -> Process: ...

    def reschedule(self, session: Session) -> None: ...

    def raise_if_silent(self, group: str) -> object: ...

    def on_defect(self) -> None: ...


class Membership:
    """A process's membership. Guarded by the host's lock; `queued` may be popped without it.

    `session` is the one that is in the group, or was last; `following` is on its way in after it.
    """

    session: Session
    following: Session | None

    def __init__(self, host: MembershipHost, uses: Uses) -> None:
        self.queue: DeliveryQueue[Own] = DeliveryQueue()
        self.queued = self.queue.queued
        self.changed = host.lock.condition()  # an arrival, room to send, a view, the end
        self.uses = uses.called_outside()
        self.state_failure = ""  # how the application's set_state failed
        self.unread = False  # it left since the application read none of very many events
        self.reconciliation = StateReconciliation()  # of the session before, until it is merged in this one
        self.listened_by: int | None = None  # the thread that calls back for events
        self.direct_listener: DirectListener | None = None
        self.read_by: int | None = None  # the thread that has read last
        self.following = None
        self.may_send_by: object = None  # the rules by which this process was found to have the right to send
        self.recorder: TraceRecorder | None = None  # while somebody watches
        self.call_server = CallServer(host.lock, host.on_defect)  # the application's handler stays what it is
        if uses.on_call:
            self.call_server.handler = uses.on_call
        self._entered: deque[Session] = deque()  # sessions whose Entered the application has not read
        self._host = host
        self.host: EnteredHost = host  # as calls of the application see it

    @property
    def receives(self) -> bool:
        """Tell whether the application reads what is delivered; else it is dropped."""
        return self.uses.receive

    def raise_if_silent(self) -> None:
        """Raise NotPermitted where the registry's rules let this process not send."""
        self.may_send_by = self._host.raise_if_silent(self.session.machine.group)

    @property
    def shown(self) -> bool:
        """Tell whether it has a view to show: the one it is in, or on its way back the last one."""
        out = self.session.ended is not None and self.following is None
        return not out and self.session.machine.view is not None

    def watch(self, buffer: TraceBuffer) -> None:
        """Tell a watch of each run that is delivered from now on. Holds the lock."""
        self.recorder = self.recorder or TraceRecorder(self.session.machine)
        self.recorder.buffers.append(buffer)

    def unwatch(self, buffer: TraceBuffer) -> None:
        """Tell a watch nothing more; without any, nothing is recorded. Holds the lock."""
        if self.recorder and buffer in self.recorder.buffers:
            self.recorder.buffers.remove(buffer)
            # A recorder without buffers would still cost every message:
            # None is what the session's path of delivery asks for.
            self.recorder = self.recorder if self.recorder.buffers else None

    def begin(self, machine: GroupMachine) -> Session:
        """Enter for the first time."""
        self.session = self._host.add_session(self, machine)
        self._start(self.session)
        return self.session

    def _start(self, session: Session) -> None:
        session.step(events.Start())
        self._host.reschedule(session)

    @property
    def over(self) -> Ended | None:
        """The end that is for good; None while in the group, or on the way back."""
        return self.following.ended if self.following else self.session.ended

    def on_ended(self, session: Session, ended: Ended) -> None:
        """Tell the application that a session is over, and come back if it may."""
        # 1. The group puts this process out. 2. Before that is known here, the
        # application leaves. 3. The end that arrives says "expelled", but the
        # application has what it wanted: coming back would undo its leave.
        asked_for = ended.reason not in RETURNS or session.leaving
        # An application that reads nothing does not come back: each session would add notices to a queue that is at its
        # bound.
        returning = self.uses.rejoin and not asked_for and len(self.queued) < queue_items.NOTICES_MAX
        # By a succession it did not lose the group. So it goes on there even if the application is about to leave: only
        # a member of the successor can leave it.
        returning |= ended.reason == "succession"
        session.has_left = session.leaving and not returning and ended.reason in RETURNS
        # Without a reader only the last end is kept: those before it would pile up.
        if self.uses.receive or not returning:
            self.queue.end(Gone(ended, returning), goes_on=ended.reason == "succession")
        if returning:
            self._enter_again(session)
        else:
            self.call_server.close()

    def on_failed(self, session: Session, final: bool) -> None:
        """Try again under yet another identity when a session did not get in, unless that is in vain."""
        # It was given up meanwhile, by a leave: what becomes of it concerns nobody.
        if session is not self.following:
            return
        if not final:
            self._enter_again(session)
            return
        self.following = None
        # It could not begin as there is no group any more, or as its name is another's.
        reason = "dissolved" if isinstance(session.failure, Dissolved) else "taken"
        ended = Ended(self.session.ended.view if self.session.ended else 0, reason)
        # Over its first end, which said that it would be back: whoever asks now is told why it will not.
        self.session.ended = ended
        self.queued.append(Gone(ended, returning=False))
        self.call_server.close()
        self.changed.notify_all()

    def on_log_stopped(self, session: Session, reason: str) -> None:
        """Tell the application once that a session's delivery log takes no more."""
        if not session.log_stopped and self.uses.receive and session.ended is None:
            session.log_stopped = True
            self.queue.tell(LogStopped(session.machine.process, reason))
            self.changed.notify_all()

    def _enter_again(self, former: Session) -> None:
        """Come back as another process; or as the same one, in the instance that succeeds its own."""
        # As another incarnation, so that whatever the group still says of the former one can never mean this one
        # (ARCHITECTURE 4). In a successor it goes on as it is: its own messages there have its name.
        succeeded = former.machine.succeeded is not None
        process = former.machine.process if succeeded else self._host.renew_process()
        self.following = following = self._host.add_session(self, former.machine.again(process))
        if succeeded:
            # The state that the application has not yet read may have come before; and one that leaves goes on leaving.
            following.state.awaited, following.state.since_ms = former.state.awaited, former.state.since_ms
            following.leaving = former.leaving
        self._start(following)
        if succeeded:
            # The application was told by `send` that these are on their way, and it is the same process that goes on.
            for payload in former.take_unsent():
                following.put(payload)

    def on_entered(self, session: Session) -> None:
        """Go over to a session that has its first view."""
        if session is self.following:
            self.session, self.following = session, None
            if self.uses.receive:
                view = session.machine.view
                self._entered.append(session)
                self.queue.begin(Entered(view is not None and view.members == (session.machine.process,)))

    def next_session(self) -> Session:
        """Return the session whose Entered has just been read."""
        return self._entered.popleft()

    # leaving

    def leave(self, timeout_s: float) -> None:
        """Leave, with all that was sent, as far as the time allows (`Group.leave`). Takes the lock."""
        # The reader, if its thread lives: between two events nothing tells a loop that goes on from one that does not,
        # and the time of the leave is a bound.
        lives = any(self.read_by == thread.ident for thread in enumerate_threads())
        with self._host.lock:
            run(self.leaving(timeout_s, reads_on=lives and self.read_by not in (None, get_ident())))

    async def leaving(self, timeout_s: float, reads_on: bool) -> None:
        """Do what `leave` does; holds the lock.

        `reads_on`: another one than the caller comes to a barrier at which a joiner is given this member's state.
        """
        deadline = monotonic() + timeout_s
        if self.give_up():
            return
        session = None
        # A second call waits like the first, but says nothing a second time of what was never sent.
        again = self.session.leaving or self.session.ended is not None
        # 1. The application leaves. 2. Before that is decided, a succession takes the process over into another
        # instance. 3. Whoever is told that it has left must not be a member there.
        while session is not self.session:
            session = self.session
            await self._leave(session, deadline, timeout_s, reads_on)
        if session.unnumbered and not again:
            process, unsent = session.machine.process, session.unnumbered
            logger.warning("{} left with {} messages that were never sent", process, unsent)

    async def _leave(self, session: Session, deadline: float, timeout_s: float, reads_on: bool) -> None:
        # First of all: from here on `send` raises, or a busy
        # application would keep its process in for ever.
        session.begin_leaving()
        # A member whose window is full may wait for a reader that never reads. Some of the time is kept for the
        # view change, without which the others would have to suspect this process first.
        unsent_until = deadline - min(LEAVE_S, timeout_s / 2)
        with session.awaiting_acks():
            while session.has_unsent:
                # By its end what is unsent stays so, or went on to another session.
                if session.ended or not await session.wait_for_change(unsent_until):
                    break
        if session.machine.stage is Stage.MEMBER and not session.ended:
            session.step(events.Leave(reads_on=reads_on))
        while not session.ended and await session.wait_for_change(unsent_until):
            pass
        if session.machine.stage is Stage.MEMBER and not session.ended:
            session.step(events.Leave(at_once=True))  # though a joiner may be given its state
        # Its end comes with the view without it, once the others have all
        # that it sent: a connection that is closed at once would lose that.
        while not session.ended and await session.wait_for_change(deadline):
            pass
        # The time is over and no view without it has come: it goes, and the others find out by suspecting it.
        if not session.ended:
            session.step(events.Exit())

    def give_up(self) -> bool:
        """Leave while on the way back; return whether it was."""
        following, self.following = self.following, None
        if following is None:
            return False
        following.step(events.Exit())
        assert self.session.ended is not None, "only who is out is on its way back"
        if self.queued and isinstance(last := self.queued[-1], Gone):  # not read yet: it says all
            self.queued[-1] = Gone(last.ended, returning=False)
        else:
            self.queued.append(Gone(Ended(self.session.ended.view, "request"), returning=False))
        # The earlier end said that it would come back. Whoever asks
        # after this is to hear that the application wanted to go.
        self.session.ended = replace(self.session.ended, reason="request")
        self.session.leaving = True
        self.call_server.close()
        self.changed.notify_all()
        return True

    def fail_state(self, text: str) -> None:
        """Leave since the application could not take its state: it is handed nothing more but the end."""
        self.state_failure = text
        if self.give_up() or self.session.ended is not None:
            last = self.queued.pop()
            self.queued.clear()
            self.queued.append(last)
            self._entered.clear()  # in step with the queued: each Entered among them has one session here
            return
        self.queue.shut()
        self._entered.clear()
        self.session.leaving = True
        self.session.step(events.Leave(at_once=True))
        self.changed.notify_all()
