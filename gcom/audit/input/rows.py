"""`Rows`: the records of a segment as columns of integers, one row per record."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gcom.audit.input.contract import BAD, Record

Ints = NDArray[np.int64]
NUMBERS = ("at", "t", "view", "sent_view", "number", "count", "serial", "held")
COLUMNS = ("kind", "key", "sender", *NUMBERS)  # of Rows, one number per row


@dataclass(slots=True)
class Rows:
    """A segment's records without its first and its `close` line, one row per line; -1 stands for an absent number.

    `key` indexes `keys`, (group, instance), and `sender` indexes `senders`. `rare` holds the whole record of the rows
    that are no send, deliver or skip; of a BAD row the reason. `clock` holds per process the rows of sends whose clock
    names it, with the numbers named; `digests` the rows that have digests, each with its list.
    """

    kind: Ints
    at: Ints
    count: Ints
    key: Ints
    view: Ints
    sent_view: Ints
    sender: Ints
    number: Ints
    serial: Ints
    t: Ints
    held: Ints
    keys: list[tuple[str, str]] = field(default_factory=list)
    senders: list[str] = field(default_factory=list)
    rare: dict[int, Record] = field(default_factory=dict)
    clock: dict[str, tuple[Ints, Ints]] = field(default_factory=dict)
    digests: dict[int, list[int]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.kind)

    @classmethod
    def none(cls) -> Rows:
        columns: dict[str, Any] = dict.fromkeys(COLUMNS, np.zeros(0, np.int64))
        return cls(**columns)


def only_forward(rows: Rows, expected: int) -> Rows:
    """Return the rows, each BAD whose position is below `expected`, or is covered by an earlier row.

    Only positions order events, so the place of such a record in the order is unknown.
    """
    # Nearly always all positions go forward, and the rows are returned as they are.
    sound = np.flatnonzero(rows.kind != BAD)
    ends = rows.at[sound] + rows.count[sound]
    if not (rows.at[sound] < np.maximum.accumulate(np.concatenate(([expected], ends)))[:-1]).any():
        return rows
    kind, rare = rows.kind.copy(), dict(rows.rare)
    for row in sound.tolist():
        at = int(rows.at[row])
        if at < expected:
            kind[row] = BAD
            reason = f"it is at position {at}, after {expected - 1}: two processes claim one incarnation"
            rare[row] = {"type": "", "at": 0, "reason": reason}
        else:
            expected = at + int(rows.count[row])
    # A clock entry of a send that is BAD now would be read as another send's.
    kept = {who: kind[where] != BAD for who, (where, _) in rows.clock.items()}
    clock = {who: (where[kept[who]], said[kept[who]]) for who, (where, said) in rows.clock.items()}
    return replace(rows, kind=kind, rare=rare, clock=clock)
