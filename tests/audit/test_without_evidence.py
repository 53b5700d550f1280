"""Logs that prove less than they seem to: what is not shown is never PASS, and what is wrong is not passed over.

Each is judged by the oracle, and by the quick plan in one pass and segment by segment.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from gcom.audit.judging import verdict_of
from gcom.audit.result import result_of
from tests.audit.here import audit
from tests.oracle import judge
from tests.oracle.build import A, B, C, deliver, leave, life, send, view, write, write_segments

Make = Callable[[Path], object]
Verdicts = dict[str, str]
CASES: dict[str, tuple[Make, str, Verdicts]] = {}
PAIR = view(1, A, B, ordering="FIFO", multicast="BASIC")


def _case(verdict: str, **rules: str) -> Callable[[Make], Make]:
    """What follows makes a case's logs; `verdict` is the whole audit's, `rules` are verdicts of the group "g"."""

    def add(make: Make) -> Make:
        CASES[make.__name__.strip("_")] = (make, verdict, rules)
        return make

    return add


def _segment(folder: Path, process: str, number: int = 0) -> Path:
    (path,) = (folder / process.replace("#", "/")).glob(f"*{number:06}.jsonl")
    return path


def _lines(folder: Path, process: str, number: int = 0) -> list[bytes]:
    return _segment(folder, process, number).read_bytes().splitlines(keepends=True)


def _rewrite(folder: Path, process: str, lines: list[bytes], number: int = 0) -> None:
    _segment(folder, process, number).write_bytes(b"".join(lines))


def _good(folder: Path, *groups: str) -> None:
    """A group that keeps its promises, beside what the case is about."""
    logs = {f"{who[0]}{group}#1": records for group in groups for who, records in life().items()}
    named = json.dumps(logs)
    for group in groups:
        for who in (A, B, C):
            named = named.replace(f'"{who}"', f'"{who[0]}{group}#1"')
    write(
        folder, {who: [{**each, "group": groups[0]} for each in records] for who, records in json.loads(named).items()}
    )


# Logs that cannot be read


@_case("UNKNOWN")
def _a_group_of_which_no_log_has_a_first_line(folder: Path) -> None:
    _good(folder, "other")
    write(folder, life())
    for who in (A, B, C):
        _rewrite(folder, who, [b"{}\n", *_lines(folder, who)[1:]])


@_case("UNKNOWN")
def _a_group_of_which_no_checksum_fits(folder: Path) -> None:
    _good(folder, "other")
    write(folder, life())
    for who in (A, B, C):
        _rewrite(folder, who, [line.replace(b'"crc32": ', b'"crc32": 1') for line in _lines(folder, who)])


@_case("UNKNOWN")
def _a_group_of_which_all_logs_are_of_another_version(folder: Path) -> None:
    _good(folder, "other")
    write(folder, life())
    for who in (A, B, C):
        _rewrite(folder, who, [line.replace(b'"version": 1', b'"version": 2') for line in _lines(folder, who)])


@_case("UNKNOWN")
def _a_log_of_which_nothing_was_written(folder: Path) -> None:
    write(folder, life())
    (folder / "d" / "1").mkdir(parents=True)
    (folder / "d" / "1" / ".000000.jsonl").write_bytes(b'{"type":"op')


@_case("UNKNOWN")
def _a_group_that_was_entered_where_the_logs_were_cut(folder: Path) -> None:
    """All leave g; then they enter h, in a segment that is gone."""
    first = {who: [view(1, A, B, ordering="FIFO", multicast="BASIC"), leave(1, 2)] for who in (A, B)}
    for who, records in first.items():
        write_segments(folder, who, [records, [{**view(1, A, B), "group": "h"}]], "exit", {1: {}})
        _segment(folder, who, 1).unlink()


@_case("PASS")
def _messages_that_the_writer_dropped_hide_no_group(folder: Path) -> None:
    """A `lost` record never stands for a view; the process had left its only group."""
    alone = [view(1, A, ordering="FIFO", multicast="BASIC"), send(1, 1, {}), deliver(1, A, 1), leave(1, 2)]
    write(folder, {A: [*alone, {"type": "lost", "count": 3, "state": {}}]})


# Logs that were cut


def _fails_in_its_last_segment(folder: Path) -> None:
    """b delivers a's second message twice, in its second segment."""
    write(folder, {A: [PAIR, send(1, 1, {}, count=2), deliver(1, A, 1, count=2), leave(1, 2)]})
    state = {"instance": "i", "view": 1, "number": 0, "delivered": {A: 2}, "beyond": {}, "clock": {A: 2}, "serial": 0}
    parts = [[PAIR, deliver(1, A, 1, count=2)], [deliver(1, A, 2), leave(1, 2)]]
    write_segments(folder, B, parts, "exit", {1: {"g": state}})


@_case("FAIL", NO_DUPLICATION="FAIL")
def _what_fails_in_its_last_segment(folder: Path) -> None:
    _fails_in_its_last_segment(folder)


@_case("UNKNOWN", NO_DUPLICATION="UNKNOWN")
def _the_last_segment_missing_behind_a_rotation(folder: Path) -> None:
    _fails_in_its_last_segment(folder)
    _segment(folder, B, 1).unlink()


@_case("UNKNOWN", NO_DUPLICATION="UNKNOWN")
def _a_last_segment_without_its_first_line(folder: Path) -> None:
    _fails_in_its_last_segment(folder)
    _rewrite(folder, B, _lines(folder, B, 1)[1:], 1)


@_case("UNKNOWN", NO_DUPLICATION="UNKNOWN")
def _a_sealed_segment_that_was_cut(folder: Path) -> None:
    _fails_in_its_last_segment(folder)
    _rewrite(folder, B, _lines(folder, B, 1)[:1], 1)


@_case("UNKNOWN", NO_DUPLICATION="UNKNOWN")
def _a_sealed_segment_that_was_cut_and_goes_on_in_the_next(folder: Path) -> None:
    """The positions fit: only the close is missing."""
    _fails_in_its_last_segment(folder)
    _rewrite(folder, B, _lines(folder, B)[:-1])
    lines = [line for line in _lines(folder, B, 1)[:-1] if b'"deliver"' not in line]
    lines[-1] = lines[-1].replace(b'"at": 5', b'"at": 4')
    _segment(folder, B, 1).unlink()
    (folder / "b" / "1" / ".000001.jsonl").write_bytes(b"".join(lines))


@pytest.mark.parametrize("name", CASES)
def test_what_is_not_shown(name: str, tmp_path: Path) -> None:
    make, verdict, rules = CASES[name]
    make(tmp_path)
    oracle = judge(tmp_path)
    assert oracle.verdict == verdict
    for chain_bytes in (1 << 20, 1):
        outcome = audit(tmp_path, chain_bytes)
        assert outcome.coverage == oracle.coverage
        result = result_of(outcome)
        assert (result.verdict, result.headline().partition(":")[0]) == (verdict, verdict)
        assert {each.key for each in outcome.judgements} == oracle.groups.keys()
        for each in outcome.judgements:
            ours = {rule: verdict_of(tally) for rule, tally in each.tallies.items()}
            assert ours == oracle.groups[each.key].verdicts(), each.key
    if rules:
        found = oracle.groups["g", "i"].verdicts()
        assert {rule: found[rule] for rule in rules} == rules
