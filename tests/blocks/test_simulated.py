"""Each block's machine at simulated replicas: crashes, pauses, cuts and lost disks break none of its promises."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

import pytest

import gcom.testing
from gcom.blocks.presence import PresenceTable
from gcom.replicated.machine import Machine, command
from tests.blocks import watched
from tests.blocks.watched import (
    WatchedBarrier,
    WatchedCounter,
    WatchedDict,
    WatchedLock,
    WatchedQueue,
)
from tests.cases import daily_and_rest

DAILY, ALL = 4, 100
STEPS = 1_500


class HastyLock(WatchedLock):
    """A mutant: the one that asked last is next."""

    def _pass_on(self) -> None:
        self.waiting.reverse()
        super()._pass_on()


class KeptLock(WatchedLock):
    """A mutant: the holder's process is gone, and nobody follows."""

    def on_members(self, members: tuple[str, ...]) -> None:
        if self.owner.get(self.holder) not in (None, *members):
            self._drop(self.holder)


class SharedQueue(WatchedQueue):
    """A mutant: a task that is given to a worker waits on."""

    @command
    def take(self) -> tuple[int, Any, int] | None:
        found = super().take()
        if found:
            self.waiting.append(found[0])
        return found


class DoneTwice(WatchedQueue):
    """A mutant: a result counts, whoever has the task."""

    @command
    def finish(self, place: int, behind: int) -> bool:
        done = super().finish(place, behind)
        self.finished += [*self.results][-1:]
        return done


class BlindDict(WatchedDict):
    """A mutant: versions are not compared."""

    def _check(self, key: str, expected: int | None) -> None:
        pass


class SkippingCounter(WatchedCounter):
    """A mutant: what makes it negative is lost."""

    @command
    def add(self, amount: int) -> int:
        super().add(amount)
        self.value = max(0, self.value)
        return self.value


class ReturningBarrier(WatchedBarrier):
    """A mutant: a process that comes again counts again."""

    @command
    def arrive(self, parties: int) -> int:
        self.arrived.append(self.context.process)
        return super().arrive(parties)


class Remembering(PresenceTable):
    """A mutant: who is gone stays."""

    def on_members(self, members: tuple[str, ...]) -> None:
        super().on_members(members)
        self.members = [*self.members, *self.said]


Draw = Callable[[Random], tuple[str, tuple[Any, ...]]]
Case = tuple[type[Machine], Callable[[Any], object], Draw | None, tuple[type[Machine], ...]]
CASES: dict[str, Case] = {
    "lock": (WatchedLock, watched.a_lock_has_one_holder_in_fair_order, watched.draw_lock, (HastyLock, KeptLock)),
    "queue": (
        WatchedQueue,
        watched.a_task_has_one_worker_and_is_done_once,
        watched.draw_queue,
        (SharedQueue, DoneTwice),
    ),
    "dict": (WatchedDict, watched.a_compare_and_set_never_loses, watched.draw_dict, (BlindDict,)),
    "counter": (WatchedCounter, watched.a_counter_is_exact, None, (SkippingCounter,)),
    "barrier": (WatchedBarrier, watched.a_barrier_opens_for_all, watched.draw_barrier, (ReturningBarrier,)),
    "presence": (PresenceTable, watched.each_that_is_there_is_present, None, (Remembering,)),
}
SEEDS = daily_and_rest([range(DAILY), range(DAILY, ALL)], 1)


@pytest.mark.parametrize("seeds", SEEDS)
@pytest.mark.parametrize("block", CASES)
def test_a_block_keeps_its_promises(block: str, seeds: range) -> None:
    machine, invariant, draw, _ = CASES[block]
    summary = gcom.testing.simulate(machine, seeds, invariant=invariant, commands=draw, steps=STEPS)
    assert summary.answers > 20 * len(seeds)


@pytest.mark.parametrize(
    ("block", "mutant"), [(block, mutant) for block, (*_, mutants) in CASES.items() for mutant in mutants]
)
def test_a_mutant_of_a_block_is_found(block: str, mutant: type[Machine]) -> None:
    _, invariant, draw, _ = CASES[block]
    with pytest.raises(gcom.testing.SeedFailed, match="the invariant fails at index"):
        gcom.testing.simulate(mutant, invariant=invariant, commands=draw)


@pytest.mark.parametrize("seeds", SEEDS)
def test_an_election_has_one_leader_at_each_place_of_the_log(seeds: range) -> None:
    """All replicas, at all times: what one of them sees at an index every other one sees there."""
    leaders: dict[int, str] = {}

    def invariant(lock: WatchedLock, led: dict[int, str]) -> None:
        for _, process, token in lock.given:
            assert led.setdefault(token, process) == process, f"term {token} has two leaders"

    for seed in seeds:
        leaders.clear()
        # In memory all is forgotten once the last member is gone: terms begin anew then.
        judge = partial(invariant, led=leaders)
        gcom.testing.simulate(WatchedLock, [seed], invariant=judge, commands=watched.draw_lock, durable=True)
        assert leaders
