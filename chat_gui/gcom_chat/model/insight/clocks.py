"""The clock matrix: for each member of the view, how many messages of each sender it is known to have delivered.

The own row is exact; another's row is as old as its last message (`gcom.Snapshot.clocks`).
"""

from __future__ import annotations

from dataclasses import dataclass

import gcom
from gcom_chat.model.insight.names import called, short
from gcom_chat.model.texts.words import translate

FRESH_MS = 1_500  # for how long a cell counts as changed


@dataclass(frozen=True, slots=True)
class ClockCell:
    """A number. `fresh`: it changed a moment ago; `behind`: how many more of the sender's messages are known of."""

    value: int
    fresh: bool
    behind: int


class ClockMatrix:
    """The newest numbers, and when each last changed."""

    def __init__(self) -> None:
        self.members: tuple[str, ...] = ()
        self.own = ""
        self._values: dict[tuple[str, str], int] = {}
        self._changed_ms: dict[tuple[str, str], int] = {}

    def on_snapshot(self, snapshot: gcom.Snapshot, now_ms: int) -> None:
        """Take the clocks of a snapshot; what is there for the first time counts as unchanged."""
        self.members, self.own = snapshot.view.members, snapshot.process
        values = {
            (row, column): snapshot.clocks[row][column] if row in snapshot.clocks else 0
            for row in self.members
            for column in self.members
        }
        for cell, value in values.items():
            if self._values.get(cell, value) != value:
                self._changed_ms[cell] = now_ms
        # Cells of members that are gone are forgotten with them.
        self._changed_ms = {cell: at for cell, at in self._changed_ms.items() if cell in values}
        self._values = values

    def cell(self, row: str, column: str, now_ms: int) -> ClockCell:
        """Return the number of `column`'s messages that `row` is known to have delivered."""
        value = self._values.get((row, column), 0)
        # By all rows: others may have heard more of a sender than this process.
        sent = max(self._values.get((each, column), 0) for each in self.members)
        changed_ms = self._changed_ms.get((row, column))
        return ClockCell(value, changed_ms is not None and now_ms - changed_ms < FRESH_MS, sent - value)

    def sentence(self, row: str, column: str, now_ms: int) -> str:
        """Return a cell in words, for tooltips and assistive technology."""
        found = self.cell(row, column, now_ms)
        if row == column:
            words = translate("clocks", "{} has sent: {}").format(called(row), found.value)
        else:
            words = translate("clocks", "{} has delivered of {}: {}").format(called(row), called(column), found.value)
        if found.behind:
            words += translate("clocks", ", {} fewer than are known").format(found.behind)
        return words + (translate("clocks", ", changed just now") if found.fresh else "")

    def text(self) -> str:
        """Return the matrix as lines of text."""
        width = max([len(short(member)) for member in self.members] + [6])
        head = " " * width + "".join(f" {short(member):>{width}}" for member in self.members)
        rows = [
            f"{short(row):>{width}}"
            + "".join(f" {self._values.get((row, column), 0):>{width}}" for column in self.members)
            for row in self.members
        ]
        return "\n".join([head, *rows])
