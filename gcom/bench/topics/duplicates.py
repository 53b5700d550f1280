"""The cost of looking for duplicates: a named producer beside plain sends, in processor time, in turns.

Processor time is that of the whole process: of the caller and the writing thread, without waits for the disk.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from functools import partial
from time import process_time

from gcom import topics
from gcom.bench.frame import in_turns

TURNS = 40  # at most


def check_cost(store: topics.TopicStore, body: bytes, batches: int, size: int) -> tuple[float, float]:
    """Return the microseconds of processor time of a message, with the check for duplicates and without it.

    `batches` batches are sent in turns with a producer and without one. Of all turns the least counts: other work can
    only add to a turn.
    """
    turns = min(TURNS, max(2, batches))
    sends = {"checked": store.topic("checked").producer("one").send_many, "plain": store.topic("plain").send_many}
    bodies, each = [body] * size, max(1, batches // turns)
    sides = {way: partial(_message_us, send, bodies, each) for way, send in sends.items()}
    in_turns(1, sides)  # not counted: it opens the producer, and fills caches
    taken = in_turns(turns, sides)
    return min(taken["checked"]), min(taken["plain"])


def _message_us(send: Callable[[list[bytes]], object], bodies: list[bytes], times: int) -> float:
    gc.collect()  # else it falls into one of both
    began = process_time()
    for _ in range(times):
        send(bodies)
    return (process_time() - began) / times / len(bodies) * 1e6
