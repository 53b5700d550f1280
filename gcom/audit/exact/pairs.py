"""Rules that hold a delivery against its sender's log."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from gcom.audit.exact.cases import CASES, cases
from gcom.audit.exact.columns import GROUP, STAY, WHERE
from gcom.audit.exact.messages import delivered, outside


def integrity(messages: DataFrame) -> DataFrame:
    """A message's digest is that of its `send`."""
    heard = delivered(messages, "digest", "sent_seq", "send_digest", "sender_closed").where("digest IS NOT NULL")
    unsent = F.col("sent_seq").isNull() & ~F.col("sender_closed")
    both = F.col("send_digest").isNotNull()
    unlike = F.coalesce(F.col("send_digest") != F.col("digest"), F.lit(False))
    reason = F.format_string("the log of %s does not tell what it sent as %d", "sender", "number")
    counts = {"evaluated": both.cast("int"), "violations": unlike.cast("int"), "unknown": unsent.cast("int")}
    return cases(heard, **counts, reason=reason).select(*CASES)


def sending_view(messages: DataFrame) -> DataFrame:
    """A message is delivered in the view that it was sent in."""
    told = ("sent_view", "in_force", "certain", "sent_seq", "send_view", "sender_closed")
    heard = delivered(messages, *told)
    in_force, view = F.col("in_force"), F.col("view")
    here = (view != F.col("sent_view")) | F.coalesce(view != in_force, F.lit(False))
    here |= in_force.isNull() & F.col("certain")
    there = F.coalesce(F.col("send_view") != view, F.lit(False))
    unsent = ~here & F.col("sent_seq").isNull() & ~F.col("sender_closed")
    reason = F.format_string("the log of %s does not tell in which view it sent %d", "sender", "number")
    sent_view = F.when(here, F.col("sent_view")).otherwise(F.col("send_view"))
    more = {"kind": F.when(here, "here").otherwise("sent"), "sent_view": sent_view, "in_force": in_force}
    counts = {"violations": (here | there).cast("int"), "unknown": unsent.cast("int")}
    return cases(heard, 1, **counts, reason=reason, **more).select(*CASES)


def causal(
    messages: DataFrame,
    known: DataFrame,
    members: DataFrame,
    by_number: DataFrame,
    firsts: DataFrame,
    ranges: DataFrame,
) -> DataFrame:
    """What a message's sender had delivered before it sent it is settled wherever it is delivered, before it.

    In a run of deliveries of one sender nothing else becomes settled, and in a run of sends the past is the same; so
    where these two overlap, one message stands for all.
    """
    asked = ("run", "in_force", "certain", "of_view", "sent_run", "send_certain", "sender_closed")
    heard = delivered(messages, *asked).where("in_force IS NOT NULL")
    unknown = ~F.coalesce("send_certain", F.lit(False))
    hidden = heard.where(unknown & ~F.col("sender_closed"))
    reason = F.format_string("the log of %s does not tell what it had delivered before %d", "sender", "number")
    told = heard.where("send_certain").groupBy(*STAY, "sender", "run", "sent_run", "of_view", "certain", "in_force")
    first = F.min(F.struct("seq", *(name for name in WHERE if name not in ("process", "sender")))).alias("first")
    pieces = told.agg(first, F.count("*").alias("messages"))
    needs = known.where("asks = 'send' AND heard > 0").select(
        *GROUP,
        F.col("process").alias("sender"),
        F.col("seq").alias("sent_run"),
        "other",
        F.col("heard").alias("needed"),
    )
    needed = pieces.join(needs, [*GROUP, "sender", "sent_run"], "inner").join(members, [*STAY, "of_view"], "left")
    needed = needed.join(by_number, [*GROUP, "in_force"], "left")
    needed = needed.where(F.array_contains(F.coalesce("members", "by_number"), F.col("other")))
    needed = needed.select(*STAY, "sender", "certain", "first.*", "messages", "other", "needed")
    once = firsts.select(*STAY, F.col("sender").alias("other"), F.col("number").alias("needed"), "settled_seq", "kind")
    checked = needed.join(once, [*STAY, "other", "needed"], "left")
    late = checked.where("settled_seq IS NULL OR settled_seq >= seq").withColumn("until", F.col("seq"))
    late = outside(late, ranges)
    gap = F.format_string("%s has a gap before it delivered %d of %s", "process", "number", "sender")
    number, certain = F.col("messages"), F.col("certain")
    counts = {"violations": F.when(certain, number).otherwise(0), "unknown": F.when(certain, 0).otherwise(number)}
    how = F.when(F.col("kind") == "skip", "skipped").when(F.col("kind") == "deliver", "delivered").otherwise("")
    more = {"other": F.col("other"), "needed": F.col("needed"), "later": how}
    return (
        cases(hidden, unknown=1, reason=reason)
        .unionByName(cases(checked.select(*STAY, "messages"), evaluated=number))
        .unionByName(cases(late, **counts, reason=gap, **more))
        .select(*CASES)
    )
