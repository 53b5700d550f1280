"""The blocks' machines with a memory of what happened, and what must hold of it after each command."""

from __future__ import annotations

from itertools import pairwise
from random import Random
from typing import Any

from gcom.blocks.barrier import BarrierTable
from gcom.blocks.counter import CounterTable
from gcom.blocks.dict import DictTable
from gcom.blocks.lock import LockTable
from gcom.blocks.presence import PresenceTable
from gcom.blocks.work_queue import WorkTable
from gcom.replicated.machine import command

Drawn = tuple[str, tuple[Any, ...]]
PARTIES = 3


class WatchedLock(LockTable):
    """A lock that knows who asked, in which order, and to whom it was given."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []
        self.given: list[tuple[str, str, int]] = []  # ticket, process, token

    @command
    def ask(self, ticket: str) -> int:
        if ticket not in self.owner:
            self.asked.append(ticket)
        return super().ask(ticket)

    def _pass_on(self) -> None:
        before = self.holder
        super()._pass_on()
        if self.holder != before:
            self.given.append((self.holder, self.owner[self.holder], self.token))


def a_lock_has_one_holder_in_fair_order(lock: WatchedLock) -> None:
    assert lock.holder not in lock.waiting
    assert lock.holder or not lock.waiting, "free, though some wait"
    places = [len(lock.asked) - lock.asked[::-1].index(it) for it in lock.waiting]
    assert places == sorted(places), "not in the order of asking"
    assert all(first[2] < second[2] for first, second in pairwise(lock.given)), "a token did not grow"
    if lock.holder:
        assert lock.given[-1] == (lock.holder, lock.held_by(), lock.token)
        assert all(lock.asked.index(lock.holder) < lock.asked[::-1].index(it) + len(lock.asked) for it in lock.waiting)


def draw_lock(chance: Random) -> Drawn:
    return chance.choice(("ask", "ask", "give_up")), (f"ticket {chance.randrange(12)}",)


class WatchedQueue(WorkTable):
    """A queue that knows all tasks, each begin of one, and what was done."""

    def __init__(self) -> None:
        super().__init__()
        self.tasks: list[int] = []
        self.begun: list[tuple[int, int]] = []  # task and tries
        self.finished: list[int] = []

    @command
    def put(self, payload: Any) -> int:
        self.tasks.append(super().put(payload))
        return self.tasks[-1]

    @command
    def take(self) -> tuple[int, Any, int] | None:
        found = super().take()
        if found:
            self.begun.append((found[0], found[2]))
        return found

    @command
    def finish(self, place: int, behind: int) -> bool:
        """Say that an open task is done, as the worker of its last begin, or of one before."""
        if not self.open:
            return False
        number = sorted(self.open)[place % len(self.open)]
        done = self.done(number, self.open[number].tries - behind, place)
        self.finished += [number] * done
        return done

    @command
    def fail(self, place: int) -> bool:
        if not self.open:
            return False
        number = sorted(self.open)[place % len(self.open)]
        return self.failed(number, self.open[number].tries, "no luck", 2)


def a_task_has_one_worker_and_is_done_once(queue: WatchedQueue) -> None:
    working = [number for number, row in queue.open.items() if row.worker]
    assert sorted(queue.waiting + working) == sorted(queue.open), "a task waits twice, or waits and is worked on"
    assert sorted([*queue.open, *queue.results, *queue.dead]) == queue.tasks, "a task is lost, or there twice"
    assert len(set(queue.begun)) == len(queue.begun), "two workers have the same try of a task"
    assert len(set(queue.finished)) == len(queue.finished), "a task was done twice"
    assert set(queue.finished) == set(queue.results)


def draw_queue(chance: Random) -> Drawn:
    name = chance.choice(("put", "put", "take", "take", "take", "finish", "fail"))
    place, behind = chance.randrange(50), chance.choice((0, 0, 0, 1))
    return name, {"put": (place,), "take": (), "finish": (place, behind), "fail": (place,)}[name]


class WatchedDict(DictTable):
    """A dict that knows each change: key, version before and after, and the version that was expected."""

    def __init__(self) -> None:
        super().__init__()
        self.changes: list[tuple[str, int, int, int | None]] = []

    @command
    def put(self, key: str, value: Any, expected: int | None, held: bool) -> int:
        before = self.rows.get(key, (None, 0, ""))[1]
        after = super().put(key, value, expected, held)
        self.changes.append((key, before, after, expected))
        return after

    @command
    def swap(self, key: str, behind: bool) -> int:
        """Compare and set, with the key's version, or the one before that."""
        versions = [after for changed, _, after, _ in self.changes if changed == key]
        return self.put(key, "swapped", versions[-1 - behind] if len(versions) > behind else 0, False)


def a_compare_and_set_never_loses(table: WatchedDict) -> None:
    for key, before, after, expected in table.changes:
        assert before < after, f"the version of {key} did not grow"
        assert expected in (None, before), f"{key} had version {before}, not {expected}, and was set"
    swapped = [(key, expected) for key, _, _, expected in table.changes if expected]
    assert len(set(swapped)) == len(swapped), "two were set over one version"
    for key, (_, version, _) in table.rows.items():
        assert version == max(after for changed, _, after, _ in table.changes if changed == key)


def draw_dict(chance: Random) -> Drawn:
    name, key = chance.choice(("put", "swap", "swap", "remove")), chance.choice("abc")
    held, behind = chance.random() < 0.5, chance.random() < 0.5
    return name, {"put": (key, 1, None, held), "swap": (key, behind), "remove": (key, None)}[name]


class WatchedCounter(CounterTable):
    """A counter that knows each addition, by its place in the log."""

    def __init__(self) -> None:
        super().__init__()
        self.added: list[tuple[int, int]] = []

    @command
    def add(self, amount: int) -> int:
        self.added.append((self.context.index, amount))
        return super().add(amount)


def a_counter_is_exact(counter: WatchedCounter) -> None:
    assert counter.value == sum(amount for _, amount in counter.added)
    assert len({index for index, _ in counter.added}) == len(counter.added)


class WatchedBarrier(BarrierTable):
    """A barrier that knows the parties of each round."""

    def __init__(self) -> None:
        super().__init__()
        self.parties: list[int] = []

    @command
    def arrive(self, parties: int) -> int:
        before = [*self.arrived]
        number = super().arrive(parties)
        if self.rounds > number:
            self.parties.append(len({*before, self.context.process}))
        return number


def a_barrier_opens_for_all(barrier: WatchedBarrier) -> None:
    assert len(set(barrier.arrived)) == len(barrier.arrived) < PARTIES
    assert barrier.parties == [PARTIES] * barrier.rounds


def draw_barrier(chance: Random) -> Drawn:
    if chance.random() < 0.8:
        return "arrive", (PARTIES,)
    return "turn_back", (chance.randrange(4),)


def each_that_is_there_is_present(presence: PresenceTable) -> None:
    assert list(presence.present()) == presence.members
    assert len(set(presence.members)) == len(presence.members)
