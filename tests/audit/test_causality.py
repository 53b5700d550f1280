"""Messages that a process had not settled, held against a dumb twin that remembers every number by itself."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from gcom.audit.input.contract import DELIVER
from gcom.audit.input.rows import Rows
from gcom.audit.plan.wire import pack, unpack
from gcom.audit.rules.ordering.causal import RULE
from gcom.audit.summary.dependencies import Dependencies
from gcom.audit.summary.excerpts import MessageRequest
from gcom.audit.summary.position import LogPosition

NEEDER, SENDER = "n#1", "s#1"


def _rows(settled: list[tuple[str, int, int]]) -> Rows:
    """Deliveries of (sender, number, count), in this order, of one view."""
    counts = np.array([count for _, _, count in settled])
    names = sorted({who for who, _, _ in settled})
    return replace(
        Rows.none(),
        kind=np.full(len(settled), DELIVER),
        at=np.cumsum(counts) - counts + 1,
        count=counts,
        number=np.array([number for _, number, _ in settled]),
        sender=np.array([names.index(who) for who, _, _ in settled]),
        senders=names,
    )


def _lately(chance: random.Random) -> list[tuple[str, int, int]]:
    """The sender's runs in some disorder, some never there, with a message of the needer after each."""
    runs, number = [], 1
    while number < 60:
        count = chance.randint(1, 4)
        if chance.random() < 0.9:
            runs.append((SENDER, number, count))
        number += count
    runs.sort(key=lambda run: run[1] + chance.choice((0, 0, chance.randint(0, 20))))
    return [row for index, run in enumerate(runs, 1) for row in (run, (NEEDER, index, 1))]


@pytest.mark.slow
def test_what_was_missing_is_told_of_each_message_that_needs_it() -> None:
    for seed in range(300):
        chance = random.Random(seed)
        rows = _lately(chance)
        needed = {number: chance.randint(1, 62) for who, number, _ in rows if who == NEEDER}
        violations, there = set(), set[int]()
        for who, number, count in rows:
            if who == SENDER:
                there |= set(range(number, number + count))
            elif needed[number] not in there:
                violations.add(number)
        assert _found(rows, needed) == violations, seed


def _found(settled: list[tuple[str, int, int]], needed: dict[int, int]) -> set[int]:
    """The needer's messages of which the audit says that they came too early."""
    members = (NEEDER, SENDER)
    rows, place = _rows(settled), LogPosition(view=1, members=members)
    dependencies, needer = Dependencies("p#1"), Dependencies(NEEDER)
    dependencies.record_deliveries(rows, np.arange(len(settled)), place, "file")
    sends = _rows([(NEEDER, number, 1) for number in needed])
    needer.record_sends(sends, np.arange(len(needed)), {SENDER: np.array(list(needed.values()))}, certain=True)
    ((*_, past),) = needer.placed
    excerpts = [excerpt for _, sender, _, excerpt in dependencies.placed if sender == NEEDER]
    request = MessageRequest("CAUSAL", members={1: list(members)})
    assert RULE.judge_bucket is not None
    found = set()
    for number in needed:
        one = {**past, f"of {SENDER}": np.where(past["number"] == number, past[f"of {SENDER}"], 0)}
        tally = RULE.judge_bucket(request, NEEDER, [*excerpts, unpack(pack(one))], frozenset())
        found |= {example["number"] for example in tally.examples}
        assert tally.evaluated == 1
    return found
