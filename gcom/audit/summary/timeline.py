"""Timelines, for people and never for a verdict: deliveries, hold-back and latency over a log's own clock.

Times are microseconds since 1970, a segment's `wall_ns` and a line's `t`. A timeline has a bound that does not depend
on the log's length: at most `BINS` bins of time, whose width doubles when they no longer cover the log, and histograms
on a logarithmic scale. Both are sums, so two timelines can be added in either order.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field

import numpy as np

from gcom.audit.input.contract import DELIVER, SEND
from gcom.audit.input.rows import Ints, Rows

BINS = 96  # the bars that a plot in the report has room for, whether the log is an hour or a year long
STEPS = 8  # buckets of a histogram for each doubling: a percentile is off by 4.5 % at most
_HELD_BITS = 6  # low bits of a code of `Timeline.deliveries`, which hold the doublings of the hold-back
_LONGEST = 1 << 45  # microseconds, about a year; what claims more is no time
_BLOCKS = 512  # of a Spread, over all processes of a group


@dataclass(slots=True)
class Counts:
    """A count per code."""

    codes: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    counts: Ints = field(default_factory=lambda: np.zeros(0, np.int64))

    def add(self, codes: Ints, counts: Ints) -> None:
        both = np.concatenate((self.codes, codes))
        # Codes are kept sorted, so that a percentile is one search over the sums.
        self.codes, inverse = np.unique(both, return_inverse=True)
        weights = np.concatenate((self.counts, counts))
        self.counts = np.bincount(inverse, weights=weights, minlength=len(self.codes)).astype(np.int64)

    def add_many(self, codes: Ints, counts: Ints) -> None:
        """Add as `add` does, for codes that are many and near one another."""
        if len(codes):
            low = int(codes.min())
            sums = np.bincount(codes - low, weights=counts)
            found = np.flatnonzero(sums)
            self.add(found + low, sums[found].astype(np.int64))

    @property
    def total(self) -> int:
        return int(self.counts.sum())

    def code_at(self, share: float) -> int:
        """Return the code up to which `share` of all lies; 0 if there is none."""
        if not len(self.counts):
            return 0
        place = int(np.searchsorted(np.cumsum(self.counts), share * self.total))
        return int(self.codes[min(place, len(self.codes) - 1)])

    def percentile(self, share: float) -> float:
        """Return the middle of the bucket (`bucket_of`) below whose end `share` of all lies."""
        return middle_of(self.code_at(share))


@dataclass(slots=True)
class Timeline:
    """The times in one process's log of one (group, instance), or the sum of several processes'.

    A bin is a time shifted right by `shift`. A code of `deliveries` is a bin and, in the low bits, 0 or the doublings
    of the hold-back. `held` and `own` are histograms of the time in hold-back, and from a process's `send` to its own
    delivery in the same segment. `anchors` are the first position in each bin.
    """

    shift: int = 10
    deliveries: Counts = field(default_factory=Counts)
    held: Counts = field(default_factory=Counts)
    own: Counts = field(default_factory=Counts)
    anchors: dict[int, int] = field(default_factory=dict)

    def note(self, rows: Rows, mine: Ints, process: str, wall_ns: object) -> None:
        """Add a segment's rows `mine`, of one (group, instance); rows without a time are left out."""
        t = rows.t[mine]
        # Times are what a clock said, and logs may say anything: what cannot be a time is left out,
        # as it decides nothing.
        timed = mine[(t >= 0) & (t < _LONGEST)]
        if not len(timed) or type(wall_ns) is not int or not 0 < wall_ns < 1 << 62:
            return
        when = rows.t[timed] + wall_ns // 1000
        self._cover(int(when.min()), int(when.max()))
        bins = when >> self.shift
        starts = np.concatenate(([0], np.flatnonzero(np.diff(bins)) + 1))
        # A log's own clock is monotonic, so a bin's first row has its lowest position, but for
        # segments of two writers.
        for each, at in zip(bins[starts].tolist(), rows.at[timed[starts]].tolist(), strict=True):
            self.anchors[each] = min(at, self.anchors.get(each, at))
        kind = rows.kind[timed]
        delivers = timed[kind == DELIVER]
        self._note_deliveries(rows, delivers, bins[kind == DELIVER])
        self._note_own(rows, timed[kind == SEND], delivers, process)

    def _note_deliveries(self, rows: Rows, delivers: Ints, bins: Ints) -> None:
        held, count = rows.held[delivers], rows.count[delivers]
        waited = (held >= 0) & (held < _LONGEST)
        bucket = np.zeros(len(held), np.int64)
        bucket[waited] = bucket_of(held[waited])
        self.held.add_many(bucket[waited], count[waited])
        # One sum for both: the bin above, the hold-back's doublings below. -(-a // b) rounds up.
        self.deliveries.add_many(bins << _HELD_BITS | -(-bucket // STEPS), count)

    def _note_own(self, rows: Rows, sends: Ints, delivers: Ints, process: str) -> None:
        if process not in rows.senders or not len(sends):
            return
        own = delivers[rows.sender[delivers] == rows.senders.index(process)]
        first = rows.number[sends]
        # The search below needs numbers that go up. If they do not, NO_CREATION says so, and no
        # time is worth showing.
        if not len(own) or (np.diff(first) <= 0).any():
            return
        number = rows.number[own]
        run = np.searchsorted(first, number, "right") - 1
        took = rows.t[own] - rows.t[sends][run]
        # A run's delivery belongs to the send whose range has its first number; a negative time is
        # one before the send.
        sound = (run >= 0) & (number < first[run] + rows.count[sends][run]) & (took >= 0)
        self.own.add_many(bucket_of(took[sound]), rows.count[own][sound])

    def add(self, other: Timeline) -> None:
        if not other.anchors:
            return
        # The wider of the two: bins can be added together, and never taken apart.
        self.shift = max(self.shift, other.shift) if self.anchors else other.shift
        self._cover(min(other.anchors) << other.shift, max(other.anchors) << other.shift)
        moved = self.shift - other.shift
        self.deliveries.add(_moved(other.deliveries.codes, moved), other.deliveries.counts)
        self.held.add(other.held.codes, other.held.counts)
        self.own.add(other.own.codes, other.own.counts)
        for each, at in other.anchors.items():
            self.anchors[each >> moved] = min(at, self.anchors.get(each >> moved, at))

    def _cover(self, first: int, last: int) -> None:
        """Make the bins wide enough for all times so far and for these."""
        before = self.shift
        if self.anchors:
            first = min(first, min(self.anchors) << before)
            last = max(last, max(self.anchors) << before)
        # Doubling keeps sums: two old bins are one new bin, so nothing that was counted needs its time again.
        # It ends: at a shift of 64 both are 0.
        while (last >> self.shift) - (first >> self.shift) >= BINS:
            self.shift += 1
        self._widen(self.shift - before)

    def _widen(self, by: int) -> None:
        if by and self.anchors:
            codes, counts = self.deliveries.codes, self.deliveries.counts
            self.deliveries = Counts()
            self.deliveries.add(_moved(codes, by), counts)
            anchors, self.anchors = self.anchors, {}
            for each, at in anchors.items():
                self.anchors[each >> by] = min(at, self.anchors.get(each >> by, at))

    def by_bin(self) -> dict[int, Counts]:
        """Return per bin the hold-back of its deliveries: 0 for none, else 1 + the doublings, rounded up."""
        bins = self.deliveries.codes >> _HELD_BITS
        low = self.deliveries.codes & ((1 << _HELD_BITS) - 1)
        return {
            each: Counts(low[bins == each], self.deliveries.counts[bins == each]) for each in np.unique(bins).tolist()
        }

    def when(self, at: int) -> int | None:
        """Return the time, in microseconds since 1970, about when the process was at position `at`.

        Only for the timeline of one process: positions of several have no common meaning.
        """
        ordered = sorted((first, each) for each, first in self.anchors.items())
        place = bisect_right(ordered, (at, 1 << 62)) - 1
        return (2 * ordered[max(place, 0)][1] + 1) << self.shift >> 1 if ordered else None


def _moved(codes: Ints, by: int) -> Ints:
    return codes >> (by + _HELD_BITS) << _HELD_BITS | codes & ((1 << _HELD_BITS) - 1)


def bucket_of(microseconds: Ints) -> Ints:
    """Return 0 for less than a microsecond; then `STEPS` buckets per doubling."""
    scale: Ints = np.floor(np.log2(np.maximum(microseconds, 1)) * STEPS).astype(np.int64) + 1
    scale[microseconds < 1] = 0
    return scale


def middle_of(bucket: int) -> float:
    """Return the middle of a bucket, in microseconds."""
    return 2 ** ((bucket - 0.5) / STEPS) if bucket > 0 else 0.0


@dataclass(slots=True)
class Spread:
    """The number of violations in each block of 2**shift positions of each process ("": not named)."""

    shift: int = 0
    blocks: dict[tuple[str, int], int] = field(default_factory=dict)

    def add(self, process: str, at: int, messages: int) -> None:
        block = (process, at >> self.shift)
        self.blocks[block] = self.blocks.get(block, 0) + messages
        # As with bins, wider blocks keep the sums. The bound is on all processes of the group together.
        while len(self.blocks) > _BLOCKS and self.shift < 62:
            self._widen(1)

    def _widen(self, by: int) -> None:
        blocks, self.blocks = self.blocks, {}
        self.shift += by
        for (process, block), messages in blocks.items():
            wider = (process, block >> by)
            self.blocks[wider] = self.blocks.get(wider, 0) + messages

    def name(self, process: str) -> None:
        """Name this process in entries that name none."""
        blocks, self.blocks = self.blocks, {}
        for (who, block), messages in blocks.items():
            named = (who or process, block)
            self.blocks[named] = self.blocks.get(named, 0) + messages

    def join(self, other: Spread) -> None:
        if other.shift > self.shift:
            self._widen(other.shift - self.shift)
        for (process, block), messages in other.blocks.items():
            self.add(process, block << other.shift, messages)
