"""The `--exact` plan of the audit: every rule over every message, in Spark's own expressions, with no fingerprints.

It shares with the quick plan (job.py) how files are found, checked and parsed, and the form of the answer; it judges by
itself. Runs are taken apart message by message where that can matter, tables are sorted and joined whole, so it costs
many times as much; it is there to check the quick plan, and to judge what that leaves open.
A state that is not what precedes it is noted by the quick plan only: no rule trusts it.

1. read: all records as one table, with marks for gaps and openings (reading.py).
2. place: what each process knew at each point, by windows over the few events that change it (places.py).
3. judge: each rule is a function of tables to cases; these are added up by rule and group.
4. look: only of rules with violations are the first violations collected.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from gcom.audit.exact import alone, groups, messages, pairs, places, sections, together, total
from gcom.audit.exact.cases import absent, examples, gap_cases, sums
from gcom.audit.exact.columns import GROUP, STAY
from gcom.audit.exact.known import known
from gcom.audit.exact.reading import read
from gcom.audit.input.catalogue import Catalogue
from gcom.audit.plan.stages import PlanResult
from gcom.audit.rules.judging import RULES, Judgement, expected_rules
from gcom.audit.summary.position import Key
from gcom.audit.summary.tally import Tally

_OF_NO_GAP = ("INTEGRITY",)
_OF_UNTOLD_GAPS = ("CLOCK", "SERIAL_CONTIGUOUS")  # a state hides nothing from these


@dataclass(slots=True)
class Tables:
    """All that the rules are functions of. The large ones are computed once."""

    rows: DataFrame
    logs: DataFrame
    placed: DataFrame
    runs: DataFrame
    closed: DataFrame
    members: DataFrame
    by_number: DataFrame
    ranges: DataFrame
    messages: DataFrame
    firsts: DataFrame
    known: DataFrame
    parts: DataFrame
    classed: DataFrame
    heard: DataFrame
    once: DataFrame
    absent: DataFrame


def run(spark: Any, catalogue: Catalogue) -> PlanResult:
    """The exact plan: the same answers as the quick one, by another way."""
    return _outcome(tables_of(read(spark, catalogue)), catalogue)


def tables_of(rows: DataFrame) -> Tables:
    rows = _computed(rows)
    logs = rows.where("kind = 'log'").select("process", "coverage")
    stated = places.states(rows)
    stayed = _computed(places.stays(rows, stated))
    placed = _computed(places.places(rows, places.breaks(rows, stated, stayed)))
    runs = _computed(places.runs(rows, placed))
    closed = _computed(logs.where("coverage = 'closed'").select("process"))
    went = _computed(messages.with_sends(messages.passed(runs), messages.sent(runs), closed))
    asked = _computed(known(runs, placed))
    parts = _computed(sections.sections(placed, closed))
    return Tables(
        rows=rows,
        logs=logs,
        placed=placed,
        runs=runs,
        closed=closed,
        members=places.members(placed),
        by_number=places.members_by_number(placed),
        ranges=places.ranges(placed),
        messages=went,
        firsts=messages.settled(went),
        known=asked,
        parts=parts,
        classed=sections.class_members(parts),
        heard=sections.delivered_in(went),
        once=total.delivered_once(went),
        absent=absent(placed, stayed, logs),
    )


def _computed(frame: DataFrame) -> DataFrame:
    """Computed once, and for the planner a table like any other: what it came from would grow with every use of it."""
    return frame.localCheckpoint()


def cases_of(tables: Tables) -> dict[str, DataFrame]:
    """Each rule's cases, gaps apart; of TOTAL only which there are."""
    t = tables
    rules: dict[str, Callable[[], DataFrame]] = {
        "NO_CREATION": lambda: alone.no_creation(t.runs, t.placed, t.messages, t.closed),
        "NO_DUPLICATION": lambda: alone.no_duplication(t.messages, t.ranges),
        "INTEGRITY": lambda: pairs.integrity(t.messages),
        "SELF_DELIVERY": lambda: together.self_delivery(t.runs, t.parts, t.firsts, t.ranges),
        "AGREEMENT": lambda: together.agreement(t.classed, t.parts, t.heard, t.placed, t.firsts, t.ranges),
        "FIFO": lambda: alone.fifo(t.messages, t.ranges),
        "CAUSAL": lambda: pairs.causal(t.messages, t.known, t.members, t.by_number, t.firsts, t.ranges),
        "CLOCK": lambda: alone.clock(t.runs, t.known, t.members),
        "TOTAL": lambda: total.shared(t.once),
        "TOTAL_GAP_FREE": lambda: together.total_gap_free(t.classed, t.messages),
        "SERIAL_UNIQUE": lambda: groups.serial_unique(t.messages),
        "SERIAL_CONTIGUOUS": lambda: alone.serial_contiguous(t.runs, t.placed),
        "SENDING_VIEW": lambda: pairs.sending_view(t.messages),
        "VIEW_AGREEMENT": lambda: groups.view_agreement(t.placed),
        "VIRTUAL_SYNCHRONY": lambda: together.virtual_synchrony(t.classed, t.parts, t.heard, t.known),
        "ONE_LEADER": lambda: groups.one_leader(t.rows),
    }
    found = {}
    for rule, function in rules.items():
        cases = function()
        if rule not in _OF_NO_GAP:
            cases = cases.unionByName(gap_cases(t.placed, t.absent, told=rule not in _OF_UNTOLD_GAPS))
        found[rule] = cases.withColumn("rule", F.lit(rule))
    return found


def _outcome(tables: Tables, catalogue: Catalogue) -> PlanResult:
    judgements = _definitions(tables)
    for cases in cases_of(tables).values():
        if _add(judgements, cases):
            _add_examples(judgements, examples(cases).collect(), catalogue)
    _judge_total(tables, judgements, catalogue)
    _leave_continuity(judgements)
    return _with_logs(tables, [judgements[key] for key in sorted(judgements)], catalogue)


def _add(judgements: dict[Key, Judgement], cases: DataFrame) -> bool:
    """Add a rule's cases to the tallies; whether any was a violation."""
    wrong = False
    for row in sums(cases).collect():
        tally = judgements[row.group, row.instance].tallies[row.rule]
        tally.add(Tally(row.evaluated, row.violations, row.unknown, row.reason or ""))
        wrong |= row.violations > 0
    return wrong


def _judge_total(tables: Tables, judgements: dict[Key, Judgement], catalogue: Catalogue) -> None:
    """Where a process does not climb, the graph is searched."""
    steps = total.edges(tables.once)
    covered = _computed(total.spans(total.descents(steps)))
    if covered.limit(1).count():
        found = _computed(total.acyclic(total.within(steps, covered))).withColumn("rule", F.lit("TOTAL"))
        if _add(judgements, found):
            _add_examples(judgements, examples(found).collect(), catalogue)


def _leave_continuity(judgements: dict[Key, Judgement]) -> None:
    """CONTINUITY is not judged here: a name with one instance has no case, one with several is not known."""
    lives = Counter(name for name, _ in judgements)
    for (name, _), judgement in judgements.items():
        if lives[name] > 1:
            judgement.tallies["CONTINUITY"].doubt(1, "--exact does not judge it: audit again without --exact")


def _definitions(tables: Tables) -> dict[Key, Judgement]:
    """What each group is, and what it therefore promises."""
    said = F.struct("process", "seq", "view", "members", "leader", "ordering", "multicast", "safe", "netsplit")
    lists = F.collect_set(F.struct("view", "members")).alias("lists")  # as few as there are views
    counted = F.min(said).alias("definition"), F.count_distinct("view").alias("views"), lists
    views = tables.placed.where("kind = 'view'").groupBy(*GROUP).agg(*counted)
    digests = F.max(F.size("digests") > 0).alias("digests")
    delivered = F.col("kind") == "deliver"
    logged = tables.runs.groupBy(*GROUP).agg(
        digests,
        F.sum(F.when(delivered, F.col("count")).otherwise(0)).alias("deliveries"),
        F.max(delivered & F.col("serial").isNull()).alias("serials_missing"),
    )
    concerned = tables.placed.select(*STAY).unionByName(tables.runs.select(*STAY))
    concerned = concerned.unionByName(tables.rows.where("group IS NOT NULL").select(*STAY))
    concerned = concerned.unionByName(tables.absent).distinct()
    processes = concerned.groupBy(*GROUP).agg(F.sort_array(F.collect_list("process")).alias("processes"))
    told = processes.join(views, GROUP, "left").join(logged, GROUP, "left")
    return {(row.group, row.instance): _judgement(row) for row in told.collect()}


def _judgement(row: Any) -> Judgement:
    definition = row.definition.asDict() if row.definition is not None else {}
    definition.pop("seq", None)
    expected = expected_rules(definition, bool(row.digests))
    unplaced = bool(row.serials_missing) and "SERIAL_UNIQUE" in expected
    return Judgement(
        key=(row.group, row.instance),
        definition=definition,
        expected=expected,
        tallies={rule: Tally() for rule in RULES},
        processes=row.processes,
        views=row.views or 0,
        deliveries=row.deliveries or 0,
        members={each.view: each.members for each in row.lists or ()},
        unshown="the order is total, and deliveries have no serial" if unplaced else "",
    )


def _add_examples(judgements: dict[Key, Judgement], rows: list[Any], catalogue: Catalogue) -> None:
    for row in sorted(rows, key=lambda row: row["rank"]):
        example = {name: row[name] for name in ("process", "at", "view", "sender", "number", "file", "line")}
        more = json.loads(row.more) if row.more else {}
        if "steps" in more:
            more["steps"] = json.loads(more["steps"])
            example = dict(more["steps"][0]["after"])
        example = {name: value for name, value in {**example, **more}.items() if value is not None}
        if row.rule == "TOTAL_GAP_FREE":  # None: the sequence ends there
            example = {"mine": None, "theirs": None, **example}
        _name_files(example, catalogue)
        judgements[row.group, row.instance].tallies[row.rule].examples.append(example)


def _name_files(example: dict[str, Any], catalogue: Catalogue) -> None:
    """Files were carried along as their place in the catalogue."""
    if isinstance(example.get("file"), int):
        example["file"] = catalogue.paths[example["process"]][example["file"]]
    for value in example.values():
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, dict):
                _name_files(each, catalogue)


def _with_logs(tables: Tables, judgements: list[Judgement], catalogue: Catalogue) -> PlanResult:
    """What the logs themselves are like; one row a process."""
    notes = list(catalogue.notes)
    coverage: dict[str, str] = {}
    positions: dict[str, int] = {}
    unknown: dict[str, int] = defaultdict(int)
    for row in tables.rows.where("kind = 'log'").select("process", "coverage", "summary").orderBy("process").collect():
        told = json.loads(row.summary)
        coverage[row.process] = row.coverage
        if catalogue.paths[row.process]:
            positions[row.process] = told["positions"]
        notes += told["notes"]
        for kind, count in told["unknown_types"].items():
            unknown[kind] += count
    return PlanResult(judgements, coverage, positions, notes, dict(unknown), list(catalogue.unread))
