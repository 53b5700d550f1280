"""TLS beside plain loopback, and signed runs beside TLS, in turns within one run: throughput, latency, and joining.

A machine that others use too is faster at one time than at another, so a turn without TLS is followed by one with it,
and that by one of a signed group; each figure is the ratio of two sides' medians.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Annotated

from gcom.bench.benchmark import BenchSetup, Between, Bounded, Tell, figure_fields
from gcom.bench.latency import turns as latency_turns
from gcom.bench.latency.turns import LatencySetup
from gcom.bench.processes.children import START_S, Children
from gcom.bench.security import certificates
from gcom.bench.security.joiner import NAME as JOINER
from gcom.bench.throughput import turns as throughput_turns
from gcom.bench.throughput.load import SIZE_MAX, SIZE_MIN
from gcom.bench.throughput.turns import OURS, ThroughputSetup
from gcom.values.definition import Definition

THROUGHPUT_LEAST = 0.75  # with TLS ÷ without
P50_MOST = 1.5  # with TLS ÷ without
JOIN_MS_MOST = 100.0  # median, over TLS
JOINS = 5  # in each turn
SIGNED_LEAST = 0.5  # of the throughput with TLS
SIGNED_P50_MOST = 2.0  # of the p50 with TLS
PLAIN, TLS, SIGNED = "plain", "tls", "signed"
SIDES = (PLAIN, TLS, SIGNED)


@dataclass(frozen=True, slots=True)
class TlsBenchSetup(BenchSetup):
    """All `members` send in the turns of throughput, and one at `rate` in those of latency. `seconds`: of a turn."""

    size: Annotated[int, Between(SIZE_MIN, SIZE_MAX)]
    rate: Annotated[float, Between(1, 100_000)]
    rounds: Annotated[int, Between(1, 100)]
    seconds: Annotated[float, Between(0.5, 600.0)]

    def throughput(self, side: str) -> ThroughputSetup:
        return ThroughputSetup(self._group(side), self.members, self.members, self.size, self.seconds)

    def latency(self, side: str) -> LatencySetup:
        return LatencySetup(self._group(side), self.members, 1, self.rate, self.size, 1.0)

    def _group(self, side: str) -> Definition:
        return replace(self.definition, signed=side == SIGNED)


@dataclass(frozen=True, slots=True)
class TlsBenchResult:
    """Messages per second, p50 in ms, and times of joining in ms, each by turn.

    The sides are `plain`, `tls`, and `signed`, which is a signed group with TLS.
    """

    setup: TlsBenchSetup
    rates: dict[str, list[float]]
    p50s_ms: dict[str, list[float]]
    joins_ms: dict[str, list[float]]
    connects_ms: dict[str, list[float]]
    wrong: list[str]

    @property
    def figures(self) -> list[Bounded]:
        signed, at = _ratio(self.rates, SIGNED, TLS), f"p50 at {self.setup.rate:,.0f}/s"
        return [
            Bounded("throughput_ratio", "throughput, TLS ÷ plain", _ratio(self.rates), THROUGHPUT_LEAST, least=True),
            Bounded("p50_ratio", f"{at}, TLS ÷ plain", _ratio(self.p50s_ms), P50_MOST),
            Bounded("join_ms", "join over TLS, ms", median(self.joins_ms[TLS]), JOIN_MS_MOST, digits=1),
            Bounded("signed_throughput_ratio", "throughput, signed ÷ TLS", signed, SIGNED_LEAST, least=True),
            Bounded("signed_p50_ratio", f"{at}, signed ÷ TLS", _ratio(self.p50s_ms, SIGNED, TLS), SIGNED_P50_MOST),
        ]

    def row(self) -> dict[str, object]:
        return {
            **self.setup.row("tls"),
            "size": self.setup.size,
            "rate": self.setup.rate,
            "rounds": self.setup.rounds,
            "ok": not self.wrong,
            "wrong": self.wrong,
            "turns": {
                side: {
                    "messages_per_s": [round(it) for it in self.rates[side]],
                    "p50_ms": [round(it, 3) for it in self.p50s_ms[side]],
                    "join_ms": [round(it, 1) for it in self.joins_ms[side]],
                    "connect_ms": [round(it, 1) for it in self.connects_ms[side]],
                }
                for side in SIDES
            },
            **figure_fields(self.figures),
        }


def _ratio(values: Mapping[str, list[float]], side: str = TLS, to: str = PLAIN) -> float:
    return median(values[side]) / median(values[to])


def measure(setup: TlsBenchSetup, tell: Tell = lambda _text: None) -> TlsBenchResult:
    """Take all turns. Raises Unavailable or GComTimeout if a process fails."""
    wrong: list[str] = []
    result = TlsBenchResult(setup, _sides(), _sides(), _sides(), _sides(), wrong)
    with tempfile.TemporaryDirectory(prefix="gcom-bench-") as folder:
        files = certificates.issued(Path(folder), [*setup.names, JOINER])
        secure = certificates.environment(files)
        sides: dict[str, dict[str, str]] = {PLAIN: {}, TLS: secure, SIGNED: secure}
        # One after the other: throughput keeps all processors busy, and would be measured as latency.
        # Both are generators: they measure while `+=` reads them.
        wrong += _throughput(setup, sides, result, tell)
        wrong += _latency(setup, sides, result, tell)
    return result


def _sides() -> dict[str, list[float]]:
    return {side: [] for side in SIDES}


def _throughput(
    setup: TlsBenchSetup, sides: Mapping[str, Mapping[str, str]], result: TlsBenchResult, tell: Tell
) -> Iterator[str]:
    """Take the turns of throughput; yield what was wrong."""
    for number in range(1, setup.rounds + 1):
        for side, environment in sides.items():
            turn = throughput_turns.take_turn(setup.throughput(side), OURS, number, environment=environment)
            tell(f"round {number} of {setup.rounds}: {side}, {turn.rate:,.0f} messages/s")
            result.rates[side].append(turn.rate)
            yield from (f"{side}: {what}" for what in turn.wrong)


def _latency(
    setup: TlsBenchSetup, sides: Mapping[str, Mapping[str, str]], result: TlsBenchResult, tell: Tell
) -> Iterator[str]:
    """Take the turns of latency and joining, with the processes of both sides alive; yield what was wrong."""
    with ExitStack() as stack:
        running = {side: stack.enter_context(Children(environment)) for side, environment in sides.items()}
        for side, children in running.items():
            paced = setup.latency(side)
            registry = latency_turns.start(children, paced)
            children.start(JOINER, "gcom.bench.security.joiner", *paced.words(registry))
            children.gather("ready", [JOINER], START_S)
            latency_turns.take_turn(children, paced)  # not counted: connections are made, code is warm
            _join(children)
        for number in range(1, setup.rounds + 1):
            for side, children in running.items():
                turn = latency_turns.take_turn(children, setup.latency(side))
                tell(f"round {number} of {setup.rounds}: {side}, p50 {turn.slowest.p50:.3f} ms")
                result.p50s_ms[side].append(turn.slowest.p50)
                yield from (f"{side}: {what}" for what in turn.wrong)
                for _ in range(JOINS):
                    connect_s, join_s = _join(children)
                    result.connects_ms[side].append(connect_s * 1000)
                    result.joins_ms[side].append(join_s * 1000)


def _join(children: Children) -> tuple[float, float]:
    """Have the joiner join and leave; return the seconds that connecting and joining took."""
    children.tell(JOINER, "join")
    report = children.gather("joined", [JOINER], START_S)[JOINER]
    return report["connect_s"], report["join_s"]
