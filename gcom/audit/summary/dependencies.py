"""The two sides of CAUSAL as columns: the messages that senders had delivered, and those that receivers had settled.

When p delivers message n of s, for each other member q the highest number that s had delivered of q before sending n
must be settled at p. An excerpt of the PAST has s's sends with the numbers that s had delivered of each q, one of the
PRESENT p's deliveries of s with the highest that p had settled of each q, and the holes beneath. Both are cut at
buckets of s's numbers, so that one task compares a sender's bucket with the excerpts of all receivers. A run is one row
on either side: no message of others can be sent or delivered inside one.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field

import numpy as np

from gcom.audit.input.contract import DELIVER
from gcom.audit.input.rows import Ints, Rows
from gcom.audit.summary.excerpts import Placed, cut
from gcom.audit.summary.intervals import Intervals
from gcom.audit.summary.position import LogPosition

# Columns of an excerpt: `number`, `count`, and "of q" for each other process q; in the PRESENT also `at`, `line`,
# and "holes of q": the columns of _Holes, one after the other. What holds for the whole excerpt: `side`,
# `certain` and `since`, its first position; in the PRESENT also `process`, `view`, `members` (None: a gap hides
# their record), and `file`.
PAST, PRESENT = "past", "present"
_EVER = 1 << 62


@dataclass(slots=True)
class Dependencies:
    """The recorder of both sides of CAUSAL for one process in one (group, instance), by sender and bucket of its
    numbers.
    """

    process: str
    placed: list[Placed] = field(default_factory=list)

    def record_sends(self, rows: Rows, sends: Ints, true_clock: dict[str, Ints], certain: bool) -> None:
        """Record sends; `true_clock` has per other process the highest number delivered of it before each send."""
        # The clock is as of each send, so a run of the sender is one row though its messages are many.
        about = {"side": PAST, "certain": certain, "since": int(rows.at[sends[0]]) if len(sends) else 0}
        # By the sender's number on both sides: the send and all deliveries of a message meet in one task.
        for bucket, row, into, count in cut(rows.number[sends], rows.count[sends]):
            columns = {"number": rows.number[sends][row] + into, "count": count}
            columns |= {f"of {who}": true[row] for who, true in true_clock.items()}
            self.placed.append(("CAUSAL", self.process, bucket, {**about, **columns}))

    def record_deliveries(self, rows: Rows, passed: Ints, position: LogPosition, path: str) -> None:
        """Record the rows `passed`, deliveries and skips in order, before the position moves on behind them."""
        settled, holes = _settled_before(rows, passed, position)
        delivered = rows.kind[passed] == DELIVER
        members = None if position.members is None else list(position.members)
        about = {"side": PRESENT, "process": self.process, "view": position.view, "members": members, "file": path}
        about["certain"] = position.certain
        for code in np.unique(rows.sender[passed][delivered]).tolist():
            chosen = np.flatnonzero(delivered & (rows.sender[passed] == code))
            mine = passed[chosen]
            for bucket, row, into, count in cut(rows.number[mine], rows.count[mine]):
                at = rows.at[mine][row] + into
                columns = {"number": rows.number[mine][row] + into, "count": count, "at": at, "line": mine[row] + 2}
                for who, steps in settled.items():
                    # Not of the sender itself: that its earlier messages come first is FIFO's to judge.
                    if who != rows.senders[code]:
                        columns[f"of {who}"] = steps[chosen][row]
                columns |= _holes_between(holes, int(at[0]), int(at[-1] + count[-1]))
                excerpt = {**about, "since": int(at[0]), **columns}
                self.placed.append(("CAUSAL", rows.senders[code], bucket, excerpt))


def _holes_between(holes: dict[str, Ints], since: int, until: int) -> dict[str, Ints]:
    """Return the holes that were open at a position from `since` to before `until`, as columns of an excerpt."""
    there = {who: each[:, (each[2] < until) & (each[3] >= since)] for who, each in holes.items()}
    return {f"holes of {who}": each.ravel() for who, each in there.items() if each.size}


def _settled_before(rows: Rows, passed: Ints, place: LogPosition) -> tuple[dict[str, Ints], dict[str, Ints]]:
    """Return per process the highest number settled before each row, and the holes beneath it, as _Holes has them."""
    highest: dict[str, Ints] = {}
    holes: dict[str, Ints] = {}
    for who in sorted({*place.settled, *(rows.senders[c] for c in np.unique(rows.sender[passed]).tolist())}):
        settled = place.settled.get(who, Intervals())
        code = rows.senders.index(who) if who in rows.senders else -1
        # Nearly always a sender's numbers go up without a hole, and the highest number tells all that is settled of
        # it. Only rows that do not follow the one before are gone through one by one.
        of = np.flatnonzero(rows.sender[passed] == code)
        first = rows.number[passed[of]]
        last = first + rows.count[passed[of]] - 1
        steps = np.maximum.accumulate(np.concatenate(([settled.highest], last)))
        highest[who] = steps[np.searchsorted(of, np.arange(len(passed)))]
        # Holes may be older than this batch: what was lost in a BASIC group stays missing for ever.
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
        """Record that a row at position `at` settles first…last; `highest` had been settled before."""
        # The open holes are sorted and apart, so those that the row touches are neighbours.
        low = bisect_left(self._open, first, key=lambda hole: hole[1])
        high = bisect_right(self._open, last, key=lambda hole: hole[0])
        rest = []
        for a, b, since in self._open[low:high]:
            self._filled.append((max(a, first), min(b, last), since, at))
            # A run may fill a hole in part; what is left at either side stays open since the same position.
            rest += [(x, y, since) for x, y in ((a, first - 1), (last + 1, b)) if x <= y]
        self._open[low:high] = rest
        if first > highest + 1:
            self._open.append((highest + 1, first - 1, at))

    def columns(self) -> Ints:
        """Return the holes by number, one per column: `first`, `last`, `since`, `until`."""
        # Sorted by number, and no number is in two holes: a number's hole is found by one search (causal.py).
        left = [(*hole, _EVER) for hole in self._open]
        return np.array(sorted(self._filled + left), np.int64).T
