"""CAUSAL over many messages: what senders had delivered, held against what receivers had settled, bucket by bucket.

When p delivers message n of s, for each other member q the highest number that s had delivered of q before sending n
must be settled at p. Both sides are columns: a block of the PAST has s's sends with what s had heard of each q, one of
the PRESENT p's deliveries of s with the highest that p had settled of each q, and what was missing beneath. Both are
cut at buckets of s's numbers and packed, so that one task compares a sender's bucket with what all receivers say of it.
A run is one row on either side: what others had sent cannot change inside one.
"""

from __future__ import annotations

import zlib
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
# PRESENT also `at` and `line`. What holds for the whole block: `certain`; in the PRESENT also `process`, `view`,
# `members` (None: a gap hides their record), `file`, and `holes`: [first, last, since, until] by process, see _Hole.
Block = dict[str, Any]
PAST, PRESENT = "past", "present"
HOLES_MAX = 256  # of one sender at one process in a stretch of one segment; beyond, its bucket is unknown
_EVER = 1 << 62


@dataclass(slots=True)
class Crossing:
    """Gathers the blocks of one process in one (group, instance): (sender, bucket, kind, packed columns)."""

    process: str
    blocks: list[tuple[str, int, str, bytes]] = field(default_factory=list)

    def record_sends(self, rows: Rows, sends: Ints, heard: dict[str, Ints], certain: bool) -> None:
        """`heard` has for each other process what had been delivered of it before each of the sends."""
        if not len(sends):
            return
        row, into, length = split_at_buckets(rows.number[sends], rows.count[sends])
        number = rows.number[sends][row] + into
        columns = {f"of {who}": true[row] for who, true in heard.items()}
        about = {"certain": certain}
        self._gather(self.process, PAST, about, {"number": number, "count": length, **columns})

    def record_deliveries(self, rows: Rows, passed: Ints, place: Place, path: str) -> None:
        """`passed` are rows of deliveries and skips, in order. To be called before the place moves on."""
        settled, holes = _settled_before(rows, passed, place)
        delivered = rows.kind[passed] == DELIVER
        for code in np.unique(rows.sender[passed][delivered]).tolist():
            chosen = np.flatnonzero(delivered & (rows.sender[passed] == code))
            mine = passed[chosen]
            row, into, length = split_at_buckets(rows.number[mine], rows.count[mine])
            columns = {f"of {who}": steps[chosen][row] for who, steps in settled.items() if who != rows.senders[code]}
            columns |= {"number": rows.number[mine][row] + into, "count": length, "at": rows.at[mine][row] + into}
            about = {
                "process": self.process,
                "view": place.view,
                "members": None if place.members is None else list(place.members),
                "certain": place.certain,
                "file": path,
                "holes": {who: [_row(hole) for hole in each[: HOLES_MAX + 1]] for who, each in holes.items()},
            }
            self._gather(rows.senders[code], PRESENT, about, {**columns, "line": mine[row] + 2})

    def _gather(self, sender: str, kind: str, about: Block, columns: dict[str, Ints]) -> None:
        bucket = columns["number"] // BUCKET
        borders = np.flatnonzero(np.diff(bucket)) + 1
        starts = [0, *borders.tolist()]
        ends = [*borders.tolist(), len(bucket)]
        for start, end in zip(starts, ends, strict=True):
            part = {name: column[start:end] for name, column in columns.items()}
            self.blocks.append((sender, int(bucket[start]), kind, packed(about, part)))


@dataclass(slots=True)
class _Hole:
    """Numbers that a process had not settled though it had settled higher ones: after position `since`, to `until`."""

    first: int
    last: int
    since: int
    until: int = _EVER


def _settled_before(rows: Rows, passed: Ints, place: Place) -> tuple[dict[str, Ints], dict[str, list[_Hole]]]:
    """Of each process the highest number settled before each row, and what was missing beneath it."""
    highest: dict[str, Ints] = {}
    holes: dict[str, list[_Hole]] = {}
    for who in sorted({*place.settled, *(rows.senders[c] for c in np.unique(rows.sender[passed]).tolist() if c >= 0)}):
        settled = place.settled.get(who, Intervals())
        code = rows.senders.index(who) if who in rows.senders else -2
        of = np.flatnonzero(rows.sender[passed] == code)
        first = rows.number[passed[of]]
        last = first + rows.count[passed[of]] - 1
        steps = np.maximum.accumulate(np.concatenate(([settled.highest], last)))
        highest[who] = steps[np.searchsorted(of, np.arange(len(passed)))]
        found = [_Hole(a, b, 0) for a, b in Intervals([(1, settled.highest)] if settled else []).minus(settled)]
        for index in np.flatnonzero(first != steps[:-1] + 1).tolist():
            _settle(found, int(first[index]), int(last[index]), int(steps[index]), int(rows.at[passed[of[index]]]))
        if found:
            holes[who] = found
    return highest, holes


def _settle(holes: list[_Hole], first: int, last: int, highest: int, at: int) -> None:
    """A row at position `at` settles first…last, not right after the highest."""
    for hole in [each for each in holes if each.until == _EVER and each.first <= last and first <= each.last]:
        holes += [_Hole(a, b, hole.since) for a, b in ((hole.first, first - 1), (last + 1, hole.last)) if a <= b]
        hole.first, hole.last, hole.until = max(hole.first, first), min(hole.last, last), at
    if first > highest + 1:
        holes.append(_Hole(highest + 1, first - 1, at))


def _row(hole: _Hole) -> list[int]:
    return [hole.first, hole.last, hole.since, hole.until]


def packed(about: Block, columns: dict[str, Ints]) -> bytes:
    """Columns go up by little, so their differences are small and compress well."""
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


def judge_bucket(
    sender: str, blocks: Iterable[tuple[str, bytes]], members: dict[int, list[str]], *, closed: bool
) -> Tally:
    """CAUSAL over one bucket of a sender's numbers, of which `blocks` are all: their kinds, and they themselves packed.

    `members` are by view, for who knows only its number; `closed` tells whether the sender's log is complete.
    """
    tally = Tally()
    sides: dict[str, list[Block]] = {PAST: [], PRESENT: []}
    for kind, data in blocks:
        sides[kind].append(unpacked(data))
    past, present = sides[PAST], sides[PRESENT]
    others = sorted({name[3:] for block in past for name in block if name.startswith("of ")})
    sends = _Sends(past, others)
    for block in present:
        if block["view"] is None:
            continue
        number = _numbers(block)
        place, known = sends.find(number)
        if not known.all() and not closed:
            missing = int((~known).sum())
            first = int(number[~known][0])
            tally.doubt(missing, f"the log of {sender} does not tell what it had delivered before {first}")
        inside = members.get(block["view"], ()) if block["members"] is None else block["members"]
        for other in others:
            if other != sender and other in inside:
                _compare(tally, sender, block, other, number, sends.heard[other][place], known)
    return tally


def _compare(tally: Tally, sender: str, block: Block, other: str, number: Ints, needed: Ints, known: Any) -> None:
    counts = known & (needed > 0)
    tally.evaluated += int(counts.sum())
    row, step = expanded(block["count"])
    at = block["at"][row] + step
    highest = block[f"of {other}"][row] if f"of {other}" in block else np.zeros(len(number), np.int64)
    missing = needed > highest
    holes = block["holes"].get(other, ())
    for first, last, since, until in holes[:HOLES_MAX]:
        missing |= (needed >= first) & (needed <= last) & (since < at) & (at <= until)
    late = np.flatnonzero(counts & missing)
    if not block["certain"]:
        if len(late):
            reason = f"{block['process']} has a gap before it delivered {int(number[late[0]])} of {sender}"
            tally.doubt(len(late), reason)
        return
    if len(holes) > HOLES_MAX:
        tally.doubt(1, f"{block['process']} delivered more of {other} out of turn than is kept: --exact decides")
    for index in late[:EXAMPLES].tolist():
        where = {"process": block["process"], "at": int(at[index]), "view": block["view"], "file": block["file"]}
        what = {"sender": sender, "number": int(number[index]), "line": int(block["line"][row[index]])}
        tally.violate(1, **where, **what, other=other, needed=int(needed[index]))
    tally.violations += max(0, len(late) - EXAMPLES)


class _Sends:
    """A sender's numbers in a bucket, each once, with what had been heard before it; the first of a number counts."""

    def __init__(self, past: list[Block], others: list[str]) -> None:
        number = [_numbers(block) for block in past]
        joined = np.concatenate(number) if number else np.zeros(0, np.int64)
        self._numbers, once = np.unique(joined, return_index=True)
        certain = [np.full(len(each), block["certain"]) for each, block in zip(number, past, strict=True)]
        self._certain = np.concatenate(certain)[once] if certain else np.zeros(0, np.bool_)
        self.heard = {}
        for other in others:
            columns = [_column(block, f"of {other}")[expanded(block["count"])[0]] for block in past]
            self.heard[other] = np.append(np.concatenate(columns)[once], 0)

    def find(self, number: Ints) -> tuple[Ints, Any]:
        """Where each number is in `heard`, and whether it is there and certain."""
        place = np.searchsorted(self._numbers, number)
        inside = np.minimum(place, max(len(self._numbers) - 1, 0))
        if not len(self._numbers):
            return np.full(len(number), -1), np.zeros(len(number), np.bool_)
        known = (self._numbers[inside] == number) & self._certain[inside]
        return inside, known


def _column(block: Block, name: str) -> Ints:
    found: Ints = block[name] if name in block else np.zeros(len(block["number"]), np.int64)
    return found


def _numbers(block: Block) -> Ints:
    """The number of each message of its runs."""
    row, step = expanded(block["count"])
    numbers: Ints = block["number"][row] + step
    return numbers
