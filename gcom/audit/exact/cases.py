"""What a rule's function answers: its cases as rows, which add up to a tally and hold the examples."""

from __future__ import annotations

from typing import Any

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from gcom.audit.exact.columns import GROUP, STAY, WHERE
from gcom.audit.summary.tally import EXAMPLES

# A row stands for so many cases; `more` is, as JSON, what an example of this rule tells beside WHERE.
CASES = [*GROUP, *WHERE, "evaluated", "violations", "unknown", "reason", "more"]
_TYPES = {"process": "string", "sender": "string", "file": "int", "reason": "string", "more": "string"}


def cases(
    frame: DataFrame,
    evaluated: Column | int = 0,
    violations: Column | int = 0,
    unknown: Column | int = 0,
    reason: Column | str = "",
    **more: Any,
) -> DataFrame:
    """`more` are columns, or values that are the same everywhere."""
    columns = [F.col(name) for name in GROUP]
    for name in WHERE:
        value = F.col(name) if name in frame.columns else F.lit(None)
        columns.append(value.cast(_TYPES.get(name, "long")).alias(name))
    counts = {"evaluated": evaluated, "violations": violations, "unknown": unknown}
    columns += [_column(value).cast("long").alias(name) for name, value in counts.items()]
    columns.append(_column(reason).cast("string").alias("reason"))
    told = F.struct(*(_column(value).alias(name) for name, value in more.items())) if more else None
    columns.append((F.lit(None).cast("string") if told is None else F.to_json(told)).alias("more"))
    return frame.select(*columns).select(*CASES)


def _column(value: Any) -> Column:
    return value if isinstance(value, Column) else F.lit(value)


def where_of(name: str) -> Column:
    """A struct's WHERE, as an example tells of another message."""
    return F.struct(*(F.col(f"{name}.{each}").alias(each) for each in WHERE))


def gap_cases(placed: DataFrame, absent: DataFrame, *, told: bool = True) -> DataFrame:
    """One unknown case a gap; with `told` false, only for those that no state makes up for."""
    gaps = placed.where("kind = 'gap'" if told else "kind = 'gap' AND state IS NULL")
    reason = F.format_string("%s has a gap at position %d", "process", "at")
    missing = cases(absent, unknown=1, reason=F.format_string("there is no readable log of %s", "process"))
    return cases(gaps.select(*STAY, "at"), unknown=1, reason=reason).unionByName(missing)


def absent(placed: DataFrame, stayed: DataFrame, logs: DataFrame) -> DataFrame:
    """Members without a log, or whose log has a gap and nothing of the group."""
    named = placed.where("kind = 'view'").select(*GROUP, F.explode("members").alias("process")).distinct()
    silent = named.join(stayed.select(*STAY), STAY, "left_anti").join(logs, "process", "left")
    return silent.where("coverage IS NULL OR coverage = 'lost'").select(*STAY)


def sums(found: DataFrame) -> DataFrame:
    """A rule's cases in a group, added up."""
    counts = [F.sum(name).alias(name) for name in ("evaluated", "violations", "unknown")]
    reason = F.min(F.when(F.col("unknown") > 0, F.col("reason"))).alias("reason")
    return found.groupBy("rule", *GROUP).agg(*counts, reason)


def examples(found: DataFrame) -> DataFrame:
    """The first violations of each rule in each group."""
    order = Window.partitionBy("rule", *GROUP).orderBy("process", "at", "sender", "number", "more")
    wrong = found.where("violations > 0").withColumn("rank", F.row_number().over(order))
    return wrong.where(F.col("rank") <= EXAMPLES).select("rule", *GROUP, "rank", *WHERE, "more")
