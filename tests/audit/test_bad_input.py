"""Unsound logs get words that name file and line; what can still be judged is judged."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from gcom.audit.explain.result import result_of
from gcom.audit.input.catalogue import catalogue
from gcom.audit.input.contract import problem_of
from gcom.audit.input.reading import list_segments
from gcom.audit.plan.cache import IncrementalCache
from gcom.audit.plan.run import PlanResult, run
from gcom.audit.rules.judgement import verdict_of
from gcom.audit.spark import session
from gcom.errors import AuditUnavailable, NotALog
from tests.audit.here import audit
from tests.audit.lives import broken
from tests.oracle import judge
from tests.oracle.build import A, B, deliver, life, send, view, write, write_segments


def _logs(folder: Path) -> Path:
    return write(folder, life())


def _file(folder: Path, name: str = "a/1/000000.jsonl") -> Path:
    return folder / name


def _verdicts(outcome: PlanResult) -> set[str]:
    """Of all rules that have a case where a name has one instance."""
    tallies = [(rule, tally) for each in outcome.judgements for rule, tally in each.tallies.items()]
    return {verdict_of(tally) for rule, tally in tallies if rule != "CONTINUITY"}


@pytest.mark.parametrize("what", ["missing", "empty", "other files", "a file"])
def test_what_is_no_folder_of_logs_is_refused(what: str, tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    if what != "missing":
        folder.mkdir()
    if what == "other files":
        (folder / "notes.txt").write_text("hello")
        (folder / "rows.jsonl").write_text("{}\n")
    target = folder / "notes.txt" if what == "a file" else folder
    if what == "a file":
        target.write_text("hello")
    with pytest.raises(NotALog, match=r"does not exist|is a file|no delivery logs in"):
        list_segments([str(target)])


def test_a_file_that_is_no_log_is_named(tmp_path: Path) -> None:
    folder = _logs(tmp_path / "logs")
    (folder / "x" / "1").mkdir(parents=True)
    (folder / "x" / "1" / "000000.jsonl").write_text('{"hello":"world"}\n')
    outcome = audit(folder)
    assert any("x/1/000000.jsonl:1: no delivery log" in note for note in outcome.notes)
    assert _verdicts(outcome) == {"PASS"}, "the others' logs are whole"


def test_a_process_without_any_segment_is_named_and_may_hide_a_group(tmp_path: Path) -> None:
    write(tmp_path / "logs", {A: [view(1, A), send(1, 1, {}), deliver(1, A, 1)]})
    (tmp_path / "logs" / "b" / "1").mkdir(parents=True)
    (tmp_path / "logs" / "notes").mkdir()
    shutil.copytree(tmp_path / "logs" / "a", tmp_path / "logs" / "copy" / "a")
    found = result_of(audit(tmp_path / "logs"))
    assert found.unread == [f"{tmp_path / 'logs/b/1'}: the folder of a process, without a segment of its log"]
    assert (found.verdict, judge(tmp_path / "logs").verdict) == ("UNKNOWN", "UNKNOWN")
    assert not result_of(audit(tmp_path / "logs" / "a")).unread  # what lies beside was not asked for


def test_another_version_is_a_gap_that_says_so(tmp_path: Path) -> None:
    folder = _logs(tmp_path / "logs")
    lines = _file(folder).read_text().splitlines(keepends=True)
    _file(folder).write_text("".join([lines[0].replace('"version": 1', '"version": 2'), *lines[1:]]))
    outcome = audit(folder)
    assert any("version 2 of the format; this audit reads version 1" in note for note in outcome.notes)
    assert outcome.coverage[A] == "lost"
    assert "FAIL" not in _verdicts(outcome)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("not json", "no JSON object with a type"),
        ("[]", "no JSON object with a type"),
        ('{"type":"deliver","at":3,"group":"\\ud800"}', "no JSON object with a type"),
        ('{"type":"deliver"}', "no position `at`"),
        ('{"type":"deliver","at":3,"group":"g"}', "a deliver without view"),
        ('{"type":"send","at":3,"group":"g","view":1,"number":0,"clock":{}}', "number is 0"),
        ('{"type":"send","at":3,"group":"g","view":1,"number":1,"clock":{"b#1":"x"}}', "clock is not a map of numbers"),
        ('{"type":"skip","at":3,"group":"g","view":1}', "a skip of nothing"),
        (
            '{"type":"deliver","at":3,"group":"g","view":1,"sent_view":1,"sender":"b#1","number":1,"t":9223372036854775808}',
            "t is not a number of 64 bits",
        ),
        (
            '{"type":"deliver","at":3,"group":"g","view":1,"sent_view":1,"sender":"b#1","number":1,"serial":"x"}',
            "serial is not an integer",
        ),
        (
            '{"type":"send","at":3,"group":"g","view":1,"number":1,"count":4611686018427387904,"clock":{}}',
            "a run of 4,611,686,018,427,387,904 messages, more than 1,048,576",
        ),
        (
            '{"type":"deliver","at":3,"group":"g","view":1,"sent_view":1,"sender":"b#1","number":1e99}',
            "is not an integer",
        ),
        ('{"type":"view","at":3,"group":"g","view":1,"members":[]}', "a view without leader"),
    ],
)
def test_a_corrupt_line_in_the_middle_is_named_and_is_a_gap(line: str, said: str, tmp_path: Path) -> None:
    folder = _logs(tmp_path / "logs")
    lines = _file(folder).read_text().splitlines(keepends=True)[:-1]  # a close would tell of another checksum
    lines[3] = line + "\n"
    _file(folder).rename(_file(folder, "a/1/.000000.jsonl"))
    _file(folder, "a/1/.000000.jsonl").write_text("".join(lines))
    outcome = audit(folder)
    assert any("/.000000.jsonl:4: no record: " in note and said in note for note in outcome.notes), outcome.notes
    assert outcome.coverage[A] == "lost"
    assert "FAIL" not in _verdicts(outcome)


_FOREIGN = [{"members": 5}, {"clock": 5}, {"clock": {B: "x"}}, {"leader": 7}, {"cut": 5}, {"by": 5}, {"succeeds": [1]}]


@pytest.mark.parametrize("field", _FOREIGN)
def test_a_field_that_a_record_does_not_have_is_ignored(field: dict[str, object]) -> None:
    deliver = {"type": "deliver", "at": 1, "group": "g", "view": 1, "sent_view": 1, "sender": A, "number": 1}
    assert problem_of({**deliver, **field}) == ""


@pytest.mark.parametrize(("depth", "verdict"), [(255, "PASS"), (256, "UNKNOWN")])
def test_what_is_nested_too_deep_is_one_bad_line_and_less_is_kept(depth: int, verdict: str, tmp_path: Path) -> None:
    folder = _logs(tmp_path / "logs")
    lines = _file(folder).read_text().splitlines(keepends=True)
    at = next(index for index, line in enumerate(lines) if json.loads(line)["type"] == "view")
    lines[at] = f'{lines[at].rstrip()[:-1]},"new":{"[" * depth}{"]" * depth}}}\n'
    alive = _file(folder)
    alive.with_name(f".{alive.name}").write_text("".join(lines[:-1]))  # without the checksum of what it was
    alive.unlink()
    found = catalogue(list_segments([str(folder)]))
    for cache in (None, IncrementalCache(tmp_path / "state")):
        assert verdict in _verdicts(run(found, cache=cache))


def test_a_line_longer_than_what_is_parsed_at_once_is_one_bad_line(tmp_path: Path) -> None:
    folder = _logs(tmp_path / "logs")
    lines = _file(folder).read_bytes().splitlines(keepends=True)[:-1]
    _file(folder).rename(_file(folder, "a/1/.000000.jsonl"))
    _file(folder, "a/1/.000000.jsonl").write_bytes(lines[0] + b"x" * (9 << 20) + b"\n" + b"".join(lines[1:]))
    outcome = audit(folder)
    assert any("/.000000.jsonl:2: no record: " in note for note in outcome.notes), outcome.notes
    assert outcome.coverage[A] == "lost"


def test_a_wrong_checksum_a_missing_segment_and_a_second_writer_are_named(tmp_path: Path) -> None:
    records = life()[A]
    for name, damage, said in (
        ("checksum", lambda home: _spoil(home / "000001.jsonl"), "its close says checksum"),
        ("missing", lambda home: (home / "000001.jsonl").unlink(), "segment 1 of a#1 is missing before it"),
        ("writer", _write_twice, "two processes claim one incarnation"),
    ):
        folder = tmp_path / name
        write_segments(folder, A, [records[:3], records[3:6], records[6:]])
        damage(folder / "a" / "1")
        outcome = audit(folder)
        assert any(said in note for note in outcome.notes), (name, outcome.notes)
        assert outcome.coverage[A] == "lost"
        assert "FAIL" not in _verdicts(outcome)


def _spoil(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b'"number": 1', b'"number": 2'))


def _write_twice(home: Path) -> None:
    lines = (home / "000001.jsonl").read_text().splitlines(keepends=True)[:-1]
    opening = {**json.loads(lines[0]), "wall_ns": 5}
    other = home.parent.parent / "other" / "1"
    other.mkdir(parents=True)
    (other / ".000001.jsonl").write_text(json.dumps(opening) + "\n" + "".join(lines[1:]))


def test_the_same_segment_twice_counts_once(tmp_path: Path) -> None:
    folder = _logs(tmp_path / "logs")
    (folder / "copy" / "1").mkdir(parents=True)
    (folder / "copy" / "1" / "000000.jsonl").write_bytes(_file(folder).read_bytes())
    outcome = audit(folder)
    assert any("the same as" in note for note in outcome.notes)
    assert _verdicts(outcome) == {"PASS"}


def test_of_a_process_of_which_no_segment_is_believed_the_others_are_judged_all_the_same(tmp_path: Path) -> None:
    folder = broken(tmp_path / "logs", "SERIAL_UNIQUE")
    lines = _file(folder, "dave/1/000000.jsonl").read_text().splitlines(keepends=True)
    (folder / "copy" / "1").mkdir(parents=True)
    _file(folder, "copy/1/000000.jsonl").write_text("".join(lines[:-2]))
    outcome = audit(folder)
    assert outcome.coverage["dave#1"] == "lost"
    (judgement,) = outcome.judgements
    assert verdict_of(judgement.tallies["SERIAL_UNIQUE"]) == "FAIL"


def test_a_segment_may_be_sealed_while_it_is_audited(tmp_path: Path) -> None:
    folder = _logs(tmp_path / "logs")
    sealed = _file(folder)
    alive = sealed.rename(sealed.with_name(f".{sealed.name}"))
    found = catalogue(list_segments([str(folder)]))
    alive.rename(sealed)
    for cache in (None, IncrementalCache(tmp_path / "state")):
        assert _verdicts(run(found, cache=cache)) == {"PASS"}


@pytest.mark.parametrize("copied", [False, True])
def test_a_segment_may_be_sealed_while_it_is_listed(
    copied: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """1. Its name is listed. 2. It is sealed. 3. Its size is asked; and where there is a copy, both are compared."""
    folder = _logs(tmp_path / "logs")
    sealed = _file(folder)
    alive = sealed.rename(sealed.with_name(f".{sealed.name}"))
    if copied:
        shutil.copytree(folder / "a", folder / "copy")
    walk = os.walk

    def late(*how: Any, **more: Any) -> list[Any]:
        listed = list(walk(*how, **more))
        alive.rename(sealed)
        return listed

    with monkeypatch.context() as during:
        during.setattr(os, "walk", late)
        listing = list_segments([str(folder)])
    assert not alive.exists()
    outcome = run(catalogue(listing))
    assert _verdicts(outcome) == {"PASS"}
    assert any("the same as" in note for note in outcome.notes) is copied


@pytest.mark.parametrize("kept", [False, True])
def test_a_segment_that_goes_away_is_a_gap(kept: bool, tmp_path: Path) -> None:
    folder = _logs(tmp_path / "logs")
    found = catalogue(list_segments([str(folder)]))
    _file(folder).unlink()
    outcome = run(found, cache=IncrementalCache(tmp_path / "state") if kept else None)
    assert any("it went away" in note for note in outcome.notes)
    assert "UNKNOWN" in _verdicts(outcome)
    assert "FAIL" not in _verdicts(outcome)


@pytest.mark.parametrize("version", [None, "1.8.0_402", "11.0.2"])
def test_without_a_java_that_will_do_it_says_which_and_how(
    version: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if version is not None:
        (tmp_path / "bin").mkdir()
        (tmp_path / "bin" / "java").write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
        (tmp_path / "bin" / "java").chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(AuditUnavailable, match=r"Java 17 or newer.*make setup.*apt-get"):
        session.open_session(None, None)


@pytest.mark.parametrize(
    ("remote", "said"),
    [
        ("sc://127.0.0.1:9", "no Spark Connect server answers at 127.0.0.1:9: Connection refused"),
        ("127.0.0.1:9", "expected sc://HOST or sc://HOST:PORT, got '127.0.0.1:9'"),
        ("sc://127.0.0.1:x", "expected sc://HOST or sc://HOST:PORT, got"),
        ("sc://", "expected sc://HOST or sc://HOST:PORT, got"),
    ],
)
def test_a_connect_server_that_is_not_there_is_told_at_once(remote: str, said: str) -> None:
    with pytest.raises(AuditUnavailable, match=re.escape(said)):
        session.open_session(None, remote)
