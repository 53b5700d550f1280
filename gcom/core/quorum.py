"""Quorums of a view (ARCHITECTURE 10): a majority of its members, or exactly half with the view's one tie-breaker.

Two quorums of one view meet: two majorities, or a majority and a half, in a member; two halves in the tie-breaker. That
is the view's leader, or the group's home registry as a witness, an acceptor that stores no messages; the definition
fixes which, and nothing stands in for it.
"""

from __future__ import annotations

from collections.abc import Set
from itertools import repeat

from gcom.values.definition import TieBreaker
from gcom.values.names import Process
from gcom.values.view import View


def is_quorum(
    view: View, present: Set[Process], tie_breaker: TieBreaker = TieBreaker.LEADER, witness: bool = False
) -> bool:
    """Return whether these are a quorum of the view; `witness`: the registry has voted with them, or still may."""
    votes = _votes(view, present)
    if 2 * votes != len(view.members):
        return 2 * votes > len(view.members)
    # Where the registry breaks ties the leader does not, even if the registry cannot be reached: else its half could go
    # on, and the other half with the registry's vote.
    return witness if tie_breaker is TieBreaker.REGISTRY else view.leader in present


def is_half(view: View, present: Set[Process]) -> bool:
    """Return whether these are exactly half of the view."""
    return 2 * _votes(view, present) == len(view.members)


def _votes(view: View, present: Set[Process]) -> int:
    return sum(map(present.__contains__, view.members))


def held_by_majority(view: View, held: dict[Process, int]) -> int:
    """Return the largest count that more than half of the members have reached."""
    # Members only, never half and a tie-breaker: the registry stores nothing. Of A, B | C, D, what A and B hold is
    # nowhere when C and D win the tie.
    counts = sorted(map(held.get, view.members, repeat(0)), reverse=True)
    return counts[len(counts) // 2]
