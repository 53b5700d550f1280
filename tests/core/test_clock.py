"""Vector clocks: the laws of their order, and a twin that keeps whole histories of events."""

from __future__ import annotations

import doctest
from collections import Counter
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcom import BadValue, Causality, VectorClock
from gcom.values import clock as module

NAMES = ("a#1", "b#1", "c#1", "d#1")
names = st.sampled_from(NAMES)
clocks = st.dictionaries(names, st.integers(0, 4)).map(VectorClock)


@given(clocks, clocks, clocks)
def test_clocks_are_partially_ordered(one: VectorClock, two: VectorClock, three: VectorClock) -> None:
    assert one <= one
    assert not one < one
    assert not (one <= two and two <= one) or one == two
    assert not (one <= two and two <= three) or one <= three
    assert (one < two) == (two > one) == (one <= two and one != two)
    assert VectorClock() <= one


@given(clocks, clocks, clocks)
def test_a_merge_is_the_least_clock_that_knows_both(one: VectorClock, two: VectorClock, three: VectorClock) -> None:
    both = one.merge(two)
    assert one <= both
    assert two <= both
    assert not (one <= three and two <= three) or both <= three
    assert both == two.merge(one)
    assert both.merge(three) == one.merge(two.merge(three))
    assert one.merge(one) == one


@given(clocks, names)
def test_a_tick_is_later_and_at_one_process_only(clock: VectorClock, who: str) -> None:
    later = clock.tick(who)
    assert clock < later
    assert later.changed_since(clock) == VectorClock({who: clock[who] + 1})


@given(clocks, clocks)
def test_what_changed_is_enough_and_no_more(one: VectorClock, two: VectorClock) -> None:
    later = one.merge(two)
    changed = later.changed_since(one)
    assert one.merge(changed) == later
    assert all(number > one[who] for who, number in changed.items())
    assert one.changed_since(later) == VectorClock()


@given(clocks, clocks)
def test_the_four_comparisons_exclude_each_other(one: VectorClock, two: VectorClock) -> None:
    opposite = {Causality.BEFORE: Causality.AFTER, Causality.AFTER: Causality.BEFORE}
    found = one.compare(two)
    assert two.compare(one) == opposite.get(found, found)
    assert (found is Causality.EQUAL) == (one == two)
    assert (found is Causality.BEFORE) == (one < two)
    assert (found is Causality.CONCURRENT) == (not one <= two and not two <= one)


@dataclass
class Site:
    """A process: its clock, and the twin's way to keep the same, the set of all events that it knows of."""

    clock: VectorClock = field(default_factory=VectorClock)
    known: frozenset[int] = field(default_factory=frozenset)


steps = st.lists(st.tuples(names, st.none() | st.integers(0, 30)), max_size=30)


@given(steps)
def test_one_event_is_before_another_exactly_if_the_other_knew_of_it(script: list[tuple[str, int | None]]) -> None:
    sites = {name: Site() for name in NAMES}
    events: list[tuple[VectorClock, frozenset[int]]] = []  # each event's clock, and all that it knew, itself included
    for name, heard in script:
        site = sites[name]
        if heard is not None and events:  # hears of some event that was
            clock, known = events[heard % len(events)]
            site.clock, site.known = site.clock.merge(clock), site.known | known
        site.clock, site.known = site.clock.tick(name), site.known | {len(events)}
        events.append((site.clock, site.known))
    for one, (clock, known) in enumerate(events):
        for other, (later, knows) in enumerate(events):
            assert (clock <= later) == (one in knows)
            assert (clock.compare(later) is Causality.CONCURRENT) == (one not in knows and other not in known)


@given(st.lists(names), st.lists(names))
def test_a_clock_is_a_count_of_what_is_known(one: list[str], two: list[str]) -> None:
    def counted(heard: list[str]) -> VectorClock:
        clock = VectorClock()
        for who in heard:
            clock = clock.tick(who)
        return clock

    assert counted(one) == VectorClock(Counter(one))
    assert (counted(one) <= counted(two)) == (Counter(one) <= Counter(two))
    assert counted(one).merge(counted(two)) == VectorClock(Counter(one) | Counter(two))


def test_who_is_not_in_a_clock_has_0_and_zeros_are_not_kept() -> None:
    clock = VectorClock({"b#1": 2, "a#1": 0})
    assert (clock["a#1"], clock.get("z#9"), dict(clock), len(clock)) == (0, 0, {"b#1": 2}, 1)
    assert "a#1" not in clock
    assert clock == VectorClock({"b#1": 2})
    assert clock != {"b#1": 2}


def test_a_clock_does_not_change_and_can_be_a_key() -> None:
    source = {"b#1": 2, "a#1": 1}
    clock = VectorClock(source)
    source["b#1"] = 9
    clock.tick("b#1")
    clock.merge(VectorClock({"c#1": 1}))
    assert repr(clock) == "VectorClock({'a#1': 1, 'b#1': 2})"
    assert {clock: "x"}[VectorClock({"a#1": 1, "b#1": 2})] == "x"
    with pytest.raises(TypeError):
        clock["a#1"] = 5  # type: ignore[index]
    with pytest.raises(AttributeError):
        clock.numbers = {}  # type: ignore[attr-defined]


@pytest.mark.parametrize("number", [-1, 1.0, True, "1", None])
def test_a_clock_has_whole_numbers_from_0_only(number: object) -> None:
    with pytest.raises(BadValue, match="whole number"):
        VectorClock({"a#1": number})  # type: ignore[dict-item]


def test_a_clock_is_merged_with_a_clock_only() -> None:
    with pytest.raises(BadValue, match="not with dict"):
        VectorClock().merge({"a#1": 1})  # type: ignore[arg-type]


def test_the_example_in_the_docstring_is_true() -> None:
    result = doctest.testmod(module)
    assert result.attempted
    assert not result.failed


@pytest.mark.parametrize("numbers", [[("a", 1)], 5, {1: 1}])
def test_a_clock_is_made_of_processes_and_numbers(numbers: object) -> None:
    with pytest.raises(BadValue):
        VectorClock(numbers)  # type: ignore[arg-type]


def test_a_clock_is_less_than_clocks_only() -> None:
    with pytest.raises(TypeError, match="VectorClock"):
        _ = VectorClock() < 5  # type: ignore[operator]
