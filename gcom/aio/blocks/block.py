"""The part that all blocks of an event loop share: how they are opened, and waits for their changes."""

from __future__ import annotations

from asyncio import Future, get_running_loop, wait
from collections.abc import Callable, Generator
from time import monotonic
from typing import Any, NoReturn, Self, TypeVar

import gcom.aio.replicated
from gcom.aio.node import AsyncNode
from gcom.aio.replicated.handle import AsyncState
from gcom.blocks.block import LOOK_AGAIN_S, BlockClosed, BlockView
from gcom.errors import GComTimeout, LocalError
from gcom.replicated import Change
from gcom.replicated.machine import Machine

M = TypeVar("M", bound=Machine)


class UnopenedBlock:
    """The place of what a block has once it is open."""

    def __getattr__(self, name: str) -> NoReturn:
        raise LocalError("the block is not open: use it in an `async with` block, or await it")


class AsyncBlock(BlockView[M]):
    """A block of that name: all processes that open it share it, on asyncio or not.

        async with gcom.aio.blocks.Counter(node, "runs") as runs: ...
        runs = await gcom.aio.blocks.Counter(node, "runs")

    `options` are those of `gcom.replicated.open`: with `data=` and `replicas=` the block survives that all are killed.
    """

    _state: AsyncState[M] = UnopenedBlock()  # type: ignore[assignment] # until it is opened
    _machine: Any = UnopenedBlock()

    def __init__(self, node: AsyncNode, name: str, *, timeout_s: float = 10.0, **options: Any) -> None:
        self.name = name
        self.timeout_s = timeout_s
        self._node = node
        self._options = options
        self._waiting: set[Future[None]] = set()
        self._woken = False
        self._is_closed = False
        self._unwatch: Callable[[], None] = lambda: None

    async def _open(self) -> Self:
        group = f"{self.prefix}-{self.name}"
        kind: Any = self.kind
        self._state = await gcom.aio.replicated.open(self._node, group, kind, timeout_s=self.timeout_s, **self._options)
        self._machine = self._state.here
        self._unwatch = self._state.replicas.watch(self._on_change)
        return self

    async def close(self) -> None:
        """Leave the group. What this process holds is freed by the others. May be called again."""
        if not self._is_closed:
            self._is_closed = True
            self._unwatch()
            self._wake()
        await self._state.close()

    def __await__(self) -> Generator[Any, Any, Self]:
        return self._open().__await__()

    async def __aenter__(self) -> Self:
        return await self._open()

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        if isinstance(self._machine, UnopenedBlock):
            return f"<{type(self).__name__} {self.name!r}, not open>"
        return super().__repr__()

    async def _await(self, reached: Callable[[], bool], timeout_s: float | None, waits_for: str) -> None:
        """Wait until a query says so; raises GComTimeout."""
        deadline = None if timeout_s is None else monotonic() + timeout_s
        while not reached():
            if self._is_closed:
                raise BlockClosed(f"{type(self).__name__} {self.name!r} was closed")
            left = LOOK_AGAIN_S if deadline is None else deadline - monotonic()
            if left <= 0:
                raise GComTimeout(f"{type(self).__name__} {self.name!r}: no {waits_for} after {timeout_s} s")
            news: Future[None] = get_running_loop().create_future()
            self._waiting.add(news)
            try:
                await wait([news], timeout=min(left, LOOK_AGAIN_S))
            finally:
                self._waiting.discard(news)

    def _on_change(self, change: Change) -> None:
        self._note(change)
        if not self._woken:
            self._woken = True
            self._state.wakes.post(self._wake)

    def _wake(self) -> None:
        self._woken = False
        for news in self._waiting:
            if not news.done():
                news.set_result(None)
