"""The messages themselves, for what fingerprints leave open: a process's rows of one (group, instance), as columns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gcom.audit.input.records import DELIVER, SEND, Ints, Rows
from gcom.audit.summary.fingerprints import BUCKET

COLUMNS = ("row", "kind", "at", "count", "view", "sender", "number", "serial", "place", "section", "file", "line")


@dataclass(slots=True)
class RunTable:
    """`parts` are columns by COLUMNS, in order, of the sends, deliveries and skips.

    `row` counts the rows of the session, so it tells what came before what; `view` is the one in force (-1: none is
    known), `place` the place of a delivery in the order (fingerprints.py), `section` the index in the summary's
    sections (-1: none). Unless the table is `whole`, only rows in one of `serials`, `places` and `numbers` are kept,
    all buckets as a Look has them.
    """

    process: str
    whole: bool = False
    serials: list[int] = field(default_factory=list)
    places: list[tuple[int, int]] = field(default_factory=list)
    numbers: list[tuple[str, int]] = field(default_factory=list)
    rows: int = 0
    names: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    parts: list[list[Any]] = field(default_factory=list)
    digests: dict[int, list[int]] = field(default_factory=dict)

    def name(self, who: str) -> int:
        """The index of a process in `names`."""
        if who not in self.names:
            self.names.append(who)
        return self.names.index(who)

    def record(self, rows: Rows, mine: Ints, places: Ints, view: int | None, section: int, path: str) -> None:
        """Keep a stretch: its rows `mine` of `rows`, and the places of its deliveries, aligned with `mine`."""
        if not self.files or self.files[-1] != path:
            self.files.append(path)
        row = self.rows + np.arange(len(mine))
        self.rows += len(mine)
        names = np.array([self.name(who) for who in rows.senders] + [self.name(self.process)], np.int64)
        kind = rows.kind[mine]
        sender = names[np.where(kind == SEND, len(names) - 1, rows.sender[mine])]
        sender[(kind != SEND) & (rows.sender[mine] < 0)] = -1
        constant = [np.full(len(mine), each) for each in (-1 if view is None else view, section, len(self.files) - 1)]
        columns = [
            *(row, kind, rows.at[mine], rows.count[mine], constant[0], sender),
            *(rows.number[mine], rows.serial[mine], places, constant[1], constant[2], mine + 2),
        ]
        keep = self._wanted(rows, mine, places, sender, view)
        self.parts.append([column[keep] for column in columns])
        for index in np.flatnonzero(keep).tolist():
            digests = rows.digests.get(int(mine[index])) if rows.digests else None
            if digests is not None:
                self.digests[int(row[index])] = digests

    def _wanted(self, rows: Rows, mine: Ints, places: Ints, sender: Ints, view: int | None) -> Any:
        """Which of the rows are kept; `sender` has indexes of names."""
        if self.whole:
            return np.ones(len(mine), np.bool_)
        keep = np.zeros(len(mine), np.bool_)
        count, serial, number = rows.count[mine], rows.serial[mine], rows.number[mine]
        for bucket in self.serials:
            keep |= (serial >= 0) & _touches(serial, count, bucket)
        delivered = rows.kind[mine] == DELIVER
        for _, bucket in [place for place in self.places if place[0] == view]:
            keep |= delivered & _touches(places, count, bucket)
        for who, bucket in self.numbers:
            if who in self.names:
                keep |= (sender == self.name(who)) & _touches(number, count, bucket)
        return keep

    def columns(self) -> dict[str, Ints]:
        """The parts as one, by COLUMNS."""
        if not self.parts:
            return {name: np.zeros(0, np.int64) for name in COLUMNS}
        return {name: np.concatenate(each) for name, each in zip(COLUMNS, zip(*self.parts, strict=True), strict=True)}


def _touches(first: Ints, count: Ints, bucket: int) -> Any:
    return (first // BUCKET <= bucket) & ((first + count - 1) // BUCKET >= bucket)
