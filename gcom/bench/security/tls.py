"""TLS beside plain loopback, in turns within one run: throughput, latency at a steady rate, and joining.

A machine that others use too is faster at one time than at another, so a turn without TLS is followed by one with it;
each figure is the ratio of the two sides' medians.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Annotated

from gcom.bench.benchmark import BenchSetup, Between, Told
from gcom.bench.latency import turns as pacing
from gcom.bench.latency.turns import LatencySetup
from gcom.bench.processes.children import START_S, Children
from gcom.bench.security import certificates
from gcom.bench.security.joiner import NAME as JOINER
from gcom.bench.throughput import turns as loading
from gcom.bench.throughput.load import SIZE_MAX, SIZE_MIN
from gcom.bench.throughput.turns import OURS, ThroughputSetup

THROUGHPUT_LEAST = 0.75  # with TLS ÷ without
P50_MOST = 1.5
JOIN_MS_MOST = 100.0
JOINS = 5  # in each turn
PLAIN, TLS = "plain", "tls"


@dataclass(frozen=True, slots=True)
class TlsBenchSetup(BenchSetup):
    """All `members` send in the turns of throughput, and one at `rate` in those of latency. `seconds`: of a turn."""

    size: Annotated[int, Between(SIZE_MIN, SIZE_MAX)]
    rate: Annotated[float, Between(1, 100_000)]
    rounds: Annotated[int, Between(1, 100)]
    seconds: Annotated[float, Between(0.5, 600.0)]

    @property
    def throughput(self) -> ThroughputSetup:
        return ThroughputSetup(self.definition, self.members, self.members, self.size, self.seconds)

    @property
    def latency(self) -> LatencySetup:
        return LatencySetup(self.definition, self.members, 1, self.rate, self.size, 1.0)


@dataclass(frozen=True, slots=True)
class TlsBenchResult:
    """By side, `plain` and `tls`: messages a second, p50 in ms, and times of joining in ms, each by turn."""

    setup: TlsBenchSetup
    rates: dict[str, list[float]]
    p50s_ms: dict[str, list[float]]
    joins_ms: dict[str, list[float]]
    connects_ms: dict[str, list[float]]
    wrong: list[str]

    @property
    def rows(self) -> list[tuple[str, float, float, bool]]:
        """The figures: name, value, the value to reach, and whether it is reached."""
        throughput, p50 = _ratio(self.rates), _ratio(self.p50s_ms)
        join_ms = median(self.joins_ms[TLS])
        return [
            ("throughput, TLS ÷ plain", throughput, THROUGHPUT_LEAST, throughput >= THROUGHPUT_LEAST),
            (f"p50 at {self.setup.rate:,.0f}/s, TLS ÷ plain", p50, P50_MOST, p50 <= P50_MOST),
            ("join over TLS, ms", join_ms, JOIN_MS_MOST, join_ms <= JOIN_MS_MOST),
        ]

    def row(self) -> dict[str, object]:
        """Return the result as one object of plain values."""
        (_, throughput, *_), (_, p50, *_), (_, join_ms, *_) = self.rows
        return {
            **self.setup.row("tls"),
            "size": self.setup.size,
            "rate": self.setup.rate,
            "rounds": self.setup.rounds,
            "ok": not self.wrong,
            "wrong": self.wrong,
            "throughput_ratio": round(throughput, 3),
            "p50_ratio": round(p50, 3),
            "join_ms": round(join_ms, 1),
            "turns": {
                side: {
                    "messages_per_s": [round(it) for it in self.rates[side]],
                    "p50_ms": [round(it, 3) for it in self.p50s_ms[side]],
                    "join_ms": [round(it, 1) for it in self.joins_ms[side]],
                    "connect_ms": [round(it, 1) for it in self.connects_ms[side]],
                }
                for side in (PLAIN, TLS)
            },
            "to_reach": {"throughput_ratio": THROUGHPUT_LEAST, "p50_ratio": P50_MOST, "join_ms": JOIN_MS_MOST},
            "met": all(met for *_, met in self.rows),
        }


def _ratio(values: Mapping[str, list[float]]) -> float:
    return median(values[TLS]) / median(values[PLAIN])


def measure(setup: TlsBenchSetup, told: Told = lambda _text: None) -> TlsBenchResult:
    """Take all turns. Raises Unavailable or GComTimeout if a process fails."""
    wrong: list[str] = []
    result = TlsBenchResult(setup, _sides(), _sides(), _sides(), _sides(), wrong)
    with tempfile.TemporaryDirectory(prefix="gcom-bench-") as folder:
        files = certificates.issued(Path(folder), [*setup.names, JOINER])
        sides: dict[str, dict[str, str]] = {PLAIN: {}, TLS: certificates.environment(files)}
        # One after the other: throughput keeps all processors busy, and would be measured as latency.
        wrong += _throughput(setup, sides, result, told)
        wrong += _latency(setup, sides, result, told)
    return result


def _sides() -> dict[str, list[float]]:
    return {PLAIN: [], TLS: []}


def _throughput(
    setup: TlsBenchSetup, sides: Mapping[str, Mapping[str, str]], result: TlsBenchResult, told: Told
) -> Iterator[str]:
    """Take the turns of throughput; yield what was wrong."""
    for number in range(1, setup.rounds + 1):
        for side, environment in sides.items():
            turn = loading.take_turn(setup.throughput, OURS, number, environment=environment)
            told(f"round {number} of {setup.rounds}: {side}, {turn.rate:,.0f} messages/s")
            result.rates[side].append(turn.rate)
            yield from (f"{side}: {what}" for what in turn.wrong)


def _latency(
    setup: TlsBenchSetup, sides: Mapping[str, Mapping[str, str]], result: TlsBenchResult, told: Told
) -> Iterator[str]:
    """Take the turns of latency and joining, with the processes of both sides alive; yield what was wrong."""
    with ExitStack() as stack:
        running = {side: stack.enter_context(Children(environment)) for side, environment in sides.items()}
        for children in running.values():
            registry = pacing.start(children, setup.latency)
            children.start(JOINER, "gcom.bench.security.joiner", *setup.words(registry))
            children.gather("ready", [JOINER], START_S)
            pacing.take_turn(children, setup.latency)  # not counted: connections are made, code is warm
            _join(children)
        for number in range(1, setup.rounds + 1):
            for side, children in running.items():
                turn = pacing.take_turn(children, setup.latency)
                told(f"round {number} of {setup.rounds}: {side}, p50 {turn.slowest.p50:.3f} ms")
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
