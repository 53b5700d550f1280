"""What a process had of each other one when it sent, and when it installed a view.

All that changes it (deliveries, skips, bases, states, clocks) and all who ask are rows of one table, in order, by
process and other process; a running maximum answers.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from gcom.audit.exact.columns import STAY, entries

# `heard`: the highest number delivered, or in base; `said`: what the logged clock says; `highest`: the highest settled.
KNOWN = [*STAY, "seq", "asks", "other", "heard", "said", "highest"]
_VALUE = [*STAY, "seq", "other", "heard", "settled"]


def values(runs: DataFrame, placed: DataFrame) -> DataFrame:
    """What is known of `other` from `seq` on. A state of a later era replaces what had been heard in earlier ones."""
    last = F.col("number") + F.col("count") - 1
    heard = F.when(F.col("kind") == "deliver", _heard("era", last))
    went = runs.where("kind != 'send' AND sender IS NOT NULL")
    went = went.select(*STAY, "seq", F.col("sender").alias("other"), heard.alias("heard"), last.alias("settled"))
    kept = [*STAY, "seq", "era"]
    based = entries(placed.where("kind = 'view'"), kept, "base", "other", "number")
    based = based.withColumn("heard", _heard("era", F.col("number"))).withColumn("settled", F.col("number"))
    restored = placed.where("restored")
    clocks = entries(restored, kept, "state.clock", "other", "number")
    clocks = clocks.withColumn("heard", _heard("era", F.col("number"))).withColumn("settled", _none())
    prefixes = entries(restored, kept, "state.delivered", "other", "settled").withColumn("heard", _heard("era", None))
    beyond = entries(restored, kept, "state.beyond", "other", "pairs")
    far = F.array_max(F.transform("pairs", lambda pair: pair[0] + pair[1] - 1))
    beyond = beyond.withColumn("settled", far).withColumn("heard", _heard("era", None))
    found = went.select(*_VALUE)
    for each in (based, clocks, prefixes, beyond):
        found = found.unionByName(each.select(*_VALUE))
    return found


def _heard(era: str, number: Column | None) -> Column:
    return F.struct(F.col(era).alias("era"), (_none() if number is None else number).alias("number"))


def _none() -> Column:
    return F.lit(None).cast("long")


def others(known: DataFrame, runs: DataFrame, placed: DataFrame) -> DataFrame:
    """Whom each process ever had to do with in a group.

    As many as were ever in it, so one list a session is bounded.
    """
    clocks = runs.where("kind = 'send'").select(*STAY, F.explode(F.map_keys("clock")).alias("other"))
    members = placed.where("kind = 'view'").select(*STAY, F.explode("members").alias("other"))
    named = known.select(*STAY, "other").unionByName(clocks).unionByName(members).distinct()
    return named.where("other != process").groupBy(*STAY).agg(F.collect_set("other").alias("others"))


def known(runs: DataFrame, placed: DataFrame) -> DataFrame:
    """At each `send` (of a run) for each other process, and at each view for each member: what was known of it."""
    changes = values(runs, placed)
    whom = others(changes, runs, placed)
    sends = runs.where("kind = 'send'").join(whom, STAY, "inner")
    asked = sends.select(*STAY, "seq", "era", "opening", "clock", F.explode("others").alias("other"))
    # A clock tells what changed since the `send` before; after an opening it tells all.
    clock = F.try_element_at("clock", F.col("other"))
    told = F.when(clock.isNotNull(), F.struct(F.col("opening"), clock.alias("number")))
    asked = asked.withColumn("told", told).drop("clock").withColumn("asks", F.lit("send"))
    installs = placed.where("kind = 'view' AND certain_before")
    installs = installs.select(*STAY, "seq", "era", F.explode(F.array_distinct("members")).alias("other"))
    installs = installs.withColumn("asks", F.lit("view"))
    table = changes.unionByName(asked, allowMissingColumns=True).unionByName(installs, allowMissingColumns=True)
    # A view's base counts for the view itself.
    order = Window.partitionBy(*STAY, "other").orderBy("seq", F.col("asks").isNotNull())
    order = order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    table = (
        table.withColumn("now_heard", F.max(F.when(F.col("heard.number").isNotNull(), F.col("heard"))).over(order))
        .withColumn("now_told", F.last("told", ignorenulls=True).over(order))
        .withColumn("highest", F.coalesce(F.max("settled").over(order), F.lit(0)))
        .where(F.col("asks").isNotNull())
    )
    heard = F.when(F.col("now_heard.era") == F.col("era"), F.col("now_heard.number"))
    said = F.when(F.col("now_told.opening") == F.col("opening"), F.col("now_told.number"))
    table = table.drop("heard").withColumn("heard", F.coalesce(heard, F.lit(0)))
    return table.withColumn("said", F.coalesce(said, F.lit(0))).select(*KNOWN)
