"""Runs of many seeds, for `gcom.testing.simulate` and `gcom sim --application replicated`."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache
from hashlib import blake2b
from pathlib import Path

from gcom.errors import GComError
from gcom.replicated.evidence.simulated import SimulatedLogs
from gcom.replicated.machine import Machine, MachineKind
from gcom.replicated.simulated.arguments import CommandDraw, drawn_by_types
from gcom.replicated.simulated.history import Invariant, PromiseBroken
from gcom.replicated.simulated.ledger import AccountLedger, sum_is_kept
from gcom.replicated.simulated.world import ReplicaWorld

STEPS = 600
STORY_SHOWN = 40  # lines, of what went before a broken promise


@dataclass(frozen=True, slots=True)
class ReplicatedResult:
    """A seed's run. `violation` is empty if every promise held; `digest` identifies the run, event by event."""

    seed: int
    durable: bool
    commands: int
    answers: int
    instances: int
    faults: dict[str, int]
    digest: str
    violation: str
    story: tuple[str, ...]

    def row(self) -> dict[str, object]:
        """Return the result as one object of plain values, for --json."""
        found = asdict(self)
        if not self.violation:
            del found["story"]
        return {"type": "run", "ok": not self.violation, **found}


class SeededRuns:
    """A machine, its commands and its invariant, to be run with any seed."""

    def __init__(
        self,
        machine: type[Machine] | Callable[[], Machine],
        invariant: Invariant | None = None,
        commands: CommandDraw | None = None,
        durable: bool | None = None,
        steps: int = STEPS,
    ) -> None:
        self._kind = MachineKind.of(machine)
        self._invariant = invariant
        self._draw = commands or drawn_by_types(self._kind)
        self._durable = durable
        self._steps = steps

    def run(self, seed: int, log_dir: Path | None = None) -> ReplicatedResult:
        """Run a seed; a broken promise is in the result, and so is a defect. Raises BadValue for a bad command."""
        durable = seed % 2 == 0 if self._durable is None else self._durable
        logs = SimulatedLogs(log_dir) if log_dir is not None else None
        world = ReplicaWorld(self._kind, seed, durable, self._draw, self._invariant, logs)
        violation = ""
        try:
            for _ in range(self._steps):
                world.step()
            world.heal()
        except PromiseBroken as broken:
            violation = str(broken)
        except GComError:  # no verdict about the seed
            raise
        except Exception:  # outermost: of one seed's run, which others follow
            violation = f"DEFECT: {traceback.format_exc().rstrip()}"
        if logs is not None:
            logs.close()
        history = world.history
        told = f"{world.story} {history.commands} {history.answers} {violation}"
        return ReplicatedResult(
            seed,
            durable,
            history.commands,
            history.answers,
            world.instances,
            dict(sorted(world.faults.items())),
            blake2b(told.encode(), digest_size=16).hexdigest(),
            violation,
            tuple(world.story[-STORY_SHOWN:]),
        )


@cache
def _ledger_runs() -> SeededRuns:
    return SeededRuns(AccountLedger, sum_is_kept)


def run_ledger(seed: int, log_dir: Path | None = None) -> ReplicatedResult:
    """Run a seed of GCom's own machine, in memory if the seed is odd, else durable; the audit can judge its logs."""
    return _ledger_runs().run(seed, log_dir)
