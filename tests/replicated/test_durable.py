"""Nothing answered is lost or contradicted, whatever crashes; and each rule that this rests on is needed."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from gcom.replicated.durable import agreement
from gcom.replicated.durable.agreement import DurableReplica, WritePromise
from gcom.replicated.durable.rounds import Configuration, DiskFacts, RoundPlan, decide
from tests.replicated.durable_world import World, run

SEEDS = 80


def sweep(first: int) -> None:
    for seed in (first, *range(2000)):
        run(seed)


def test_nothing_answered_is_lost_or_contradicted() -> None:
    worlds = [run(seed) for seed in range(SEEDS)]
    assert sum(len(world.answered) for world in worlds) > 500
    assert sum(world.disks_lost for world in worlds) > SEEDS / 4
    assert max(world.instances for world in worlds) > 7


def no_sync_awaited(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(World, "sync_awaited", False)


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
        disk, self.disk = self.disk, DiskFacts(0, 0, 0, self.disk.configuration)
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


@pytest.mark.parametrize(
    ("mutant", "seed"),  # one that catches it; where it does no more, another is looked for
    [
        (no_sync_awaited, 58),
        (answered_at_delivery, 1),
        (no_new_term, 647),
        (hello_of_the_views_majority, 83),
        (joiner_that_overwrites, 818),
        (new_disk_that_counts, 16),
    ],
)
def test_a_mutant_is_caught(
    mutant: Callable[[pytest.MonkeyPatch], None], seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    mutant(monkeypatch)
    with pytest.raises(AssertionError, match="seed"):
        sweep(seed)
