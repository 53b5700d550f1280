"""Latency: how long own messages take from `send` to their delivery here, and how long messages wait after arriving."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

import gcom
from gcom_chat.model.texts.words import translate

EDGES_MS = (0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000)
HELD_MS = 1.0  # what waits longer between arrival and delivery counts as held back


@dataclass(frozen=True, slots=True)
class Histogram:
    """Counts per bucket: bucket i holds what is below EDGES_MS[i], the last one what is above all."""

    counts: tuple[int, ...]
    median_ms: float
    high_ms: float  # 95 of 100 are no higher
    most_ms: float

    @property
    def total(self) -> int:
        """The number of values."""
        return sum(self.counts)


def histogram(values_ms: Sequence[float]) -> Histogram:
    """Return the histogram of some durations; all zero where there are none."""
    counts = [0] * (len(EDGES_MS) + 1)
    for value in values_ms:
        counts[bisect_right(EDGES_MS, value)] += 1
    ranked = sorted(values_ms) or [0.0]
    high = -(-len(ranked) * 95 // 100) - 1  # by nearest rank: the first that 95 of 100 do not exceed
    return Histogram(tuple(counts), ranked[(len(ranked) - 1) // 2], ranked[high], ranked[-1])


def own_ms(traces: Sequence[gcom.Trace]) -> list[float]:
    """Return the times of own messages from sending to delivery here."""
    return [1000 * (each.delivered_s - each.sent_s) for each in traces if each.sent_s is not None]


def held_ms(traces: Sequence[gcom.Trace]) -> list[float]:
    """Return the times of all messages from arrival to delivery here."""
    return [1000 * (each.delivered_s - each.received_s) for each in traces]


def held_share(values_ms: Sequence[float]) -> float:
    """Return the share of messages that waited for longer than HELD_MS."""
    return sum(value > HELD_MS for value in values_ms) / len(values_ms) if values_ms else 0.0


def bucket_names() -> list[str]:
    """Return the upper edge of each bucket, for an axis."""
    names = [f"{edge:g}" if edge < 1000 else f"{edge / 1000:g} s" for edge in EDGES_MS]
    return [*names, translate("latency", "more")]
