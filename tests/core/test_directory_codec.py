"""What the codec refuses, one wrong field a row."""

from __future__ import annotations

from typing import Any

import msgpack
import pytest

from gcom.core import directory_codec as codec
from gcom.core.requests import Done, Refusal
from gcom.errors import MalformedFrame, VersionMismatch
from gcom.values import limits

DEFINITION = ["news", "FIFO", "RELIABLE", [], False, "PRIMARY"]
VIEW = [1, ["alice#1"], ["127.0.0.1:1"], True]


def packed(*parts: Any, version: Any = limits.PROTOCOL_VERSION) -> bytes:
    data: bytes = msgpack.packb([version, *parts])
    return data


@pytest.mark.parametrize(
    "parts",
    [
        (),
        ("create",),
        ("create", DEFINITION, 1),
        ("destroy", "news"),
        ("create", ["news", "fifo", "RELIABLE", [], False, "PRIMARY"]),
        ("create", ["news", "FIFO", "RELIABLE", ["b", "a"], False, "PRIMARY"]),
        ("create", ["news", "FIFO", "RELIABLE", [["a"]], False, "PRIMARY"]),
        ("create", ["news", "FIFO", "BASIC", [], True, "PRIMARY"]),
        ("create", ["news", "LIFO", "RELIABLE", [], False, "PRIMARY"]),
        ("create", ["no spaces", "FIFO", "RELIABLE", [], False, "PRIMARY"]),
        ("create", [["news"], "FIFO", "RELIABLE", [], False, "PRIMARY"]),
        ("create", ["news", "FIFO", "RELIABLE", [f"m{n}" for n in range(65)], False, "PRIMARY"]),
        ("lookup", "x" * 64),
        ("lookup", 5),
        ("lookup", b"news"),
        ("list", "no spaces"),
        ("list", []),
        ("claim", "news", "i1", -1, "alice#1", "127.0.0.1:1", False, ""),
        ("claim", "news", "i1", 2**63, "alice#1", "127.0.0.1:1", False, ""),
        ("claim", "news", "i1", True, "alice#1", "127.0.0.1:1", False, ""),
        ("claim", "news", "I1", 0, "alice#1", "127.0.0.1:1", False, ""),
        ("claim", "news", "i" * 33, 0, "alice#1", "127.0.0.1:1", False, ""),
        ("claim", "news", "i1", 0, "alice", "127.0.0.1:1", False, ""),
        ("claim", "news", "i1", 0, "alice#1", "127.0.0.1:70000", False, ""),
        ("claim", "news", "i1", 0, "alice#1", "127.0.0.1:1", 0, ""),
        ("claim", "news", "i1", 0, "alice#1", "127.0.0.1:1", False, 0),
        ("claim", "news", "i1", 0, "alice#1", "127.0.0.1:1", False, "alice"),
        ("claim", "news", "i1", 0, "alice#1", "127.0.0.1:1", False),
        ("fork", "news", "I1"),
        ("fork", "no spaces", "i1"),
        ("register", DEFINITION, "i1", [0, *VIEW[1:]]),
        ("register", DEFINITION, "i1", [1, [], [], True]),
        ("register", DEFINITION, "i1", [1, ["alice#1"], [], True]),
        ("register", DEFINITION, "i1", [1, ["alice#1", "alice#1"], ["127.0.0.1:1"] * 2, True]),
        ("register", DEFINITION, "i1", [1, [f"m{n}#1" for n in range(65)], ["127.0.0.1:1"] * 65, True]),
        ("register", DEFINITION, "i1", [1, ["alice#1"], ["127.0.0.1:1"], 1]),
    ],
)
def test_a_malformed_request_is_refused(parts: tuple[Any, ...]) -> None:
    with pytest.raises(MalformedFrame):
        codec.decode_request(packed(*parts))


@pytest.mark.parametrize(
    "parts",
    [
        ("entry", [DEFINITION, "i1", 0, ["alice#1"], ["127.0.0.1:1"], False, False]),
        ("entry", [DEFINITION, "i1", 1, [], [], False, False]),
        ("entry", [DEFINITION, "i1", 0, [], [], "no", False]),
        ("entry", [DEFINITION, "i1", 0, [], [], False]),
        ("entry", [DEFINITION, "i1", 0, [], [], False, 0]),
        ("entries", [1], False),
        ("entries", [], 0),
        ("done", 1),
        ("refusal", "os.system", "text"),
        ("refusal", "Stale", "x" * 5000),
        ("refusal", "Stale", 7),
    ],
)
def test_a_malformed_answer_is_refused(parts: tuple[Any, ...]) -> None:
    with pytest.raises(MalformedFrame):
        codec.decode_answer(packed(*parts))


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
