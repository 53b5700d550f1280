"""Nothing answered is lost or contradicted, whatever crashes; and each rule that this rests on is needed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from gcom.replicated.durable import agreement
from gcom.replicated.durable.agreement import DurableReplica, WritePromise
from gcom.replicated.durable.rounds import Configuration, DiskFacts, RoundPlan, decide
from gcom.replicated.replica import Applied, Replica
from gcom.replicated.simulated.disk import SimulatedWriter
from gcom.replicated.simulated.runs import ReplicatedResult, run_ledger
from gcom.replicated.simulated.world import ReplicaWorld, SimulatedInstance

SEEDS = range(1, 41)  # the odd ones in memory, the others durable
SEEDS_MAX = 400


def test_nothing_answered_is_lost_or_contradicted() -> None:
    results = [run_ledger(seed) for seed in SEEDS]
    assert {it.seed: it.violation for it in results if it.violation} == {}
    for durable in (True, False):
        kind = [it for it in results if it.durable is durable]
        assert sum(it.answers for it in kind) > 100
        assert max(it.instances for it in kind) > 5
    faults: Counter[str] = Counter()
    for it in results:
        faults.update(it.faults)
    assert min(faults[it] for it in ("all killed", "crash", "cut", "disk lost", "pause", "put out", "torn tail")) > 2


@pytest.mark.parametrize("seed", [3, 4])
def test_a_seed_is_the_same_run_again(seed: int) -> None:
    assert run_ledger(seed) == run_ledger(seed)


def no_sync_awaited(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(SimulatedWriter, "AWAITS_SYNC", False)


def answered_at_delivery(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(agreement, "committed", lambda synced, names: 2**40)


def no_new_term(patch: pytest.MonkeyPatch) -> None:
    def planned(hellos: Mapping[str, tuple[str, DiskFacts]], floor: int) -> RoundPlan | None:
        plan = decide(hellos, floor)
        return plan and plan._replace(term=max(1, plan.term - 1))

    patch.setattr(agreement, "decide", planned)
    patch.setattr(DurableReplica, "_promise", lambda self, plan: self._out.append(WritePromise(plan.term, False)))


def hello_of_the_views_majority(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Configuration, "majority", property(lambda self: 1))


def joiner_that_overwrites(patch: pytest.MonkeyPatch) -> None:
    load = DurableReplica.load

    def overwriting(self: DurableReplica, data: bytes) -> None:
        disk, self.disk = self.disk, DiskFacts(1, 0, 0, self.disk.configuration)
        load(self, data)
        self.disk = disk

    patch.setattr(DurableReplica, "load", overwriting)


def new_disk_that_counts(patch: pytest.MonkeyPatch) -> None:
    def planned(hellos: Mapping[str, tuple[str, DiskFacts]], floor: int) -> RoundPlan | None:
        known = {
            it: (name, DiskFacts(max(1, facts.promised), *facts.last, facts.configuration))
            for it, (name, facts) in hellos.items()
        }
        return decide(known, floor)

    patch.setattr(agreement, "decide", planned)


def delivered_before_another_holds_it(patch: pytest.MonkeyPatch) -> None:
    cut = ReplicaWorld._cut

    def forgetful(self: ReplicaWorld, instance: SimulatedInstance, left: list[str], at_least: int) -> None:
        cut(self, instance, left, min(at_least, max(instance.delivered[it] for it in left)))

    patch.setattr(ReplicaWorld, "_cut", forgetful)


def applied_at_each_retry(patch: pytest.MonkeyPatch) -> None:
    real = Replica._apply_command

    def again(self: Replica, process: str, command: Any) -> Applied:
        record = self.callers.get(command.caller)
        if record is not None and command.number <= record.last:
            record.last = command.number - 1
        return real(self, process, command)

    patch.setattr(Replica, "_apply_command", again)


def caught(seed: int) -> ReplicatedResult | None:
    """Return a run that breaks a promise: the recorded seed's, or, if it does no more, the first that does."""
    found = (run_ledger(it) for it in (seed, *range(1, SEEDS_MAX)))
    return next((it for it in found if it.violation), None)


MUTANTS = [
    (no_sync_awaited, 18),
    (answered_at_delivery, 42),
    (no_new_term, 10),
    (hello_of_the_views_majority, 16),
    (joiner_that_overwrites, 20),
    (new_disk_that_counts, 62),
    (delivered_before_another_holds_it, 1),
    (applied_at_each_retry, 1),
]


@pytest.mark.parametrize(("mutant", "seed"), MUTANTS)
def test_a_mutant_is_caught(
    mutant: Callable[[pytest.MonkeyPatch], None], seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    mutant(monkeypatch)
    assert caught(seed)
