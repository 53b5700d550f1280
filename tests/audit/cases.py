"""Small groups with their logs, each from a seed, damaged or not; each has its own names, so many fit in a folder."""

from __future__ import annotations

import random
import shutil
from pathlib import Path
from typing import Any

from tests.audit.damage import damage, read, write
from tests.oracle.build import Ending, life
from tests.oracle.build import write as write_life
from tests.sim import corpus
from tests.trace import history

SIMULATED = 20  # of so many cases one is a run of the simulator, of the corpus's seeds in turn


def make(folder: Path, seed: int, *, damaged: bool = True) -> str:
    """Write case `seed` into a new folder; returns what it is and how it is damaged."""
    chance = random.Random(seed)
    folder.mkdir(parents=True)
    kind = "simulated" if seed % SIMULATED == 0 else chance.choice(("life", "history"))
    if kind == "simulated":
        shutil.copytree(corpus.ran(seed // SIMULATED % len(corpus.SEEDS) + 1).folder, folder, dirs_exist_ok=True)
    elif kind == "life":
        endings: dict[str, Ending] = {"b#1": chance.choice(("exit", "crash", "torn"))}
        write_life(folder, life(), endings)
    else:
        _write_history(folder, chance)
    rename(folder, seed)
    return f"{kind} {damage(folder, seed) if damaged else ''}"


def _write_history(folder: Path, chance: random.Random) -> None:
    group = history.Group(chance)
    for _ in range(chance.randint(5, 60)):
        group.step()
    group.end()
    if chance.random() < 0.3:
        history.damage(group.life, chance)
    cut = chance.random()
    history.write(folder, group.life, group.crashed, chance, cut, chance.choice((1, 300, 1000, 10**6)))


def rename(folder: Path, seed: int) -> None:
    """Give the processes and groups of the case names that no other case has."""
    for path in sorted(folder.glob("*/*/*.jsonl")):
        torn = b"" if path.read_bytes().endswith(b"\n") else b'{"type":"deliv'
        if torn:
            path.write_bytes(path.read_bytes()[: -len(torn)])
        records = [_renamed(record, seed) for record in read(path)]
        write(path, records, mend=False)
        path.write_bytes(path.read_bytes() + torn)
        home = folder / f"{path.parent.parent.name}-{seed}" / path.parent.name
        home.mkdir(parents=True, exist_ok=True)
        path.rename(home / path.name)


def _renamed(thing: Any, seed: int, name: str = "") -> Any:
    if isinstance(thing, dict):
        if name == "state" and "view" not in thing:  # by group
            return {f"{key}-{seed}": _renamed(value, seed) for key, value in thing.items()}
        return {_renamed(key, seed): _renamed(value, seed, key) for key, value in thing.items()}
    if isinstance(thing, list):
        return [_renamed(each, seed, name) for each in thing]
    if isinstance(thing, str) and name in ("group", "member"):
        return f"{thing}-{seed}"
    if isinstance(thing, str) and "#" in thing:
        member, _, incarnation = thing.partition("#")
        return f"{member}-{seed}#{incarnation}"
    return thing


def flatten(cases: list[Path], into: Path) -> None:
    """Move the logs of all cases into one folder."""
    into.mkdir(parents=True)
    for case in cases:
        for member in sorted(case.iterdir()):
            if any(member.rglob("*.jsonl")):
                member.rename(into / member.name)
