"""Connectivity: which members a group goes on without when some cannot reach each other although others reach both.

ARCHITECTURE 9. Such a link is no failure that others see: no quorum suspects either end, and yet what one sends the
other can never become stable. So a member that does not hear one whom others hear is in a *conflict* with it, and one
that has lasted is resolved: the largest set without a conflict goes on, of several the one without the younger members
(Pekko's split brain resolver calls such members indirectly connected). All of that set compute it alike, since each
status says what its source knows at first hand (docs/protocols/connectivity.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Set
from itertools import combinations

from gcom.core.messages.frames import Misses
from gcom.values import limits
from gcom.values.detection import LAN, Detection

Pair = tuple[int, int]  # two members in a conflict, by rank
EXACT_MAX = 8  # members in conflicts, of which every set is tried; of more the worst go one by one


def as_bits(ranks: Iterable[int]) -> int:
    """Return ranks as bits of one number."""
    return sum(1 << rank for rank in set(ranks))


def as_ranks(bits: int) -> Iterator[int]:
    """Return the ranks of a number, from the oldest."""
    return (rank for rank in range(bits.bit_length()) if bits >> rank & 1)


def within(misses: Misses, count: int) -> Misses:
    """Return the misses among so many members; a liar's ranks may be nobody's."""
    return {one: others & ((1 << count) - 1) for one, others in misses.items() if one < count}


def to_drop(conflicts: Set[Pair], suffice: Callable[[Set[int]], bool], gone: int = 0) -> tuple[int, ...]:
    """Return the fewest members without whom no conflict is left; the younger ones where there is a choice. All by
    rank.

    `gone` members go in any case, and are not returned. `suffice` says whether the group can go on without a set of
    members; where it cannot, nobody is returned.
    """
    foes: dict[int, int] = {}
    for one, other in conflicts:
        foes[one] = foes.get(one, 0) | 1 << other
        foes[other] = foes.get(other, 0) | 1 << one
    # Twice, since of the largest sets one that is half of the view may be a quorum with its leader, and another not
    # without it. 1. A to B and C, and B and C to D, are cut. 2. B and C are the half of the older, and no quorum; A and
    # D are one. 3. With the first choice alone all four stood still.
    for beyond_leader in dict.fromkeys((0, foes.get(0, 0))):
        found = beyond_leader | _cover(foes, gone | beyond_leader)
        dropped = tuple(as_ranks(found & ~gone))
        if dropped and suffice(set(dropped)):
            return dropped
    return ()


def _cover(foes: Misses, gone: int) -> int:
    """Return one member of each conflict that is left without `gone`, as few in all as can be found."""
    rest = {who: foes[who] & ~gone for who in sorted(foes, reverse=True) if not gone >> who & 1 and foes[who] & ~gone}
    # 2^8 sets are tried in no time; of more members the one with the most conflicts goes, and again.
    if len(rest) > EXACT_MAX:
        worst = 1 << max(rest, key=lambda who: rest[who].bit_count())
        return worst | _cover(rest, worst)
    # By size, and younger members first among sets of one size: `rest` is sorted from the youngest.
    sets = (as_bits(each) for count in range(len(rest) + 1) for each in combinations(rest, count))
    return next(each for each in sets if all(each >> who & 1 or not rest[who] & ~each for who in rest))


class Connectivity:
    """The conflicts that one member sees, and since when."""

    def __init__(self, detection: Detection = LAN) -> None:
        self._since: dict[Pair, int] = {}
        self._cut_ms = detection.scaled_ms(limits.CUT_MS)
        self._gather_ms = detection.scaled_ms(limits.CUTS_GATHER_MS)

    def observe(self, misses: Misses, now_ms: int) -> None:
        """Record which member misses which now; forget a conflict that is seen no more."""
        pairs = {(min(one, other), max(one, other)) for one, others in misses.items() for other in as_ranks(others)}
        self._since = {pair: self._since.get(pair, now_ms) for pair in pairs}

    @property
    def has_conflict(self) -> bool:
        """Return whether there is a conflict, however new."""
        return bool(self._since)

    def conflicts(self, now_ms: int) -> set[Pair]:
        """Return the conflicts that have lasted for CUT_MS, once none is newer."""
        lasted_ms = {pair: now_ms - since_ms for pair, since_ms in self._since.items()}
        # 1. B does not reach A, nor A F. 2. A misses B a heartbeat before F misses A. 3. If A acted at once B would go,
        # then F; together they cost A alone. A conflict that comes and goes all the time holds this up for 3 s at most.
        has_new = min(lasted_ms.values(), default=0) < self._cut_ms
        if has_new and max(lasted_ms.values(), default=0) < self._gather_ms:
            return set()
        return {pair for pair, pair_ms in lasted_ms.items() if pair_ms >= self._cut_ms}
