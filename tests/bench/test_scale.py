"""The scale benchmark with real processes, briefly."""

from __future__ import annotations

import pytest

from gcom.bench.latency.turns import AgeSpread, LatencyResult, LatencySetup, LatencyTurn
from gcom.bench.scale.sizes import ScaleResult, ScaleSetup, ScaleStep, measure, parse_sizes
from gcom.bench.throughput.turns import Side, Turn, TurnMember
from gcom.errors import BadValue
from gcom.values.definition import Definition


@pytest.mark.soak  # the page of all benches measures it daily
def test_each_size_is_measured() -> None:
    told: list[str] = []
    setup = ScaleSetup(Definition("bench"), 3, (2, 3), 100, 50.0, 0.3)
    outcome = ScaleResult(setup, tuple(measure(setup, told.append)))
    assert outcome.wrong == []
    rows = [step.row(setup) for step in outcome.steps]
    assert [(row["members"], row["ok"]) for row in rows] == [(2, True), (3, True)]
    assert all(step.deliveries_per_s > 0 and step.single.p50 > 0 for step in outcome.steps)
    assert len(told) == 2


def _step(members: int, rate: float) -> ScaleStep:
    processes = tuple(TurnMember(1, f"m{place}", rate, 0, 1.0, 1) for place in range(members))
    latency = LatencySetup(Definition("bench"), members, 1, 10, 100, 1.0)
    turn = LatencyTurn(AgeSpread(1.0, 2.0), AgeSpread(1.0, 2.0), None, {}, {}, {}, 0, ())
    return ScaleStep(members, Side((Turn("gcom", processes, (), 1, ()),)), LatencyResult(latency, (turn,), {}))


def test_the_ratio_is_of_all_deliveries() -> None:
    setup = ScaleSetup(Definition("bench"), 32, (2, 3, 16, 32), 100, 50.0, 0.3)
    steps = tuple(_step(members, rate) for members, rate in ((2, 900.0), (3, 800.0), (16, 75.0), (32, 1.0)))
    assert ScaleResult(setup, steps).ratio == (16 * 75) / (3 * 800)
    assert ScaleResult(setup, steps[:2]).ratio is None


def test_sizes_are_a_list_of_numbers() -> None:
    assert parse_sizes("2, 8,8,3") == (2, 8, 3)
    for text in ("", "1", "3,", "three"):
        with pytest.raises(BadValue, match="from 2 on"):
            parse_sizes(text)
