"""Instance ids that carry their lineage, fixed at birth (ARCHITECTURE 10; docs/protocols/continuity.md).

A founded instance's id is its *origin*: when it was founded, then chance. A successor's id is the origin, the count of
successions since, and its beginner: `origin-2-7f3a`. It is `origin-3.2-7f3a` where the second of them was begun *anew*:
by an operator's order, which gave up members that may live, with nothing of what these alone had. So all
that meet two instances of one name rank them by their ids alone, everywhere alike and for good: never by size, length
or load, which change.
"""

from __future__ import annotations

Precedence = tuple[str, int, str]


def founded(founded_ms: int, chance: str) -> str:
    """Return the id of an instance founded at `founded_ms` of wall time; `chance` makes equal instants differ."""
    # 11 digits of hexadecimal: texts of equal length sort as their times do, until the year 2527.
    return f"{founded_ms:011x}{chance}"


def origin_of(instance: str) -> str:
    """Return the id with which an instance's lineage began."""
    return instance.partition("-")[0]


def generation(instance: str) -> int:
    """Return how many successions lie between an instance and its origin."""
    return _counts(instance)[0]


def _counts(instance: str) -> tuple[int, int]:
    """Return the successions since the origin, and the last of them that was begun anew; 0: none was."""
    # An id without a hyphen is an origin: generation 0.
    _, _, rest = instance.partition("-")
    since, _, anew = rest.partition("-")[0].partition(".")
    return int(since or 0), int(anew or 0)


def successor(instance: str, founder: str, anew: bool = False) -> str:
    """Return the id of the instance that succeeds this one; `founder` is the incarnation of its beginner.

    `anew`: an operator gave up members that may live, and the successor has nothing that they alone had.
    """
    since, begun = _counts(instance)
    begun = since + 1 if anew else begun
    return f"{origin_of(instance)}-{since + 1}{f'.{begun}' if begun else ''}-{founder}"


def rank(instance: str, view: int) -> int:
    """Return a number that is the greater the later a view is: in a successor the views begin again at 1."""
    # The view in the low 40 bits: any view of a later generation is above all views of the one before.
    return (generation(instance) << 40) + min(view, (1 << 40) - 1)


def since_ago(instance: str, since: int) -> tuple[int, int]:
    """Return a rank as an instance sees it: how many successions ago, and the view there; (0, 0) for rank 0."""
    return (generation(instance) - (since >> 40), since & ((1 << 40) - 1)) if since else (0, 0)


# How far a state reaches: the rank of the last view that it has, and how many messages of that view's members. Two
# processes that were put out of one view may have delivered different parts of it, so the view alone does not compare.
Extent = tuple[int, int]
NO_EXTENT: Extent = (0, 0)


def descends(instance: str, ancestor: str) -> bool:
    """Return whether an instance came, by successions, of another one."""
    return origin_of(instance) == origin_of(ancestor) and generation(instance) > generation(ancestor)


def carries_on(instance: str, former: str) -> bool:
    """Return whether an instance has what a former one had: it is that one, or came of it, none begun anew since."""
    return instance == former or (descends(instance, former) and _counts(instance)[1] <= generation(former))


def precedence(instance: str) -> Precedence:
    """Return a sort key: of two instances of a PRIMARY name the one with the smaller key stands above the other.

    A successor stands above its predecessors; of strangers the one founded earlier does.
    """
    # By the id alone, which both sides know and nothing changes: by size or length two sides might each find itself
    # the higher (continuity.md).
    return origin_of(instance), -generation(instance), instance


SizePrecedence = tuple[int, int, str]


def precedence_by_size(members: int, views: int, instance: str) -> SizePrecedence:
    """Return a sort key: of two instances of a PARTITIONABLE name the one with the smaller key stands above."""
    # More members, then more views. Size does no harm here: where sides merge, both states are kept.
    return -members, -views, instance
