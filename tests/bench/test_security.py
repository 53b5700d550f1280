"""The benches of TLS and of hostile connections with real processes, briefly, and what their figures mean."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from dataclasses import replace

import pytest

from gcom.bench.security import attacker, hostile, tls
from gcom.bench.security.attacker import HostileConnection, client_hello
from gcom.errors import BadValue
from gcom.values.definition import Definition

KIND = Definition("bench", "FIFO")
TLS = tls.TlsBenchSetup(KIND, 2, 100, 1_000.0, 1, 0.5)
ATTACKED = hostile.HostileBenchSetup(KIND, 2, 40, 200.0, 1)
RATES = {"plain": [100.0], "tls": [75.0], "signed": [37.5]}
P50S = {"plain": [1.0], "tls": [1.5], "signed": [3.0]}
JOINS = {"plain": [1.0], "tls": [100.0], "signed": [100.0]}
REACHED = tls.TlsBenchResult(TLS, RATES, P50S, JOINS, RATES, [])
BORNE = hostile.HostileBenchResult(ATTACKED, (1.0,), (101.0,), 50, 10, 40, ())


@pytest.mark.slow
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


@pytest.mark.slow
def test_honest_members_go_on_beside_hostile_connections() -> None:
    outcome = hostile.measure(ATTACKED)
    assert outcome.wrong == ()
    assert (len(outcome.quiet_ms), len(outcome.attacked_ms)) == (1, 1)
    assert outcome.most == ATTACKED.connections
    assert outcome.dialled >= ATTACKED.connections


@pytest.mark.parametrize(
    ("outcome", "met"),
    [
        (REACHED, True),
        (replace(REACHED, rates=RATES | {"tls": [74.0]}), False),
        (replace(REACHED, p50s_ms=P50S | {"tls": [1.6]}), False),
        (replace(REACHED, joins_ms=JOINS | {"tls": [101.0]}), False),
        (replace(REACHED, rates=RATES | {"signed": [37.0]}), False),
        (replace(REACHED, p50s_ms=P50S | {"signed": [3.1]}), False),
        (BORNE, True),
        (replace(BORNE, attacked_ms=(101.1,)), False),
    ],
)
def test_a_figure_is_reached_or_missed(outcome: tls.TlsBenchResult | hostile.HostileBenchResult, met: bool) -> None:
    assert outcome.row()["met"] is met


def test_what_cannot_be_measured_is_refused() -> None:
    with pytest.raises(BadValue, match="rounds 0 is not"):
        replace(TLS, rounds=0)
    with pytest.raises(BadValue, match="connections 0 is not"):
        replace(ATTACKED, connections=0)


@pytest.fixture
def listening() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


@pytest.mark.parametrize("kind", attacker.KINDS)
def test_each_kind_of_connection_does_what_it_is_named_for(listening: socket.socket, kind: str) -> None:
    hello = client_hello()
    it = HostileConnection(kind, "{}:{}".format(*listening.getsockname()), hello)
    assert it.dial(0.0) is not None
    server, _ = listening.accept()
    with server:
        for now in (0.0, 0.02, 0.5, 1.0, 1.02, 2.0):
            it.speak(now)
        it.end()
        said = b"".join(iter(lambda: server.recv(65536), b""))
    expected = {"silent": b"", "half": hello[: len(hello) // 2], "trickle": hello[:3], "garbage": attacker.GARBAGE}
    assert said == expected[kind]
