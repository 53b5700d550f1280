"""Serpent as stock Pyro5 programs write it, and imitations of it: read, or refused, at no more cost."""

from __future__ import annotations

from typing import Any

import pytest
import serpent
from hypothesis import given
from hypothesis import strategies as st

from gcom.runtime.pyro import stock
from gcom.runtime.pyro.stock import DEPTH_MAX, SERPENT_BYTES_MAX, read_serpent
from gcom.runtime.pyro.wire import RefusedMessage

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
LEAVES = st.none() | st.booleans() | st.integers(-(10**30), 10**30) | st.floats(-1e300, 1e300) | TEXTS
VALUES = st.recursive(
    LEAVES, lambda it: st.lists(it, max_size=4) | st.dictionaries(TEXTS, it, max_size=4), max_leaves=12
)


@given(VALUES)
def test_what_serpent_writes_is_read_as_it_was(value: Any) -> None:
    written = serpent.dumps([value])
    if len(written) <= SERPENT_BYTES_MAX and _depth(value) < DEPTH_MAX:
        assert read_serpent(written) == [value]


def _depth(value: Any) -> int:
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inside is None else 1 + max(map(_depth, inside), default=0)


@given(st.binary(max_size=200) | st.text("[](){},:'\"\\-0129.eTrueNone #\n", max_size=200).map(str.encode))
def test_whatever_comes_is_a_plain_value_or_refused(body: bytes) -> None:
    try:
        found = read_serpent(body)
    except RefusedMessage:
        return
    assert isinstance(found, str | int | float | list | dict | type(None))


def test_tuples_sets_and_uris_are_plain_values() -> None:
    uri = {"__class__": "Pyro5.core.URI", "state": ("PYRO", "x", None, "127.0.0.1", 5)}
    assert read_serpent(serpent.dumps(("a", {"c", "b"}, uri))) == ["a", ["b", "c"], "PYRO:x@127.0.0.1:5"]


@pytest.mark.parametrize(
    "text",
    [
        "[" * (DEPTH_MAX + 1) + "]" * (DEPTH_MAX + 1),
        "[" * 8000,
        "-" * 8000 + "1",
        "1" + "-1" * 5000,
        "'a'" * 5000,
        "()" * 5000,
        "[1]" + "[0]" * 4000,
        "9" * 5000,
        "1e999999",
        "'\\N{SNOWMAN}'",
        "'\\d'",
        "'\\ud800'",
        "'\\U00110000'",
        "b'x'",
        "f'{1}'",
        "__import__('os')",
        "x",
        "1j",
        "1 if 1 else 2",
        "{[]: 1}",
        "{**{}}",
        "[*[]]",
        "# serpent utf-8 python3.2\n# another\n1",
        "'a\n'",
        "\0",
        "",
    ],
    ids=lambda text: text[:12],
)
def test_what_serpent_does_not_write_is_refused(text: str) -> None:
    with pytest.raises(RefusedMessage):
        read_serpent(text.encode())


def test_what_is_too_large_is_refused_before_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stock, "_check_tokens", None)
    with pytest.raises(RefusedMessage, match="bytes of serpent"):
        read_serpent(b"'" + b"x" * SERPENT_BYTES_MAX + b"'")
