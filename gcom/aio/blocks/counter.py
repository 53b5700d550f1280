"""`Counter` for programs on asyncio."""

from __future__ import annotations

from gcom.aio.blocks.block import AsyncBlock
from gcom.blocks.counter import CounterTable, CounterView


class AsyncCounter(CounterView, AsyncBlock[CounterTable]):
    """A whole number of any size, 0 at first: as `gcom.blocks.Counter`, awaited."""

    async def add(self, amount: int = 1) -> int:
        """Add, and return the sum."""
        return await self._state.call(CounterTable.add, amount)

    async def fresh(self) -> int:
        """Return the number with all that was added anywhere before this call."""
        return await self._state.fresh().call(CounterTable.get)
