"""Stages of the plan, each for one chain or one group.

job.py lets Spark run them for all chains and groups, local.py runs them one after the other.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from gcom.audit.input.catalogue import Catalogue, Chain
from gcom.audit.rules.groups import InstanceLogs
from gcom.audit.rules.judgement import Judgement
from gcom.audit.rules.judging import judge, tell_fates
from gcom.audit.rules.table import RULES
from gcom.audit.rules.views.continuity import judge_continuity
from gcom.audit.scan.chain import Scanned, scan
from gcom.audit.summary.excerpts import Excerpt, MessageRequest, Placed
from gcom.audit.summary.messages import MessageRecorder
from gcom.audit.summary.position import Key, Reached
from gcom.audit.summary.process import ProcessSummary
from gcom.audit.summary.tally import Tally

CHAIN_BYTES = 128 << 20  # of a process's segments that one task goes through


@dataclass(slots=True)
class PlanResult:
    """The outcome of a plan: a judgement per (group, instance), and facts about the logs themselves."""

    judgements: list[Judgement]
    coverage: dict[str, str]
    positions: dict[str, int]
    notes: list[str]
    unknown_types: dict[str, int] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)  # logs, or parts, of which nobody knows what groups they tell of


@dataclass(slots=True)
class ChainSummary:
    """The driver's knowledge of a chain."""

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
    """Return all logs in chains of about `chain_bytes`, cut only where an opening has a state."""
    chains: list[Chain] = []
    for process, paths in catalogue.paths.items():
        chain: list[str] = []
        size, first = 0, True
        for path in paths:
            # Without a state a chain could not begin there: who is in which group, and what was settled, would be
            # unknown.
            if chain and size >= chain_bytes and catalogue.openings[path].state is not None:
                chains.append(Chain(process, tuple(chain), first, last=False))
                chain, size, first = [], 0, False
            chain.append(path)
            size += catalogue.sizes[path]
        if chain:
            chains.append(Chain(process, tuple(chain), first))
    return chains


def whole_chains(catalogue: Catalogue, processes: Iterable[str]) -> list[Chain]:
    """Return one chain per process, of those that have a segment which can be believed."""
    return [Chain(who, tuple(catalogue.paths[who])) for who in processes if catalogue.paths.get(who)]


def summarized(chain: Chain, index: int, scanned: Scanned) -> ChainSummary:
    """Return the driver's summary of a chain; `index` is the chain's among all."""
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
    """Return the processes to scan again in one chain: those with a later chain that began with another state than the
    one before it ended with, or that goes on in a group which one before it left.
    """
    again = []
    for process, parts in chain_summaries.items():
        fits = all(_fit(one, other) for one, other in pairwise(parts))
        left: set[Key] = set()
        for part in parts:
            fits &= left.isdisjoint(part.groups)
            left |= part.left
        # A gap, a note or messages outside of sessions: no state tells of these, so later chains began without
        # knowing.
        if len(parts) > 1 and (not fits or any(part.gaps or part.notes or part.outside for part in parts)):
            again.append(process)
    return again


def _fit(one: ChainSummary, other: ChainSummary) -> bool:
    """Tell whether a chain begins as the one before it ends."""
    if one.ends_at != other.begins_at or one.ends.keys() != other.begins.keys():
        return False
    return all(end.leads_to(other.begins[key]) for key, end in one.ends.items())


def coverages(catalogue: Catalogue, chain_summaries: dict[str, list[ChainSummary]]) -> dict[str, str]:
    """Return the coverage of each process of which there is a log."""
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
    for judgement in judgements:
        if judgement.fates:
            tell_fates(judgement, coverage)
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
    """Tell whether the process may have been in a group of which its log no longer tells."""
    return not parts or any(part.hides_groups for part in parts)


def judged(key: Key, summaries: dict[int, ProcessSummary], coverage: dict[str, str], *, all_rules: bool) -> Judgement:
    """Return the judgement of a group. `summaries` are by chain, each process's in its log's order, and are used up."""
    starts = _starts_of(summaries)
    # Joining the summaries of a process uses them up, so where each chain began is worked out first.
    judgement = judge(InstanceLogs.of(key, list(summaries.values()), coverage), all_rules=all_rules)
    judgement.starts = starts if judgement.requests else {}
    return judgement


def _starts_of(summaries: dict[int, ProcessSummary]) -> dict[int, tuple[int, int]]:
    """Return, per chain, the section it begins in, and the number of deliveries of that section that came before."""
    starts: dict[int, tuple[int, int]] = {}
    known: dict[str, tuple[int, int, bool]] = {}  # sections, deliveries in the last of them, whether that goes on
    for chain, summary in summaries.items():
        sections, inside, goes_on = known.get(summary.process, (0, 0, False))
        if goes_on and summary.sections and not summary.sections[0].installed:
            sections -= 1
        elif summary.sections:
            inside = 0
        starts[chain] = sections, inside
        # Prints of places count deliveries, second ones included: as the pass that reads them again does.
        counts = [sum(n for n, _, _ in section.order.values()) for section in summary.sections]
        if counts:
            inside = counts[-1] + (inside if len(counts) == 1 else 0)
            goes_on = summary.sections[-1].next == "open"
        known[summary.process] = sections + len(counts), inside, goes_on
    return starts


@dataclass(frozen=True, slots=True)
class Reading:
    """The messages that one (group, instance) needs from a second pass over its logs."""

    requests: list[MessageRequest]
    starts: dict[int, tuple[int, int]]


def readings_of(judgements: list[Judgement]) -> dict[Key, Reading]:
    """Return the messages to be read again, by (group, instance)."""
    return {each.key: Reading(each.requests, each.starts) for each in judgements if each.requests}


def streamed(readings: dict[Key, Reading]) -> list[str]:
    """Return the requested rules that judge all messages of a group as a stream."""
    asked = {request.rule for reading in readings.values() for request in reading.requests}
    return [name for name, rule in RULES.items() if rule.judge_stream is not None and name in asked]


def chains_for(judgements: list[Judgement], readings: dict[Key, Reading], chains: dict[int, Chain]) -> list[int]:
    """Return the indexes of the chains that have records of the groups that are read again."""
    concerned = {process for each in judgements if each.key in readings for process in each.processes}
    return [index for index, chain in sorted(chains.items()) if chain.process in concerned]


def read_again(chain: Chain, index: int, readings: dict[Key, Reading]) -> Iterator[tuple[Key, Placed]]:
    """Go through a chain once more, for the messages that rules ask for."""
    recorders = {
        key: MessageRecorder(chain.process, each.requests, each.starts[index])
        for key, each in readings.items()
        if index in each.starts
    }
    scan(chain, (0, 0), recorders)
    for key, recorder in recorders.items():
        for placed in recorder.placed:
            yield key, placed


def judge_bucket(reading: Reading, rule: str, of: str, excerpts: list[Excerpt], closed: frozenset[str]) -> Tally:
    """Judge a rule over all excerpts of a bucket; `closed` are the processes whose logs are complete."""
    request = next(each for each in reading.requests if each.rule == rule)
    judge_one = RULES[rule].judge_bucket
    assert judge_one is not None, "it is none of streamed()"
    return judge_one(request, of, excerpts, closed)


def judge_stream(reading: Reading, rule: str, excerpts: Iterable[tuple[int, Excerpt]]) -> Tally:
    """Judge a rule over all deliveries; `excerpts` are by bucket of places, and each process's in its log's order."""
    request = next(each for each in reading.requests if each.rule == rule)
    judge_all = RULES[rule].judge_stream
    assert judge_all is not None, "it is one of streamed()"
    return judge_all(request, excerpts)


def closed_in(coverage: dict[str, str]) -> frozenset[str]:
    """Return the processes whose logs are complete."""
    return frozenset(who for who, state in coverage.items() if state == "closed")
