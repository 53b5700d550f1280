"""Sessions from seeds: nothing is wrong as they are; without a check the world finds it, and the audit in its logs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import pytest

import gcom.audit
from gcom.errors import GComError
from tests.oracle.build import Logs, write
from tests.sessions.mutants import MUTANTS
from tests.sessions.simulated import SimulatedWorld

STEPS = 120


def run(seeds: Iterable[int]) -> tuple[list[SimulatedWorld], list[str]]:
    """Return the worlds of seeds, and what is wrong in them; an error ends one of a mutant."""
    worlds = [SimulatedWorld(seed) for seed in seeds]
    for world in worlds:
        try:
            world.run(STEPS)
        except GComError as error:
            world.wrong.append(f"ended by {error!r}")
    return worlds, [f"{world.seed}: {it}" for world in worlds for it in world.wrong]


def failed(worlds: list[SimulatedWorld], folder: Path) -> set[str]:
    """Return the rules that the audit finds broken in the logs of these worlds."""
    logs: Logs = defaultdict(list)
    for world in worlds:
        for process, records in world.logs.items():
            logs[process] += records
    states = gcom.audit.audit(write(folder, logs)).applications
    assert len(states) == len(worlds)
    return {rule.rule for state in states for rule in state.rules if rule.verdict == "FAIL"}


def test_nothing_is_wrong_in_any_seed(tmp_path: Path) -> None:
    worlds, wrong = run(range(1, 101))
    assert wrong == []
    assert failed(worlds, tmp_path) == set()
    assert sum(len(world.certain) for world in worlds) > 500
    assert sum(len(world.impossible) for world in worlds) > 25


@pytest.mark.parametrize("name", MUTANTS)
def test_each_check_is_missed(monkeypatch: pytest.MonkeyPatch, name: str, tmp_path: Path) -> None:
    patch, expected, rule = MUTANTS[name]
    with monkeypatch.context() as patched:
        patch(patched)
        worlds, wrong = run(range(1, 41))
    assert any(expected in it for it in wrong)
    found = failed(worlds, tmp_path)
    assert rule in found if rule else not found


def test_each_guarantee_has_a_mutant_that_the_audit_finds() -> None:
    assert {rule for _, _, rule in MUTANTS.values()} - {""} == {"RYW", "MR", "MW", "WFR"}
