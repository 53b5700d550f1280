"""Replicated state for programs on asyncio: the same machines and promises, awaited (docs/asyncio.md).

    async with gcom.aio.connect("alice") as node, gcom.aio.replicated.open(node, "stock", Stock) as stock:
        left = await stock.take("nails", 3)
        print(left, stock.here.of("nails"))

`handle` is the opened state, `opening` opens it. `starting` and `wakes` are between its threads and the loop.
"""

from __future__ import annotations

from gcom.aio.replicated.handle import AsyncState, CancelledCommand, cancelled_command
from gcom.aio.replicated.opening import open

__all__ = ["AsyncState", "CancelledCommand", "cancelled_command", "open"]
