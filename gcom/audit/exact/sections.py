"""Sections, classes, and what was delivered in them (DELIVERY_LOG.md, Rules)."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from gcom.audit.exact.columns import GROUP, STAY

# `next` is a view's number, "END", "none" or "unknown"; `until` is where the section ends, null at the log's end.
SECTION = [*STAY, "section", "view", "next", "covered", "starts", "until"]
CLASS = [*GROUP, "view", "next"]
MEMBER = [*CLASS, "process", "section", "covered", "until", "size", "witness_process", "witness_section"]


def sections(placed: DataFrame, closed: DataFrame) -> DataFrame:
    """From installing a view, or from an opening that tells of one, to the next view or the end of the session."""
    gaps = placed.where("kind = 'gap' AND before_section IS NOT NULL")
    holes = gaps.select(*STAY, F.col("before_section").alias("section"), F.lit(True).alias("hole")).distinct()
    end = F.col("kind").isin("leave", "detach") | F.col("ending")
    borders = placed.where(F.col("begins") | (end & F.col("before_section").isNotNull()))
    window = Window.partitionBy(*STAY).orderBy("seq")
    following = F.struct("kind", "view", "settled", "seq", "begins")
    borders = borders.withColumn("following", F.lead(following).over(window)).where("begins")
    ended = closed.select("process", F.lit(True).alias("closed"))
    known = borders.withColumn("section", F.col("seq")).join(holes, [*STAY, "section"], "left")
    known = known.join(ended, "process", "left")
    installed = F.col("kind") == "view"
    known = known.withColumn("covered", installed & F.col("certain_before") & F.col("hole").isNull())
    known = known.withColumn("view", F.when(installed, F.col("view")).otherwise(F.col("state.view")))
    return (
        known.withColumn("next", _next())
        .withColumn("starts", installed & F.col("certain_before"))
        .withColumn("until", F.col("following.seq"))
        .select(*SECTION)
    )


def _next() -> Column:
    kind = F.col("following.kind")
    number = F.when(kind == "view", F.col("following.view")).when(kind == "leave", F.col("following.settled"))
    skipped = ~F.col("covered") & (number != F.col("view") + 1)
    at_end = F.when(F.col("closed"), "END").when(F.col("covered"), "none").otherwise("unknown")
    return (
        F.when(kind.isNull(), at_end)
        .when(skipped, "unknown")
        .when(number.isNotNull(), number.cast("string"))
        .when(kind.isin("leave", "detach"), "none")
        .otherwise("unknown")
    )


def class_members(parts: DataFrame) -> DataFrame:
    """The sections of classes. All of a class are held against its witness: the first one that is covered."""
    judged = parts.where("next NOT IN ('none', 'unknown')")
    everyone = Window.partitionBy(*CLASS)
    first = F.min(F.when(F.col("covered"), F.struct("process", "section"))).over(everyone)
    known = judged.withColumn("size", F.count("*").over(everyone)).withColumn("first", first)
    known = known.withColumn("witness_process", F.col("first.process"))
    return known.withColumn("witness_section", F.col("first.section")).select(*MEMBER)


def delivered_in(messages: DataFrame) -> DataFrame:
    """The messages delivered in each section, once each."""
    inside = messages.where("kind = 'deliver' AND section IS NOT NULL")
    return inside.select(*STAY, "section", "sender", "number").distinct()
