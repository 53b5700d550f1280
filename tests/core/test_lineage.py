"""Which of two instances of a name stands above: by their ids alone, everywhere alike and for good."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcom.core.codec import kinds
from gcom.values.lineage import carries_on, descends, founded, generation, origin_of, precedence, successor

chances = st.text("0123456789abcdef", min_size=8, max_size=8)
origins = st.builds(founded, st.integers(0, 2**44 - 1), chances)
founders = st.text("0123456789abcdefghij", min_size=1, max_size=16)


@st.composite
def instances(draw: st.DrawFn, origin: st.SearchStrategy[str] = origins) -> str:
    """One that was founded, or the successor of one."""
    found = draw(origin)
    for founder in draw(st.lists(founders, max_size=12)):
        found = successor(found, founder, anew=draw(st.booleans()))
    return found


def above(one: str, other: str) -> bool:
    return precedence(one) < precedence(other)


@given(instances(), founders)
def test_a_successor_stands_above_its_predecessor_and_descends_of_it(instance: str, founder: str) -> None:
    following = successor(instance, founder)
    assert above(following, instance)
    assert descends(following, instance)
    assert not descends(instance, following)
    assert not descends(instance, instance)
    assert (origin_of(following), generation(following)) == (origin_of(instance), generation(instance) + 1)


@given(instances(), st.lists(st.tuples(founders, st.booleans()), max_size=6), founders)
def test_what_an_instance_had_is_carried_on_until_one_is_begun_anew(
    instance: str, made: list[tuple[str, bool]], founder: str
) -> None:
    last, carried = instance, True
    for beginner, anew in made:
        last, carried = successor(last, beginner, anew), carried and not anew
        assert carries_on(last, instance) is carried
        assert not carries_on(instance, last)
    assert carries_on(last, last)
    assert not carries_on(founded(0, "0") + "x", last)
    assert carries_on(successor(last, founder), last)


@given(st.integers(0, 2**44 - 1), st.integers(0, 2**44 - 1), chances, chances, st.data())
def test_of_strangers_the_one_founded_earlier_stands_above_however_often_the_other_was_succeeded(
    first_ms: int, second_ms: int, chance: str, other_chance: str, data: st.DataObject
) -> None:
    if first_ms == second_ms:
        return
    early, late = sorted((first_ms, second_ms))
    one = data.draw(instances(st.just(founded(early, chance))))
    other = data.draw(instances(st.just(founded(late, other_chance))))
    assert above(one, other)
    assert not descends(one, other)
    assert not descends(other, one)


@given(st.lists(instances(), min_size=3, max_size=3, unique=True))
def test_all_instances_are_in_one_order(three: list[str]) -> None:
    for one, other, third in permutations(three):
        assert above(one, other) is not above(other, one)
        assert not (above(one, other) and above(other, third)) or above(one, third)


@given(instances())
def test_every_id_is_one_that_the_wire_takes(instance: str) -> None:
    assert kinds.INSTANCE.decode(instance) == instance


@pytest.mark.parametrize(
    ("lower", "higher"),
    [("i-9-a", "i-10-a"), ("i-1-a", "i-2-a"), ("i-1-b", "i-1-a"), ("i", "i-1-z"), ("j-9-a", "i")],
)
def test_generations_are_numbers_and_a_tie_has_one_answer(lower: str, higher: str) -> None:
    assert above(higher, lower)
