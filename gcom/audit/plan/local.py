"""The plan in this process, one chain and one group after another, without Spark.

For small logs, which are judged before Spark would have started, and for witnesses, of which many are judged per
second.
"""

from __future__ import annotations

import secrets
import sys
from collections import defaultdict

from gcom.audit.input.catalogue import Catalogue, Chain
from gcom.audit.plan import stages
from gcom.audit.plan.cache import IncrementalCache
from gcom.audit.plan.rows import ScannedChain, cached, keep, of_rows, rows_of, scan_chain
from gcom.audit.plan.stages import ChainSummary, PlanResult
from gcom.audit.rules.causal import judge_causality
from gcom.audit.rules.judging import MOST, Judgement
from gcom.audit.rules.partial import look_at_part, part_of
from gcom.audit.summary.position import Key
from gcom.audit.summary.process import ProcessSummary

Seeds = tuple[int, int]


def run_locally(
    catalogue: Catalogue,
    chain_bytes: int = sys.maxsize,
    most: int = MOST,
    seeds: Seeds | None = None,
    cache: IncrementalCache | None = None,
    *,
    all_rules: bool = False,
) -> PlanResult:
    """Return what `spark.job.run` returns; `seeds` are those of the fingerprints, drawn if not given."""
    seeds = cache.seeds if cache is not None else seeds or (secrets.randbits(64), secrets.randbits(64))
    chains = stages.chains_of(catalogue, chain_bytes if cache is None else 1)
    scanned = [_scanned(chain, index, seeds, catalogue, cache) for index, chain in enumerate(chains)]
    chain_summaries = _by_process(scanned)
    again = stages.to_repeat(chain_summaries)
    if again:
        believed = [index for index, chain in enumerate(chains) if chain.process not in again]
        chains = [*(chains[index] for index in believed), *stages.whole_chains(catalogue, again)]
        scanned = [scanned[index] for index in believed]
        scanned += [scan_chain(chain, index, seeds) for index, chain in enumerate(chains) if chain.process in again]
        chain_summaries = _by_process(scanned)
    summaries: dict[Key, dict[int, ProcessSummary]] = defaultdict(dict)
    for index, (of_groups, _) in enumerate(scanned):
        for key, summary in of_groups.items():
            summaries[key][index] = summary
    coverage = stages.coverages(catalogue, chain_summaries)
    judgements = [stages.judged(key, of, coverage, most, all_rules=all_rules) for key, of in sorted(summaries.items())]
    for judgement in judgements:
        if judgement.deliveries > most:
            _look_at_part(judgement, chains, coverage, seeds, most)
        elif judgement.looks:
            _look_closer(judgement, catalogue, coverage, seeds)
        if stages.needs_causality(judgement, most):
            _judge_causality(judgement, chains, coverage)
    return stages.outcome_of(judgements, catalogue, chain_summaries, coverage)


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


def _look_closer(judgement: Judgement, catalogue: Catalogue, coverage: dict[str, str], seeds: Seeds) -> None:
    looks, chains = {judgement.key: judgement.looks}, stages.whole_chains(catalogue, judgement.processes)
    found = [of for chain in chains for _, of in stages.seen(chain, seeds, looks)]
    judgement.add(stages.looked(judgement.key, found, coverage, judgement.looks))


def _look_at_part(judgement: Judgement, chains: list[Chain], coverage: dict[str, str], seeds: Seeds, most: int) -> None:
    part = part_of(judgement, most, coverage)
    order = sorted(part.chains, key=lambda index: (chains[index].process, index))
    looks = {judgement.key: part.looks}
    run_tables = [run_table for index in order for _, (_, run_table, _) in stages.seen(chains[index], seeds, looks)]
    if run_tables:
        judgement.add(look_at_part(run_tables, part))


def _judge_causality(judgement: Judgement, chains: list[Chain], coverage: dict[str, str]) -> None:
    blocks = [block for chain in chains for _, block in stages.dependencies_of(chain, [judgement.key])]
    judgement.add({"CAUSAL": judge_causality(blocks, judgement.members, coverage)})
