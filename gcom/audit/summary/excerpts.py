"""Excerpts: messages that are read again, as columns of one process's runs that one check compares with others' runs.

An excerpt belongs to a bucket of 65,536 numbers, serials or places, and all excerpts of a bucket are judged together,
so that one task's memory has a bound however long the logs are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gcom.audit.input.rows import Ints
from gcom.audit.summary.fingerprints import BUCKET, split_at_buckets
from gcom.audit.summary.intervals import Intervals

# Columns by name, one row per run or part of one, and what holds for all rows of the excerpt.
Excerpt = dict[str, Any]
Placed = tuple[str, str, int, Excerpt]  # rule, what its buckets are of (as a sender), bucket, excerpt


@dataclass(slots=True)
class MessageRequest:
    """A rule's request for the messages that decide it, in excerpts.

    `buckets` are those that differ: of serials for SERIAL_UNIQUE, (sender, bucket of numbers) for INTEGRITY. `classes`
    are, for TOTAL_GAP_FREE, those whose orders differ: the view, and the process and index of each section. `delivered`
    has, for TOTAL, the numbers that each process delivered of each sender. `members` are, for CAUSAL, those of each
    view.
    """

    rule: str
    buckets: list[Any] = field(default_factory=list)
    classes: list[tuple[int, list[tuple[str, int]]]] = field(default_factory=list)
    delivered: dict[str, dict[str, Intervals]] = field(default_factory=dict)
    members: dict[int, list[str]] = field(default_factory=dict)


def cut(start: Ints, count: Ints) -> Iterator[tuple[int, Ints, Ints, Ints]]:
    """Cut runs at bucket borders of `start`; yield per bucket its rows, the offset into each, and the number of
    messages.
    """
    row, into, length = split_at_buckets(start, count)
    bucket = (start[row] + into) // BUCKET
    # Stable: within a bucket the rows stay in the log's order, which the judges rely on.
    order = np.argsort(bucket, kind="stable")
    borders = np.flatnonzero(np.diff(bucket[order])) + 1
    for part in np.split(order, borders) if len(order) else ():
        yield int(bucket[part[0]]), row[part], into[part], length[part]
