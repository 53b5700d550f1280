"""The engine of one machine with several processors: tasks run in processes, and pass rows on through files.

A task's rows stay in the file that it wrote, and the driver has only the places where they lie: so its memory does not
grow with the logs, also where all messages are read a second time. Processes begin anew and are not forked, as the
driver has threads.
"""

from __future__ import annotations

import os
import signal
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from multiprocessing import active_children, get_context, parent_process
from operator import attrgetter
from tempfile import NamedTemporaryFile, TemporaryDirectory, gettempdir
from threading import Thread
from typing import Any, NamedTuple

from gcom.audit.plan.engine import Found, T, TaskRow
from gcom.audit.plan.wire import pack, unpack
from gcom.errors import AuditUnavailable

CHAIN_BYTES = 64 << 20  # one segment of the default size
FORK_SERVER_BYTES = 60  # of the folder; a socket's path may have 104, and its name takes some 35
PROCESSES_MAX = 16  # each holds one segment, of some hundred megabytes in memory
_SHARES = 4  # of the groups, that each process is given one after the other

Progress = Callable[[int, int], object]  # is told the tasks done and all


class _StoredThing(NamedTuple):
    """The place of a row's content."""

    file: str
    at: int
    size: int


class ProcessPool:
    """The engine of logs that one process would be long with; rows are lists, their content is in files."""

    chain_bytes = CHAIN_BYTES

    def __init__(self, processes: int, tell: Progress = lambda _done, _all: None) -> None:
        self._tell = tell
        self._folder = TemporaryDirectory(prefix="gcom-audit-")
        self._shares = processes * _SHARES
        self._others = {*active_children()}
        # A fork server listens at a socket in the folder of temporary files, whose path has a bound.
        context = get_context("forkserver" if len(os.fsencode(gettempdir())) <= FORK_SERVER_BYTES else "spawn")
        context.set_forkserver_preload([__name__])
        self._pool = ProcessPoolExecutor(processes, context, _begin)

    def spread(
        self, items: Sequence[T], task: Callable[[T], Iterable[TaskRow]], *, reused: bool = False
    ) -> list[TaskRow]:
        found = self._results([self._pool.submit(_spread, task, item, self._folder.name) for item in items])
        return [row for rows in found for row in rows]

    def load(self, rows: list[TaskRow]) -> list[TaskRow]:
        return rows

    def collect(self, rows: list[TaskRow]) -> list[TaskRow]:
        return [*_loaded(rows)]

    def where(self, rows: list[TaskRow], column: str, values: Sequence[str], *, inside: bool = True) -> list[TaskRow]:
        return [row for row in rows if (getattr(row, column) in values) is inside]

    def union(self, one: list[TaskRow], other: list[TaskRow]) -> list[TaskRow]:
        return one + other

    def grouped(self, rows: list[TaskRow], by: Sequence[str], task: Callable[[list[TaskRow]], object]) -> Found:
        groups = _groups_of(rows, by, ("chain", "nth"))
        # A call costs as much as a small group, and there may be thousands of them.
        size = max(len(groups) // self._shares, 1)
        parts, each = [], iter(groups.values())
        while part := [*islice(each, size)]:  # it ends: each turn takes groups
            parts.append(part)
        found = self._results([self._pool.submit(_judge_groups, task, part) for part in parts])
        return [*zip(groups, (result for results in found for result in results), strict=True)]

    def in_order(
        self, rows: list[TaskRow], by: Sequence[str], groups: int, task: Callable[[Iterator[TaskRow]], object]
    ) -> Found:
        found = _groups_of(rows, by, ("bucket", "chain", "nth"))
        results = self._results([self._pool.submit(_judge_in_order, task, each) for each in found.values()])
        return [*zip(found, results, strict=True)]

    def release(self) -> None:
        """End the processes, also in the middle of a task, and remove the files."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        for child in {*active_children()} - self._others:
            child.terminate()
            child.join()
        self._folder.cleanup()

    def _results(self, futures: list[Future[Any]]) -> list[Any]:
        """Return the results in order. Raises AuditUnavailable if a process was killed."""
        found = []
        try:
            for future in futures:
                found.append(future.result())
                self._tell(len(found), len(futures))
        except BrokenProcessPool:
            text = "a process of the audit was killed, or this machine had no memory for it"
            raise AuditUnavailable(f"{text}. Try again") from None
        return found


def _groups_of(rows: list[TaskRow], by: Sequence[str], order: Sequence[str]) -> dict[tuple[Any, ...], list[TaskRow]]:
    values, place = attrgetter(*by), attrgetter(*order)
    groups: dict[tuple[Any, ...], list[TaskRow]] = defaultdict(list)
    for row in rows:
        groups[values(row)].append(row)
    # In the order of their groups, and each group's as the log has them, whatever engine: reports are to be the same.
    return {key: sorted(of, key=place) for key, of in sorted(groups.items())}


# In the processes of the pool


def _begin() -> None:
    """Leave Ctrl-C to the driver, which ends this process; end with the driver, however that ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    driver = parent_process()
    assert driver is not None, "this is a process of a pool"

    def follow() -> None:
        driver.join()
        os._exit(1)

    Thread(target=follow, daemon=True).start()


def _spread(task: Callable[[T], Iterable[TaskRow]], item: T, folder: str) -> list[TaskRow]:
    found = []
    with NamedTemporaryFile(dir=folder, delete=False) as file:
        for row in task(item):
            data = pack(row.thing)
            found.append(row._replace(thing=_StoredThing(file.name, file.tell(), len(data))))
            file.write(data)
    return found


def _judge_groups(task: Callable[[list[TaskRow]], object], groups: list[list[TaskRow]]) -> list[object]:
    return [task([*_loaded(rows)]) for rows in groups]


def _judge_in_order(task: Callable[[Iterator[TaskRow]], object], rows: list[TaskRow]) -> object:
    return task(_loaded(rows))


def _loaded(rows: Iterable[TaskRow]) -> Iterator[TaskRow]:
    """Yield rows with their content, one after the other; those that the driver had from elsewhere have it."""
    for row in rows:
        place = row.thing
        if isinstance(place, _StoredThing):
            with open(place.file, "rb") as file:
                file.seek(place.at)
                yield row._replace(thing=unpack(file.read(place.size)))
        else:
            yield row
