"""The one thread that reads the answers of all peers, writes what their sockets did not take, and ticks.

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
from gcom.runtime.step_lock import StepLock, Writer
from gcom.runtime.user_process.entry import own
from gcom.runtime.user_process.process_events import keep

# Answers that nobody waits for are taken together: each wake of the reader costs as much as an answer.
COALESCE_S = 0.003
IDLE_WAIT_MS = 500  # between looks at the clock at most: sooner than the time of any call is over


class PipelineOwner(Writer, Protocol):
    """A link, or the client of a sequencer: what has a connection that the reader reads.

    `read` returns whether nobody waited for what came, `tick` whether a time had come that it waits for. `read` and
    `give_up` are called without the lock.
    """

    def read(self, pipeline: pyro.Pipeline) -> bool: ...

    @property
    def is_awaited(self) -> bool: ...

    def give_up(self) -> None: ...

    def tick(self) -> bool: ...

    def is_overdue(self, now_ms: int) -> bool: ...

    def next_ms(self, now_ms: int) -> int | None: ...


class ReaderHost(Protocol):
    """The part of the host that the reader uses. `tick_sessions` and `next_tick_ms` are called with the lock held."""

    lock: StepLock

    def now_ms(self) -> int: ...

    def tick_sessions(self, now_ms: int, together: bool) -> None: ...

    def next_tick_ms(self, by_ms: int) -> int: ...

    def on_defect(self) -> None: ...


class Reader:
    """The reader of all connections of one host. Any thread may call the methods of the first part."""

    def __init__(self, host: ReaderHost, owners: Callable[[], Sequence[PipelineOwner]]) -> None:
        self._host = host
        self._owners = owners  # called with the lock held
        self._selector = keep(selectors.DefaultSelector())
        # A selector cannot be told from outside; a byte on a socket that it watches ends its wait.
        self._wake_receiver, self._wake_sender = map(keep, socket.socketpair())
        self._wake_receiver.setblocking(False)
        self._wake_sender.setblocking(False)
        self._selector.register(self._wake_receiver, selectors.EVENT_READ)
        self._wake_selector = keep(selectors.DefaultSelector())
        self._wake_selector.register(self._wake_receiver, selectors.EVENT_READ)
        self._half_written: set[pyro.Pipeline] = set()  # wait for their socket to take more
        self._resting = False
        self.coalesced = False  # answers came during a rest: take no round-trip sample
        self._changes: deque[tuple[str, PipelineOwner | None, pyro.Pipeline]] = deque()
        self._next_tick_ms = 0
        self._closed = False
        self._thread = Thread(target=own(self._run), name="gcom reader", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def add(self, owner: PipelineOwner, pipeline: pyro.Pipeline) -> None:
        """Read a connection from now on."""
        self._change("add", owner, pipeline)

    def drop(self, pipeline: pyro.Pipeline) -> None:
        """Read a connection no more."""
        self._change("drop", None, pipeline)

    def await_writable(self, owner: PipelineOwner, pipeline: pyro.Pipeline) -> None:
        """Go on writing when a connection's socket takes more."""
        self._change("await_writable", owner, pipeline)

    def reschedule(self) -> None:
        """Find anew when the next look at the clock is due: some deadline came nearer. Holds the lock."""
        self._next_tick_ms = 0
        self._wake()

    def end_rest(self) -> None:
        """Take answers as they come: one is awaited. Holds the lock."""
        if self._resting:
            self._resting = False
            self._wake()

    def close(self) -> None:
        self._closed = True
        if self._thread.ident is None:
            self._let_go()
        else:
            self._wake()

    def join(self, timeout_s: float) -> None:
        self._thread.join(timeout_s)

    def _change(self, kind: str, owner: PipelineOwner | None, pipeline: pyro.Pipeline) -> None:
        # By its own thread, since a selector is not safe to change while that waits in it.
        self._changes.append((kind, owner, pipeline))
        self._wake()

    def _wake(self) -> None:
        with contextlib.suppress(OSError):  # full: it will wake anyway; closed: there is nobody to wake
            self._wake_sender.send(b"\0")

    # the thread

    def _run(self) -> None:
        try:
            while not self._closed:
                self._apply_changes()
                patience_s = self._patience_s()
                # After a rest only what is there: it alone is late.
                self._rest(self._serve_all(self._selector.select(0 if self.coalesced else patience_s)))
        except Exception:  # outermost: of this thread; without it a defect would only show as silence
            self._host.on_defect()
            raise
        finally:
            for key in list(self._selector.get_map().values()):
                if isinstance(key.fileobj, pyro.Pipeline):
                    key.fileobj.release()
            # Changes that nobody makes any more: these pipelines are
            # in no selector, and no other thread lets go of them.
            for _, _, pipeline in self._changes:
                pipeline.release()
            self._let_go()

    def _let_go(self) -> None:
        for thing in (self._selector, self._wake_selector, self._wake_receiver, self._wake_sender):
            thing.close()

    def _drain_wakeups(self) -> None:
        with contextlib.suppress(BlockingIOError):
            # All bytes at once: however many threads woke it, one turn of the loop does for all.
            self._wake_receiver.recv(4096)

    def _serve_all(self, found: list[tuple[selectors.SelectorKey, int]]) -> bool:
        """Serve all that is ready; tell whether answers came that nobody waited for, and nothing else."""
        unawaited = bool(found)
        for key, ready in found:
            if key.data is None:
                self._drain_wakeups()
                unawaited = False
            else:
                unawaited = self._serve(key.data, key.fileobj, ready) and unawaited
        return unawaited

    def _rest(self, unawaited: bool) -> None:
        """Let more answers come that nobody waits for, where all were of that kind."""
        self.coalesced = False
        # The rest of a frame that is half written goes as soon as its socket takes it.
        if not unawaited or self._half_written:
            return
        with self._host.lock:
            # Under the lock: who comes to wait for an answer from now on, finds it resting.
            self._resting = not any(owner.is_awaited for owner in self._owners())
        if self._resting:
            self.coalesced = True
            self._wake_selector.select(COALESCE_S)
            self._resting = False

    def _serve(self, owner: PipelineOwner, pipeline: object, ready: int) -> bool:
        assert isinstance(pipeline, pyro.Pipeline), "only pipelines have an owner"
        if ready & selectors.EVENT_WRITE and pipeline.flush():
            self._watch(owner, pipeline, selectors.EVENT_READ)
        return bool(ready & selectors.EVENT_READ) and owner.read(pipeline)

    def _apply_changes(self) -> None:
        while self._changes:
            kind, owner, pipeline = self._changes.popleft()
            if owner is None:
                with contextlib.suppress(KeyError, ValueError):  # never added, or dropped twice
                    self._selector.unregister(pipeline)
                self._half_written.discard(pipeline)
                pipeline.release()
            elif kind == "add":
                try:
                    self._selector.register(pipeline, selectors.EVENT_READ, owner)
                except ValueError:  # it was closed meanwhile
                    pass
                except OSError:
                    pipeline.close()  # the system watches no more for us: its owner gives it up as overdue
            else:
                self._watch(owner, pipeline, selectors.EVENT_READ | selectors.EVENT_WRITE)

    def _watch(self, owner: PipelineOwner, pipeline: pyro.Pipeline, events: int) -> None:
        self._half_written.discard(pipeline)
        with contextlib.suppress(KeyError, ValueError):  # it was closed meanwhile
            self._selector.modify(pipeline, events, owner)
            if events & selectors.EVENT_WRITE:
                self._half_written.add(pipeline)

    def _patience_s(self) -> float:
        """Return how long to wait at most, after a look at the clock if one is due."""
        now_ms = self._host.now_ms()
        if now_ms >= self._next_tick_ms:
            self._tick(now_ms)
        # Not 0: a deadline that no step moves would have this thread spin.
        return max(0.001, (self._next_tick_ms - now_ms) / 1000)

    def _tick(self, now_ms: int) -> None:
        """Do what became due by time: write, step machines, give up connections whose peer does not answer."""
        with self._host.lock:
            owners = self._owners()
            overdue = [owner for owner in owners if owner.is_overdue(now_ms)]
            due = [owner.tick() for owner in owners]
            self._host.tick_sessions(now_ms, any(due))
        for owner in overdue:
            owner.give_up()
        with self._host.lock:
            # After the overdue ones have failed: what they owe again may be due sooner.
            nexts = [owner.next_ms(now_ms) for owner in owners]
            by_ms = min([now_ms + IDLE_WAIT_MS, *[at for at in nexts if at is not None]])
            # Under the lock, as `reschedule` is: else it would undo one that came in between.
            self._next_tick_ms = self._host.next_tick_ms(by_ms)
