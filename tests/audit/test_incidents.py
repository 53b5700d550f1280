"""One damage is one incident, whoever is damaged and whoever is compared with them; what it caused is named beneath."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from gcom.audit.explain.incidents import Incident
from gcom.audit.explain.result import GroupResult, result_of
from gcom.audit.rules.table import ROOT_FIRST, RULES
from gcom.bench.audit.logs import LogPlan, write_member
from gcom.values.definition import Ordering
from tests.audit.damage import Record
from tests.audit.here import audit
from tests.audit.lives import write_lives
from tests.audit.test_mutations import MUTATIONS, Lives, healthy
from tests.oracle.build import A, B, deliver, send, view, write

MEMBERS = ("alice", "bob", "carol", "dave")


def _deliveries(records: list[Record]) -> list[int]:
    return [place for place, record in enumerate(records) if record["type"] == "deliver" and record["view"] == 2]


def _broken_by(group: GroupResult) -> set[str]:
    return {rule.rule for rule in group.rules if rule.expected and rule.verdict == "FAIL"}


def _the_one(group: GroupResult) -> Incident:
    """The only incident, under which every rule stands that is broken."""
    (incident,) = group.incidents
    assert _broken_by(group) <= {incident.rule, *incident.caused}
    assert incident.rule not in incident.caused
    assert len(set(incident.caused)) == len(incident.caused)
    assert {each.rule for each in incident.effects} - {incident.rule} == set(incident.caused)
    assert all(each.sentence.endswith(".") and each.processes for each in incident.effects)
    return incident


def _judged(folder: Path, lives: Lives) -> GroupResult:
    (group,) = result_of(audit(write_lives(folder, lives))).groups
    return group


@pytest.mark.parametrize("ordering", ["FIFO", "CAUSALTOTAL"])
@pytest.mark.parametrize("member", MEMBERS)
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_a_lost_delivery_is_one_incident(member: str, ordering: str, share: float, tmp_path: Path) -> None:
    lives = healthy(ordering)
    places = _deliveries(lives[member].records)
    lost = lives[member].records.pop(places[round(share * (len(places) - 1))])
    group = _judged(tmp_path, lives)
    incident = _the_one(group)
    assert incident.rule == "AGREEMENT"
    assert incident.messages == [(lost["sender"], lost["number"])]
    assert incident.processes[0] == f"{member}#1"
    assert {"AGREEMENT", "VIRTUAL_SYNCHRONY"} <= _broken_by(group)


@pytest.mark.parametrize("ordering", ["FIFO", "TOTAL", "CAUSALTOTAL"])
@pytest.mark.parametrize("member", MEMBERS)
@pytest.mark.parametrize("serials", ["with", "without"])
def test_a_swapped_pair_is_one_incident(member: str, ordering: str, serials: str, tmp_path: Path) -> None:
    lives = healthy(ordering)
    records = lives[member].records
    for place in _deliveries(records):
        one, other = records[place : place + 2]
        same = one["sender"] == other.get("sender")
        if other["type"] == "deliver" and same == (ordering == "FIFO") and f"{member}#1" != one["sender"]:
            break
    if serials == "without" and "serial" in one:
        one["serial"], other["serial"] = other["serial"], one["serial"]
    records[place : place + 2] = [other, one]
    incident = _the_one(_judged(tmp_path, lives))
    assert set(incident.messages) & {(each["sender"], each["number"]) for each in (one, other)}


@pytest.mark.parametrize("member", ["alice", "bob"])
def test_a_view_that_was_not_installed_is_one_incident(member: str, tmp_path: Path) -> None:
    """All that the process says of itself in that view contradicts what was in force."""
    lives = healthy()
    records = lives[member].records
    del records[next(place for place, each in enumerate(records) if each["type"] == "view" and each["view"] == 2)]
    incident = _the_one(_judged(tmp_path, lives))
    assert (incident.rule, incident.caused) == ("VIEW_AGREEMENT", ["SENDING_VIEW"])


@pytest.mark.parametrize("ordering", ["FIFO", "CAUSAL"])
@pytest.mark.parametrize("count", [2, 3, 5000])
def test_a_lost_run_is_one_incident(count: int, ordering: str, tmp_path: Path) -> None:
    """AGREEMENT names the first of the run, and FIFO the last, without which the next was delivered."""
    both = view(1, A, B, ordering=ordering)
    sent = [both, send(1, 1, {}, count=count + 2), deliver(1, A, 1, count=count + 2)]
    write(tmp_path, {A: sent, B: [both, deliver(1, A, 1), deliver(1, A, count + 2)]})
    incident = _the_one(result_of(audit(tmp_path)).groups[0])
    assert (incident.rule, incident.messages) == ("AGREEMENT", [(A, 2)])
    assert "FIFO" in incident.caused


def test_two_damages_are_two_incidents(tmp_path: Path) -> None:
    lives = healthy()
    lost = [
        lives[member].records.pop(_deliveries(lives[member].records)[at]) for member, at in (("bob", 9), ("dave", 20))
    ]
    incidents = [each for each in _judged(tmp_path, lives).incidents if each.expected]
    assert [each.rule for each in incidents] == ["AGREEMENT", "AGREEMENT"]
    assert {each.messages[0] for each in incidents} == {(each["sender"], each["number"]) for each in lost}
    assert {each.processes[0] for each in incidents} == {"bob#1", "dave#1"}


def test_a_message_that_several_lack_is_one_incident_and_names_them(tmp_path: Path) -> None:
    lives = healthy()
    lost = lives["alice"].records[_deliveries(lives["alice"].records)[12]]
    for member in ("bob", "carol"):
        records = lives[member].records
        records.pop(next(i for i in _deliveries(records) if records[i]["serial"] == lost["serial"]))
    incident = _the_one(_judged(tmp_path, lives))
    named = [each.processes[0] for each in incident.effects if each.rule == "AGREEMENT"]
    assert (incident.processes[0], named, incident.more) == ("bob#1", ["carol#1"], 1)


HOW = {
    "delivered": "(which it delivered after it)",
    "skipped": "(which it skipped after it)",
    "": "(which it never delivered)",
}


def _overtaken(folder: Path, how: str) -> Path:
    """dave delivers a message before its cause; what then became of the cause is `how`."""
    lives = healthy("CAUSAL")
    MUTATIONS["swap, a message and its cause"][1](lives)
    records = lives["dave"].records
    at = next(place for place, (one, other) in enumerate(pairwise(records)) if _is_late(one, other)) + 1
    if how == "skipped":
        records[at] = {**records[at], "type": "skip"}
        del records[at]["sent_view"], records[at]["digests"]
    elif not how:
        del records[at]
    return write_lives(folder, lives)


def _is_late(one: Record, other: Record) -> bool:
    message, cause = ("carol#1", 11), ("alice#1", 12)
    named = [(each.get("sender"), each.get("number")) for each in (one, other)]
    return named == [message, cause]


def _causal_sentences(group: GroupResult) -> list[str]:
    told = [(each.rule, each.sentence) for each in group.incidents]
    told += [(each.rule, each.sentence) for incident in group.incidents for each in incident.effects]
    return [sentence for rule, sentence in told if rule == "CAUSAL" and sentence.startswith("dave#1")]


@pytest.mark.parametrize("how", HOW)
def test_a_cause_that_came_too_late_is_told_as_it_was(how: str, tmp_path: Path) -> None:
    (group,) = result_of(audit(_overtaken(tmp_path, how))).groups
    sentences = _causal_sentences(group)
    assert sentences
    assert all(HOW[how] in sentence for sentence in sentences)


def test_what_each_rule_found_is_still_told(tmp_path: Path) -> None:
    """Groups of incidents take nothing from the matrix."""
    lives = healthy()
    del lives["alice"].records[_deliveries(lives["alice"].records)[12]]
    group = _judged(tmp_path, lives)
    counts = {rule.rule: rule.violations for rule in group.rules if rule.violations and rule.expected}
    assert counts["AGREEMENT"] == 1
    assert counts["VIRTUAL_SYNCHRONY"] >= 3  # alice is whom the others are compared with
    assert len(group.incidents) == 1


def test_causes_are_ranked_among_all_rules() -> None:
    assert sorted(ROOT_FIRST) == sorted(RULES)
    assert all(
        ROOT_FIRST.index(one) < ROOT_FIRST.index(other)
        for one, other in pairwise(
            ("NO_DUPLICATION", "AGREEMENT", "FIFO", "CAUSAL", "SERIAL_UNIQUE", "VIRTUAL_SYNCHRONY", "TOTAL_GAP_FREE")
        )
    )


@pytest.mark.parametrize("ordering", ["FIFO", "CAUSAL", "TOTAL", "CAUSALTOTAL"])
@pytest.mark.parametrize("run_length", [1, 20])
def test_a_run_that_comes_too_late_is_one_incident(run_length: int, ordering: str, tmp_path: Path) -> None:
    """Rules of streams name its last message, of which the next has need; rules of one order the first."""
    plan = LogPlan(4, 4_000, run_length, Ordering(ordering), broken=True)
    for index in range(plan.members):
        write_member(tmp_path, plan, index)
    (group,) = result_of(audit(tmp_path)).groups
    (incident,) = [each for each in group.incidents if each.expected]
    assert incident.processes[0] == plan.processes[-1]
    assert _broken_by(group) <= {incident.rule, *incident.caused}
