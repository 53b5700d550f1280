"""Message by message: what was delivered or skipped, what its sender's log says of it, and what was settled when."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from gcom.audit.exact.columns import GROUP, MESSAGE, STAY, WHERE, so_far

SENT = [*MESSAGE, "sent_seq", "sent_run", "send_view", "send_digest", "send_certain"]
PASSED = [
    *STAY,
    *("seq", "run", "kind", "at", "view", "sent_view", "sender", "number", "serial", "digest", "file", "line"),
    *("certain", "in_force", "section", "gap", "of_view"),
    "settled_seq",  # when the message was first settled by a record
    "previous_seq",  # when the sender's message before it was
    "place",  # of a delivery in the sequence of its section
]
MESSAGES = [*PASSED, *SENT[len(MESSAGE) :], "sender_closed"]
SETTLED = [*STAY, "sender", "number", "settled_seq", "kind"]


def exploded(runs: DataFrame) -> DataFrame:
    """One row a message of a run, in place of the run; `run` is the run's `seq`."""
    taken_apart = runs.select("*", F.explode(F.sequence(F.lit(0), F.col("count") - 1)).alias("offset"))
    offset = F.col("offset")
    return (
        taken_apart.withColumn("run", F.col("seq"))
        .withColumn("digest", F.get("digests", offset.cast("int")))
        .withColumns({name: F.col(name) + offset for name in ("seq", "at", "number", "serial")})
        .drop("offset", "digests", "clock", "count")
    )


def sent(runs: DataFrame) -> DataFrame:
    """The `send` of each message, the first where a number was given twice."""
    sends = exploded(runs.where("kind = 'send'"))
    told = F.struct(*(F.col(name) for name in ("seq", "run", "view", "digest", "certain")))
    first = sends.groupBy(*GROUP, "process", "number").agg(F.min(told).alias("first"))
    return first.select(
        *GROUP,
        F.col("process").alias("sender"),
        "number",
        F.col("first.seq").alias("sent_seq"),
        F.col("first.run").alias("sent_run"),
        F.col("first.view").alias("send_view"),
        F.col("first.digest").alias("send_digest"),
        F.col("first.certain").alias("send_certain"),
    ).select(*SENT)


def passed(runs: DataFrame) -> DataFrame:
    """What each process delivered or skipped. A message and the one before it are neighbours by number."""
    of_others = exploded(runs.where("kind != 'send' AND sender IS NOT NULL"))
    by_number = Window.partitionBy(*STAY, "sender").orderBy("number")
    told = of_others.withColumn("settled_seq", F.min("seq").over(by_number.rangeBetween(0, 0)))
    told = told.withColumn("previous_seq", F.min("seq").over(by_number.rangeBetween(-1, -1)))
    return told.withColumn("place", F.row_number().over(so_far(*STAY, "section", "kind"))).select(*PASSED)


def with_sends(went: DataFrame, sends: DataFrame, closed: DataFrame) -> DataFrame:
    """`closed`: whose logs are complete; there a message without `send` was not sent."""
    ended = closed.select(F.col("process").alias("sender"), F.lit(True).alias("sender_closed"))
    told = went.join(sends, MESSAGE, "left").join(ended, "sender", "left")
    return told.withColumn("sender_closed", F.coalesce("sender_closed", F.lit(False))).select(*MESSAGES)


def delivered(messages: DataFrame, *more: str) -> DataFrame:
    """The deliveries, with the columns that every rule needs and `more`."""
    return messages.where("kind = 'deliver'").select(*GROUP, *WHERE, "seq", *more)


def settled(messages: DataFrame) -> DataFrame:
    """When each message became settled at a process by a record."""
    firsts = messages.where("seq = settled_seq")
    return firsts.select(*SETTLED)


def unsettled(asked: DataFrame, firsts: DataFrame, ranges: DataFrame) -> DataFrame:
    """The rows of which (`other`, `needed`) was not settled at `process` before `until`; a null `until` is the end."""
    left, one = asked.alias("asked"), firsts.alias("one")
    same = [F.col(f"asked.{name}") == F.col(f"one.{name}") for name in STAY]
    same += [F.col("asked.other") == F.col("one.sender"), F.col("asked.needed") == F.col("one.number")]
    same += [F.coalesce(F.col("one.settled_seq") < F.col("asked.until"), F.lit(True))]
    return outside(left.join(one, same, "left_anti").select(*asked.columns), ranges)


def outside(asked: DataFrame, ranges: DataFrame) -> DataFrame:
    """The rows of which (`other`, `needed`) is in no base and no state before `until`."""
    return asked.alias("asked").join(ranges.alias("many"), _inside(), "left_anti").select(*asked.columns)


def inside(asked: DataFrame, ranges: DataFrame) -> DataFrame:
    """The other rows."""
    return asked.alias("asked").join(ranges.alias("many"), _inside(), "left_semi").select(*asked.columns)


def _inside() -> list[Column]:
    same = [F.col(f"asked.{name}") == F.col(f"many.{name}") for name in STAY]
    return [
        *same,
        F.col("asked.other") == F.col("many.sender"),
        F.col("asked.needed").between(F.col("many.first"), F.col("many.last")),
        F.coalesce(F.col("many.seq") < F.col("asked.until"), F.lit(True)),
    ]
