"""The base that the parts of an `AsyncGroup` share."""

from __future__ import annotations

from asyncio import Task, current_task, sleep
from typing import Any

from gcom.aio.tasks import Tasks, Worker
from gcom.aio.waits import LoopWaits
from gcom.runtime.api.handle import GroupHandle

UNBROKEN_MAX = 16  # calls that find at once what they want, before the loop's other tasks have a turn


class AsyncHandle(GroupHandle):
    """A membership in the hands of one event loop."""

    _waits: LoopWaits
    _tasks: Tasks
    _worker: Worker
    _listening: Task[Any] | None = None
    _unbroken = 0

    @property
    def _in_callback(self) -> bool:
        return self._listening is not None and current_task() is self._listening

    async def _give_way(self) -> None:
        """Let the other tasks of the loop run, now and then: what never has to wait would stop them all."""
        self._unbroken += 1
        if self._unbroken >= UNBROKEN_MAX:
            self._unbroken = 0
            await sleep(0)
