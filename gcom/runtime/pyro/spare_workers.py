"""Spare workers, which go on serving a connection while its own worker is in a callback of the application.

As pools do whose workers may block (the compensating threads of Java's ForkJoinPool).
"""

from __future__ import annotations

from collections.abc import Callable, Sized
from contextlib import suppress
from threading import Event, Lock, Thread, get_ident
from time import monotonic
from typing import Protocol

from loguru import logger

from gcom.runtime.pyro.connections import Connection
from gcom.runtime.pyro.wire import Requests

PATIENCE_S = 0.02  # a callback may take so long; at most twice that passes until its peer is answered again
QUIET_TURNS = 10  # of the watch without any callback, after which it sleeps: it costs nothing where nothing comes


class DueCallbacks(Protocol):
    """Callbacks that requests have made due, for after their answers; any worker may do them."""

    @property
    def listeners_due(self) -> Sized: ...

    def call_back(self) -> None:
        """Do one in this thread, which may take long."""

    def wake(self) -> None:
        """Have other threads do all."""


class ServedConnection(Connection, Protocol):
    """A connection with the requests that were read and not yet served."""

    gcom_requests: Requests


class _Callback:
    """A callback in which the worker of a connection is."""

    def __init__(self, conn: ServedConnection) -> None:
        self.conn = conn
        self.since_s = monotonic()
        self.over = False
        self.spare: Thread | None = None  # serves the connection meanwhile
        self.error: Exception | None = None  # by which the connection ended meanwhile


class SpareWorkers:
    """Serves by a thread more each connection whose worker is in a callback for longer than a patience.

    Otherwise: 1. A callback takes 3 s. 2. Nobody answers that peer's heartbeats. 3. The peer has this process put out.
    """

    def __init__(
        self, serve: Callable[[ServedConnection], None], callbacks: DueCallbacks, patience_s: float = PATIENCE_S
    ) -> None:
        """Serve one request of a connection by `serve`, which raises when that has ended."""
        self.callbacks = callbacks
        self._serve = serve
        self._patience_s = patience_s
        self._running: dict[ServedConnection, _Callback] = {}
        self._spares: set[int] = set()  # the threads that are
        self._begun = 0  # callbacks so far; as a sign of life, so a lost count does no harm
        self._watching = False  # else the watch sleeps, or there is none yet
        self._needed = Event()  # ends its sleep
        self._closed = Event()
        self._thread: Thread | None = None
        self._mutex = Lock()  # for the sleep of the watch, and the end of a callback

    def call_back(self, conn: ServedConnection) -> None:
        """Call back in a connection's worker, which has answered its peer, unless that has to serve on.

        Raises the error by which the connection ended meanwhile.
        """
        # The peer comes first: with what it asks next, and where this thread is a spare one. If that called back once
        # the worker is back, and waits for it, its callback would have a spare worker of its own, and so on.
        if conn.gcom_requests.has_next or get_ident() in self._spares:
            self.callbacks.wake()
            return
        callback = self._running[conn] = _Callback(conn)
        self._begun += 1
        try:
            if not self._watching:
                self._watch()
            self.callbacks.call_back()
        finally:
            with self._mutex:
                callback.over = True
                del self._running[conn]
        if callback.spare is not None:
            callback.spare.join()  # it serves the request for which it waits, and no more
            if callback.error is not None:
                raise callback.error

    def close(self) -> None:
        """End the watch. A spare worker goes on until the connection's own is back, or the connection ends."""
        self._closed.set()
        self._needed.set()

    def _watch(self) -> None:
        with self._mutex, suppress(RuntimeError):  # there is no thread to be had now: the next callback tries again
            if self._thread is None:
                thread = Thread(target=self._look_for_slow, name="gcom watch", daemon=True)
                thread.start()
                self._thread = thread
            self._watching = True
            self._needed.set()

    def _look_for_slow(self) -> None:
        seen, quiet = -1, 0
        while not self._closed.wait(self._patience_s):
            late_s = monotonic() - self._patience_s
            # A copy: workers come without the lock, which each message would have to take once more.
            for callback in list(self._running.values()):
                if callback.since_s <= late_s:
                    self._add_spare(callback)
            quiet = quiet + 1 if seen == self._begun and not self._running else 0
            seen = self._begun
            if quiet >= QUIET_TURNS:
                self._sleep()
                quiet = 0

    def _add_spare(self, callback: _Callback) -> None:
        with self._mutex:
            if callback.over or callback.spare is not None:
                return
            thread = Thread(target=self._stand_in, args=(callback,), name="gcom spare worker", daemon=True)
            with suppress(RuntimeError):  # there is no thread to be had now: the next turn tries again
                thread.start()
                callback.spare = thread

    def _sleep(self) -> None:
        with self._mutex:
            self._needed.clear()
            # A worker that came before may have found a watch; one that comes after ends the sleep.
            self._watching = bool(self._running) or self._closed.is_set()
            if self._watching:
                return
        self._needed.wait()

    def _stand_in(self, callback: _Callback) -> None:
        logger.debug("a callback takes long: a spare worker serves its connection meanwhile")
        self._spares.add(get_ident())
        try:
            while not callback.over:
                self._serve(callback.conn)
        except Exception as error:  # outermost: of this thread; the worker raises it, and closes the connection
            callback.error = error
        finally:
            self._spares.discard(get_ident())
