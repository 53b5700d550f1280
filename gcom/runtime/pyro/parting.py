"""Last words to a peer that is refused, and the peer's way to hear them.

1. The peer's handshake ends before ours (TLS 1.3), so it has sent its introduction when we refuse it. 2. To close a
connection with bytes unread resets it. 3. A reset overtakes what was said before. 4. The peer tells its user of a
broken connection, and not why. So the side that refuses says its words, says no more, and reads until the peer has
ended as well, within bounds; and the side that is refused reads what there is when it can no longer write.
"""

from __future__ import annotations

import os
import select
import socket
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from time import monotonic

from loguru import logger
from Pyro5 import protocol

from gcom.runtime.pyro.tls import PeerSocket, place_of_peer
from gcom.runtime.pyro.wire import NOT_TRUSTED, RefusedMessage, WireMessage, pack, read, write

LEAVE_BYTES_MAX = 4 * 1024 * 1024  # so much of what a peer still sends is read at most: a few of its messages
REPORT_S = 10.0  # refusals are told at most this often
REVOKED = f"{NOT_TRUSTED}your certificate is revoked: ask the operator"


class Refusals:
    """Counts of what was refused, logged now and then in our words alone: a peer's text never reaches the log."""

    def __init__(self) -> None:
        self.observer: Callable[[str, str, str], None] | None = None  # called with reason, peer's place and names
        self.counts: Counter[str] = Counter()
        self._told: Counter[str] = Counter()
        self._told_at = -REPORT_S
        self._lock = threading.Lock()

    def add(self, reason: str, sock: PeerSocket | None = None) -> None:
        if self.observer is not None and sock is not None:
            self.observer(reason, place_of_peer(sock), str(getattr(sock, "peer", "")))
        with self._lock:
            self.counts[reason] += 1
            now = monotonic()
            if now - self._told_at < REPORT_S:
                return
            fresh, self._told, self._told_at = self.counts - self._told, self.counts.copy(), now
        # Not under the lock: a log that is slow to write would hold every worker that refuses a peer meanwhile.
        words = ", ".join(f"{count} {reason}" for reason, count in sorted(fresh.items()))
        logger.warning("refused from the network since the last report: {}", words)


def refuse(sock: PeerSocket, words: str, limit_s: float, seq: int = 0) -> None:
    """Say why a peer is not served, and wait until it has heard that, or has had time to. Never raises OSError."""
    with suppress(OSError):
        sock.settimeout(limit_s)
        write(sock, protocol.MSG_CONNECTFAIL, 0, seq, pack(words))
    take_leave(sock, limit_s)


def take_leave(sock: PeerSocket, limit_s: float) -> None:
    """Say no more, and read until the peer has ended, too. Never raises OSError, nor waits longer than the limit."""
    deadline, left = monotonic() + limit_s, LEAVE_BYTES_MAX
    with suppress(OSError):
        sock.shutdown(socket.SHUT_WR)
        waiting = select.poll()
        waiting.register(sock.fileno(), select.POLLIN)
        while left > 0 and waiting.poll(max(0.0, deadline - monotonic()) * 1000):
            data = os.read(sock.fileno(), 65536)  # bytes of TLS are as good: nobody looks at them
            if not data:
                return
            left -= len(data)


def put(sock: PeerSocket, kind: int, seq: int, body: bytes, deadline: float) -> WireMessage | None:
    """Write a message; return the peer's last words if it has refused us meanwhile. Raises OSError if it said none."""
    try:
        write(sock, kind, 0, seq, body)
    except ConnectionError:
        with suppress(EOFError, OSError, RefusedMessage):
            return read(sock, deadline)
        raise
    return None
