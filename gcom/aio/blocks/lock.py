"""`Lock` for programs on asyncio."""

from __future__ import annotations

from asyncio import CancelledError, Event
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from gcom.aio.blocks.block import AsyncBlock
from gcom.aio.node import AsyncNode
from gcom.blocks.lock import LockTable, LockView
from gcom.errors import GComError


class AsyncLock(LockView, AsyncBlock[LockTable]):
    """A lock that one task of one process holds, among all that open it: as `gcom.blocks.Lock`, awaited.

        async with lock.hold(timeout_s=5) as token:
            await storage.write(data, token)     # the storage refuses tokens below the highest that it has seen

    A wait that is cancelled, or times out, gives up its place.
    """

    def __init__(self, node: AsyncNode, name: str, *, timeout_s: float = 10.0, **options: Any) -> None:
        self._lost = Event()
        super().__init__(node, name, timeout_s=timeout_s, **options)

    @property
    def lost(self) -> Event:
        """Set when the lock that was acquired last is held no more, or when nobody can say."""
        return self._lost

    async def acquire(self, timeout_s: float | None = None) -> int:
        """Wait for the lock; return its token, which is above that of each holder before. Raises GComTimeout."""
        ticket = self._new_ticket()
        self._lost = Event()
        try:
            if not await self._state.call(LockTable.ask, ticket):
                await self._await(lambda: self._machine.token_of(ticket) > 0, timeout_s, f"turn, behind {self.holder}")
            token: int = self._machine.token_of(ticket)
        except (GComError, CancelledError) as error:
            self._ticket = ""
            self._state.when_started(error, partial(self._surely, "give_up", ticket))
            raise
        if not token:
            self._lost.set()  # it was held for a moment, and this process was put out
        return token

    async def release(self) -> None:
        """Free the lock. Not an error if it was lost meanwhile; after another error it is freed once it can be."""
        ticket, self._ticket = self._ticket, ""
        if ticket:
            try:
                await self._state.call(LockTable.give_up, ticket)
            except (GComError, CancelledError):
                self._surely("give_up", ticket)
                raise

    @asynccontextmanager
    async def hold(self, timeout_s: float | None = None) -> AsyncIterator[int]:
        """Hold the lock within a block; yield its token."""
        token = await self.acquire(timeout_s)
        try:
            yield token
        finally:
            await self.release()

    def _lose(self) -> None:
        self._state.wakes.post(self._lost.set)
