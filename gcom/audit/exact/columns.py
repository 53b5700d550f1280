"""Names and helpers that all of the exact plan shares."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as F

GROUP = ["group", "instance"]
STAY = [*GROUP, "process"]
MESSAGE = [*GROUP, "sender", "number"]
WHERE = ["process", "at", "view", "sender", "number", "file", "line"]  # what an example of a violation tells


def before(*keys: str) -> WindowSpec:
    """All that precedes in a process's history."""
    return _in_order(*keys).rowsBetween(Window.unboundedPreceding, -1)


def so_far(*keys: str) -> WindowSpec:
    """All that precedes in a process's history, and the row itself."""
    return _in_order(*keys).rowsBetween(Window.unboundedPreceding, Window.currentRow)


def _in_order(*keys: str) -> WindowSpec:
    return Window.partitionBy(*(keys or STAY)).orderBy("seq")


def all_of(*keys: str) -> WindowSpec:
    return Window.partitionBy(*keys).rowsBetween(Window.unboundedPreceding, Window.unboundedFollowing)


def latest(value: Column, window: WindowSpec) -> Column:
    """The last value that is there; `value` is a struct where null itself can be the value."""
    return F.last(value, ignorenulls=True).over(window)


def entries(frame: DataFrame, kept: list[str], counts: str, *names: str) -> DataFrame:
    """A map's entries as rows: who, and how many."""
    return frame.select(*kept, F.explode(counts).alias(*names))


def renamed(frame: DataFrame, **names: str) -> DataFrame:
    return frame.withColumnsRenamed(names)
