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
from gcom.bench.settings import ThroughputSetup
from gcom.bench.throughput.load import Sequence
from gcom.errors import BadValue, Unavailable
from gcom.values.definition import Multicast, Ordering
from tests.cases import daily_and_rest
from tests.oracle import judge

ROOT = Path(__file__).resolve().parent.parent.parent
SCHEMES = list(product(Ordering, Multicast))
KINDS = SCHEMES[::3] + SCHEMES[1::3] + SCHEMES[2::3]  # the first four: both multicasts
BRIEF: dict[str, Any] = {"members": 2, "senders": 1}


@pytest.mark.slow
@pytest.mark.parametrize("kind", daily_and_rest(KINDS, 2), ids="-".join)
def test_every_delivery_is_right(kind: tuple[Ordering, Multicast]) -> None:
    ordering, multicast = kind
    (result,) = ThroughputSetup(ordering=ordering, multicast=multicast, senders=2, seconds=0.5).measure()
    row = result.row
    assert (row["ok"], row["wrong"], row["members"], row["senders"]) == (True, [], 3, 2)
    assert row["messages_per_s"] > 0
    assert "ratio" not in row


@pytest.mark.slow
@pytest.mark.parametrize("baseline", daily_and_rest(["tcp", "pysyncobj", "frames"], 1))
def test_a_baseline_takes_turns_with_ours(baseline: str) -> None:
    told: list[str] = []
    (result,) = ThroughputSetup(**BRIEF, seconds=1.0, baseline=baseline).measure(told.append)
    assert result.wrong == []
    row = result.row
    assert row["ratio"] == pytest.approx(row["messages_per_s"] / row["baseline_messages_per_s"], abs=1e-3)
    assert [line.rpartition(" ")[2] for line in told] == [baseline, "gcom"] * 2


@pytest.mark.slow
def test_delivery_logs_are_written_and_their_cost_is_told(tmp_path: Path) -> None:
    (result,) = ThroughputSetup(**BRIEF, size=50_000, seconds=0.2, log_dir=tmp_path / "logs").measure()
    assert result.wrong == []
    row = result.row
    assert row["log_ratio"] == pytest.approx(row["messages_per_s"] / row["without_logs"]["messages_per_s"], abs=1e-2)
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
        ThroughputSetup(**fields)


def test_delivery_logs_do_not_mix_with_what_is_there(tmp_path: Path) -> None:
    (tmp_path / "precious").touch()
    with pytest.raises(BadValue, match="no empty folder"):
        ThroughputSetup(log=True, log_dir=tmp_path)


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
        children.run("m0", "gcom.bench.throughput.frames:BareFrames", name="m0", setup={"size": 1})
        with pytest.raises(Unavailable, match=r"'m0'.*BadValue"):
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
