"""A witness is small, is a log like any other, and breaks the rule by the word of the audit and of the oracle."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from gcom.audit.catalogue import catalogue
from gcom.audit.here import run_here
from gcom.audit.incidents import Incident
from gcom.audit.reading import list_segments
from gcom.audit.result import Result, result_of
from gcom.audit.shiviz import EXPRESSION, shiviz
from gcom.audit.witness import write_witnesses
from tests.audit.lives import BREAKS, Group, broken
from tests.oracle import judge

RECORDS_MAX = 30
SHIVIZ = re.compile(EXPRESSION.replace("(?<", "(?P<"))


def _audited(folder: Path) -> Result:
    return result_of(run_here(catalogue(list_segments([str(folder)]))))


def _witnessed(logs: Path, folder: Path) -> tuple[list[Incident], dict[str, str]]:
    found = catalogue(list_segments([str(logs)]))
    result = result_of(run_here(found))
    return [each for each in result.incidents if each.expected], write_witnesses(result, found, folder)


def _records(folder: Path) -> list[dict[str, object]]:
    return [json.loads(line) for path in folder.rglob("*.jsonl") for line in path.read_text().splitlines()]


@pytest.mark.parametrize("rule", sorted(BREAKS))
def test_a_witness_still_fails(tmp_path: Path, rule: str) -> None:
    incidents, written = _witnessed(broken(tmp_path / "logs", rule), tmp_path / "witnesses")
    assert rule in {one for each in incidents for one in (each.rule, *each.caused)}
    for incident in incidents:
        home = Path(written[incident.id])
        result = _audited(home)
        key = (incident.group, incident.instance)
        (group,) = result.groups
        assert {each.rule: each.verdict for each in group.rules}[incident.rule] == "FAIL"
        assert judge(home).groups[key].verdicts()[incident.rule] == "FAIL"
        assert len(_records(home)) <= RECORDS_MAX
        assert result.notes == []
        assert set(result.coverage.values()) == {"closed"}


def test_a_witness_of_damage_in_runs(tmp_path: Path) -> None:
    """Numbers begin at 1 again, and positions have no gap, whatever they were."""
    broken(tmp_path / "logs", "AGREEMENT", group=Group([["a", "b"], ["a", "b", "c"], ["a", "c"]], 60), member="b")
    incidents, written = _witnessed(tmp_path / "logs", tmp_path / "witnesses")
    for incident in incidents:
        for path in Path(written[incident.id]).rglob("*.jsonl"):
            records = [json.loads(line) for line in path.read_text().splitlines()]
            assert [record["at"] for record in records[1:]] == list(range(1, len(records)))
            sent = [record["number"] for record in records if record["type"] == "send"]
            assert sent == list(range(1, len(sent) + 1))


def test_a_log_that_keeps_its_promises_has_no_witness(tmp_path: Path) -> None:
    assert _witnessed(broken(tmp_path / "logs"), tmp_path / "witnesses") == ([], {})


def test_writing_again_changes_nothing(tmp_path: Path) -> None:
    logs = broken(tmp_path / "logs", "NO_DUPLICATION")
    _, written = _witnessed(logs, tmp_path / "witnesses")
    before = {path: path.read_bytes() for path in (tmp_path / "witnesses").rglob("*") if path.is_file()}
    assert _witnessed(logs, tmp_path / "witnesses")[1] == written
    assert {path: path.read_bytes() for path in (tmp_path / "witnesses").rglob("*") if path.is_file()} == before


def test_shiviz_reads_its_log(tmp_path: Path) -> None:
    _, written = _witnessed(broken(tmp_path / "logs", "SERIAL_UNIQUE"), tmp_path / "witnesses")
    for home in written.values():
        first, second, rest = Path(f"{home}.shiviz.log").read_text().split("\n", 2)
        assert (first, second) == (EXPRESSION, "")
        events = list(SHIVIZ.finditer(rest))
        assert len(rest.splitlines()) == 2 * len(events) > 0
        own: dict[str, int] = {}
        for event in events:
            clock = json.loads(event["clock"])
            assert clock[event["host"]] == own.get(event["host"], 0) + 1
            own[event["host"]] = clock[event["host"]]


def test_a_delivery_knows_its_send_in_shiviz() -> None:
    send = {"type": "send", "number": 1}
    deliver = {"type": "deliver", "sender": "a b", "number": 1}
    assert shiviz({"c": [deliver], "a b": [send]}).splitlines()[2:] == [
        'a%20b {"a%20b": 1}',
        "send 1",
        'c {"a%20b": 1, "c": 1}',
        "deliver 1 of a b",
    ]
    assert shiviz({"c": [deliver]}).splitlines()[2:] == ['c {"c": 1}', "deliver 1 of a b"]
