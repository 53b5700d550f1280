"""Waits, each written once: a coroutine, which a blocking call runs in its own thread and asyncio in its loop.

A wait holds the host's lock, and lets it go only where it awaits a `change`. Its driver decides how: `run` blocks its
thread on the condition; `gcom.aio` registers a watcher with it, and goes on when that is woken. A driver that gives a
wait up closes the coroutine with the lock held, so what the wait had begun is undone there.
"""

from __future__ import annotations

from collections.abc import Coroutine, Generator
from time import monotonic
from types import coroutine
from typing import Any, NamedTuple, Protocol, TypeVar

from gcom.runtime.user_process.entry import InterruptibleCondition

R = TypeVar("R")
NO_LIMIT_S = 3600.0  # a wait without any limit cannot be interrupted by Ctrl-C on every system


class WaitWatcher(Protocol):
    """An event loop that awaits a change."""

    def wake(self) -> None:
        """Have the loop look at its waits again. Any thread calls this, with the lock or without."""


class WatchedCondition(InterruptibleCondition):
    """A condition of the host's lock, for which threads wait and event loops register watchers."""

    watchers: tuple[WaitWatcher, ...] = ()  # replaced with the lock held, read without it

    def notify_all(self) -> None:
        """Wake all threads and watchers. Holds the lock."""
        self.notify_threads()
        self.wake_watchers()

    def notify_threads(self) -> None:
        """Wake all threads that wait. Holds the lock."""
        super().notify_all()

    def wake_watchers(self) -> None:
        """Wake the event loops, with the lock or without: to wake one is a call to the system."""
        for watcher in self.watchers:
            watcher.wake()


class Pause(NamedTuple):
    """The end of a wait's pause: a change, or the deadline in monotonic seconds."""

    changed: WatchedCondition
    deadline: float | None


@coroutine
def change(changed: WatchedCondition, deadline: float | None) -> Generator[Pause, bool, bool]:
    """Await a change; return False when the deadline, in monotonic seconds, has passed."""
    return (yield Pause(changed, deadline))


def run(wait: Coroutine[Any, Any, R]) -> R:
    """Run a wait in this thread, which blocks. Holds the lock."""
    try:
        pause: Pause = wait.send(None)
        while True:
            pause = wait.send(_block(pause))
    except StopIteration as done:
        result: R = done.value
        return result
    finally:
        wait.close()


def _block(pause: Pause) -> bool:
    if pause.deadline is None:
        return pause.changed.wait(NO_LIMIT_S) or True
    left = pause.deadline - monotonic()
    return left > 0 and (pause.changed.wait(left) or monotonic() < pause.deadline)
