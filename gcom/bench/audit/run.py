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
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, suppress
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from threading import Event, Thread
from time import monotonic

from gcom.bench.audit.logs import LogPlan, write_member
from gcom.bench.frame import MEBIBYTE, BenchResult, BenchTable, JsonRow, Tell, filled
from gcom.bench.processes import usage
from gcom.bench.settings import START_DELIVERIES, AuditBenchSetup
from gcom.errors import Unavailable
from gcom.values.definition import Ordering

SAMPLE_S = 0.1  # a peak of memory that is shorter is missed; a sample costs a millisecond
COLUMNS = {
    "deliveries": "{deliveries:,}",
    "records": "{records:,}",
    "log MiB": "{log_mib:,.0f}",
    "seconds": "{seconds:,.1f}",
    "deliveries/s": "{deliveries_per_s:,}",
    "peak MiB": "{peak_mib:,.0f}",
    "shuffled": "{shuffled:.4%}",
    "verdict": "{verdict}",
}
TRIALS = 3  # the median of three: one that was disturbed does not count


def measure(setup: AuditBenchSetup, tell: Tell) -> Iterator[BenchResult]:
    """Measure the start-up, then the whole; with `twice` half of it between them, and each three times.

    Raises Unavailable.
    """
    sizes = [START_DELIVERIES, setup.deliveries]
    if setup.twice:
        sizes = [size for size in (START_DELIVERIES, setup.deliveries // 2, setup.deliveries) for _ in range(TRIALS)]
    trials: list[JsonRow] = []
    with tempfile.TemporaryDirectory(prefix="gcom-audit-") as scratch:
        for size in sizes:
            folder = Path(scratch) / str(size)
            if not folder.exists():
                tell(f"writing logs of {size:,} deliveries")
                records = _write(folder, setup, size)
            tell(f"auditing {size:,} deliveries")
            trials.append(_audit(folder, setup, size, records))
            yield _result(setup, trials[-1])
    if setup.twice:
        times = growth(trials)
        shown = f"x {times:.2f}" if times else "-"
        notes = (
            () if times else ("half of the input takes no longer than the start-up: measure with more --deliveries",)
        )
        row = {"twice_the_input": times and round(times, 2)}
        yield BenchResult(
            row, [BenchTable(_title(setup), [*COLUMNS], [("twice the input", "", "", shown)])], notes=notes
        )


def _result(setup: AuditBenchSetup, trial: JsonRow) -> BenchResult:
    # A broken log that passes is as wrong as a sound one that fails.
    expected, verdict = "FAIL" if setup.broken else "PASS", trial["verdict"]
    wrong = [] if verdict == expected else [f"the audit says {verdict} of logs that are to {expected}"]
    sizes = {"log_mib": trial["log_bytes"] / MEBIBYTE, "peak_mib": trial["peak_bytes"] / MEBIBYTE}
    return BenchResult(trial, [filled(_title(setup), COLUMNS, [trial | sizes])], wrong)


def _title(setup: AuditBenchSetup) -> str:
    return f"The audit of {setup.members} members' logs, runs of {setup.run_length} on average"


def growth(trials: Sequence[JsonRow]) -> float | None:
    """Return the ratio of the times for the whole input and for half of it, each without the start-up (medians).

    None where half takes less than twice the start-up, whose noise would then be most of the difference.
    """
    sizes = sorted({trial["deliveries"] for trial in trials})
    # Without the start-up, which is alike for both: with it twice the input would seem to take less than twice the
    # time.
    start, half, whole = (median(it["seconds"] for it in trials if it["deliveries"] == size) for size in sizes)
    return None if half < 2 * start else (whole - start) / (half - start)


def _write(folder: Path, setup: AuditBenchSetup, deliveries: int) -> int:
    """Write the logs; return the number of records."""
    plan = LogPlan(setup.members, deliveries, setup.run_length, Ordering(setup.ordering), setup.broken)
    # By all cores, as writing is not what is measured. Spawned: a fork would copy locks that other threads hold.
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as pool:
        counts = [pool.submit(write_member, folder, plan, index) for index in range(plan.members)]
        return sum(count.result() for count in counts)


def _audit(folder: Path, setup: AuditBenchSetup, deliveries: int, records: int) -> JsonRow:
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
        size = sum(path.stat().st_size for path in folder.rglob("*.jsonl"))
        return {
            "deliveries": deliveries,
            "records": records,
            "log_bytes": size,
            "seconds": round(seconds, 2),
            "deliveries_per_s": round(deliveries / seconds),
            "peak_bytes": peak[0],
            "shuffled": round(_shuffled(home / "events") / size, 6),  # a fraction of the input
            "verdict": json.loads((home / "audit.json").read_text())["verdict"],
        }


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
