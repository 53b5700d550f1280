"""Refusals of the codec, one wrong field a row."""

from __future__ import annotations

from typing import Any

import msgpack
import pytest

from gcom.core.codec import registry as codec
from gcom.core.messages.registry import Done, Refusal
from gcom.errors import MalformedFrame, VersionMismatch
from gcom.values import limits

DEFINITION = ["news", "FIFO", "RELIABLE", [], False, "PRIMARY", "LEADER"]
VIEW = [1, ["alice#1"], ["127.0.0.1:1"], True]
SEAT = ["bob#1", "127.0.0.1:2"]
ENTRY = [DEFINITION, "i1", 1, ["alice#1"], ["127.0.0.1:1"], [SEAT], False, False, True, ["i0", 4], False]
CLAIM = ["claim", "news", "i1", 0, "alice#1", "127.0.0.1:1", ["bob#1"], [["carol#1", "127.0.0.1:2"]]]
REGISTER = ["register", DEFINITION, "i1", VIEW, "alice#1", False, [["bob#1", "127.0.0.1:1"]]]
NOTE = ["note", "news", "i1", 4, [SEAT]]
ROW = ["row", DEFINITION, "i1", VIEW, ["i0", 4], [SEAT], 2, [SEAT], False]
MANY = 2 * limits.SEATS_MAX + limits.MEMBERS_MAX + 1


def packed(*parts: Any, version: Any = limits.PROTOCOL_VERSION) -> bytes:
    data: bytes = msgpack.packb([version, *parts])
    return data


def but(parts: list[Any], **changed: Any) -> tuple[Any, ...]:
    """The same with some fields, by their place (`_3`), changed."""
    at = {int(place[1:]): value for place, value in changed.items()}
    return tuple(at.get(place, value) for place, value in enumerate(parts))


@pytest.mark.parametrize(
    "parts",
    [
        ["create", DEFINITION],
        ["lookup", "news", ""],
        ["lookup", "news", "i1-2-b"],
        CLAIM,
        REGISTER,
        NOTE,
        ["fork", "news", "i1"],
        ["prepare", "i1", 1, [1, 2], "news", "bob#1"],
        ["prepare", "i1", 1, [1, 2], "", ""],
    ],
)
def test_a_well_formed_request_is_taken(parts: list[Any]) -> None:
    assert codec.encode_request(codec.decode_request(packed(*parts))) == packed(*parts)


@pytest.mark.parametrize(
    "parts",
    [
        (),
        ("create",),
        ("create", DEFINITION, 1),
        ("destroy", "news"),
        ("create", but(DEFINITION, _1="fifo")),
        ("create", but(DEFINITION, _3=["b", "a"])),
        ("create", but(DEFINITION, _3=[["a"]])),
        ("create", but(DEFINITION, _2="BASIC", _4=True)),
        ("create", but(DEFINITION, _1="LIFO")),
        ("create", but(DEFINITION, _0="no spaces")),
        ("create", but(DEFINITION, _0=["news"])),
        ("create", but(DEFINITION, _3=[f"m{n}" for n in range(65)])),
        ("create", but(DEFINITION, _5="NOBODY")),
        ("create", but(DEFINITION, _6="NOBODY")),
        ("create", DEFINITION[:-1]),
        ("lookup", "x" * 64, ""),
        ("lookup", 5, ""),
        ("lookup", b"news", ""),
        ("lookup", "news", 0),
        ("lookup", "news", "I1"),
        ("lookup", "news"),
        ("list", "no spaces"),
        ("list", []),
        but(CLAIM, _3=-1),
        but(CLAIM, _3=2**63),
        but(CLAIM, _3=True),
        but(CLAIM, _2="I1"),
        but(CLAIM, _2="i" * 33),
        but(CLAIM, _2="i1-1"),
        but(CLAIM, _2="i1-b-1"),
        but(CLAIM, _2="i1-1-1-1-1"),
        but(CLAIM, _4="alice"),
        but(CLAIM, _5="127.0.0.1:70000"),
        but(CLAIM, _6=True),
        but(CLAIM, _6=["alice"]),
        but(CLAIM, _6=["bob#1"] * MANY),
        but(CLAIM, _7=["carol#1"]),
        CLAIM[:-1],
        ("fork", "news", "I1"),
        ("fork", "no spaces", "i1"),
        but(REGISTER, _3=but(VIEW, _0=0)),
        but(REGISTER, _3=but(VIEW, _1=[], _2=[])),
        but(REGISTER, _3=but(VIEW, _2=[])),
        but(REGISTER, _3=but(VIEW, _1=["alice#1"] * 2, _2=["127.0.0.1:1"] * 2)),
        but(REGISTER, _3=but(VIEW, _1=["alice#1", *[f"m{n}#1" for n in range(64)]], _2=["127.0.0.1:1"] * 65)),
        but(REGISTER, _3=but(VIEW, _3=1)),
        but(REGISTER, _4="bob#1"),  # no member of the view
        but(REGISTER, _4="alice"),
        but(REGISTER, _5=0),
        REGISTER[:-1],
        but(NOTE, _1="no spaces"),
        but(NOTE, _2="I1"),
        but(NOTE, _3=-1),
        but(NOTE, _4=["bob#1"]),
        but(NOTE, _4=[["bob#1"]]),
        but(NOTE, _4=[["bob#1", "nowhere"]]),
        but(NOTE, _4=[SEAT] * MANY),
        NOTE[:-1],
        ("prepare", "i1", 1, [1], ""),
        ("prepare", "i1", 1, [1, limits.MEMBERS_MAX], ""),
        ("prepare", "i1", 1, [limits.ATTEMPT_MAX + 1, 0], ""),
        ("prepare", "i1", 1, [1, 0], 0),
        ("prepare", "i1", 1, [1, 0], "no spaces"),
        ("accept", "i1", 1, [1, 0], "no bytes", ""),
    ],
)
def test_a_malformed_request_is_refused(parts: tuple[Any, ...]) -> None:
    with pytest.raises(MalformedFrame):
        codec.decode_request(packed(*parts))


@pytest.mark.parametrize(
    "parts", [["entry", ENTRY], ["entry", but(ENTRY, _9=["", 0])], ["promised", 1, [1, 2], [SEAT]], ["done"]]
)
def test_a_well_formed_answer_is_taken(parts: list[Any]) -> None:
    assert codec.encode_answer(codec.decode_answer(packed(*parts))) == packed(*parts)


@pytest.mark.parametrize(
    "parts",
    [
        ("entry", but(ENTRY, _2=0)),
        ("entry", but(ENTRY, _3=[], _4=[])),
        ("entry", but(ENTRY, _5=["bob#1"])),
        ("entry", but(ENTRY, _5=[["bob", "127.0.0.1:2"]])),
        ("entry", but(ENTRY, _6="no")),
        ("entry", but(ENTRY, _7=0)),
        ("entry", but(ENTRY, _8=1)),
        ("entry", but(ENTRY, _9=["", 4])),
        ("entry", but(ENTRY, _9=["i0"])),
        ("entry", but(ENTRY, _9="i0")),
        ("entry", but(ENTRY, _10=0)),
        ("entry", ENTRY[:-1]),
        ("entries", [1], False),
        ("entries", [], 0),
        ("done", 1),
        ("refusal", "os.system", "text"),
        ("refusal", "Stale", "x" * 5000),
        ("refusal", "Stale", 7),
        ("promised", 1, [1, 2]),
        ("promised", 1, [1, 2], [["bob#1"]]),
        ("nack", 1, [1, 2, 3]),
    ],
)
def test_a_malformed_answer_is_refused(parts: tuple[Any, ...]) -> None:
    with pytest.raises(MalformedFrame):
        codec.decode_answer(packed(*parts))


@pytest.mark.parametrize("parts", [ROW, but(ROW, _3=None, _4=["", 0]), but(ROW, _8=True)])
def test_a_row_is_read_as_it_was_written(parts: list[Any]) -> None:
    assert codec.encode_row(codec.decode_row(packed(*parts))) == packed(*parts)


@pytest.mark.parametrize(
    "parts",
    [
        but(ROW, _0="entry"),
        but(ROW, _2="I1"),
        but(ROW, _3=0),
        but(ROW, _4=None),
        but(ROW, _5=None),
        but(ROW, _6=-1),
        but(ROW, _7=[["bob"]]),
        but(ROW, _8=0),
        ROW[:-1],
    ],
)
def test_a_damaged_row_is_none(parts: tuple[Any, ...]) -> None:
    with pytest.raises(MalformedFrame):
        codec.decode_row(packed(*parts))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        packed("done") + b"\0",
        msgpack.packb({"a": 1}),
        msgpack.packb([1, "done", msgpack.ExtType(5, b"x")]),
        b"\x91" * 3000,
        b"\xdd\x7f\xff\xff\xff" * 100,  # lists that say they are huge
        packed("done", version="1"),
        packed("done", version=True),
    ],
)
def test_what_is_no_message_is_refused(data: bytes) -> None:
    with pytest.raises(MalformedFrame):
        codec.decode_answer(data)


def test_another_version_is_named_beside_ours() -> None:
    with pytest.raises(VersionMismatch, match=f"protocol 99, this process {limits.PROTOCOL_VERSION}"):
        codec.decode_answer(packed("something", [], version=99))


def test_answers_survive_the_wire_and_long_texts_are_cut() -> None:
    assert codec.decode_answer(codec.encode_answer(Done())) == Done()
    answer = codec.decode_answer(codec.encode_answer(Refusal("Stale", "x" * 9999)))
    assert isinstance(answer, Refusal)
    assert 1000 < len(answer.text) < 9999
