"""The audit's plan, from a catalogue of logs to judgements, over the operations of an engine.

1. Scan: one task per chain of segments, each judged by itself as columns (scan/).
2. Judge: one task per (group, instance), over its processes' summaries (rules/judging.py).
3. Read again, where summaries leave a rule open: one task per chain gives excerpts of columns, and one per bucket of
   numbers, serials or indexes judges these; TOTAL is judged by one task per group, to which deliveries come in order,
   so that it holds no more than a few buckets of them.
4. Judge CONTINUITY over all instances of each name.
"""

from __future__ import annotations

import secrets
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from gcom.audit.applications.judging import ApplicationJudgement
from gcom.audit.input.catalogue import Catalogue, Chain
from gcom.audit.input.files import is_readable
from gcom.audit.plan.cache import IncrementalCache
from gcom.audit.plan.chains import chains_of, coverage_of, to_repeat, whole_chains
from gcom.audit.plan.engine import Engine, InProcess, TaskRow
from gcom.audit.plan.tasks import (
    APPLICATION,
    CHAIN,
    CHANGED,
    GROUP,
    ApplicationJudge,
    FirstReading,
    GroupJudge,
    SecondReading,
    Seeds,
)
from gcom.audit.rules.judgement import Judgement
from gcom.audit.rules.judging import add_found, add_outcomes
from gcom.audit.rules.table import RULES
from gcom.audit.rules.views.continuity import judge_continuity
from gcom.audit.scan.chain import ChainSummary
from gcom.audit.summary.position import Key
from gcom.audit.summary.tally import Tally
from gcom.errors import AuditUnavailable

RULE_OF = ("group", "instance", "name")  # of an excerpt
Chains = dict[str, list[ChainSummary]]  # of each process, in its log's order


@dataclass(slots=True)
class PlanResult:
    """The outcome of a plan: a judgement per (group, instance), and facts about the logs themselves."""

    judgements: list[Judgement]
    coverage: dict[str, str]
    positions: dict[str, int]
    notes: list[str]
    unknown_types: dict[str, int] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)  # logs, or parts, of which nobody knows what groups they tell of
    contradictions: list[str] = field(default_factory=list)  # of a log with itself
    applications: list[ApplicationJudgement] = field(default_factory=list)


def run(
    catalogue: Catalogue,
    chain_bytes: int | None = None,
    seeds: Seeds | None = None,
    *,
    engine: Engine | None = None,
    cache: IncrementalCache | None = None,
    tell: Callable[[str], object] = str,
    all_rules: bool = False,
) -> PlanResult:
    """Judge all logs of a catalogue, in this process if no `engine` is given.

    A chain, which one task goes through, has about `chain_bytes`. `seeds` are those of the fingerprints, drawn if not
    given. With `cache` only segments without a kept result are read. `tell` gets a sentence about each stage that
    begins. With `all_rules` messages are also read for rules that a group does not promise.
    """
    engine = engine or InProcess()
    try:
        return _run(engine, catalogue, chain_bytes, seeds, cache, tell, all_rules=all_rules)
    finally:
        engine.release()


def _run(
    engine: Engine,
    catalogue: Catalogue,
    chain_bytes: int | None,
    seeds: Seeds | None,
    cache: IncrementalCache | None,
    tell: Callable[[str], object],
    *,
    all_rules: bool,
) -> PlanResult:
    seeds = cache.seeds if cache is not None else seeds or (secrets.randbits(64), secrets.randbits(64))
    tell(f"reading {len(catalogue.sizes):,} segments of {len(catalogue.paths):,} processes")
    # Kept results are of one segment each, as a later segment changes no other's.
    chains = chains_of(catalogue, 1 if cache is not None else chain_bytes or engine.chain_bytes)
    summaries = _scan(engine, chains, range(len(chains)), seeds, cache, catalogue)
    parts = _parts(engine, summaries)
    _refuse_unseen(parts)
    of_chains = _by_process(parts)
    again = to_repeat(of_chains)
    # The state in an opening is used and not trusted (scan/__init__.py): whoever contradicts one is read from its
    # first line, so no verdict rests on it.
    if again:
        tell(f"reading {len(again):,} processes once more, from their first lines")
        whole = whole_chains(catalogue, again)
        repeated = _scan(engine, chains + whole, range(len(chains), len(chains) + len(whole)), seeds)
        chains = [*chains, *whole]
        parts |= (repeated_parts := _parts(engine, repeated))
        of_chains |= _by_process(repeated_parts)
        summaries = engine.union(engine.where(summaries, "name", again, inside=False), repeated)
    # Of all processes of the catalogue, also of those without a chain: a log of which no segment
    # is believed is `lost`.
    coverage = {process: coverage_of(of_chains.get(process, [])) for process in catalogue.paths}
    tell("comparing what the processes say")
    judgements = _judge(engine, summaries, coverage, all_rules=all_rules)
    applications = _judge_applications(engine, summaries, parts, coverage)
    tell("looking at messages where summaries differ")
    _judge_messages(engine, judgements, chains, parts, coverage)
    return _result(judgements, applications, catalogue, of_chains, coverage)


# Scan


def _scan(
    engine: Engine,
    chains: list[Chain],
    which: Sequence[int],
    seeds: Seeds,
    cache: IncrementalCache | None = None,
    catalogue: Catalogue | None = None,
) -> Any:
    """Return the summaries of the chains whose indexes are in `which`; those that `cache` keeps are not read again."""

    scanned = FirstReading(chains, seeds)
    # Reused: groups are judged from them, and the chains' own rows are collected.
    if cache is None or catalogue is None:
        return engine.spread(which, scanned, reused=True)
    found: list[TaskRow] = []
    new = []
    for index in which:
        kept = cache.get_chain(chains[index], catalogue)
        found += [TaskRow(*row)._replace(chain=index) for row in kept or ()]
        new += [index] if kept is None else []
    fresh: dict[int, list[TaskRow]] = defaultdict(list)
    for row in engine.collect(engine.spread(new, scanned)) if new else ():
        fresh[row.chain].append(row)
    for index, rows in fresh.items():
        found += rows
        # What could not be read now may be readable the next time.
        if any(row.of == CHAIN and row.thing.unseen for row in rows):
            continue
        # Only what was scanned now: kept results are there already, under their own names.
        cache.put_chain(chains[index], catalogue, rows)
    return engine.load(found)


def _parts(engine: Engine, summaries: Any) -> dict[int, ChainSummary]:
    """Return what is known of each chain, by index."""
    return {row.chain: row.thing for row in engine.collect(engine.where(summaries, "of", [CHAIN]))}


def _refuse_unseen(parts: dict[int, ChainSummary]) -> None:
    """Raise AuditUnavailable if a task could not read a file that is there: the machines do not have the same files."""
    for path in (path for part in parts.values() for path in part.unseen):
        if is_readable(path):
            raise AuditUnavailable(
                f"{path} cannot be read where Spark's tasks run, though it can be here: give a folder that all "
                "machines have under one name, as one on a shared disk or hdfs://"
            )


def _by_process(parts: dict[int, ChainSummary]) -> Chains:
    found: Chains = defaultdict(list)
    for _, part in sorted(parts.items()):
        found[part.process].append(part)
    return dict(sorted(found.items()))


# Judge


def _judge(engine: Engine, summaries: Any, coverage: dict[str, str], *, all_rules: bool) -> list[Judgement]:
    of_groups = engine.where(summaries, "of", [GROUP])
    return [
        judgement for _, judgement in engine.grouped(of_groups, ("group", "instance"), GroupJudge(coverage, all_rules))
    ]


def _judge_applications(
    engine: Engine, summaries: Any, parts: dict[int, ChainSummary], coverage: dict[str, str]
) -> list[ApplicationJudgement]:
    # Most logs have none: an engine is not asked in vain.
    if not any(part.applications for part in parts.values()):
        return []
    rows = engine.where(summaries, "of", [APPLICATION])
    return [found for _, found in engine.grouped(rows, ("group", "instance"), ApplicationJudge(coverage))]


# Read again


def _judge_messages(
    engine: Engine,
    judgements: list[Judgement],
    chains: list[Chain],
    parts: dict[int, ChainSummary],
    coverage: dict[str, str],
) -> None:
    """Judge over messages the cases that the summaries leave open: bucket by bucket, then rules that need a whole group
    in order.
    """
    open_ones = {each.key: each for each in judgements if each.requests}
    # Nearly always: sound logs are certified by their summaries, and no message is read twice.
    if not open_ones:
        return
    requests = {key: {request.rule: request for request in each.requests} for key, each in open_ones.items()}
    starts = {key: each.starts for key, each in open_ones.items()}
    # Only of a complete log it is certain that what is not in it did not happen.
    closed = frozenset(who for who, state in coverage.items() if state == "closed")
    extents = {index: part.extent for index, part in parts.items()}
    reading = SecondReading(chains, requests, starts, extents, closed)
    streams = [rule for rule in RULES if RULES[rule].judge_stream and any(rule in each for each in requests.values())]
    # Chains of groups without a request are not read again, though their processes are in other groups.
    which = sorted({index for each in starts.values() for index in each})
    excerpts = engine.spread(which, reading.read, reused=bool(streams))
    of_buckets = engine.where(excerpts, "name", streams, inside=False)
    found = engine.grouped(of_buckets, (*RULE_OF, "of", "bucket"), reading.judge_bucket)
    if streams:
        of_streams = engine.where(excerpts, "name", streams)
        found += engine.in_order(of_streams, RULE_OF, len(open_ones), reading.judge_stream)
    tallies: dict[tuple[Key, str], list[Tally]] = defaultdict(list)
    for (group, instance, rule, *_), tally in found:
        tallies[(group, instance), rule].append(tally)
    for (key, rule), each in tallies.items():
        if rule != CHANGED and (key, CHANGED) not in tallies:
            add_found(open_ones[key], rule, each)
    for (key, _), each in ((known, each) for known, each in tallies.items() if known[1] == CHANGED):
        for rule in requests[key]:
            open_ones[key].tallies[rule].add(each[0])


def _result(
    judgements: list[Judgement],
    applications: list[ApplicationJudgement],
    catalogue: Catalogue,
    of_chains: Chains,
    coverage: dict[str, str],
) -> PlanResult:
    for judgement in judgements:
        if judgement.outcomes:
            add_outcomes(judgement, coverage)
    # Last, and on the driver: it is the only rule over several instances, and its input is a few ranges per session.
    given_up = judge_continuity(judgements, coverage)
    parts = [part for each in of_chains.values() for part in each]
    contradictions = [each for part in parts for each in part.contradictions]
    # Who has a gap, or a log that was read in no part, may have been in groups of which it does not tell.
    hiding = [who for who in coverage if who not in of_chains or any(part.hides_groups for part in of_chains[who])]
    return PlanResult(
        judgements,
        coverage,
        positions={process: each[-1].ends_at - 1 for process, each in of_chains.items()},
        notes=[*catalogue.notes, *given_up, *(note for part in parts for note in part.notes), *contradictions],
        unknown_types=dict(sum((Counter(part.unknown_types) for part in parts), Counter())),
        unread=[*catalogue.unread, *(f"{who} has a gap" for who in hiding)],
        contradictions=contradictions,
        applications=applications,
    )
