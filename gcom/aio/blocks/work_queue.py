"""`WorkQueue` for programs on asyncio."""

from __future__ import annotations

from asyncio import CancelledError
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

from gcom.aio.blocks.block import AsyncBlock
from gcom.blocks.work_queue import WorkTable, WorkView
from gcom.replicated import OutcomeUnknown


@dataclass(slots=True)
class AsyncTask:
    """A task that this worker has: say `await done(result)` or `await fail(reason)`."""

    queue: AsyncWorkQueue = field(repr=False)
    number: int
    payload: Any
    tries: int  # how often it was begun, this time included

    async def done(self, result: Any = None) -> bool:
        """Give the result; False: the task was taken from this worker meanwhile, and its result counts for nothing."""
        return await self.queue._state.call(WorkTable.done, self.number, self.tries, result)

    async def fail(self, reason: str) -> bool:
        """Have it done again, or called dead after `tries_max`; False: it was taken from this worker meanwhile."""
        return await self.queue._state.call(WorkTable.failed, self.number, self.tries, reason, self.queue.tries_max)


class AsyncWorkQueue(WorkView, AsyncBlock[WorkTable]):
    """Tasks for whoever opens the queue: as `gcom.blocks.WorkQueue`, awaited.

        number = await queue.put({"resize": "a.png"})       # anywhere
        async for task in queue.tasks():                    # in each worker
            await task.done(await resize(task.payload))
        await queue.result(number, timeout_s=60)

    A `take` that is cancelled takes nothing: a task that was on its way to it is given back.
    """

    async def put(self, payload: Any) -> int:
        """Add a task; return its number. Raises Refused at 100,000 that are not done."""
        return await self._state.call(WorkTable.put, payload)

    async def take(self, timeout_s: float | None = None) -> AsyncTask:
        """Wait for a task, and have it; raises GComTimeout."""
        deadline = None if timeout_s is None else monotonic() + timeout_s
        while True:
            left = None if deadline is None else max(0.0, deadline - monotonic())
            await self._await(self._machine.has_waiting, left, "task")
            try:
                found = await self._state.call(WorkTable.take)
            except (CancelledError, OutcomeUnknown) as error:
                self._state.when_answered(error, self._give_back)
                raise
            if found:
                return AsyncTask(self, *found)

    async def tasks(self) -> AsyncIterator[AsyncTask]:
        """Yield tasks for ever; one that raises in the loop's body is not ended: end each by `done` or `fail`."""
        while True:
            yield await self.take()

    async def result(self, number: int, timeout_s: float | None = None) -> Any:
        """Wait for a task's result; raises TaskDead, GComTimeout, Refused where it is unknown or long ended."""
        await self._await(lambda: self._machine.ended(number)[0] != "open", timeout_s, f"result of task {number}")
        return self._result_of(number)

    async def revive(self, number: int) -> bool:
        """Have a dead task done again; return whether it was dead."""
        return await self._state.call(WorkTable.revive, number)
