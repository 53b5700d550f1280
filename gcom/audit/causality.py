"""CAUSAL over messages: what senders had delivered, held against what receivers had settled, bucket by bucket.

When p delivers message n of s, for each other member q the highest number that s had delivered of q before sending n
must be settled at p. Both sides are columns: a block of the PAST has s's sends with what s had heard of each q, one of
the PRESENT p's deliveries of s with the highest that p had settled of each q, and what was missing beneath. Both are
cut at buckets of s's numbers, so that one task can compare a sender's bucket with what all receivers say of it.
A run is one row on either side: what others had sent cannot change inside one.
"""

from __future__ import annotations

import zlib
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import msgpack
import numpy as np

from gcom.audit.hashing import BUCKET, split_at_buckets
from gcom.audit.intervals import Intervals
from gcom.audit.place import EXAMPLES, Place, Tally
from gcom.audit.ranges import expanded
from gcom.audit.records import DELIVER, Ints, Rows

# Columns by name, one row a run or a piece of one: `number`, `count`, and "of q" for each other process q; in the
# PRESENT also `at` and `line`, and "holes of q": the columns of _Holes, one after the other. What holds for the whole
# block: `certain` and `since`, its first position; in the PRESENT also `process`, `view`, `members` (None: a gap hides
# their record), `file`, and `left_out`: the processes of which there are more holes than a block may have.
Block = dict[str, Any]
Placed = tuple[str, int, str, Block]  # sender, bucket of its numbers, PAST or PRESENT, the block
PAST, PRESENT = "past", "present"
HOLES_MAX = 4096  # of one sender in a block of a large group; beyond, the block is unknown
_EVER = 1 << 62
_NO_NUMBERS = np.zeros(0, np.int64)


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

    def record_deliveries(self, rows: Rows, passed: Ints, place: Place, path: str) -> None:
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


def _settled_before(rows: Rows, passed: Ints, place: Place) -> tuple[dict[str, Ints], dict[str, Ints]]:
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


def judge_causality(blocks: Iterable[Placed], members: dict[int, list[str]], coverage: dict[str, str]) -> Tally:
    """CAUSAL over buckets of senders' numbers, of each of which `blocks` are all; in any order.

    `members` are by view, for who knows only its number.
    """
    tally = Tally()
    buckets: dict[tuple[str, int], dict[str, list[Block]]] = {}
    for sender, bucket, kind, block in blocks:
        buckets.setdefault((sender, bucket), {PAST: [], PRESENT: []})[kind].append(block)
    for (sender, _), sides in sorted(buckets.items(), key=lambda each: each[0]):
        _judge_bucket(tally, sender, sides[PAST], sides[PRESENT], members, closed=coverage.get(sender) == "closed")
    return tally


def _judge_bucket(
    tally: Tally,
    sender: str,
    past: list[Block],
    present: list[Block],
    members: dict[int, list[str]],
    *,
    closed: bool,
) -> None:
    """`closed` tells whether the sender's log is complete, so that it sent nothing else."""
    sends = _Sends(sorted(past, key=lambda block: block["since"]))
    for block in sorted(present, key=lambda block: (block["process"], block["since"])):
        if block["view"] is None:
            continue
        run, step = expanded(block["count"])
        number = block["number"][run] + step
        place, known = sends.find(number)
        if not known.all() and not closed:
            missing = int((~known).sum())
            first = int(number[~known][0])
            tally.doubt(missing, f"the log of {sender} does not tell what it had delivered before {first}")
        inside = members.get(block["view"], ()) if block["members"] is None else block["members"]
        for other, heard in sends.heard.items():
            if other != sender and other in inside:
                needed = np.where(known, heard[place], 0)
                _compare(tally, sender, block, other, needed, run, step)


def _compare(tally: Tally, sender: str, block: Block, other: str, needed: Ints, run: Ints, step: Ints) -> None:
    """`needed` is the number of `other` that each message needs, 0 for none; `run` and `step` are as of expanded()."""
    counts = needed > 0
    tally.evaluated += int(counts.sum())
    late = np.flatnonzero(counts & _is_missing(block, other, needed, run, step))
    if not block["certain"]:
        if len(late):
            number = int(block["number"][run[late[0]]] + step[late[0]])
            tally.doubt(len(late), f"{block['process']} has a gap before it delivered {number} of {sender}")
        return
    if other in block["left_out"] and counts.any():
        tally.doubt(1, f"{block['process']} delivered more of {other} out of turn than is kept: --exact decides")
    for index in late[:EXAMPLES].tolist():
        into = {name: int(block[name][run[index]] + step[index]) for name in ("at", "number")}
        where = {name: block[name] for name in ("process", "view", "file")}
        line = int(block["line"][run[index]])
        tally.violate(1, **where, **into, sender=sender, line=line, other=other, needed=int(needed[index]))
    tally.violations += max(0, len(late) - EXAMPLES)


def _is_missing(block: Block, other: str, needed: Ints, run: Ints, step: Ints) -> Any:
    """Whether each needed number of `other` was not settled before the message that needs it."""
    missing = needed > (block[f"of {other}"][run] if f"of {other}" in block else 0)
    if f"holes of {other}" in block:
        first, last, since, until = block[f"holes of {other}"].reshape(4, -1)
        at = block["at"][run] + step
        hole = np.maximum(np.searchsorted(first, needed, "right") - 1, 0)
        missing |= (needed >= first[hole]) & (needed <= last[hole]) & (since[hole] < at) & (at <= until[hole])
    return missing


class _Sends:
    """A sender's numbers in a bucket, each once, with what had been heard before it; the first of a number counts.

    `past` are the blocks in order. `heard` has for each other process what had been delivered of it before each number.
    """

    def __init__(self, past: list[Block]) -> None:
        runs = [expanded(block["count"]) for block in past]
        number = [block["number"][run] + step for block, (run, step) in zip(past, runs, strict=True)]
        certain = [np.full(len(run), block["certain"]) for block, (run, _) in zip(past, runs, strict=True)]
        self._numbers, once = np.unique(np.concatenate([_NO_NUMBERS, *number]), return_index=True)
        self._certain = np.concatenate([_NO_NUMBERS, *certain]).astype(np.bool_)[once]
        self.heard: dict[str, Ints] = {}
        for name in sorted({name for block in past for name in block if name.startswith("of ")}):
            heard = [
                block[name][run] if name in block else np.zeros(len(run), np.int64)
                for block, (run, _) in zip(past, runs, strict=True)
            ]
            self.heard[name[3:]] = np.concatenate(heard)[once]

    def find(self, number: Ints) -> tuple[Ints, Any]:
        """Where each number is in `heard`, and whether it is there and certain."""
        if not len(self._numbers):
            return np.zeros(len(number), np.int64), np.zeros(len(number), np.bool_)
        place = np.minimum(np.searchsorted(self._numbers, number), len(self._numbers) - 1)
        return place, (self._numbers[place] == number) & self._certain[place]
