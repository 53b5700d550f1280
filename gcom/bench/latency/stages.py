"""The stages of a message on its way, from the stamps that `Group.watch` takes at its sender and at a receiver.

All processes are on one machine, and CLOCK_MONOTONIC is one for it: a stamp of one can be compared with another's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise
from statistics import median
from typing import NamedTuple

STAGES = {
    "numbered": "until it has a number: `send`, and the wait for a link",
    "carried": "until its frame is taken in at the receiver",
    "ordered": "until its serial is known there",
    "released": "until nothing is missing: the majority that holds its place",
    "taken": "until the application has it",
}


class Stamps(NamedTuple):
    """The times of one message at one process, in monotonic seconds; `sent_s` at its sender alone."""

    sender: str
    number: int
    sent_s: float | None
    received_s: float
    ordered_s: float | None  # None: no total order
    delivered_s: float
    taken_s: float


def stages_ms(taken: Mapping[str, Iterable[Stamps]]) -> dict[str, float]:
    """Return the median length of each stage at the slowest receiver, from stamps by member; empty without any.

    A message's sender is none of its receivers.
    """
    sent = {(it.sender, it.number): (it.sent_s, it.received_s) for of in taken.values() for it in of if it.sent_s}
    far = [[it for it in of if it.sent_s is None and it[:2] in sent] for of in taken.values()]
    ways = [[_lengths(it, *sent[it[:2]]) for it in stamps] for stamps in far]
    # By the whole way, not by each stage: stages of different receivers do not add up to any message's time.
    slowest = max((way for way in ways if way), key=lambda way: median(map(sum, way)), default=[])
    return {name: median(lengths) * 1000 for name, lengths in zip(STAGES, zip(*slowest, strict=True), strict=False)}


def _lengths(stamps: Stamps, sent_s: float | None, numbered_s: float) -> tuple[float, ...]:
    """Return the seconds of each stage; one that was over before the stage in front of it takes none."""
    assert sent_s is not None, "only the stamps of senders are looked up"
    times = [sent_s, numbered_s, stamps.received_s, stamps.ordered_s or 0.0, stamps.delivered_s, stamps.taken_s]
    # Its serial may be known before the message itself is here.
    for at in range(1, len(times)):
        times[at] = max(times[at], times[at - 1])
    return tuple(after - before for before, after in pairwise(times))
