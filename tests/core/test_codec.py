"""The codec: what was encoded comes back, and nothing from the network makes it raise anything but its two errors."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcom.core import codec, frames
from gcom.core.frames import Control, Decision, Frame, Refused, Status
from gcom.errors import MalformedFrame, VersionMismatch
from gcom.values import limits
from gcom.values.names import Process
from gcom.values.run import Run
from gcom.values.view import View

numbers = st.integers(0, limits.NUMBER_MAX)
processes = st.sampled_from([f"{name}#{life}" for name in ("a", "Z9._-" * 6, "x" * 32) for life in ("0", "z" * 16)])
addresses = st.builds("{}:{}".format, st.sampled_from(["127.0.0.1", "host.example", "[::1]"]), st.integers(0, 65535))
ballots = st.tuples(st.integers(0, limits.ATTEMPT_MAX), st.integers(0, limits.MEMBERS_MAX - 1))
process_lists = st.lists(processes, max_size=4, unique=True).map(tuple)
counts = st.dictionaries(processes, numbers, max_size=4)
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
    return Decision(view, joined, {who: why for who, why in gone.items() if who not in view.members}, draw(counts))


@st.composite
def runs(draw: st.DrawFn) -> Run:
    sender, view, clock = draw(processes), draw(numbers), draw(counts)
    content = draw(st.lists(payloads, min_size=1, max_size=5))
    first = draw(st.integers(1, limits.NUMBER_MAX - len(content)))
    return Run(sender, view, first, clock, content, codec.encode_run(sender, view, first, clock, content))


holders = st.dictionaries(processes, process_lists, max_size=3)
KINDS: dict[type[Control], st.SearchStrategy[Control]] = {
    frames.Join: st.builds(frames.Join, addresses),
    frames.Redirect: st.builds(frames.Redirect, processes, addresses),
    frames.JoinRefused: st.builds(frames.JoinRefused, st.text(max_size=40), texts),
    frames.Prepare: st.builds(frames.Prepare, numbers, ballots),
    frames.Promise: st.builds(frames.Promise, numbers, ballots, counts, ballots, st.none() | decisions()),
    frames.Nack: st.builds(frames.Nack, numbers, ballots),
    frames.Cut: st.builds(frames.Cut, numbers, ballots, decisions(), holders),
    frames.CutOk: st.builds(frames.CutOk, numbers, ballots),
    frames.Install: st.builds(frames.Install, decisions()),
    frames.Fetch: st.builds(frames.Fetch, numbers, processes, numbers, numbers),
}
statuses = st.builds(Status, numbers, numbers, numbers, numbers, numbers, st.booleans(), st.booleans(), process_lists)
whole_frames = st.builds(
    Frame,
    st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}", fullmatch=True),
    st.from_regex(r"[0-9a-z]{1,32}", fullmatch=True),
    processes,
    processes,
    statuses,
    st.lists(st.one_of(list(KINDS.values())), max_size=3).map(tuple),
    st.lists(runs(), max_size=3).map(tuple),
)

A, B = "a#1", "b#1"
PLAIN = Frame("g", "i", A, B, Status(1))


def _decode_or_refuse(data: bytes) -> None:
    """Anything else that is raised fails the test."""
    with suppress(MalformedFrame, VersionMismatch):
        codec.decode_reply(data)


def _packed(**changes: Any) -> bytes:
    """PLAIN with some of its fields replaced by anything."""
    names = ("version", "group", "instance", "source", "target", "status", "control", "runs")
    fields = dict(zip(names, msgpack.unpackb(codec.encode(PLAIN)), strict=True))
    return bytes(msgpack.packb([{**fields, **changes}[name] for name in names]))


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


@given(st.sampled_from(["unknown", "expelled", "version"]), texts)
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


@given(st.sampled_from(["version", "group", "instance", "source", "target", "status", "control", "runs"]), anything)
def test_any_field_may_be_anything(field: str, value: Any) -> None:
    _decode_or_refuse(_packed(**{field: value}))


@given(st.integers(0, 12) | anything, st.lists(anything, max_size=6))
def test_any_control_item_may_have_any_fields(kind: Any, fields: list[Any]) -> None:
    _decode_or_refuse(_packed(control=[[kind, *fields]]))


@given(st.lists(anything, min_size=4, max_size=6))
def test_any_run_may_have_any_fields(fields: list[Any]) -> None:
    _decode_or_refuse(_packed(runs=[msgpack.packb(fields)]))


def _run_of(**changes: Any) -> bytes:
    fields = {"sender": A, "view": 1, "first": 1, "clock": {}, "payloads": ["x"], **changes}
    return _packed(runs=[msgpack.packb(list(fields.values()))])


def _status_of(place: int, value: Any) -> bytes:
    status: list[Any] = [1, 0, 0, 0, 0, False, False, []]
    status[place] = value
    return _packed(status=status)


def _decision_of(**changes: Any) -> bytes:
    view = [2, [A, B], ["h:1", "h:2"], True]
    fields = {"view": view, "joined": [B], "left": {"c#1": "request"}, "cut": {A: 3}, **changes}
    return _packed(control=[[9, list(fields.values())]])


MANY = [f"m{index}#1" for index in range(limits.MEMBERS_MAX + 1)]
BAD: dict[str, Callable[[], bytes]] = {
    "a flag as a number": lambda: _status_of(1, True),
    "a number as a flag": lambda: _status_of(5, 1),
    "a flag as a message number": lambda: _run_of(first=True),
    "a flag as the version": lambda: _packed(version=True),
    "a flag as a control item's kind": lambda: _packed(control=[[True, "h:1"]]),
    "a fraction as a control item's kind": lambda: _packed(control=[[1.0, "h:1"]]),
    "a fraction as a number": lambda: _status_of(0, 1.0),
    "a negative number": lambda: _status_of(0, -1),
    "a number over the largest": lambda: _status_of(0, limits.NUMBER_MAX + 1),
    "a text as a status": lambda: _packed(status="abcdefgh"),
    "a text as control items": lambda: _packed(control=""),
    "a table as control items": lambda: _packed(control={}),
    "a table as runs": lambda: _packed(runs={}),
    "an unknown control item": lambda: _packed(control=[[11, 1]]),
    "a control item without fields": lambda: _packed(control=[[]]),
    "too many control items": lambda: _packed(control=[[8, 1, [1, 0]]] * (limits.CONTROL_ITEMS_MAX + 1)),
    "too many suspects": lambda: _status_of(7, MANY),
    "a run as a list": lambda: _packed(runs=[[A, 1, 1, {}, ["x"]]]),
    "a run without messages": lambda: _run_of(payloads=[]),
    "a run of numbers": lambda: _run_of(payloads=[1]),
    "a run from number 0": lambda: _run_of(first=0),
    "a run beyond the largest number": lambda: _run_of(first=limits.NUMBER_MAX, payloads=["x", "y"]),
    "a run of a sender that is no process": lambda: _run_of(sender="a"),
    "a clock that is no table": lambda: _run_of(clock=[1]),
    "a clock of anybody": lambda: _run_of(clock=dict.fromkeys(MANY + [f"x{name}" for name in MANY], 1)),
    "a message over the limit, bytes": lambda: _run_of(payloads=[bytes(limits.MESSAGE_BYTES_MAX + 1)]),
    "a message over the limit, text": lambda: _run_of(payloads=["x" * (limits.MESSAGE_BYTES_MAX + 1)]),
    "a message over the limit in UTF-8": lambda: _run_of(payloads=["é" * (limits.MESSAGE_BYTES_MAX // 2 + 1)]),
    "more messages than a run has": lambda: _run_of(payloads=[""] * (limits.RUN_MESSAGES_MAX + 1)),
    "a text that is not UTF-8": lambda: _run_of().replace(b"\xa1x", b"\xa1\xff"),
    "a view without members": lambda: _decision_of(view=[2, [], [], True], joined=[]),
    "a view with a member twice": lambda: _decision_of(view=[2, [B, B], ["h:1", "h:2"], True]),
    "a view with an address less": lambda: _decision_of(view=[2, [A, B], ["h:1"], True]),
    "a view with a wrong address": lambda: _decision_of(view=[2, [A, B], ["h:1", "h:99999"], True]),
    "who joined is not in the view": lambda: _decision_of(joined=["c#1"]),
    "who left is in the view": lambda: _decision_of(left={A: "request"}),
    "a ballot of nobody": lambda: _packed(control=[[4, 1, [1, limits.MEMBERS_MAX]]]),
    "a ballot after the last attempt": lambda: _packed(control=[[4, 1, [limits.ATTEMPT_MAX + 1, 0]]]),
    "more who left than ever were in": lambda: _decision_of(left=dict.fromkeys(MANY, "request")),
    "a reason that is a story": lambda: _decision_of(left={"c#1": "x" * 41}),
    "a group of a wrong name": lambda: _packed(group="../x"),
    "an instance of a wrong name": lambda: _packed(instance="i/1"),
    "a source that is no process": lambda: _packed(source="a"),
    "an unknown refusal": lambda: bytes(msgpack.packb([1, "please", ""])),
    "nothing": lambda: b"",
    "an empty list": lambda: bytes(msgpack.packb([])),
    "too few fields": lambda: bytes(msgpack.packb([1, "g"])),
    "something behind the frame": lambda: codec.encode(PLAIN) + b"\x00",
    "a count of four thousand million": lambda: b"\xdd\xff\xff\xff\xff\x01",
    "a text of four thousand million": lambda: b"\x98\x01\xdb\xff\xff\xff\xff",
    "lists in lists, a hundred thousand deep": lambda: b"\x91" * 100_000,
    "tables in tables, a hundred thousand deep": lambda: b"\x81\x01" * 100_000,
    "a key that cannot be one": lambda: _packed(runs=[b"\x95\xa3a#1\x01\x01\x81\x90\x01\x91\xa1x"]),
    "an extension": lambda: _packed(status=msgpack.ExtType(5, b"")),
    "a time": lambda: b"\x98\x01\xd6\xff\x00\x00\x00\x00",
    "more bytes than a frame has": lambda: bytes(limits.FRAME_BYTES_MAX + 1),
}


@pytest.mark.parametrize("what", BAD)
def test_a_malformed_frame_is_refused(what: str) -> None:
    with pytest.raises(MalformedFrame):
        codec.decode(BAD[what]())


def test_the_frames_that_the_malformed_ones_are_made_of_are_right() -> None:
    for data in (_packed(), _run_of(), _status_of(0, 1), _decision_of()):
        codec.decode(data)


def test_a_message_at_the_limit_passes() -> None:
    for payload in (bytes(limits.MESSAGE_BYTES_MAX), "é" * (limits.MESSAGE_BYTES_MAX // 2)):
        assert codec.decode(_run_of(payloads=[payload])).runs[0].payloads == [payload]


@pytest.mark.parametrize("version", [0, 2, 77, -1, 2**64 - 1])
def test_another_version_is_refused_by_both_numbers(version: int) -> None:
    with pytest.raises(VersionMismatch, match=rf"protocol {version}, this process {limits.PROTOCOL_VERSION}"):
        codec.decode(_packed(version=version))
    with pytest.raises(VersionMismatch):
        codec.decode(bytes(msgpack.packb([version, "a shape of the future"])))


def _full_group(name_length: int, host: str) -> Frame:
    members = tuple(f"{f'm{index:02}':x<{name_length}}#{'1' * 16}" for index in range(limits.MEMBERS_MAX))
    view = View(limits.NUMBER_MAX, members, tuple(f"{host}:{10_000 + index}" for index in range(len(members))))
    high: dict[Process, int] = dict.fromkeys(members, limits.NUMBER_MAX)
    decision = Decision(view, members, {}, high)
    control: tuple[Control, ...] = (
        frames.Install(decision),
        frames.Cut(1, (1, 1), decision, dict.fromkeys(members, members[:3])),
        frames.Promise(1, (1, 1), high, (1, 1), decision),
        *[frames.Fetch(1, member, 1, limits.NUMBER_MAX) for member in members[:12]],
    )
    high_number = limits.NUMBER_MAX
    status = Status(1, high_number, high_number, high_number, high_number, suspects=members)
    return Frame("g" * 63, "i" * 32, members[0], members[1], status, control)


@pytest.mark.parametrize(("name_length", "host"), [(8, "127.0.0.1"), (32, "h" * 253)])
def test_all_that_a_change_of_a_full_group_says_fits_one_frame(name_length: int, host: str) -> None:
    frame = _full_group(name_length, host)
    assert codec.decode(codec.encode(frame)) == frame


def test_an_install_of_a_full_group_fits_beside_runs() -> None:
    frame = _full_group(32, "h" * 253)
    beside = Frame(frame.group, frame.instance, frame.source, frame.target, frame.status, frame.control[:1])
    assert len(codec.encode(beside)) <= limits.FRAME_HEADER_BYTES
