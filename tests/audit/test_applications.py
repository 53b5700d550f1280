"""Rules of what stands on groups: sound logs pass, each damage is found, by every engine and by the oracle."""

from __future__ import annotations

import json
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from gcom.audit.applications.table import APPLICATION_RULES
from gcom.audit.explain.plain import PLAIN
from gcom.audit.explain.result import AuditResult, result_of
from gcom.audit.input.catalogue import catalogue
from gcom.audit.input.reading import list_segments
from gcom.audit.plan.pool import ProcessPool
from gcom.audit.plan.run import run
from gcom.audit.report.exports import junit_of
from gcom.audit.report.page import render
from gcom.audit.rules.table import RULES
from gcom.audit.spark.job import SparkEngine
from gcom.cli.app import run as run_command
from tests.audit import states, topic_logs
from tests.audit.here import audit
from tests.oracle import judge
from tests.oracle.build import A, Logs, write

SESSION_RULES = ("RYW", "MR", "MW", "WFR")


def verdicts(result: AuditResult) -> dict[str, dict[str, str]]:
    return {each.name: {rule.rule: rule.verdict for rule in each.rules} for each in result.applications}


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (states.durable, "1 replicated state"),
        (states.in_memory, "1 replicated state"),
        (states.sessions, "1 replicated state"),
        (topic_logs.sound, "1 topic"),
    ],
)
def test_sound_logs_pass(make: Any, what: str, tmp_path: Path) -> None:
    write(tmp_path, make())
    result = result_of(audit(tmp_path))
    assert (result.verdict, result.incidents, result.exit_status()) == ("PASS", [], 0)
    assert what in result.headline()
    assert (verdicts(result), result.verdict) == ((report := judge(tmp_path)).applications, report.verdict)
    assert set(verdicts(result).popitem()[1].values()) <= {"PASS", "VACUOUS"}


DAMAGES = [(words, rule, states.damaged) for words, (rule, *_) in states.DAMAGES.items()]
DAMAGES += [(words, rule, topic_logs.damaged) for words, (rule, *_) in topic_logs.DAMAGES.items()]


@pytest.mark.parametrize(("words", "rule", "make"), DAMAGES, ids=[words for words, *_ in DAMAGES])
def test_a_damage_is_found_and_told(words: str, rule: str, make: Callable[[str], Logs], tmp_path: Path) -> None:
    write(tmp_path, make(words))
    result = result_of(audit(tmp_path))
    assert verdicts(result).popitem()[1][rule] == "FAIL"
    assert (verdicts(result), result.verdict) == ((report := judge(tmp_path)).applications, report.verdict)
    assert any(each.rule == rule and words in each.sentence for each in result.incidents), result.headline()
    assert result.headline().startswith(f"FAIL: {result.incidents[0].sentence}")


@pytest.mark.parametrize(
    ("words", "rule"), [(words, rule) for words, (rule, *_) in states.DAMAGES.items() if rule in SESSION_RULES]
)
def test_what_a_session_did_not_ask_for_is_told_and_decides_nothing(
    words: str, rule: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    logs = states.damaged(words)
    for records in logs.values():
        for record in records:
            if "guarantees" in record:
                record["guarantees"] = [it for it in SESSION_RULES if it != rule]
    write(tmp_path, logs)
    result = result_of(audit(tmp_path))
    assert (result.verdict, result.exit_status()) == ("PASS", 0)
    (incident,) = result.incidents
    assert (incident.rule, incident.expected, words in incident.sentence) == (rule, False, True)
    assert rule not in {each for each, verdict in result.rules.items() if verdict == "FAIL"}
    assert run_command(["audit", str(tmp_path)]) == 0
    assert f"broken where not asked for: {rule}" in capfd.readouterr().out
    assert "where it was not asked for" in unescape(render(result))
    assert b"<failure" not in junit_of(result)


def _many(folder: Path) -> Path:
    """All of these logs in one folder, under names of their own."""
    found: Logs = {}
    made = [states.durable(), states.sessions(), topic_logs.sound(), *(make(words) for words, _, make in DAMAGES)]
    for nth, logs in enumerate(made):
        for who, records in logs.items():
            name = "of" if "of" in records[0] else "store"
            found[who.replace("#", f"{nth}#")] = [{**record, name: f"s{nth}"} for record in records]
    return write(folder, found)


def test_the_pool_says_the_same(tmp_path: Path) -> None:
    logs = catalogue(list_segments([str(_many(tmp_path / "logs"))]))
    assert result_of(run(logs, engine=ProcessPool(2))).as_json() == result_of(run(logs)).as_json()


def test_spark_says_the_same(spark: Any, tmp_path: Path) -> None:
    logs = catalogue(list_segments([str(_many(tmp_path / "logs"))]))
    assert result_of(run(logs, 1, engine=SparkEngine(spark))).as_json() == result_of(run(logs)).as_json()


def test_a_gap_leaves_a_state_unknown_and_a_line_that_is_no_record_is_told(tmp_path: Path) -> None:
    logs = states.durable()
    logs[A][1]["index"] = "three"
    result = result_of(audit(write(tmp_path, logs)))
    assert result.verdict == "UNKNOWN"
    assert any("no record: index is not a number from 0 on" in note for note in result.notes)
    assert judge(tmp_path).verdict == "UNKNOWN"
    assert result.applications[0].reason == "DURABLE: a#1 has a gap in its log"


def test_each_rule_is_explained_in_plain_words(capfd: pytest.CaptureFixture[str]) -> None:
    assert run_command(["audit", "explain"]) == 0
    lines = capfd.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == [*RULES, *APPLICATION_RULES]
    assert run_command(["audit", "explain", "durable"]) == 0
    told = capfd.readouterr().out
    assert APPLICATION_RULES["DURABLE"].means in told
    assert "Promised by: each replicated state" in told
    assert PLAIN["DURABLE"].meaning in told
    assert run_command(["audit", "explain", "virtual synchrony", "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["promised_by"] == "every group over RELIABLE"
    assert run_command(["audit", "explain", "TOTALLY"]) == 2
    assert "there is no rule 'TOTALLY': expected one of NO_CREATION" in capfd.readouterr().err


def test_the_report_shows_them(tmp_path: Path) -> None:
    result = result_of(audit(_many(tmp_path)))
    page = unescape(render(result))
    assert "replicated state" in page
    assert all(rule.means in page for rule in APPLICATION_RULES.values())
    tables = result.tables()
    assert {"replicated state", "topic"} == set(tables.verdicts["about"].to_pylist())
    assert tables.incidents.num_rows == len(result.incidents) >= len(DAMAGES)
    assert b"topic orders of s" in junit_of(result)
