"""The `--exact` plan: it judges by itself, as the oracle does, and as the quick plan does."""

from __future__ import annotations

import ast
import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from gcom.audit import exact
from gcom.audit.exact.cycles import shortest_cycle
from gcom.audit.exact.plan import cases_of, tables_of
from gcom.audit.exact.reading import read
from gcom.audit.explain.result import result_of
from gcom.audit.input.catalogue import catalogue
from gcom.audit.input.reading import list_segments
from gcom.audit.plan.stages import PlanResult
from gcom.audit.rules.judging import RULES, verdict_of
from gcom.audit.spark.job import run as run_quickly
from tests.audit.lineages import STORIES
from tests.audit.many import Case, make
from tests.oracle.build import A, B, C, Logs, Record, deliver, life, send, view, write
from tests.sim import corpus

PACKAGE = Path(exact.__file__).parent
JUDGED = [rule for rule in RULES if rule != "CONTINUITY"]  # which this plan leaves to the quick one
CASES = 120  # of the slow tests; 1,900 other groups agreed when this was written


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Case]]:
    """Lives by hand and of two simulated groups, cut into segments and damaged."""
    root = tmp_path_factory.mktemp("many")
    sources = [corpus.ran(seed).folder for seed in (4, 9)]
    made = [make(root / str(seed), seed, sources) for seed in range(CASES)]
    return root, [case for case in made if case is not None]


def _run(spark: Any, folder: Path) -> PlanResult:
    return exact.run(spark, catalogue(list_segments([str(folder)])))


def _verdicts(outcome: PlanResult) -> dict[tuple[str, str], dict[str, str]]:
    return {each.key: {rule: verdict_of(each.tallies[rule]) for rule in JUDGED} for each in outcome.judgements}


# The plans differ


def _imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found


def test_the_plan_takes_over_no_judging() -> None:
    shared = {name for path in PACKAGE.glob("*.py") for name in _imports(path) if name.startswith("gcom.audit.")}
    of_both = {"catalogue", "reading", "segments", "records", "judging", "stages", "position", "tally"}
    taken = {name.split(".")[3] for name in shared if name.split(".")[2] != "exact"}
    assert taken <= of_both
    judging = {
        name.split(".")[4] for name in shared if name.split(".")[3] in ("judging", "stages", "position", "tally")
    }
    assert judging == {"RULES", "Judgement", "expected_rules", "PlanResult", "EXAMPLES", "Key", "Tally"}


def test_the_plan_has_no_python_by_rows_and_nothing_that_spark_connect_lacks() -> None:
    for path in PACKAGE.glob("*.py"):
        text = path.read_text()
        for word in ("udf(", ".rdd", "sparkContext", "toPandas", "applyInPandas", "_jdf", "_jvm", "zipWithIndex"):
            assert word not in text, (path, word)


def test_no_module_of_the_plan_is_known_to_the_quick_one() -> None:
    for path in set(PACKAGE.parent.rglob("*.py")) - set(PACKAGE.glob("*.py")):
        assert not {name for name in _imports(path) if name.startswith("gcom.audit.exact")}, path


# Cycles


def _is_cyclic(steps: list[tuple[int, int]]) -> bool:
    things = {thing for step in steps for thing in step}
    reach = {thing: {b for a, b in steps if a == thing} for thing in things}
    for middle in things:
        for thing in things:
            if middle in reach[thing]:
                reach[thing] |= reach[middle]
    return any(thing in reach[thing] for thing in things)


def test_a_cycle_is_found_if_there_is_one() -> None:
    seen: Counter[bool] = Counter()
    for seed in range(400):
        chance = random.Random(seed)
        size = chance.randrange(2, 9)
        steps = [(chance.randrange(size), chance.randrange(size)) for _ in range(chance.randrange(1, 2 * size))]
        found = shortest_cycle([a for a, _ in steps], [b for _, b in steps])
        assert bool(found) == _is_cyclic(steps), seed
        for index, step in enumerate(found):
            assert steps[found[index - 1]][1] == steps[step][0], seed
        seen[bool(found)] += 1
    assert min(seen.values()) > 50


def test_the_cycle_is_a_short_one() -> None:
    ring = [(n, (n + 1) % 100) for n in range(100)]
    assert len(shortest_cycle(*zip(*ring, strict=True))) == 100
    found = shortest_cycle(*zip(*[*ring, (51, 50)], strict=True))
    assert len(found) == 2


# The answers do not


@pytest.mark.soak
def test_a_sound_life_passes_and_a_rotation_of_three_is_told_step_by_step(
    spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "sound", {who: [{"group": "sound", **each} for each in of] for who, of in life().items()})
    write(tmp_path / "turned", _rotation())
    write(tmp_path / "split", _split())
    outcome = _run(spark, tmp_path)
    sound, split, turned = outcome.judgements
    assert verdict_of(split.tallies["TOTAL"]) == "FAIL"
    assert {verdict_of(sound.tallies[rule]) for rule in JUDGED} == {"PASS"}
    assert verdict_of(turned.tallies["TOTAL"]) == "FAIL"
    (example,) = turned.tallies["TOTAL"].examples
    assert [step["before"]["number"] for step in example["steps"]] in ([1, 2, 3], [2, 3, 1], [3, 1, 2])
    assert {step["before"]["file"] for step in example["steps"]} <= {str(path) for path in tmp_path.rglob("*.jsonl")}
    # What Spark is asked to do: windows, joins and sums of its own, nothing of Python's.
    for rule, cases in cases_of(tables_of(read(spark, catalogue(list_segments([str(tmp_path)]))))).items():
        cases.explain()
        plan = capsys.readouterr().out
        assert "Aggregate" in plan or "Window" in plan or "Join" in plan or "Scan" in plan, rule
        assert not any(word in plan for word in ("Python", "Arrow", "Pandas", "CartesianProduct")), rule


def _split() -> Logs:
    """One process delivers a message in two views, and the other only in the second: in each view they agree."""
    logs = life()
    del logs[A]
    (second,) = [each for each in logs[B] if each["type"] == "deliver" and each["sender"] == A and each["number"] == 2]
    second["number"] = 3
    return {f"split-{who}": _of("split", of) for who, of in logs.items()}


def _of(group: str, records: list[Record]) -> list[Record]:
    """The same by processes of other names, in a group of that name."""
    text = json.dumps([{"group": group, **each} for each in records])
    for who in (A, B, C):
        text = text.replace(json.dumps(who), json.dumps(f"{group}-{who}"))
    named: list[Record] = json.loads(text)
    return named


def _rotation() -> Logs:
    """p: 1 2, q: 2 3, r: 3 1. No two of them disagree; all three do."""
    members = ("p#1", "q#1", "r#1")
    orders = ((1, 2), (2, 3), (3, 1))
    logs: Logs = {}
    sender = "s#1"
    sends = [send(1, 1, {}, count=3)]
    logs[sender] = [view(1, sender, *members, ordering="TOTAL", multicast="BASIC"), *sends]
    for who, order in zip(members, orders, strict=True):
        heard = [deliver(1, sender, number) for number in order]
        logs[who] = [view(1, sender, *members, ordering="TOTAL", multicast="BASIC"), *heard]
    return {who: [{"group": "turned", **each} for each in of] for who, of in logs.items()}


@pytest.mark.slow
def test_continuity_is_left_to_the_quick_plan(spark: Any, tmp_path: Path) -> None:
    told = STORIES["right_6"]()
    write(tmp_path / "two", told.logs, told.endings)
    write(tmp_path / "one", {f"x{who}": _of("one", of) for who, of in life().items()})
    result = result_of(_run(spark, tmp_path))
    found = {each.instance: next(rule for rule in each.rules if rule.rule == "CONTINUITY") for each in result.groups}
    assert {each.verdict for each in found.values()} == {"UNKNOWN", "VACUOUS"}
    assert {each.reason for each in found.values()} == {None, "--exact does not judge it: audit again without --exact"}


# What the contract says of these since, and of what a VACUOUS rule decides, `--exact` does not know: it goes.
RENEWED = ("CLOCK", "SENDING_VIEW", "SERIAL_CONTIGUOUS", "VIEW_AGREEMENT")


@pytest.mark.slow
def test_the_plan_fails_what_the_oracle_fails_of_many_damaged_logs(spark: Any, many: tuple[Path, list[Case]]) -> None:
    root, cases = many
    outcome = _run(spark, root)
    found = {each.key: each for each in outcome.judgements}
    verdicts = _verdicts(outcome)
    seen: Counter[str] = Counter()
    for case in cases:
        told = (case.seed, case.done)
        assert {who: outcome.coverage[who] for who in case.report.coverage} == case.report.coverage, told
        for key, group in case.report.groups.items():
            known = [rule for rule in JUDGED if rule not in RENEWED]
            fails = {rule for rule in known if group.verdicts()[rule] == "FAIL"}
            assert {rule for rule in known if verdicts[key][rule] == "FAIL"} == fails, told
            assert found[key].expected == group.expected, told
            seen.update(group.verdicts().values())
            for rule, tally in group.tallies.items():
                if rule in known and rule != "TOTAL":  # the oracle counts pairs there, the plans processes
                    assert bool(found[key].tallies[rule].examples) == bool(tally.violations), (told, rule)
    assert set(seen) == {"PASS", "FAIL", "UNKNOWN", "VACUOUS"}


@pytest.mark.soak
def test_both_plans_count_the_same(spark: Any, many: tuple[Path, list[Case]]) -> None:
    root, _ = many
    chosen = sorted(root.iterdir(), key=lambda path: int(path.name))[:: max(1, CASES // 20)]
    listing = list_segments([str(folder) for folder in chosen])
    one, other = run_quickly(spark, catalogue(listing), all_rules=True), exact.run(spark, catalogue(listing))
    assert one.coverage == other.coverage
    assert one.positions == other.positions
    assert one.unknown_types == other.unknown_types
    # Only the quick plan holds a state against what precedes it; it decides no rule.
    assert sorted(note for note in one.notes if "not what precedes" not in note) == sorted(other.notes)
    assert [each.key for each in one.judgements] == [each.key for each in other.judgements]
    for quick, slow in zip(one.judgements, other.judgements, strict=True):
        for rule in JUDGED:
            assert _counts(quick, rule) == _counts(slow, rule), (quick.key, rule)
        for name in ("expected", "processes", "views", "deliveries"):
            assert getattr(quick, name) == getattr(slow, name), (quick.key, name)


def _counts(judgement: Any, rule: str) -> tuple[str, int, int]:
    tally = judgement.tallies[rule]
    return verdict_of(tally), tally.evaluated, tally.violations
