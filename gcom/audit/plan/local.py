"""The audit in this process, without Spark: for logs as small as a witness, which it must judge many times a second."""

from __future__ import annotations

import secrets
import sys
from collections import defaultdict

from gcom.audit.input.catalogue import Catalogue, Chain
from gcom.audit.plan import stages
from gcom.audit.plan.stages import ChainSummary, PlanResult
from gcom.audit.rules.causal import judge_causality
from gcom.audit.rules.judging import MOST, Judgement
from gcom.audit.rules.partial import look_at_part, part_of
from gcom.audit.scan.chain import Scanned, scan
from gcom.audit.summary.position import Key
from gcom.audit.summary.process import ProcessSummary

Seeds = tuple[int, int]


def run_locally(
    catalogue: Catalogue,
    chain_bytes: int = sys.maxsize,
    most: int = MOST,
    seeds: Seeds | None = None,
    *,
    all_rules: bool = False,
) -> PlanResult:
    """What `job.run` answers; `seeds` are those of the fingerprints, drawn if not given."""
    seeds = seeds or (secrets.randbits(64), secrets.randbits(64))
    chains = stages.chains_of(catalogue, chain_bytes)
    scanned = [scan(chain, seeds) for chain in chains]
    chain_summaries = _chain_summaries(chains, scanned)
    again = stages.to_repeat(chain_summaries)
    if again:
        kept = [index for index, chain in enumerate(chains) if chain.process not in again]
        repeated = stages.whole_chains(catalogue, again)
        chains = [*(chains[index] for index in kept), *repeated]
        scanned = [*(scanned[index] for index in kept), *(scan(chain, seeds) for chain in repeated)]
        chain_summaries = _chain_summaries(chains, scanned)
    summaries: dict[Key, dict[int, ProcessSummary]] = defaultdict(dict)
    for index, each in enumerate(scanned):
        for key, summary in each.scanner.summaries.items():
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


def _chain_summaries(chains: list[Chain], scanned: list[Scanned]) -> dict[str, list[ChainSummary]]:
    found: dict[str, list[ChainSummary]] = defaultdict(list)
    for index, (chain, each) in enumerate(zip(chains, scanned, strict=True)):
        found[chain.process].append(stages.summarized(chain, index, each))
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
