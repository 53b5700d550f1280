"""Advice: where something is not known, the report says why, where, and what to do about it."""

from __future__ import annotations

from pathlib import Path

import pytest

from gcom.audit.explain.advice import advice_of
from gcom.audit.explain.result import AuditResult, result_of
from gcom.audit.input.reading import compact, list_segments
from gcom.audit.report.exports import junit_of
from gcom.audit.report.page import render
from tests.audit.here import audit
from tests.audit.lives import broken
from tests.oracle.build import life, send, view, write


def _result(folder: Path) -> AuditResult:
    return result_of(audit(folder))


def _said(result: AuditResult, verdict: str = "UNKNOWN") -> str:
    assert result.verdict == verdict
    (line,) = advice_of(result)
    assert line.endswith(".")
    assert line in render(result).replace("&#39;", "'")
    return line


def test_what_is_known_needs_no_advice(tmp_path: Path) -> None:
    assert advice_of(_result(broken(tmp_path / "whole"))) == []
    assert advice_of(_result(broken(tmp_path / "broken", "CLOCK"))) == []


def test_a_log_that_is_not_there_is_to_be_named(tmp_path: Path) -> None:
    folder = write(tmp_path, life())
    (folder / "b" / "1" / "000000.jsonl").unlink()
    assert "No log of b#1 is here: name the folder that has it" in _said(_result(folder))


@pytest.mark.parametrize("damage", ["line", "checksum", "version"])
def test_a_damaged_log_is_named_with_file_and_what_is_wrong(damage: str, tmp_path: Path) -> None:
    folder = broken(tmp_path)
    path = folder / "bob" / "1" / "000000.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    if damage == "line":
        del lines[-1]
        lines[30] = "not json\n"
    elif damage == "checksum":
        lines[30] = lines[30].replace('"t":', '"t":1')
    else:
        lines[0] = lines[0].replace('"version":1', '"version":9')
    path.write_text("".join(lines))
    said = _said(_result(folder))
    assert "Records are missing in the log of bob#1: " in said
    assert f"{path}" in said
    assert "Audit a whole copy of it, or --allow-unknown accepts" in said


def test_a_log_without_end_may_still_be_written(tmp_path: Path) -> None:
    folder = broken(tmp_path)
    path = folder / "bob" / "1" / "000000.jsonl"
    path.with_name(".000000.jsonl").write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    path.unlink()
    said = _said(_result(folder))
    assert "No close ends the log of bob#1: if it still runs, audit again when it has left; if it crashed" in said


@pytest.mark.slow
@pytest.mark.parametrize("line_end", [True, False])
def test_a_sealed_log_without_close_was_cut(line_end: bool, tmp_path: Path) -> None:
    folder = broken(tmp_path)
    path = folder / "bob" / "1" / "000000.jsonl"
    data = path.read_bytes()
    end = data.index(b"\n", len(data) // 2) + 1
    path.write_bytes(data[: end if line_end else end + 20])
    said = _said(_result(folder))
    assert f"Records are missing in the log of bob#1: {path}: it is sealed, but does not end with a close" in said
    compact(list_segments([str(folder)]), tmp_path / "compact", lambda _text: None)
    assert "it is sealed, but does not end with a close" in _said(_result(tmp_path / "compact"))


def test_nothing_to_judge_says_what_there_should_be(tmp_path: Path) -> None:
    passed = ("send", "deliver", "skip")
    quiet = {who: [each for each in records if each["type"] not in passed] for who, records in life().items()}
    for records in quiet.values():
        for record in records:
            record.pop("base", None)
            record.pop("base_serial", None)
    assert "in which members of a group delivered messages" in _said(_result(write(tmp_path, quiet)), "VACUOUS")


def test_a_last_instance_whose_only_member_was_killed_as_it_sent_is_named(tmp_path: Path) -> None:
    begun = view(1, "d#1", instance="next", succeeds=[{"instance": "i", "view": 3, "by": "ended"}])
    alone = {"d#1": [begun, send(1, 1, {"d#1": 1}, instance="next")]}
    result = _result(write(tmp_path, {**life(), **alone}, {"d#1": "crash"}))
    assert result.headline().startswith("VACUOUS: g: no log has a delivery in instance next; 1 message sent (")
    quiet, unfinished = advice_of(result)
    assert quiet.startswith("Nothing shows whether the promises of g (next) hold: ")
    assert unfinished.startswith("No close ends the log of d#1: ")


def test_a_life_in_which_nothing_was_delivered_decides_where_nothing_was_in_any(tmp_path: Path) -> None:
    """A member was alone for a moment, say, in an instance of its own; or nobody spoke in a group."""
    alone = {"d#1": [view(1, "d#1", instance="other", succeeds=[{"instance": "i", "view": 3, "by": "ended"}])]}
    result = _result(write(tmp_path / "beside", {**life(), **alone}))
    assert {group.instance: group.verdict for group in result.groups} == {"i": "PASS", "other": "VACUOUS"}
    assert (result.verdict, result.exit_status(), advice_of(result)) == ("PASS", 0, [])
    assert result.headline().startswith("PASS: no promise was broken; nothing was delivered in 1 of 2 groups (g) (")
    assert b"<error" not in junit_of(result)
    quiet = {"d#1": [view(1, "d#1", group="lobby"), view(2, "d#1", "e#1", group="lobby")]}
    assert _result(write(tmp_path / "lobby", {**life(), **quiet}, {"d#1": "crash"})).verdict == "UNKNOWN"  # of e#1
    quiet["d#1"].pop()
    assert _result(write(tmp_path / "quiet", {**life(), **quiet}, {"d#1": "crash"})).verdict == "PASS"
    result = _result(write(tmp_path / "by itself", alone))
    assert (result.verdict, result.exit_status()) == ("VACUOUS", 2)
    assert b"<error" in junit_of(result)


def test_a_file_that_is_no_log_is_named_where_there_is_no_other(tmp_path: Path) -> None:
    home = tmp_path / "x" / "1"
    home.mkdir(parents=True)
    (home / "000000.jsonl").write_text('{"hello":"world"}\n')
    assert f"No log could be used: {home}/000000.jsonl:1: no delivery log" in _said(_result(tmp_path))
