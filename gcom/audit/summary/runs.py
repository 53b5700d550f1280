"""The numbers that rows cover: as ranges, or one by one."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from gcom.audit.input.rows import Ints, Rows


def expanded(count: Ints) -> tuple[Ints, Ints]:
    """Return runs of these lengths taken apart: per message the index of its run, and its place in the run, from 0."""
    run = np.repeat(np.arange(len(count)), count)
    return run, np.arange(len(run)) - np.repeat(np.cumsum(count) - count, count)


def runs_of(first: Ints, last: Ints, view: Ints) -> list[tuple[int, int, int]]:
    """Return runs of numbers, with consecutive ones of one view joined."""
    # A log cuts runs where frames were cut. Joined again they are few ranges, however many lines there were.
    borders = np.flatnonzero((first[1:] != last[:-1] + 1) | (view[1:] != view[:-1])) + 1
    starts = np.concatenate(([0], borders))
    ends = np.concatenate((borders, [len(first)])) - 1
    return list(zip(first[starts].tolist(), last[ends].tolist(), view[starts].tolist(), strict=True))


def merged(rows: Rows, delivers: Ints, *, by_view: bool = True) -> Iterable[tuple[str, int, list[tuple[int, int]]]]:
    """Return the numbers of each sender (and view), as ranges."""
    codes = rows.sender[delivers]
    for code in np.unique(codes).tolist():
        mine = delivers[codes == code]
        first = rows.number[mine]
        last = first + rows.count[mine] - 1
        # Without views all rows are of one.
        view = rows.view[mine] if by_view else np.zeros(len(mine), np.int64)
        found: dict[int, list[tuple[int, int]]] = {}
        for a, b, in_view in runs_of(first, last, view):
            found.setdefault(in_view, []).append((a, b))
        for in_view, ranges in found.items():
            yield rows.senders[code], in_view, ranges
