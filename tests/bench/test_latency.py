"""The latency benchmark with real processes, briefly."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from gcom.bench.latency.pacing import age, pace, stamped
from gcom.bench.latency.stages import STAGES, Stamps, stages_ms
from gcom.bench.latency.turns import AgeSpread, LatencyTurn, counted, result
from gcom.bench.processes import usage
from gcom.bench.processes.children import Report
from gcom.bench.settings import LatencySetup
from gcom.errors import BadValue
from gcom.values.definition import Ordering

OWN = AgeSpread(7.0, 8.0)
LATE = AgeSpread(0.1, 0.2)
QUIET = {"wrong": [], "lost": 0, "cpu_s": 0.0, "switches": 0}


@pytest.mark.slow
@pytest.mark.parametrize(("ordering", "loop"), [(Ordering.FIFO, True), (Ordering.TOTAL, False)])
def test_every_message_of_every_turn_is_measured(ordering: Ordering, loop: bool) -> None:
    told: list[str] = []
    setup = LatencySetup(ordering=ordering, members=2, rate=50, size=64, seconds=2.0, baseline="pyro", loop=loop)
    (found,) = setup.measure(told.append)
    row = found.row
    assert (row["ok"], row["wrong"], row["lost"], row["loop"]) == (True, [], 0, loop)
    assert setup.label == ("FIFO, a loop" if loop else "TOTAL")
    assert [line.rpartition(" ")[2] for line in told] == ["pyro", "gcom"] * 2
    assert [*row["cores"]] == [*row["waited"]] == ["m0", "m1", "registry"]
    for ages in (row["latency_ms"], row["own_ms"], row["late_ms"], row["baseline"]["latency_ms"]):
        assert len(ages["turns_p50"]) == 2
        assert min(ages["turns_p50"]) > 0
    assert list(row["stages_ms"]) == list(STAGES)
    assert min(row["stages_ms"].values()) >= 0
    assert sum(row["stages_ms"].values()) > 0


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"senders": 4}, "senders 4"),
        ({"members": 1}, "2 at least"),
        ({"rate": 0}, "rate must be .* got 0"),
        ({"size": 15}, "size must be .* got 15"),
        ({"baseline": "udp"}, "'udp'"),
    ],
)
def test_what_cannot_be_measured_is_refused(fields: dict[str, Any], named: str) -> None:
    with pytest.raises(BadValue, match=named):
        LatencySetup(**fields)


def test_the_ratio_is_of_medians_over_turns() -> None:
    turns = [LatencyTurn(AgeSpread(p50, 9.0), OWN, LATE, {}, {}, {}, 0, ()) for p50 in (1.0, 2.0, 90.0)]
    assert result(LatencySetup(baseline="pyro"), turns, [AgeSpread(0.5, 1.0)] * 3, {}).row["ratio"] == 4.0


def test_the_slowest_receiver_and_the_slowest_sender_count_each_by_itself() -> None:
    ages = {"m0": ([], [90, 91]), "m1": ([5, 6], [80]), "m2": ([7, 8], [])}
    reports: dict[str, Report] = {
        name: {"ages_ns": far, "own_ns": own, "late_ns": own[:1], **QUIET} for name, (far, own) in ages.items()
    }
    turn = counted(LatencySetup(senders=2), reports, {}, {}, 1)
    assert (turn.slowest.p50, turn.own.p50, turn.late.p50) == (8e-6, 91e-6, 90e-6)


@pytest.mark.skipif(not Path("/proc/self/schedstat").exists(), reason="Linux alone tells how long a thread had no core")
def test_a_process_that_runs_has_waited_for_its_cores() -> None:
    found = [usage.waited_s_of(os.getpid()) for _ in range(3)]
    assert found == sorted(found)
    assert found[0] > 0
    assert usage.waited_s_of(2**31) == 0  # there is no such process


def test_a_payload_tells_its_number_and_age() -> None:
    payload = stamped(7, 40)
    number, age_ns = age(payload)
    assert (len(payload), number) == (40, 7)
    assert age_ns >= 0


def test_each_number_is_sent_once_in_order() -> None:
    sent: list[int] = []
    late_ns = pace(1000, 0.02, sent.append)
    assert sent == list(range(1, 21))
    assert len(late_ns) == 20
    assert min(late_ns) >= 0


def test_stages_are_medians_at_the_slowest_receiver() -> None:
    own = [Stamps("a", number, 1.0, 1.1, 1.4, 1.5, 9.0) for number in range(3)]
    far = [Stamps("a", number, None, 1.3, 1.2, 1.7, 1.75) for number in range(3)]  # the serial came first
    found = stages_ms({"a": own, "b": far, "silent": []})
    assert found == pytest.approx({"numbered": 100, "carried": 200, "ordered": 0, "released": 400, "taken": 50})
    assert stages_ms({"a": [], "b": far}) == {}
