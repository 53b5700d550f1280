"""The lock of a node's machines, and what follows a step under it.

What a step leaves to be put to peers is taken just before the lock is let go, by whichever thread holds it, and written
just after: so a frame needs no thread but the one that had something to say, and nothing is written under the lock.
"""

from __future__ import annotations

from threading import Condition, Lock
from types import TracebackType
from typing import Protocol


class Follower(Protocol):
    """A link, as far as a step concerns it."""

    def fill(self) -> bool:
        """Take what there is to put; tell whether there is something to write. Holds the lock."""

    def write(self) -> None:
        """Write what was taken. The lock is not held."""


class StepLock:
    """A lock, and the links that have to look for something to put before it is let go."""

    def __init__(self) -> None:
        self._lock = Lock()
        self.acquire = self._lock.acquire  # as they are: every step takes the lock, and a Condition asks who has it
        self._is_owned = self._lock.locked
        self._followers: dict[Follower, None] = {}
        self._changed: dict[Condition, None] = {}

    def follow(self, follower: Follower) -> None:
        """Have a link look for something to put when the lock is let go. Holds the lock."""
        self._followers[follower] = None

    def tell(self, changed: Condition) -> None:
        """Wake those who wait for a condition once the lock is let go, and frames are written. Holds the lock."""
        # Woken sooner, the application's thread would take the interpreter from the one that writes the frames, whose
        # every call to the system lets it go.
        self._changed[changed] = None

    def condition(self) -> Condition:
        """Return a condition of this lock; to wait for it lets the lock go."""
        return Condition(self)  # type: ignore[arg-type] # it has all that a Condition asks of a lock

    def release(self) -> None:
        if not (self._followers or self._changed):
            self._lock.release()
            return
        writers = self._fill() if self._followers else None
        if not writers:
            self._let_go()
            return
        self._lock.release()
        try:
            for writer in reversed(writers):  # what a frame's step asks of the sequencer goes before: it takes longest
                writer.write()
        finally:
            if self._changed:
                self._lock.acquire()
                self._let_go()

    def _let_go(self) -> None:
        """Wake those who wait, and let the lock go."""
        changed, self._changed = self._changed, {}
        try:
            for condition in changed:
                condition.notify_all()
        finally:
            self._lock.release()

    def _fill(self) -> dict[Follower, None]:
        """Have the followers take what there is to put; return those that have something to write."""
        writers: dict[Follower, None] = {}
        try:
            while self._followers:  # to take a frame is a step, too, which others may follow
                follower = next(iter(self._followers))
                del self._followers[follower]
                if follower.fill():
                    writers[follower] = None
        except BaseException:  # outermost: of a step that a release has, and the lock must not stay taken
            self._lock.release()
            raise
        return writers

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()
