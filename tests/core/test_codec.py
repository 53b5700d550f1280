"""The codec: what was encoded comes back, and nothing from the network makes it raise anything but its two errors."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcom.core.codec import frames as codec
from gcom.core.messages import frames
from gcom.core.messages.frames import LEAVES_FOR, Control, Decision, Frame, Refused, Status
from gcom.core.messages.orders import Orders, Span
from gcom.core.ordering.agreement import PIECE_SPANS
from gcom.errors import MalformedFrame, VersionMismatch
from gcom.values import limits
from gcom.values.envelope import Envelope, EnvelopeReceipt, Kind
from gcom.values.names import Process
from gcom.values.run import Fragment, Run
from gcom.values.view import View

numbers = st.integers(0, limits.NUMBER_MAX)
processes = st.sampled_from([f"{name}#{life}" for name in ("a", "Z9._-" * 6, "x" * 32) for life in ("0", "z" * 16)])
addresses = st.builds("{}:{}".format, st.sampled_from(["127.0.0.1", "host.example", "[::1]"]), st.integers(0, 65535))
ballots = st.tuples(st.integers(0, limits.ATTEMPT_MAX), st.integers(0, limits.MEMBERS_MAX - 1))
process_lists = st.lists(processes, max_size=4, unique=True).map(tuple)
counts = st.dictionaries(processes, numbers, max_size=4)
streams = st.dictionaries(processes | st.just(frames.ORDER), numbers, max_size=4)
texts = st.text(max_size=50)
payloads = st.one_of(st.binary(max_size=50), texts)


@st.composite
def views(draw: st.DrawFn) -> View:
    members = draw(st.lists(processes, min_size=1, max_size=5, unique=True))
    places = draw(st.lists(addresses, min_size=len(members), max_size=len(members)))
    return View(draw(numbers), tuple(members), tuple(places), draw(st.booleans()))


@st.composite
def decisions(draw: st.DrawFn) -> Decision:
    view = draw(views())
    joined = tuple(draw(st.lists(st.sampled_from(view.members), unique=True)))
    gone = draw(st.dictionaries(processes, st.text(max_size=40), max_size=3))
    left = {who: why for who, why in gone.items() if who not in view.members}
    member, at = st.sampled_from(view.members), st.integers(1, max(1, view.number))
    given = draw(st.dictionaries(member, st.tuples(member, at), max_size=3)) if view.number else {}
    return Decision(view, joined, left, draw(streams), draw(st.booleans()), given)


@st.composite
def runs(draw: st.DrawFn) -> Run:
    sender, view, clock = draw(processes), draw(numbers), draw(counts)
    content = draw(st.lists(payloads, min_size=1, max_size=5))
    first = draw(st.integers(1, limits.NUMBER_MAX - len(content)))
    return Run(sender, view, first, clock, content, codec.encode_run(sender, view, first, clock, content))


def chunks_of(count: int) -> st.SearchStrategy[frames.StateChunk]:
    return st.builds(frames.StateChunk, numbers, st.integers(1, count), st.just(count), st.binary(max_size=50))


sources = st.tuples(processes, st.integers(1, limits.NUMBER_MAX))
extents = st.tuples(numbers, numbers)
standings = st.builds(
    frames.Standing,
    st.sampled_from(frames.Keeping),
    st.none() | sources,
    process_lists,
    extents,
)


@st.composite
def ranges(draw: st.DrawFn) -> Span:
    first, last = sorted([draw(st.integers(1, limits.NUMBER_MAX)), draw(st.integers(1, limits.NUMBER_MAX))])
    return draw(processes), first, last


@st.composite
def fragments(draw: st.DrawFn) -> Fragment:
    data = draw(st.binary(min_size=1, max_size=50))
    total = draw(st.integers(len(data), limits.LARGE_RUN_BYTES_MAX))
    at_byte = draw(st.integers(0, total - len(data)))
    return Fragment(draw(processes), draw(numbers), draw(st.integers(1, limits.NUMBER_MAX)), at_byte, total, data)


orders = st.builds(Orders, numbers, numbers, st.lists(ranges(), max_size=5).map(tuple))
holders = st.dictionaries(processes | st.just(frames.ORDER), process_lists, max_size=3)
KINDS: dict[type[Control], st.SearchStrategy[Control]] = {
    frames.Join: st.builds(frames.Join, addresses, st.booleans(), process_lists, extents),
    frames.Redirect: st.builds(frames.Redirect, processes, addresses),
    frames.JoinRefused: st.builds(frames.JoinRefused, st.text(max_size=40), texts),
    frames.Prepare: st.builds(frames.Prepare, numbers, ballots),
    frames.Promise: st.builds(frames.Promise, numbers, ballots, streams, ballots, st.none() | decisions(), standings),
    frames.Nack: st.builds(frames.Nack, numbers, ballots),
    frames.Cut: st.builds(frames.Cut, numbers, ballots, decisions(), holders),
    frames.CutOk: st.builds(frames.CutOk, numbers, ballots),
    frames.Install: st.builds(frames.Install, decisions(), numbers),
    frames.Fetch: st.builds(frames.Fetch, numbers, processes | st.just(frames.ORDER), numbers, numbers, numbers),
    frames.StateChunk: st.integers(1, limits.STATE_CHUNKS_MAX).flatmap(chunks_of),
    frames.StateRefused: st.builds(frames.StateRefused, numbers, texts),
    frames.Probe: st.builds(frames.Probe, numbers, process_lists),
    frames.IndirectAck: st.builds(frames.IndirectAck, numbers, process_lists),
    frames.MergeInto: st.builds(frames.MergeInto, processes, addresses),
    frames.Reach: st.dictionaries(processes, addresses, max_size=5).map(
        lambda seats: frames.Reach(tuple(seats), tuple(seats.values()))
    ),
    frames.DiscoverRequest: st.builds(frames.DiscoverRequest, numbers, numbers, addresses),
    frames.DiscoverReply: st.builds(frames.DiscoverReply, numbers, numbers, processes, addresses),
}
receipts = st.builds(EnvelopeReceipt, numbers, numbers, numbers)
flags = st.booleans()
positive = st.integers(1, limits.NUMBER_MAX)
envelopes = st.one_of(
    st.builds(Envelope, positive, st.just(Kind.UNICAST), st.just(0), payloads),
    st.builds(Envelope, positive, st.sampled_from([Kind.REQUEST, Kind.ANSWER, Kind.ERROR]), positive, payloads),
)
ranks = st.integers(0, limits.MEMBERS_MAX - 1)
unheard = st.dictionaries(ranks, st.integers(0, 2**limits.MEMBERS_MAX - 1)).map(
    lambda drawn: {one: others & ~(1 << one) for one, others in drawn.items()}
)
leaving = st.sampled_from(("", *LEAVES_FOR))
statuses = st.builds(
    Status, *[numbers] * 8, *[flags] * 3, leaving, process_lists, numbers, receipts, numbers, flags, unheard, numbers
)
whole_frames = st.builds(
    Frame,
    st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}", fullmatch=True),
    st.from_regex(r"[0-9a-z]{1,32}", fullmatch=True),
    processes,
    processes,
    statuses,
    st.lists(st.one_of(list(KINDS.values())), max_size=3).map(tuple),
    st.lists(runs(), max_size=3).map(tuple),
    st.lists(fragments(), max_size=2).map(tuple),
    st.none() | orders,
    st.lists(envelopes, max_size=3).map(tuple),
)

A, B = "a#1", "b#1"
PLAIN = Frame("g", "i", A, B, Status(1))
FIELDS = [
    "version",
    "runs",
    "group",
    "instance",
    "source",
    "target",
    "status",
    "control",
    "fragments",
    "orders",
    "envelopes",
]


def _decode_or_refuse(data: bytes) -> None:
    """Anything else that is raised fails the test."""
    with suppress(MalformedFrame, VersionMismatch):
        codec.decode_reply(data)


def _packed(**changes: Any) -> bytes:
    """PLAIN with some of its fields replaced by anything."""
    fields = dict(zip(FIELDS, msgpack.unpackb(codec.encode(PLAIN)), strict=True))
    return bytes(msgpack.packb([{**fields, **changes}[name] for name in FIELDS]))


def test_every_kind_of_control_item_is_covered() -> None:
    assert set(KINDS) == set(frames.Control.__args__)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_control_item_comes_back_as_it_was(kind: type[Control]) -> None:
    @given(KINDS[kind])
    def check(item: Control) -> None:
        frame = Frame("g", "i", A, B, Status(1), (item,))
        assert codec.decode(codec.encode(frame)) == frame

    check()


@given(whole_frames)
def test_a_frame_comes_back_as_it_was(frame: Frame) -> None:
    assert codec.decode(codec.encode(frame)) == frame


def large(size: int = 5000) -> Run:
    payloads: list[bytes | str] = [b"x" * size, "text"]
    return Run(A, 1, 1, {B: 2}, payloads, codec.encode_run(A, 1, 1, {B: 2}, payloads))


def test_a_large_run_is_copied_neither_into_its_frame_nor_out_of_it() -> None:
    run = large()
    frame = PLAIN._replace(runs=(run,))
    parts = codec.encode_parts(frame)
    assert parts[1] is run.encoded
    assert msgpack.unpackb(b"".join(parts)) == msgpack.unpackb(codec.encode(frame))  # it is msgpack all the same
    data = codec.encode(frame)
    came = codec.decode(memoryview(data))
    assert came == frame
    assert isinstance(came.runs[0].encoded, memoryview)
    assert came.runs[0].encoded.obj is data
    assert codec.encode(came) == data  # as a relay sends it


def test_a_run_beside_much_else_does_not_keep_the_memory_of_all() -> None:
    envelopes = (Envelope(1, Kind.UNICAST, 0, b"y" * 20_000),)
    frame = PLAIN._replace(runs=(large(),), envelopes=envelopes)
    came = codec.decode(codec.encode(frame))
    assert came == frame
    assert type(came.runs[0].encoded) is bytes


@pytest.mark.parametrize("bent", ["longer", "shorter", "cut", "more", "another version", "no run"])
def test_a_frame_of_a_large_run_that_is_none_is_refused(bent: str) -> None:
    data = bytearray(codec.encode(PLAIN._replace(runs=(large(),))))
    size = int.from_bytes(data[4:8])
    match bent:
        case "longer":
            data[4:8] = (len(data) + 1).to_bytes(4)
        case "shorter":
            data[4:8] = (size - 1).to_bytes(4)
        case "cut":
            del data[8 + size + 5 :]
        case "more":
            data += b"\xc0"
        case "another version":
            data[1] += 1
        case "no run":
            data[8] = 0xC0
    with pytest.raises((MalformedFrame, VersionMismatch)):
        codec.decode(bytes(data))


@given(st.sampled_from(["unknown", "elsewhere", "expelled", "version"]), texts)
def test_a_refusal_comes_back_as_it_was_and_is_no_frame(code: str, text: str) -> None:
    data = codec.encode(Refused(code, text))
    assert codec.decode_reply(data) == Refused(code, text)
    with pytest.raises(MalformedFrame):
        codec.decode(data)


@given(st.binary(max_size=200))
def test_random_bytes_are_refused_properly(data: bytes) -> None:
    _decode_or_refuse(data)


@given(whole_frames, st.lists(st.tuples(st.integers(0, 5000), st.integers(0, 255)), min_size=1, max_size=4), st.data())
def test_a_damaged_frame_is_refused_properly(frame: Frame, hits: list[tuple[int, int]], data: st.DataObject) -> None:
    damaged = bytearray(codec.encode(frame))
    for place, value in hits:
        damaged[place % len(damaged)] = value
    _decode_or_refuse(bytes(damaged))
    _decode_or_refuse(bytes(damaged[: data.draw(st.integers(0, len(damaged)))]))


anything = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(2**63), 2**64 - 1), st.floats(), st.binary(max_size=9), texts),
    lambda inner: st.one_of(st.lists(inner, max_size=9), st.dictionaries(texts | st.integers(0, 9), inner, max_size=3)),
    max_leaves=12,
)


@given(st.sampled_from(FIELDS), anything)
def test_any_field_may_be_anything(field: str, value: Any) -> None:
    _decode_or_refuse(_packed(**{field: value}))


@given(st.integers(0, 12) | anything, st.lists(anything, max_size=6))
def test_any_control_item_may_have_any_fields(kind: Any, fields: list[Any]) -> None:
    _decode_or_refuse(_packed(control=[[kind, *fields]]))


@given(st.lists(anything, min_size=4, max_size=6))
def test_any_run_may_have_any_fields(fields: list[Any]) -> None:
    _decode_or_refuse(_packed(runs=[msgpack.packb(fields)]))


@given(st.lists(anything, min_size=3, max_size=5))
def test_any_envelope_may_have_any_fields(fields: list[Any]) -> None:
    _decode_or_refuse(_packed(envelopes=[fields]))


def _envelope_of(**changes: Any) -> bytes:
    fields = {"number": 1, "kind": 1, "call": 1, "payload": "x", **changes}
    return _packed(envelopes=[list(fields.values())])


@given(st.lists(anything, max_size=7))
def test_any_fragment_may_have_any_fields(fields: list[Any]) -> None:
    _decode_or_refuse(_packed(fragments=[fields]))


@given(st.binary(max_size=200) | st.lists(anything, min_size=4, max_size=6).map(msgpack.packb))
def test_any_bytes_may_have_come_in_fragments(data: bytes) -> None:
    with suppress(MalformedFrame):
        codec.decode_run(data)


def _encoded_run(**changes: Any) -> bytes:
    fields = {"sender": A, "view": 1, "first": 1, "clock": {}, "payloads": ["x"], **changes}
    return bytes(msgpack.packb(list(fields.values())))


def _run_of(**changes: Any) -> bytes:
    return _packed(runs=[_encoded_run(**changes)])


def _fragment_of(**changes: Any) -> bytes:
    fields = {"sender": A, "view": 1, "first": 1, "at_byte": 2, "total": 9, "data": b"abc", **changes}
    return _packed(fragments=[list(fields.values())])


def _status_of(**changes: Any) -> bytes:
    counts: list[Any] = [1, *[0] * 10]
    fields = {
        "counts": counts,
        "flags": [False, False, False, False],
        "leaving": "",
        "suspects": [],
        "receipt": [0, 0, 0],
        "unheard": b"",
        **changes,
    }
    return _packed(status=list(fields.values()))


def _count_of(place: int, value: Any) -> bytes:
    counts: list[Any] = [1, *[0] * 10]
    counts[place] = value
    return _status_of(counts=counts)


def _orders_of(*span: Any, **changes: Any) -> bytes:
    fields = {"view": 1, "after": 0, "spans": [list(span or (A, 1, 2))], **changes}
    return _packed(orders=list(fields.values()))


def _decision_of(serial: Any = 0, ballot: Any = (0, 0), **changes: Any) -> bytes:
    view = [2, [A, B], ["h:1", "h:2"], True]
    fields = {"view": view, "joined": [B], "left": {"c#1": "request"}, "cut": {A: 3}, "at_registry": True}
    fields |= {"sources": [[1, 0, 2]], "succession": None}
    return _packed(control=[[9, list({**fields, **changes}.values()), serial, ballot]])


def _succession_of(
    instance: Any = "i-1-b", by: Any = "operator", gone: Any = None, gives_up: Any = ("d#1",), *more: Any
) -> bytes:
    left = {"c#1": "dead", "d#1": "silence"}
    made = [instance, by, {"c#1": "dead"} if gone is None else gone, gives_up, *more]
    return _decision_of(left=left, joined=[], succession=made)


def _refusal_of(code: Any = "ended", settled: Any = None) -> bytes:
    return bytes(msgpack.packb([limits.PROTOCOL_VERSION, code, "", settled, ""]))


def _prepare_of(ballot: Any = (1, 0), succession: Any = False) -> bytes:
    return _packed(control=[[4, 1, ballot, succession]])


def _promise_of(standing: Any = (1, None, [], [0, 0]), agreed: Any = 0) -> bytes:
    return _packed(control=[[5, 1, [1, 0], {}, [0, 0], None, standing, agreed]])


MANY = [f"m{index}#1" for index in range(limits.MEMBERS_MAX + 1)]
BAD: dict[str, Callable[[], bytes]] = {
    "a flag as a number": lambda: _count_of(1, True),
    "a number as a flag": lambda: _status_of(flags=[False, False, 1, False]),
    "a flag as a message number": lambda: _run_of(first=True),
    "a flag as the version": lambda: _packed(version=True),
    "a flag as a control item's kind": lambda: _packed(control=[[True, "h:1"]]),
    "a fraction as a control item's kind": lambda: _packed(control=[[1.0, "h:1"]]),
    "a fraction as a number": lambda: _count_of(0, 1.0),
    "a negative number": lambda: _count_of(0, -1),
    "a number over the largest": lambda: _count_of(0, limits.NUMBER_MAX + 1),
    "a text as a status": lambda: _packed(status="abcdefgh"),
    "a text as control items": lambda: _packed(control=""),
    "a table as control items": lambda: _packed(control={}),
    "a table as runs": lambda: _packed(runs={}),
    "an unknown control item": lambda: _packed(control=[[99, 1]]),
    "a control item without fields": lambda: _packed(control=[[]]),
    "too many control items": lambda: _packed(control=[[8, 1, [1, 0]]] * (limits.CONTROL_ITEMS_MAX + 1)),
    "too many suspects": lambda: _status_of(suspects=MANY),
    "ranks as a list": lambda: _status_of(unheard=[0, 1]),
    "a rank without those whom it misses": lambda: _status_of(unheard=bytes([0, 1, 2])),
    "who does not hear itself": lambda: _status_of(unheard=bytes([2, *bytes(7), 0b100])),
    "a rank beyond the largest view": lambda: _status_of(unheard=bytes([limits.MEMBERS_MAX, *bytes(7), 1])),
    "a rank twice": lambda: _status_of(unheard=bytes([1, *bytes(7), 1]) * 2),
    "a count less": lambda: _status_of(counts=[1, 0, 0, 0, 0, 0, 0, 0, 0]),
    "a flag less": lambda: _status_of(flags=[False, False, False]),
    "a flag as what it leaves for": lambda: _status_of(leaving=True),
    "leaving for anything": lambda: _status_of(leaving="anything"),
    "a list as what it leaves for": lambda: _status_of(leaving=[]),
    "a run as a list": lambda: _packed(runs=[[A, 1, 1, {}, ["x"]]]),
    "a run without messages": lambda: _run_of(payloads=[]),
    "a run of numbers": lambda: _run_of(payloads=[1]),
    "a run from number 0": lambda: _run_of(first=0),
    "a run beyond the largest number": lambda: _run_of(first=limits.NUMBER_MAX, payloads=["x", "y"]),
    "a run of a sender that is no process": lambda: _run_of(sender="a"),
    "a clock that is no table": lambda: _run_of(clock=[1]),
    "a clock of anybody": lambda: _run_of(clock=dict.fromkeys(MANY + [f"x{name}" for name in MANY], 1)),
    "a run that has to come in fragments": lambda: _run_of(payloads=[bytes(limits.LOAD_BYTES_MAX)]),
    "a negative count of bytes": lambda: _count_of(8, -1),
    "a table as fragments": lambda: _packed(fragments={}),
    "a fragment as bytes": lambda: _packed(fragments=[b"abcdef"]),
    "a fragment of text": lambda: _fragment_of(data="abc"),
    "a fragment of nothing": lambda: _fragment_of(data=b""),
    "a fragment beyond its end": lambda: _fragment_of(total=4),
    "a fragment that begins at its end": lambda: _fragment_of(at_byte=9),
    "a fragment before the beginning": lambda: _fragment_of(at_byte=-1),
    "a fragment at a fraction": lambda: _fragment_of(at_byte=1.0),
    "a fragment of more than a run may be": lambda: _fragment_of(total=limits.LARGE_RUN_BYTES_MAX + 1),
    "a fragment of number 0": lambda: _fragment_of(first=0),
    "a fragment of a sender that is no process": lambda: _fragment_of(sender="a"),
    "more messages than a run has": lambda: _run_of(payloads=[""] * (limits.RUN_MESSAGES_MAX + 1)),
    "a text that is not UTF-8": lambda: _run_of().replace(b"\xa1x", b"\xa1\xff"),
    "a table as envelopes": lambda: _packed(envelopes={}),
    "too many envelopes": lambda: _packed(envelopes=[[1, 0, 0, ""]] * (limits.ENVELOPES_TAKEN + 1)),
    "an envelope from number 0": lambda: _envelope_of(number=0),
    "an envelope of an unknown kind": lambda: _envelope_of(kind=4),
    "a flag as an envelope's kind": lambda: _envelope_of(kind=True),
    "a unicast of a call": lambda: _envelope_of(kind=0),
    "a request of no call": lambda: _envelope_of(call=0),
    "an envelope of a number": lambda: _envelope_of(payload=1),
    "an envelope over the limit": lambda: _envelope_of(payload=bytes(limits.ENVELOPE_BYTES_MAX + 1)),
    "an envelope over the limit in UTF-8": lambda: _envelope_of(payload="é" * (limits.ENVELOPE_BYTES_MAX // 2 + 1)),
    "a receipt of two": lambda: _status_of(receipt=[0, 0]),
    "a receipt below nothing": lambda: _status_of(receipt=[0, 0, -1]),
    "a view without members": lambda: _decision_of(view=[2, [], [], True], joined=[]),
    "a view with a member twice": lambda: _decision_of(view=[2, [B, B], ["h:1", "h:2"], True]),
    "a view with an address less": lambda: _decision_of(view=[2, [A, B], ["h:1"], True]),
    "a view with a wrong address": lambda: _decision_of(view=[2, [A, B], ["h:1", "h:99999"], True]),
    "who joined is not in the view": lambda: _decision_of(joined=["c#1"]),
    "who left is in the view": lambda: _decision_of(left={A: "request"}),
    "a ballot of nobody": lambda: _prepare_of([1, limits.MEMBERS_MAX]),
    "a succession by a number": lambda: _prepare_of(succession=1),
    "a ballot after the last attempt": lambda: _prepare_of([limits.ATTEMPT_MAX + 1, 0]),
    "more who left than ever were in": lambda: _decision_of(left=dict.fromkeys(MANY, "request")),
    "a reason that is a story": lambda: _decision_of(left={"c#1": "x" * 41}),
    "a decision without a word on the sequencer": lambda: _decision_of(at_registry=None),
    "an install after no serial": lambda: _decision_of(serial=-1),
    "an install by no ballot": lambda: _decision_of(ballot=None),
    "an install by the ballot of nobody": lambda: _decision_of(ballot=[1, limits.MEMBERS_MAX]),
    "an agreed serial below nothing": lambda: _promise_of(agreed=-1),
    "a successor of a wrong name": lambda: _succession_of(instance="I"),
    "a succession by nobody": lambda: _succession_of(by="silence"),
    "a succession without a word on the dead": lambda: _succession_of(gone=[]),
    "a death that nothing proves": lambda: _succession_of(gone={"c#1": "refused"}),
    "a death of one that is no process": lambda: _succession_of(gone={"c": "dead"}),
    "more dead than ever were in": lambda: _succession_of(gone=dict.fromkeys(MANY, "dead")),
    "one given up that is no process": lambda: _succession_of(gives_up=["d"]),
    "a succession of one thing more": lambda: _succession_of("i-1-b", "proof", {}, [], 0),
    "a cut of a stream that is no process": lambda: _decision_of(cut={"a": 1}),
    "a clock with the order in it": lambda: _run_of(clock={frames.ORDER: 1}),
    "an order without spans": lambda: _packed(orders=[1, 0]),
    "an order of a text": lambda: _orders_of(spans="abc"),
    "an order of a table": lambda: _orders_of(spans={}),
    "an order of too many": lambda: _orders_of(spans=[[A, 1, 1]] * (limits.ORDERS_MAX + 1)),
    "an order of nobody's messages": lambda: _orders_of("", 1, 1),
    "an order of number 0": lambda: _orders_of(A, 0, 1),
    "an order that runs backwards": lambda: _orders_of(A, 3, 2),
    "an order of a flag": lambda: _orders_of(A, True, 2),
    "an order of one thing more": lambda: _orders_of(A, 1, 2, 3),
    "an order after nothing": lambda: _orders_of(after=None),
    "a flag as an order": lambda: _packed(orders=False),
    "a group of a wrong name": lambda: _packed(group="../x"),
    "an instance of a wrong name": lambda: _packed(instance="i/1"),
    "a source that is no process": lambda: _packed(source="a"),
    "a source of state that is not in the view": lambda: _decision_of(sources=[[1, 2, 1]]),
    "a source of state for one that is not in the view": lambda: _decision_of(sources=[[2, 0, 1]]),
    "a source of state at a later view": lambda: _decision_of(sources=[[1, 0, 3]]),
    "a source of state at no view": lambda: _decision_of(sources=[[1, 0, 0]]),
    "sources of state that are no list": lambda: _decision_of(sources=7),
    "a chunk of state before the first": lambda: _packed(control=[[11, 1, 0, 2, b""]]),
    "a chunk of state after the last": lambda: _packed(control=[[11, 1, 3, 2, b""]]),
    "more chunks than a state has": lambda: _packed(control=[[11, 1, 1, limits.STATE_CHUNKS_MAX + 1, b""]]),
    "a chunk of state over its limit": lambda: _packed(control=[[11, 1, 1, 1, bytes(limits.STATE_CHUNK_BYTES + 1)]]),
    "a chunk of text": lambda: _packed(control=[[11, 1, 1, 1, "x"]]),
    "a standing that is none": lambda: _promise_of([4, None, [], [0, 0]]),
    "a standing that reaches nowhere": lambda: _promise_of([1, None, [], 0]),
    "a standing with a source of nobody": lambda: _promise_of([2, ["a", 1], [], [0, 0]]),
    "an unknown refusal": lambda: _refusal_of("please"),
    "nothing": lambda: b"",
    "an empty list": lambda: bytes(msgpack.packb([])),
    "too few fields": lambda: bytes(msgpack.packb([limits.PROTOCOL_VERSION, "g"])),
    "a field less": lambda: bytes(msgpack.packb(msgpack.unpackb(_packed())[:-1])),
    "a field more": lambda: bytes(msgpack.packb([*msgpack.unpackb(_packed()), 0])),
    "something behind the frame": lambda: codec.encode(PLAIN) + b"\x00",
    "a count of four thousand million": lambda: b"\xdd\xff\xff\xff\xff\x01",
    "a text of four thousand million": lambda: b"\x9a\x01\xdb\xff\xff\xff\xff",
    "lists in lists, a hundred thousand deep": lambda: b"\x91" * 100_000,
    "tables in tables, a hundred thousand deep": lambda: b"\x81\x01" * 100_000,
    "a key that cannot be one": lambda: _packed(runs=[b"\x95\xa3a#1\x01\x01\x81\x90\x01\x91\xa1x"]),
    "an extension": lambda: _packed(status=msgpack.ExtType(5, b"")),
    "a time": lambda: b"\x9a\x01\xd6\xff\x00\x00\x00\x00",
    "more bytes than a frame has": lambda: bytes(limits.FRAME_BYTES_MAX + 1),
}


@pytest.mark.parametrize("what", BAD)
def test_a_malformed_frame_is_refused(what: str) -> None:
    with pytest.raises(MalformedFrame):
        codec.decode(BAD[what]())


def test_the_frames_that_the_malformed_ones_are_made_of_are_right() -> None:
    whole = (_prepare_of(), _prepare_of(succession=True), _promise_of(), _succession_of(), _succession_of(by="proof"))
    wholes = (_packed(), _run_of(), _decision_of(), _orders_of(), _fragment_of(), _envelope_of())
    for data in (*wholes, _count_of(0, 1), _status_of(), _status_of(receipt=[1, 2, 3]), *whole):
        codec.decode(data)


def test_a_message_at_the_limit_passes_with_a_full_clock() -> None:
    clock = {f"{index:x<32}#{'1' * 16}": limits.NUMBER_MAX for index in range(2 * limits.MEMBERS_MAX)}
    for payload in (bytes(limits.MESSAGE_BYTES_MAX), "é" * (limits.MESSAGE_BYTES_MAX // 2)):
        encoded = codec.encode_run(A, limits.NUMBER_MAX, limits.NUMBER_MAX, clock, [payload])
        assert len(encoded) <= limits.LARGE_RUN_BYTES_MAX
        run = codec.decode_run(encoded)
        assert (run.payloads, run.clock, run.encoded) == ([payload], clock, encoded)


@pytest.mark.parametrize(
    "payloads",
    [
        [bytes(limits.MESSAGE_BYTES_MAX + 1)],
        ["x" * (limits.MESSAGE_BYTES_MAX + 1)],
        ["é" * (limits.MESSAGE_BYTES_MAX // 2 + 1)],
        ["x", "y"],
        [],
        [1],
    ],
    ids=["bytes over the limit", "text over the limit", "UTF-8 over the limit", "two messages", "none", "a number"],
)
def test_what_came_in_fragments_is_one_message_within_the_limit(payloads: list[Any]) -> None:
    with pytest.raises(MalformedFrame):
        codec.decode_run(_encoded_run(payloads=payloads))


@pytest.mark.parametrize("version", [0, 1, 77, -1, 2**64 - 1])
def test_another_version_is_refused_by_both_numbers(version: int) -> None:
    with pytest.raises(VersionMismatch, match=rf"protocol {version}, this process {limits.PROTOCOL_VERSION}"):
        codec.decode(_packed(version=version))
    with pytest.raises(VersionMismatch):
        codec.decode(bytes(msgpack.packb([version, "a shape of the future"])))


def _full_group(name_length: int, host: str) -> Frame:
    members = tuple(f"{f'm{index:02}':x<{name_length}}#{'1' * 16}" for index in range(limits.MEMBERS_MAX))
    view = View(limits.NUMBER_MAX, members, tuple(f"{host}:{10_000 + index}" for index in range(len(members))))
    high: dict[Process, int] = dict.fromkeys((*members, frames.ORDER), limits.NUMBER_MAX)
    decision = Decision(view, members, {}, high, True, dict.fromkeys(members, (members[0], view.number)))
    control: tuple[Control, ...] = (
        frames.Install(decision, limits.NUMBER_MAX),
        frames.Cut(1, (1, 1), decision, dict.fromkeys((*members, frames.ORDER), members[:3])),
        frames.Promise(1, (1, 1), high, (1, 1), decision),
        *[frames.Fetch(1, member, 1, limits.NUMBER_MAX) for member in members[:12]],
    )
    top = limits.NUMBER_MAX
    unheard = {one: 2**limits.MEMBERS_MAX - 1 - 2**one for one in range(limits.MEMBERS_MAX)}
    status = Status(top, top, top, top, top, top, top, top, suspects=members, partial=top, unheard=unheard, arrived=top)
    return Frame("g" * 63, "i" * 32, members[0], members[1], status, control)


@pytest.mark.parametrize(("name_length", "host"), [(8, "127.0.0.1"), (32, "h" * 253)])
def test_all_that_a_change_of_a_full_group_says_fits_one_frame(name_length: int, host: str) -> None:
    frame = _full_group(name_length, host)
    assert codec.decode(codec.encode(frame)) == frame


def test_an_install_of_a_full_group_and_a_fragment_of_the_order_fit_beside_runs() -> None:
    frame = _full_group(32, "h" * 253)
    spans = tuple((who, limits.NUMBER_MAX, limits.NUMBER_MAX) for who in frame.status.suspects * 2)
    orders = Orders(limits.NUMBER_MAX, limits.NUMBER_MAX, spans[:PIECE_SPANS])
    beside = frame._replace(control=frame.control[:1], orders=orders)
    assert len(orders.spans) == PIECE_SPANS
    assert len(codec.encode(beside)) <= limits.FRAME_HEADER_BYTES
