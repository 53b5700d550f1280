"""Causes for which messages are held back, and since when. docs/ARCHITECTURE.md ("held back") has the places.

Ages are marks at ticks, so that a run costs nothing when it comes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gcom.values.names import Process
from gcom.values.snapshot import MISSING_MAX, Missing

HeldRun = tuple[Process, int, int, tuple[Missing, ...]]  # sender, first and last number, what it waits for
Ranges = Mapping[int, int]  # first to last number
MARKS_MAX = 64  # of one sender

VIEW, PLACE, MAJORITY = Missing("view"), Missing("place"), Missing("majority")
STABILITY, FRAGMENTS, STATE = Missing("stability"), Missing("fragments"), Missing("state")


def gaps(sender: Process, settled: int, held: Ranges, lost: Ranges) -> Iterator[HeldRun]:
    """Yield a sender's held runs, in order, each with the gaps before it; 1…settled are behind."""
    missing: tuple[Missing, ...] = ()
    for first, last in sorted([*held.items(), *lost.items()]):
        # Bounded: over BASIC a stream may have a gap for each lost frame, and a snapshot is read by people.
        if first > settled + 1 and len(missing) < MISSING_MAX:
            missing += (Missing("message", sender, settled + 1, first - 1),)
        settled = max(settled, last)
        if first in held:
            yield sender, first, last, missing


class HoldTimes:
    """The times since when messages are held back, by sender.

    Taken with each tick: the time between two is their error.
    """

    def __init__(self) -> None:
        self._marks: dict[Process, list[tuple[int, int]]] = {}  # (number, ms), both rising

    def mark(self, received: Mapping[Process, int], delivered: Mapping[Process, int], now_ms: int) -> None:
        """Mark how far the streams that are held back have come."""
        for sender, number in received.items():
            behind = delivered.get(sender, 0)
            if number <= behind:
                self._marks.pop(sender, None)
                continue
            marks = [mark for mark in self._marks.get(sender, ()) if mark[0] > behind]
            if not marks or marks[-1][0] < number:
                marks.append((number, now_ms))
            # Every second one goes: what waits longest keeps its time best.
            self._marks[sender] = marks if len(marks) <= MARKS_MAX else [marks[0], *marks[2::2]]

    def since_ms(self, sender: Process, last: int, now_ms: int) -> int:
        """Return the time since which messages up to `last` are here; now, if no tick has seen them."""
        return next((ms for number, ms in self._marks.get(sender, ()) if number >= last), now_ms)
