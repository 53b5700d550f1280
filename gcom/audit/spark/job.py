"""The engine that lets Spark run the plan (plan/run.py): what it moves is summaries of logs, never the logs themselves.

All rows have one schema, with what they hold as bytes (decision 0018), so each operation is one of Spark's own; tasks
read the logs by their paths.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from operator import attrgetter, itemgetter
from typing import Any, TypeVar

import pyarrow as pa

from gcom.audit.plan.engine import Found, TaskRow
from gcom.audit.plan.wire import pack, unpack

T = TypeVar("T")
# Two segments of the default size: a log of a gigabyte is eight tasks.
CHAIN_BYTES = 128 << 20  # of a process's segments that one task goes through
TASKS = 256  # of one stage, at most: more cost more to start than they share
EXCERPTS_AT_ONCE = 64  # that a task has in memory where it goes through them in order
_AT_ONCE = "spark.sql.execution.arrow.maxRecordsPerBatch"

_TYPES = {"group": pa.string(), "instance": pa.string(), "name": pa.string(), "of": pa.string()}
_TYPES |= {"bucket": pa.int64(), "chain": pa.int64(), "nth": pa.int64(), "thing": pa.binary()}
_SPARK = {pa.string(): "string", pa.int64(): "long", pa.binary(): "binary"}


class SparkEngine:
    """The engine of large logs; rows are DataFrames."""

    chain_bytes = CHAIN_BYTES

    def __init__(self, spark: Any) -> None:
        self._spark = spark
        self._kept: list[Any] = []

    def spread(self, items: Sequence[T], task: Callable[[T], Iterable[TaskRow]], *, reused: bool = False) -> Any:
        """Return the rows of each item, in a task of its own if the items are not too many."""

        def of_task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                # Tasks get indexes, and the items by the closure that Spark ships: an item may
                # be anything that pickles.
                for place in batch.column(0).to_pylist():
                    # One row per batch: a summary may be a megabyte, and Arrow would hold a whole batch
                    # of them at once.
                    yield from (_batch([(*row[:-1], pack(row.thing))]) for row in task(items[place]))

        places = self._spark.range(0, len(items), 1, min(len(items), TASKS))
        rows = places.mapInArrow(of_task, _schema(_TYPES))
        if reused:  # else each use would read the logs again
            self._kept.append(rows.persist())
        return rows

    def load(self, rows: list[TaskRow]) -> Any:
        return self._spark.createDataFrame([(*row[:-1], pack(row.thing)) for row in rows], _schema(_TYPES))

    def collect(self, rows: Any) -> list[TaskRow]:
        return [_row(*row) for row in rows.collect()]

    def where(self, rows: Any, column: str, values: Sequence[str], *, inside: bool = True) -> Any:
        chosen = rows[column].isin(list(values))
        return rows.where(chosen if inside else ~chosen)

    def union(self, one: Any, other: Any) -> Any:
        return one.unionByName(other)

    def grouped(self, rows: Any, by: Sequence[str], task: Callable[[list[TaskRow]], object]) -> Found:
        def of_group(table: pa.Table) -> pa.Table:
            # Spark gives a group's rows in any order.
            found = sorted((_row(*row.values()) for row in table.to_pylist()), key=attrgetter("chain", "nth"))
            return pa.Table.from_batches([_batch([(*attrgetter(*by)(found[0]), pack(task(found)))], _found(by))])

        return self._collected(rows.groupBy(*by).applyInArrow(of_group, _schema(_found(by))))

    def in_order(self, rows: Any, by: Sequence[str], groups: int, task: Callable[[Iterator[TaskRow]], object]) -> Found:
        def of_partition(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            ordered = (row for batch in batches for row in batch.to_pylist())
            for key, of_group in groupby(ordered, key=itemgetter(*by)):
                # A task may not go through all rows: only those that it takes are unpacked.
                found = task(_row(*row.values()) for row in of_group)
                yield _batch([(*key, pack(found))], _found(by))

        # By default a task would be handed 10,000 rows at once; an excerpt may have a megabyte.
        before = self._spark.conf.get(_AT_ONCE, None)  # None where nobody has set it
        self._spark.conf.set(_AT_ONCE, str(EXCERPTS_AT_ONCE))
        try:
            # Rows of one group go to one task, sorted on disk if they are many, and are judged as they come.
            ordered = rows.repartition(groups, *by).sortWithinPartitions(*by, "bucket", "chain", "nth")
            return self._collected(ordered.mapInArrow(of_partition, _schema(_found(by))))
        finally:
            if before is None:
                self._spark.conf.unset(_AT_ONCE)
            else:
                self._spark.conf.set(_AT_ONCE, before)

    def release(self) -> None:
        # The session may be its user's, who goes on with it.
        while self._kept:
            self._kept.pop().unpersist()

    def _collected(self, rows: Any) -> Found:
        """Return results in the order of their groups, so that the choice of examples is deterministic."""
        return sorted(((tuple(row)[:-1], unpack(bytes(row.thing))) for row in rows.collect()), key=lambda each: each[0])


def _row(*values: Any) -> TaskRow:
    *place, thing = values
    return TaskRow._make([*place, unpack(bytes(thing))])


def _found(by: Sequence[str]) -> dict[str, pa.DataType]:
    """Return the columns of what was worked out of each group."""
    return {name: _TYPES[name] for name in (*by, "thing")}


def _schema(types: dict[str, pa.DataType]) -> str:
    return ", ".join(f"{name} {_SPARK[kind]}" for name, kind in types.items())


def _batch(rows: list[tuple[Any, ...]], types: dict[str, pa.DataType] = _TYPES) -> pa.RecordBatch:
    columns = zip(*rows, strict=True)
    return pa.RecordBatch.from_pydict(dict(zip(types, map(list, columns), strict=True)), schema=pa.schema(types))
