"""Building blocks on replicated state: locks, leaders, dicts, counters, queues, barriers, presence (docs/blocks.md).

with gcom.connect("alice") as node, gcom.blocks.Lock(node, "nightly") as lock, lock.hold() as token:
    ...                                        # nobody else is here; token rises with each holder
"""

from __future__ import annotations

from gcom.blocks.barrier import Barrier
from gcom.blocks.block import BlockClosed
from gcom.blocks.counter import Counter
from gcom.blocks.dict import Dict, VersionConflict
from gcom.blocks.election import Election
from gcom.blocks.lock import Lock, LockFull
from gcom.blocks.presence import Presence
from gcom.blocks.work_queue import QueuedTask, TaskDead, WorkQueue

__all__ = [
    "Barrier",
    "BlockClosed",
    "Counter",
    "Dict",
    "Election",
    "Lock",
    "LockFull",
    "Presence",
    "QueuedTask",
    "TaskDead",
    "VersionConflict",
    "WorkQueue",
]
