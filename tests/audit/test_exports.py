"""Exports for other programs: JUnit's XML as its readers expect it, and tables with the fields of --json."""

from __future__ import annotations

import xml.etree.ElementTree as Xml
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet
import pytest

from gcom.audit.explain.result import AuditResult, result_of
from gcom.audit.explain.tables import COVERAGE, INCIDENTS, VERDICTS
from gcom.audit.report.exports import junit_of, write_tables
from gcom.bench.audit.logs import LogPlan, write_member
from tests.audit.here import audit
from tests.audit.lives import Group, broken

NASTY = "a\x00\x1b<&\ud800"
CHILDREN = {
    "testsuites": {"testsuite"},
    "testsuite": {"testcase"},
    "testcase": {"failure", "error", "skipped"},
}


def _audited(folder: Path) -> AuditResult:
    return result_of(audit(folder))


def _valid(data: bytes) -> Xml.Element:
    """The document, held against what JUnit's readers agree on."""
    root = Xml.fromstring(data)
    assert root.tag == "testsuites"
    for parent in root.iter():
        assert {child.tag for child in parent} <= CHILDREN.get(parent.tag, set())
    for suite in (root, *root.iter("testsuite")):
        cases = list(suite.iter("testcase"))
        assert suite.get("name")
        assert suite.get("tests") == str(len(cases))
        for tag, count in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
            assert suite.get(count) == str(sum(case.find(tag) is not None for case in cases))
    assert all(case.get("name") and case.get("classname") and len(case) <= 1 for case in root.iter("testcase"))
    return root


def test_a_case_for_each_promised_rule(tmp_path: Path) -> None:
    result = _audited(broken(tmp_path))
    root = _valid(junit_of(result))
    promised = {rule.rule for rule in result.groups[0].rules if rule.expected}
    assert {case.get("name") for case in root.iter("testcase")} == promised
    assert (root.get("failures"), root.get("errors")) == ("0", "0")


def test_a_failure_has_the_sentences_and_ids(tmp_path: Path) -> None:
    result = _audited(broken(tmp_path, "SERIAL_UNIQUE", "CLOCK"))
    root = _valid(junit_of(result))
    failed = {rule.rule for rule in result.groups[0].rules if rule.expected and rule.verdict == "FAIL"}
    said = {case.get("name"): case.find("failure") for case in root.iter("testcase")}
    assert {name for name, failure in said.items() if failure is not None} == failed
    for incident in result.incidents:
        failure = said.get(incident.rule)
        if incident.expected:
            assert failure is not None
            assert f"[{incident.id}] {incident.sentence}" in str(failure.text)


def test_a_failure_is_told_in_the_sentence_of_its_own_rule(tmp_path: Path) -> None:
    """Of a rule that another damage broke it is not the sentence of that one."""
    plan = LogPlan(4, 2_000, 20, broken=True)
    for index in range(plan.members):
        write_member(tmp_path, plan, index)
    said = {case.get("name"): case.find("failure") for case in _valid(junit_of(_audited(tmp_path))).iter("testcase")}
    total = said["TOTAL"]
    assert total is not None
    assert total.get("message", "").endswith("no single order fits.")
    assert "without having delivered" not in str(total.text)


def test_what_is_not_known_is_an_error_unless_allowed(tmp_path: Path) -> None:
    broken(tmp_path)
    next(tmp_path.glob("bob/1/*.jsonl")).unlink()
    result = _audited(tmp_path)
    assert result.verdict == "UNKNOWN"
    assert int(_valid(junit_of(result)).get("errors", "0")) > 0
    assert _valid(junit_of(result, allow_unknown=True)).get("errors") == "0"


@pytest.mark.parametrize("groups", [0, 1])
def test_nothing_to_judge_is_no_success(tmp_path: Path, groups: int) -> None:
    result = _audited(broken(tmp_path, group=Group([["a", "b"]], 0)))
    result.groups = result.groups[:groups]
    assert int(_valid(junit_of(result)).get("errors", "0")) == 1


def test_names_that_xml_cannot_hold(tmp_path: Path) -> None:
    result = _audited(broken(tmp_path / "logs", "CLOCK"))
    result.groups = [replace(group, group=NASTY) for group in result.groups]
    result.incidents[0].sentence = NASTY
    assert "�" in str(_valid(junit_of(result)).find("testsuite").get("name"))  # type: ignore[union-attr]
    write_tables(result, tmp_path / "tables")


def test_the_tables_hold_what_json_holds(tmp_path: Path) -> None:
    result = _audited(broken(tmp_path / "logs", "SERIAL_UNIQUE", "CLOCK"))
    write_tables(result, tmp_path / "tables")
    plain = result.as_json()
    tables = {path.stem: pyarrow.parquet.read_table(path) for path in (tmp_path / "tables").glob("*.parquet")}
    assert {name: table.schema for name, table in tables.items()} == {
        "verdicts": VERDICTS,
        "incidents": INCIDENTS,
        "coverage": COVERAGE,
    }
    assert tables["coverage"].to_pylist() == plain["coverage"]
    assert len(tables["verdicts"]) == sum(len(group["rules"]) for group in plain["groups"])
    first, told = tables["incidents"].to_pylist()[0], plain["incidents"][0]
    assert {name for name in told if name not in first} == set()
    assert [[each["sender"], each["number"]] for each in first["messages"]] == told["messages"]
    assert first["files"] == told["files"]
