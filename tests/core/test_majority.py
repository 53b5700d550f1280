"""How far a majority holds something, against the definition by quorums."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from gcom.core.quorum import held_by_majority, is_quorum
from gcom.values.definition import TieBreaker
from gcom.values.view import View
from tests.core.making import A, B, C, D, E, view

VIEWS = [view(*(A, B, C, D, E)[:count]) for count in range(1, 6)]
counts = st.dictionaries(st.sampled_from([A, B, C, D, E, "x#1"]), st.integers(0, 6))


@given(st.sampled_from(VIEWS), counts)
def test_a_majority_holds_what_more_than_half_hold(members: View, held: dict[str, int]) -> None:
    def many_hold(count: int) -> bool:
        return 2 * sum(held.get(member, 0) >= count for member in members.members) > len(members.members)

    most = held_by_majority(members, held)
    assert most == 0 or many_hold(most)
    assert not many_hold(most + 1)


@given(st.sampled_from(VIEWS), counts, st.sampled_from([A, B, C, D, E]), st.integers(0, 9))
def test_it_only_grows_with_what_is_held(members: View, held: dict[str, int], who: str, number: int) -> None:
    more = {**held, who: max(held.get(who, 0), number)}
    assert held_by_majority(members, more) >= held_by_majority(members, held)


def test_a_majority_meets_every_quorum_in_a_member() -> None:
    """No tie-breaker counts: of two halves neither is a majority, since the tie-breaker may store nothing."""
    for members in VIEWS:
        sets = [set(some) for size in range(6) for some in combinations(members.members, size)]
        majorities = [some for some in sets if held_by_majority(members, dict.fromkeys(some, 1))]
        assert majorities
        for breaker in TieBreaker:
            quorums = [some for some in sets if is_quorum(members, some, breaker, witness=True)]
            assert all(one & other for one in majorities for other in quorums)


def test_half_is_not_enough() -> None:
    four = view(A, B, C, D)
    assert held_by_majority(four, {A: 5, B: 4}) == 0
    assert held_by_majority(four, {B: 3, C: 5, D: 4}) == 3
    assert held_by_majority(view(A, B), {A: 7}) == 0
    assert held_by_majority(view(A, B), {A: 7, B: 7}) == 7
