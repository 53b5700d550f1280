"""Rows of one (group, instance) in one file between two events that change more than counts, as rules judge them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gcom.audit.input.contract import DELIVER, SEND
from gcom.audit.input.rows import Ints, Rows
from gcom.audit.summary.fingerprints import Words
from gcom.audit.summary.position import LogPosition
from gcom.audit.summary.process import ProcessSummary
from gcom.audit.summary.runs import by_code


@dataclass(slots=True)
class Batch:
    """The rows `mine` of a segment's rows, all sends, deliveries and skips; the position is that before them.

    `words` are the hashes of `rows.senders`, `clock` the clock entries of sends, as Rows has them. `true_clock` has per
    other process the highest number of it that was delivered before each send, or was in the base.
    """

    rows: Rows
    mine: Ints
    position: LogPosition
    summary: ProcessSummary
    path: str
    words: Words
    clock: dict[str, tuple[Ints, Ints]]
    seeds: tuple[int, int]
    sends: Ints = field(init=False)
    delivers: Ints = field(init=False)
    passed: Ints = field(init=False)  # deliveries and skips
    true_clock: dict[str, Ints] = field(init=False)

    def __post_init__(self) -> None:
        # A skip is settled as a delivery is, so it counts for order and serials; it is no delivery, so
        # not for the clock.
        kind = self.rows.kind[self.mine]
        self.sends, self.delivers = self.mine[kind == SEND], self.mine[kind == DELIVER]
        self.passed = self.mine[kind != SEND]
        self.true_clock = self._true_clock() if len(self.sends) else {}

    def _true_clock(self) -> dict[str, Ints]:
        rows, before = self.rows, self.position.true_clock
        # Of a process that no log names and nothing was delivered of, entry and number are both 0:
        # it needs no column.
        low, high = int(self.sends[0]), int(self.sends[-1]) + 1
        with_entries = {
            who for who, (where, _) in self.clock.items() if np.diff(np.searchsorted(where, (low, high)))[0]
        }
        of_sender = {rows.senders[code]: of for code, of in by_code(rows.sender[self.delivers])}
        _, last = self.ends(self.delivers)
        true_clock: dict[str, Ints] = {}
        for who in sorted({*before, *of_sender, *self.position.logged_clock, *with_entries} - {self.process}):
            true_clock[who] = np.full(len(self.sends), before.get(who, 0))
            if who in of_sender:
                of = of_sender[who]
                # Per send the last delivery before it, found by row numbers. The highest and not the latest:
                # NONORDERED and a violated FIFO deliver lower numbers later, and a clock has the highest.
                steps = np.maximum.accumulate(np.concatenate(([before.get(who, 0)], last[of])))
                true_clock[who] = steps[np.searchsorted(self.delivers[of], self.sends)]
        return true_clock

    @property
    def process(self) -> str:
        return self.summary.process

    def ends(self, rows: Ints) -> tuple[Ints, Ints]:
        """Return the first and the last number of each row."""
        first = self.rows.number[rows]
        return first, first + self.rows.count[rows] - 1

    def is_not_in_force(self, view: Ints) -> NDArray[np.bool_]:
        """Tell of each view whether it is certainly not the one in force."""
        in_force = self.position.in_force
        if in_force is None:
            # After a gap no view is known to be in force, and none is known not to be.
            return np.full(len(view), self.position.certain or self.position.left)
        return np.asarray(view != in_force)

    def where(self, row: int, **more: Any) -> dict[str, Any]:
        """Return the first message of a row, and its place in the log, as an example has them."""
        rows = self.rows
        sender = rows.senders[rows.sender[row]] if rows.sender[row] >= 0 else self.process
        return {**self.place(row), "sender": sender, "number": int(rows.number[row]), **more}

    def place(self, row: int, **more: Any) -> dict[str, Any]:
        """Return the place of a row in the log."""
        # Lines count from 1, and the opening is the first of them.
        at, view = int(self.rows.at[row]), int(self.rows.view[row])
        return {"at": at, "view": view, "file": self.path, "line": row + 2, **more}

    def where_of(self, row: int, number: int) -> dict[str, Any]:
        """Return that message of a run, and its place."""
        return self.where(row, at=int(self.rows.at[row]) + number - int(self.rows.number[row]), number=number)
