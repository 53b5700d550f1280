"""A seed is a run: two processes with different hash seeds do the very same, down to the bytes of their logs.

The first of the two is whichever worker runs the seed for the corpus.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gcom.sim.plan.draw import draw
from gcom.sim.world import World
from tests.cases import daily_and_rest
from tests.sim import corpus

ROOT = Path(__file__).parents[2]
PROGRAM = """
import sys
from pathlib import Path
from gcom.sim.plan.draw import draw
from gcom.sim.world import World

world = World(draw(int(sys.argv[1])), Path(sys.argv[2]))
world.run()
print(world.digest)
"""


def _run(seed: int, folder: Path, hash_seed: str) -> str:
    """The digest that a process of its own prints."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(seed), str(folder)],
        env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=600,
        check=True,
    )
    return done.stdout.strip()


def _files(folder: Path) -> dict[str, bytes]:
    """Every file under a folder, the hidden ones of crashed processes too."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# 33 and others once differed: a set decided who was called first. The runs of 4 and 5 are in the corpus.
@pytest.mark.slow
@pytest.mark.parametrize("seed", daily_and_rest([33, 4, 35, 80, 120], 2))
def test_a_seed_is_the_same_run_under_another_hash_seed(tmp_path: Path, seed: int) -> None:
    ran = corpus.ran(seed)
    assert _run(seed, tmp_path, "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1") == ran.digest
    assert _files(tmp_path) == _files(ran.folder)
    assert len(_files(tmp_path)) >= 2


@pytest.mark.slow
def test_another_seed_is_another_run() -> None:
    assert corpus.ran(4).digest != corpus.ran(5).digest
    assert _files(corpus.ran(4).folder) != _files(corpus.ran(5).folder)


@pytest.mark.slow
def test_logs_change_nothing_in_a_run() -> None:
    plain = World(draw(4))
    plain.run()
    assert plain.digest == corpus.ran(4).digest
