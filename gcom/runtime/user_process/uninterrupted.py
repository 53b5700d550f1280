"""Futures and locks of what stands on the library: no exception of a signal's handler leaves them taken.

The standard ones have methods in Python. 1. `Future.result` takes the future's lock. 2. A handler raises before the
method knows that. 3. The thread that sets the result waits for that lock, for ever.
"""

from __future__ import annotations

from concurrent.futures import Future
from threading import Event, Lock, RLock
from types import TracebackType
from typing import Any, TypeVar

from gcom.runtime.user_process.entry import InterruptibleCondition, interruptible, uninterrupted

T = TypeVar("T")
LOOK_S = 0.05  # for signals, while another thread has a lock


def result_of(future: Future[T], timeout_s: float | None = None) -> T:
    """Return a future's result, or raise its error, in a call that is uninterrupted; raises TimeoutError."""
    await_end(future, timeout_s)
    return Future.result(future, 0.0)


def await_end(future: Future[Any], timeout_s: float | None = None) -> None:
    """Wait until a future is done, or for the time, in a call that is uninterrupted."""
    if Future.done(future) or timeout_s == 0.0:
        return
    waiter = Lock()
    waiter.acquire()
    Future.add_done_callback(future, lambda _: waiter.release())
    interruptible(waiter.acquire, timeout=-1 if timeout_s is None else max(0.0, timeout_s))


class WholeFuture(Future[T]):
    """A future that an application gets: an interrupt out of its methods leaves it as it was."""

    @uninterrupted()
    def result(self, timeout: float | None = None) -> T:
        await_end(self, timeout)
        return super().result(0.0)

    @uninterrupted()
    def exception(self, timeout: float | None = None) -> BaseException | None:
        await_end(self, timeout)
        return super().exception(0.0)

    cancel = uninterrupted()(Future.cancel)
    cancelled = uninterrupted()(Future.cancelled)
    running = uninterrupted()(Future.running)
    done = uninterrupted()(Future.done)
    add_done_callback = uninterrupted()(Future.add_done_callback)


class WholeLock:
    """A lock for calls that are uninterrupted: handlers run while one waits for it. One thread may take it again."""

    def __init__(self, lock: RLock | None = None) -> None:
        self._lock = lock or RLock()
        self.release = self._lock.release

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """Take the lock; return whether it was taken in time."""
        if self._lock.acquire(blocking=False):
            return True
        left = timeout
        while blocking and (left > 0 or timeout < 0):
            # Not as one wait outside: a handler could raise there just after the lock is taken.
            interruptible(_nothing)
            part = LOOK_S if timeout < 0 else min(LOOK_S, left)
            if self._lock.acquire(timeout=part):
                return True
            left -= part
        return False

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.release()


class WholeEvent(Event):
    """An event for calls that are uninterrupted: handlers run while one waits for it."""

    def __init__(self) -> None:
        super().__init__()
        self._cond = InterruptibleCondition()


def _nothing() -> None:
    """Do nothing: handlers that are held back run before it."""
