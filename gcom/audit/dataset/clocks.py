"""Whole clocks of sends, from the entries that changed, which are all that a log has of them (DELIVERY_LOG.md)."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pyarrow as pa

from gcom.audit.input.contract import LOST
from gcom.audit.input.rows import Ints, Rows


class ClockReader:
    """The clocks of a segment's sends. Entries begin anew with each segment, and behind a loss: a send then has all."""

    def __init__(self, rows: Rows) -> None:
        self._key = rows.key
        self._losses = np.flatnonzero(rows.kind == LOST)
        # A process may be in several groups: what it was told of another one is no entry of this group's clock.
        self._entries: dict[int, dict[str, tuple[Ints, Ints]]] = defaultdict(dict)
        for who, (where, said) in rows.clock.items():
            for key in np.unique(rows.key[where]).tolist():
                mine = rows.key[where] == key
                self._entries[key][who] = where[mine], said[mine]

    def read(self, index: Ints) -> pa.MapArray:
        """Return a clock per message, given as the rows of their runs."""
        sends, of_message = np.unique(index, return_inverse=True)
        names = sorted({who for entries in self._entries.values() for who in entries})
        values = np.full((len(sends), len(names)), -1, np.int64)
        for key, entries in self._entries.items():
            mine = self._key[sends] == key
            for who, (where, said) in entries.items():
                values[mine, names.index(who)] = self._latest(where, said, sends[mine])
        return _maps(values, names).take(pa.array(of_message))

    def _latest(self, where: Ints, said: Ints, sends: Ints) -> Ints:
        """Return for each send the last entry up to it; -1 where there is none since the last loss."""
        last = np.searchsorted(where, sends, side="right") - 1
        losses = np.concatenate(([-1], self._losses))
        since = losses[np.searchsorted(self._losses, sends)]
        return np.where((last >= 0) & (where[last] > since), said[last], -1)


def _maps(values: Ints, names: list[str]) -> pa.MapArray:
    """Return a map per line of `values`, with the names whose value is there."""
    row, name = np.nonzero(values >= 0)
    offsets = np.concatenate(([0], np.cumsum(np.bincount(row, minlength=len(values)))))
    keys = pa.array(names, pa.string()).take(pa.array(name))
    return pa.MapArray.from_arrays(pa.array(offsets, pa.int32()), keys, pa.array(values[row, name]))
