"""Tasks and threads that a node of an event loop starts, and ends when it is closed."""

from __future__ import annotations

from asyncio import (
    AbstractEventLoop,
    Future,
    Task,
    current_task,
    gather,
    get_running_loop,
    run_coroutine_threadsafe,
    wait,
)
from collections.abc import Callable, Coroutine
from contextlib import suppress
from inspect import isawaitable
from queue import SimpleQueue
from threading import Thread
from typing import Any, ParamSpec, TypeVar, cast

P = ParamSpec("P")
R = TypeVar("R")


class Tasks:
    """Tasks that are to be over when their node is."""

    def __init__(self) -> None:
        self._tasks: set[Task[Any]] = set()

    def start(self, work: Coroutine[Any, Any, R]) -> Task[R]:
        """Start a task, and keep it until it is over."""
        task = get_running_loop().create_task(work)
        self.keep(task)
        return task

    def keep(self, task: Task[Any]) -> None:
        """Keep a task until it is over."""
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def end(self, timeout_s: float = 0.0) -> None:
        """Cancel all but the one that calls, after so many seconds, and wait until they are over."""
        others = [task for task in self._tasks if task is not current_task()]
        if others and timeout_s > 0:
            await wait(others, timeout=timeout_s)
        for task in others:
            task.cancel()
        await gather(*others, return_exceptions=True)


class Worker:
    """A thread for the calls that would block a loop: connecting, closing, the registry, the state. In their order."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._calls: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._thread: Thread | None = None

    def post(self, call: Callable[[], object]) -> Future[Any]:
        """Have the thread make a call; return the future of its result."""
        loop = get_running_loop()
        future: Future[Any] = loop.create_future()
        self._calls.put(lambda: _make(call, loop, future))
        if self._thread is None:
            self._thread = Thread(target=self._run, name=f"gcom asyncio {self.name}", daemon=True)
            self._thread.start()
        return future

    async def run(self, call: Callable[[], R]) -> R:
        """Return a call's result. Cancelled, it does not wait; the call is made all the same."""
        return cast("R", await self.post(call))

    def close(self) -> None:
        """End the thread once it has made the calls that it has."""
        self._calls.put(None)

    def join(self) -> None:
        """Wait until the thread is over, a second at most."""
        if self._thread is not None:
            self._thread.join(1.0)

    def _run(self) -> None:
        while (call := self._calls.get()) is not None:
            call()


def _make(call: Callable[[], object], loop: AbstractEventLoop, future: Future[Any]) -> None:
    try:
        result, error = call(), None
    except BaseException as raised:  # outermost: of a call in a worker, and its task is told
        result, error = None, raised
    with suppress(RuntimeError):  # the loop is closed: nobody awaits it any more
        loop.call_soon_threadsafe(_tell, future, result, error)


def _tell(future: Future[Any], result: object, error: BaseException | None) -> None:
    if future.done():  # it was cancelled
        return
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)


def in_loop(callback: Callable[P, object], tasks: Tasks) -> Callable[P, Any]:
    """Return a function for a worker's thread that has the loop call back, and returns what came of that."""
    loop = get_running_loop()

    async def call(*args: P.args, **kwargs: P.kwargs) -> object:
        task = current_task()
        assert task is not None, "it runs in a task of its own"
        tasks.keep(task)
        return await awaited(callback(*args, **kwargs))

    def called(*args: P.args, **kwargs: P.kwargs) -> object:
        return run_coroutine_threadsafe(call(*args, **kwargs), loop).result()

    return called


async def awaited(result: object) -> object:
    """Return what a callback returned, or what that awaits."""
    return await result if isawaitable(result) else result
