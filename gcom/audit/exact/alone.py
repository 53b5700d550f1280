"""Rules that a process's own log answers: numbers, repetition, FIFO, clocks, serials."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from gcom.audit.exact.cases import CASES, cases
from gcom.audit.exact.columns import GROUP, STAY, WHERE, before, latest
from gcom.audit.exact.messages import delivered, inside, outside


def no_creation(runs: DataFrame, placed: DataFrame, messages: DataFrame, closed: DataFrame) -> DataFrame:
    """A process's sends are 1, 2, 3 …; a delivered number is sent, and one's own is sent before."""
    heard = delivered(messages)
    own = _own_numbers(runs, placed)
    jumps = own.where("kind = 'send' AND number != sent + 1").withColumn("sender", F.col("process"))
    early = own.where("kind = 'deliver' AND last > sent")
    first = F.greatest("number", F.col("sent") + 1)  # of the run
    early = early.withColumn("at", F.col("at") + first - F.col("number"))
    above = F.least(F.col("last") - F.col("sent"), F.col("count"))
    return (
        cases(heard.select(*STAY), evaluated=1)
        .unionByName(cases(jumps, violations=1, kind="jump", before=F.col("sent")))
        .unionByName(cases(early.withColumn("number", first), violations=above, kind="early"))
        .unionByName(_unsent(own, heard, _highest_sent(runs, placed), closed))
        .select(*CASES)
    )


def _own_numbers(runs: DataFrame, placed: DataFrame) -> DataFrame:
    """A process's sends, and deliveries of its own; `sent` is the last number before, null where a gap hides it."""
    last = F.col("number") + F.col("count") - 1
    own = runs.where("kind = 'send' OR kind = 'deliver' AND sender = process").withColumn("last", last)
    own = own.select(*GROUP, *WHERE, "seq", "kind", "count", "last")
    own = own.withColumn("turn", F.when(F.col("kind") == "send", F.struct(F.col("last").alias("to"))))
    both = own.unionByName(_turns(placed, F.col("state.number")), allowMissingColumns=True)
    sent = latest(F.col("turn"), before())
    both = both.withColumn("sent", F.when(sent.isNull(), F.lit(0)).otherwise(sent["to"]))
    return both.where(F.col("kind").isNotNull())


def _turns(placed: DataFrame, restored: Column) -> DataFrame:
    """Where a gap hides a number, and where a state tells it."""
    turns = placed.where("kind = 'gap' OR restored")
    return turns.select(*STAY, "seq", F.struct(F.when(F.col("restored"), restored).alias("to")).alias("turn"))


def _highest_sent(runs: DataFrame, placed: DataFrame) -> DataFrame:
    sends = runs.where("kind = 'send'").select(*STAY, (F.col("number") + F.col("count") - 1).alias("number"))
    told = placed.where("restored").select(*STAY, F.col("state.number").alias("number"))
    return sends.unionByName(told).groupBy(*STAY).agg(F.max("number").alias("highest"))


def _unsent(own: DataFrame, heard: DataFrame, highest: DataFrame, closed: DataFrame) -> DataFrame:
    """Delivered numbers above all that the sender is known to have sent: a violation if its log is complete."""
    of_sender = highest.withColumnRenamed("process", "sender")
    ended = closed.select(F.col("process").alias("sender"), F.lit(True).alias("closed"))
    others = heard.where("sender != process")
    kept = (*STAY, "sender", "number", "at", "view", "file", "line")
    # Of its own a process may have delivered a number that a gap hides the `send` of.
    hidden = own.where("kind = 'deliver' AND sent IS NULL").withColumn("number", F.col("last"))
    asked = others.select(*kept).unionByName(hidden.select(*kept)).join(of_sender, [*GROUP, "sender"], "left")
    known = F.coalesce("highest", F.lit(0))
    above = asked.where(F.col("number") > known).join(ended, "sender", "left")
    once = above.dropDuplicates([*STAY, "sender", "number"])
    reason = F.format_string("the log of %s does not tell whether it sent %d", "sender", "number")
    wrong = F.col("closed").isNotNull()
    counts = {"violations": wrong.cast("int"), "unknown": (~wrong).cast("int")}
    return cases(once, **counts, reason=reason, kind="unsent", known=known)


def no_duplication(messages: DataFrame, ranges: DataFrame) -> DataFrame:
    """A delivered message was not settled before."""
    heard = delivered(messages, "settled_seq")
    again = heard.where("settled_seq < seq")
    first = heard.where("settled_seq = seq").withColumn("other", F.col("sender"))
    based = first.withColumn("needed", F.col("number")).withColumn("until", F.col("seq"))
    known = inside(based, ranges)
    return (
        cases(heard.select(*STAY), evaluated=1)
        .unionByName(cases(again, violations=1))
        .unionByName(cases(known, violations=1))
        .select(*CASES)
    )


def fifo(messages: DataFrame, ranges: DataFrame) -> DataFrame:
    """On delivering n, n-1 was settled; the first of a sender after a gap may follow what the gap hides."""
    heard = delivered(messages, "previous_seq", "gap")
    alone = heard.where("number > 1 AND (previous_seq IS NULL OR previous_seq >= seq)")
    alone = alone.withColumn("other", F.col("sender")).withColumn("needed", F.col("number") - 1)
    late = outside(alone.withColumn("until", F.col("seq")), ranges)
    resumed = heard.where("gap IS NOT NULL").groupBy(*STAY, "sender", "gap")
    late = late.join(resumed.agg(F.min_by("number", "seq").alias("resumed")), [*STAY, "sender", "gap"], "left")
    excused = F.coalesce(F.col("number") <= F.col("resumed"), F.lit(False))
    reason = F.format_string("%s has a gap before position %d", "process", "at")
    judged = cases(late, violations=(~excused).cast("int"), unknown=excused.cast("int"), reason=reason)
    return cases(heard.select(*STAY), evaluated=1).unionByName(judged).select(*CASES)


def clock(runs: DataFrame, known: DataFrame, members: DataFrame) -> DataFrame:
    """The logged clock is what had been delivered of each other process of the view."""
    sends = runs.where("kind = 'send' AND in_force IS NOT NULL AND certain").select(
        *STAY, "seq", "at", "view", "number", "count", "file", "line", "of_view"
    )
    unlike = known.where("asks = 'send' AND heard != said").select(*STAY, "seq", "other", "heard", "said")
    wrong = unlike.join(sends, [*STAY, "seq"], "inner").join(members, [*STAY, "of_view"], "left")
    # Where a gap hides the view, the state's clock and deliveries tell of some who are in it.
    inside = F.coalesce(F.array_contains("members", F.col("other")), F.col("heard") > 0)
    wrong = wrong.where(inside).withColumn("sender", F.col("process"))
    told = {"other": F.col("other"), "said": F.col("said"), "true": F.col("heard")}
    judged = cases(wrong, violations=F.col("count"), **told)
    return cases(sends.select(*STAY, "count"), evaluated=F.col("count")).unionByName(judged).select(*CASES)


def serial_contiguous(runs: DataFrame, placed: DataFrame) -> DataFrame:
    """Delivered and skipped serials go up by one, from the first view's base on."""
    serials = runs.where("kind != 'send' AND serial IS NOT NULL")
    serials = serials.select(*GROUP, *WHERE, "seq", "kind", "count", "serial")
    serials = serials.withColumn("turn", F.struct((F.col("serial") + F.col("count") - 1).alias("to")))
    first = placed.where("kind = 'view' AND last_view = 0")
    bases = first.select(*STAY, "seq", F.struct(F.col("base_serial").alias("to")).alias("turn"))
    turns = _turns(placed, F.col("state.serial")).unionByName(bases)
    both = serials.unionByName(turns, allowMissingColumns=True)
    earlier = latest(F.col("turn"), before())
    both = both.withColumn("before", F.when(earlier.isNull(), F.lit(0)).otherwise(earlier["to"]))
    judged = both.where(F.col("kind").isNotNull())
    wrong = F.coalesce(F.col("serial") != F.col("before") + 1, F.lit(False)).cast("int")
    number = F.col("count") - F.col("before").isNull().cast("int")
    told = {"serial": F.col("serial"), "before": F.col("before")}
    return cases(judged, evaluated=number, violations=wrong, **told).select(*CASES)
