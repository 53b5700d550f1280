"""The quick plan without Spark: the same stages, one after the other in this process."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from gcom.audit.account import Account
from gcom.audit.catalogue import Catalogue, Chain, Scanned, catalogue, scan
from gcom.audit.closer import look
from gcom.audit.crossing import PAST, PRESENT, Block, Crossing, judge_bucket, unpacked
from gcom.audit.groups import Group
from gcom.audit.judging import MOST, Judgement, judge
from gcom.audit.partial import look_at_part, part_of, touched
from gcom.audit.place import Key
from gcom.audit.reading import list_segments
from gcom.audit.stages import (
    CHAIN_BYTES,
    Outcome,
    Summary,
    chains_of,
    coverages,
    crosses,
    empty_tape,
    outcome_of,
    summarized,
    to_repeat,
)
from gcom.audit.wire import pack, unpack

SEEDS = (0x1234567, 0xABCDEF)


def audit(folder: Path, chain_bytes: int = CHAIN_BYTES, most: int = MOST) -> Outcome:
    found = catalogue(list_segments([str(folder)]))
    chains = chains_of(found, chain_bytes)
    accounts, summaries = _scanned(chains)
    again = to_repeat(summaries)
    if again:
        repeated, told = _scanned([Chain(process, tuple(found.paths[process])) for process in again])
        summaries |= told
        for key in {*accounts, *repeated}:
            kept = [(chain, one) for chain, one in accounts[key] if one.process not in again]
            accounts[key] = kept + repeated.get(key, [])
    coverage = coverages(found, summaries)
    judgements = []
    for key, each in sorted((key, each) for key, each in accounts.items() if each):
        judgement = judge(Group.of(key, [unpack(pack(account)) for _, account in each], coverage), most)
        if judgement.deliveries > most:
            judgement.chains = {index: touched(account) for index, (_, account) in enumerate(each)}
            _look_at_part(judgement, [chain for chain, _ in each], coverage, most)
        else:
            _look_closer(found, judgement, coverage)
        if crosses(judgement, most):
            whole = [Chain(process, tuple(found.paths[process])) for process in again]
            rest = [chain for chain in chains if chain.process not in again]
            _cross(judgement, [*rest, *whole], coverage)
        judgements.append(judgement)
    return outcome_of(judgements, found, summaries, coverage)


def _scanned(chains: list[Chain]) -> tuple[dict[Key, list[tuple[Chain, Account]]], dict[str, list[Summary]]]:
    accounts: dict[Key, list[tuple[Chain, Account]]] = defaultdict(list)
    summaries: dict[str, list[Summary]] = defaultdict(list)
    for index, chain in enumerate(chains):
        scanned: Scanned = scan(chain, SEEDS)
        summaries[chain.process].append(summarized(chain, index, scanned))
        for key, account in scanned.scanner.accounts.items():
            accounts[key].append((chain, account))
    return accounts, dict(summaries)


def _cross(judgement: Judgement, chains: list[Chain], coverage: dict[str, str]) -> None:
    buckets: dict[tuple[str, int], dict[str, list[Block]]] = {}
    for chain in chains:
        gathered = Crossing(chain.process)
        scan(chain, SEEDS, crossings={judgement.key: gathered})
        for sender, bucket, kind, data in gathered.blocks:
            buckets.setdefault((sender, bucket), {PAST: [], PRESENT: []})[kind].append(unpacked(data))
    for (sender, _), each in sorted(buckets.items()):
        closed = coverage.get(sender) == "closed"
        tally = judge_bucket(sender, each[PAST], each[PRESENT], judgement.members, closed=closed)
        judgement.tallies["CAUSAL"].add(tally)


def _look_at_part(judgement: Judgement, chains: list[Chain], coverage: dict[str, str], most: int) -> None:
    part = part_of(judgement, most // 4, coverage)
    tapes = []
    for index in sorted(part.chains, key=lambda index: (chains[index].process, index)):
        tape = empty_tape(chains[index].process, part.looks)
        scan(chains[index], SEEDS, {judgement.key: tape})
        tapes.append(unpack(pack(tape)))
    for rule, tally in look_at_part(tapes, part).items() if tapes else ():
        judgement.tallies[rule].add(tally)


def _look_closer(found: Catalogue, judgement: Judgement, coverage: dict[str, str]) -> None:
    looks = judgement.looks
    if not looks:
        return
    accounts, tapes = [], []
    for process in judgement.processes:
        if process not in found.paths:
            continue
        tape = empty_tape(process, looks)
        scanner = scan(Chain(process, tuple(found.paths[process])), SEEDS, {judgement.key: tape}).scanner
        if judgement.key in scanner.accounts:
            accounts.append(scanner.accounts[judgement.key])
            tapes.append(unpack(pack(tape)))
    for rule, tally in look(Group.of(judgement.key, accounts, coverage), tapes, looks).items():
        judgement.tallies[rule].add(tally)
