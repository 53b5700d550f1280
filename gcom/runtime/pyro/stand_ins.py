"""Threads that go on serving a connection while its worker is away, in a callback of the application."""

from __future__ import annotations

from collections.abc import Callable, Sized
from contextlib import suppress
from threading import Event, Lock, Thread, get_ident
from time import monotonic
from typing import Protocol

from loguru import logger

from gcom.runtime.pyro.connections import Connection
from gcom.runtime.pyro.wire import Requests

PATIENCE_S = 0.02  # a worker may be away for so long; at most twice that passes until a peer is answered again
QUIET_TURNS = 10  # without any worker away, after which the watch ends until the next one is


class Aftermath(Protocol):
    """What requests leave to be done once they are answered; any worker may do it."""

    @property
    def listeners_due(self) -> Sized: ...

    def call_back(self) -> None:
        """Do it in this thread, which may take long."""

    def wake(self) -> None:
        """Have other threads do it."""


class ServedConnection(Connection, Protocol):
    """A connection with the requests that were read and not yet served."""

    gcom_requests: Requests


class _Absence:
    """One callback in which a worker is."""

    def __init__(self, conn: ServedConnection) -> None:
        self.conn = conn
        self.since_s = monotonic()
        self.over = False
        self.stand_in: Thread | None = None
        self.error: Exception | None = None  # by which the connection ended meanwhile


class StandIns:
    """Serves with a thread more each connection whose worker is away for longer than `PATIENCE_S`.

    Otherwise: 1. A callback takes 3 s. 2. Nobody answers that peer's heartbeats. 3. The peer has this process put out.
    """

    def __init__(self, serve: Callable[[ServedConnection], None], aftermath: Aftermath) -> None:
        """Serve one request of a connection by `serve`, which raises when that has ended."""
        self.aftermath = aftermath
        self._serve = serve
        self._absences: dict[ServedConnection, _Absence] = {}
        self._standing_in: set[int] = set()  # the threads that do
        self._runs = 0  # so far; as a sign of life, so a lost count does no harm
        self._watching = False
        self._mutex = Lock()  # for the start and the end of a watch and of an absence
        self._closed = Event()

    def call_back(self, conn: ServedConnection) -> None:
        """Call back in a connection's worker, which has answered its peer, unless that has to serve on.

        Raises the error by which the connection ended meanwhile.
        """
        # The peer comes first: with what it asks next, and where this thread is a stand-in. If that called back once
        # the worker is back, and waits for it, its callback would have a stand-in of its own, and so on.
        if conn.gcom_requests.has_next or get_ident() in self._standing_in:
            self.aftermath.wake()
            return
        absence = self._absences[conn] = _Absence(conn)
        self._runs += 1
        try:
            if not self._watching:
                self._watch()
            self.aftermath.call_back()
        finally:
            with self._mutex:
                del self._absences[conn]
                absence.over = True
        if absence.stand_in is not None:
            absence.stand_in.join()  # it serves the request for which it waits, and no more
            if absence.error is not None:
                raise absence.error

    def close(self) -> None:
        """End the watch; who stands in goes on until the connection ends."""
        self._closed.set()

    def _watch(self) -> None:
        with self._mutex, suppress(RuntimeError):  # there is no thread to be had now: the next callback tries again
            if not self._watching:
                Thread(target=self._relieve, name="gcom stand-ins", daemon=True).start()
                self._watching = True

    def _relieve(self) -> None:
        seen, quiet = -1, 0
        while not self._closed.wait(PATIENCE_S):
            late_s = monotonic() - PATIENCE_S
            # A copy: workers come without the lock, which each message would have to take once more.
            for absence in list(self._absences.values()):
                if absence.since_s <= late_s:
                    self._relieve_one(absence)
            quiet = quiet + 1 if seen == self._runs and not self._absences else 0
            seen = self._runs
            if quiet >= QUIET_TURNS and self._ends():
                return

    def _relieve_one(self, absence: _Absence) -> None:
        with self._mutex:
            if absence.over or absence.stand_in is not None:
                return
            thread = Thread(target=self._stand_in, args=(absence,), name="gcom stand-in", daemon=True)
            with suppress(RuntimeError):  # there is no thread to be had now: the next turn tries again
                thread.start()
                absence.stand_in = thread

    def _ends(self) -> bool:
        with self._mutex:
            self._watching = False
            # A worker that came before may have found a watch, and one that comes after starts another.
            self._watching = bool(self._absences)
            return not self._watching

    def _stand_in(self, absence: _Absence) -> None:
        logger.debug("a callback takes long: another thread serves its connection meanwhile")
        self._standing_in.add(get_ident())
        try:
            while not absence.over:
                self._serve(absence.conn)
        except Exception as error:  # outermost: of this thread; the worker raises it, and closes the connection
            absence.error = error
        finally:
            self._standing_in.discard(get_ident())
