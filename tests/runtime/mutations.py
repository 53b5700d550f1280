"""Valid inputs of every decoder that reads what a peer sent, and mutations of them."""

from __future__ import annotations

import base64
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgpack
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from Pyro5 import protocol

from gcom.certificates import keys
from gcom.certificates.invitation import Invitation, parse
from gcom.certificates.run_keys import RunKeys
from gcom.core.codec import control, frames, registry, sequencer
from gcom.core.messages.frames import Refused
from gcom.errors import BadValue, GComError
from gcom.runtime.pyro import stock, wire
from gcom.values import limits
from gcom.values.rights import rule_of, table_of
from tests.core import test_codec as strategies
from tests.core import test_sequencer_codec as sequencing
from tests.core.test_directory_codec import CLAIM, DEFINITION, ENTRY, NOTE, REGISTER, ROW
from tests.runtime.authorities import TestAuthority

_PER_STRATEGY = 60
_BYTES_MAX = 16 * 1024  # longer inputs find no more, and take all the time
_NUMBERS = (0, 1, -1, 127, 128, 255, 256, 65535, 65536, 2**31, 2**32 - 1, 2**53, 2**63 - 1, 2**64 - 1, -(2**63))
_ODD: tuple[Any, ...] = (None, True, False, 0.5, float("nan"), "", b"", [], {}, "a#1", "x" * 300, [[]] * 70, {"a": []})


@dataclass(frozen=True)
class Target:
    """A decoder: inputs that it takes, and what encodes its values again, where something does."""

    name: str
    decode: Callable[[bytes], Any]
    valid: Sequence[bytes]
    encode: Callable[[Any], bytes] | None = None
    share: int = 1  # of the inputs


class BytesStream:
    """A connection on which a peer has sent some bytes, and ended."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def settimeout(self, timeout_s: float | None, /) -> None:
        """Wait for nothing."""

    def sendall(self, data: bytes, /) -> None:
        raise AssertionError("a reader writes nothing")

    def recv(self, size: int, /) -> bytes:
        self._at += size
        return self._data[self._at - size : self._at]

    def recv_into(self, buffer: memoryview, size: int, flags: int, /) -> int:
        part = self._data[self._at : self._at + size]
        buffer[: len(part)] = part
        self._at += len(part)
        return len(part)

    def shutdown(self, how: int, /) -> None:
        raise AssertionError("a reader ends nothing")


def targets() -> list[Target]:
    """Return all decoders. What they take is the same in every run."""
    drawn = _drawn(strategies.whole_frames, _PER_STRATEGY)
    # Some with a large run, which is read in another way.
    whole = [frames.encode(it) for it in (*drawn, *[it._replace(runs=(strategies.large(),)) for it in drawn[:10]])]
    refused = frames.encode(Refused("unknown", "a#1 is not here", 3, "h.l"))
    runs = [it.encoded for it in _drawn(strategies.runs(), 2 * _PER_STRATEGY) if len(it.payloads) == 1]
    made = _drawn(strategies.decisions(), _PER_STRATEGY)
    decisions = [control.encode_decision(it) for it in made]
    requests = [["create", DEFINITION], ["lookup", "news", "i1-2-b"], CLAIM, REGISTER, NOTE, ["fork", "news", "i1"]]
    requests += [["prepare", "i1", 1, [1, 2], "news", "bob#1"], ["list", "news"], ["remove", "news"]]
    votes = [(it.view.number - 1, control.encode_decision(it)) for it in made if it.view.number > 1]
    accepts = [["accept", "i1", view, [1, 0], decision, ""] for view, decision in votes[:20]]
    answers = [
        ["entry", ENTRY],
        ["promised", 1, [1, 2], [["bob#1", "127.0.0.1:2"]]],
        ["done"],
        ["refusal", "Stale", "x"],
    ]
    asked = [sequencer.encode_request(it) for it in _drawn(sequencing.requests, _PER_STRATEGY)]
    told = [sequencer.encode_answer(it) for it in _drawn(sequencing.answers, _PER_STRATEGY)]
    certified = _Certified()
    return [
        Target("frame", frames.decode, whole, _encode_frame, 6),
        Target("reply", frames.decode_reply, [*whole, refused], _encode_frame, 4),
        Target("run", frames.decode_run, runs),
        Target("decision", control.decode_decision, decisions, control.encode_decision),
        Target("request", registry.decode_request, _packed(requests + accepts), registry.encode_request, 2),
        Target("answer", registry.decode_answer, _packed(answers), registry.encode_answer),
        Target("row", registry.decode_row, _packed([ROW]), registry.encode_row),
        Target("order request", sequencer.decode_request, asked, sequencer.encode_request),
        Target("order answer", sequencer.decode_answer, told, sequencer.encode_answer),
        Target("message", _read_message, [_message(body) for body in (*whole[:10], *_calls())], None, 2),
        Target("call", _read_call, [_node_call(body) for body in whole[:10]]),
        Target("plain values", wire.unpack, [*_calls(), *_packed(requests)], wire.pack),
        Target("serpent", stock.read_serpent, [_serpent(it) for it in _PLAIN]),
        Target("rules", lambda data: table_of(wire.unpack(data)), [_rules()]),
        Target("certificate", lambda data: keys.read_certificate(_pem(data, "CERTIFICATE")), certified.certificates),
        Target("certificate request", lambda data: keys.requested_key(_pem(data, _REQUEST)), certified.requests),
        Target("credential", certified.believe, certified.credentials, None, 2),
        Target("invitation", lambda data: parse(data.decode(errors="replace")), [_invitation()]),
    ]


_REQUEST = "CERTIFICATE REQUEST"


class _Certified:
    """The parts of its certificate that a member shows, in DER: others are with each run, as are the keys."""

    def __init__(self) -> None:
        with TemporaryDirectory() as folder:
            authority = TestAuthority(Path(folder))
            files = authority.member("bob")
            self._keys = RunKeys(files)
            pems = [Path(files.cert).read_bytes(), authority.authority.pem]
        self.certificates = [_der(pem) for pem in pems]
        self.requests = [_der(keys.request(keys.new_key()))]
        self.credentials = [self._keys.credential("bob#1")]

    def believe(self, credential: bytes) -> str:
        """Check what a member shows for its key; raises BadValue where a node takes it for a lie."""
        # Not through the cache, which would keep each input.
        if self._keys._verifier("bob#1", credential) is None:
            raise BadValue("it gives no key")
        return "a key"


def _der(pem: bytes) -> bytes:
    return base64.b64decode(b"".join(pem.split(b"-----")[2].split()))


def _pem(der: bytes, what: str) -> bytes:
    return f"-----BEGIN {what}-----\n".encode() + base64.encodebytes(der) + f"-----END {what}-----\n".encode()


_PLAIN: tuple[Any, ...] = (
    {"handshake": "hello", "object": "gcom.node"},
    ("Pyro.NameServer", "register", ("a name", "PYRO:x@127.0.0.1:1"), {"safe": True}),
    [1, -2.5, None, True, "text with 'quotes' and \\ \n", {"a": [1, 2, (3,)]}],
)


def refusals() -> tuple[type[Exception], ...]:
    """Return what a decoder may raise; anything else would end a thread."""
    return GComError, wire.RefusedMessage, EOFError


def _drawn(strategy: st.SearchStrategy[Any], count: int) -> list[Any]:
    """Return examples of a strategy, the same ones each time."""
    found: list[Any] = []

    @settings(max_examples=count, derandomize=True, database=None, phases=[Phase.generate], deadline=None)
    @given(strategy)
    def collect(it: Any) -> None:
        found.append(it)

    collect()
    return found


def _encode_frame(it: Any) -> bytes:
    return frames.encode(it)


def _packed(rows: Sequence[Any]) -> list[bytes]:
    return [msgpack.packb([limits.PROTOCOL_VERSION, *row]) for row in rows]


def _calls() -> list[bytes]:
    return [msgpack.packb(it) for it in (*_PLAIN, ("gcom.node", "receive", (b"frame",), {}))]


def _message(body: bytes) -> bytes:
    head = (b"PYRO", protocol.PROTOCOL_VERSION, protocol.MSG_INVOKE, wire.MSGPACK, 0, 7, len(body), 0, bytes(16), 0)
    return wire._HEADER.pack(*head, 0x4DC5) + body


def _read_message(data: bytes) -> Any:
    """Read a message as a server does, and as one that reads no further: the same must come."""
    exactly = wire.read(BytesStream(data))
    assert wire.Requests(BytesStream(data)).take() == exactly
    return wire.plain(exactly.body)


_TO_NODE = wire.frame_call(wire.NODE)


def _node_call(frame: bytes) -> bytes:
    return b"".join((_TO_NODE, len(frame).to_bytes(4), frame, wire.FRAME_CALL_END))


def _read_call(data: bytes) -> Any:
    """Read a call as a server does: of what is written as ours are, the same must come as of any other."""
    body = memoryview(data)
    frame = wire.frame_of(body, _TO_NODE)
    if frame is not None:
        assert wire.plain(body) == [wire.NODE, "receive", [frame], {}]
    return wire.plain(body)


def _serpent(value: Any) -> bytes:
    return stock.dump(value, stock.SERPENT)


def _rules() -> bytes:
    rule = rule_of(True, ["join", "send"], ["alice", "team-*"], ["board"])
    return wire.pack([rule.as_row(), rule_of(False, ["join"], ["*"], ["*"]).as_row()])


def _invitation() -> bytes:
    return str(Invitation("10.0.0.1:7411", "bob", bytes(range(32)), bytes(range(18)))).encode()


def mutated(chance: random.Random, valid: Sequence[bytes]) -> bytes:
    """Return a mutation of a valid input, of its values or of its bytes, or of both."""
    data = chance.choice(valid)
    by_values = chance.random() < 0.5
    if by_values:
        data = _with_other_values(chance, data)
    if not by_values or chance.random() < 0.3:
        for _ in range(chance.choice((1, 1, 2, 8))):
            data = _with_other_bytes(chance, data, valid)
    return data[:_BYTES_MAX]


def _with_other_values(chance: random.Random, data: bytes) -> bytes:
    """Put another value somewhere in msgpack; what is none stays as it is."""
    try:
        value = msgpack.unpackb(data, strict_map_key=False)
    except ValueError:
        return data
    for _ in range(chance.choice((1, 1, 3))):
        value = _with_another(chance, value)
    try:
        packed: bytes = msgpack.packb(value)
    except (ValueError, TypeError, OverflowError):
        return data
    return packed if len(packed) <= _BYTES_MAX else data


def _with_another(chance: random.Random, value: Any) -> Any:
    deeper = isinstance(value, list | dict) and value and chance.random() < 0.85
    if not deeper:
        return _instead(chance, value)
    if isinstance(value, list):
        at = chance.randrange(len(value))
        match chance.randrange(8):
            case 0:
                return value[:at] + value[at + 1 :]
            case 1:
                return [*value, value[at]] * chance.choice((1, 1, 1, 1, 1, 40))
            case _:
                return [*value[:at], _with_another(chance, value[at]), *value[at + 1 :]]
    key = chance.choice(list(value))
    return {**value, key: _with_another(chance, value[key])}


def _instead(chance: random.Random, value: Any) -> Any:
    match chance.randrange(5):
        case 0:
            return chance.choice(_NUMBERS)
        case 1:
            return chance.choice(_ODD)
        case 2 if isinstance(value, int):
            return value + chance.choice((-1, 1, 1000))
        case 3 if isinstance(value, str | bytes):
            return value[: len(value) // 2] or value * 2
    return [value] * chance.choice((1, 1, 1, 2, 2, 70))


def _with_other_bytes(chance: random.Random, data: bytes, valid: Sequence[bytes]) -> bytes:
    at = chance.randrange(len(data) + 1)
    match chance.randrange(6):
        case 0:
            return data[:at] + bytes([chance.randrange(256)]) + data[at + 1 :]
        case 1:
            return (
                data[:at] + bytes([data[at] ^ (1 << chance.randrange(8))]) + data[at + 1 :] if at < len(data) else data
            )
        case 2:
            return data[:at]
        case 3:
            return data[:at] + chance.randbytes(chance.randrange(1, 9)) + data[at:]
        case 4:
            return data[:at] + data[chance.randrange(len(data) + 1) :]
        case _:
            other = chance.choice(valid)
            return data[:at] + other[chance.randrange(len(other) + 1) :]
