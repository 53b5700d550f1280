"""The bench of TLS with real processes, briefly, and what their figures mean."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gcom.bench.security import tls
from gcom.errors import BadValue
from gcom.values.definition import Definition

KIND = Definition("bench", "FIFO")
TLS = tls.TlsBenchSetup(KIND, 2, 100, 1_000.0, 1, 0.5)
RATES = {"plain": [100.0], "tls": [75.0], "signed": [37.5]}
P50S = {"plain": [1.0], "tls": [1.5], "signed": [3.0]}
JOINS = {"plain": [1.0], "tls": [100.0], "signed": [100.0]}
REACHED = tls.TlsBenchResult(TLS, RATES, P50S, JOINS, RATES, [])


@pytest.mark.soak
def test_both_sides_take_turns_and_nothing_is_lost() -> None:
    heard: list[str] = []
    outcome = tls.measure(TLS, heard.append)
    assert outcome.wrong == []
    for figures in (outcome.rates, outcome.p50s_ms):
        assert {side: len(found) for side, found in figures.items()} == dict.fromkeys(tls.SIDES, 1)
    for figures in (outcome.joins_ms, outcome.connects_ms):
        assert {side: len(found) for side, found in figures.items()} == dict.fromkeys(tls.SIDES, tls.JOINS)
        assert min(min(found) for found in figures.values()) > 0
    assert [line.split(": ")[1].split(",")[0] for line in heard] == [*tls.SIDES, *tls.SIDES]


@pytest.mark.parametrize(
    ("outcome", "met"),
    [
        (REACHED, True),
        (replace(REACHED, rates=RATES | {"tls": [74.0]}), False),
        (replace(REACHED, p50s_ms=P50S | {"tls": [1.6]}), False),
        (replace(REACHED, joins_ms=JOINS | {"tls": [101.0]}), False),
        (replace(REACHED, rates=RATES | {"signed": [37.0]}), False),
        (replace(REACHED, p50s_ms=P50S | {"signed": [3.1]}), False),
    ],
)
def test_a_figure_is_reached_or_missed(outcome: tls.TlsBenchResult, met: bool) -> None:
    assert outcome.row()["met"] is met


def test_what_cannot_be_measured_is_refused() -> None:
    with pytest.raises(BadValue, match="rounds must be 1 to 100; got 0"):
        replace(TLS, rounds=0)
