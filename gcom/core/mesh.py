"""Whom a group goes on without when some members cannot reach each other although others reach both (DESIGN 9).

Such a link is no failure that anybody else sees: no quorum suspects either end, and yet what one sends the other can
never become stable. So who does not hear one whom others hear is in a *conflict* with it, and one that has lasted is
resolved: the largest set without a conflict goes on, of several the one without the younger members (Pekko's split
brain resolver calls such members indirectly connected). All of that set compute it alike, since each status says what
its source knows at first hand (docs/protocols/netsplit.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Set
from itertools import combinations

from gcom.values import limits
from gcom.values.names import Process

Pair = tuple[Process, Process]
EXACT_MAX = 8  # members in conflicts, of which every set is tried; of more the worst go one by one


def to_drop(
    members: tuple[Process, ...], conflicts: Set[Pair], suffice: Callable[[Set[Process]], bool]
) -> tuple[Process, ...]:
    """The fewest members without whom no conflict is left, by rank; the younger ones where there is a choice.

    Nobody, where those who are left never `suffice` for a quorum. Of the largest sets, one that is half of the view may
    be a quorum with its leader, and another not without it.
    """
    for kept in ((), members[:1]):
        foes = {who for pair in conflicts if set(kept) & set(pair) for who in pair} - set(kept)
        dropped = foes | _cover(members, {pair for pair in conflicts if not foes & set(pair)})
        if dropped and suffice(set(members) - dropped):
            return tuple(member for member in members if member in dropped)
    return ()


def _cover(members: tuple[Process, ...], conflicts: Set[Pair]) -> set[Process]:
    """Of each conflict one, as few in all as can be found."""
    involved = [member for member in reversed(members) if any(member in pair for pair in conflicts)]
    if len(involved) > EXACT_MAX:
        worst = max(involved, key=lambda who: sum(who in pair for pair in conflicts))
        return {worst} | _cover(members, {pair for pair in conflicts if worst not in pair})
    sets = (set(each) for count in range(len(involved) + 1) for each in combinations(involved, count))
    return next(each for each in sets if all(each & set(pair) for pair in conflicts))


class Mesh:
    """The conflicts that one member sees, and since when."""

    def __init__(self) -> None:
        self._since: dict[Pair, int] = {}

    def look(self, members: tuple[Process, ...], accusations: Iterable[Pair], now_ms: int) -> None:
        """The first of each does not hear the second now; a conflict that is seen no more is forgotten."""
        rank = {member: place for place, member in enumerate(members)}
        pairs = {tuple(sorted(pair, key=rank.__getitem__)) for pair in accusations if set(pair) <= rank.keys()}
        self._since = {(a, b): self._since.get((a, b), now_ms) for a, b in sorted(pairs)}

    def conflicts(self, for_ms: int, now_ms: int) -> set[Pair]:
        """Those that have lasted so long, once none is newer.

        1. B does not reach A, nor A F. 2. A misses B a heartbeat before F misses A. 3. Did A act at once, B would go,
        then F; together they cost A alone. What comes and goes all the time is waited for no longer than
        CUTS_GATHER_MS.
        """
        lasted_ms = {pair: now_ms - since_ms for pair, since_ms in self._since.items()}
        if min(lasted_ms.values(), default=0) < for_ms and max(lasted_ms.values(), default=0) < limits.CUTS_GATHER_MS:
            return set()
        return {pair for pair, pair_ms in lasted_ms.items() if pair_ms >= for_ms}

    def beyond(self, process: Process, now_ms: int) -> set[Process]:
        """With whom a process is in a conflict that has lasted."""
        pairs = self.conflicts(limits.CUT_MS, now_ms)
        return {who for pair in pairs if process in pair for who in pair if who != process}

    def dropped(
        self,
        members: tuple[Process, ...],
        suffice: Callable[[Set[Process]], bool],
        now_ms: int,
        patient: bool = False,
    ) -> tuple[Process, ...]:
        """Whom to go on without; `patient`: as one who only acts where the leader does not."""
        return to_drop(members, self.conflicts(limits.CUT_MS * (3 if patient else 2) // 2, now_ms), suffice)
