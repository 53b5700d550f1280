"""Group commit: one thread carries out all jobs that wait, in one transaction, and commits them together.

There is no timer: while one batch is on its way to the disk, the next one forms. A job that refuses its own request has
changed nothing, and its neighbours go on. A job that fails after it has changed something undoes the batch, which is
then carried out again, each job alone: so jobs do nothing but use their transaction.

Only this thread writes. So Ctrl-C in the caller's thread never meets a transaction, and nobody waits for a leader that
was interrupted (docs/decisions/0029).
"""

from __future__ import annotations

import os
from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from pathlib import Path
from threading import Thread
from time import perf_counter
from typing import Any, NamedTuple, TypeVar

from gcom.errors import Forked, GComError, GComTimeout
from gcom.runtime.user_process.entry import InterruptibleCondition, uninterrupted
from gcom.runtime.user_process.uninterrupted import WholeFuture, await_end, result_of
from gcom.topics.crash_points import CRASH_POINTS
from gcom.topics.errors import ReceiptUnknown, StoreBusy, StoreClosed, StoreDamaged, StoreStopped
from gcom.topics.evidence.records import TopicRecords
from gcom.topics.storage.database import Database
from gcom.topics.storage.transaction import StoreJob

JOBS_MAX = 4096  # that wait; then `submit` waits
BATCH_MAX = 1024
CLOSE_S = 60.0
POLL_S, IDLE_POLL_S = 0.005, 0.05  # for commits of other processes; slower where nothing has come for a second

T = TypeVar("T")


class Task(NamedTuple):
    """A job, and the future of its result."""

    job: StoreJob[Any]
    future: Future[Any]


class CommitTimes:
    """How long commits took: a count for each of BOUNDS_S, and one for what is beyond, and their sum."""

    BOUNDS_S = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0)

    def __init__(self) -> None:
        self.counts = [0] * (len(self.BOUNDS_S) + 1)
        self.sum_s = 0.0

    def add(self, seconds: float) -> None:
        """Count a commit."""
        self.counts[bisect_left(self.BOUNDS_S, seconds)] += 1
        self.sum_s += seconds


class Commits:
    """The thread that writes, and the jobs that wait for it."""

    def __init__(self, database: Database, words: dict[str, str]) -> None:
        self._database, self.words = database, words
        self.name, self.place, self.durable = database.name, database.place, database.durable
        self.id = ""  # of the store, once its tables are there
        self.records: TopicRecords | None = None  # for the audit
        self._waiting: deque[Task] = deque()
        self._changed = InterruptibleCondition()
        self._process = os.getpid()
        self._closing = False
        self._stopped: GComError | None = None
        self.commits = 0  # since it was opened
        self.times = CommitTimes()
        self.news = InterruptibleCondition()  # notified after each commit: for readers that follow
        self._ended: Future[None] = WholeFuture()
        self._thread = Thread(target=self._run, name=f"gcom-topics {database.name}", daemon=True)
        self._thread.start()

    @property
    def root(self) -> object:
        """Return the store: all its topics are one database."""
        return self

    def of(self, _topic: str) -> Commits:
        """Return the way to one topic, which is the same for all."""
        return self

    def record_with(self, records: TopicRecords) -> None:
        """Keep records for the audit from now on."""
        self.records = records

    @uninterrupted()
    def call(self, job: StoreJob[T]) -> T:
        """Carry out a job in a committed transaction; return its result."""
        return result_of(self.submit(job))

    @property
    def duplicates(self) -> Counter[str]:
        """Return how many duplicates this process was sent, by topic, since it opened the store."""
        return self._database.writer.duplicates

    @property
    def is_file(self) -> bool:
        """Tell whether no server on another machine can open this store."""
        return self.durable == "file"

    @uninterrupted()
    def ask(self, job: StoreJob[T]) -> T:
        """Return the result of a job that reads."""
        with self._database.reading() as tx:
            return job(tx)

    @uninterrupted()
    def submit(self, job: StoreJob[T]) -> Future[T]:
        """Have a job carried out; return the future of its result. Waits while too many wait already."""
        if os.getpid() != self._process:
            raise Forked(f"the store {self._database.name!r} was opened before a fork: open it again in this process")
        future: Future[T] = WholeFuture()
        with self._changed:
            while len(self._waiting) >= JOBS_MAX and not self._refusing():
                self._changed.wait()
            if error := self._refusing():
                raise error
            self._waiting.append(Task(job, future))
            self._changed.notify_all()
        return future

    def _refusing(self) -> GComError | None:
        if self._closing:
            return StoreClosed(f"the store {self._database.name!r} is closed")
        # A new exception for each caller: a raised one carries its caller's traceback.
        return StoreStopped(str(self._stopped)) if self._stopped else None

    @uninterrupted()
    def close(self) -> None:
        """Carry out what waits, and end the thread. In the child of a fork there is none."""
        if os.getpid() != self._process:
            return
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        with self.news:
            self.news.notify_all()
        await_end(self._ended, CLOSE_S)
        if not self._ended.done():
            raise GComTimeout(f"timed out after {CLOSE_S:g} s: the store {self._database.name!r} is still writing")
        self._thread.join()  # it has nothing left to do
        result_of(self._ended)

    @uninterrupted()
    def wait_for_news(self, seen: int, idle: bool, left_s: float | None) -> None:
        """Wait for a commit of this process after the first `seen`, for the store to close, or for the time.

        It looks for commits of other processes again after some milliseconds.
        """
        pause_s = IDLE_POLL_S if idle else POLL_S
        with self.news:
            self.news.wait_for(
                lambda: self.commits != seen or self._closing, pause_s if left_s is None else min(pause_s, left_s)
            )

    @uninterrupted()
    def wait_long(self, seen: int, limit_s: float) -> None:
        """Wait for a commit of this process after the first `seen`: for a client, which asks again by itself."""
        with self.news:
            self.news.wait_for(lambda: self.commits != seen or self._closing, limit_s)

    def check(self) -> list[str]:
        """Return a sentence for each fault in how the database is stored."""
        return self._database.check()

    def backup(self, path: Path, tell: Callable[[int, int], object]) -> None:
        """Copy the store into a new file, as it is at one moment."""
        self._database.backup(path, tell)

    def _take(self) -> list[Task]:
        """Wait for jobs and take all of them, up to a bound; empty when the store closes."""
        with self._changed:
            while not self._waiting and not self._closing:
                self._changed.wait()
            count = min(len(self._waiting), BATCH_MAX)
            batch = [self._waiting.popleft() for _ in range(count)]
            self._changed.notify_all()
        return batch

    def _run(self) -> None:
        self._carry_out_all()
        # Not by the caller of `close`: it may be interrupted, and nobody calls it again.
        try:
            self._database.close()
            if self.records is not None:
                self.records.close()
        except Exception as error:  # outermost: `close` raises it
            self._ended.set_exception(error)
        else:
            self._ended.set_result(None)

    def _carry_out_all(self) -> None:
        while batch := self._take():
            batch = [task for task in batch if task.future.set_running_or_notify_cancel()]
            try:
                self._carry_out(batch)
                self._database.upkeep()
            except StoreBusy:  # of the upkeep, which has time
                pass
            except Exception as error:  # outermost: else nobody would tell the callers that it is over
                self._stop(self._database.refusal(error) or StoreStopped(f"{type(error).__name__}: {error}"))
                self._tell_undone(batch)

    def _carry_out(self, batch: Sequence[Task]) -> None:
        if batch and not self._together(batch):
            for task in batch:
                self._together([task])

    def _together(self, batch: Sequence[Task]) -> bool:
        """Carry out jobs in one transaction and tell their results; False if each is to be done again, alone."""
        if self._stopped:
            return self._tell(batch, [_raising(StoreStopped(str(self._stopped)))] * len(batch))
        try:
            self._database.begin()
        except GComError as error:
            return self._tell(batch, [_raising(error)] * len(batch))
        outcomes = []
        for task in batch:
            outcome, clean = self._one(task)
            if not clean:
                self._database.rollback()
                return len(batch) == 1 and self._tell(batch, [outcome])
            outcomes.append(outcome)
        CRASH_POINTS.passed("append.written")
        began = perf_counter()
        try:
            self._database.commit()
        except GComError as error:
            if isinstance(error, ReceiptUnknown) and self._database.stops:
                self._stop(error)
            return self._tell(batch, [_raising(error)] * len(batch))
        CRASH_POINTS.passed("append.committed")
        self.times.add(perf_counter() - began)
        with self.news:
            self.commits += 1
            self.news.notify_all()
        self._tell(batch, outcomes)
        CRASH_POINTS.passed("append.replied")
        return True

    def _one(self, task: Task) -> tuple[Callable[[Future[Any]], None], bool]:
        """Carry out one job; return what to tell of it, and whether the transaction can go on."""
        transaction = self._database.writer
        before = transaction.writes
        try:
            result = task.job(transaction)
        except GComError as error:
            return _raising(error), transaction.writes == before
        except Exception as error:  # outermost: a job of the application's must not end the thread that writes
            refusal = self._database.refusal(error)
            if isinstance(refusal, StoreDamaged):  # what is written into a damaged file damages more
                self._stop(refusal)
            return _raising(refusal or error), False
        return (lambda future: future.set_result(result)), True

    def _tell_undone(self, batch: Sequence[Task]) -> None:
        for task in batch:
            if not task.future.done():
                task.future.set_exception(ReceiptUnknown(f"the store {self._database.name!r} failed: {self._stopped}"))

    def _stop(self, error: GComError) -> None:
        with self._changed:
            self._stopped = self._stopped or error
            self._changed.notify_all()

    @staticmethod
    def _tell(batch: Sequence[Task], outcomes: Sequence[Callable[[Future[Any]], None]]) -> bool:
        for task, outcome in zip(batch, outcomes, strict=True):
            outcome(task.future)
        return True


def _raising(error: Exception) -> Callable[[Future[Any]], None]:
    return lambda future: future.set_exception(error)
