"""The audit and the naive oracle of tests/oracle, which shares nothing with it, say the same of every rule."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from gcom.audit.catalogue import catalogue
from gcom.audit.job import run
from gcom.audit.judging import verdict_of
from gcom.audit.reading import list_segments
from gcom.audit.session import open_session
from gcom.audit.stages import Outcome
from tests.audit.cases import flatten, make
from tests.audit.here import audit
from tests.oracle import Report, judge

Verdicts = dict[tuple[str, str], dict[str, str]]


def _of_oracle(report: Report) -> Verdicts:
    return {key: dict(group.verdicts()) for key, group in report.groups.items()}


def _of_audit(outcome: Outcome) -> Verdicts:
    return {each.key: {rule: verdict_of(tally) for rule, tally in each.tallies.items()} for each in outcome.judgements}


def _check(folder: Path, what: str, outcome: Outcome, report: Report) -> None:
    assert outcome.coverage == report.coverage, what
    ours, theirs = _of_audit(outcome), _of_oracle(report)
    unlike = {
        (key, rule): (ours.get(key, {}).get(rule), verdict)
        for key, rules in theirs.items()
        for rule, verdict in rules.items()
        if ours.get(key, {}).get(rule) != verdict
    }
    assert unlike == {}, f"{what} in {folder}: (ours, the oracle's)"
    for each in outcome.judgements:
        for rule, tally in report.groups[each.key].tallies.items():
            found = each.tallies[rule]
            counted = (bool(found.violations), bool(found.unknown), _judged(rule, found.evaluated))
            told = (bool(tally.violations), bool(tally.unknowns), _judged(rule, tally.evaluated))
            assert counted == told, f"{what} in {folder}: {rule} (violations, unknown cases, how many were judged)"
    expected = {key: group.expected for key, group in report.groups.items()}
    assert {each.key: each.expected for each in outcome.judgements} == expected, what


def _judged(rule: str, evaluated: int) -> int:
    """Of TOTAL the oracle counts pairs, and the plans processes."""
    return min(evaluated, 1) if rule == "TOTAL" else evaluated


def _sweep(tmp_path: Path, seeds: range) -> None:
    for seed in seeds:
        folder = tmp_path / str(seed)
        what = f"case {seed}: {make(folder, seed)}"
        if not list(folder.rglob("*.jsonl")):
            continue
        report = judge(folder)
        _check(folder, what, audit(folder), report)
        _check(folder, f"{what}, segment by segment", audit(folder, chain_bytes=1), report)


def test_the_quick_plan_says_what_the_oracle_says(tmp_path: Path) -> None:
    _sweep(tmp_path, range(1, 13))


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("first", range(1000, 3000, 500))
def test_two_thousand_groups_are_judged_as_the_oracle_judges_them(first: int, tmp_path: Path) -> None:
    _sweep(tmp_path, range(first, first + 500))


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_spark_says_the_same_of_many_groups_in_one_folder(tmp_path: Path) -> None:
    logs = _folder(tmp_path, range(5000, 5040))
    spark = open_session("local[2]", None)
    try:
        for chain_bytes in (1 << 20, 1):
            outcome = run(spark, catalogue(list_segments([str(logs)])), chain_bytes, all_rules=True)
            _check(logs, f"chains of {chain_bytes} bytes", outcome, judge(logs))
    finally:
        spark.stop()


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_spark_takes_the_same_parts_of_large_groups(tmp_path: Path) -> None:
    logs = _folder(tmp_path, range(5040, 5048))
    spark = open_session("local[2]", None)
    try:
        for chain_bytes in (1 << 20, 1):
            outcome = run(spark, catalogue(list_segments([str(logs)])), chain_bytes, most=-1, all_rules=True)
            assert _of_audit(outcome) == _of_audit(audit(logs, chain_bytes, most=-1))
    finally:
        spark.stop()


def _folder(tmp_path: Path, seeds: range) -> Path:
    """The logs of many cases in one folder."""
    cases = [tmp_path / str(seed) for seed in seeds]
    for seed, case in zip(seeds, cases, strict=True):
        make(case, seed)
    flatten(cases, tmp_path / "logs")
    return tmp_path / "logs"


@pytest.fixture
def _small_buckets(monkeypatch: pytest.MonkeyPatch) -> None:
    modules = [module for name, module in sys.modules.items() if name.startswith("gcom.audit.")]
    for module in modules:
        if hasattr(module, "BUCKET"):
            monkeypatch.setattr(module, "BUCKET", 4)


@pytest.mark.usefixtures("_small_buckets")
@pytest.mark.slow
def test_buckets_do_not_show(tmp_path: Path) -> None:
    _sweep(tmp_path, range(301, 305))
    _sweep_parts(tmp_path, range(309, 313))


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.usefixtures("_small_buckets")
def test_buckets_do_not_show_in_many_groups(tmp_path: Path) -> None:
    _sweep(tmp_path, range(14000, 14080))
    _sweep_parts(tmp_path, range(14200, 14280))


@pytest.mark.slow
def test_a_part_of_a_large_group_shows_what_is_there_or_says_that_it_does_not_know(tmp_path: Path) -> None:
    _sweep_parts(tmp_path, range(101, 107))


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("first", [6000, 13000])
def test_parts_of_many_large_groups(first: int, tmp_path: Path) -> None:
    _sweep_parts(tmp_path, range(first, first + 150))


def _sweep_parts(tmp_path: Path, seeds: range) -> None:
    """As large groups are judged: CAUSAL whole, and of every look one bucket, the first, so that more is unknown."""
    for seed in seeds:
        folder = tmp_path / str(seed)
        what = f"case {seed}: {make(folder, seed)}"
        if not list(folder.rglob("*.jsonl")):
            continue
        theirs = _of_oracle(judge(folder))
        for chain_bytes in (1 << 20, 1):
            found = _of_audit(audit(folder, chain_bytes, most=-1))
            assert found.keys() == theirs.keys(), what
            for key, rules in found.items():
                unlike = {rule: (ours, theirs[key][rule]) for rule, ours in rules.items() if ours != theirs[key][rule]}
                wrong = {rule for rule, (ours, _) in unlike.items() if ours != "UNKNOWN" or rule == "CAUSAL"}
                assert not wrong, f"{what}, {key}: {unlike}"


def test_undamaged_groups_are_not_blamed(tmp_path: Path) -> None:
    for seed in range(201, 209):
        folder = tmp_path / str(seed)
        make(folder, seed, damaged=False)
        report = judge(folder)
        _check(folder, f"case {seed}", audit(folder), report)
