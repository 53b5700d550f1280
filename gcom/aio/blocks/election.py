"""`Election` for programs on asyncio."""

from __future__ import annotations

import traceback
from asyncio import Task, current_task, gather, sleep, wait
from collections.abc import Callable, Generator
from typing import Any, Self

from gcom.aio.blocks.lock import AsyncLock
from gcom.aio.node import AsyncNode
from gcom.aio.tasks import awaited
from gcom.blocks.election import AGAIN_S
from gcom.errors import Forked, GComError, NotAMember


class AsyncElection:
    """A candidate: it is the leader when those before it are gone. As `gcom.blocks.Election`, in an event loop.

        async with gcom.aio.blocks.Election(node, "scheduler", on_gain=start, on_loss=stop) as election: ...

    `on_gain(token)` and `on_loss()` are functions or `async def`, called one after the other by a task of the
    election's own. `on_gain` should return soon: start a task in it, which `on_loss` cancels.
    """

    def __init__(
        self,
        node: AsyncNode,
        name: str,
        *,
        on_gain: Callable[[int], object] = lambda _: None,
        on_loss: Callable[[], object] = lambda: None,
        **options: Any,
    ) -> None:
        self._node = node
        self._lock = AsyncLock(node, f"leader-{name}", **options)
        self._on_gain, self._on_loss = on_gain, on_loss
        self._token = 0
        self._closing = False
        self._task: Task[None] | None = None

    @property
    def leader(self) -> str:
        """The process that leads, as this process knows; empty: nobody."""
        return self._lock.holder

    @property
    def token(self) -> int:
        """The token of this process while it leads, else 0: it rises with each leader."""
        return self._token

    async def close(self) -> None:
        """Lead no more, and be no candidate. `on_loss` is called first if it leads. May be called again."""
        self._closing = True
        self._lock.lost.set()
        if self._task is not None and self._task is not current_task():
            if self._token:
                await wait([self._task], timeout=self._lock.timeout_s)
            self._task.cancel()
            await gather(self._task, return_exceptions=True)
            await self._lock.close()  # from a callback the task does that as it ends

    async def _open(self) -> Self:
        await self._lock
        self._task = self._node.start(self._run())
        return self

    def __await__(self) -> Generator[Any, Any, Self]:
        return self._open().__await__()

    async def __aenter__(self) -> Self:
        return await self._open()

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _run(self) -> None:
        while not self._closing:
            try:
                await self._lock.release()
                if token := await self._lock.acquire(None):
                    await self._lead(token)
            except (NotAMember, Forked):  # the block was closed, or its group is over
                break
            except GComError:  # no majority was heard for a while: it is a candidate again
                await sleep(AGAIN_S)
        await self._lock.close()

    async def _lead(self, token: int) -> None:
        self._token = token
        try:
            await self._call(self._on_gain, token)
            if not self._closing:
                await self._lock.lost.wait()
        finally:
            self._token = 0
            await self._call(self._on_loss)

    async def _call(self, callback: Callable[..., object], *arguments: object) -> None:
        try:
            await awaited(callback(*arguments))
        except Exception:  # outermost: what the application's callback raises is not the election's end
            traceback.print_exc()
