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


def by_code(codes: Ints) -> list[tuple[int, Ints]]:
    """Return each code with the places that have it, in order. One sort, however many codes there are."""
    if not len(codes):
        return []
    order = np.argsort(codes, kind="stable")
    found = codes[order]
    borders = np.flatnonzero(np.diff(found)) + 1
    return [*zip(found[[0, *borders]].tolist(), np.split(order, borders), strict=True)]


def merged(rows: Rows, delivers: Ints, *, by_view: bool = True) -> Iterable[tuple[str, int, list[tuple[int, int]]]]:
    """Return the numbers of each sender (and view), as ranges."""
    if not len(delivers):
        return
    # By sender, and of each in the log's order; so all senders' ranges come of one comparison of neighbours.
    ordered = delivers[np.argsort(rows.sender[delivers], kind="stable")]
    code, first = rows.sender[ordered], rows.number[ordered]
    last = first + rows.count[ordered] - 1
    # Without views all rows are of one.
    view = rows.view[ordered] if by_view else np.zeros(len(ordered), np.int64)
    apart = (code[1:] != code[:-1]) | (view[1:] != view[:-1]) | (first[1:] != last[:-1] + 1)
    begins = np.concatenate(([0], np.flatnonzero(apart) + 1))
    ends = np.concatenate((begins[1:] - 1, [len(ordered) - 1]))
    found: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for key, a, b in zip(
        zip(code[begins].tolist(), view[begins].tolist(), strict=True),
        first[begins].tolist(),
        last[ends].tolist(),
        strict=True,
    ):
        found.setdefault(key, []).append((a, b))
    for (each, in_view), ranges in found.items():
        yield rows.senders[each], in_view, ranges
