"""CONTINUITY: the stories, what the contract's words leave open (decision 0005), and the audit against the oracle."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from gcom.audit.explain.advice import advice_of
from gcom.audit.explain.result import result_of
from gcom.audit.explain.witness import write_witnesses
from gcom.audit.input.catalogue import catalogue
from gcom.audit.input.reading import list_segments
from gcom.audit.plan.run import PlanResult, run
from gcom.audit.rules.judgement import verdict_of
from gcom.audit.spark.job import SparkEngine
from tests.audit.boundaries import damage, history, write_history
from tests.audit.here import audit
from tests.audit.lineages import STORIES, Told
from tests.audit.wordings import WORDINGS
from tests.cases import daily_and_rest
from tests.oracle import Report, judge
from tests.oracle.build import write

RECORDS_MAX = 30
WORST = ("FAIL", "UNKNOWN", "PASS", "VACUOUS")


def verdicts(folder: Path, told: Told) -> tuple[str, str]:
    """The verdicts of the audit and the oracle on the name: the worst of its instances."""
    write(folder, told.logs, told.endings)
    ours = {verdict_of(each.tallies["CONTINUITY"]) for each in audit(folder).judgements}
    theirs = {report.tallies["CONTINUITY"].verdict for report in judge(folder).groups.values()}
    first, second = (next(verdict for verdict in WORST if verdict in found) for found in (ours, theirs))
    return first, second


@pytest.mark.parametrize("story", STORIES)
def test_a_story_is_told_apart_from_what_should_have_happened(story: str, tmp_path: Path) -> None:
    told = STORIES[story]()
    assert verdicts(tmp_path, told) == (told.verdict, told.verdict)
    right = story.startswith("right")
    assert (result_of(audit(tmp_path)).verdict in ("PASS", "VACUOUS")) == right, "no story passes that lost something"


@pytest.mark.parametrize("what", WORDINGS)
def test_what_the_words_leave_open_is_read_as_decided(what: str, tmp_path: Path) -> None:
    told = WORDINGS[what]()
    assert verdicts(tmp_path, told) == (told.verdict, told.verdict)


BECAUSE = {  # the clauses that fail, by what the words leave open
    "detached_with_what_was_confirmed": {"confirmed"},
    "two_origins": {"origins"},
    "two_successors": {"successors"},
    "two_predecessors": {"predecessors", "origins"},
    "goes_round": {"cycle"},
    "goes_over_into_itself": {"stranger"},
    "unlike_predecessors": {"unlike"},
    "by_order_and_nobody_was_given_up": {"later", "confirmed"},
    "taken_for_dead": {"gone"},
    "all_held_it": {"confirmed"},
    "a_majority_held_it_and_two_go_on": {"confirmed"},
    "enters_with_an_older_state": {"poor"},
    "goes_over_with_less_than_the_cut": {"short"},
    "goes_over_with_more_than_the_cut": {"beyond"},
    "serials_begin_again": {"serial"},
    "founded_anew_over_those_who_are_there_yet": {"confirmed"},
    "founded_anew_and_they_come_back": {"returned"},
    "founded_anew_by_one_that_has_less": {"returned"},
    "founded_anew_twice": {"returned"},
    "put_out_and_back_with_an_older_state": {"returned"},
}


def test_each_violation_is_told_by_its_clause(tmp_path: Path) -> None:
    found = {}
    for what, tell in WORDINGS.items():
        told = tell()
        write(tmp_path / what, told.logs, told.endings)
        examples = [e for each in audit(tmp_path / what).judgements for e in each.tallies["CONTINUITY"].examples]
        if examples:
            found[what] = {each["kind"] for each in examples}
    assert found == BECAUSE


def test_what_an_operator_gave_up_is_counted(tmp_path: Path) -> None:
    told = WORDINGS["by_order_of_an_operator"]()
    write(tmp_path, told.logs, told.endings)
    assert audit(tmp_path).notes == ["g: 1 confirmed messages of i that only b#1 had were given up for j"]


def _unlike(outcome: PlanResult, report: Report) -> dict[object, object]:
    """Where audit and oracle differ: verdicts of all rules, and how much of CONTINUITY was judged."""
    found: dict[object, object] = {}
    for each in outcome.judgements:
        for rule, tally in report.groups[each.key].tallies.items():
            ours, theirs = verdict_of(each.tallies[rule]), tally.verdict
            if ours != theirs:
                found[each.key, rule] = ours, theirs, tally.violations, tally.unknowns, each.tallies[rule]
        judged, counted = each.tallies["CONTINUITY"].evaluated, report.groups[each.key].tallies["CONTINUITY"].evaluated
        if judged != counted:
            found[each.key] = judged, counted
    return found


def _sweep(tmp_path: Path, seeds: range, *, damaged: bool) -> Counter[str]:
    seen: Counter[str] = Counter()
    for seed in seeds:
        made, folder = history(seed), tmp_path / str(seed)
        what = damage(made, random.Random(seed)) if damaged else "right"
        write_history(folder, made)
        if not list(folder.rglob("*.jsonl")):
            continue
        report = judge(folder)
        for chain_bytes in (1 << 20, 1):
            assert not _unlike(audit(folder, chain_bytes), report), f"case {seed}: {what}"
        found = {group.tallies["CONTINUITY"].verdict for group in report.groups.values()}
        seen[next(verdict for verdict in WORST if verdict in found)] += 1
        if not damaged:
            assert result_of(audit(folder)).verdict in ("PASS", "VACUOUS"), f"case {seed}"
    return seen


def test_right_histories_pass(tmp_path: Path) -> None:
    assert _sweep(tmp_path, range(15), damaged=False) == {"PASS": 15}


@pytest.mark.slow
def test_the_quick_plan_says_what_the_oracle_says(tmp_path: Path) -> None:
    seen = _sweep(tmp_path, range(1000, 1020), damaged=True)
    assert min(seen["FAIL"], seen["UNKNOWN"], seen["PASS"]) >= 1


@pytest.mark.slow
@pytest.mark.parametrize("first", daily_and_rest(range(15, 39, 8), 1))
def test_many_right_histories_pass(first: int, tmp_path: Path) -> None:
    assert _sweep(tmp_path, range(first, first + 8), damaged=False) == {"PASS": 8}


@pytest.mark.slow
@pytest.mark.parametrize("first", daily_and_rest(range(2000, 2800, 40), 1))
def test_many_damaged_histories_are_judged_as_the_oracle_judges_them(first: int, tmp_path: Path) -> None:
    seen = _sweep(tmp_path, range(first, first + 40), damaged=True)
    assert min(seen["FAIL"], seen["UNKNOWN"], seen["PASS"]) >= 4


def _check_witnesses(logs: Path, folder: Path, what: str) -> int:
    """Each incident of the rule has a small log that shows it, by the oracle's word too."""
    found = catalogue(list_segments([str(logs)]))
    result = result_of(run(found))
    written = write_witnesses(result, found, folder)
    incidents = [each for each in result.incidents if each.rule == "CONTINUITY"]
    for incident in incidents:
        assert incident.id in written, f"{what}: {incident.sentence}"
        home = Path(written[incident.id])
        assert judge(home).groups["g", incident.instance].tallies["CONTINUITY"].violations, f"{what}: {home}"
        lines = [line for path in home.rglob("*.jsonl") for line in path.read_text().splitlines()]
        assert len(lines) <= RECORDS_MAX, f"{what}: {incident.sentence}"
    return len(incidents)


@pytest.mark.parametrize("name", [name for name, told in {**STORIES, **WORDINGS}.items() if told().verdict == "FAIL"])
def test_an_incident_has_a_witness(name: str, tmp_path: Path) -> None:
    told = {**STORIES, **WORDINGS}[name]()
    write(tmp_path / "logs", told.logs, told.endings)
    alone = name not in ("wrong_1", "goes_over_with_less_than_the_cut")  # there AGREEMENT or SELF_DELIVERY tells it
    assert _check_witnesses(tmp_path / "logs", tmp_path / "witnesses", name) >= alone


@pytest.mark.slow
@pytest.mark.parametrize("first", daily_and_rest(range(5000, 5090, 30), 1))
def test_incidents_of_damaged_histories_have_witnesses(first: int, tmp_path: Path) -> None:
    seen = 0
    for seed in range(first, first + 30):
        made, folder = history(seed), tmp_path / str(seed)
        what = damage(made, random.Random(seed))
        write_history(folder / "logs", made)
        if list(folder.rglob("*.jsonl")):
            seen += _check_witnesses(folder / "logs", folder / "witnesses", f"case {seed}: {what}")
    assert seen >= 4


@pytest.mark.slow
@pytest.mark.parametrize(
    "case", daily_and_rest([(1003, 1), (1010, 1 << 20), (1, 1), (1003, 1 << 20), (1010, 1), (1, 1 << 20)], 1)
)
def test_spark_judges_the_same(case: tuple[int, int], spark: Any, tmp_path: Path) -> None:
    seed, chain_bytes = case
    made = history(seed)
    if seed > 1000:
        damage(made, random.Random(seed))
    write_history(tmp_path, made)
    found = catalogue(list_segments([str(tmp_path)]))
    assert not _unlike(run(found, chain_bytes, engine=SparkEngine(spark), all_rules=True), judge(tmp_path))


def test_what_followed_what_is_asked_for(tmp_path: Path) -> None:
    told = WORDINGS["two_lives_of_old_logs"]()
    write(tmp_path, told.logs, told.endings)
    (said,) = advice_of(result_of(audit(tmp_path)))
    assert said.startswith("The order of instances of g is not told: name the folders")
