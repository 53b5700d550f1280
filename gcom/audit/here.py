"""The audit in this process, without Spark: for logs as small as a witness, which it must judge many times a second."""

from __future__ import annotations

import secrets
import sys
from collections import defaultdict

from gcom.audit.account import Account
from gcom.audit.catalogue import Catalogue, Chain, scan
from gcom.audit.closer import look
from gcom.audit.groups import Group
from gcom.audit.judging import Judgement, judge
from gcom.audit.place import Key
from gcom.audit.stages import Outcome, Summary, chains_of, coverages, empty_tape, outcome_of, summarized
from gcom.audit.tape import Tape


def run_here(catalogue: Catalogue) -> Outcome:
    """What `job.run` answers."""
    seeds = (secrets.randbits(64), secrets.randbits(64))
    summaries: dict[str, list[Summary]] = {}
    accounts: dict[Key, list[Account]] = defaultdict(list)
    for index, chain in enumerate(chains_of(catalogue, sys.maxsize)):
        scanned = scan(chain, seeds)
        summaries[chain.process] = [summarized(chain, index, scanned)]
        for key, account in scanned.scanner.accounts.items():
            accounts[key].append(account)
    coverage = coverages(catalogue, summaries)
    judgements = [_judged(key, each, coverage, catalogue, seeds) for key, each in sorted(accounts.items())]
    return outcome_of(judgements, catalogue, summaries, coverage)


def _judged(
    key: Key, accounts: list[Account], coverage: dict[str, str], catalogue: Catalogue, seeds: tuple[int, int]
) -> Judgement:
    judgement = judge(Group.of(key, accounts, coverage))
    looks = judgement.looks
    if not looks:
        return judgement
    tapes: list[Tape] = []
    again: list[Account] = []
    for process in sorted(account.process for account in accounts):
        tapes.append(empty_tape(process, looks))
        scanner = scan(Chain(process, tuple(catalogue.paths[process])), seeds, {key: tapes[-1]}).scanner
        again.append(scanner.accounts[key])
    for rule, tally in look(Group.of(key, again, coverage), tapes, looks).items():
        judgement.tallies[rule].add(tally)
    return judgement
