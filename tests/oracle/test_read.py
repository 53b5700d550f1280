"""The oracle's reader: sealed files and dot-files, torn tails, damage, gaps, and states across them."""

from __future__ import annotations

import json
import zlib
from pathlib import Path

import pytest

from tests.oracle import judge
from tests.oracle.build import A, B, Record, deliver, life, send, view, write, write_segments
from tests.oracle.events import Deliver
from tests.oracle.read import read

# As the contract prints it, but for the checksum, which stands there for any.
EXAMPLE = """\
{"type":"open","at":1,"version":1,"member":"alice","incarnation":"7f3a","process":"alice#7f3a","segment":0,"wall_ns":1795219200000000000}
{"type":"view","at":1,"group":"news","instance":"k2","view":1,"members":["alice#7f3a","bob#09c1"],"leader":"alice#7f3a","ordering":"CAUSALTOTAL","multicast":"RELIABLE"}
{"type":"send","at":2,"group":"news","instance":"k2","view":1,"number":1,"count":3,"clock":{}}
{"type":"deliver","at":5,"group":"news","instance":"k2","view":1,"sent_view":1,"sender":"alice#7f3a","number":1,"count":3,"serial":1}
{"type":"deliver","at":8,"group":"news","instance":"k2","view":1,"sent_view":1,"sender":"bob#09c1","number":1,"serial":4}
{"type":"leave","at":9,"group":"news","instance":"k2","view":1,"settled":2,"reason":"request"}
"""


def _file(folder: Path, name: str, data: bytes) -> None:
    home = folder / "alice" / "7f3a"
    home.mkdir(parents=True)
    (home / name).write_bytes(data)


def _example(crc32: int) -> bytes:
    return (EXAMPLE + f'{{"type":"close","at":10,"records":6,"crc32":{crc32},"reason":"exit"}}\n').encode()


def test_the_example_of_the_contract(tmp_path: Path) -> None:
    _file(tmp_path, "000000.jsonl", _example(zlib.crc32(EXAMPLE.encode())))
    report = judge(tmp_path)
    assert (report.notes, report.coverage) == ([], {"alice#7f3a": "closed"})
    verdicts = report.group("news").verdicts()
    assert "FAIL" not in verdicts.values()
    assert report.group("news").verdict == "UNKNOWN", "bob's log is not there"


def test_a_wrong_checksum_makes_the_segment_a_gap(tmp_path: Path) -> None:
    _file(tmp_path, "000000.jsonl", _example(3735928559))
    report = judge(tmp_path)
    assert report.coverage == {"alice#7f3a": "lost"}
    assert "another checksum" in report.notes[0]
    assert report.groups == {}


@pytest.mark.parametrize("change", [1, -1])
def test_a_wrong_number_of_records_makes_the_segment_a_gap(tmp_path: Path, change: int) -> None:
    crc32 = zlib.crc32(EXAMPLE.encode())
    _file(tmp_path, "000000.jsonl", _example(crc32).replace(b'"records":6', b'"records":%d' % (6 + change)))
    assert judge(tmp_path).coverage == {"alice#7f3a": "lost"}


def test_a_line_cut_anywhere_is_torn_and_dropped(tmp_path: Path) -> None:
    data = EXAMPLE.encode()
    first = data.index(b"\n") + 1
    for length in range(first, len(data)):
        folder = tmp_path / str(length)
        _file(folder, ".000000.jsonl", data[:length])
        report = judge(folder)
        assert report.coverage == {"alice#7f3a": "open" if data[length - 1] == 10 else "torn"}
        assert all("FAIL" not in group.verdicts().values() for group in report.groups.values())


def test_a_dot_file_with_its_close_is_closed(tmp_path: Path) -> None:
    """A crash between the last line and the rename leaves this."""
    _file(tmp_path, ".000000.jsonl", _example(zlib.crc32(EXAMPLE.encode())))
    assert judge(tmp_path).coverage == {"alice#7f3a": "closed"}


def test_a_missing_line_is_a_gap_and_no_violation(tmp_path: Path) -> None:
    for index in range(1, len(life()[A]) - 1):
        logs = life()
        logs[A][index] = {"type": "suspect", "view": 1, "count": logs[A][index].get("count", 1)}
        folder = write(tmp_path / str(index), logs, {A: "crash"})
        (path,) = (folder / "a" / "1").iterdir()
        path.write_bytes(b"".join(line for line in path.read_bytes().splitlines(True) if b"suspect" not in line))
        report = judge(folder)
        assert report.coverage[A] == "lost"
        assert "FAIL" not in report.group("g").verdicts().values(), index


def test_two_writers_are_noticed(tmp_path: Path) -> None:
    logs = life()
    folder = write(tmp_path, logs)
    write_segments(folder, "a#2", [logs[A]])
    path = folder / "a" / "2" / "000000.jsonl"
    path.rename(path.with_name(".000000.jsonl"))
    lines = path.with_name(".000000.jsonl").read_text().replace('"a#2"', '"a#1"').splitlines(True)[:-1]
    path.with_name(".000000.jsonl").write_text("".join(lines))
    report = judge(folder)
    assert report.coverage[A] == "lost"
    assert any("two writers" in note for note in report.notes)


def _long(first_clock: dict[str, int], *more: Record) -> list[list[Record]]:
    """Three segments of b, which hears a; the middle one is going to be lost. a sends 1 to 4, b sends 1 to 3."""
    return [
        [view(1, A, B, ordering="FIFO"), deliver(1, A, 1), send(1, 1, {A: 1}), deliver(1, B, 1)],
        [deliver(1, A, 2), send(1, 2, {A: 2}), deliver(1, B, 2), deliver(1, A, 3)],
        [send(1, 3, first_clock), deliver(1, B, 3), deliver(1, A, 4), *more],
    ]


def _state(**more: object) -> Record:
    delivered = {"delivered": {A: 3, B: 2}, "beyond": {}, "clock": {A: 3}, "serial": 0}
    return {"g": {"instance": "i", "view": 1, "number": 2, **delivered, **more}}


def _hear(folder: Path, segments: list[list[Record]], state: Record, lose: bool = True) -> dict[str, str]:
    first = {"g": {"instance": "i", "view": 1, "number": 1, "delivered": {A: 1, B: 1}, "beyond": {}, "clock": {A: 1}}}
    write(
        folder, {A: [view(1, A, B, ordering="FIFO"), send(1, 1, {}, count=4), deliver(1, A, 1, count=4)]}, {A: "crash"}
    )
    write_segments(folder, B, segments, "crash", {1: first, 2: state})
    if lose:
        (folder / "b" / "1" / "000001.jsonl").unlink()
    report = judge(folder)
    assert report.coverage[B] == ("lost" if lose else "open")
    return dict(report.group("g").verdicts())


def test_a_state_makes_up_for_a_lost_segment(tmp_path: Path) -> None:
    verdicts = _hear(tmp_path, _long({A: 3}), _state())
    assert verdicts["CLOCK"] == "PASS"
    assert {verdicts[rule] for rule in ("NO_CREATION", "NO_DUPLICATION", "FIFO", "SENDING_VIEW")} == {"UNKNOWN"}


@pytest.mark.parametrize(
    ("rule", "clock", "more"),
    [
        ("CLOCK", {A: 2}, []),
        ("CLOCK", {}, []),
        ("NO_DUPLICATION", {A: 3}, [deliver(1, A, 2)]),
        ("NO_CREATION", {A: 3}, [send(1, 5, {A: 4})]),
        ("FIFO", {A: 3}, [deliver(1, A, 6)]),
        ("VIEW_AGREEMENT", {A: 3}, [view(3, A, B, ordering="FIFO")]),
    ],
)
def test_what_a_state_tells_is_held_against_what_follows(
    tmp_path: Path, rule: str, clock: dict[str, int], more: list[Record]
) -> None:
    assert _hear(tmp_path, _long(clock, *more), _state())[rule] == "FAIL"


def test_the_first_clock_of_a_segment_carries_all(tmp_path: Path) -> None:
    segments = _long({A: 3})
    segments[1] = [deliver(1, A, 2), send(1, 2, {A: 2}), deliver(1, B, 2), deliver(1, A, 3), send(1, 3, {A: 3})]
    segments[2] = [send(1, 4, {}), deliver(1, B, 3), deliver(1, A, 4)]
    assert _hear(tmp_path, segments, _state(number=3), lose=False)["CLOCK"] == "FAIL"


@pytest.mark.parametrize("wrong", [{"number": 3}, {"delivered": {A: 2, B: 2}}, {"clock": {A: 2}}, {"view": 2}])
def test_a_state_that_does_not_fit_is_noted(tmp_path: Path, wrong: Record) -> None:
    _hear(tmp_path, _long({A: 3}), _state(**wrong), lose=False)
    assert any("is not what precedes it" in note for note in judge(tmp_path).notes)


def test_lost_records_are_a_gap_with_a_state(tmp_path: Path) -> None:
    lost = {"type": "lost", "count": 4, "state": _state()}
    first, _, last = _long({A: 3})
    write(
        tmp_path,
        {A: [view(1, A, B, ordering="FIFO"), send(1, 1, {}, count=4), deliver(1, A, 1, count=4)]},
        {A: "crash"},
    )
    write_segments(tmp_path, B, [[*first, lost, *last]], "crash")
    report = judge(tmp_path)
    assert report.coverage[B] == "lost"
    assert report.notes == []
    assert report.group("g").verdicts()["CLOCK"] == "PASS"
    assert report.group("g").verdicts()["FIFO"] == "UNKNOWN"


def test_runs_are_taken_apart_and_unknown_things_counted(tmp_path: Path) -> None:
    folder = write(tmp_path, {A: [view(1, A), send(1, 1, {}, count=2, hue="red"), deliver(1, A, 1, count=2, serial=7)]})
    path = folder / "a" / "1" / "000000.jsonl"
    path.rename(path.with_name(".000000.jsonl"))
    with path.with_name(".000000.jsonl").open("r+") as file:
        lines = file.readlines()[:-1]
        file.seek(0)
        file.truncate()
        file.writelines([*lines, json.dumps({"type": "dream", "at": 6}) + "\n"])
    logs = read(folder)
    (history,) = logs.groups["g", "i"]
    heard = [event for event in history.events if isinstance(event, Deliver)]
    assert [(event.at, event.number, event.serial) for event in heard] == [(4, 1, 7), (5, 2, 8)]
    assert logs.unknown_types == {"dream": 1}
