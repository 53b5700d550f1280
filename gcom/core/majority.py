"""How far something is held by a majority of the view: so far it survives every view change (DESIGN 5, 6).

A view change needs a quorum of promises, and every quorum meets every majority; so what a majority holds is in the
union of what any change finds.
"""

from __future__ import annotations

from gcom.values.names import Process
from gcom.values.view import View


def held_by_majority(view: View, held: dict[Process, int]) -> int:
    """The largest count that more than half of the view have reached: a tie-breaker may be one that stores nothing."""
    counts = sorted([held.get(member, 0) for member in view.members], reverse=True)
    return counts[len(counts) // 2]
