"""INTEGRITY: a message is delivered with the payload that was sent; digests stand for payloads.

The scan sums up digests as fingerprints per sender and bucket of its numbers. Where all who delivered have the sender's
print, all digests are equal; other buckets are judged over the messages.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import chain
from typing import Any

import numpy as np

from gcom.audit.input.contract import DELIVER
from gcom.audit.input.rows import Ints
from gcom.audit.rules.certificates import sends_once, settle_twice
from gcom.audit.rules.rule import AuditRule, Case, Example, always, named
from gcom.audit.summary.batch import Batch
from gcom.audit.summary.excerpts import Excerpt, MessageRequest
from gcom.audit.summary.fingerprints import fingerprints, word_of
from gcom.audit.summary.intervals import Intervals
from gcom.audit.summary.messages import HEARD, SENT
from gcom.audit.summary.process import Fingerprints, add_prints
from gcom.audit.summary.runs import runs_of
from gcom.audit.summary.tally import Tally


def _judge_batch(batch: Batch) -> None:
    """Record fingerprints of digests, and the messages that have one."""
    rows, summary = batch.rows, batch.summary
    if not rows.digests:
        return
    for chosen, into in ((batch.sends, summary.sent_digests), (batch.delivers, summary.delivered_digests)):
        told = np.array([row for row in chosen.tolist() if row in rows.digests], np.int64)
        lists = [rows.digests[row] for row in told.tolist()]
        lengths = np.array([len(each) for each in lists], np.int64)
        _note_digested(batch, told[lengths > 0], lengths[lengths > 0])
        digest = np.fromiter(chain.from_iterable(lists), np.int64)
        # The first number of a run, minus where its digests begin among all, plus the place among all.
        number = np.repeat(rows.number[told] - (np.cumsum(lengths) - lengths), lengths) + np.arange(len(digest))
        own = len(rows.senders)
        code = np.repeat(np.where(rows.kind[told] == DELIVER, rows.sender[told], own), lengths)
        for each in np.unique(code).tolist():
            of = code == each
            who = batch.process if each == own else rows.senders[each]
            # The digest takes the place of the offset: a message's print is of its number and digest.
            salted = np.uint64(word_of(who)) ^ digest[of].view(np.uint64)
            prints = fingerprints(salted, number[of], number[of], np.ones_like(number[of]), batch.seeds)
            add_prints(into, {(who, bucket): found for bucket, found in prints.items()})


def _note_digested(batch: Batch, told: Ints, lengths: Ints) -> None:
    """Record the messages with digests: the first `lengths` of each of the rows `told`."""
    rows, summary = batch.rows, batch.summary
    first = rows.number[told]
    for a, b, code in runs_of(first, first + lengths - 1, rows.sender[told]) if len(told) else ():
        # A send has no sender in its record, so its code is -1: the message is the process's own.
        of = (
            summary.sent_with_digest
            if code < 0
            else summary.delivered_with_digest.setdefault(rows.senders[code], Intervals())
        )
        of.add(a, b)


def _ask(case: Case, tally: Tally) -> MessageRequest | None:
    """Return the messages needed. Equal prints do not suffice for a number sent twice with two digests: it may have
    been delivered twice, with both.
    """
    group = case.group
    # Prints are sums: two sends of one number with two digests, both delivered, give the receivers the sender's sum.
    doubtful = {who for who in group.summaries if not sends_once(group, who)} if settle_twice(group) else set()
    sent: Fingerprints = {}
    for summary in group.summaries.values():
        add_prints(sent, summary.sent_digests)
    heard: dict[tuple[str, int], list[tuple[int, int, int]]] = defaultdict(list)
    for summary in group.summaries.values():
        for place, prints in summary.delivered_digests.items():
            heard[place].append(prints)
    # All who delivered anything of a bucket must have the sender's print of all of it. Who lacks one message has
    # another print, and is looked at though nothing is wrong: rare, as AGREEMENT holds.
    unlike = sorted(p for p, each in heard.items() if set(each) != {sent.get(p)} or p[0] in doubtful)
    alike = heard.keys() - set(unlike)
    tally.evaluated += sum(n for place in alike for n, _, _ in heard[place])
    return MessageRequest("INTEGRITY", buckets=unlike) if unlike else None


def _judge_bucket(_: MessageRequest, sender: str, excerpts: list[Excerpt], closed: frozenset[str]) -> Tally:
    """Judge that each digest at a delivery is the one at the send; of a number sent twice the first send counts."""
    tally = Tally()
    ordered = sorted(excerpts, key=lambda excerpt: (excerpt["process"], int(excerpt["at"][0])))
    numbers, digests, told = _first_sends([excerpt for excerpt in ordered if excerpt["way"] == SENT])
    for excerpt in [excerpt for excerpt in ordered if excerpt["way"] == HEARD]:
        number: Ints = excerpt["number"]
        # The place of each number among those sent; at the end if it is above all, where it will not be equal.
        place = np.minimum(np.searchsorted(numbers, number), max(len(numbers) - 1, 0))
        known = numbers[place] == number if len(numbers) else np.zeros(len(number), np.bool_)
        # In a complete log a missing send is NO_CREATION's violation.
        if not known.all() and sender not in closed:
            first = int(number[~known][0])
            tally.doubt(int((~known).sum()), f"the log of {sender} does not tell what it sent as {first}")
        judged = np.flatnonzero(known)[told[place[known]]]
        tally.evaluated += len(judged)
        for index in judged[excerpt["digest"][judged] != digests[place[judged]]].tolist():
            tally.violate(1, **_where(excerpt, sender, index))
    return tally


def _first_sends(excerpts: list[Excerpt]) -> tuple[Ints, Ints, Any]:
    """Return the numbers sent, each once, their digests, and whether there is one."""
    nothing = [np.zeros(0, np.int64)]
    number, digest, told = (
        np.concatenate(nothing + [p[name] for p in excerpts]) for name in ("number", "digest", "told")
    )
    numbers, first = np.unique(number, return_index=True)
    return numbers, digest[first], told[first].astype(np.bool_)


def _where(excerpt: Excerpt, sender: str, index: int) -> dict[str, Any]:
    about = {name: excerpt[name] for name in ("process", "view", "file")}
    columns = {name: int(excerpt[name][index]) for name in ("at", "number", "line")}
    return {**about, "sender": sender, **columns}


def _sentence(e: Example) -> str:
    return f"{e['process']} delivered {named(e)} with another payload than was sent."


# Blamed for a forged payload. Positions, numbers and clocks are as they should be, so nothing else can show it.
RULE = AuditRule(
    "INTEGRITY",
    "A message arrives with the payload that was sent.",
    always,  # where logs have digests at all (judging.py)
    _sentence,
    judge_batch=_judge_batch,
    ask=_ask,
    judge_bucket=_judge_bucket,
    open_by_gaps="none",
)
