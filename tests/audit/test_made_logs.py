"""The logs that `gcom bench audit` makes: healthy ones hold every promise, broken ones break those that they should."""

from __future__ import annotations

from pathlib import Path

import pytest

from gcom.bench.audit.logs import LogPlan, write_member
from gcom.values.definition import Ordering
from tests.oracle import GroupReport, judge

TOTAL = {"TOTAL", "TOTAL_GAP_FREE", "SERIAL_CONTIGUOUS"}
BROKEN = {
    Ordering.NONORDERED: set(),
    Ordering.FIFO: {"FIFO"},
    Ordering.CAUSAL: {"FIFO", "CAUSAL"},
    Ordering.TOTAL: TOTAL,
    Ordering.CAUSALTOTAL: {"FIFO", "CAUSAL", *TOTAL},
}


def _judged(folder: Path, plan: LogPlan) -> GroupReport:
    for index in range(plan.members):
        write_member(folder, plan, index)
    return judge(folder).group("load")


@pytest.mark.parametrize("ordering", list(Ordering))
@pytest.mark.parametrize("run_length", [1, 5])
def test_every_promise_holds(ordering: Ordering, run_length: int, tmp_path: Path) -> None:
    report = _judged(tmp_path, LogPlan(3, 600, run_length, ordering))
    promised = {rule: report.verdicts()[rule] for rule in report.expected - {"CONTINUITY"}}
    assert set(promised.values()) == {"PASS"}, promised


@pytest.mark.parametrize("ordering", list(Ordering))
@pytest.mark.parametrize("run_length", [1, 5])
def test_a_broken_one_breaks_its_order(ordering: Ordering, run_length: int, tmp_path: Path) -> None:
    report = _judged(tmp_path, LogPlan(3, 600, run_length, ordering, broken=True))
    assert {rule for rule in report.expected if report.verdicts()[rule] == "FAIL"} == BROKEN[ordering]
