"""The reader of serpent: it agrees with serpent on all that serpent writes, and refuses the rest within its bounds."""

from __future__ import annotations

import contextlib
import math
from typing import Any

import pytest
import serpent
from hypothesis import given
from hypothesis import strategies as st

from gcom.runtime.pyro.serpent_text import DEPTH_MAX, TEXT_BYTES_MAX, NotSerpent, read_serpent

SCALARS = st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats(allow_nan=False) | st.text()
KEYS = st.booleans() | st.integers(-(2**63), 2**63) | st.text()
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner)
        | st.lists(inner).map(tuple)
        | st.dictionaries(KEYS, inner)
        | st.sets(KEYS, min_size=1, max_size=1)
    ),
    max_leaves=20,
)


def plainly(value: Any) -> Any:
    """The value with lists for tuples and sets, as msgpack would have it."""
    if isinstance(value, dict):
        return {key: plainly(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set):
        return [plainly(item) for item in value]
    return value


def depth_of(value: Any) -> int:
    if not isinstance(value, list | tuple | set | dict):
        return 0
    return 1 + max(map(depth_of, value.values() if isinstance(value, dict) else value), default=0)


@given(VALUES)
def test_it_reads_what_serpent_writes(value: Any) -> None:
    data = serpent.dumps(value)
    if depth_of(value) > DEPTH_MAX or len(data) > TEXT_BYTES_MAX:
        return
    assert read_serpent(data) == plainly(serpent.loads(data))


@given(st.binary(max_size=200) | st.text("()[]{},:'\"\\xuU09.-eNoneTru \n#", max_size=60).map(str.encode))
def test_bytes_of_any_kind_are_read_or_refused(data: bytes) -> None:
    with contextlib.suppress(NotSerpent):
        read_serpent(data)


def test_each_dict_is_made_by_the_caller() -> None:
    assert read_serpent(b"{'a': [{'b': 1}]}", lambda it: sorted(it)) == ["a"]


def test_infinity_is_what_serpent_writes_for_it() -> None:
    assert read_serpent(serpent.dumps(math.inf)) == math.inf


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[" * (DEPTH_MAX + 1), "nested too deep"),
        ("[" * 10_000, "nested too deep"),
        ("-" * 10_000 + "1", "no literal at character 0"),
        ("9" * 20, "value|no literal|more than one"),
        ("'" + "a" * TEXT_BYTES_MAX + "'", "more than 16384 bytes"),
        ("'a", "no literal"),
        (r"'\N{BULLET}'", "no escape"),
        (r"'\U00110000'", "no escape"),
        ("__import__('os')", "no literal"),
        ("print(1)", "no literal"),
        ("1 + 1", "no literal"),
        ("1 1", "more than one value"),
        ("{1, 2: 3}", "where a comma or an end is due"),
        ("{1: 2, 3}", "an element that has no value"),
        ("{[1]: 2}", "a key that is a container"),
        ("[1, , 2]", ", where a value is due"),
        ("[1)", "where a comma or an end is due"),
        ("", "end where a value is due"),
    ],
)
def test_what_serpent_does_not_write_is_refused(text: str, said: str) -> None:
    with pytest.raises(NotSerpent, match=said):
        read_serpent(text.encode())
