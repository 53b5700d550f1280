"""One sender thread a peer address, with one persistent connection (DESIGN 3).

The next frame forms while the last call is in flight, so batching needs no timer. The thread takes turns between the
groups that this node shares with the peer's node.
"""

from __future__ import annotations

from collections import deque
from threading import Condition, Thread
from typing import TYPE_CHECKING

from gcom.core.codec import frames as codec
from gcom.core.messages.events import CallFailed, Replied
from gcom.core.messages.frames import Frame, Refused
from gcom.errors import PeerError, VersionMismatch
from gcom.runtime import pyro
from gcom.runtime.life import is_dead
from gcom.values.names import Address, Process

if TYPE_CHECKING:
    from gcom.runtime.node import Node
    from gcom.runtime.session import Session

CALL_TIMEOUT_S = 2.5  # longer than SILENCE_MS: a paused peer is suspected before its call is given up
IDLE_WAIT_S = 1.0  # a thread with nothing to wait for looks again


class Link:
    """Serves the peers at one address until none is left. Its fields are guarded by the node's lock."""

    def __init__(self, node: Node, address: Address) -> None:
        self.address = address
        self.waiting = False
        self._node = node
        self._turns: deque[tuple[Session, Process]] = deque()
        self._ready = Condition(node.lock)
        self._caller = pyro.Caller(address, pyro.NODE)
        self._closed = False
        self._thread = Thread(target=self._run, name=f"gcom link {address}", daemon=True)
        self._thread.start()

    def serve(self, session: Session, peer: Process) -> None:
        """Take turns for this peer, too, and wake up. Holds the node's lock."""
        if (session, peer) not in self._turns:
            self._turns.append((session, peer))
        self.wake()

    def wake(self) -> None:
        """Something may be due. Holds the node's lock."""
        if self.waiting:
            self._ready.notify()

    def close(self) -> None:
        """End the thread, and a call in progress. Holds the node's lock."""
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
            self._node.on_defect()
            raise
        finally:
            self._caller.close()

    def _next(self) -> tuple[Session, Process, Frame] | None:
        """Wait for a frame to put; None: this link is over."""
        with self._node.lock:
            while not self._closed:
                taken = self._take()
                if taken is not None:
                    return taken
                if not self._turns:
                    self._node.forget(self)
                    return None
                self.waiting = True
                self._node.waiting_links += 1
                self._ready.wait(self._patience_s())
                self._node.waiting_links -= 1
                self.waiting = False
        return None

    def _take(self) -> tuple[Session, Process, Frame] | None:
        for _ in range(len(self._turns)):
            session, peer = self._turns[0]
            self._turns.rotate(-1)
            if session.machine.due_ms(peer) is None or session.machine.address_of(peer) != self.address:
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
        return max(0.001, (min(times) - self._node.now_ms()) / 1000)

    def _put(self, session: Session, peer: Process, frame: Frame) -> None:
        """Call the peer; the call's end is an event, whatever it is."""
        session.log_before_frame()
        event: Replied | CallFailed
        try:
            answer = self._node.call(self._caller, peer, codec.encode(frame), CALL_TIMEOUT_S)
            event = Replied(peer, codec.decode_reply(answer))
        except pyro.ConnectionRefused:
            event = CallFailed(peer, refused=True, dead=is_dead(self.address))
        except (pyro.ConnectionLost, pyro.TimedOut):
            event = CallFailed(peer, refused=False, dead=is_dead(self.address))
        except VersionMismatch as error:  # its answer, a refusal most likely, is not for us to read
            event = Replied(peer, Refused("version", f"{peer}: {error}"))
        except PeerError as error:
            self._node.count_misbehaviour(peer, error)
            event = CallFailed(peer, refused=False)
        session.handle(event)
