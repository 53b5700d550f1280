"""The benchmark with real processes, briefly."""

from __future__ import annotations

import os
import select
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from gcom.bench.processes.children import Children
from gcom.bench.throughput.load import Sequence
from gcom.bench.throughput.turns import BASELINES, ThroughputSetup, measure
from gcom.errors import BadValue, Unavailable
from gcom.values.definition import Definition, Multicast, Ordering
from tests.cases import daily_and_rest
from tests.oracle import judge

ROOT = Path(__file__).resolve().parent.parent.parent
SCHEMES = list(product(Ordering, Multicast))
KINDS = [
    Definition("bench", *scheme) for scheme in SCHEMES[::3] + SCHEMES[1::3] + SCHEMES[2::3]
]  # the first four: both multicasts


@pytest.mark.slow
@pytest.mark.parametrize("kind", daily_and_rest(KINDS, 2), ids=lambda kind: f"{kind.multicast}-{kind.ordering}")
def test_every_delivery_is_right(kind: Definition) -> None:
    outcome = measure(ThroughputSetup(kind, 3, 2, 100, 0.5))
    assert outcome.wrong == []
    assert outcome.ours.rate > 0
    assert outcome.ratio is None
    row = outcome.row()
    assert (row["ok"], row["members"], row["senders"]) == (True, 3, 2)
    assert "ratio" not in row


@pytest.mark.slow
@pytest.mark.parametrize("baseline", daily_and_rest(sorted(BASELINES, reverse=True), 1))
def test_a_baseline_takes_turns_with_ours(baseline: str) -> None:
    told: list[str] = []
    outcome = measure(ThroughputSetup(Definition("bench"), 2, 1, 100, 1.0, baseline), told.append)
    assert outcome.wrong == []
    row = outcome.row()
    assert outcome.baseline is not None
    assert row["ratio"] == pytest.approx(outcome.ours.rate / outcome.baseline.rate, abs=1e-3)
    assert [side for line in told for side in (baseline, "gcom") if line.endswith(side)] == [baseline, "gcom"] * 2


@pytest.mark.slow
def test_delivery_logs_are_written_and_their_cost_is_told(tmp_path: Path) -> None:
    outcome = measure(ThroughputSetup(Definition("bench"), 2, 1, 50_000, 0.2, log=True, log_dir=tmp_path / "logs"))
    assert outcome.wrong == []
    row = outcome.row()
    assert outcome.unlogged is not None
    assert row["log_ratio"] == pytest.approx(outcome.ours.rate / outcome.unlogged.rate, abs=1e-3)
    report = judge(tmp_path / "logs")
    assert [group.failed() for group in report.groups.values()] == [{}, {}]
    assert sum(case.verdict == "PASS" for group in report.groups.values() for case in group.tallies.values()) > 2


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"members": 0}, "members must be .* got 0"),
        ({"senders": 4}, "senders 4"),
        ({"size": 1}, "size must be .* got 1"),
        ({"seconds": 0.0}, "seconds must be .* got 0"),
        ({"baseline": "udp"}, "baseline must be .* got 'udp'"),
    ],
)
def test_what_cannot_be_measured_is_refused(fields: dict[str, Any], named: str) -> None:
    with pytest.raises(BadValue, match=named):
        ThroughputSetup(Definition("bench"), **{"members": 3, "senders": 3, "size": 100, "seconds": 1.0, **fields})


def test_delivery_logs_do_not_mix_with_what_is_there(tmp_path: Path) -> None:
    (tmp_path / "precious").touch()
    with pytest.raises(BadValue, match="no empty folder"):
        ThroughputSetup(Definition("bench"), 2, 1, 100, 1.0, log=True, log_dir=tmp_path)


def test_where_the_order_is_total_the_sequences_of_all_are_compared() -> None:
    """The same numbers in another order give another digest."""
    digests = []
    for places in ([(0, 1), (1, 1)], [(0, 1), (1, 1)], [(1, 1), (0, 1)]):
        sequence = Sequence()
        for place in places:
            sequence.add(*place)
        digests.append(sequence.digest)
    assert digests[0] == digests[1] != digests[2]


def test_a_child_that_fails_is_told_with_its_last_words() -> None:
    with Children() as children:
        children.start("m0", "gcom.bench.throughput.frames", "not a plan")
        with pytest.raises(Unavailable, match=r"'m0'.*ValueError"):
            children.gather("ready", ["m0"], 120)


@pytest.mark.slow
def test_children_do_not_outlive_a_parent_that_is_killed() -> None:
    program = (
        "from gcom.bench.processes.children import Children\n"
        "import threading\n"
        "children = Children()\n"
        "children.start_registry()\n"
        "print(*[child.process.pid for child in children._children.values()], flush=True)\n"
        "threading.Event().wait(600)\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    parent = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, env=environment)
    assert parent.stdout is not None
    with parent.stdout:
        watched = os.pidfd_open(int(parent.stdout.readline()))
        parent.kill()
        parent.wait(120)
        ended = select.poll()
        ended.register(watched, select.POLLIN)
        assert ended.poll(120_000), "the registry outlived its parent"
        os.close(watched)
