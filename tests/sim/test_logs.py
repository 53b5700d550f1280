"""The files that a simulated run leaves on the disk. Their content is judged in test_seeds.py."""

from __future__ import annotations

from pathlib import Path

from gcom.sim.plan.draw import draw
from gcom.sim.world import World


def test_a_crashed_process_leaves_an_unsealed_log_and_the_others_sealed_ones(tmp_path: Path) -> None:
    world = World(draw(3), tmp_path)
    world.run()
    assert any(node.crashed for node in world.everybody)
    for node in world.everybody:
        for process in node.sessions:
            folder = tmp_path / node.name / process.partition("#")[2]
            names = [path.name for path in folder.iterdir()] if folder.exists() else []
            assert all(name.startswith(".") == node.crashed for name in names), process
