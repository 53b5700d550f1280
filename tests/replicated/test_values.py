"""Values come back equal and of the same types, or are refused at once."""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict, deque
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcom.errors import BadValue, MalformedFrame
from gcom.replicated.values import ValueCodec
from tests.replicated.machines import Kind, Order, SoldOut

CODEC = ValueCodec([Kind, Order, SoldOut])
KEYS = st.one_of(st.integers(), st.text(), st.binary(), st.booleans(), st.none(), st.tuples(st.integers(), st.text()))
LEAVES = st.one_of(
    KEYS, st.floats(allow_nan=False), st.datetimes(), st.dates(), st.times(), st.timedeltas(), st.decimals(), st.uuids()
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.dictionaries(KEYS, inner, max_size=4),
        st.sets(KEYS, max_size=4),
        st.frozensets(KEYS, max_size=4),
        st.builds(Order, st.text(), st.integers(), st.sampled_from(Kind), st.lists(st.text(), max_size=2).map(tuple)),
    ),
    max_leaves=12,
)


def shape(value: Any) -> Any:
    """A value with the types of all that is in it: 1 and True are equal, and so are 0.0 and -0.0."""
    if isinstance(value, dict):
        return dict, [(shape(key), shape(it)) for key, it in value.items()]
    if isinstance(value, set | frozenset):
        return type(value), sorted(map(repr, map(shape, value)))
    if isinstance(value, list | tuple | deque):
        return type(value), list(map(shape, value))
    return type(value), repr(value)


@given(VALUES)
def test_a_value_comes_back_as_it_was(value: Any) -> None:
    packed = CODEC.pack(value)
    found = CODEC.unpack(packed)
    assert shape(found) == shape(value)
    assert CODEC.pack(found) == packed


@pytest.mark.parametrize(
    "value",
    [
        2**400,
        -(2**70),
        datetime(2026, 3, 29, 2, 30, tzinfo=ZoneInfo("Europe/Stockholm"), fold=1),
        datetime(2026, 1, 1, tzinfo=UTC),
        datetime(2026, 1, 1, tzinfo=timezone(timedelta(minutes=-90))),
        time(3, 4, 5, 6, tzinfo=UTC),
        date.max,
        Decimal("NaN"),
        UUID(int=2**90),
        deque([1, (2,)], maxlen=3),
        Counter("abba"),
        OrderedDict(b=1, a=2),
        {1: {2: {(3, "x"): [Order("nail", 2**80)]}}},
    ],
    ids=str,
)
def test_so_do_these(value: Any) -> None:
    found = CODEC.unpack(CODEC.pack(value))
    assert type(found) is type(value)
    assert repr(found) == repr(value)


def test_a_defaultdict_keeps_its_factory() -> None:
    found = CODEC.unpack(CODEC.pack(defaultdict(list, a=[1])))
    assert found["b"] == []
    assert dict(found) == {"a": [1], "b": []}


def test_equal_sets_have_equal_bytes() -> None:
    names = [f"name {number}" for number in range(100)]
    grown: set[str] = set()
    for name in reversed(names):
        grown.add(name)  # in another order: then a set is gone through in another one, too
    assert CODEC.pack(set(names)) == CODEC.pack(grown)


class Unknown:
    pass


def cyclic() -> list[Any]:
    found: list[Any] = []
    found.append(found)
    return found


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (Unknown(), "a value of type Unknown cannot travel: use numbers"),
        (iter([]), "list_iterator cannot travel"),
        ({"a": [lambda: 0]}, "type function cannot travel"),
        (defaultdict(lambda: 0), "a defaultdict must have one of int, float"),
        ("\ud800", "cannot travel"),
        (cyclic(), "cannot travel"),
        (ValueCodec, "type type cannot travel"),
    ],
    ids=lambda it: type(it).__name__,
)
def test_others_are_refused_by_name(value: object, words: str) -> None:
    with pytest.raises(BadValue, match=words):
        CODEC.pack(value)


def test_a_class_that_the_machine_does_not_know_is_refused_at_both_ends() -> None:
    with pytest.raises(BadValue, match="type Order cannot travel: define or import that class"):
        ValueCodec().pack(Order("nail", 1))
    with pytest.raises(MalformedFrame):
        ValueCodec().unpack(CODEC.pack(Order("nail", 1)))


@given(st.binary(max_size=40))
def test_any_bytes_are_a_value_or_malformed(data: bytes) -> None:
    try:
        CODEC.unpack(data)
    except MalformedFrame:
        return
