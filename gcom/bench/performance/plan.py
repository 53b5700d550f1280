"""Everything that `gcom bench all` measures, one after the other, and what came of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from gcom.bench.benchmark import Tell
from gcom.bench.failover import trials as failover_trials
from gcom.bench.failover.scenario import Scenario
from gcom.bench.failover.trials import FailoverResult, FailoverSetup, Kill
from gcom.bench.idle import cost as idle_cost
from gcom.bench.idle.cost import IdleResult, IdleSetup
from gcom.bench.latency import turns as latency_turns
from gcom.bench.latency.turns import LatencyResult, LatencySetup
from gcom.bench.sessions import measuring as sessions_bench
from gcom.bench.sessions.measuring import SessionBenchResult, SessionBenchSetup
from gcom.bench.throughput import turns as throughput_turns
from gcom.bench.throughput.turns import ThroughputResult, ThroughputSetup
from gcom.values.definition import Definition, Multicast, Ordering

MEMBERS = 3
FIFO = Definition("bench")
TOTAL = Definition("bench", Ordering.TOTAL)
SAFE = Definition("bench", Ordering.TOTAL, Multicast.RELIABLE, safe=True)
PACED = 1_000.0  # messages per second, of all senders
LARGE = ((64 * 1024, 50.0), (1024 * 1024, 5.0))  # bytes of a message, messages per second
IDLE = ((3, 1), (5, 20))  # members, and groups that all of them are in


@dataclass(frozen=True, slots=True)
class PerformancePlan:
    """The setups of all measurements; `failover` and `sessions` are None where there is no time for them."""

    single: tuple[LatencySetup, ...]
    idle: tuple[IdleSetup, ...]
    floods: tuple[ThroughputSetup, ...]
    failover: FailoverSetup | None
    sessions: SessionBenchSetup | None = None


@dataclass(frozen=True, slots=True)
class Findings:
    """The results of all measurements."""

    single: tuple[LatencyResult, ...]
    idle: tuple[IdleResult, ...]
    floods: tuple[ThroughputResult, ...]
    failover: tuple[FailoverResult, ...]
    sessions: SessionBenchResult | None = None

    @property
    def wrong(self) -> list[str]:
        single = [what for result in self.single for what in result.wrong]
        floods = [what for result in self.floods for what in result.wrong]
        stuck = [f"{it.failed} groups did not go on: {it.kill} killed" for it in self.failover if it.failed]
        return [*single, *floods, *stuck]

    def rows(self) -> Iterator[dict[str, object]]:
        yield from (it.row() for it in self.single)
        yield from (it.row() for it in self.idle)
        yield from (it.row() for it in self.floods)
        yield from (it.row() for it in self.failover)
        if self.sessions:
            yield self.sessions.row()


def plan(quick: bool) -> PerformancePlan:
    """Return what is measured: in a quarter of an hour, or `quick` in about three minutes."""
    seconds = 3.0 if quick else 20.0
    single = [LatencySetup(kind, MEMBERS, 1, PACED, 100, seconds, "pyro") for kind in (FIFO, TOTAL, SAFE)]
    single.insert(1, replace(single[0], loop=True))
    single += [LatencySetup(FIFO, MEMBERS, 1, rate, size, seconds / 2, "pyro") for size, rate in LARGE]
    idle = tuple(IdleSetup(FIFO, members, groups, seconds) for members, groups in IDLE)
    floods = [_flood(kind, size, quick) for kind in (FIFO, TOTAL) for size in (100, 1024)]
    floods += [_flood(FIFO, 100, quick, senders=1), _flood(FIFO, 100, quick, "tcp"), _flood(FIFO, 1024, quick, "tcp")]
    kills = None if quick else FailoverSetup(TOTAL, 5, 5, tuple(Kill))
    sessions = SessionBenchSetup(2_000 if quick else 20_000)
    return PerformancePlan(tuple(single), idle, tuple(floods), kills, sessions)


def _flood(
    kind: Definition, size: int, quick: bool, baseline: str = "frames", senders: int = MEMBERS
) -> ThroughputSetup:
    return ThroughputSetup(kind, MEMBERS, senders, size, 1.5 if quick else 10.0, baseline)


def measure(wanted: PerformancePlan, tell: Tell = lambda _text: None) -> Findings:
    """Measure everything; `tell` hears of each part. Raises Unavailable or GComTimeout when a process fails."""
    return Findings(
        tuple(_single(setup, tell) for setup in wanted.single),
        tuple(idle_cost.measure(setup, tell) for setup in wanted.idle),
        tuple(_flooded(setup, tell) for setup in wanted.floods),
        tuple(_killed(wanted.failover, tell)) if wanted.failover else (),
        sessions_bench.measure(wanted.sessions, tell) if wanted.sessions else None,
    )


def _single(setup: LatencySetup, tell: Tell) -> LatencyResult:
    result = latency_turns.measure(setup)
    tell(f"{setup.label}, {setup.size} B, {setup.rate:g} messages/s: p50 {result.p50:.3f} ms")
    return result


def _flooded(setup: ThroughputSetup, tell: Tell) -> ThroughputResult:
    result = throughput_turns.measure(setup)
    tell(f"{setup.kind}, {setup.size} B, beside {setup.baseline}: {result.ours.rate:,.0f} messages/s")
    return result


def _killed(setup: FailoverSetup, tell: Tell) -> Iterator[FailoverResult]:
    with Scenario() as scenario:
        yield from failover_trials.measure(setup, scenario, tell)
