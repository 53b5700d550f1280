"""The simulator has teeth: a core that is broken in one place is caught within 50 seeds that the whole core passes.

Each mutant replaces one rule by what a hasty reader would take for it (tests/sim/mutants). It must be caught by a
checker, or by a group that does not come back to life; an exception is no catch. `make test` replays the recorded seed
of each, `make seeds` records anew those that have changed, and `make soak` hunts all.
"""

from __future__ import annotations

import pytest

from tests.sim.mutants import MUTANTS, TOLD, hunt, replay
from tests.sim.mutants.lost import is_told_apart
from tests.sim.mutants.table import TRIES, recorded

QUICK = (
    "who_is_slow_is_put_out_unsuspected",
    "what_only_the_cut_brought_is_not_delivered",
    "an_answer_counts_after_the_end_of_its_call",
    "trace_01_the_witness_forgets_its_votes_when_it_starts_again",
)
AIMED = sorted(name for name, mutant in MUTANTS.items() if mutant.aim)


def _check(name: str) -> None:
    catch = replay(name)
    assert catch.said, (
        f"seed {catch.seed} does not catch {name} any more: `make seeds` hunts it and records the seed that does"
    )
    assert is_told_apart(name, catch.said), f"the table of tests/sim/mutants/lost.py, of {name}: {catch.said}"


@pytest.mark.parametrize("name", QUICK)
def test_a_quick_mutant_is_caught_by_its_seed(name: str) -> None:
    _check(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted({*MUTANTS} - {*QUICK}))
def test_a_mutant_is_caught_by_its_seed(name: str) -> None:
    _check(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(TOLD))
def test_a_mutant_is_told_by_its_scenario(name: str) -> None:
    assert TOLD[name].said()  # the scenario is a test of its own: that the whole core passes is seen there


@pytest.mark.soak
@pytest.mark.parametrize("name", sorted(MUTANTS))
def test_a_mutant_is_hunted_down(name: str) -> None:
    catch = hunt(name)
    print(catch.row())
    if catch.seed != (known := recorded().get(name)) and not replay(name).said:
        print(f"{name}: seed {known} does not catch it any more: `make seeds` records {catch.seed}")
    assert catch.said


@pytest.mark.soak
@pytest.mark.parametrize("name", AIMED)
def test_the_whole_core_passes_where_a_mutant_is_led(name: str) -> None:
    mutant = MUTANTS[name]
    assert all(mutant.is_clean(seed) for seed in mutant.seeds()[:5])


def test_every_seed_that_is_recorded_is_a_mutants() -> None:
    assert {*recorded()} == {*MUTANTS}, "`make seeds` records them"


@pytest.mark.slow
def test_the_table_is_as_long_as_promised() -> None:
    assert len(MUTANTS) >= 30
    assert TRIES <= 50
    assert all(len(mutant.seeds()) >= 10 for mutant in MUTANTS.values())


@pytest.mark.parametrize("name", sorted(MUTANTS))
def test_a_mutant_changes_what_is_there(name: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        MUTANTS[name].mutate(patch)
