"""What a process knows at each point of its log, in one group's instance: views, gaps, and which section it is in.

The events that change it (views, ends, gaps, openings) are few, so all windows here are over small tables; the runs
of messages then take over what the last of these events before them said.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from gcom.audit.exact.columns import GROUP, STAY, all_of, before, entries, latest, so_far

STATE = ["process", "kind", "seq", *GROUP, "state"]
PLACE = [
    *STAY,
    *("seq", "kind", "at", "file", "line", "view", "settled", "leader", "members", "ordering", "multicast", "safe"),
    *("netsplit", "base", "base_serial", "state"),
    "ending",  # a gap after which the process is no longer in the group
    "restored",  # an opening whose state makes up for a gap
    "certain_before",
    "last_view",  # 0 before the first view, null where a gap hides it
    "begins",  # a section
    "before_section",  # the section that was open until here
    *("certain", "in_force", "section", "era", "opening", "gap", "of_view"),
]
RUN = [
    *STAY,
    *("seq", "kind", "at", "count", "view", "sent_view", "sender", "number", "serial", "clock", "digests"),
    *("file", "line"),
    *("certain", "in_force", "section", "era", "opening", "gap", "of_view"),
]
_CONTROLS = ("view", "leave", "detach")
_PLAIN = ("send", "deliver", "skip")


def states(rows: DataFrame) -> DataFrame:
    """What openings say of each group, also copied to the gaps that they make up for."""
    told = rows.where(F.col("kind").isin("gap", "opened")).select(
        "process", "kind", "seq", F.explode("states").alias("state")
    )
    return told.select("process", "kind", "seq", "state.group", "state.instance", "state")


def stays(rows: DataFrame, stated: DataFrame) -> DataFrame:
    """Which process was in which group: the first sign of it, and its `leave` or `detach`."""
    left = F.min(F.when(F.col("kind").isin("leave", "detach"), F.col("seq"))).alias("left")
    seen = rows.where(F.col("group").isNotNull()).groupBy(*STAY).agg(F.min("seq").alias("present"), left)
    opened = stated.where("kind = 'opened'").groupBy(*STAY).agg(F.min("seq").alias("present"))
    both = seen.unionByName(opened.withColumn("left", F.lit(None).cast("long")))
    return both.groupBy(*STAY).agg(F.min("present").alias("present"), F.min("left").alias("left"))


def breaks(rows: DataFrame, stated: DataFrame, stayed: DataFrame) -> DataFrame:
    """The gaps and openings that concern each session.

    A gap is none of a group that the process had not entered, or had left; where the opening after it says nothing of
    the group, the process has left it in the gap.
    """
    marks = rows.where(F.col("kind").isin("gap", "opened"))
    marks = marks.select("process", "kind", "seq", "at", "file", "line", F.col("states").isNotNull().alias("told"))
    of = marks.join(stayed, "process", "inner").join(stated, [*STAY, "kind", "seq"], "left")
    gap, silent = F.col("kind") == "gap", F.col("told") & F.col("state").isNull()
    here = F.coalesce(F.col("seq") < F.col("left"), F.lit(True))
    present = F.col("present") < F.col("seq")
    of = of.withColumn("ended", F.min(F.when(gap & silent & present & here, F.col("seq"))).over(all_of(*STAY)))
    counts = here & F.coalesce(F.col("seq") <= F.col("ended"), F.lit(True)) & (~silent | present)
    kept = of.where(~gap | counts).withColumn("ending", gap & silent)
    return kept.select(*STAY, "kind", "seq", "at", "file", "line", "state", "ending")


def places(rows: DataFrame, broken: DataFrame) -> DataFrame:
    """One row an event that changes what the process knows, with what it knows after it."""
    fields = ("seq", "kind", "at", "file", "line", "view", "settled", "leader", "members", "ordering", "multicast")
    control = rows.where(F.col("kind").isin(*_CONTROLS))
    control = control.select(*STAY, *fields, "safe", "netsplit", "base", "base_serial")
    events = control.unionByName(broken, allowMissingColumns=True)
    events = events.withColumn("ending", F.coalesce("ending", F.lit(False)))
    return _with_sections(_with_views(_with_certainty(events))).select(*PLACE)


def _with_certainty(events: DataFrame) -> DataFrame:
    """Uncertain is what follows a gap, until an opening has a state."""
    stated = (F.col("kind") == "opened") & F.col("state").isNotNull()
    turns = F.when(F.col("kind") == "gap", False).when(stated, True)
    before_it = F.coalesce(latest(turns, before()), F.lit(True))
    known = events.withColumn("certain_before", before_it).withColumn("restored", stated & ~before_it)
    return known.withColumn("certain", F.coalesce(latest(turns, so_far()), F.lit(True)))


def _with_views(events: DataFrame) -> DataFrame:
    """The view in force, and the last one installed: none and null where a gap hides it."""
    view, gap = F.col("kind") == "view", F.col("kind") == "gap"
    end = F.col("kind").isin("leave", "detach") | F.col("ending")
    none = F.lit(None).cast("long")
    named = F.when(view, F.struct(F.col("view").alias("number")))
    named = named.when(F.col("restored"), F.struct(F.col("state.view").alias("number")))
    in_force = latest(named.when(end | gap, F.struct(none.alias("number"))), so_far()).number
    # A gap ends no section, but only the end of the session, or an opening that tells of another view, does.
    section = latest(named.when(end, F.struct(none.alias("number"))), before()).number
    installed = latest(named.when(gap, F.struct(none.alias("number"))), before())
    return (
        events.withColumn("end", end)
        .withColumn("in_force", in_force)
        .withColumn("open_view", section)
        .withColumn("last_view", F.when(installed.isNull(), F.lit(0)).otherwise(installed.number))
    )


def _with_sections(events: DataFrame) -> DataFrame:
    elsewhere = F.col("open_view").isNull() | (F.col("open_view") != F.col("state.view"))
    begins = (F.col("kind") == "view") | (F.col("restored") & elsewhere)
    seq = F.col("seq")
    known = events.withColumn("begins", begins)
    section = latest(F.when(F.col("begins"), seq), so_far())
    open_before = F.when(F.col("open_view").isNotNull(), latest(F.when(F.col("begins"), seq), before()))
    return (
        known.withColumn("section", F.when(F.col("in_force").isNotNull(), section))
        .withColumn("before_section", open_before)
        .withColumn("era", F.coalesce(latest(F.when(F.col("restored"), seq), so_far()), F.lit(0)))
        .withColumn("opening", F.coalesce(latest(F.when(F.col("kind") == "opened", seq), so_far()), F.lit(0)))
        .withColumn("gap", latest(F.when(F.col("kind") == "gap", seq), so_far()))
        .withColumn("of_view", latest(_record_of_view(), so_far()).number)
    )


def _record_of_view() -> Column:
    """Which record tells who is in the view from here on: none if a state tells of another one, which a gap hides."""
    told = latest(F.when(F.col("kind") == "view", F.col("view")), before())
    hidden = F.col("restored") & ~F.coalesce(told == F.col("state.view"), F.lit(False))
    record = F.when(F.col("kind") == "view", F.struct(F.col("seq").alias("number")))
    return record.when(hidden, F.struct(F.lit(None).cast("long").alias("number")))


def runs(rows: DataFrame, placed: DataFrame) -> DataFrame:
    """Sends, deliveries and skips as logged, each with what the process knew.

    `of_view` is the `seq` of the last view installed, whose members are those that count.
    """
    known = ("certain", "in_force", "section", "era", "opening", "gap", "of_view")
    kept = ("seq", "kind", "at", "count", "view", "sent_view", "sender", "number", "serial", "clock", "digests")
    plain = rows.where(F.col("kind").isin(*_PLAIN)).select(*STAY, *kept, "file", "line")
    turns = placed.select(*STAY, "seq", F.struct(*known).alias("place"))
    both = plain.unionByName(turns, allowMissingColumns=True).withColumn("place", latest(F.col("place"), so_far()))
    told = both.where(F.col("kind").isNotNull()).select(*STAY, *kept, "file", "line", "place.*")
    return told.fillna({"certain": True, "era": 0, "opening": 0}).select(*RUN)


def members(placed: DataFrame) -> DataFrame:
    """The members of each view as one process installed it, by `of_view`."""
    return placed.where("kind = 'view'").select(*STAY, F.col("seq").alias("of_view"), "members")


def members_by_number(placed: DataFrame) -> DataFrame:
    """The members of each view, as the first tells, for those whose own record of it is in a gap."""
    first = F.min(F.struct("process", "seq", "members")).alias("first")
    views = placed.where("kind = 'view'").groupBy(*GROUP, F.col("view").alias("in_force")).agg(first)
    return views.select(*GROUP, "in_force", F.col("first.members").alias("by_number"))


def ranges(placed: DataFrame) -> DataFrame:
    """What became settled at `seq` by a base or a state, as ranges of a sender's numbers.

    Of prefixes only what they add is kept, so that one number is in one range.
    """
    kept = [*STAY, "seq"]
    restored = placed.where("restored")
    based = entries(placed.where("kind = 'view'"), kept, "base", "sender", "last")
    prefixes = based.unionByName(entries(restored, kept, "state.delivered", "sender", "last"))
    known = F.coalesce(F.max("last").over(before(*STAY, "sender")), F.lit(0))
    prefixes = prefixes.withColumn("first", known + 1).where("last >= first")
    beyond = entries(restored, kept, "state.beyond", "sender", "pairs").select(
        *kept, "sender", F.explode("pairs").alias("pair")
    )
    first, count = F.col("pair")[0], F.col("pair")[1]
    beyond = beyond.select(*kept, "sender", first.alias("first"), (first + count - 1).alias("last"))
    columns = (*kept, "sender", "first", "last")
    return prefixes.select(*columns).unionByName(beyond.select(*columns))
