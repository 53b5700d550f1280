"""`Presence` for programs on asyncio."""

from __future__ import annotations

from typing import Any

from gcom.aio.blocks.block import AsyncBlock
from gcom.blocks.presence import PresenceTable, PresenceView


class AsyncPresence(PresenceView, AsyncBlock[PresenceTable]):
    """The processes that have this block open, and a value of each: as `gcom.blocks.Presence`, awaited."""

    async def say(self, value: Any) -> None:
        """Say something of this process: all see it."""
        await self._state.call(PresenceTable.say, value)
