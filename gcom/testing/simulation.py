"""`simulate`: the user's own machine, under crashes, pauses, cuts and restarts from seeds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from random import Random
from typing import Any, TypeVar

from gcom.replicated.machine import Machine
from gcom.replicated.simulated.runs import STEPS, ReplicatedResult, SeededRuns

M = TypeVar("M", bound=Machine)


class SeedFailed(AssertionError):
    """A seed in which the machine, or its replicas, did what they must not; it says how to replay it."""


@dataclass(frozen=True, slots=True)
class SimulationSummary:
    """The runs that found nothing: how much was tried."""

    seeds: int
    commands: int  # applied, at all replicas together
    answers: int
    faults: dict[str, int]


def simulate(
    machine: type[M] | Callable[[], M],
    seeds: Iterable[int] = range(200),
    *,
    invariant: Callable[[M], object] | None = None,
    commands: Callable[[Random], tuple[str, tuple[Any, ...]]] | None = None,
    durable: bool | None = None,
    steps: int = STEPS,
) -> SimulationSummary:
    """Run a machine at three or five simulated replicas, once a seed; raises SeedFailed at the first that fails.

        def test_no_nail_is_sold_twice() -> None:
            gcom.testing.simulate(Stock, invariant=lambda stock: min(stock.pieces.values()) >= 0)

    A seed draws commands, crashes, restarts, pauses, cuts, and lost disks. After each command at each replica
    `invariant` is called with the machine: it returns False, or fails an assertion, where something is wrong. Beside
    it, nothing answered may be lost, each command is applied once, and all replicas are equal.

    `commands` returns the name of a command and its arguments; as it stands, any command with arguments by its
    annotations. `durable`: replicas with disks, or in memory; None: both in turn. `steps` is the length of a run.
    Raises BadValue for a machine or a command that cannot be run.
    """
    runs = SeededRuns(machine, invariant, commands, durable, steps)
    faults: Counter[str] = Counter()
    count = applied = answers = 0
    for seed in seeds:
        result = runs.run(seed)
        if result.violation:
            raise SeedFailed(_told(result, getattr(machine, "__name__", "MACHINE")))
        count, applied, answers = count + 1, applied + result.commands, answers + result.answers
        faults.update(result.faults)
    return SimulationSummary(count, applied, answers, dict(sorted(faults.items())))


def _told(result: ReplicatedResult, machine: str) -> str:
    where = "with disks" if result.durable else "in memory"
    return (
        f"seed {result.seed}, {where}: {result.violation}\n"
        f"before that: {'; '.join(result.story)}\n"
        f"to replay it: gcom.testing.simulate({machine}, seeds=[{result.seed}], ...), with the same other arguments"
    )
