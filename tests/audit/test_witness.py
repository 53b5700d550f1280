"""A witness is small, is a log like any other, and breaks the rule by the word of the audit and of the oracle."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from gcom.audit.explain.incidents import Incident, each_of
from gcom.audit.explain.result import AuditResult, result_of
from gcom.audit.explain.shiviz import EXPRESSION, shiviz
from gcom.audit.explain.witness import write_witnesses
from gcom.audit.input.catalogue import catalogue
from gcom.audit.input.reading import list_segments
from gcom.audit.plan.run import run
from gcom.audit.rules.judgement import verdict_of
from tests.audit.cases import make
from tests.audit.damage import read, write
from tests.audit.here import audit
from tests.audit.lives import BREAKS, Group, broken, write_lives
from tests.audit.test_mutations import MUTATIONS, healthy
from tests.oracle import judge

RECORDS_MAX = 30
SHIVIZ = re.compile(EXPRESSION.replace("(?<", "(?P<"))


def _audited(folder: Path) -> AuditResult:
    return result_of(audit(folder))


def _witnessed(logs: Path, folder: Path) -> tuple[list[Incident], dict[str, str]]:
    found = catalogue(list_segments([str(logs)]))
    result = result_of(run(found))
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


Found = tuple[list[str], list[tuple[str, int]]]  # processes and messages of an incident


def _found(home: Path, incident: Incident) -> tuple[list[Found], set[str]]:
    """The violations of the incident's rule in these logs by those whom it names, and all promises that are broken."""
    for each in audit(home).judgements:
        if each.key == (incident.group, incident.instance) and incident.rule in each.expected:
            alike = [
                one
                for one in each_of(each, incident.rule)
                if one.kind == incident.kind and set(one.processes) == set(incident.processes)
            ]
            broken_rules = {rule for rule in each.expected if verdict_of(each.tallies[rule]) == "FAIL"}
            return [(one.processes, one.messages) for one in alike], broken_rules
    return [], set()


def _check_witness(home: Path, incident: Incident, what: str) -> None:
    """The same incident, in so few records that with any one less it is gone, or another promise is broken."""
    found, broken_rules = _found(home, incident)
    senders = sorted(sender for sender, _ in incident.messages)
    same = [each for each in found if sorted(sender for sender, _ in each[1]) == senders]
    assert same, f"{what}: {incident.sentence}"
    for path in sorted(home.rglob("*.jsonl")):
        whole, records = path.read_bytes(), read(path)
        for place in range(1, len(records) - (records[-1]["type"] == "close")):
            write(path, [dict(record) for index, record in enumerate(records) if index != place])
            left, broken_then = _found(home, incident)
            superfluous = any(each in left for each in same) and broken_then <= broken_rules
            assert not superfluous, f"{what}: {incident.sentence} without {records[place]}"
        path.write_bytes(whole)


def _check_all(logs: Path, folder: Path, what: str) -> int:
    incidents, written = _witnessed(logs, folder)
    for incident in incidents:
        assert incident.id in written, f"{what}: {incident.rule}: {incident.sentence}"
        _check_witness(Path(written[incident.id]), incident, what)
    return len(incidents)


def _check_mutation(tmp_path: Path, name: str) -> None:
    ordering, mutate = MUTATIONS[name]
    lives = healthy(ordering)
    mutate(lives)
    assert _check_all(write_lives(tmp_path / "logs", lives), tmp_path / "witnesses", name)


@pytest.mark.parametrize("name", ["re-number, what a joiner begins with", "clock, an entry one more"])
def test_a_witness_is_minimal(tmp_path: Path, name: str) -> None:
    _check_mutation(tmp_path, name)


@pytest.mark.soak
@pytest.mark.parametrize("name", MUTATIONS)
def test_every_mutation_has_a_minimal_witness(tmp_path: Path, name: str) -> None:
    _check_mutation(tmp_path, name)


@pytest.mark.soak
@pytest.mark.parametrize("first", range(7000, 7090, 30))
def test_every_incident_of_many_damaged_groups_has_a_minimal_witness(tmp_path: Path, first: int) -> None:
    seen = 0
    for seed in range(first, first + 30):
        folder = tmp_path / str(seed)
        what = f"case {seed}: {make(folder / 'logs', seed)}"
        if list(folder.rglob("*.jsonl")):
            seen += _check_all(folder / "logs", folder / "witnesses", what)
    assert seen > 15


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
