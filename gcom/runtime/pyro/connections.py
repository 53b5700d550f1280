"""The connections of a server: a worker serves each, so their number has a bound, and idle ones are ended.

At the bound the longest idle connection gives way to a new one: so a peer that holds many without a word locks nobody
out, and callers find out before their next request that theirs is closed (`Caller`). One that is being served never
ends here: its peer would not know whether its request was carried out.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from threading import Condition, Lock
from time import monotonic
from typing import Protocol

from gcom.runtime.pyro.wire import shut


class Connection(Protocol):
    """A connection as Pyro5 hands it to its daemon."""

    sock: socket.socket


class ConnectionAdmission(Enum):
    """The fate of a new connection."""

    CLOSED = "closed"  # the server serves nobody any more
    REFUSED = "refused"  # all others are being served
    REPLACES = "replaces"  # admitted, and the longest idle one ended for it
    ADMITTED = "admitted"


class Connections:
    """The connections that are open. Any thread may call anything."""

    def __init__(self, most: int, idle_s: float) -> None:
        self._most = most
        self._idle_s = idle_s
        self._idle: dict[Connection, float] = {}  # and since when, the longest first; new ones say nothing yet
        self._served: set[Connection] = set()
        self._closed = False
        self._lock = Lock()
        self._fewer = Condition(self._lock)  # are being served

    def __len__(self) -> int:
        return len(self._idle) + len(self._served)

    def admit(self, conn: Connection) -> ConnectionAdmission:
        """Take in a connection that was accepted, unless there are too many."""
        with self._lock:
            if self._closed:
                return ConnectionAdmission.CLOSED
            full = len(self) >= self._most
            if full and not self._idle:
                return ConnectionAdmission.REFUSED
            if full:
                self._end(next(iter(self._idle)))
            self._idle[conn] = monotonic()
            return ConnectionAdmission.REPLACES if full else ConnectionAdmission.ADMITTED

    @contextmanager
    def serving(self, conn: Connection) -> Iterator[None]:
        """Keep a connection from being ended while a request is carried out; raises EOFError if it just was."""
        with self._lock:
            if self._idle.pop(conn, None) is None:
                raise EOFError("ended while it was idle")
            self._served.add(conn)
        try:
            yield
        finally:
            with self._lock:
                if conn in self._served:
                    self._served.remove(conn)
                    self._idle[conn] = monotonic()
                    if self._closed:
                        self._end(conn)
                    self._fewer.notify_all()

    def forget(self, conn: Connection) -> None:
        """Let go of a connection that ended."""
        with self._lock:
            self._idle.pop(conn, None)
            self._served.discard(conn)
            self._fewer.notify_all()

    def end_idle(self) -> None:
        """End the connections that have said nothing for too long."""
        with self._lock:
            since = monotonic() - self._idle_s
            for conn in [conn for conn, idle_since in self._idle.items() if idle_since <= since]:
                self._end(conn)

    def drain(self, timeout_s: float) -> bool:
        """Admit no more, and end each connection once it is not being served; return whether none is left in time."""
        with self._lock:
            self._closed = True
            for conn in list(self._idle):
                self._end(conn)
            return self._fewer.wait_for(lambda: not self._served, timeout_s)

    def close(self) -> None:
        """End all, and admit no more."""
        with self._lock:
            self._closed = True
            ending = [*self._idle, *self._served]
            self._idle.clear()
            self._served.clear()
        for conn in ending:
            shut(conn.sock)

    def _end(self, conn: Connection) -> None:
        """End an idle one; its worker closes it. Holds the lock, so that the socket is still its own."""
        del self._idle[conn]
        shut(conn.sock)
