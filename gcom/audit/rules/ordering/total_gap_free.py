"""TOTAL_GAP_FREE: the processes that go on together from a view delivered one sequence in it.

Where fingerprints of the places in a view differ, the sequences of the class are compared delivery by delivery, in
buckets of their indexes. Places may differ where sequences do not: a message that a process settled earlier by skipping
it moves all places behind it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from gcom.audit.rules.certificates import settle_twice
from gcom.audit.rules.rule import (
    AuditRule,
    Case,
    Example,
    LoggedDefinition,
    Mark,
    named,
    processes_in,
    where_reliable,
    where_total,
)
from gcom.audit.summary.excerpts import Excerpt, MessageRequest
from gcom.audit.summary.fingerprints import BUCKET
from gcom.audit.summary.messages import MessageTable, table_of
from gcom.audit.summary.tally import Tally


def _promised(definition: LoggedDefinition) -> bool:
    return where_reliable(definition) and where_total(definition)


def _ask(case: Case, tally: Tally) -> MessageRequest | None:
    group = case.group
    # Messages that are read again know their section by its index: two sections of a process may have one view.
    index = {id(s): n for summary in group.summaries.values() for n, s in enumerate(summary.sections)}
    again = settle_twice(group)  # what is delivered again shares its place with what follows it
    unlike = []
    for (view, _), members in group.classes().items():
        if len(members) < 2:
            continue
        tally.evaluated += 1
        # A section with a gap has no sequence that could be compared; the gap is one unknown case already.
        covered = [(who, section) for who, section in members if section.covered]
        orders = [section.order for _, section in covered]
        if any((order and again) or order != orders[0] for order in orders[1:]):
            unlike.append((view, [(who, index[id(section)]) for who, section in covered]))
    return MessageRequest("TOTAL_GAP_FREE", classes=unlike) if unlike else None


def _judge_bucket(request: MessageRequest, of: str, excerpts: list[Excerpt], _: frozenset[str]) -> Tally:
    """Judge one class and bucket of indexes: each member's slice must equal that of the first."""
    tally = Tally()
    view, members = request.classes[int(of)]
    table = table_of(excerpts)
    # The index in the view of a bucket's first delivery; a member that has none in this bucket is shorter.
    begin = int(table.start.min()) // BUCKET * BUCKET
    slices = [table.of(who, section) for who, section in members]
    for member in range(1, len(members)):
        one, two = slices[0], slices[member]
        shorter = min(len(one), len(two))
        unlike = np.flatnonzero(table.message[one[:shorter]] != table.message[two[:shorter]])
        if not len(unlike) and len(one) == len(two):
            continue
        # Either they differ at a place, or one ends before the other: then there, and one of the two has nothing.
        place = int(unlike[0]) if len(unlike) else shorter
        theirs, mine = (_at(table, rows.tolist(), place) for rows in (one, two))
        compared_with = {"other_process": members[0][0], "place": begin + place + 1, "mine": mine, "theirs": theirs}
        example = {**(mine or theirs or {}), "process": members[member][0], "view": view, **compared_with}
        tally.violations += 1
        tally.examples.append({**example, "pair": (int(of), member)})  # all: join() needs each pair's first
    return tally


def _at(table: MessageTable, rows: list[int], place: int) -> dict[str, Any] | None:
    return table.where(rows[place]) if place < len(rows) else None


def _join(found: Iterable[Tally]) -> Tally:
    """Join the tallies of all buckets: two sequences that differ are one violation, told where they differ first."""
    first: dict[tuple[int, int], Example] = {}
    for example in (example for tally in found for example in tally.examples):
        known = first.setdefault(example["pair"], example)
        # Behind the first difference everything differs, in all later buckets too.
        if example["place"] < known["place"]:
            first[example["pair"]] = example
    joined = Tally()
    for pair in sorted(first):
        example = first[pair]
        joined.violate(1, **{name: value for name, value in example.items() if name != "pair"})
    return joined


def _sentence(e: Example) -> str:
    mine, theirs = (f"was {named(each)}" if each else "did not happen" for each in (e["mine"], e["theirs"]))
    return f"In view {e['view']} delivery {e['place']} {mine} at {e['process']}, and {theirs} at {e['other_process']}."


def _marks(e: Example) -> set[Mark]:
    return {("hole", who, e.get("view") or 0) for who in processes_in(e)}


RULE = AuditRule(
    "TOTAL_GAP_FREE",
    "Members that go on together deliver the same sequence.",
    _promised,
    _sentence,
    ask=_ask,
    judge_bucket=_judge_bucket,
    join=_join,
    needs_ends=True,
    marks=_marks,
)
