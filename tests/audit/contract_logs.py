"""Logs that break DELIVERY_LOG.md, each beside the words that it breaks: those of files and positions.

`contract_records` and `contract_rules` have the rest; `test_contract` judges them all.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.oracle.build import A, B, C, Ending, Logs, Record, deliver, life, send, view, write, write_segments

Make = Callable[[Path], object]
BROKEN: dict[str, Make] = {}
QUOTES: list[str] = []


def breaks(*quotes: str) -> Callable[[Make], Make]:
    """The function makes logs that break what the quotes say."""

    def add(make: Make) -> Make:
        BROKEN[make.__name__.strip("_")] = make
        QUOTES.extend(quotes)
        return make

    return add


def damaged(folder: Path, change: Callable[[Logs], object], endings: dict[str, Ending] | None = None) -> None:
    logs = life()
    change(logs)
    write(folder, logs, endings)


def changed(process: str, index: int, **fields: Any) -> Make:
    return lambda folder: damaged(folder, lambda logs: logs[process][index].update(fields))


def lines(folder: Path, change: Callable[[list[Record]], object], *, mend: bool = True, process: str = B) -> None:
    """Change the parsed lines of a log; with `mend` its close fits them."""
    write(folder, life())
    path = folder / process.replace("#", "/") / "000000.jsonl"
    lines = [json.loads(line) for line in path.read_bytes().splitlines()]
    change(lines)
    data = b"".join(json.dumps(line).encode() + b"\n" for line in lines[:-1])
    if mend:
        lines[-1] |= {"records": len(lines) - 1, "crc32": zlib.crc32(data)}
    path.write_bytes(data + json.dumps(lines[-1]).encode() + b"\n")


def raw(folder: Path, old: bytes, new: bytes) -> None:
    """Change the bytes of b's log, whose close then fits them."""
    write(folder, life())
    path = folder / "b" / "1" / "000000.jsonl"
    *lines, close = path.read_bytes().splitlines(keepends=True)
    data = b"".join(lines)
    assert old in data
    data = data.replace(old, new, 1)
    closing = {**json.loads(close), "crc32": zlib.crc32(data)}
    path.write_bytes(data + json.dumps(closing).encode() + b"\n")


def segments(folder: Path, state: Record | None, **more: Any) -> None:
    """b's log in two segments, the second with this state."""
    logs = life()
    write(folder, {who: logs[who] for who in (A, C)})
    states = {} if state is None else {1: {"g": {**STATE, **more, **state}}}
    write_segments(folder, B, [logs[B][:5], logs[B][5:]], "exit", states)


STATE: Record = {"instance": "i", "view": 1, "number": 1, "beyond": {}, "clock": {A: 2}, "serial": 3}
STATE |= {"delivered": {A: 2, B: 1}}
SHORT: dict[str, Any] = {"ordering": "FIFO", "multicast": "RELIABLE"}
SAFE: dict[str, Any] = {"ordering": "TOTAL", "multicast": "RELIABLE", "safe": True}


def dead_delivered(folder: Path, passed: Record, **kind: Any) -> None:
    """b delivers its own message and dies; a and c pass it over."""
    begun, second = view(1, B, A, C, **kind), view(2, A, C, **kind)
    rest = [begun, passed, second]
    own = [begun, send(1, 1, {}), deliver(1, B, 1, serial=1)]
    write(folder, {A: rest, B: own, C: rest}, {B: "crash"})


# Files


@breaks("JSON Lines, UTF-8, one object a line.")
def _no_utf_8(folder: Path) -> None:
    raw(folder, b'"group": "g"', b'"note": "\xff", "group": "g"')


@breaks("identity comes from `open`.")
def _two_folders_of_one_process(folder: Path) -> None:
    """Where they lie does not make two processes of them."""
    write(folder, life())
    home = folder / "z" / "1"
    home.mkdir(parents=True)
    data = (folder / "c" / "1" / "000000.jsonl").read_bytes().replace(b'"wall_ns": 0', b'"wall_ns": 1')
    (home / "000000.jsonl").write_bytes(data)


@breaks("A crash loses a tail and may tear its last line.")
def _a_torn_line(folder: Path) -> None:
    """A message without a send in a's log may stand in the part that was torn off."""
    logs = life()
    logs[A] = logs[A][:6]
    write(folder, logs, {A: "torn"})


@breaks("a last `close` with `rotate` misses its successor: `lost`;")
def _a_last_close_that_rotates(folder: Path) -> None:
    lines(folder, lambda lines: lines[-1].update(reason="rotate"))


@breaks(
    "Coverage of a process is `closed` (positions and segments complete, last line `close` with reason `exit`;",
    "a sealed file without `close` was cut: `lost`), `torn` (unterminated last line),",
    "`lost` (a `lost` record, a gap, or no log at all), else `open`.",
)
def _a_sealed_file_without_close(folder: Path) -> None:
    write(folder, life())
    path = folder / "b" / "1" / "000000.jsonl"
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))


@breaks("the audit reads them with a reader of its own, drops an unterminated last line, and says so.")
def _a_violation_in_a_file_with_a_dot(folder: Path) -> None:
    damaged(folder, lambda logs: logs[C].insert(2, deliver(2, C, 1, serial=4)), {C: "torn"})


# Positions


@breaks("`at` is dense per process from 1, over its whole history (all groups, all segments),")
def _positions_from_two(folder: Path) -> None:
    def shift(lines: list[Record]) -> None:
        for line in lines:
            line["at"] += 1

    lines(folder, shift)


@breaks("lines are in `at` order.")
def _two_lines_change_places(folder: Path) -> None:
    lines(folder, lambda lines: lines.insert(4, lines.pop(3)))


@breaks("A record with `count` c covers `at … at+c-1`; `count` is 1 where absent.")
def _a_run_that_covers_less_than_it_counts(folder: Path) -> None:
    lines(folder, lambda lines: lines[2].update(count=2))


@breaks("`at` of `open` and `close` is the next free position;")
def _a_close_at_another_position(folder: Path) -> None:
    lines(folder, lambda lines: lines[-1].update(at=lines[-1]["at"] + 1))


@breaks("a segment's `open.at` equals the previous `close.at` (larger: a gap; smaller: two writers).")
def _an_opening_that_goes_back(folder: Path) -> None:
    logs = life()
    write(folder, {who: logs[who] for who in (A, C)})
    write_segments(folder, B, [logs[B][:5], logs[B][5:]], "exit", {1: {"g": STATE}})
    path = folder / "b" / "1" / "000000.jsonl"
    write_segments(folder / "longer", B, [logs[B][:6], logs[B][6:]], "exit")
    path.write_bytes((folder / "longer" / "b" / "1" / "000000.jsonl").read_bytes())
    for each in ("000000.jsonl", "000001.jsonl"):
        (folder / "longer" / "b" / "1" / each).unlink()
