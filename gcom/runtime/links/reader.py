"""The one thread that reads the answers of all peers, writes what their sockets did not take, and looks at the clock.

Measured against a writer and a reader per connection, and against asyncio, in decision 0010.
"""

from __future__ import annotations

import contextlib
import selectors
import socket
from collections import deque
from collections.abc import Callable, Sequence
from threading import Thread
from typing import Protocol

from gcom.runtime import pyro
from gcom.runtime.step_lock import Follower, StepLock

REST_S = 0.003  # answers that nobody waits for are taken together: each wake of the reader costs as much as an answer
IDLE_WAIT_S = 0.25  # a reader looks again so soon: sooner than the time of any call is over


class Line(Follower, Protocol):
    """A link, or the connection to the sequencer. `read` and `give_up` are called without the lock.

    `read` tells whether nobody waited for what came.
    """

    def read(self, pipeline: pyro.Pipeline) -> bool: ...

    @property
    def is_awaited(self) -> bool: ...

    def give_up(self) -> None: ...

    def look(self) -> None: ...

    def is_overdue(self, now_ms: int) -> bool: ...

    def next_ms(self, now_ms: int) -> int | None: ...


class ReaderHost(Protocol):
    """The part of the host that the reader uses. `on_defect` is called without the lock."""

    lock: StepLock

    def now_ms(self) -> int: ...

    def on_defect(self) -> None: ...


class Reader:
    """The reader of one host's lines. Any thread may call the methods of the first part."""

    def __init__(self, host: ReaderHost, lines: Callable[[], Sequence[Line]]) -> None:
        self._host = host
        self._lines = lines  # called with the lock held
        self._selector = selectors.DefaultSelector()
        # A selector cannot be told from outside; a byte on a socket that it watches ends its wait.
        self._ear, self._mouth = socket.socketpair()
        self._ear.setblocking(False)
        self._mouth.setblocking(False)
        self._selector.register(self._ear, selectors.EVENT_READ)
        self._wake_selector = selectors.DefaultSelector()
        self._wake_selector.register(self._ear, selectors.EVENT_READ)
        self._resting = False
        self.late = False  # what is there came while it rested: its time says nothing of the peer
        self._orders: deque[tuple[str, Line | None, pyro.Pipeline]] = deque()
        self._look_ms = 0
        self._closed = False
        self._thread = Thread(target=self._run, name="gcom reader", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def add(self, line: Line, pipeline: pyro.Pipeline) -> None:
        """Read a connection from now on."""
        self._tell("add", line, pipeline)

    def drop(self, pipeline: pyro.Pipeline) -> None:
        """Read a connection no more."""
        self._tell("drop", None, pipeline)

    def want(self, line: Line, pipeline: pyro.Pipeline) -> None:
        """Go on writing when a connection's socket takes more."""
        self._tell("want", line, pipeline)

    def look(self) -> None:
        """Look at all links again: some deadline came nearer."""
        self._look_ms = 0
        self._wake()

    def hurry(self) -> None:
        """Take answers as they come: one is waited for. Holds the lock."""
        if self._resting:
            self._resting = False
            self._wake()

    def close(self) -> None:
        self._closed = True
        self._wake()

    def join(self, timeout_s: float) -> None:
        self._thread.join(timeout_s)

    def _tell(self, order: str, line: Line | None, pipeline: pyro.Pipeline) -> None:
        # By orders, since a selector is not safe to change while its own thread waits in it.
        self._orders.append((order, line, pipeline))
        self._wake()

    def _wake(self) -> None:
        with contextlib.suppress(OSError):  # full: it will wake anyway; closed: there is nobody to wake
            self._mouth.send(b"\0")

    # the thread

    def _run(self) -> None:
        try:
            while not self._closed:
                self._obey()
                patience_s = self._patience_s()
                # After a rest only what is there: it alone is late.
                self._rest(self._serve_all(self._selector.select(0 if self.late else patience_s)))
        except Exception:  # outermost: of this thread; without it a defect would only show as silence
            self._host.on_defect()
            raise
        finally:
            for key in list(self._selector.get_map().values()):
                if isinstance(key.fileobj, pyro.Pipeline):
                    key.fileobj.release()
            # Orders that nobody carries out any more: these pipelines are
            # in no selector, and no other thread lets go of them.
            for _, _, pipeline in self._orders:
                pipeline.release()
            self._selector.close()
            self._wake_selector.close()
            self._ear.close()
            self._mouth.close()

    def _hear(self) -> None:
        with contextlib.suppress(BlockingIOError):
            # All bytes at once: however many threads woke it, one look does for all.
            self._ear.recv(4096)

    def _serve_all(self, found: list[tuple[selectors.SelectorKey, int]]) -> bool:
        """Serve all that is ready; tell whether answers came that nobody waited for, and nothing else."""
        relaxed = bool(found)
        for key, ready in found:
            if key.data is None:
                self._hear()
                relaxed = False
            else:
                relaxed = self._serve(key.data, key.fileobj, ready) and relaxed
        return relaxed

    def _rest(self, relaxed: bool) -> None:
        """Let more answers come that nobody waits for, where all were of that kind."""
        self.late = False
        # The rest of a frame that is half written goes as soon as its socket takes it.
        if not relaxed or any(key.events & selectors.EVENT_WRITE for key in self._selector.get_map().values()):
            return
        with self._host.lock:
            # Under the lock: who comes to wait for an answer from now on, finds it resting.
            self._resting = not any(line.is_awaited for line in self._lines())
        if self._resting:
            self.late = True
            self._wake_selector.select(REST_S)
            self._resting = False

    def _serve(self, line: Line, pipeline: object, ready: int) -> bool:
        assert isinstance(pipeline, pyro.Pipeline), "only pipelines have a line"
        if ready & selectors.EVENT_WRITE and pipeline.flush():
            self._watch(line, pipeline, selectors.EVENT_READ)
        return bool(ready & selectors.EVENT_READ) and line.read(pipeline)

    def _obey(self) -> None:
        while self._orders:
            order, line, pipeline = self._orders.popleft()
            if line is None:
                with contextlib.suppress(KeyError, ValueError):  # never added, or dropped twice
                    self._selector.unregister(pipeline)
                pipeline.release()
            elif order == "add":
                with contextlib.suppress(ValueError):  # it was closed meanwhile
                    self._selector.register(pipeline, selectors.EVENT_READ, line)
            else:
                self._watch(line, pipeline, selectors.EVENT_READ | selectors.EVENT_WRITE)

    def _watch(self, line: Line, pipeline: pyro.Pipeline, events: int) -> None:
        with contextlib.suppress(KeyError, ValueError):  # it was closed meanwhile
            self._selector.modify(pipeline, events, line)

    def _patience_s(self) -> float:
        """Return how long to wait at most; look at the clock's work before, if it is time."""
        now_ms = self._host.now_ms()
        if now_ms >= self._look_ms:
            self._look(now_ms)
        return max(0.001, (self._look_ms - now_ms) / 1000)

    def _look(self, now_ms: int) -> None:
        """Put what became due by time, and give up connections whose peer does not answer."""
        with self._host.lock:
            lines = self._lines()
            overdue = [line for line in lines if line.is_overdue(now_ms)]
            for line in lines:
                line.look()
        for line in overdue:
            line.give_up()
        with self._host.lock:
            # After the overdue ones have failed: what they owe again may be due sooner.
            nexts = [line.next_ms(now_ms) for line in lines]
        self._look_ms = min([now_ms + int(IDLE_WAIT_S * 1000), *[at for at in nexts if at is not None]])
