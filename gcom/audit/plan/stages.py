"""What the stages of the quick plan do, one chain or one group at a time.

job.py lets Spark do it for all of them, local.py does it for one after the other.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from gcom.audit.input.catalogue import Catalogue, Chain
from gcom.audit.rules.continuity import judge_continuity
from gcom.audit.rules.detail_check import look
from gcom.audit.rules.groups import InstanceLogs
from gcom.audit.rules.judging import Judgement, Look, judge
from gcom.audit.rules.partial import touched
from gcom.audit.scan.chain import Scanned, scan
from gcom.audit.summary.dependencies import Dependencies, Placed
from gcom.audit.summary.messages import RunTable
from gcom.audit.summary.position import Key, Reached
from gcom.audit.summary.process import ProcessSummary
from gcom.audit.summary.tally import Tally

CHAIN_BYTES = 128 << 20  # of a process's segments that one task goes through


@dataclass(slots=True)
class PlanResult:
    """What a plan found: a judgement for each (group, instance), and what the logs themselves are like."""

    judgements: list[Judgement]
    coverage: dict[str, str]
    positions: dict[str, int]
    notes: list[str]
    unknown_types: dict[str, int] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)  # logs, or parts, of which nobody knows what groups they tell of


@dataclass(slots=True)
class ChainSummary:
    """What the driver learns of a chain."""

    process: str
    chain: int
    gaps: int
    hides_groups: bool
    torn: bool
    exited: bool
    ends_at: int
    begins_at: int
    notes: list[str]
    unknown_types: dict[str, int]
    begins: dict[Key, Reached]
    ends: dict[Key, Reached]
    outside: bool  # messages lie outside of a session, of which no state tells
    groups: frozenset[Key]  # that it tells of
    left: frozenset[Key]  # of these, those in which it says that the session ended


def chains_of(catalogue: Catalogue, chain_bytes: int) -> list[Chain]:
    """All logs in chains of about so many bytes, cut only where an opening has a state."""
    chains: list[Chain] = []
    for process, paths in catalogue.paths.items():
        chain: list[str] = []
        size, first = 0, True
        for path in paths:
            if chain and size >= chain_bytes and catalogue.openings[path].state is not None:
                chains.append(Chain(process, tuple(chain), first, last=False))
                chain, size, first = [], 0, False
            chain.append(path)
            size += catalogue.sizes[path]
        if chain:
            chains.append(Chain(process, tuple(chain), first))
    return chains


def whole_chains(catalogue: Catalogue, processes: Iterable[str]) -> list[Chain]:
    """One chain a process, of those that have a segment which can be believed."""
    return [Chain(who, tuple(catalogue.paths[who])) for who in processes if catalogue.paths.get(who)]


def summarized(chain: Chain, index: int, scanned: Scanned) -> ChainSummary:
    """`index` is the chain's among all."""
    scanner = scanned.scanner
    return ChainSummary(
        process=chain.process,
        chain=index,
        gaps=scanner.gaps,
        hides_groups=scanner.hides_groups,
        torn=scanned.torn,
        exited=scanned.exited,
        ends_at=scanned.ends_at,
        begins_at=scanned.begins_at,
        notes=scanner.notes,
        unknown_types=scanner.unknown_types,
        begins=scanned.begins,
        ends=scanned.ends,
        outside=any(place.outside for place in scanner.positions.values()),
        groups=frozenset(scanner.positions),
        left=frozenset(key for key, place in scanner.positions.items() if place.left),
    )


def to_repeat(chain_summaries: dict[str, list[ChainSummary]]) -> list[str]:
    """The processes of which a later chain began with another state than the one before it ended with, or goes on in a
    group that one before it left.
    """
    again = []
    for process, parts in chain_summaries.items():
        fits = all(_fit(one, other) for one, other in pairwise(parts))
        left: set[Key] = set()
        for part in parts:
            fits &= left.isdisjoint(part.groups)
            left |= part.left
        if len(parts) > 1 and (not fits or any(part.gaps or part.notes or part.outside for part in parts)):
            again.append(process)
    return again


def _fit(one: ChainSummary, other: ChainSummary) -> bool:
    """Whether a chain begins as the one before it ends."""
    if one.ends_at != other.begins_at or one.ends.keys() != other.begins.keys():
        return False
    return all(end.leads_to(other.begins[key]) for key, end in one.ends.items())


def coverages(catalogue: Catalogue, chain_summaries: dict[str, list[ChainSummary]]) -> dict[str, str]:
    """The coverage of each process of which there is a log."""
    return {process: _coverage_of(chain_summaries.get(process, [])) for process in catalogue.paths}


def _coverage_of(parts: list[ChainSummary]) -> str:
    if not parts or any(part.gaps for part in parts):
        return "lost"
    if parts[-1].torn:
        return "torn"
    return "closed" if parts[-1].exited else "open"


def outcome_of(
    judgements: list[Judgement],
    catalogue: Catalogue,
    chain_summaries: dict[str, list[ChainSummary]],
    coverage: dict[str, str],
) -> PlanResult:
    given_up = judge_continuity(judgements, coverage)
    notes = [
        *catalogue.notes,
        *given_up,
        *(note for parts in chain_summaries.values() for part in parts for note in part.notes),
    ]
    unknown: dict[str, int] = defaultdict(int)
    for parts in chain_summaries.values():
        for part in parts:
            for kind, count in part.unknown_types.items():
                unknown[kind] += count
    positions = {process: parts[-1].ends_at - 1 for process, parts in chain_summaries.items()}
    unread = catalogue.unread + [f"{who} has a gap" for who in coverage if _hides_groups(chain_summaries.get(who, []))]
    return PlanResult(judgements, coverage, positions, notes, dict(unknown), unread)


def _hides_groups(parts: list[ChainSummary]) -> bool:
    """Whether the process may have been in a group of which its log no longer tells."""
    return not parts or any(part.hides_groups for part in parts)


def judged(
    key: Key, summaries: dict[int, ProcessSummary], coverage: dict[str, str], most: int, *, all_rules: bool
) -> Judgement:
    """The judgement of a group; `summaries` are by chain, each process's in its log's order, and used up."""
    large = sum(summary.deliveries for summary in summaries.values()) > most
    chains = {chain: touched(summary) for chain, summary in summaries.items()} if large else {}
    judgement = judge(InstanceLogs.of(key, list(summaries.values()), coverage), most, all_rules=all_rules)
    judgement.chains = chains
    return judgement


Seen = tuple[ProcessSummary, RunTable, list[Placed]]  # what a closer look has of a chain


def seen(chain: Chain, seeds: tuple[int, int], looks: dict[Key, list[Look]]) -> Iterator[tuple[Key, Seen]]:
    """Go through a chain once more, for the messages that each group's `looks` ask for."""
    run_tables = {key: empty_run_table(chain.process, each) for key, each in looks.items()}
    dependencies = {key: Dependencies(chain.process, sys.maxsize) for key, each in looks.items() if _has_causal(each)}
    summaries = scan(chain, seeds, run_tables, dependencies).scanner.summaries
    for key, run_table in run_tables.items():
        if key in summaries:
            yield key, (summaries[key], run_table, dependencies[key].blocks if key in dependencies else [])


def looked(key: Key, found: list[Seen], coverage: dict[str, str], looks: list[Look]) -> dict[str, Tally]:
    """The tallies that a group's looks ask for; `found` is by process, and of each process in its log's order."""
    group = InstanceLogs.of(key, [summary for summary, _, _ in found], coverage)
    blocks = [block for _, _, blocks in found for block in blocks]
    return look(group, [run_table for _, run_table, _ in found], blocks, looks)


def dependencies_of(chain: Chain, keys: Iterable[Key]) -> Iterator[tuple[Key, Placed]]:
    """The blocks that a chain has for CAUSAL of these groups, which are large."""
    gathered = {key: Dependencies(chain.process) for key in keys}
    scan(chain, (0, 0), dependencies=gathered)
    for key, each in gathered.items():
        for block in each.blocks:
            yield key, block


def needs_causality(judgement: Judgement, most: int) -> bool:
    """Whether CAUSAL is judged bucket by bucket, in a stage of its own."""
    return judgement.deliveries > most and _has_causal(judgement.looks)


def _has_causal(looks: list[Look]) -> bool:
    return any(look.rule == "CAUSAL" for look in looks)


def empty_run_table(process: str, looks: list[Look]) -> RunTable:
    """All that is asked for, but for CAUSAL: everything if one look asks for that."""
    if any(each.buckets is None and each.rule != "CAUSAL" for each in looks):
        return RunTable(process, whole=True)
    serials, places, numbers = (
        sorted({bucket for each in looks if each.kind == kind for bucket in each.buckets or ()})
        for kind in ("serials", "places", "numbers")
    )
    return RunTable(process, serials=serials, places=places, numbers=numbers)
