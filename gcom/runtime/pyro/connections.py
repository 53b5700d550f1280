"""The connections of a server: a worker serves each, so their number has a bound, and idle ones are ended.

At the bound a connection gives way to a new one: the oldest that has not shown who it is, else the longest idle. So
strangers displace each other, a peer that holds many without a word locks nobody out, and callers find out before their
next request that theirs is closed (`Caller`). One that is being served never ends here: its peer would not know whether
its request was carried out. Another machine may have so many newcomers at once, and no more.
"""

from __future__ import annotations

from enum import Enum
from threading import Condition, Lock
from time import monotonic
from typing import Protocol

from gcom.runtime.pyro.wire import Stream, shut
from gcom.values import limits


class Connection(Protocol):
    """A connection as Pyro5 hands it to its daemon."""

    sock: Stream


class ConnectionAdmission(Enum):
    """The fate of a new connection."""

    CLOSED = "closed"  # the server serves nobody any more
    REFUSED = "refused"  # all others are being served
    REPLACES = "replaces"  # admitted, and the longest idle one ended for it
    ADMITTED = "admitted"


class Connections:
    """The connections that are open. Any thread may call anything."""

    def __init__(self, capacity: int, idle_s: float) -> None:
        self._capacity = capacity
        self._idle_s = idle_s
        self._new: dict[Connection, float] = {}  # have not shown who they are; since when, the oldest first
        self._host: dict[Connection, str] = {}  # of new ones from other machines
        self._idle: dict[Connection, float] = {}  # and since when, the longest first
        self._served: set[Connection] = set()
        self._closed = False
        self._mutex = Lock()  # taken twice per request, which costs less than through the condition
        self._lock = Condition(self._mutex)  # notified when the last one served is let go of, once closed

    def __len__(self) -> int:
        return len(self._new) + len(self._idle) + len(self._served)

    def admit(self, conn: Connection, host: str = "") -> ConnectionAdmission:
        """Take in a connection that was accepted, from another machine's host, unless there are too many."""
        with self._lock:
            if self._closed:
                return ConnectionAdmission.CLOSED
            # Per host: 1. One machine dials without a word, again and again. 2. By the bound on all
            # it would push out strangers of other machines that are about to show who they are.
            crowd = [other for other, found in self._host.items() if found == host] if host else []
            crowded, full = len(crowd) >= limits.NEWCOMERS_PER_HOST_MAX, len(self) >= self._capacity
            if crowded:
                self._end(crowd[0])
            elif full and not self._new and not self._idle:
                return ConnectionAdmission.REFUSED
            elif full:
                self._end(next(iter(self._new or self._idle)))
            self._new[conn] = monotonic()
            if host:
                self._host[conn] = host
            return ConnectionAdmission.REPLACES if full or crowded else ConnectionAdmission.ADMITTED

    def introduced(self, conn: Connection) -> None:
        """Note that a connection has shown who it is; raises EOFError if it was just ended."""
        with self._lock:
            if self._new.pop(conn, None) is None:
                raise EOFError("ended before it had introduced itself")
            self._host.pop(conn, None)
            self._idle[conn] = monotonic()

    def begin(self, conn: Connection) -> bool:
        """Keep a connection from being ended until `end`; raises EOFError if it just was. Returns what `end` takes."""
        with self._mutex:
            is_new = conn in self._new
            if (self._new if is_new else self._idle).pop(conn, None) is None:
                raise EOFError("ended while it was idle")
            self._served.add(conn)
            return is_new

    def end(self, conn: Connection, is_new: bool) -> None:
        """Let a connection wait again, whose request has been carried out."""
        with self._mutex:
            if conn in self._served:
                self._served.remove(conn)
                if self._closed:
                    shut(conn.sock)  # it has its answer, and nobody serves it any more
                    self._lock.notify_all()
                else:
                    # Where it came from: a request by itself shows nothing of who a newcomer is.
                    (self._new if is_new else self._idle)[conn] = monotonic()

    def forget(self, conn: Connection) -> None:
        """Let go of a connection that ended."""
        with self._lock:
            for waiting in (self._new, self._idle, self._host):
                waiting.pop(conn, None)
            self._served.discard(conn)
            self._lock.notify_all()

    def end_idle(self) -> None:
        """End the connections that have said nothing for too long."""
        with self._lock:
            since = monotonic() - self._idle_s
            for conn in [conn for conn, at in (*self._new.items(), *self._idle.items()) if at <= since]:
                self._end(conn)

    def drain(self, timeout_s: float) -> None:
        """Admit no more, end those that wait, and wait until what is being carried out is answered."""
        with self._lock:
            self._closed = True
            for conn in [*self._new, *self._idle]:
                self._end(conn)
            self._lock.wait_for(lambda: not self._served, timeout_s)

    def close(self) -> None:
        """End all, and admit no more."""
        with self._lock:
            self._closed = True
            # Shut down outside the lock: the workers that notice come back here to forget theirs.
            ending = [*self._new, *self._idle, *self._served]
            self._new.clear()
            self._host.clear()
            self._idle.clear()
            self._served.clear()
        for conn in ending:
            shut(conn.sock)

    def _end(self, conn: Connection) -> None:
        """End an idle one; its worker closes it. Holds the lock, so that the socket is still its own."""
        for waiting in (self._new, self._idle, self._host):
            waiting.pop(conn, None)
        shut(conn.sock)
