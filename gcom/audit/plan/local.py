"""The plan run in this process, one chain and one group after another, without Spark.

For small logs, which are judged before Spark would have started, and for witnesses, of which many are judged per
second.
"""

from __future__ import annotations

import secrets
import sys
from collections import defaultdict
from operator import itemgetter

from gcom.audit.input.catalogue import Catalogue, Chain
from gcom.audit.plan import stages
from gcom.audit.plan.cache import IncrementalCache
from gcom.audit.plan.rows import ScannedChain, cached, keep, of_rows, rows_of, scan_chain
from gcom.audit.plan.stages import ChainSummary, PlanResult
from gcom.audit.rules.judgement import Judgement
from gcom.audit.rules.judging import add_found
from gcom.audit.summary.excerpts import Excerpt, Placed
from gcom.audit.summary.position import Key
from gcom.audit.summary.process import ProcessSummary
from gcom.audit.summary.tally import Tally

Seeds = tuple[int, int]


def run_locally(
    catalogue: Catalogue,
    chain_bytes: int = sys.maxsize,
    seeds: Seeds | None = None,
    cache: IncrementalCache | None = None,
    *,
    all_rules: bool = False,
) -> PlanResult:
    """Return the same as `spark.job.run`. `seeds` are those of the fingerprints, drawn if not given."""
    seeds = cache.seeds if cache is not None else seeds or (secrets.randbits(64), secrets.randbits(64))
    chains = stages.chains_of(catalogue, chain_bytes if cache is None else 1)
    scanned = [_scanned(chain, index, seeds, catalogue, cache) for index, chain in enumerate(chains)]
    chain_summaries = _by_process(scanned)
    again = stages.to_repeat(chain_summaries)
    if again:
        believed = [index for index, chain in enumerate(chains) if chain.process not in again]
        # A process whose chains do not fit, or that has gaps, is gone through once more as one chain, from its first
        # line.
        chains = [*(chains[index] for index in believed), *stages.whole_chains(catalogue, again)]
        scanned = [scanned[index] for index in believed]
        scanned += [scan_chain(chain, index, seeds) for index, chain in enumerate(chains) if chain.process in again]
        chain_summaries = _by_process(scanned)
    summaries: dict[Key, dict[int, ProcessSummary]] = defaultdict(dict)
    for index, (of_groups, _) in enumerate(scanned):
        for key, summary in of_groups.items():
            summaries[key][index] = summary
    coverage = stages.coverages(catalogue, chain_summaries)
    judgements = [stages.judged(key, of, coverage, all_rules=all_rules) for key, of in sorted(summaries.items())]
    _judge_messages(judgements, dict(enumerate(chains)), coverage)
    return stages.outcome_of(judgements, catalogue, chain_summaries, coverage)


def _judge_messages(judgements: list[Judgement], chains: dict[int, Chain], coverage: dict[str, str]) -> None:
    """Judge over messages the cases that the summaries leave open."""
    closed = stages.closed_in(coverage)
    for judgement in judgements:
        readings = stages.readings_of([judgement])
        chosen = stages.chains_for([judgement], readings, chains)
        placed = [each for index in chosen for _, each in stages.read_again(chains[index], index, readings)]
        streams = stages.streamed(readings)
        for rule in streams:
            of_rule = sorted((each for each in placed if each[0] == rule), key=itemgetter(2))
            excerpts = ((bucket, excerpt) for _, _, bucket, excerpt in of_rule)
            add_found(judgement, rule, [stages.judge_stream(readings[judgement.key], rule, excerpts)])
        if readings:
            rest = [each for each in placed if each[0] not in streams]
            _judge_buckets(judgement, readings[judgement.key], rest, closed)


def _judge_buckets(judgement: Judgement, reading: stages.Reading, placed: list[Placed], closed: frozenset[str]) -> None:
    buckets: dict[tuple[str, str, int], list[Excerpt]] = defaultdict(list)
    for rule, of, bucket, excerpt in placed:
        buckets[rule, of, bucket].append(excerpt)
    found: dict[str, list[Tally]] = defaultdict(list)
    for (rule, of, _), excerpts in sorted(buckets.items(), key=itemgetter(0)):
        found[rule].append(stages.judge_bucket(reading, rule, of, excerpts, closed))
    for rule, tallies in found.items():
        add_found(judgement, rule, tallies)


def _scanned(
    chain: Chain, index: int, seeds: Seeds, catalogue: Catalogue, cache: IncrementalCache | None
) -> ScannedChain:
    known = cached(cache, catalogue, chain)
    if known is not None:
        return of_rows(known, index)
    found = scan_chain(chain, index, seeds)
    if cache is not None:
        keep(cache, catalogue, chain, rows_of(found))
    return found


def _by_process(scanned: list[ScannedChain]) -> dict[str, list[ChainSummary]]:
    found: dict[str, list[ChainSummary]] = defaultdict(list)
    for _, of_chain in scanned:
        found[of_chain.process].append(of_chain)
    return dict(sorted(found.items()))
