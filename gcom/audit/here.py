"""The audit in this process, without Spark: for logs as small as a witness, which it must judge many times a second."""

from __future__ import annotations

import secrets
import sys
from collections import defaultdict

from gcom.audit.account import Account
from gcom.audit.catalogue import Catalogue, Chain, Scanned, scan
from gcom.audit.crossing import judge_causality
from gcom.audit.judging import MOST, Judgement
from gcom.audit.partial import look_at_part, part_of
from gcom.audit.place import Key
from gcom.audit.stages import (
    Outcome,
    Summary,
    chains_of,
    coverages,
    crossed,
    crosses,
    judged,
    looked,
    outcome_of,
    seen,
    summarized,
    to_repeat,
    whole_chains,
)

Seeds = tuple[int, int]


def run_here(
    catalogue: Catalogue, chain_bytes: int = sys.maxsize, most: int = MOST, seeds: Seeds | None = None
) -> Outcome:
    """What `job.run` answers; `seeds` are those of the fingerprints, drawn if not given."""
    seeds = seeds or (secrets.randbits(64), secrets.randbits(64))
    chains = chains_of(catalogue, chain_bytes)
    scanned = [scan(chain, seeds) for chain in chains]
    summaries = _summaries(chains, scanned)
    again = to_repeat(summaries)
    if again:
        kept = [index for index, chain in enumerate(chains) if chain.process not in again]
        repeated = whole_chains(catalogue, again)
        chains = [*(chains[index] for index in kept), *repeated]
        scanned = [*(scanned[index] for index in kept), *(scan(chain, seeds) for chain in repeated)]
        summaries = _summaries(chains, scanned)
    accounts: dict[Key, dict[int, Account]] = defaultdict(dict)
    for index, each in enumerate(scanned):
        for key, account in each.scanner.accounts.items():
            accounts[key][index] = account
    coverage = coverages(catalogue, summaries)
    judgements = [judged(key, of, coverage, most) for key, of in sorted(accounts.items())]
    for judgement in judgements:
        if judgement.deliveries > most:
            _look_at_part(judgement, chains, coverage, seeds, most)
        elif judgement.looks:
            _look_closer(judgement, catalogue, coverage, seeds)
        if crosses(judgement, most):
            _cross(judgement, chains, coverage)
    return outcome_of(judgements, catalogue, summaries, coverage)


def _summaries(chains: list[Chain], scanned: list[Scanned]) -> dict[str, list[Summary]]:
    found: dict[str, list[Summary]] = defaultdict(list)
    for index, (chain, each) in enumerate(zip(chains, scanned, strict=True)):
        found[chain.process].append(summarized(chain, index, each))
    return dict(sorted(found.items()))


def _look_closer(judgement: Judgement, catalogue: Catalogue, coverage: dict[str, str], seeds: Seeds) -> None:
    looks = {judgement.key: judgement.looks}
    found = [of for chain in whole_chains(catalogue, judgement.processes) for _, of in seen(chain, seeds, looks)]
    judgement.add(looked(judgement.key, found, coverage, judgement.looks))


def _look_at_part(judgement: Judgement, chains: list[Chain], coverage: dict[str, str], seeds: Seeds, most: int) -> None:
    part = part_of(judgement, most, coverage)
    order = sorted(part.chains, key=lambda index: (chains[index].process, index))
    looks = {judgement.key: part.looks}
    tapes = [tape for index in order for _, (_, tape, _) in seen(chains[index], seeds, looks)]
    if tapes:
        judgement.add(look_at_part(tapes, part))


def _cross(judgement: Judgement, chains: list[Chain], coverage: dict[str, str]) -> None:
    blocks = [block for chain in chains for _, block in crossed(chain, [judgement.key])]
    judgement.add({"CAUSAL": judge_causality(blocks, judgement.members, coverage)})
