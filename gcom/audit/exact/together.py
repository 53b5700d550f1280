"""Rules of processes that went together from view to view: SELF_DELIVERY, AGREEMENT, synchrony, equal sequences."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from gcom.audit.exact.cases import CASES, cases, where_of
from gcom.audit.exact.columns import GROUP, STAY, WHERE
from gcom.audit.exact.messages import exploded, unsettled
from gcom.audit.exact.sections import CLASS


def self_delivery(runs: DataFrame, parts: DataFrame, firsts: DataFrame, ranges: DataFrame) -> DataFrame:
    """What one sends in a section that has an end is settled in it."""
    ended = parts.where("next NOT IN ('none', 'unknown') AND covered").withColumnRenamed("view", "of")
    sends = exploded(runs.where("kind = 'send' AND section IS NOT NULL")).dropDuplicates([*STAY, "section", "number"])
    sends = sends.select(*STAY, "section", "at", "view", "number", "file", "line")
    asked = sends.join(ended, [*STAY, "section"], "inner").withColumn("sender", F.col("process"))
    asked = asked.select(*STAY, "at", "view", "sender", "number", "file", "line", "until")
    asked = asked.withColumn("other", F.col("process")).withColumn("needed", F.col("number"))
    wrong = unsettled(asked, firsts, ranges)
    return cases(asked.select(*STAY), evaluated=1).unionByName(cases(wrong, violations=1)).select(*CASES)


def agreement(
    classed: DataFrame, parts: DataFrame, heard: DataFrame, placed: DataFrame, firsts: DataFrame, ranges: DataFrame
) -> DataFrame:
    """What one of a class delivers in the view, each has settled; in safe groups also what anybody delivers in it."""
    safe = placed.where("kind = 'view' AND safe").select(*GROUP).distinct()
    sizes = classed.groupBy(*CLASS).agg(F.count("*").alias("size"), F.count_if("covered").alias("judges"))
    views = parts.groupBy(*GROUP, "view").agg(F.count("*").alias("everyone")).join(safe, GROUP, "left_semi")
    whole = sizes.join(views, [*GROUP, "view"], "left").where("coalesce(everyone, size) > 1")
    in_view = heard.join(parts.select(*STAY, "section", "view", "next", "covered"), [*STAY, "section"], "inner")
    of_class = in_view.join(safe, GROUP, "left_anti").join(whole.select(*CLASS), CLASS, "left_semi")
    of_view = in_view.join(safe, GROUP, "left_semi").withColumnRenamed("next", "own_next")
    of_view = of_view.join(whole.select(*CLASS), [*GROUP, "view"], "inner")
    of_view = of_view.withColumn("covered", F.col("covered") & (F.col("own_next") == F.col("next")))
    demanded = of_class.unionByName(of_view.drop("own_next"))
    by, have = F.min("process").alias("by"), F.count_if("covered").alias("have")
    demanded = demanded.groupBy(*CLASS, "sender", "number").agg(by, have)
    lacking = (
        demanded.join(whole.select(*CLASS, "judges"), CLASS, "inner").where("have < judges").drop("judges", "have")
    )
    judges = classed.where("covered").select(*CLASS, "process", "section", "until")
    asked = lacking.join(judges, CLASS, "inner").withColumn("other", F.col("sender"))
    wrong = unsettled(asked.withColumn("needed", F.col("number")), firsts, ranges)
    judged = cases(wrong, violations=1, other=F.col("by"))
    return cases(whole, evaluated=1).unionByName(judged).select(*CASES)


def virtual_synchrony(classed: DataFrame, parts: DataFrame, heard: DataFrame, known: DataFrame) -> DataFrame:
    """Equal sets delivered in the view, and equal beginnings at all who install it."""
    sets = _unlike_sets(classed, heard)
    return sets.unionByName(_unlike_starts(parts, known)).select(*CASES)


def _unlike_sets(classed: DataFrame, heard: DataFrame) -> DataFrame:
    """Each covered member is held against the class's witness."""
    pairs = classed.where("size > 1")
    judges = pairs.where("covered").withColumn("judges", F.count("*").over(Window.partitionBy(*CLASS)))
    witness = (F.col("process") == F.col("witness_process")) & (F.col("section") == F.col("witness_section"))
    judges = judges.withColumn("witness", witness)
    delivered = heard.join(
        judges.select(*CLASS, "process", "section", "judges", "witness"), [*STAY, "section"], "inner"
    )
    counts = F.count("*").alias("have"), F.max("witness").alias("at_witness")
    counted = delivered.groupBy(*CLASS, "sender", "number", "judges").agg(*counts).where("have < judges")
    held = counted.join(judges.where("NOT witness").drop("judges"), CLASS, "inner")
    here = heard.select(*STAY, "section", "sender", "number", F.lit(True).alias("here"))
    held = held.join(here, [*STAY, "section", "sender", "number"], "left")
    wrong = held.where(F.col("here").isNotNull() != F.col("at_witness"))
    lone = F.when(F.col("at_witness"), F.col("witness_process")).otherwise(F.col("process"))
    judged = cases(wrong, violations=1, kind="set", other=F.col("witness_process"), lone=lone)
    return cases(pairs.select(*CLASS).distinct(), evaluated=1).unionByName(judged)


def _unlike_starts(parts: DataFrame, known: DataFrame) -> DataFrame:
    """All who install a view are held against the first."""
    installs = parts.where("starts").select(*STAY, "section", "view")
    everyone = Window.partitionBy(*GROUP, "view")
    first = F.min(F.struct("process", "section")).over(everyone)
    installs = installs.withColumn("first", first).withColumn("size", F.count("*").over(everyone)).where("size > 1")
    asked = known.where("asks = 'view'").select(*STAY, F.col("seq").alias("section"), "other", "highest")
    starts = installs.join(asked, [*STAY, "section"], "inner")
    is_first = (F.col("process") == F.col("first.process")) & (F.col("section") == F.col("first.section"))
    one = starts.where(is_first).select(*GROUP, "view", "other", F.col("highest").alias("theirs"))
    unlike = starts.where(~is_first).join(one, [*GROUP, "view", "other"], "inner").where("highest != theirs")
    by_section = unlike.groupBy(*STAY, "section", "view", F.col("first.process").alias("first"))
    wrong = by_section.agg(F.min(F.struct("other", "highest", "theirs")).alias("least"))
    wrong = wrong.withColumn("sender", F.col("least.other"))
    wrong = wrong.withColumn("number", F.greatest("least.highest", "least.theirs"))
    told = {"other": F.col("first"), "mine": F.col("least.highest"), "theirs": F.col("least.theirs")}
    judged = cases(wrong, violations=1, kind="start", **told)
    return cases(installs.select(*GROUP, "view").distinct(), evaluated=1).unionByName(judged)


def total_gap_free(classed: DataFrame, messages: DataFrame) -> DataFrame:
    """The sequences delivered in the view are the witness's."""
    pairs = classed.where("size > 1")
    witness = (F.col("process") == F.col("witness_process")) & (F.col("section") == F.col("witness_section"))
    judges = pairs.where("covered").withColumn("witness", witness).withColumnRenamed("view", "of")
    inside = messages.where("kind = 'deliver' AND section IS NOT NULL").select(*WHERE, *GROUP, "section", "place")
    joined = inside.join(judges.drop("size", "until"), [*STAY, "section"], "inner")
    of = [*GROUP, "of", "next"]
    lengths = joined.groupBy(*STAY, "section").agg(F.max("place").alias("length"))
    judges = judges.join(lengths, [*STAY, "section"], "left").withColumn("length", F.coalesce("length", F.lit(0)))
    there = judges.where("witness").select(*of, F.col("length").alias("there"))
    where = F.struct(*WHERE)
    theirs = joined.where("witness").select(*of, "place", where.alias("theirs"))
    mine = joined.where("NOT witness").select(*of, "process", "section", "place", where.alias("mine"))
    both = mine.join(theirs, [*of, "place"], "left")
    same = (F.col("mine.sender") == F.col("theirs.sender")) & (F.col("mine.number") == F.col("theirs.number"))
    unlike = both.where(~F.coalesce(same, F.lit(False)))
    unlike = unlike.groupBy(*of, "process", "section").agg(F.min(F.struct("place", "mine", "theirs")).alias("least"))
    held = judges.where("NOT witness").join(there, of, "inner").join(unlike, [*of, "process", "section"], "left")
    wrong = held.where("least IS NOT NULL OR length < there")
    place = F.coalesce(F.col("least.place"), F.col("length") + 1)
    wrong = wrong.withColumn("place", place).drop("section")
    behind = theirs.select(*of, "place", F.col("theirs").alias("behind"))
    wrong = wrong.join(behind, [*of, "place"], "left")
    wrong = wrong.withColumn("mine", F.col("least.mine")).withColumn("theirs", F.coalesce("least.theirs", "behind"))
    # Where it ends too early there is no delivery of its own to point at.
    told = {name: F.col("mine")[name] for name in ("at", "file", "line")}
    told |= {name: F.coalesce("mine", "theirs")[name] for name in ("sender", "number")}
    wrong = wrong.withColumns({**told, "view": F.col("of")})
    told = {"other_process": F.col("witness_process"), "place": F.col("place")}
    told |= {name: F.when(F.col(name).isNotNull(), where_of(name)) for name in ("mine", "theirs")}
    judged = cases(wrong, violations=1, **told)
    return cases(pairs.select(*CLASS).distinct(), evaluated=1).unionByName(judged).select(*CASES)
