"""Runs of seeds: what `gcom sim` does, and what a test of many seeds does."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path

from gcom.sim.checkers import Violation
from gcom.sim.plan import draw
from gcom.sim.world import World


@dataclass(frozen=True, slots=True)
class Result:
    """One seed's run. `violation` is empty if every promise held; `digest` identifies the run, event by event."""

    seed: int
    plan: dict[str, object]
    messages: int
    deliveries: int
    views: int
    faults: dict[str, int]
    simulated_ms: int
    digest: str
    violation: str

    def row(self) -> dict[str, object]:
        """For --json."""
        return {"type": "run", "ok": not self.violation, **asdict(self)}


def run_seed(seed: int, log_dir: Path | None = None) -> Result:
    """Run one seed; a violation is in the result, a defect of the simulator is raised."""
    world = World(draw(seed), log_dir)
    violation = ""
    try:
        world.run()
    except Violation as found:
        violation = str(found)
        world.close_logs()
    checkers = world.checkers.values()
    return Result(
        seed,
        world.plan.describe(),
        sum(checker.messages for checker in checkers),
        sum(checker.deliveries for checker in checkers),
        sum(checker.views for checker in checkers),
        dict(sorted(world.faults.items())),
        world.now_ms,
        world.digest,
        violation,
    )


def run_seeds(seeds: range, log_dir: Path | None = None, jobs: int = 1) -> Iterator[Result]:
    """Run seeds in their order, `jobs` at a time; logs go to `log_dir`/<seed>."""
    folders = [log_dir / str(seed) if log_dir else None for seed in seeds]
    if jobs == 1:
        yield from map(run_seed, seeds, folders)
        return
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        yield from pool.map(run_seed, seeds, folders, chunksize=4)
