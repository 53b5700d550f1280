"""The latency benchmark with real processes, briefly."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from gcom.bench.latency.pacing import age, pace, stamped
from gcom.bench.latency.stages import STAGES, Stamps, stages_ms
from gcom.bench.latency.turns import AgeSpread, LatencyResult, LatencySetup, LatencyTurn, counted, measure
from gcom.bench.processes import usage
from gcom.bench.processes.children import Report
from gcom.errors import BadValue
from gcom.values.definition import Definition, Ordering

OWN = AgeSpread(7.0, 8.0)
LATE = AgeSpread(0.1, 0.2)
QUIET = {"wrong": [], "lost": 0, "cpu_s": 0.0, "switches": 0}


@pytest.mark.slow
@pytest.mark.parametrize(("ordering", "loop"), [(Ordering.FIFO, True), (Ordering.TOTAL, False)])
def test_every_message_of_every_turn_is_measured(ordering: Ordering, loop: bool) -> None:
    told: list[str] = []
    outcome = measure(LatencySetup(Definition("bench", ordering), 2, 1, 50, 64, 2.0, "pyro", loop), told.append)
    assert outcome.wrong == []
    assert len(outcome.turns) == len(told) == 2
    row = outcome.row()
    assert (row["ok"], row["lost"], row["loop"]) == (True, 0, loop)
    assert outcome.setup.label == ("FIFO, a loop" if loop else "TOTAL")
    assert set(row["cores"]) == {"m0", "m1", "registry"}  # type: ignore[call-overload]
    assert set(row["waited"]) == set(row["cores"])  # type: ignore[call-overload]
    assert all(turn.late.p50 > 0 and turn.own.p50 > 0 and turn.slowest.p50 > 0 for turn in outcome.turns)
    assert row["ratio"] == pytest.approx(outcome.ratio, abs=0.01)
    assert list(outcome.stages_ms) == list(STAGES)
    assert all(length >= 0 for length in outcome.stages_ms.values())
    assert sum(outcome.stages_ms.values()) > 0


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
    valid = {"members": 3, "senders": 1, "rate": 1000, "size": 100, "seconds": 1.0}
    with pytest.raises(BadValue, match=named):
        LatencySetup(Definition("bench"), **{**valid, **fields})


def test_the_ratio_is_of_medians_over_turns() -> None:
    turns = tuple(
        LatencyTurn(AgeSpread(p50, 9.0), OWN, LATE, AgeSpread(0.5, 1.0), {}, {}, {}, 0, ()) for p50 in (1.0, 2.0, 90.0)
    )
    assert LatencyResult(LatencySetup(Definition("bench"), 3, 1, 10, 16, 3.0, "pyro"), turns, {}).ratio == 4.0


def test_the_slowest_receiver_and_the_slowest_sender_count_each_by_itself() -> None:
    ages = {"m0": ([], [90, 91]), "m1": ([5, 6], [80]), "m2": ([7, 8], [])}
    reports: dict[str, Report] = {
        name: {"ages_ns": far, "own_ns": own, "late_ns": own[:1], **QUIET} for name, (far, own) in ages.items()
    }
    turn = counted(LatencySetup(Definition("bench"), 3, 2, 10, 16, 1.0), reports, 0.0, {}, 1.0, None)
    assert (turn.slowest.p50, turn.own.p50, turn.late.p50) == (8e-6, 91e-6, 90e-6)


def test_waiting_for_a_core_is_summed_over_processes() -> None:
    waits = ({"m0": 0.1, "registry": 0.2}, {"m0": 1.0, "registry": 0.5}, {"m0": 9.0, "registry": 0.0})
    turns = tuple(LatencyTurn(AgeSpread(1.0, 9.0), OWN, LATE, None, {}, waited, {}, 0, ()) for waited in waits)
    assert LatencyResult(LatencySetup(Definition("bench"), 3, 1, 10, 16, 3.0, None), turns, {}).waited == 1.5


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
