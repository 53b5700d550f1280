"""The two sides of CAUSAL as columns: what senders had delivered, and what receivers had settled."""

from __future__ import annotations

import zlib
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import msgpack
import numpy as np

from gcom.audit.input.records import DELIVER, Ints, Rows
from gcom.audit.summary.fingerprints import BUCKET, split_at_buckets
from gcom.audit.summary.intervals import Intervals
from gcom.audit.summary.position import LogPosition

# Columns by name, one row a run or a piece of one: `number`, `count`, and "of q" for each other process q; in the
# PRESENT also `at` and `line`, and "holes of q": the columns of _Holes, one after the other. What holds for the whole
# block: `certain` and `since`, its first position; in the PRESENT also `process`, `view`, `members` (None: a gap hides
# their record), `file`, and `left_out`: the processes of which there are more holes than a block may have.
Block = dict[str, Any]


Placed = tuple[str, int, str, Block]  # sender, bucket of its numbers, PAST or PRESENT, the block


PAST, PRESENT = "past", "present"
HOLES_MAX = 4096  # of one sender in a block of a large group; beyond, the block is unknown


_EVER = 1 << 62


@dataclass(slots=True)
class Dependencies:
    """Gathers the blocks of one process in one (group, instance), each with at most `holes_max` holes of a sender."""

    process: str
    holes_max: int = HOLES_MAX
    blocks: list[Placed] = field(default_factory=list)

    def record_sends(self, rows: Rows, sends: Ints, heard: dict[str, Ints], certain: bool) -> None:
        """`heard` has for each other process what had been delivered of it before each of the sends."""
        if not len(sends):
            return
        row, into, length = split_at_buckets(rows.number[sends], rows.count[sends])
        number = rows.number[sends][row] + into
        columns = {"number": number, "count": length, **{f"of {who}": true[row] for who, true in heard.items()}}
        for bucket, part in _by_bucket(columns):
            about = {"certain": certain, "since": int(rows.at[sends[0]])}
            self.blocks.append((self.process, bucket, PAST, {**about, **part}))

    def record_deliveries(self, rows: Rows, passed: Ints, place: LogPosition, path: str) -> None:
        """`passed` are rows of deliveries and skips, in order. To be called before the place moves on."""
        settled, holes = _settled_before(rows, passed, place)
        delivered = rows.kind[passed] == DELIVER
        members = None if place.members is None else list(place.members)
        about = {"process": self.process, "view": place.view, "members": members, "certain": place.certain}
        for code in np.unique(rows.sender[passed][delivered]).tolist():
            chosen = np.flatnonzero(delivered & (rows.sender[passed] == code))
            mine = passed[chosen]
            row, into, length = split_at_buckets(rows.number[mine], rows.count[mine])
            columns = {f"of {who}": steps[chosen][row] for who, steps in settled.items() if who != rows.senders[code]}
            columns |= {"number": rows.number[mine][row] + into, "count": length, "at": rows.at[mine][row] + into}
            for bucket, part in _by_bucket({**columns, "line": mine[row] + 2}):
                since, until = int(part["at"][0]), int(part["at"][-1] + part["count"][-1])
                there = {who: each[:, (each[2] < until) & (each[3] >= since)] for who, each in holes.items()}
                left_out = [who for who, each in there.items() if each.shape[1] > self.holes_max]
                kept = {who: each[:, : self.holes_max].ravel() for who, each in there.items() if each.size}
                part |= {f"holes of {who}": each for who, each in kept.items()}
                block = {**about, "since": since, "file": path, "left_out": left_out, **part}
                self.blocks.append((rows.senders[code], bucket, PRESENT, block))


def _by_bucket(columns: dict[str, Ints]) -> Iterable[tuple[int, dict[str, Ints]]]:
    """The columns cut where the bucket of `number` changes."""
    bucket = columns["number"] // BUCKET
    borders = np.flatnonzero(np.diff(bucket)) + 1
    for start, end in zip([0, *borders.tolist()], [*borders.tolist(), len(bucket)], strict=True):
        yield int(bucket[start]), {name: column[start:end] for name, column in columns.items()}


def _settled_before(rows: Rows, passed: Ints, place: LogPosition) -> tuple[dict[str, Ints], dict[str, Ints]]:
    """Of each process the highest number settled before each row, and the holes beneath it, as _Holes has them."""
    highest: dict[str, Ints] = {}
    holes: dict[str, Ints] = {}
    for who in sorted({*place.settled, *(rows.senders[c] for c in np.unique(rows.sender[passed]).tolist())}):
        settled = place.settled.get(who, Intervals())
        code = rows.senders.index(who) if who in rows.senders else -1
        of = np.flatnonzero(rows.sender[passed] == code)
        first = rows.number[passed[of]]
        last = first + rows.count[passed[of]] - 1
        steps = np.maximum.accumulate(np.concatenate(([settled.highest], last)))
        highest[who] = steps[np.searchsorted(of, np.arange(len(passed)))]
        missing = _Holes(Intervals([(1, settled.highest)] if settled else []).minus(settled))
        odd = np.flatnonzero(first != steps[:-1] + 1)
        each = (column[odd].tolist() for column in (first, last, steps, rows.at[passed[of]]))
        for settles in zip(*each, strict=True):
            missing.settle(*settles)
        if len(missing):
            holes[who] = missing.columns()
    return highest, holes


class _Holes:
    """Numbers of one sender that a process had not settled though it had settled higher ones.

    A number is in one hole at most: from the position `since` on at which a higher one was settled, to `until`.
    """

    def __init__(self, missing: Intervals) -> None:
        self._open = [(first, last, 0) for first, last in missing]
        self._filled: list[tuple[int, int, int, int]] = []

    def __len__(self) -> int:
        return len(self._open) + len(self._filled)

    def settle(self, first: int, last: int, highest: int, at: int) -> None:
        """A row at position `at` settles first…last; `highest` had been settled before."""
        low = bisect_left(self._open, first, key=lambda hole: hole[1])
        high = bisect_right(self._open, last, key=lambda hole: hole[0])
        rest = []
        for a, b, since in self._open[low:high]:
            self._filled.append((max(a, first), min(b, last), since, at))
            rest += [(x, y, since) for x, y in ((a, first - 1), (last + 1, b)) if x <= y]
        self._open[low:high] = rest
        if first > highest + 1:
            self._open.append((highest + 1, first - 1, at))

    def columns(self) -> Ints:
        """By number, one hole a column: `first`, `last`, `since`, `until`."""
        left = [(*hole, _EVER) for hole in self._open]
        return np.array(sorted(self._filled + left), np.int64).T


def packed(block: Block) -> bytes:
    """Columns go up by little, so their differences are small and compress well."""
    columns = {name: column for name, column in block.items() if isinstance(column, np.ndarray)}
    about = {name: value for name, value in block.items() if not isinstance(value, np.ndarray)}
    small = {name: [int(column[0]), zlib.compress(np.diff(column).tobytes(), 1)] for name, column in columns.items()}
    data: bytes = msgpack.packb([about, small])
    return data


def unpacked(data: bytes) -> Block:
    """What `packed` was given."""
    about, small = msgpack.unpackb(data)
    block: Block = dict(about)
    for name, (first, steps) in small.items():
        changes = np.frombuffer(zlib.decompress(steps), np.int64)
        block[name] = np.concatenate(([first], first + np.cumsum(changes)))
    return block
