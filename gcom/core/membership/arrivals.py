"""Arrivals: which members have installed the view. Until all have, each keeps the last view's payloads for them.

In a small view each tells all. If all told all in one of 64, each change would take 4,000 calls: there each tells its
neighbours and the leader, whose status says who has arrived (docs/protocols/detector.md).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from gcom.core.detector.connectivity import as_ranks
from gcom.values.names import Process
from gcom.values.view import View


class Arrivals:
    """The members that have installed a view, as far as one of them knows; `far` are those that others watch."""

    def __init__(self, process: Process, view: View, far: Collection[Process]) -> None:
        self.behind = set(view.members)  # are not known to be in it
        self.is_told = bool(far) and view.leader != process  # by the leader; at first hand of its neighbours alone
        self.bits = 0  # who has arrived, by rank - 1, as the leader of a large view says it
        self._far = far
        self._ranks = {member: rank for rank, member in enumerate(view.members)}
        self._tells = bool(far) and view.leader == process

    def add(self, peer: Process) -> bool:
        """Record that a member has installed the view; return whether that is new."""
        if peer not in self.behind:
            return False
        self.behind.remove(peer)
        if self._tells and self._ranks[peer]:
            self.bits |= 1 << self._ranks[peer] - 1
        return True

    @property
    def tells_all(self) -> bool:
        """Return whether this process leads a large view, and has to say that all are in it."""
        return self._tells and not self.behind

    @property
    def stuck(self) -> set[Process]:
        """The members that are behind, of which this process would have heard if they were not."""
        return self.behind.difference(self._far) if self.is_told else self.behind

    def told(self, bits: int) -> list[Process]:
        """Return the members that have arrived by the leader's word, and were not known to have."""
        ranks = {rank + 1 for rank in as_ranks(bits)}
        return [member for member, rank in self._ranks.items() if rank in ranks and member in self.behind]

    def first_told(self, peers: Sequence[Process]) -> list[Process]:
        """Return those of these peers, by rank, that are to hear news at once: in a large view those that act on it."""
        # The neighbours watch, and the eldest proposes. The others hear it with a heartbeat, if it still matters then.
        return [peer for place, peer in enumerate(peers) if place == 0 or peer not in self._far]
