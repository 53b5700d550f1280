"""The cost of an audit: logs of a group are made, and `gcom audit` judges them in a process of its own.

Resident memory is that of all its processes together (Java's and Python's), sampled ten times a second; the number of
bytes that Spark shuffled is taken from its event log.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from threading import Event, Thread
from time import monotonic
from typing import Annotated

from gcom.bench.audit.logs import LogPlan, write_member
from gcom.bench.benchmark import BenchSetup, Between, Tell
from gcom.bench.processes import usage
from gcom.errors import Unavailable
from gcom.values import limits

SAMPLE_S = 0.1  # a peak of memory that is shorter is missed; a sample costs a millisecond
START_DELIVERIES = 10_000  # the input by which the start-up is measured
TRIALS = 3  # the median of three: one that was disturbed does not count


@dataclass(frozen=True, slots=True)
class AuditBenchSetup(BenchSetup):
    """The logs to make and to judge. `twice` measures half the input too, each three times."""

    deliveries: Annotated[int, Between(1_000, 10**9)]
    run_length: Annotated[int, Between(1, limits.RUN_MESSAGES_MAX)]
    twice: bool = False
    broken: bool = False
    spark: bool = False  # else the engine that the command chooses

    def refusal(self) -> str:
        if self.twice and self.deliveries < 4 * START_DELIVERIES:
            return f"to be measured twice, deliveries {self.deliveries} is not at least {4 * START_DELIVERIES}"
        ordering = self.definition.ordering
        if self.broken and not (ordering.is_fifo or ordering.is_total):
            return f"a {ordering} group promises no order that a late delivery could break"
        return ""

    def plan(self, deliveries: int) -> LogPlan:
        return LogPlan(self.members, deliveries, self.run_length, self.definition.ordering, self.broken)


@dataclass(frozen=True, slots=True)
class AuditBenchResult:
    """The measurements of one audit: seconds, peak resident bytes, bytes read and shuffled, and its verdict."""

    deliveries: int
    records: int
    log_bytes: int
    seconds: float
    peak_bytes: int
    shuffle_bytes: int
    verdict: str

    def row(self) -> dict[str, object]:
        """Return the result as one object of plain values; `shuffled` is a fraction of the input."""
        return {
            "deliveries": self.deliveries,
            "records": self.records,
            "log_bytes": self.log_bytes,
            "seconds": round(self.seconds, 2),
            "deliveries_per_s": round(self.deliveries / self.seconds),
            "peak_bytes": self.peak_bytes,
            "shuffled": round(self.shuffle_bytes / self.log_bytes, 6),
            "verdict": self.verdict,
        }


def measure(setup: AuditBenchSetup, tell: Tell) -> Iterator[AuditBenchResult]:
    """Measure the start-up, then the whole; with `twice` half of it between them, and each three times.

    Raises Unavailable.
    """
    usage.resident_bytes(os.getpid())  # without psutil it raises now, not after the logs are written
    sizes = [START_DELIVERIES, setup.deliveries]
    if setup.twice:
        sizes = [size for size in (START_DELIVERIES, setup.deliveries // 2, setup.deliveries) for _ in range(TRIALS)]
    with tempfile.TemporaryDirectory(prefix="gcom-audit-") as scratch:
        records: dict[int, int] = {}
        for size in sizes:
            folder = Path(scratch) / str(size)
            if size not in records:
                tell(f"writing logs of {size:,} deliveries")
                records[size] = _write(folder, setup.plan(size))
            tell(f"auditing {size:,} deliveries")
            yield _audit(folder, setup, size, records[size])


def growth(outcomes: list[AuditBenchResult]) -> float | None:
    """Return the ratio of the times for the whole input and for half of it, each without the start-up (medians).

    None where half takes less than twice the start-up, whose noise would then be most of the difference.
    """
    sizes = sorted({outcome.deliveries for outcome in outcomes})
    # Without the start-up, which is alike for both: with it twice the input would seem to take less than twice the
    # time.
    start, half, whole = (median(each.seconds for each in outcomes if each.deliveries == size) for size in sizes)
    return None if half < 2 * start else (whole - start) / (half - start)


def _write(folder: Path, plan: LogPlan) -> int:
    # By all cores, as writing is not what is measured. Spawned: a fork would copy locks that other threads hold.
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as pool:
        counts = [pool.submit(write_member, folder, plan, index) for index in range(plan.members)]
        return sum(count.result() for count in counts)


def _audit(folder: Path, setup: AuditBenchSetup, deliveries: int, records: int) -> AuditBenchResult:
    with tempfile.TemporaryDirectory(prefix="gcom-audit-") as scratch:
        home = Path(scratch)
        # By SPARK_CONF_DIR: the command has no option for an event log, and its users need none.
        _configure(home)
        words = [sys.executable, "-m", "gcom.cli", "audit", str(folder), "--json", str(home / "audit.json")]
        # Twice by one engine: else the start-up that is subtracted would be another program's.
        words += ["--spark"] if setup.spark or setup.twice else []
        began = monotonic()
        # A file and no pipe: nobody reads while the audit runs, and a full pipe would stop it.
        with (home / "said").open("wb") as said:
            # A process of its own, from its start to its verdict, as a user has it: imports, Java and all.
            child = subprocess.Popen(words, stdout=said, stderr=said, env={**os.environ, "SPARK_CONF_DIR": str(home)})
            with _watched(child.pid) as peak:
                child.wait()
        seconds = monotonic() - began
        if not (home / "audit.json").exists():
            raise Unavailable(f"the audit failed: {(home / 'said').read_text(errors='replace').strip()[-500:]}")
        verdict = json.loads((home / "audit.json").read_text())["verdict"]
        size = sum(path.stat().st_size for path in folder.rglob("*.jsonl"))
        return AuditBenchResult(deliveries, records, size, seconds, peak[0], _shuffled(home / "events"), verdict)


def _configure(home: Path) -> None:
    """Have Spark write its event log to home/events."""
    (home / "events").mkdir()
    settings = ["spark.eventLog.enabled true", f"spark.eventLog.dir file://{home / 'events'}"]
    # Not compressed, as `_shuffled` reads it as lines of text.
    (home / "spark-defaults.conf").write_text("\n".join([*settings, "spark.eventLog.compress false", ""]))


def _shuffled(events: Path) -> int:
    """Return the bytes written by all shuffles."""
    total = 0
    for path in events.rglob("*"):
        for line in path.read_text(errors="replace").splitlines() if path.is_file() else ():
            # Text first: parsing every event of the log as JSON would take longer than the audit.
            if '"SparkListenerTaskEnd"' in line:
                metrics = json.loads(line).get("Task Metrics") or {}
                total += metrics.get("Shuffle Write Metrics", {}).get("Shuffle Bytes Written", 0)
    return total


@contextmanager
def _watched(process: int) -> Iterator[list[int]]:
    """Yield a list whose one item is the peak of a process's resident bytes, its descendants included."""
    peak, done = [0], Event()

    def sample() -> None:
        while not done.wait(SAMPLE_S):
            with suppress(Unavailable):  # one of them has just ended
                peak[0] = max(peak[0], usage.resident_bytes(process, descendants=True))

    watcher = Thread(target=sample, daemon=True)
    watcher.start()
    try:
        yield peak
    finally:
        done.set()
        watcher.join()
