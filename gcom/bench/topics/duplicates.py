"""The cost of looking for duplicates: a named producer beside plain sends, in processor time, in turns.

Processor time is that of the whole process: of the caller and the writing thread, without waits for the disk.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from time import process_time
from typing import NamedTuple

from gcom import topics

TURNS = 40  # at most


class CheckCost(NamedTuple):
    """Microseconds of processor time for a message, with the check for duplicates and without it."""

    checked_us: float
    plain_us: float

    @property
    def percent(self) -> float:
        """Return how much dearer a message is with the check."""
        return 100 * (self.checked_us / self.plain_us - 1)


def check_cost(store: topics.TopicStore, body: bytes, batches: int, size: int) -> CheckCost:
    """Send `batches` batches in turns with a producer and without one; of all turns the least counts.

    Whatever else the machine does can only add to a turn.
    """
    producer, plain = store.topic("checked").producer("one"), store.topic("plain")
    ways: Sequence[Callable[[list[bytes]], object]] = producer.send_many, plain.send_many
    turns = min(TURNS, max(2, batches))
    each = batches // turns or 1
    took_s: list[list[float]] = [[], []]
    for turn in range(turns + 1):
        order = (0, 1) if turn % 2 else (1, 0)
        for way in order:
            took_s[way].append(_took_s(ways[way], [body] * size, each))
    # The first turn opens the producer, and fills caches.
    checked, plain_s = (min(it[1:]) / each / size for it in took_s)
    return CheckCost(checked * 1e6, plain_s * 1e6)


def _took_s(send: Callable[[list[bytes]], object], bodies: list[bytes], times: int) -> float:
    gc.collect()  # else it falls into one of both
    began = process_time()
    for _ in range(times):
        send(bodies)
    return process_time() - began
