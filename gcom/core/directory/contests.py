"""Contests over a name: its members take back what a process took on its own word (docs/protocols/continuity.md).

A registry cannot check all that it is told: a claim says who is dead, and a copy that was down for long may know none
of the members. It believes both only while no known member renews the lease, and remembers whom it believed less.

1. A, B and C are cut off from the registry. 2. X, a stranger, claims the name and says that all three are dead. 3. The
cut heals, and A registers. An honest claim leaves nobody who could, so X has lied.
"""

from __future__ import annotations

from dataclasses import dataclass

from gcom.core.directory.rows import Mint, Row
from gcom.core.messages.registry import Register
from gcom.values import limits, lineage
from gcom.values.definition import Netsplit


@dataclass(frozen=True, slots=True)
class _Contest:
    """The entry that lost the name, and when."""

    row: Row
    since_ms: int
    claimed: bool  # by a claim; else by the view that a process registered


class Contests:
    """The contests of one registry's life: at most CONTESTS_MAX, each for CONTEST_MS of its running time."""

    def __init__(self, mint: Mint) -> None:
        self._mint = mint
        self._by_group: dict[str, _Contest] = {}

    def admit(self, row: Row, request: Register, now_ms: int) -> bool:
        """Return whether a registration may change the entry; the word of an unknown process begins a contest."""
        rival = row.instance != request.instance
        if row.view is None or request.process in row.known or (rival and self._is_older(row, request)):
            return True
        # A registry that forgot the group does not know who was put out of it, so it takes a process of an older view
        # for one that may have the name.
        if not rival and request.view.number < row.number:
            return row.forgot
        # At its home each joiner of a PRIMARY group is noted before it is a member, and all of a successor were
        # members: so nobody unknown is one.
        home_knows = not (row.definition.home or row.forgot or row.definition.netsplit is Netsplit.PARTITIONABLE)
        if row.alive(now_ms) or request.detached or home_knows:
            return False
        # Nobody known renews the lease: a copy that was down may have missed them all. So the word of an unknown
        # process counts, and the members that are known may contest it.
        self.begin(row, now_ms, claimed=False)
        return True

    def _is_older(self, row: Row, request: Register) -> bool:
        """Return whether this registry itself founded the rival instance, before that of the entry."""
        # A registry that forgot its groups still knows its own ids, which nobody else can make: so a group that was
        # founded anew gives way to the one before it, and a made-up instance takes nothing from anybody.
        mine, other = lineage.origin_of(row.instance), lineage.origin_of(request.instance)
        return other < mine and self._mint.is_own(request.definition.group, other)

    def begin(self, row: Row, now_ms: int, *, claimed: bool) -> None:
        """Remember who had a name, as another process takes it."""
        group, over_ms = row.definition.group, now_ms - limits.CONTEST_MS
        self._by_group = {name: it for name, it in self._by_group.items() if it.since_ms > over_ms}
        # The first loser counts: a process that takes the name from a taker has no more right to it.
        if row.view is not None and group not in self._by_group and len(self._by_group) < limits.CONTESTS_MAX:
            self._by_group[group] = _Contest(row, now_ms, claimed)

    def disputes(self, request: Register, row: Row | None, now_ms: int) -> bool:
        """Return whether a registration comes from a member of the entry that lost the name, and belies the taker."""
        contest = self._open(request.definition.group, now_ms)
        if contest is None or contest.row.instance != request.instance:
            return False
        view = contest.row.view
        if view is None or request.process not in view.members or request.view.number < view.number:
            return False
        return row is None or not _agrees(row, request)

    def settle(self, request: Register) -> Row | None:
        """End a contest that a registration disputes: return the entry to put back; None: it does not prove enough."""
        contest = self._by_group[request.definition.group]
        # A detached member may be out of its view by now. What a claim said of it is a lie all the same.
        if request.detached and not contest.claimed:
            return None
        del self._by_group[request.definition.group]
        return contest.row

    def is_hearsay(self, row: Row, now_ms: int) -> bool:
        """Return whether the entry's view was registered by a process of which nothing was known."""
        contest = self._open(row.definition.group, now_ms)
        return contest is not None and not contest.claimed

    def _open(self, group: str, now_ms: int) -> _Contest | None:
        contest = self._by_group.get(group)
        return contest if contest and now_ms - contest.since_ms < limits.CONTEST_MS else None


def _agrees(row: Row, request: Register) -> bool:
    """Return whether the process that took the name told the truth, as far as this member knows."""
    listed = row.view is not None and request.process in row.view.members
    return row.instance == request.instance and listed and request.view.number >= row.number
