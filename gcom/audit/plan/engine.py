"""Engines, which run the plan's tasks: the operations on rows that this process and Spark have alike."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import attrgetter
from typing import Any, NamedTuple, Protocol, TypeVar

T = TypeVar("T")
SOON_BYTES = 128_000_000  # of logs: so much is judged by this process as soon as by others, which have to start
Found = list[tuple[tuple[Any, ...], Any]]  # each group's values in the columns that make it, and its result; sorted


class TaskRow(NamedTuple):
    """A result of one task, on its way to the next.

    `name` is the process that a summary is of, or the rule that an excerpt is for; `of` says what a summary is of, or
    what an excerpt's buckets are of. `chain` and `nth` give the order in which chains yielded their rows.
    """

    group: str
    instance: str
    name: str
    of: str
    bucket: int
    chain: int
    nth: int
    thing: Any


class Engine(Protocol):
    """The operations that run the plan's tasks. Each engine keeps rows in a form of its own; tasks share no state."""

    chain_bytes: int  # of a process's segments that one task goes through

    def spread(self, items: Sequence[T], task: Callable[[T], Iterable[TaskRow]], *, reused: bool = False) -> Any:
        """Return the rows that the task yields for each item; if they are `reused` they are worked out only once."""

    def load(self, rows: list[TaskRow]) -> Any:
        """Return rows that the driver has."""

    def collect(self, rows: Any) -> list[TaskRow]:
        """Bring rows to the driver."""

    def where(self, rows: Any, column: str, values: Sequence[str], *, inside: bool = True) -> Any:
        """Return the rows whose column has one of the values, or none of them."""

    def union(self, one: Any, other: Any) -> Any: ...

    def grouped(self, rows: Any, by: Sequence[str], task: Callable[[list[TaskRow]], object]) -> Found:
        """Return the task's result for each group of rows, equal in the columns `by`; its rows come by chain."""

    def in_order(self, rows: Any, by: Sequence[str], groups: int, task: Callable[[Iterator[TaskRow]], object]) -> Found:
        """Return the same for groups too large for memory: the task is given rows one after the other, by bucket and
        chain. There are about `groups` groups.
        """

    def release(self) -> None:
        """Forget all rows: the plan is done with them."""


class InProcess:
    """The engine of small logs, which are judged before Spark would have started, and of witnesses, of which many are
    judged per second: one task after another, in this process.
    """

    chain_bytes = sys.maxsize

    def spread(
        self, items: Sequence[T], task: Callable[[T], Iterable[TaskRow]], *, reused: bool = False
    ) -> list[TaskRow]:
        return [row for item in items for row in task(item)]

    def load(self, rows: list[TaskRow]) -> list[TaskRow]:
        return rows

    def collect(self, rows: list[TaskRow]) -> list[TaskRow]:
        return rows

    def where(self, rows: list[TaskRow], column: str, values: Sequence[str], *, inside: bool = True) -> list[TaskRow]:
        return [row for row in rows if (getattr(row, column) in values) is inside]

    def union(self, one: list[TaskRow], other: list[TaskRow]) -> list[TaskRow]:
        return one + other

    def grouped(self, rows: list[TaskRow], by: Sequence[str], task: Callable[[list[TaskRow]], object]) -> Found:
        # In the order in which the log has them, whatever engine: examples and joined summaries depend on it.
        return self._found(rows, by, ("chain", "nth"), task)

    def in_order(
        self, rows: list[TaskRow], by: Sequence[str], groups: int, task: Callable[[Iterator[TaskRow]], object]
    ) -> Found:
        return self._found(rows, by, ("bucket", "chain", "nth"), lambda each: task(iter(each)))

    def release(self) -> None:
        """Do nothing: rows go with whoever holds them."""

    def _found(
        self, rows: list[TaskRow], by: Sequence[str], order: Sequence[str], task: Callable[[list[TaskRow]], object]
    ) -> Found:
        values, place = attrgetter(*by), attrgetter(*order)
        groups: dict[tuple[Any, ...], list[TaskRow]] = defaultdict(list)
        for row in rows:
            groups[values(row)].append(row)
        # In the order of their groups, as Spark's results are sorted: both give the same report.
        return [(key, task(sorted(of, key=place))) for key, of in sorted(groups.items())]
