"""Everything that `gcom bench all` measures, one after the other, and the page of what came of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gcom.bench.frame import BenchResult, Setup, Tell
from gcom.bench.performance import page
from gcom.bench.performance.computer import Computer
from gcom.bench.performance.plots import Findings
from gcom.bench.settings import (
    KILLS,
    EverythingSetup,
    FailoverSetup,
    IdleSetup,
    LatencySetup,
    SessionBenchSetup,
    ThroughputSetup,
)
from gcom.values.definition import Ordering

PACED = 1_000.0  # messages per second, of all senders
LARGE = ((64 * 1024, 50.0), (1024 * 1024, 5.0))  # bytes of a message, messages per second
IDLE = ((3, 1), (5, 20))  # members, and groups that all of them are in


def plan(quick: bool) -> dict[str, list[Setup]]:
    """Return what is measured, by section: in a quarter of an hour, or `quick` in about three minutes."""
    seconds = 3.0 if quick else 20.0
    fifo = LatencySetup(rate=PACED, seconds=seconds, baseline="pyro")
    total = replace(fifo, ordering=Ordering.TOTAL)
    single = [fifo, replace(fifo, loop=True), total, replace(total, safe=True)]
    single += [replace(fifo, size=size, rate=rate, seconds=seconds / 2) for size, rate in LARGE]
    flood = ThroughputSetup(seconds=1.5 if quick else 10.0, baseline="frames")
    sizes = [flood, replace(flood, size=1024)]
    floods = [*sizes, *(replace(it, ordering=Ordering.TOTAL) for it in sizes), replace(flood, senders=1)]
    floods += [replace(it, baseline="tcp") for it in sizes]
    return {
        "single": [*single],
        "idle": [IdleSetup(members=members, groups=groups, seconds=seconds) for members, groups in IDLE],
        "floods": [*floods],
        "failover": [] if quick else [FailoverSetup(trials=5, kill=kill) for kill in KILLS],
        "sessions": [SessionBenchSetup(reads=2_000 if quick else 20_000)],
    }


def measure(setup: EverythingSetup, tell: Tell) -> Iterator[BenchResult]:
    """Measure everything, and write the page. Raises Unavailable or GComTimeout when a process fails."""
    machine = Computer.here()  # before the measurement, which is itself a load
    findings: Findings = {}
    for section, setups in plan(setup.quick).items():
        found = findings[section] = []
        for number, each in enumerate(setups, 1):
            tell(f"{section}, {number} of {len(setups)}")
            for result in each.measure():
                found.append((each, result))
                yield result._replace(tables=())
    written = page.write(setup.out, findings, machine, setup.quick)
    yield BenchResult({}, notes=[f"written: {path}" for path in written])
