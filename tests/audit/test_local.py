"""Logs that are judged in this process and by Spark: both give the same report, and a session stays as it was."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gcom.audit.explain.result import result_of
from gcom.audit.input.catalogue import catalogue
from gcom.audit.input.reading import list_segments
from gcom.audit.plan.cache import IncrementalCache
from gcom.audit.plan.run import run
from gcom.audit.spark.job import SparkEngine
from gcom.audit.spark.session import given_session
from tests.audit.cases import flatten, make
from tests.audit.lives import broken, write_lives
from tests.audit.test_mutations import healthy
from tests.cases import daily_and_rest


@pytest.mark.slow
@pytest.mark.parametrize("first", daily_and_rest(range(7000, 7300, 5), 1))
def test_both_give_the_same_report(spark: Any, first: int, tmp_path: Path) -> None:
    """Of groups from the corpus and of others, damaged: verdicts, counts, reasons, incidents and sentences."""
    cases = [tmp_path / str(seed) for seed in range(first, first + 5)]
    for seed, case in enumerate(cases, first):
        make(case, seed)
    flatten(cases, tmp_path / "logs")
    found = catalogue(list_segments([str(tmp_path / "logs")]))
    here, there = run(found, all_rules=True), run(found, engine=SparkEngine(spark), all_rules=True)
    assert result_of(here).as_json() == result_of(there).as_json()


@pytest.mark.slow
def test_a_session_that_is_given_keeps_its_settings_and_nothing_stays_in_it(spark: Any, tmp_path: Path) -> None:
    """Of logs in which all is read again, and TOTAL is judged in order."""
    lives = healthy("TOTAL")
    for life in lives.values():
        for record in life.records:
            record.pop("serial", None)
            record.pop("base_serial", None)
    logs = catalogue(list_segments([str(write_lives(tmp_path / "logs", lives))]))
    name = "spark.sql.execution.arrow.maxRecordsPerBatch"
    spark.conf.set(name, "1234")
    try:
        run(logs, engine=SparkEngine(spark), all_rules=True)
        assert spark.conf.get(name) == "1234"
    finally:
        spark.conf.unset(name)
    assert spark.sparkContext._jsc.getPersistentRDDs().size() == 0
    assert given_session() is not None


def test_what_is_kept_says_the_same(tmp_path: Path) -> None:
    logs = catalogue(list_segments([str(broken(tmp_path / "logs", "FIFO"))]))
    plain = result_of(run(logs)).as_json()
    for _ in range(2):  # the second time from what the first kept
        assert result_of(run(logs, cache=IncrementalCache(tmp_path / "state"))).as_json() == plain
    assert list((tmp_path / "state").glob("*/*"))
