"""Starts of commands and fresh queries: in the loop, where nothing has to be waited for, else in a thread of the state.

Starting waits only where the window is full, or no quorum is heard. The thread then starts those that wait, one after
the other, in the order of their calls; those that come later wait behind them. So no call has a thread of its own.
"""

from __future__ import annotations

from asyncio import Future, shield, wait
from collections.abc import Callable
from time import monotonic
from typing import Any, TypeVar

from gcom.aio.tasks import Worker
from gcom.errors import Detached, GComTimeout, NotAMember, WouldBlock

R = TypeVar("R")


class StartTurn:
    """A start that waits for its turn in the thread."""

    started: Future[Any]

    def __init__(self, begin: Callable[[float], Any], deadline: float) -> None:
        self._begin = begin
        self._deadline = deadline
        self._begun = False
        self._withdrawn = False

    def __call__(self) -> Any:
        self._begun = True
        if self._withdrawn:
            return None
        return self._begin(self._deadline)

    async def wait(self) -> Any:
        """Return what was started. Cancelled, or at the deadline before its turn came, it starts nothing any more."""
        await wait([self.started], timeout=max(0.0, self._deadline - monotonic()))
        if not self._begun and self.withdraw():
            raise GComTimeout("nothing was sent: it waits behind other commands, which wait for room or a quorum")
        return await shield(self.started)

    def when_begun(self, call: Callable[[Any], object], failed: Callable[[], object]) -> None:
        """Call with what was started, or `failed`, once its turn is over."""

        def on_started(started: Future[Any]) -> None:
            begun = not started.cancelled() and started.exception() is None and started.result() is not None
            _ = call(started.result()) if begun else failed()

        self.started.add_done_callback(on_started)

    def withdraw(self) -> bool:
        """Have it start nothing any more; return False where that comes too late."""
        # In this order: the thread says that it begins, and then looks.
        self._withdrawn = True
        return not self._begun


class CommandStarts:
    """The starts of one state, in their order. Its loop's thread alone uses it."""

    def __init__(self, worker: Worker, over: Callable[[], object]) -> None:
        self._worker = worker
        self._over = over  # the thread may have ended, too
        self._waiting = 0

    def start(self, begin: Callable[[float], R], deadline: float) -> R | StartTurn:
        """Return what `begin` returns; or the turn in which it will be called, since it has to wait.

        `begin(deadline)` must not wait at a deadline that has passed.
        """
        if not self._waiting:
            try:
                return begin(0.0)
            except (GComTimeout, Detached, NotAMember, WouldBlock):
                if self._over():
                    raise
        turn = StartTurn(begin, deadline)
        turn.started = self._worker.post(turn)
        self._waiting += 1
        turn.started.add_done_callback(self._on_started)
        return turn

    def _on_started(self, started: Future[Any]) -> None:
        self._waiting -= 1
        if not started.cancelled():
            started.exception()  # seen: a start that was cancelled fails for nobody
