"""The audit judges what simulated replicas recorded: right ones pass, and each mutant fails."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import gcom.audit
from gcom.replicated.simulated.runs import run_ledger
from tests.cases import daily_and_rest
from tests.replicated import test_durable as mutants

SEEDS = daily_and_rest([range(1, 7), range(7, 101)], 1)


def verdict(folder: Path) -> dict[str, str]:
    """Return the verdict on each rule that had a case."""
    (state,) = gcom.audit.audit(folder).applications
    return {rule.rule: rule.verdict for rule in state.rules if rule.verdict != "VACUOUS"}


@pytest.mark.parametrize("seeds", SEEDS)
def test_the_audit_passes_what_the_simulator_passes(seeds: range, tmp_path: Path) -> None:
    for seed in seeds:
        folder = tmp_path / str(seed)
        assert run_ledger(seed, folder) == run_ledger(seed), "a log changes the run"
        assert set(verdict(folder).values()) == {"PASS"}, seed


# Each with a seed whose logs show it.
SHOWN = [
    (mutants.no_sync_awaited, 18),
    (mutants.answered_at_delivery, 2),
    (mutants.no_new_term, 10),
    (mutants.hello_of_the_views_majority, 10),
    (mutants.joiner_that_overwrites, 20),
    (mutants.new_disk_that_counts, 138),
    (mutants.delivered_before_another_holds_it, 25),
    (mutants.applied_at_each_retry, 4),
]
SEEDS_MAX = 200


@pytest.mark.parametrize(("mutant", "seed"), SHOWN)
def test_the_audit_finds_a_mutant(
    mutant: Callable[[pytest.MonkeyPatch], None], seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mutant(monkeypatch)
    for number, tried in enumerate((seed, *range(1, SEEDS_MAX))):
        folder = tmp_path / str(number)
        run_ledger(tried, folder)
        if verdict(folder).get("DURABLE") == "FAIL":
            return
    pytest.fail(f"the audit passes {SEEDS_MAX} seeds of a mutant")
