"""Runs of many seeds, for `gcom sim` and for tests."""

from __future__ import annotations

import traceback
from collections import deque
from collections.abc import Callable, Generator, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import asdict, dataclass
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import TypeVar

from gcom.errors import GComError
from gcom.sim.checkers import Violation
from gcom.sim.plan.draw import draw
from gcom.sim.world import World

R = TypeVar("R")
AHEAD = 4  # seeds queued per process, so that a slow seed delays the output in order, but leaves no process idle


@dataclass(frozen=True, slots=True)
class SeedResult:
    """A seed's run. `violation` is empty if every promise held; `digest` identifies the run, event by event."""

    seed: int
    members: int
    ordering: str
    multicast: str
    safe: bool
    netsplit: str
    static: bool
    messages: int
    deliveries: int
    views: int
    instances: int
    faults: dict[str, int]
    moves: dict[str, int]
    simulated_ms: int
    digest: str
    violation: str
    plan: dict[str, object]

    def row(self) -> dict[str, object]:
        """Return the result as one object of plain values, for --json."""
        return {"type": "run", "ok": not self.violation, **asdict(self)}


def run_seed(seed: int, log_dir: Path | None = None) -> SeedResult:
    """Run one seed; a violation is in the result, and so is a defect that the machines met.

    Raises GComError where the run itself is impossible: its logs cannot be written, say.
    """
    world = World(draw(seed), log_dir)
    violation = ""
    try:
        world.run()
    except Violation as found:
        violation = str(found)
        # A broken run's logs are worth most: they are closed, so that the audit can judge them. What an end breaks as
        # well says less than what was found first.
        with suppress(Violation):
            world.close_logs()
    except GComError:  # no verdict about the seed
        raise
    except Exception:  # outermost: of one seed's run, which others follow
        violation = f"DEFECT: {traceback.format_exc().rstrip()}"
    definition = world.plan.definition
    return SeedResult(
        seed,
        world.plan.members,
        definition.ordering.value,
        definition.multicast.value,
        definition.safe,
        definition.netsplit.value,
        bool(definition.static),
        world.simulation.messages,
        world.simulation.deliveries,
        world.simulation.views,
        len(world.simulation.checkers),
        # Sorted: --json is compared between runs, and must not depend on what happened first.
        dict(sorted(world.simulation.happened.items())),
        dict(sorted(world.simulation.moves.items())),
        world.now_ms,
        world.digest,
        violation,
        world.plan.describe(),
    )


def run_seeds(
    run: Callable[[int, Path | None], R],
    folders: Mapping[int, Path | None],
    jobs: int = 1,
    prepare: Callable[[], None] | None = None,
    starting: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> Generator[R]:
    """Run seeds in their order, `jobs` at a time, each with its logs in its folder if it has one.

    The processes that work for this one are started inside of `starting`, and each first calls `prepare`. Closed early,
    it waits for the runs under way.
    """
    if jobs == 1:
        for seed, folder in folders.items():
            yield run(seed, folder)
        return
    # Spawned: a fork would copy this process's threads' locks, and not the threads.
    pool = ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), initializer=prepare)
    try:
        seeds = iter(folders.items())
        with starting():
            # A few seeds ahead and not all: results are printed in the order of seeds, and Ctrl-C need
            # not wait for thousands.
            running = deque(pool.submit(run, *given) for given in islice(seeds, jobs * AHEAD))
        while running:
            yield running.popleft().result()
            running.extend(pool.submit(run, *given) for given in islice(seeds, 1))
    finally:
        pool.shutdown(cancel_futures=True)
