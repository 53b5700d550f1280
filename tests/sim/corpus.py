"""Runs of seeds that many tests judge. Each is run once per session, for whichever test or worker asks for it first."""

from __future__ import annotations

import fcntl
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from gcom.sim.runs import run_seed

SEEDS = range(1, 33)  # what `make test` runs
_TOLD = ("violation", "messages", "faults", "digest")
_folder: list[Path] = []  # of this session, shared by its workers


@dataclass(frozen=True, slots=True)
class Ran:
    """One seed's run: its delivery logs, and what the checkers and the simulator's own counts say of it."""

    folder: Path
    violation: str
    messages: int
    faults: dict[str, int]
    digest: str


def keep_in(folder: Path) -> None:
    """Keep the runs of this session in a folder."""
    folder.mkdir(exist_ok=True)
    _folder[:] = [folder]


def holds(seed: int) -> bool:
    """Tell whether a seed's run is kept for the session; outside of a session none is."""
    return bool(_folder) and seed in SEEDS


def ran(seed: int) -> Ran:
    """Run a seed, or wait until another worker has, and return what became of it. Its logs must not be changed."""
    home = _folder[0] / str(seed)
    home.mkdir(exist_ok=True)
    logs, told = home / "logs", home / "ran.json"
    with _alone(home / "lock"):
        if not told.exists():
            logs.mkdir()
            found = run_seed(seed, logs)
            told.write_text(json.dumps({name: getattr(found, name) for name in _TOLD}))
    return Ran(logs, **json.loads(told.read_text()))


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Hold a file's lock, which no other process holds then."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
