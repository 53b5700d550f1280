"""An iterator over changes that other threads tell."""

from __future__ import annotations

from asyncio import Event, timeout
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Generic, Self, TypeVar
from weakref import WeakMethod

from gcom.aio.replicated.wakes import LoopWakes
from gcom.errors import GComError

T = TypeVar("T")
CHANGES_MAX = 10_000  # that wait for their reader; at the bound they are dropped, and it is told to read all anew
LOOK_AGAIN_S = 0.5  # a state that has ended meanwhile is asked, and says so


# A class, not a generator: a generator that is cancelled once is over, and the next change would have no reader.
class WatchedChanges(Generic[T]):
    """Changes from now on, for `async for`; goes on after a cancellation. `close` ends it."""

    def __init__(
        self,
        watch: Callable[[Callable[[T], object]], Callable[[], None]],
        missed: Callable[[], T],
        failure: Callable[[], GComError | None],
        wakes: LoopWakes,
    ) -> None:
        self._missed = missed
        self._failure = failure
        self._wakes = wakes
        self._waiting: deque[T] = deque()
        self._news = Event()
        self._told = False
        self._closed = False
        self._unwatch = _watch_while_held(watch, WeakMethod(self._note))

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> T:
        while not self._waiting:
            if self._closed:
                raise StopAsyncIteration
            if failure := self._failure():
                raise failure
            with suppress(TimeoutError):
                async with timeout(LOOK_AGAIN_S):
                    await self._news.wait()
            self._news.clear()
        return self._waiting.popleft()

    def close(self) -> None:
        """End it: those that wait are read, and nothing comes after them."""
        self._closed = True
        self._unwatch()
        self._news.set()

    def _note(self, change: T) -> None:
        """Note a change; by the thread that applies."""
        if len(self._waiting) >= CHANGES_MAX:
            self._waiting.clear()
            change = self._missed()
        self._waiting.append(change)
        if not self._told:
            self._told = True
            self._wakes.post(self._on_news)

    def _on_news(self) -> None:
        self._told = False
        self._news.set()


def _watch_while_held(
    watch: Callable[[Callable[[T], object]], Callable[[], None]], note: WeakMethod[Callable[[T], None]]
) -> Callable[[], None]:
    """Watch until nobody holds the iterator any more: a loop over it may have been left."""

    def tell(change: T) -> None:
        noting = note()
        if noting is None:
            unwatch()
        else:
            noting(change)

    unwatch = watch(tell)
    return unwatch
