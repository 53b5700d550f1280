"""What a process had not settled of a sender, held against a dumb twin that remembers every number by itself."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np

from gcom.audit.input.records import DELIVER, Rows
from gcom.audit.rules.causal import judge_causality
from gcom.audit.summary.dependencies import Dependencies, packed, unpacked
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
    dependencies = Dependencies("p#1")
    dependencies.record_deliveries(rows, np.arange(len(settled)), place, "file")
    needer = Dependencies(NEEDER)
    sends = _rows([(NEEDER, number, 1) for number in needed])
    needer.record_sends(sends, np.arange(len(needed)), {SENDER: np.array(list(needed.values()))}, certain=True)
    blocks = [*dependencies.blocks, *needer.blocks]
    found = set()
    for number in needed:
        one = {**needer.blocks[0][3]}
        one[f"of {SENDER}"] = np.where(one["number"] == number, one[f"of {SENDER}"], 0)
        alone = [*blocks[:-1], (*needer.blocks[0][:3], unpacked(packed(one)))]
        tally = judge_causality(alone, {1: list(members)}, {})
        found |= {example["number"] for example in tally.examples}
        assert tally.evaluated == 1
    return found


def test_only_what_a_block_has_no_room_for_is_unknown() -> None:
    settled = [row for n in range(1, 40) for row in ((SENDER, 2 * n, 1), (NEEDER, n, 1))]
    rows, place = _rows(settled), LogPosition(view=1, members=(NEEDER, SENDER))
    sends = _rows([(NEEDER, number, 1) for number in range(1, 40)])
    for most, unknown in ((39, False), (38, True)):
        dependencies, needer = Dependencies("p#1", most), Dependencies(NEEDER)
        dependencies.record_deliveries(rows, np.arange(len(settled)), place, "file")
        heard = 2 * np.arange(1, 40)
        needer.record_sends(sends, np.arange(39), {SENDER: heard}, certain=True)
        tally = judge_causality([*dependencies.blocks, *needer.blocks], {1: [NEEDER, SENDER]}, {SENDER: "closed"})
        assert (tally.evaluated, tally.violations, bool(tally.unknown)) == (39, 0, unknown)
