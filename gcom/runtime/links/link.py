"""The connection to one peer address, with several frames under way (ARCHITECTURE 3, decision 0010).

Frames are taken under the host's lock and written after it, by the thread whose step made them due; the host's reader
takes the answers. Only to dial, which may take long, a link has a thread of its own for that time; so it has where
faults are put into calls on purpose, and then one call is under way at a time. A link takes turns between the groups
that this process shares with the peer's.
"""

from __future__ import annotations

from collections import deque
from itertools import zip_longest
from threading import Lock, Thread
from time import monotonic
from typing import Protocol

from gcom.core.codec import frames as codec
from gcom.core.messages.events import CallFailed, Replied
from gcom.core.messages.frames import Frame, Reply, supersedes
from gcom.errors import PeerError, Unavailable, Untrusted, VersionMismatch
from gcom.runtime import pyro
from gcom.runtime.links.taken import TakenFrame, is_unawaited, refused
from gcom.runtime.security.process import Security
from gcom.runtime.session import Session
from gcom.runtime.step_lock import StepLock
from gcom.runtime.user_process.entry import own
from gcom.runtime.user_process.life import is_dead
from gcom.values import limits, names
from gcom.values.names import Address, Process

CALL_TIMEOUT_S = 2.5  # longer than SILENCE_MS: a paused peer is suspected before its call is given up
CALL_TIMEOUT_MS = int(CALL_TIMEOUT_S * 1000)
OVERDUE_MS = 10  # a heartbeat that waits for an answer to something else is tried again so soon


class LinkReader(Protocol):
    """The part of the reader that a link uses. Any thread may call it."""

    def add(self, owner: Link, pipeline: pyro.Pipeline) -> None: ...

    def drop(self, pipeline: pyro.Pipeline) -> None: ...

    def await_writable(self, owner: Link, pipeline: pyro.Pipeline) -> None: ...

    def reschedule(self) -> None: ...

    def end_rest(self) -> None: ...

    @property
    def coalesced(self) -> bool: ...


class LinkHost(Protocol):
    """The part of the host that a link uses. `on_defect` and `call` are called without the lock."""

    lock: StepLock
    credentials: Security
    has_faults: bool

    @property
    def reader(self) -> LinkReader: ...

    def now_ms(self) -> int: ...

    def forget(self, link: Link) -> None: ...

    def call(self, caller: pyro.Caller, peer: str, data: bytes, timeout_s: float) -> bytes: ...

    def check_reply(self, reply: Reply) -> None: ...

    def count_misbehaviour(self, peer: Process, error: PeerError) -> None: ...

    def on_defect(self) -> None: ...


class Link:
    """The connection that serves a member at one address until it is none there. Guarded by the host's lock.

    A node has one name, so there is one for each peer's node; who claims another's address has a link of its own.
    `_to_write` are frames for the pipeline that are not written, `_unanswered` all that were given to it.
    """

    def __init__(self, host: LinkHost, address: Address, member: str) -> None:
        self.address = address
        self.member = member
        self.round_trip_s: float | None = None  # smoothed as TCP does (RFC 6298)
        self._host = host
        self._turns: dict[tuple[Session, Process], None] = {}
        self._due: dict[tuple[Session, Process], None] = {}  # turns that may have something to put
        self._caller = pyro.Caller(address, pyro.NODE, host.credentials, member)
        self._pipeline: pyro.Pipeline | None = None
        self._last_immediate_redial_ms = -limits.HEARTBEAT_MS  # of a connection that had ended
        # Each with its connection. 1. It breaks under a writer. 2. Another is dialled, and frames are taken for that.
        # 3. On the broken one they would be lost, and answers over the other be taken for those of frames before.
        self._to_write: deque[tuple[pyro.Pipeline, TakenFrame]] = deque()
        self._unanswered: deque[TakenFrame] = deque()
        self._last_liveness_relay: tuple[tuple[Process, Process], int] = ("", ""), 0  # the pair of processes, and when
        self._next_tick_ms = 0  # before it nothing is due by time
        self._timer_slack_ms = 0  # so late may the reader look at what is due
        self._writing = Lock()  # by one thread at a time, in the order in which frames were taken
        self._call_thread: Thread | None = None  # dials, or makes calls one by one; nothing else is written meanwhile
        self._certified = isinstance(host.credentials, pyro.Credentials)
        self._closed = False

    def serve(self, session: Session, peer: Process) -> None:
        """Take turns for this peer, too, and look for what to put. Holds the lock."""
        turn = session, peer
        self._turns[turn] = self._due[turn] = None
        self._next_tick_ms = 0
        self._host.lock.write_on_release(self)

    def tick(self) -> bool:
        """Find what became due by time alone; tell whether it was looked for. Holds the lock."""
        now_ms = self._host.now_ms()
        if now_ms < self._next_tick_ms:
            return False
        # No others: to ask a machine in vain costs more. Where a peer is none any more its turn is found to be over.
        due = self._due_by(now_ms)
        if not due:
            return True
        # One group's heartbeat is due: those of the others that are soon due go with it, from now on each time. Their
        # frames are read by one wake of the peer's worker, and their answers by one of this node's reader.
        if len(due) < len(self._turns):
            for session, peer in self._turns:
                session.machine.bring_forward(peer, now_ms)
            due = self._due_by(now_ms)
        # Of groups that have nothing new to say one speaks for all: that both processes live. Each has an exchange of
        # its own after OWN_EXCHANGE_MS. While there is no connection each speaks for itself: all must know it.
        spoken_for: set[tuple[Process, Process]] = set()
        for (session, peer), due_ms in due.items():
            pair, beats = (session.machine.process, peer), session.machine.heartbeats
            session.tell_read()
            if pair not in spoken_for or beats is None or not beats.put_off(peer, now_ms):
                self._due[session, peer] = None
            if self._pipeline and due_ms is not None and beats and beats.shows_life(peer):
                spoken_for.add(pair)
        self._host.lock.write_on_release(self)
        return True

    def heard(self, session: Session, peer: Process) -> None:
        """Tell the other groups that a process was heard in this one: it lives, in each. Holds the lock."""
        now_ms, process = self._host.now_ms(), session.machine.process
        pair, told_ms = self._last_liveness_relay
        # Of a flood the first of many frames says it.
        if len(self._turns) == 1 or (pair == (process, peer) and now_ms < told_ms + limits.HEARTBEATS_TOGETHER_MS):
            return
        self._last_liveness_relay = (process, peer), now_ms
        for other, known in list(self._turns):
            shared = known == peer and other.machine.process == process and other is not session
            if shared and (beats := other.machine.heartbeats) is not None:
                other.tell_read()
                beats.heard(peer, now_ms)

    def _due_by(self, now_ms: int) -> dict[tuple[Session, Process], int | None]:
        return {turn: due_ms for turn, due_ms in self._dues() if due_ms is None or due_ms <= now_ms}

    def _dues(self) -> list[tuple[tuple[Session, Process], int | None]]:
        return [(turn, turn[0].machine.due_ms(turn[1])) for turn in self._turns]

    def close(self) -> None:
        """Put nothing more, and end a call in progress. Holds the lock."""
        self._closed = True
        self._caller.close()
        if self._pipeline is not None:
            self._pipeline.close()

    def join(self, timeout_s: float) -> None:
        if self._call_thread is not None:
            self._call_thread.join(timeout_s)

    # what there is to put

    def prepare_writes(self) -> bool:
        if self._certified and self._pipeline is not None and self._caller.is_revoked(self._pipeline.connection):
            self._pipeline.close()  # the reader finds its end, and the next dial is refused
            return False
        while self._due and not self._closed and self._call_thread is None:
            # With faults, what was put without them is answered first.
            if self._host.has_faults and self._unanswered:
                break
            taken = self._take()
            if taken is None:
                break
            # To dial may take seconds, and the lock is held here.
            # With faults, delays are put into a call on purpose.
            if self._pipeline is None or self._host.has_faults:
                if not self._begin_calls(taken):
                    continue
                break
            self._put(self._pipeline, taken)
        if not self._turns and not self._unanswered and self._call_thread is None and not self._closed:
            # Under the lock: the next session that needs this address makes a new link, and never finds this.
            self._host.forget(self)
            self._drop_pipeline()
            self.close()
        return bool(self._to_write)

    def _begin_calls(self, taken: TakenFrame) -> bool:
        """Start the thread that dials, or calls with faults; return False where there is none to be had now."""
        name = f"gcom dial {self.address}"
        thread = self._call_thread = Thread(target=own(self._make_calls), args=(taken,), name=name, daemon=True)
        try:
            thread.start()
        except RuntimeError:
            # As a call that broke: the machine tries again in a while.
            self._call_thread = None
            taken.session.step(CallFailed(taken.peer, refused=False))
            return False
        return True

    def _put(self, pipeline: pyro.Pipeline, taken: TakenFrame) -> None:
        self._unanswered.append(taken)
        if not taken.unawaited:
            self._host.reader.end_rest()
        self._to_write.append((pipeline, taken))

    def _take(self) -> TakenFrame | None:
        while self._due:
            # One that has more is woken again, and goes to the end: a busy group starves no quiet one.
            turn = session, peer = next(iter(self._due))
            del self._due[turn]
            # The peer is none of the machine's any more, or another life of its name is at another address.
            if session.machine.address_of(peer) != self.address:
                self._turns.pop(turn, None)
                continue
            frame = session.take(peer)
            if frame is not None:
                return TakenFrame(session, peer, frame, monotonic(), is_unawaited(session.machine, frame))
            if self._unanswered and session.machine.data_waits(peer):
                self._host.reader.end_rest()
        return None

    def next_ms(self, now_ms: int) -> int | None:
        """Return when `tick` is due next; None: not before something happens. Holds the lock."""
        if self._next_tick_ms <= now_ms:
            # Sooner nothing is due without `serve` or an answer: what comes from the peer puts a heartbeat off.
            dues = [due for _, due in self._dues() if due is not None]
            self._next_tick_ms = max(min(dues), now_ms + OVERDUE_MS) if dues else now_ms + limits.HEARTBEAT_MS
            # One turn will do: the names of two nodes differ, and decide it.
            session, peer = next(iter(self._turns), (None, ""))
            calls = session is not None and session.machine.process > peer
            self._timer_slack_ms = limits.CALLER_LATE_MS if calls else limits.CALLEE_LATE_MS
        if self._call_thread is not None:
            return None
        if not self._unanswered:
            # What is due soon goes in time: there is hardly a tick before it with which it could go.
            return self._next_tick_ms + (
                self._timer_slack_ms if self._next_tick_ms >= now_ms + limits.CALLEE_LATE_MS else 0
            )
        return max(min(self._next_tick_ms, self._overdue_ms), now_ms + OVERDUE_MS)

    def is_overdue(self, now_ms: int) -> bool:
        """Return whether the oldest frame under way was not answered in time. Holds the lock."""
        return bool(self._unanswered) and self._overdue_ms <= now_ms

    @property
    def _overdue_ms(self) -> int:
        """When the oldest frame under way is given up."""
        return int(self._unanswered[0].taken_s * 1000) + CALL_TIMEOUT_MS

    # writing; the lock is not held

    def write(self) -> None:
        # Whoever writes sees what others took meanwhile: they need not wait for each other.
        while self._to_write and self._writing.acquire(blocking=False):
            try:
                self._write_all()
            finally:
                self._writing.release()

    def _write_all(self) -> None:
        while True:
            try:
                pipeline, taken = self._to_write.popleft()
            except IndexError:  # all is written, or was cleared just now as its connection broke
                return
            try:
                self._write_one(pipeline, taken)
            except BaseException:  # outermost: of one frame, in a thread of the application perhaps
                pipeline.close()  # a frame is missing on this connection: nothing may follow it
                raise

    def _write_one(self, pipeline: pyro.Pipeline, taken: TakenFrame) -> None:
        taken.session.log_before_frame()
        # Frames of several groups are due together: one call of the kernel for all, and one wake of the peer.
        follows = bool(self._to_write)
        # The socket's buffer is full: the reader writes the rest,
        # since a thread of the application must not wait for a peer.
        if not pipeline.put(*codec.encode_parts(taken.frame), follows=follows):
            self._host.reader.await_writable(self, pipeline)

    # reading, in the reader's thread

    @property
    def is_awaited(self) -> bool:
        """Whether an answer is waited for. Holds the lock."""
        for it in self._unanswered:
            if not it.unawaited or it.session.acks_awaited or it.session.machine.data_waits(it.peer):
                return True
        return False

    def read(self, pipeline: pyro.Pipeline) -> bool:
        """Take the answers that have come, or the end of the connection; tell whether nobody waited for them."""
        try:
            return self._answered(pipeline, [self._decoded(answer) for answer in pipeline.answers()])
        except pyro.ConnectionLost:
            self.fail(pipeline)
        except PeerError as error:
            self._misbehaved(pipeline, error)
        return False

    def _answered(self, pipeline: pyro.Pipeline, replies: list[Reply | VersionMismatch]) -> bool:
        sessions: dict[Session, None] = {}
        unawaited, superseded = True, 0
        with self._host.lock:
            for reply, later in zip_longest(replies, replies[1:]):
                # Answers of a connection that was given up: what they
                # answer has been put again, and would be counted twice.
                if pipeline is not self._pipeline or not self._unanswered:
                    return False
                session, peer, _, taken_s, was_unawaited = self._unanswered.popleft()
                unawaited = unawaited and was_unawaited
                if not self._host.reader.coalesced:
                    self._measure(taken_s)
                reply = refused(peer, reply) if isinstance(reply, VersionMismatch) else reply
                # A step costs more than all else of an answer.
                same = bool(self._unanswered) and self._unanswered[0].session is session
                if same and isinstance(later, Frame) and supersedes(later, reply):
                    superseded += 1
                    continue
                session.step(Replied(peer, reply, superseded + 1))
                if isinstance(reply, Frame):
                    self.heard(session, peer)
                sessions[session], superseded = None, 0
            for session in sessions:
                session.reschedule()
            self._next_tick_ms = 0  # the next heartbeat counts from the answer, and HEARTBEAT_LEAD_MS decide who calls
            if self._due or not self._turns:
                self._host.lock.write_on_release(self)
        return unawaited

    def _measure(self, taken_s: float) -> None:
        """Take the time that a frame was under way into the round trip."""
        took_s, before_s = monotonic() - taken_s, self.round_trip_s
        self.round_trip_s = took_s if before_s is None else before_s + (took_s - before_s) / 8

    def _misbehaved(self, pipeline: pyro.Pipeline, error: PeerError) -> None:
        with self._host.lock:
            # Of the oldest: answers come in the order of the calls.
            peers = [taken.peer for taken in self._unanswered][:1]
        for peer in peers:
            self._host.count_misbehaviour(peer, error)
        self.fail(pipeline, proof=False)  # it answers, so it lives

    def give_up(self) -> None:
        """End a connection over which an answer has not come in time."""
        pipeline = self._pipeline
        if pipeline is not None:
            self.fail(pipeline)

    def fail(self, pipeline: pyro.Pipeline, proof: bool = True) -> None:
        """End a connection: of all that is unanswered nobody knows the fate. One that was idle fails nothing.

        But its peer may have crashed: the heartbeat goes at once, and its call says so.
        """
        # The kernel is asked for a proof only after a failure: a peer that answers is not dead.
        dead = proof and bool(self._unanswered) and is_dead(self.address)
        with self._host.lock:
            # Somebody else was faster: of two threads that see one
            # connection end, only the first may tell the sessions.
            if pipeline is not self._pipeline:
                return
            self._drop_pipeline()
            unanswered, self._unanswered = self._unanswered, deque()
            # Never written, but nobody can say so of the one that was
            # being written as the connection broke: all count as unknown.
            self._to_write.clear()
            # Once for each: at one event the machine goes back to what the peer is known to hold.
            for session, peer in dict.fromkeys((taken.session, taken.peer) for taken in unanswered):
                session.step(CallFailed(peer, refused=False, dead=dead))
                session.reschedule()
            self._call_at_once()
            self._due.update(self._turns)
            self._host.lock.write_on_release(self)

    def _call_at_once(self) -> None:
        """Have the heartbeats of all groups go at once: the peer may be gone, of which a call says more."""
        now_ms = self._host.now_ms()
        # Not again and again: of a peer at its bound of connections each redial would end another idle one.
        if now_ms - self._last_immediate_redial_ms >= limits.HEARTBEAT_MS:
            self._last_immediate_redial_ms = now_ms
            for session, peer in self._turns:
                session.machine.bring_forward(peer, now_ms, limits.REST_MS)

    def _drop_pipeline(self) -> None:
        pipeline, self._pipeline = self._pipeline, None
        if pipeline is not None:
            self._host.reader.drop(pipeline)
            pipeline.close()

    # dialling, and calls one by one; in a thread of its own for so long

    def _make_calls(self, taken: TakenFrame | None) -> None:
        try:
            while taken is not None:
                taken = self._call(taken) if self._host.has_faults else self._dial(taken)
        except Exception:  # outermost: of this thread; without it a defect would only show as silence
            self._host.on_defect()
            raise

    def _dial(self, taken: TakenFrame) -> TakenFrame | None:
        """Make a connection for a frame that waits, and leave it to the reader; return a frame to go on with."""
        try:
            pipeline = pyro.Pipeline(self._caller.connect(CALL_TIMEOUT_S), pyro.NODE)
        except (Unavailable, PeerError) as error:
            return self._end_call(taken, self._failure(taken.peer, error))
        with self._host.lock:
            self._call_thread = None
            if self._closed:
                # `close` found no pipeline to end: this one was made after it.
                pipeline.release()
                return None
            self._pipeline = pipeline
            self._put(pipeline, taken)
            self._host.reader.add(self, pipeline)
            self._host.lock.write_on_release(self)
        return None

    def _call(self, taken: TakenFrame) -> TakenFrame | None:
        """Make one call, with faults; return the next frame to call with."""
        session, peer, frame, taken_s, _ = taken
        session.log_before_frame()
        event: Replied | CallFailed
        try:
            answer = self._host.call(self._caller, peer, codec.encode(frame), CALL_TIMEOUT_S)
            self._measure(taken_s)
            event = Replied(peer, self._checked(codec.decode_reply(answer)))
        except VersionMismatch as error:
            event = Replied(peer, refused(peer, error))
        except (Unavailable, PeerError) as error:
            event = self._failure(peer, error)
        return self._end_call(taken, event)

    def _decoded(self, answer: bytes) -> Reply | VersionMismatch:
        """Return a reply, or that it is in another version's words; raises MalformedFrame, Untrusted."""
        try:
            return self._checked(codec.decode_reply(answer))
        except VersionMismatch as error:
            return error

    def _checked(self, reply: Reply) -> Reply:
        """Return a reply that may be of this link's member; raises Untrusted for another's."""
        if isinstance(reply, Frame) and names.name_of(reply.source) != self.member:
            raise Untrusted(f"{self.address} answered for {reply.source}, and not for {self.member}")
        self._host.check_reply(reply)
        return reply

    def _failure(self, peer: Process, error: Exception) -> CallFailed:
        if isinstance(error, PeerError):
            self._host.count_misbehaviour(peer, error)
            return CallFailed(peer, refused=False)
        return CallFailed(peer, refused=isinstance(error, pyro.ConnectionRefused), dead=is_dead(self.address))

    def _end_call(self, taken: TakenFrame, event: Replied | CallFailed) -> TakenFrame | None:
        """Step the session with the end of a call; return the next frame, which this thread calls with, too."""
        with self._host.lock:
            taken.session.step(event)
            taken.session.reschedule()
            # Other groups' heartbeats may wait for this one.
            if isinstance(event, CallFailed):
                self._call_at_once()
                self._next_tick_ms = 0
            elif isinstance(event.reply, Frame):
                self.heard(taken.session, taken.peer)
            following = None if self._closed else self._take()
            if following is None:
                self._call_thread = None
                self._host.lock.write_on_release(self)
                self._host.reader.reschedule()
        return following
