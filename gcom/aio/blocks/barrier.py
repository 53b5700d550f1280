"""`Barrier` for programs on asyncio."""

from __future__ import annotations

from asyncio import CancelledError
from functools import partial

from gcom.aio.blocks.block import AsyncBlock
from gcom.blocks.barrier import BarrierTable, check_parties
from gcom.errors import GComError, GComTimeout


class AsyncBarrier(AsyncBlock[BarrierTable]):
    """A point that so many processes must have come to before any goes on: as `gcom.blocks.Barrier`, awaited."""

    kind = BarrierTable
    prefix = "barrier"

    async def wait(self, parties: int, timeout_s: float | None = None) -> int:
        """Arrive, and wait for the others; return the round's number.

        Raises GComTimeout, and has not arrived then. Cancelled, it turns back, too.
        """
        check_parties(parties)
        number: int | None = None
        try:
            number = found = await self._state.call(BarrierTable.arrive, parties)
            await self._await(lambda: self._machine.over() > found, timeout_s, f"meeting of {parties}")
            return found
        except GComTimeout:
            if number is None or await self._state.call(BarrierTable.turn_back, number):
                raise
            return number
        except (GComError, CancelledError) as error:
            self._state.when_started(error, partial(self._surely, "turn_back", number))
            raise
