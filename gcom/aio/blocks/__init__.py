"""Building blocks for programs on asyncio: those of `gcom.blocks`, awaited (docs/blocks.md).

    async with gcom.aio.blocks.Lock(node, "nightly") as lock, lock.hold() as token:
        ...

Each module has the block of its name; `block` is what they share.
"""

from __future__ import annotations

from gcom.aio.blocks.barrier import AsyncBarrier as Barrier
from gcom.aio.blocks.counter import AsyncCounter as Counter
from gcom.aio.blocks.dict import AsyncDict as Dict
from gcom.aio.blocks.election import AsyncElection as Election
from gcom.aio.blocks.lock import AsyncLock as Lock
from gcom.aio.blocks.presence import AsyncPresence as Presence
from gcom.aio.blocks.work_queue import AsyncTask as QueuedTask
from gcom.aio.blocks.work_queue import AsyncWorkQueue as WorkQueue

__all__ = ["Barrier", "Counter", "Dict", "Election", "Lock", "Presence", "QueuedTask", "WorkQueue"]
