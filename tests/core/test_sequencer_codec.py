"""The sequencer's requests and answers as bytes: they come back, and one wrong field refuses the whole."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcom.core.codec import sequencer as codec
from gcom.core.messages.orders import Orders, Span
from gcom.core.messages.sequencer import Close, Open, Opened, SequencerAnswer, SequencerRequest, Unknown, Want
from gcom.errors import MalformedFrame, VersionMismatch
from gcom.values import limits

numbers = st.integers(0, limits.NUMBER_MAX)
processes = st.sampled_from([f"{name}#{life}" for name in ("a", "Z9._-" * 6, "x" * 32) for life in ("0", "z" * 16)])
groups = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}", fullmatch=True)
instances = st.from_regex(r"[0-9a-z]{1,32}", fullmatch=True)
requests: st.SearchStrategy[SequencerRequest] = st.one_of(
    st.builds(Open, groups, instances, numbers, numbers, st.dictionaries(processes, numbers)),
    st.builds(Want, groups, instances, numbers, processes, numbers, numbers, numbers),
    st.builds(Close, groups, instances),
)


@st.composite
def spans(draw: st.DrawFn) -> Span:
    first, last = sorted([draw(st.integers(1, limits.NUMBER_MAX)), draw(st.integers(1, limits.NUMBER_MAX))])
    return draw(processes), first, last


answers: st.SearchStrategy[SequencerAnswer] = st.one_of(
    st.builds(Orders, numbers, numbers, st.lists(spans(), max_size=9).map(tuple)),
    st.just(Opened()),
    st.just(Unknown()),
)


@given(requests)
def test_a_request_comes_back_as_it_was(request: SequencerRequest) -> None:
    assert codec.decode_request(codec.encode_request(request)) == request


@given(answers)
def test_an_answer_comes_back_as_it_was(answer: SequencerAnswer) -> None:
    assert codec.decode_answer(codec.encode_answer(answer)) == answer


def test_the_request_of_a_full_group_and_the_longest_answer_pass() -> None:
    settled = {f"{f'm{index}':x<32}#{'1' * 16}": limits.NUMBER_MAX for index in range(limits.MEMBERS_MAX)}
    request = Open("g" * 63, "i" * 32, limits.NUMBER_MAX, limits.NUMBER_MAX, settled)
    assert codec.decode_request(codec.encode_request(request)) == request
    answer = Orders(1, 0, tuple((who, 1, limits.NUMBER_MAX) for who in [*settled] * (limits.ORDERS_MAX // 64)))
    assert len(answer.spans) == limits.ORDERS_MAX
    assert codec.decode_answer(codec.encode_answer(answer)) == answer


anything = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(-(2**63), 2**64 - 1), st.floats(), st.binary(max_size=9), st.text()
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=9), st.dictionaries(st.text(), inner, max_size=3)),
    max_leaves=12,
)


def packed(*parts: Any, version: Any = limits.PROTOCOL_VERSION) -> bytes:
    data: bytes = msgpack.packb([version, *parts])
    return data


@given(st.sampled_from(["open", "want", "close", "orders", "opened", "unknown"]) | anything, st.lists(anything))
def test_a_kind_with_any_fields_is_taken_or_refused(kind: Any, fields: list[Any]) -> None:
    for decode in (codec.decode_request, codec.decode_answer):
        with suppress(MalformedFrame):
            decode(packed(kind, *fields))


@given(st.binary(max_size=200))
def test_random_bytes_are_taken_or_refused(data: bytes) -> None:
    for decode in (codec.decode_request, codec.decode_answer):
        with suppress(MalformedFrame, VersionMismatch):
            decode(data)


@given(requests, answers, st.lists(st.tuples(st.integers(0, 500), st.integers(0, 255)), min_size=1, max_size=4))
def test_damaged_bytes_are_taken_or_refused(
    request: SequencerRequest, answer: SequencerAnswer, hits: list[tuple[int, int]]
) -> None:
    for decode, whole in (
        (codec.decode_request, codec.encode_request(request)),
        (codec.decode_answer, codec.encode_answer(answer)),
    ):
        damaged = bytearray(whole)
        for place, value in hits:
            damaged[place % len(damaged)] = value
        for length in (len(damaged), hits[0][0] % len(damaged)):
            with suppress(MalformedFrame, VersionMismatch):
                decode(bytes(damaged[:length]))


OPEN = ["g", "i1", 1, 0, {"a#1": 0}]
WANT = ["g", "i1", 1, "a#1", 1, 0, 0]


def changed(fields: list[Any], place: int, value: Any) -> list[Any]:
    return [*fields[:place], value, *fields[place + 1 :]]


@pytest.mark.parametrize(
    "parts",
    [
        (),
        ("open",),
        ("opened",),
        ("open", *OPEN, 1),
        ("want", *WANT[:-1]),
        ("close", "g"),
        ("close", "g", "i1", 1),
        ("close", "no spaces", "i1"),
        ("open", *changed(OPEN, 0, ["g"])),
        ("open", *changed(OPEN, 1, "i/1")),
        ("open", *changed(OPEN, 1, "i" * 33)),
        ("open", *changed(OPEN, 1, 1)),
        ("open", *changed(OPEN, 2, -1)),
        ("open", *changed(OPEN, 2, True)),
        ("open", *changed(OPEN, 3, limits.NUMBER_MAX + 1)),
        ("open", *changed(OPEN, 3, 1.0)),
        ("open", *changed(OPEN, 4, [["a#1", 0]])),
        ("open", *changed(OPEN, 4, {"a": 0})),
        ("open", *changed(OPEN, 4, {"": 0})),
        ("open", *changed(OPEN, 4, {"a#1": None})),
        ("open", *changed(OPEN, 4, {f"m{index}#1": 0 for index in range(limits.MEMBERS_MAX + 1)})),
        ("want", *changed(WANT, 3, "a")),
        ("want", *changed(WANT, 3, None)),
        ("want", *changed(WANT, 4, -1)),
        ("want", *changed(WANT, 5, "0")),
        ("want", *changed(WANT, 6, False)),
    ],
)
def test_a_malformed_request_is_refused(parts: tuple[Any, ...]) -> None:
    with pytest.raises(MalformedFrame):
        codec.decode_request(packed(*parts))


@pytest.mark.parametrize(
    "parts",
    [
        ("orders",),
        ("orders", [1, 0]),
        ("orders", [1, 0, None]),
        ("orders", [1, 0, {}]),
        ("orders", [1, 0, [["a#1", 1]]]),
        ("orders", [1, 0, [["a#1", 0, 1]]]),
        ("orders", [1, 0, [["a#1", 2, 1]]]),
        ("orders", [1, 0, [["a", 1, 1]]]),
        ("orders", [1, -1, []]),
        ("orders", [1, 0, [["a#1", 1, 1]] * (limits.ORDERS_MAX + 1)]),
        ("orders", 1, 0, []),
        ("opened", 1),
        ("unknown", None),
        ("close", "g", "i1"),
    ],
)
def test_a_malformed_answer_is_refused(parts: tuple[Any, ...]) -> None:
    with pytest.raises(MalformedFrame):
        codec.decode_answer(packed(*parts))


@pytest.mark.parametrize(
    "data", [b"", b"\x90", b"\x91\x01", packed(), b"\xff", codec.encode_answer(Opened()) + b"\x00"]
)
def test_what_is_no_message_is_refused(data: bytes) -> None:
    for decode in (codec.decode_request, codec.decode_answer):
        with pytest.raises(MalformedFrame):
            decode(data)


@pytest.mark.parametrize("version", [0, 1, 99])
def test_another_version_is_named(version: int) -> None:
    for decode in (codec.decode_request, codec.decode_answer):
        with pytest.raises(VersionMismatch, match=str(version)):
            decode(packed("opened", version=version))
