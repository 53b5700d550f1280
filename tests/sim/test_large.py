"""The simulator with frames so small that a good part of its messages travels in fragments."""

from __future__ import annotations

import pytest

from gcom.core.multicast.fragments import Assemblies
from gcom.sim.plan.draw import draw
from gcom.sim.world import World
from gcom.values import limits
from gcom.values.names import Process
from gcom.values.run import Fragment, Run
from tests.cases import daily_and_rest


def _check(seed: int, load_bytes: int, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(limits, "LOAD_BYTES_MAX", load_bytes)
    patch.setattr(limits, "RUN_BYTES_MAX", load_bytes - 64)
    World(draw(seed)).run()


@pytest.mark.parametrize("seed", [2])
def test_a_seed_with_fragments_runs_clean(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    _check(seed, 240, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("seed", daily_and_rest([*range(2), *range(3, 150)], 2))
def test_another_seed_with_fragments_runs_clean(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    _check(seed, 240, monkeypatch)


@pytest.mark.soak
def test_a_fresh_seed_with_fragments_runs_clean(fresh_seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    _check(fresh_seed, 240, monkeypatch)


# Basic gave up a later gap before an earlier one, whose fragments still came, and FIFO delivered over that.
@pytest.mark.slow
@pytest.mark.parametrize("seed", [217, 252, 260])
def test_a_seed_that_found_a_fault_runs_clean(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    _check(seed, 192, monkeypatch)


@pytest.mark.slow
def test_there_are_fragments_and_broken_assemblies(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, whole = 0, 0
    add = Assemblies.add

    def count(self: Assemblies, fragment: Fragment, by: Process = "") -> Run | None:
        nonlocal begun, whole
        run = add(self, fragment, by)
        begun += not fragment.at_byte
        whole += run is not None
        return run

    monkeypatch.setattr(Assemblies, "add", count)
    _check(260, 192, monkeypatch)
    assert begun > whole > 50
