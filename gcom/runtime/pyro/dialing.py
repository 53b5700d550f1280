"""Dialling a host, by its address or its name, within a time that bounds all of it.

The system's look-up of names takes no limit, and where its name server is silent it takes many seconds. So it is done
in a thread of its own, one for each name at a time, for which a dialler waits a second at most. A failure that was long
in coming counts for as long again: a registry with such a name costs others' requests nothing meanwhile.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable
from threading import Lock, Thread
from time import monotonic
from typing import Any

from gcom.runtime.pyro.wire import remaining

RESOLVE_S = 1.0  # for a name to be found; a name server that lives takes some milliseconds
Found = list[tuple[Any, ...]]  # as `socket.getaddrinfo` has it
LookUp = Callable[[str, int], Found]


class _Search:
    """The look-up of one name, in a thread of its own."""

    def __init__(self, look_up: LookUp, host: str, port: int) -> None:
        self.began_s = monotonic()
        # No Event: a handler that raises in its `wait` could leave it taken, and then this thread would stop at `set`.
        self._running = Lock()
        self._running.acquire()
        self.is_over = False
        self.found: Found = []
        self.error: OSError | None = None
        self.failure_until_s = 0.0  # until then a failure counts for others, too
        Thread(target=self._run, args=(look_up, host, port), name="gcom names", daemon=True).start()

    def _run(self, look_up: LookUp, host: str, port: int) -> None:
        try:
            self.found = look_up(host, port)
        except UnicodeError as error:  # a label that is empty, or too long
            self.error = socket.gaierror(socket.EAI_NONAME, str(error))
        except OSError as error:
            self.error = error
        now_s = monotonic()
        self.failure_until_s = now_s + (now_s - self.began_s)
        self.is_over = True
        self._running.release()

    def wait(self, limit_s: float) -> bool:
        """Wait until it is over; return whether it is."""
        if self._running.acquire(timeout=max(0.0, limit_s)):
            self._running.release()
        return self.is_over


class HostNames:
    """The names that are being looked up. Any thread may ask."""

    def __init__(self, look_up: LookUp) -> None:
        self._look_up = look_up
        self._searches: dict[tuple[str, int], _Search] = {}
        self._lock = Lock()

    def resolved(self, host: str, port: int, deadline: float) -> Found:
        """Return a host's addresses; raises socket.gaierror where it is not known, or not in time."""
        with self._lock:
            search = self._searches.get((host, port))
            if search is None:
                try:
                    search = self._searches[host, port] = _Search(self._look_up, host, port)
                except RuntimeError as error:
                    raise socket.gaierror(socket.EAI_AGAIN, "no thread can be started to look it up") from error
        if not search.wait(min(deadline, search.began_s + RESOLVE_S) - monotonic()):
            raise socket.gaierror(socket.EAI_AGAIN, "no name server answers")
        with self._lock:
            # Addresses may change, and a name be mended: what was found counts for this question alone. 1. Two wait for
            # one search. 2. It ends; the first forgets it, and a third begins the next. 3. The second forgets that one:
            # who waits for it keeps it, and the name may be searched once more than it must.
            if monotonic() >= search.failure_until_s or search.error is None:
                self._searches.pop((host, port), None)
        if search.error is not None:
            raise search.error
        return search.found


def _by_system(host: str, port: int) -> Found:
    return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)


_NAMES = HostNames(_by_system)


def resolved(host: str, port: int, deadline: float) -> Found:
    """Return the addresses of a host, as `socket.getaddrinfo` has them; raises socket.gaierror."""
    try:
        ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return _NAMES.resolved(host, port, deadline)
    return _by_system(host, port)


def dial(host: str, port: int, deadline: float) -> socket.socket:
    """Return a socket that is connected to a host; raises OSError, of which socket.gaierror is one."""
    found = resolved(host, port, deadline)
    last: OSError = socket.gaierror(socket.EAI_NONAME, "no address")
    for index, (family, kind, protocol, _, target) in enumerate(found):
        sock, connected = socket.socket(family, kind, protocol), False
        try:
            # Each has its share of what is left: of several addresses one may lead nowhere.
            sock.settimeout(remaining(deadline) / (len(found) - index))
            sock.connect(target)
            connected = True
            return sock
        except OSError as error:
            last = error
        finally:
            # Also by an interrupt.
            if not connected:
                sock.close()
    raise last
