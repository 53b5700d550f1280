"""The delivery log's writer: lines, positions, segments, states, and when they reach the operating system."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from gcom.core.messages.effects import (
    AskRegistry,
    Deliver,
    Effect,
    Ended,
    EntryFailed,
    Installed,
    Sent,
    Skip,
    Suspected,
)
from gcom.core.messages.registry import Lookup
from gcom.errors import RegistryUnavailable
from gcom.trace import writer
from gcom.trace.segment import folder_name
from gcom.trace.writer import DeliveryLog
from gcom.values.definition import Definition, Multicast, Ordering
from gcom.values.run import Run
from gcom.values.view import View
from tests.oracle import judge

ALICE, BOB = "alice#7f3a", "bob#09c1"
NEWS = Definition("news")
WALL_NS = 1795219200000000000

GOLDEN = """\
{"type":"open","at":1,"version":1,"member":"alice","incarnation":"7f3a","process":"alice#7f3a","segment":0,"wall_ns":1795219200000000000}
{"type":"view","at":1,"t":1,"group":"news","instance":"k2","view":1,"members":["alice#7f3a","bob#09c1"],"leader":"alice#7f3a","ordering":"FIFO","multicast":"RELIABLE"}
{"type":"send","at":2,"t":2,"group":"news","instance":"k2","view":1,"number":1,"count":3,"clock":{}}
{"type":"deliver","at":5,"t":3,"group":"news","instance":"k2","view":1,"sent_view":1,"sender":"alice#7f3a","number":1,"count":3}
{"type":"deliver","at":8,"t":4,"group":"news","instance":"k2","view":1,"sent_view":1,"sender":"bob#09c1","number":1}
{"type":"send","at":9,"t":5,"group":"news","instance":"k2","view":1,"number":4,"clock":{"bob#09c1":1}}
{"type":"skip","at":10,"t":6,"group":"news","instance":"k2","view":1,"sender":"bob#09c1","number":2,"count":2}
{"type":"suspect","at":12,"t":7,"group":"news","instance":"k2","view":1,"process":"bob#09c1","reason":"silence"}
{"type":"leave","at":13,"t":8,"group":"news","instance":"k2","view":1,"settled":2,"reason":"request"}
"""


def _sent(first: int, count: int = 1, clock: dict[str, int] | None = None, view: int = 1) -> Sent:
    return Sent(Run(ALICE, view, first, clock or {}, [b"x"] * count, b""))


def _heard(sender: str, first: int, count: int = 1, view: int = 1) -> Deliver:
    return Deliver(Run(sender, view, first, {}, [b"x"] * count, b""), view)


def _view(number: int = 1, *members: str, base: dict[str, int] | None = None) -> Installed:
    everyone = members or (ALICE, BOB)
    return Installed(View(number, everyone, everyone), (), {}, base)


LIFE: list[Effect] = [
    _view(),
    _sent(1, 3),
    _heard(ALICE, 1, 3),
    _heard(BOB, 1),
    _sent(4, clock={BOB: 1}),
    Skip(BOB, 2, 2, 1),
    Suspected(BOB, 1, "silence"),
    Ended(1, "request", settled=2),
]


class Clock:
    """One microsecond a look; `us` may be set."""

    def __init__(self) -> None:
        self.us = 999

    def __call__(self) -> int:
        self.us += 1
        return self.us


def _refuse(trouble: str) -> None:
    pytest.fail(trouble)


def _log(folder: Path, clock_us: Callable[[], int] | None = None, **limits: Any) -> DeliveryLog:
    return DeliveryLog(folder, ALICE, wall_ns=WALL_NS, clock_us=clock_us or Clock(), on_trouble=_refuse, **limits)


def _record(log: DeliveryLog, *effects: Effect, instance: str = "k2", definition: Definition = NEWS) -> None:
    for effect in effects:
        log.record(definition, instance, effect)


def _home(folder: Path) -> Path:
    return folder / "alice" / "7f3a"


def _lines(folder: Path) -> list[dict[str, Any]]:
    paths = sorted(_home(folder).iterdir(), key=lambda path: path.name.lstrip("."))
    return [json.loads(line) for path in paths for line in path.read_bytes().splitlines()]


def test_a_no_op_of_a_succession_is_its_serials_and_settles_no_message(tmp_path: Path) -> None:
    log = _log(tmp_path)
    _record(log, _view(), Skip(BOB, 16, 2, 1, serial=23, no_op=True), Skip(BOB, 18, 1, 1, serial=25, no_op=True))
    log.close()
    found = [line for line in _lines(tmp_path) if line["type"] == "skip"]
    assert [{key: line[key] for key in line if key in ("count", "serial", "sender", "number")} for line in found] == [
        {"count": 2, "serial": 23},
        {"serial": 25},
    ]


def test_golden(tmp_path: Path) -> None:
    """The contract's example, as far as this version's orders go, with every other effect."""
    log = _log(tmp_path)
    _record(log, *LIFE)
    log.close()
    crc32 = zlib.crc32(GOLDEN.encode())
    close = f'{{"type":"close","at":14,"records":9,"crc32":{crc32},"reason":"exit"}}\n'
    assert [path.name for path in _home(tmp_path).iterdir()] == ["000000.jsonl"]
    assert (_home(tmp_path) / "000000.jsonl").read_text() == GOLDEN + close
    assert judge(tmp_path).coverage == {ALICE: "closed"}


def test_digests_are_written_where_they_are_asked_for(tmp_path: Path) -> None:
    log = DeliveryLog(tmp_path, ALICE, wall_ns=WALL_NS, clock_us=lambda: 0, on_trouble=print, digests=True)
    run = Run(ALICE, 1, 1, {}, ["ä", b"b"], b"")
    for effect in (_view(), Sent(run), Deliver(run, 1), Skip(ALICE, 3, 1, 1)):
        log.record(NEWS, "k2", effect)
    log.close()
    records = [json.loads(line) for line in (_home(tmp_path) / "000000.jsonl").read_text().splitlines()]
    digests = [zlib.crc32("ä".encode()), zlib.crc32(b"b")]
    assert [each.get("digests") for each in records] == [None, None, digests, digests, None, None]


def test_equal_inputs_give_equal_bytes(tmp_path: Path) -> None:
    for folder, flushes in (("one", False), ("other", True)):
        clock = Clock()
        log = _log(tmp_path / folder, lambda clock=clock: clock.us, segment_bytes=400)  # type: ignore[misc]
        for effect in LIFE:
            clock()
            _record(log, effect)
            if flushes:
                log.flush()
        log.close()
    one, other = (sorted(_home(tmp_path / name).iterdir()) for name in ("one", "other"))
    assert [path.name for path in one] == [path.name for path in other]
    assert len(one) > 2
    assert [path.read_bytes() for path in one] == [path.read_bytes() for path in other]


def test_what_is_no_event_of_the_log_takes_no_position(tmp_path: Path) -> None:
    log = _log(tmp_path)
    _record(log, AskRegistry(Lookup("news")), EntryFailed(RegistryUnavailable("none")), _view())
    log.close()
    assert [(line["type"], line["at"]) for line in _lines(tmp_path)] == [("open", 1), ("view", 1), ("close", 2)]


@pytest.mark.parametrize(
    ("reason", "kind"), [("request", "leave"), ("exit", "leave"), ("expelled", "detach"), ("quorum", "detach")]
)
def test_the_end_of_a_stay(tmp_path: Path, reason: str, kind: str) -> None:
    log = _log(tmp_path)
    _record(log, _view(), Ended(1, reason))
    log.flush()
    end = _lines(tmp_path)[-1]
    assert (end["type"], end["reason"], "settled" in end) == (kind, reason, False)


def test_properties_and_base_of_a_view(tmp_path: Path) -> None:
    log = _log(tmp_path)
    basic = Definition("news", Ordering.NONORDERED, Multicast.BASIC)
    _record(log, _view(3, BOB, ALICE, base={BOB: 7}), definition=basic)
    log.flush()
    line = _lines(tmp_path)[-1]
    assert (line["ordering"], line["multicast"], line["base"]) == ("NONORDERED", "BASIC", {BOB: 7})
    assert (line["members"], line["leader"]) == ([BOB, ALICE], BOB)
    assert not {"safe", "netsplit"} & set(line)  # absent where they are what they usually are


def test_positions_are_dense_over_all_groups(tmp_path: Path) -> None:
    log = _log(tmp_path, segment_bytes=300)
    for group in ("one", "two"):
        _record(log, _view(), _sent(1, 5), definition=Definition(group))
    _record(log, _heard(ALICE, 1, 5), definition=Definition("one"))
    log.close()
    report = judge(tmp_path)
    assert report.notes == []
    assert report.coverage == {ALICE: "closed"}
    assert _lines(tmp_path)[-1]["at"] == 18


@pytest.mark.parametrize(
    ("name", "folder"),
    [("alice", "alice"), ("a_b", "a%5Fb"), ("a.b-c", "a.b-c"), (".hid", "%2Ehid"), ("ü/#", "%C3%BC%2F%23")],
)
def test_folder_names(name: str, folder: str) -> None:
    assert folder_name(name) == folder


def test_a_new_segment_can_be_judged_alone(tmp_path: Path) -> None:
    log = _log(tmp_path, segment_bytes=1)
    _record(log, _view(4, ALICE, BOB, base={BOB: 2}), _sent(1, 2, {BOB: 2}), _heard(ALICE, 1, 2), _heard(BOB, 3, 2))
    _record(log, _heard(BOB, 7, 2), _sent(3, clock={BOB: 8}), _heard(BOB, 5), _sent(4))
    log.close()
    states = [line["state"] for line in _lines(tmp_path) if "state" in line]
    settled = {"delivered": {BOB: 5, ALICE: 2}, "beyond": {BOB: [[7, 2]]}}
    assert states[-1] == {"news": {"instance": "k2", "view": 4, "number": 3, **settled, "clock": {BOB: 8}, "serial": 0}}
    clocks = [line["clock"] for line in _lines(tmp_path) if line["type"] == "send"]
    assert clocks == [{BOB: 2}, {BOB: 8}, {BOB: 8}], "the first send of a segment carries all"
    opens, closes = ([line["at"] for line in _lines(tmp_path) if line["type"] == kind] for kind in ("open", "close"))
    assert opens[1:] == closes[:-1]
    assert judge(tmp_path).notes == []


def test_a_group_that_was_left_is_in_no_state(tmp_path: Path) -> None:
    log = _log(tmp_path, segment_bytes=1)
    _record(log, _view(), Ended(1, "request"))
    _record(log, _view(), definition=Definition("other"))
    log.close()
    assert [list(line["state"]) for line in _lines(tmp_path) if "state" in line] == [["news"], []]


def test_a_member_that_is_gone_is_in_the_state_and_in_no_clock(tmp_path: Path) -> None:
    log = _log(tmp_path, segment_bytes=1)
    _record(log, _view(), _heard(BOB, 1), _sent(1, clock={BOB: 1}), _view(2, ALICE), _sent(2, view=2))
    log.close()
    opened, sent, _ = _lines(tmp_path)[-3:]
    assert (opened["state"]["news"]["clock"], sent["clock"]) == ({BOB: 1}, {})


def test_a_state_holds_even_where_the_history_does_not(tmp_path: Path) -> None:
    """A delivery from one that joins later is a violation, and the state must not hide it."""
    log = _log(tmp_path, segment_bytes=1)
    _record(log, _view(1, ALICE), _heard(BOB, 3), _view(2), _sent(1, view=2))
    log.close()
    assert [line["state"]["news"]["clock"] for line in _lines(tmp_path) if "state" in line] == [{}, {BOB: 3}, {BOB: 3}]
    assert judge(tmp_path).notes == []


def test_a_segment_is_sealed_at_an_age(tmp_path: Path) -> None:
    clock = Clock()
    log = _log(tmp_path, clock, segment_age_us=1000)
    _record(log, _view())
    log.flush()
    clock.us += 1000
    log.flush()
    clock.us += 1000
    log.flush()
    assert sorted(path.name for path in _home(tmp_path).iterdir()) == [".000001.jsonl", "000000.jsonl"]
    opened = _lines(tmp_path)[-1]
    assert opened["wall_ns"] == WALL_NS + 1003 * 1000
    _record(log, _sent(1))
    log.flush()
    assert [line["t"] for line in _lines(tmp_path) if line["type"] == "send"] == [1002]


def test_a_crash_before_the_seal_leaves_a_dot_file(tmp_path: Path) -> None:
    log = _log(tmp_path)
    _record(log, *LIFE)
    log.flush()
    (path,) = _home(tmp_path).iterdir()
    assert (path.name, path.read_text()) == (".000000.jsonl", GOLDEN)
    assert judge(tmp_path).coverage == {ALICE: "open"}


def test_only_sends_and_views_hurry(tmp_path: Path) -> None:
    log = _log(tmp_path)
    _record(log, _view(), _sent(1))
    log.flush_before_frame()
    assert [line["type"] for line in _lines(tmp_path)] == ["open", "view", "send"]
    _record(log, _heard(ALICE, 1))
    log.flush_before_frame()
    assert _lines(tmp_path)[-1]["type"] == "send"
    _record(log, _sent(2), _heard(ALICE, 2))
    log.flush_before_frame()
    assert [line["at"] for line in _lines(tmp_path)] == [1, 1, 2, 3, 4, 5]


def test_a_full_buffer_writes_itself_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "WAITING_MAX", 10)
    log = _log(tmp_path)
    _record(log, _view(), *[_heard(BOB, number) for number in range(1, 15)])
    assert len(_lines(tmp_path)) == 1 + 10


def _flush_often(log: DeliveryLog) -> None:
    for _ in range(300):
        log.flush()


def test_many_threads_may_flush(tmp_path: Path) -> None:
    log = _log(tmp_path, segment_bytes=5000)
    _record(log, _view())
    flushers = [Thread(target=_flush_often, args=(log,)) for _ in range(3)]
    for thread in flushers:
        thread.start()
    for number in range(1, 2001):
        _record(log, _sent(number), _heard(ALICE, number))
        log.flush_before_frame()
    for thread in flushers:
        thread.join(60)
    log.close()
    report = judge(tmp_path)
    assert (report.notes, report.coverage) == ([], {ALICE: "closed"})
    assert report.group("news").failed() == {}


def test_an_end_that_claims_nothing(tmp_path: Path) -> None:
    log = _log(tmp_path)
    _record(log, _view())
    log.flush()
    log.abandon()
    assert judge(tmp_path).coverage == {ALICE: "open"}
    assert [path.name for path in _home(tmp_path).iterdir()] == [".000000.jsonl"]


def test_after_the_close_nothing_is_written(tmp_path: Path) -> None:
    log = _log(tmp_path)
    _record(log, _view())
    log.close()
    before = _lines(tmp_path)
    _record(log, _view())
    log.flush_before_frame()
    log.flush()
    log.close()
    assert _lines(tmp_path) == before
