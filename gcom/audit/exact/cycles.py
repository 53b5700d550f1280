"""Cycles of a graph that fits into memory, given as steps from one thing to another."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

_TRIED = 64  # things on the first cycle found from which a shorter one is looked for


def shortest_cycle(ones: Iterable[Hashable], others: Iterable[Hashable]) -> list[int]:
    """The indices of the steps of a cycle, as short as a few searches find; empty if there is none."""
    codes: dict[Hashable, int] = {}
    pairs = [
        (codes.setdefault(a, len(codes)), codes.setdefault(b, len(codes))) for a, b in zip(ones, others, strict=True)
    ]
    after: list[list[int]] = [[] for _ in codes]
    for step, (a, _) in enumerate(pairs):
        after[a].append(step)
    left = _cyclic(pairs, after, len(codes))
    if not left:
        return []
    found = _any_cycle(pairs, left)
    for start in [pairs[step][0] for step in found[:_TRIED]]:
        shorter = _way_round(start, pairs, after, left)
        found = shorter if len(shorter) < len(found) else found
    return found


def _cyclic(pairs: list[tuple[int, int]], after: list[list[int]], size: int) -> set[int]:
    """What is left when again and again all that has nothing before it is taken away: each of it has one before it."""
    waiting = [0] * size
    for _, b in pairs:
        waiting[b] += 1
    free = [each for each in range(size) if not waiting[each]]
    left = set(range(size)) - set(free)
    while free:
        for step in after[free.pop()]:
            b = pairs[step][1]
            waiting[b] -= 1
            if not waiting[b]:
                free.append(b)
                left.discard(b)
    return left


def _any_cycle(pairs: list[tuple[int, int]], left: set[int]) -> list[int]:
    """Going back meets itself."""
    before = {b: step for step, (a, b) in enumerate(pairs) if a in left and b in left}
    seen: dict[int, int] = {}
    way: list[int] = []
    now = min(left)
    while now not in seen:
        seen[now] = len(way)
        way.append(before[now])
        now = pairs[way[-1]][0]
    return way[seen[now] :][::-1]


def _way_round(start: int, pairs: list[tuple[int, int]], after: list[list[int]], left: set[int]) -> list[int]:
    """The shortest cycle through `start`, breadth first; there is one."""
    came_by: dict[int, int] = {}
    ring = [start]
    while start not in came_by:
        reached = []
        for a in ring:
            for step in after[a]:
                b = pairs[step][1]
                if b in left and b not in came_by:
                    came_by[b] = step
                    reached.append(b)
        ring = reached
    way = [came_by[start]]
    while pairs[way[-1]][0] != start:
        way.append(came_by[pairs[way[-1]][0]])
    return way[::-1]
