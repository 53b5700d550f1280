"""The bench of TLS with real processes, briefly, and what its figures mean."""

from __future__ import annotations

import pytest

from gcom.bench.security.tls import JOINS, SIDES, result
from gcom.bench.settings import TlsBenchSetup
from gcom.errors import BadValue

RATES = {"plain": [100.0], "tls": [75.0], "signed": [37.5]}
P50S = {"plain": [1.0], "tls": [1.5], "signed": [3.0]}
JOINED = {"plain": [1.0], "tls": [100.0], "signed": [100.0]}


@pytest.mark.soak
def test_all_sides_take_turns_and_nothing_is_lost() -> None:
    heard: list[str] = []
    (found,) = TlsBenchSetup(members=2, rounds=1, seconds=0.5).measure(heard.append)
    assert found.wrong == []
    counts = {"messages_per_s": 1, "p50_ms": 1, "join_ms": JOINS, "connect_ms": JOINS}
    for side in SIDES:
        turns = found.row["turns"][side]
        assert {key: len(values) for key, values in turns.items()} == counts
        assert min(turns["join_ms"] + turns["connect_ms"]) > 0
    assert [line.rpartition(" ")[2] for line in heard] == [*SIDES, *SIDES]


@pytest.mark.parametrize(
    ("rates", "p50s", "joined", "met"),
    [
        ({}, {}, {}, True),
        ({"tls": [74.0]}, {}, {}, False),
        ({}, {"tls": [1.6]}, {}, False),
        ({}, {}, {"tls": [101.0]}, False),
        ({"signed": [37.0]}, {}, {}, False),
        ({}, {"signed": [3.1]}, {}, False),
    ],
)
def test_a_figure_is_reached_or_missed(
    rates: dict[str, list[float]], p50s: dict[str, list[float]], joined: dict[str, list[float]], met: bool
) -> None:
    assert result(TlsBenchSetup(), RATES | rates, P50S | p50s, JOINED | joined, RATES, []).row["met"] is met


def test_what_cannot_be_measured_is_refused() -> None:
    with pytest.raises(BadValue, match="rounds must be 1 to 100; got 0"):
        TlsBenchSetup(rounds=0)
