"""`AsyncGroup`: a membership as programs on asyncio hold it."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from gcom.aio.calling import AsyncCalling
from gcom.aio.receiving import AsyncReceiving
from gcom.aio.sending import AsyncSending
from gcom.aio.tasks import Tasks, Worker
from gcom.aio.waits import LoopWaits
from gcom.runtime.api.group import Membered
from gcom.runtime.api.guards import seconds_of
from gcom.runtime.api.inspecting import Inspecting
from gcom.runtime.host import Host
from gcom.runtime.membership import Membership
from gcom.values.view import View


class AsyncGroup(AsyncSending, AsyncCalling, Inspecting, AsyncReceiving, Membered):
    """A membership, from `AsyncNode.join` until `leave`, in one event loop. As `gcom.Group`, awaited."""

    def __init__(self, host: Host, membership: Membership, waits: LoopWaits, worker: Worker) -> None:
        super().__init__(host, membership)
        self._waits = waits
        self._tasks = Tasks()
        self._worker = worker

    async def wait_for_members(self, count: int, timeout_s: float | None = None) -> View:
        """Wait until the view has at least `count` members; raises GComTimeout, NotAMember, Detached, StateFailed."""
        return await self._waits.run(self._await_members(count, timeout_s))

    async def leave(self, timeout_s: float = 10.0) -> None:
        """Leave: what was sent goes first, the others' view goes on without this process. As `gcom.Group.leave`."""
        await self._waits.run(self._membership.leaving(seconds_of(timeout_s), self._reads_on))

    async def end_tasks(self, timeout_s: float) -> None:
        """End the listener, once it has read all or so many seconds are over, and what serves calls."""
        if self._serving is not None:
            self._serving.cancel()
        await self._tasks.end(timeout_s)

    def __repr__(self) -> str:
        return (
            f"<gcom.aio.AsyncGroup {self.name!r} as {self.process}, view {self.view.number}: {', '.join(self.members)}>"
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._host.forked:
            await self.leave()
