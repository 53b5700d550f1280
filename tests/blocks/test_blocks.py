"""Blocks over real members, and one that is killed in the middle."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any, TypeVar

import pytest

import gcom
import gcom.blocks
from gcom.blocks.block import Block
from gcom.blocks.work_queue import WorkTable
from gcom.errors import BadValue, GComTimeout, LocalError
from gcom.replicated import CommandContext, Refused
from gcom.replicated.machine import MachineKind
from tests.interrupts import Interrupts
from tests.running import Child, environment
from tests.runtime.nodes import until

B = TypeVar("B", bound=Block[Any])


class Ground:
    """Nodes of one registry."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self.registry = stack.enter_context(gcom.embedded())
        self._nodes: dict[str, gcom.Node] = {}

    def node(self, name: str) -> gcom.Node:
        if name not in self._nodes:
            self._nodes[name] = self._stack.enter_context(gcom.connect(name, self.registry.address, timeout_s=30.0))
        return self._nodes[name]

    def open(self, kind: Callable[..., B], member: str, name: str = "it") -> B:
        block = kind(self.node(member), name, timeout_s=30.0)
        self._stack.callback(block.close)
        return block

    def child(self, kind: str, name: str) -> Child:
        words = [sys.executable, "-m", "tests.blocks.worker", kind, name, self.registry.address]
        return self._stack.enter_context(Child(words, environment()))


@pytest.fixture
def ground() -> Iterator[Ground]:
    with ExitStack() as stack:
        yield Ground(stack)


def test_a_lock_has_one_holder_and_goes_on_in_order(ground: Ground) -> None:
    a, b, c = (ground.open(gcom.blocks.Lock, name) for name in "abc")
    first = a.acquire(30)
    with ThreadPoolExecutor() as pool:
        second = pool.submit(b.acquire, 30)
        until(lambda: len(a._machine.waiting_tickets()) == 1)
        third = pool.submit(c.acquire, 30)
        until(lambda: len(a._machine.waiting_tickets()) == 2)
        with pytest.raises(LocalError, match="holds 'it' already"):
            a.acquire()
        a.release()
        token = second.result(30)
        assert token > first
        assert not third.done()
        assert b.holder.startswith("b#")
        b.release()
        assert third.result(30) > token
    with pytest.raises(GComTimeout, match="no turn, behind c#"):
        a.acquire(0.2)
    c.release()
    with a.hold(30):
        assert not a.lost.is_set()
    until(lambda: a.holder == "")


def test_a_killed_holder_frees_its_lock(ground: Ground) -> None:
    lock = gcom.blocks.Lock(ground.node("me"), "nightly", timeout_s=30.0)
    with lock:
        child = ground.child("lock", "holder")
        child.until(lambda: bool(child.out), "the lock")
        with pytest.raises(GComTimeout):
            lock.acquire(0.1)
        child.signal(signal.SIGKILL)
        assert lock.acquire(30) > int(child.out[0].split()[1])


def test_a_holder_that_is_put_out_is_told(ground: Ground, expect_log: Callable[[str], None]) -> None:
    expect_log("on purpose")
    a, b, c = (ground.open(gcom.blocks.Lock, name) for name in "abc")
    a.acquire(30)
    for name in "abc":
        ground.node(name).inject(gcom.Faults(seed=1, cuts=frozenset({("a", "b"), ("b", "a"), ("a", "c"), ("c", "a")})))
    assert b.acquire(60) > 0
    assert a.lost.wait(60)
    assert c.holder.startswith("b#")
    for name in "abc":
        ground.node(name).inject("")


def test_the_next_candidate_leads_when_the_leader_is_killed(ground: Ground) -> None:
    first = ground.child("election", "one")
    first.until(lambda: bool(first.out), "a leader")
    gained: list[int] = []
    lost: list[bool] = []
    with gcom.blocks.Election(
        ground.node("two"), "boss", on_gain=gained.append, on_loss=lambda: lost.append(True), timeout_s=30.0
    ) as election:
        until(lambda: election.leader.startswith("one#"))
        assert (gained, election.token) == ([], 0)
        first.signal(signal.SIGKILL)
        until(lambda: bool(gained))
        assert gained[0] > int(first.out[0].split()[1])
        assert election.leader.startswith("two#")
        assert lost == []
    assert lost == [True]


def test_a_task_of_a_killed_worker_is_done_by_another(ground: Ground) -> None:
    with gcom.blocks.WorkQueue(ground.node("me"), "work", timeout_s=30.0) as queue:
        number = queue.put({"file": "a.png"})
        child = ground.child("queue", "worker")
        child.until(lambda: bool(child.out), "the task")
        until(lambda: queue.counts() == {"waiting": 0, "working": 1, "done": 0, "dead": 0}, "what the worker knows")
        child.signal(signal.SIGKILL)
        task = queue.take(30)
        assert (task.number, task.payload, task.tries) == (number, {"file": "a.png"}, 2)
        assert task.done("small")
        assert not task.done("again")
        assert queue.result(number, 30) == "small"


def test_a_task_that_fails_too_often_is_dead_and_can_be_revived(ground: Ground) -> None:
    queue = ground.open(gcom.blocks.WorkQueue, "a")
    queue.tries_max = 2
    number = queue.put("bad")
    for _ in range(2):
        assert queue.take(30).fail("no such file")
    with pytest.raises(gcom.blocks.TaskDead, match="no such file"):
        queue.result(number, 30)
    assert queue.dead() == {number: ("bad", "no such file")}
    assert queue.revive(number)
    assert queue.take(30).done(1)
    with pytest.raises(Refused, match="no task 999 is known"):
        queue.result(999)
    with pytest.raises(GComTimeout, match="no task after"):
        queue.take(0.05)


def test_a_task_that_kills_its_workers_does_not_kill_them_all() -> None:
    kind = MachineKind.of(WorkTable)
    machine = WorkTable()

    def at(index: int, process: str) -> None:
        kind.enter(machine, CommandContext(index, process, (process,)))

    at(1, "a#1")
    number = machine.put("deadly")
    for tries in range(1, 6):
        at(tries + 1, f"a#{tries}")
        assert machine.take() == (number, "deadly", tries)
        machine.on_members(("b#1",))
    assert machine.take() is None
    assert machine.dead_tasks() == {number: ("deadly", "a#5 died, or was put out")}
    assert machine.revive(number)
    assert machine.take() == (number, "deadly", 6)  # no number of before: a late result of then counts for nothing
    assert not machine.done(number, 1, "late")
    machine.give_back(number, 6)  # its worker had not begun it
    assert machine.open[number].tries - machine.open[number].tried_before == 0
    assert machine.take() == (number, "deadly", 7)


def test_a_dict_is_shared_and_says_who_was_faster(ground: Ground) -> None:
    a, b = (ground.open(gcom.blocks.Dict, name) for name in "ab")
    seen: list[str | None] = []
    b.watch(seen.append)
    a["colour"] = "green"
    assert b.fresh("colour") == "green"
    version = a.version("colour")
    assert b.set("colour", "blue", expected=version) > version
    with pytest.raises(gcom.blocks.VersionConflict, match="'colour' has version"):
        a.set("colour", "red", expected=version)
    a.set("new", 1, expected=0)
    a.set("here", "a", held=True)
    until(lambda: len(b) == 3)
    assert "new" in b
    assert sorted(b) == ["colour", "here", "new"]
    del b["new"]
    with pytest.raises(KeyError):
        del b["new"]
    a.close()
    until(lambda: "here" not in b)
    assert b.items() == {"colour": "blue"}
    assert [key for key in seen if key] == ["colour", "colour", "new", "here", "new"]


def test_a_counter_adds_each_once(ground: Ground) -> None:
    a, b = (ground.open(gcom.blocks.Counter, name) for name in "ab")
    with ThreadPoolExecutor() as pool:
        sums = [*pool.map(lambda it: it.add(), [a, b] * 20)]
    assert sorted(sums) == [*range(1, 41)]
    assert a.fresh() == b.fresh() == 40


def test_a_barrier_lets_all_go_on_together(ground: Ground) -> None:
    a, b = (ground.open(gcom.blocks.Barrier, name) for name in "ab")
    with ThreadPoolExecutor() as pool:
        for number in range(3):
            waiting = [pool.submit(it.wait, 2, 30) for it in (a, b)]
            assert [it.result(30) for it in waiting] == [number, number]
    with pytest.raises(GComTimeout, match="no meeting of 2"):
        a.wait(2, 0.1)
    with pytest.raises(BadValue):
        a.wait(0)


def test_presence_follows_joins_and_ends(ground: Ground) -> None:
    a, b = (ground.open(gcom.blocks.Presence, name) for name in "ab")
    b.say({"load": 3})
    until(lambda: list(a.present().values()) == [None, {"load": 3}])
    b.close()
    until(lambda: len(a.present()) == 1)
    with pytest.raises(LocalError):
        b.say("gone")


def test_an_interrupted_holder_lets_the_lock_go(ground: Ground) -> None:
    lock, other = ground.open(gcom.blocks.Lock, "alice"), ground.open(gcom.blocks.Lock, "bob")

    def hold() -> None:
        with lock.hold(30):
            pass

    with Interrupts(2) as interrupts:
        for _ in range(40):
            interrupts.attempt(hold)
    assert interrupts.count
    assert other.acquire(30)


def test_an_interrupted_worker_loses_no_task(ground: Ground) -> None:
    queue = ground.open(gcom.blocks.WorkQueue, "alice")
    numbers = [queue.put(it) for it in range(40)]
    with Interrupts(3) as interrupts:
        tasks = [interrupts.attempt(lambda: queue.take(30)) for _ in numbers]
    assert interrupts.count
    assert sorted(it.payload for it in tasks) == list(range(40))
    assert all(it.done() for it in tasks)


def test_an_interrupted_caller_of_a_barrier_may_come_again(ground: Ground) -> None:
    barrier = ground.open(gcom.blocks.Barrier, "alice")
    with Interrupts(4) as interrupts:
        for _ in range(40):
            interrupts.attempt(lambda: barrier.wait(1, 30))
    assert interrupts.count
    assert barrier.wait(1, 30) >= 40
