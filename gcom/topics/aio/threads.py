"""The engine of topics on asyncio: a few threads for all calls of a store, and one that waits for its commits.

A call that may block is made in one of `THREADS`; more wait for their turn. A receipt takes no thread: its future tells
the loop. Nor does a task that waits for a message: commits are waited for in one thread for each store, or for each
topic at a server, and that wakes all tasks that wait.
"""

from __future__ import annotations

import asyncio
from asyncio import Future, get_running_loop
from collections.abc import Callable, Coroutine
from concurrent.futures import Future as ThreadFuture
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import wraps
from threading import Event
from time import monotonic
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

from gcom.aio.tasks import Tasks
from gcom.errors import GComError
from gcom.topics.access import StoreAccess
from gcom.topics.errors import StoreClosed
from gcom.topics.store import TopicStore

THREADS = 32
WATCHERS = 8  # topics at servers whose commits are waited for at a time; others wait for their turn
LOOK_S, IDLE_LOOK_S = 0.005, 0.05  # for commits of other processes
LOOKS_PER_S = 2000  # of all tasks together
END_S = 60.0

T = TypeVar("T")
R = TypeVar("R")
P = ParamSpec("P")


class Interruption(GComError):
    """A task was cancelled: the call that its thread makes for it is to end."""


class StoreThreads:
    """The threads of one store, and the tasks that have to end with it."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(THREADS, "gcom topics")
        self._watchers = ThreadPoolExecutor(WATCHERS, "gcom topics news")
        self._news: dict[object, StoreNews] = {}
        self._tasks = Tasks()
        self._stops: set[Event] = set()  # of long calls
        self._closed = False
        self._closing: ThreadFuture[None] | None = None

    async def run(self, call: Callable[[], R]) -> R:
        """Return a call's result. Cancelled before a thread took it, it is not made; later it is made all the same."""
        self.check_open()
        return await self.begun(call)

    async def begun(self, call: Callable[[], R]) -> R:
        """Return the result of a call that was asked for before the store closed, if it did."""
        return await get_running_loop().run_in_executor(self._pool, call)

    async def opened(self, call: Callable[[], TopicStore]) -> TopicStore:
        """Return the store that a call opens. Where it does not, the threads end; cancelled, the store is closed."""
        future, store = self._pool.submit(call), None
        try:
            store = await awaitable(future)
            return store
        except asyncio.CancelledError:
            future.add_done_callback(_close_opened)
            raise
        finally:
            if store is None:
                self._watchers.shutdown()
                self._pool.shutdown(wait=future.done())

    def check_open(self) -> None:
        """Raise StoreClosed once the store is closed."""
        if self._closed:
            raise StoreClosed("the store is closed")

    def start(self, work: Coroutine[Any, Any, R]) -> asyncio.Task[R]:
        """Start a task that goes on where its caller is cancelled."""
        task = self._tasks.start(work)
        task.add_done_callback(_heard)
        return task

    async def until_stopped(self, call: Callable[[Event], R]) -> R:
        """Return the result of a long call. Cancelled, it sets the event, and waits until the call is over."""
        self.check_open()
        stop = Event()
        self._stops.add(stop)
        task = self.start(self.begun(lambda: call(stop)))
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            stop.set()
            await asyncio.wait([task])
            raise
        except Interruption as error:
            raise StoreClosed("the store was closed") from error
        finally:
            self._stops.discard(stop)

    def news(self, access: StoreAccess, topic: str) -> StoreNews:
        """Return what tells tasks of commits: of a store here, or of a topic at a server."""
        key = "" if access.root is access else topic
        if key not in self._news:
            self._news[key] = StoreNews(access, self._watchers)
        return self._news[key]

    async def close(self, store: TopicStore) -> None:
        """End all tasks and threads; what was submitted is stored before. May be called again.

        Cancelled, it goes on in a thread.
        """
        if not self._closed:
            self._closed = True
            for stop in self._stops:
                stop.set()
            for news in self._news.values():
                news.close()
            try:
                await self._tasks.end(END_S)
            finally:
                self._closing = self._pool.submit(store.close)
                self._pool.shutdown(wait=False)
                self._watchers.shutdown(wait=False)
        if self._closing is not None:  # else another task is about to
            await awaitable(self._closing)
            self._pool.shutdown()
            self._watchers.shutdown()


class StoreNews:
    """Tasks that wait for commits."""

    def __init__(self, access: StoreAccess, watchers: ThreadPoolExecutor) -> None:
        self._access, self._watchers = access, watchers
        self._waiting: set[Future[None]] = set()
        self._watched = self._closed = False

    async def wait(self, seen: int, began: float) -> None:
        """Wait for commits after the first `seen`, as `StoreAccess.wait_for_news` does, since `began`."""
        if self._closed:
            raise StoreClosed("the store is closed")
        loop = get_running_loop()
        future: Future[None] = loop.create_future()
        self._waiting.add(future)
        if not self._watched:
            self._watched = True
            idle_s = LOOK_S if monotonic() - began < 1.0 else IDLE_LOOK_S
            pause_s = max(idle_s, len(self._waiting) / LOOKS_PER_S)
            self._watchers.submit(self._watch, loop, seen, monotonic() + pause_s)
        if self._access.commits != seen:
            self._wake(None)
        try:
            await future
        finally:
            self._waiting.discard(future)

    def _watch(self, loop: asyncio.AbstractEventLoop, seen: int, deadline: float) -> None:
        """Wait in a thread, and wake all tasks once."""
        told: GComError | None = None
        try:
            while not self._closed and self._access.commits == seen:
                self._access.wait_for_news(seen, deadline - monotonic() > LOOK_S, None)
                if monotonic() >= deadline:
                    break
        except GComError as error:
            told = error
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(self._over, told)

    def _over(self, error: GComError | None) -> None:
        self._watched = False
        self._wake(error)

    def _wake(self, error: GComError | None) -> None:
        for future in self._waiting:
            if not future.done():
                if error is None:
                    future.set_result(None)
                else:
                    future.set_exception(error)
        self._waiting.clear()

    def close(self) -> None:
        """Tell all tasks that the store is closed."""
        self._closed = True
        self._wake(StoreClosed("the store is closed"))


class CallOrder:
    """Calls that are made one after the other, as they were asked for, also where a caller is cancelled."""

    def __init__(self, threads: StoreThreads) -> None:
        self._threads = threads
        self._last: asyncio.Task[Any] | None = None

    async def run(self, call: Callable[[], R]) -> R:
        """Return a call's result. Cancelled, it does not wait; the call is made all the same."""
        self._threads.check_open()
        task = self._threads.start(self._after(self._last, call))
        self._last = task
        return await asyncio.shield(task)

    async def _after(self, before: asyncio.Task[Any] | None, call: Callable[[], R]) -> R:
        if before is not None and not before.done():
            await asyncio.wait([before])
        return await self._threads.begun(call)


class Threaded(Generic[T]):
    """An object of topics, `sync`, whose calls are made in its store's threads."""

    def __init__(self, threads: StoreThreads, sync: T) -> None:
        self.threads, self.sync = threads, sync


def by_thread(
    method: Callable[Concatenate[T, P], R],
) -> Callable[Concatenate[Threaded[T], P], Coroutine[Any, Any, R]]:
    """Return a method as one that is awaited."""

    @wraps(method)
    async def called(self: Threaded[T], /, *args: P.args, **kwargs: P.kwargs) -> R:
        return await self.threads.run(lambda: method(self.sync, *args, **kwargs))

    return called


def awaitable(future: ThreadFuture[R]) -> Future[R]:
    """Return a future of this loop for one of a thread's; cancelled, it leaves that alone."""
    loop = get_running_loop()
    found: Future[R] = loop.create_future()

    def tell(done: ThreadFuture[R]) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody awaits it any more
            loop.call_soon_threadsafe(_tell, found, done)

    future.add_done_callback(tell)
    return found


def _tell(future: Future[R], done: ThreadFuture[R]) -> None:
    if future.done():  # it was cancelled
        return
    if error := done.exception():
        future.set_exception(error)
    else:
        future.set_result(done.result())


def _close_opened(done: ThreadFuture[TopicStore]) -> None:
    if not done.cancelled() and done.exception() is None:
        done.result().close()


def _heard(future: Future[Any]) -> None:
    """Take note of an error, so that one whose task was cancelled is not told of as forgotten."""
    if not future.cancelled():
        future.exception()
