"""What simulated processes wrote down is judged by the oracle: every run keeps the promises of its group."""

from __future__ import annotations

from pathlib import Path

import pytest

from gcom.sim.plan import draw
from gcom.sim.world import World
from tests.oracle import judge
from tests.sim.broken import marked

FAST = range(1, 3)
SLOW = range(3, 49)


def _check(seed: int, folder: Path) -> None:
    World(draw(seed), folder).run()
    report = judge(folder)
    assert report.notes == []
    assert report.groups
    for key, group in report.groups.items():
        assert group.failed() == {}, key


@pytest.mark.parametrize("seed", FAST)
def test_the_logs_of_a_run_pass_the_oracle(seed: int, tmp_path: Path) -> None:
    _check(seed, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("seed", marked(SLOW))
def test_the_logs_of_another_run_pass_the_oracle(seed: int, tmp_path: Path) -> None:
    _check(seed, tmp_path)


def test_a_crashed_process_leaves_an_unsealed_log_and_the_others_sealed_ones(tmp_path: Path) -> None:
    world = World(draw(3), tmp_path)
    world.run()
    assert any(node.crashed for node in world.everybody)
    for node in world.everybody:
        for process in node.stays:
            folder = tmp_path / node.name / process.partition("#")[2]
            names = [path.name for path in folder.iterdir()] if folder.exists() else []
            assert all(name.startswith(".") == node.crashed for name in names), process
