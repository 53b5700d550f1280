"""TOTAL: the union of all processes' orders of delivery has no cycle.

Give each message a height: its serial where all have one, else the furthest place at which any process delivered it in
its view. If every process climbs from each delivery to the next, there is no cycle, and nothing more is looked at. A
cycle must come down again, and every height between its lowest and its highest message is crossed on a way down; so it
lies within the overlapping spans of ways down, and only the messages there are searched, span by span.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from gcom.audit.exact.cases import CASES, cases
from gcom.audit.exact.columns import GROUP, MESSAGE, STAY, WHERE, all_of
from gcom.audit.exact.cycles import shortest_cycle
from gcom.audit.exact.messages import delivered

MOST = 1_000_000  # steps of one span that are searched at once
EDGES = [*GROUP, "process", "one", "other"]  # `process` delivered `one`, then `other`: structs of height and WHERE
SPANS = [*GROUP, "span", "lowest", "highest"]
_SEARCHED = "group string, instance string, span long, searched long, steps string"


def delivered_once(messages: DataFrame) -> DataFrame:
    """The first delivery of each message by each process, with the message's height."""
    heard = delivered(messages, "serial", "place")
    kept = F.struct("seq", "at", "view", "file", "line", "serial", "place")
    once = heard.groupBy(*STAY, "sender", "number").agg(F.min(kept).alias("first"))
    once = once.select(*STAY, "sender", "number", "first.*")
    serial = F.min("serial").over(all_of(*MESSAGE))
    place = F.max(F.struct(F.col("view").alias("major"), F.col("place").cast("long").alias("minor"))).over(
        all_of(*MESSAGE)
    )
    numbered = heard.groupBy(*GROUP).agg(F.min(F.col("serial").isNotNull()).alias("numbered"))
    once = once.withColumn("by_serial", serial).withColumn("by_place", place).join(numbered, GROUP, "inner")
    by_serial = F.struct(F.col("by_serial").alias("major"), F.lit(0).cast("long").alias("minor"))
    height = F.when(F.col("numbered"), by_serial).otherwise(F.col("by_place"))
    return once.withColumn("height", height).select(*STAY, "seq", "height", *WHERE[1:])


def shared(once: DataFrame) -> DataFrame:
    """A case is a process that shares two messages with one before it. A message's list of processes is bounded."""
    who = F.array_sort(F.collect_list("process")).alias("who")
    by_message = once.groupBy(*MESSAGE).agg(who).groupBy(*GROUP, "who").agg(F.count("*").alias("messages"))
    ones = by_message.select(*GROUP, "who", "messages", F.explode("who").alias("process"))
    pairs = ones.select(*GROUP, "process", "messages", F.explode("who").alias("other")).where("other < process")
    both = pairs.groupBy(*STAY, "other").agg(F.sum("messages").alias("messages")).where("messages > 1")
    return cases(both.select(*STAY).distinct(), evaluated=1).select(*CASES)


def edges(once: DataFrame) -> DataFrame:
    """Each process's steps from one delivery to the next."""
    here = F.struct("height", *WHERE)
    window = Window.partitionBy(*STAY).orderBy("seq")
    steps = once.withColumn("other", here).withColumn("one", F.lag(here).over(window))
    return steps.where("one IS NOT NULL").select(*EDGES)


def descents(steps: DataFrame) -> DataFrame:
    return steps.where("one.height >= other.height").select(*EDGES)


def spans(down: DataFrame) -> DataFrame:
    """The heights that ways down cover, those that overlap as one."""
    each = down.select(*GROUP, F.col("other.height").alias("lowest"), F.col("one.height").alias("highest"))
    window = Window.partitionBy(*GROUP).orderBy("lowest", "highest")
    reached = F.max("highest").over(window.rowsBetween(Window.unboundedPreceding, -1))
    new = F.coalesce((F.col("lowest") > reached).cast("long"), F.lit(1))
    number = F.sum("new").over(window.rowsBetween(Window.unboundedPreceding, Window.currentRow))
    numbered = each.withColumn("new", new).withColumn("span", number).groupBy(*GROUP, "span")
    return numbered.agg(F.min("lowest").alias("lowest"), F.max("highest").alias("highest")).select(*SPANS)


def within(steps: DataFrame, covered: DataFrame) -> DataFrame:
    """The steps with both ends in one span, MOST of a span; `steps_of` tells how many there are."""
    marks = covered.select(*GROUP, F.col("lowest").alias("height"), F.struct(*SPANS[2:]).alias("mark"))
    asked = steps.select(*EDGES, F.col("one.height").alias("height")).join(
        covered.select(*GROUP).distinct(), GROUP, "left_semi"
    )
    both = asked.unionByName(marks, allowMissingColumns=True)
    window = Window.partitionBy(*GROUP).orderBy("height", F.col("mark").isNull())
    window = window.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    both = both.withColumn("mark", F.last("mark", ignorenulls=True).over(window)).where("one IS NOT NULL")
    inside = both.where("height <= mark.highest AND other.height BETWEEN mark.lowest AND mark.highest")
    inside = inside.withColumn("span", F.col("mark.span"))
    in_span = Window.partitionBy(*GROUP, "span")
    inside = inside.withColumn("steps_of", F.count("*").over(in_span))
    inside = inside.withColumn("rank", F.row_number().over(in_span.orderBy("height", "process")))
    return inside.where(F.col("rank") <= MOST).select(*EDGES, "span", "steps_of")


def acyclic(steps: DataFrame) -> DataFrame:
    """One violation a group, with the steps of a cycle; a span too large to be searched whole is unknown."""
    total = steps.groupBy(*GROUP, "span").agg(F.max("steps_of").alias("steps_of"))
    flat = steps.select(
        *GROUP, "span", *(F.col(f"{end}.{name}").alias(f"{end}_{name}") for end in ENDS for name in WHERE)
    )
    found = flat.groupBy(*GROUP, "span").applyInArrow(_search, _SEARCHED)
    judged = found.join(total, [*GROUP, "span"], "inner")
    cut = F.col("steps").isNull() & (F.col("searched") < F.col("steps_of"))
    by_group = judged.groupBy(*GROUP).agg(
        F.min_by("steps", F.when(F.col("steps").isNotNull(), F.col("span"))).alias("steps"),
        F.max(F.when(cut, F.col("steps_of"))).alias("unsearched"),
    )
    cyclic, doubtful = F.col("steps").isNotNull(), F.col("unsearched").isNotNull()
    reason = F.format_string("of %d steps that may be a cycle only %d are searched", "unsearched", F.lit(MOST))
    counts = {"violations": cyclic.cast("int"), "unknown": (doubtful & ~cyclic).cast("int")}
    return cases(by_group, **counts, reason=reason, steps=F.col("steps")).select(*CASES)


ENDS = ("one", "other")


def _search(table: pa.Table) -> pa.Table:
    steps = shortest_cycle(*(_names(table, end) for end in ENDS))
    told = [{"before": _where(table, "one", row), "after": _where(table, "other", row)} for row in steps]
    first = {name: table[name][0].as_py() for name in (*GROUP, "span")}
    found = {**first, "searched": len(table), "steps": json.dumps(told) if told else None}
    return pa.Table.from_pylist([found], _FOUND)


_FOUND = pa.schema(
    [
        (name, pa.int64() if name in ("span", "searched") else pa.string())
        for name in (*GROUP, "span", "searched", "steps")
    ]
)


def _names(table: pa.Table, end: str) -> Iterator[tuple[str, int]]:
    return zip(table[f"{end}_sender"].to_pylist(), table[f"{end}_number"].to_pylist(), strict=True)


def _where(table: pa.Table, end: str, row: int) -> dict[str, Any]:
    return {name: table[f"{end}_{name}"][row].as_py() for name in WHERE}
