"""Neighbours: the peers with which a member of a large view beats all the time (SWIM 2002 has random ones).

The members are a ring, by rank, and each watches the two beside it. Whichever members die, hang or are cut off: as long
as one is left on either side, some pair in the ring has one of each, and notices (docs/protocols/detector.md).
"""

from __future__ import annotations

from gcom.values import limits
from gcom.values.names import Process
from gcom.values.view import View


def neighbours(view: View, process: Process) -> frozenset[Process]:
    """Return the peers that a member watches: all others of a small view, the two beside it in a large one."""
    members = view.members
    if len(members) <= limits.WATCH_ALL_MAX:
        return frozenset(members) - {process}
    rank = view.rank(process)
    return frozenset((members[rank - 1], members[(rank + 1) % len(members)]))


def rest_ms(view: View, one: Process, other: Process) -> int:
    """Return how long the link of two that are no neighbours rests at most, alike at both of its ends."""
    # Spread over the pairs: after a view began all would have their next exchange at one time.
    spread = (view.rank(one) + view.rank(other)) % len(view.members)
    return limits.REST_MS // 2 * (len(view.members) + spread) // len(view.members)
