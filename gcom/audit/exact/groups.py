"""Rules over a whole group: views, leaders, serials."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from gcom.audit.exact.cases import CASES, cases, where_of
from gcom.audit.exact.columns import GROUP, MESSAGE, WHERE


def view_agreement(placed: DataFrame) -> DataFrame:
    """A view is the same at all; self and leader are members; a process's views follow one another."""
    kept = ["process", "seq", "at", "view", "file", "line", "last_view"]
    kept += ["members", "leader", "ordering", "multicast", "safe", "netsplit"]
    views = placed.where("kind = 'view'").select(*GROUP, *kept)
    names = F.array_sort(F.array_distinct("members")).alias("names")
    substance = F.struct(names, "leader", "ordering", "multicast", "safe", "netsplit")
    first = F.first(F.struct("process", substance.alias("substance"))).over(
        Window.partitionBy(*GROUP, "view")
        .orderBy("process", "seq")
        .rowsBetween(Window.unboundedPreceding, Window.currentRow)
    )
    views = views.withColumn("substance", substance).withColumn("first", first)
    unlike = views.where("NOT (substance <=> first.substance)")
    inside = F.array_contains("members", F.col("process")) & F.array_contains("members", F.col("leader"))
    jumps = views.where("last_view != 0 AND view != last_view + 1")
    return (
        cases(views, evaluated=1)
        .unionByName(cases(unlike, violations=1, kind="differs", other=F.col("first.process")))
        .unionByName(cases(views.where(~inside), violations=1, kind="outsider"))
        .unionByName(cases(jumps, violations=1, kind="jump", before=F.col("last_view")))
        .select(*CASES)
    )


def one_leader(rows: DataFrame) -> DataFrame:
    """One leader a view, over `view` and `elect`. A view has few who were ever its leader: the list is bounded."""
    named = rows.where(F.col("kind").isin("view", "elect"))
    named = named.select(*GROUP, "process", "kind", "seq", "at", "view", "leader", "file", "line")
    record = F.struct("process", (F.col("kind") == "elect").alias("elect"), "seq", "at", "file", "line")
    leaders = named.groupBy(*GROUP, "view", "leader").agg(F.min(record).alias("first"))
    each = F.sort_array(F.collect_list(F.struct("first", "leader"))).alias("each")
    views = leaders.groupBy(*GROUP, "view").agg(each)
    wrong = views.where(F.size("each") > 1).withColumn("one", F.col("each")[0]).withColumn("two", F.col("each")[1])
    for name in ("process", "at", "file", "line"):
        wrong = wrong.withColumn(name, F.col(f"two.first.{name}"))
    told = {"leaders": F.array_sort(F.col("each.leader")), "other": F.col("one.first.process")}
    return cases(views, evaluated=1).unionByName(cases(wrong, violations=1, **told)).select(*CASES)


def serial_unique(messages: DataFrame) -> DataFrame:
    """One message a serial, one serial a message."""
    placed = messages.where("serial IS NOT NULL").select(*GROUP, *WHERE, "serial")
    where = F.min(F.struct(*WHERE)).alias("where")
    pairs = placed.groupBy(*MESSAGE, "serial").agg(where)
    found = cases(placed.select(*GROUP), evaluated=1)
    for kind, key, order in (("serial", ["serial"], ["sender", "number"]), ("message", MESSAGE[2:], ["serial"])):
        neighbours = Window.partitionBy(*GROUP, *key).orderBy(*order)
        clash = pairs.withColumn("other", F.lag(F.struct("where", "serial")).over(neighbours)).where(
            "other IS NOT NULL"
        )
        clash = clash.select(*GROUP, "where.*", "serial", "other")
        other = where_of("other.where")
        told = {"serial": F.col("serial"), "other_serial": F.col("other.serial"), "other": other}
        found = found.unionByName(cases(clash, violations=1, kind=kind, **told))
    return found.select(*CASES)
