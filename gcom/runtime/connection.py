"""One sender thread per peer address, with one persistent connection (ARCHITECTURE 3).

The next frame forms while the last call is in flight, so batching needs no timer. The thread takes turns between the
groups that this process shares with the peer's.
"""

from __future__ import annotations

from collections import deque
from threading import Condition, Lock, Thread
from time import monotonic
from typing import Protocol

from gcom.core.codec import frames as codec
from gcom.core.messages.events import CallFailed, Replied
from gcom.core.messages.frames import Frame, Refused, Reply
from gcom.errors import PeerError, Untrusted, VersionMismatch
from gcom.runtime import pyro
from gcom.runtime.life import is_dead
from gcom.runtime.security.process import Security
from gcom.runtime.session import Session
from gcom.values import names
from gcom.values.names import Address, Process

CALL_TIMEOUT_S = 2.5  # longer than SILENCE_MS: a paused peer is suspected before its call is given up
IDLE_WAIT_S = 1.0  # a thread with nothing to wait for looks again


class LinkHost(Protocol):
    """The part of the host that a link uses. `on_defect` and `call` are called without the lock."""

    lock: Lock
    waiting_links: int
    credentials: Security

    def now_ms(self) -> int: ...

    def forget(self, link: Link) -> None: ...

    def call(self, caller: pyro.Caller, peer: str, data: bytes, timeout_s: float) -> bytes: ...

    def check_reply(self, reply: Reply) -> None: ...

    def count_misbehaviour(self, peer: Process, error: PeerError) -> None: ...

    def on_defect(self) -> None: ...


class Link:
    """The connection that serves a member at one address until it is none there. Guarded by the host's lock.

    A node has one name, so there is one for each peer's node; who claims another's address has a link of its own.
    """

    def __init__(self, host: LinkHost, address: Address, member: str) -> None:
        self.address = address
        self.member = member
        self.waiting = False
        self.round_trip_s: float | None = None  # smoothed as TCP does (RFC 6298)
        self._host = host
        self._turns: deque[tuple[Session, Process]] = deque()
        self._ready = Condition(host.lock)
        self._caller = pyro.Caller(address, pyro.NODE, host.credentials, member)
        self._closed = False
        self._thread = Thread(target=self._run, name=f"gcom link {address}", daemon=True)
        self._thread.start()

    def serve(self, session: Session, peer: Process) -> None:
        """Take turns for this peer, too, and wake up. Holds the lock."""
        if (session, peer) not in self._turns:
            self._turns.append((session, peer))
        if self.waiting:
            self._ready.notify()

    def wake(self) -> None:
        """Have the thread look again: something may be due. Holds the lock."""
        if self.waiting:
            self._ready.notify()

    def close(self) -> None:
        """End the thread, and a call in progress. Holds the lock."""
        self._closed = True
        self._ready.notify_all()
        self._caller.close()

    def join(self, timeout_s: float) -> None:
        self._thread.join(timeout_s)

    def _run(self) -> None:
        try:
            while (taken := self._next()) is not None:
                self._put(*taken)
        except Exception:  # outermost: of this thread; without it a defect would only show as silence
            self._host.on_defect()
            raise
        finally:
            self._caller.close()

    def _next(self) -> tuple[Session, Process, Frame] | None:
        """Wait for a frame to put; return None when this link is over."""
        with self._host.lock:
            while not self._closed:
                taken = self._take()
                if taken is not None:
                    return taken
                if not self._turns:
                    # Under the lock: the next session that needs this address makes a new link, and never finds this.
                    self._host.forget(self)
                    return None
                self.waiting = True
                self._host.waiting_links += 1
                self._ready.wait(self._patience_s())
                self._host.waiting_links -= 1
                self.waiting = False
        return None

    def _take(self) -> tuple[Session, Process, Frame] | None:
        for _ in range(len(self._turns)):
            session, peer = self._turns[0]
            self._turns.rotate(-1)  # the served group goes to the end: a busy group starves no quiet one
            if session.machine.address_of(peer) != self.address:
                self._turns.remove((session, peer))
                continue
            frame = session.take(peer)
            if frame is not None:
                return session, peer, frame
        return None

    def _patience_s(self) -> float:
        dues = [session.machine.due_ms(peer) for session, peer in self._turns]
        times = [due for due in dues if due is not None]
        if not times:
            return IDLE_WAIT_S
        return max(0.001, (min(times) - self._host.now_ms()) / 1000)

    def _put(self, session: Session, peer: Process, frame: Frame) -> None:
        """Call the peer; every end of the call, a failure too, is an event."""
        session.log_before_frame()
        event: Replied | CallFailed
        try:
            data = codec.encode(frame)
            began = monotonic()
            answer = self._host.call(self._caller, peer, data, CALL_TIMEOUT_S)
            took_s, before_s = monotonic() - began, self.round_trip_s
            self.round_trip_s = took_s if before_s is None else before_s + (took_s - before_s) / 8
            event = Replied(peer, self._checked(codec.decode_reply(answer)))
        # The kernel is asked for a proof only after a failure: a peer that answers is not dead.
        except pyro.ConnectionRefused:
            event = CallFailed(peer, refused=True, dead=is_dead(self.address))
        except (pyro.ConnectionLost, pyro.TimedOut):
            event = CallFailed(peer, refused=False, dead=is_dead(self.address))
        except VersionMismatch as error:  # its answer, a refusal most likely, is not for us to read
            event = Replied(peer, Refused("version", f"{peer}: {error}"))
        except PeerError as error:
            self._host.count_misbehaviour(peer, error)
            event = CallFailed(peer, refused=False)
        session.handle(event)

    def _checked(self, reply: Reply) -> Reply:
        """Return a reply that may be of this link's member; raises Untrusted for another's."""
        if isinstance(reply, Frame) and names.name_of(reply.source) != self.member:
            raise Untrusted(f"{self.address} answered for {reply.source}, and not for {self.member}")
        self._host.check_reply(reply)
        return reply
