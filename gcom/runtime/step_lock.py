"""The lock of a node's machines, and what follows a step under it.

What a step leaves for peers is taken in it, or just before the lock is released, by whichever thread holds it, and
written just after: so a frame needs no thread but the one that had something to say, and nothing is written under the
lock.
"""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from threading import RLock
from types import TracebackType
from typing import Protocol

from gcom.runtime.waiting import WatchedCondition


class Writer(Protocol):
    """A link or the sequencer's client, as the lock sees it: it writes to a peer or the sequencer after a step."""

    def prepare_writes(self) -> bool:
        """Take the frames or requests that are due; return whether there is something to write. Holds the lock."""

    def write(self) -> None:
        """Write what was taken. The lock is not held."""


class DirectListener(Protocol):
    """A listener whose callbacks may come from a worker of the server (`Group.listen`)."""

    def call_back(self) -> None:
        """Call back for what waits, unless its own thread has to. Takes the lock."""

    def wake(self) -> None:
        """Have its own thread call back, unless another one does. Holds the lock."""


class StepLock:
    """A lock, and the writers that have to look for something to write before it is released.

    `listeners_due`: for each a worker's step has delivered; it is called back after the answer, since that may take
    long.
    """

    def __init__(self) -> None:
        # Never taken twice by one thread; but of this kind the holder is known, from the very byte code that takes it.
        self._lock = RLock()
        self.acquire = self._lock.acquire  # as they are: every step takes the lock, and a Condition asks who has it
        self.is_owned = self._is_owned = self._lock._is_owned  # type: ignore[attr-defined]
        self._unprepared: dict[Writer, None] = {}
        self._changed: dict[WatchedCondition, None] = {}
        self.listeners_due: deque[DirectListener] = deque()  # filled with the lock held, emptied by any worker

    def write_on_release(self, writer: Writer) -> None:
        """Have a writer look for something to write when the lock is released. Holds the lock."""
        self._unprepared[writer] = None

    def notify_on_release(self, changed: WatchedCondition) -> None:
        """Notify a condition once the lock is released and frames are written. Holds the lock."""
        # Woken sooner, the application's thread would take the interpreter from the one that writes the frames, whose
        # every call to the system lets it go.
        self._changed[changed] = None

    def call_back(self) -> None:
        """Have a listener that is due call back in this thread. The lock is not held."""
        # One: each worker comes here once for each step of its own that has delivered.
        if (listener := self._next_due()) is not None:
            listener.call_back()

    def wake(self) -> None:
        """Have all that are due call back in their own threads. The lock is not held."""
        with self:
            while (listener := self._next_due()) is not None:
                listener.wake()

    def _next_due(self) -> DirectListener | None:
        with suppress(IndexError):  # another worker was faster
            return self.listeners_due.popleft()
        return None

    def condition(self) -> WatchedCondition:
        """Return a condition of this lock; to wait for it lets the lock go."""
        return WatchedCondition(self)  # type: ignore[arg-type] # it has all that a Condition asks of a lock

    def release(self) -> None:
        if not (self._unprepared or self._changed):
            self._lock.release()
            return
        writers = self._prepare_writes() if self._unprepared else None
        if not writers:
            self._notify_and_release()
            return
        self._lock.release()
        try:
            for writer in reversed(writers):  # what a frame's step asks of the sequencer goes before: it takes longest
                writer.write()
        finally:
            if self._changed:
                self._lock.acquire()
                self._notify_and_release()

    def _notify_and_release(self) -> None:
        """Notify the conditions that changed, and release the lock."""
        changed, self._changed = self._changed, {}
        try:
            for condition in changed:
                condition.notify_threads()
        finally:
            self._lock.release()
        # Without the lock: to wake an event loop is a call to the system, which lets the interpreter go.
        for condition in changed:
            if condition.watchers:
                condition.wake_watchers()

    def _prepare_writes(self) -> dict[Writer, None]:
        """Have the writers take what is due; return those that have something to write."""
        writers: dict[Writer, None] = {}
        try:
            while self._unprepared:  # to take a frame is a step, too, which may have others write
                writer = next(iter(self._unprepared))
                del self._unprepared[writer]
                if writer.prepare_writes():
                    writers[writer] = None
        except BaseException:  # outermost: of a step that a release has, and the lock must not stay taken
            self._lock.release()
            raise
        return writers

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # 1. A signal's handler raises where the main thread waits for a change. 2. A second one does before the lock is
        # taken again. Then there is nothing to release.
        if error is None or self._is_owned():
            self.release()
