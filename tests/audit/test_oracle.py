"""The audit and the naive oracle of tests/oracle, which shares nothing with it, say the same of every rule."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from gcom.audit.input.catalogue import catalogue
from gcom.audit.input.reading import list_segments
from gcom.audit.plan.run import run
from gcom.audit.spark.job import SparkEngine
from tests.audit.agreement import check
from tests.audit.cases import flatten, make
from tests.audit.here import audit
from tests.cases import daily_and_rest
from tests.oracle import judge


def _sweep(tmp_path: Path, seeds: range) -> None:
    for seed in seeds:
        folder = tmp_path / str(seed)
        what = f"case {seed}: {make(folder, seed)}"
        if not list(folder.rglob("*.jsonl")):
            continue
        report = judge(folder)
        check(folder, what, audit(folder), report)
        check(folder, f"{what}, segment by segment", audit(folder, chain_bytes=1), report)


def test_the_audit_says_what_the_oracle_says(tmp_path: Path) -> None:
    _sweep(tmp_path, range(1, 13))


@pytest.mark.slow
@pytest.mark.parametrize("first", daily_and_rest(range(1000, 3000, 20), 1))
def test_two_thousand_groups_are_judged_as_the_oracle_judges_them(first: int, tmp_path: Path) -> None:
    _sweep(tmp_path, range(first, first + 20))


@pytest.mark.soak
def test_a_fresh_case_is_judged_as_the_oracle_judges_it(fresh_seed: int, tmp_path: Path) -> None:
    _sweep(tmp_path, range(fresh_seed, fresh_seed + 1))


@pytest.mark.slow
@pytest.mark.parametrize("first", daily_and_rest(range(5000, 5040, 5), 1))
def test_spark_says_the_same_of_many_groups_in_one_folder(first: int, spark: Any, tmp_path: Path) -> None:
    logs = _folder(tmp_path, range(first, first + 5))
    for chain_bytes in (1 << 20, 1):
        outcome = run(catalogue(list_segments([str(logs)])), chain_bytes, engine=SparkEngine(spark), all_rules=True)
        check(logs, f"chains of {chain_bytes} bytes", outcome, judge(logs))


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
    _sweep(tmp_path, range(301, 313))


@pytest.mark.soak
@pytest.mark.usefixtures("_small_buckets")
def test_buckets_do_not_show_in_many_groups(tmp_path: Path) -> None:
    _sweep(tmp_path, range(14000, 14160))


@pytest.mark.slow
def test_undamaged_groups_are_not_blamed(tmp_path: Path) -> None:
    for seed in range(201, 209):
        folder = tmp_path / str(seed)
        make(folder, seed, damaged=False)
        report = judge(folder)
        check(folder, f"case {seed}", audit(folder), report)
