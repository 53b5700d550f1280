"""`Dict` for programs on asyncio."""

from __future__ import annotations

from functools import partial
from typing import Any

from gcom.aio.blocks.block import AsyncBlock
from gcom.aio.replicated.watching import WatchedChanges
from gcom.blocks.dict import DictTable, DictView, tell_key


class AsyncDict(DictView, AsyncBlock[DictTable]):
    """Keys and values that processes share: as `gcom.blocks.Dict`, awaited.

        await config.set("colour", "green")
        async for key in config.watch():
            print(key, config.get(key))

    It is read as the blocking one: at once, `config["colour"]` too.
    """

    async def set(self, key: str, value: Any, *, expected: int | None = None, held: bool = False) -> int:
        """Set a value; return its version. `expected`: only if that is the key's version, 0 of one that is not there.

        Raises VersionConflict. `held`: the key ends with this process.
        """
        return await self._state.call(DictTable.put, key, value, expected, held)

    async def delete(self, key: str, *, expected: int | None = None) -> bool:
        """Remove a key; return whether it was there. Raises VersionConflict."""
        return await self._state.call(DictTable.remove, key, expected)

    async def fresh(self, key: str, default: Any = None) -> Any:
        """Return a value with all changes that were confirmed anywhere before this call."""
        row = await self._state.fresh().call(DictTable.row, key)
        return default if row is None else row[0]

    def watch(self) -> WatchedChanges[str | None]:
        """Yield a key after it has changed, from now on, or None where all may have: until the dict is closed.

        At most 10,000 wait for their reader; then None stands for them.
        """
        replicas = self._state.replicas
        return self._state.watched(lambda tell: replicas.watch(partial(tell_key, tell)), lambda: None)
