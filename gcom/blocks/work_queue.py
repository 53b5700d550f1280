"""`WorkQueue`: tasks, each with one worker at a time, done again where a worker dies."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

import gcom
from gcom.blocks.block import Block, BlockView
from gcom.errors import GComTimeout
from gcom.replicated import Refused
from gcom.replicated.machine import Machine, command, query
from gcom.runtime.user_process.entry import uninterrupted
from gcom.runtime.user_process.uninterrupted import result_of

OPEN_MAX = 100_000  # tasks that are not done; more are refused
TRIES_MAX = 5  # how often a task is begun: one that kills its workers must not kill them all
ENDED_MAX = 10_000  # results and dead tasks that are kept, the newest


@dataclass(slots=True)
class WorkRow:
    """A task that is not done: how often it was begun, and by which process it is worked on."""

    payload: Any
    tries: int = 0  # in all, so that no two workers have the same
    tried_before: int = 0  # it was revived
    worker: str = ""
    reason: str = ""  # of the last failure


class WorkTable(Machine):
    """Tasks by number: open ones, and how others ended."""

    def __init__(self) -> None:
        self.open: dict[int, WorkRow] = {}
        self.waiting: list[int] = []
        self.results: dict[int, Any] = {}
        self.dead: dict[int, tuple[Any, str, int]] = {}

    @command
    def put(self, payload: Any) -> int:
        """Add a task; return its number."""
        if len(self.open) >= OPEN_MAX:
            raise Refused(f"{OPEN_MAX:,} tasks are not done: wait until some are")
        number = self.context.index
        self.open[number] = WorkRow(payload)
        self.waiting.append(number)
        return number

    @command
    def take(self) -> tuple[int, Any, int] | None:
        """Give the caller the task that has waited longest."""
        if not self.waiting:
            return None
        number = self.waiting.pop(0)
        row = self.open[number]
        row.worker, row.tries = self.context.process, row.tries + 1
        return number, row.payload, row.tries

    @command
    def done(self, number: int, tries: int, result: Any) -> bool:
        """Note a result; return whether the task was still this worker's."""
        row = self.open.get(number)
        if row is None or not row.worker or row.tries != tries:
            return False
        del self.open[number]
        self.results[number] = result
        _bound(self.results)
        return True

    @command
    def failed(self, number: int, tries: int, reason: str, tries_max: int) -> bool:
        """Have a task done again, or call it dead; return whether it was still this worker's."""
        row = self.open.get(number)
        if row is None or not row.worker or row.tries != tries:
            return False
        self._again(number, row, reason, tries_max)
        return True

    @command
    def give_back(self, number: int, tries: int) -> None:
        """Have a task done by another, first of all: its worker did not begin it."""
        row = self.open.get(number)
        if row is not None and row.worker and row.tries == tries:
            row.worker, row.tried_before = "", row.tried_before + 1
            self.waiting.insert(0, number)

    @command
    def revive(self, number: int) -> bool:
        """Have a dead task done again."""
        if number not in self.dead:
            return False
        payload, _, tries = self.dead.pop(number)
        self.open[number] = WorkRow(payload, tries, tries)
        self.waiting.append(number)
        return True

    def on_members(self, members: tuple[str, ...]) -> None:
        """Have the tasks done again whose workers are gone."""
        for number, row in list(self.open.items()):
            if row.worker and row.worker not in members:
                self._again(number, row, f"{row.worker} died, or was put out", TRIES_MAX)

    @query
    def counts(self) -> dict[str, int]:
        """Return how many tasks wait, are worked on, done and dead."""
        at_work = len(self.open) - len(self.waiting)
        return {"waiting": len(self.waiting), "working": at_work, "done": len(self.results), "dead": len(self.dead)}

    @query
    def ended(self, number: int) -> tuple[str, Any]:
        """Return how a task ended: ("done", result), ("dead", reason), ("open", None) or ("unknown", None)."""
        if number in self.results:
            return "done", self.results[number]
        if number in self.dead:
            return "dead", self.dead[number][1]
        return ("open" if number in self.open else "unknown"), None

    @query
    def dead_tasks(self) -> dict[int, tuple[Any, str]]:
        """Return dead tasks: payload and reason."""
        return {number: row[:2] for number, row in self.dead.items()}

    @query
    def has_waiting(self) -> bool:
        """Return whether a task waits."""
        return bool(self.waiting)

    def _again(self, number: int, row: WorkRow, reason: str, tries_max: int) -> None:
        row.worker, row.reason = "", reason
        if row.tries - row.tried_before >= tries_max:
            del self.open[number]
            self.dead[number] = row.payload, reason, row.tries
            _bound(self.dead)
        else:
            self.waiting.insert(0, number)


def _bound(kept: dict[int, Any]) -> None:
    for oldest in list(kept)[:-ENDED_MAX]:
        del kept[oldest]


class TaskDead(Refused):
    """A task that failed too often."""


@dataclass(slots=True)
class QueuedTask:
    """A task that this worker has: say `done(result)` or `fail(reason)`."""

    queue: WorkQueue = field(repr=False)
    number: int
    payload: Any
    tries: int  # how often it was begun, this time included

    def done(self, result: Any = None) -> bool:
        """Give the result; False: the task was taken from this worker meanwhile, and its result counts for nothing."""
        found: bool = self.queue._machine.done(self.number, self.tries, result)
        return found

    def fail(self, reason: str) -> bool:
        """Have it done again, or called dead after `tries_max`; False: it was taken from this worker meanwhile."""
        found: bool = self.queue._machine.failed(self.number, self.tries, reason, self.queue.tries_max)
        return found


class WorkView(BlockView[WorkTable]):
    """A work queue as it is read."""

    kind = WorkTable
    prefix = "queue"
    tries_max = TRIES_MAX

    def counts(self) -> dict[str, int]:
        """Return how many tasks are waiting, working, done and dead, as this process knows."""
        found: dict[str, int] = self._machine.counts()
        return found

    def dead(self) -> dict[int, tuple[Any, str]]:
        """Return the tasks that failed too often: payload and reason by number."""
        found: dict[int, tuple[Any, str]] = self._machine.dead_tasks()
        return found

    def _result_of(self, number: int) -> Any:
        how, value = self._machine.ended(number)
        if how == "dead":
            raise TaskDead(f"task {number} failed too often: {value}")
        if how == "unknown":
            raise Refused(f"no task {number} is known: the last {ENDED_MAX:,} results are kept")
        return value

    def _give_back(self, taking: Future[Any]) -> None:
        """Give a task back that was taken for nobody."""
        if taking.exception() is None and (found := taking.result()):
            self._surely("give_back", found[0], found[2])


class WorkQueue(WorkView, Block[WorkTable]):
    """Tasks for whoever opens the queue.

        number = queue.put({"resize": "a.png"})         # anywhere
        for task in queue.tasks():                      # in each worker
            task.done(resize(task.payload))
        queue.result(number, timeout_s=60)

    Consistency: each task has one worker at a time, in one order for all. A task whose worker dies, or is put out, is
    begun again by another: so its work may be done twice, and its result counts once. The queue lives as long as one
    process has it open, or on disks with `data=` and `replicas=`.
    """

    def __init__(self, node: gcom.Node, name: str, *, timeout_s: float = 10.0, **options: Any) -> None:
        self._kept: deque[QueuedTask] = deque()  # whose call was interrupted as it returned
        self._keep = self._kept.append
        super().__init__(node, name, timeout_s=timeout_s, **options)

    def put(self, payload: Any) -> int:
        """Add a task; return its number. Raises Refused at 100,000 that are not done."""
        found: int = self._machine.put(payload)
        return found

    @uninterrupted(kept_by="_keep")
    def take(self, timeout_s: float | None = None) -> QueuedTask:
        """Wait for a task, and have it; raises GComTimeout."""
        if self._kept:
            return self._kept.popleft()
        deadline = None if timeout_s is None else monotonic() + timeout_s
        while True:
            left = None if deadline is None else max(0.0, deadline - monotonic())
            self._await(self._machine.has_waiting, left, "task")
            if found := self._taken():
                return QueuedTask(self, *found)

    def _taken(self) -> tuple[int, Any, int] | None:
        taking = self._machine.submit.take()
        done = False
        try:
            found: tuple[int, Any, int] | None = result_of(taking, self.timeout_s)
            done = True
        except FutureTimeout:
            text = f"no answer after {self.timeout_s} s; a task that comes later is given back"
            raise GComTimeout(f"WorkQueue {self.name!r}: {text}") from None
        finally:
            if not done:
                taking.add_done_callback(self._give_back)
        return found

    def tasks(self) -> Iterator[QueuedTask]:
        """Yield tasks for ever; one that raises in the loop's body is not ended: end each by `done` or `fail`."""
        while True:
            yield self.take()

    def result(self, number: int, timeout_s: float | None = None) -> Any:
        """Wait for a task's result; raises TaskDead, GComTimeout, Refused where it is unknown or long ended."""
        self._await(lambda: self._machine.ended(number)[0] != "open", timeout_s, f"result of task {number}")
        return self._result_of(number)

    def revive(self, number: int) -> bool:
        """Have a dead task done again; return whether it was dead."""
        found: bool = self._machine.revive(number)
        return found
