"""A look at a part of a large group: the first of the buckets that differ, for evidence.

A violation that is found among some messages is one among all. What is not found there is unknown, unless the part has
all that could tell. Only the chains of segments that have something of these buckets are read again.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from gcom.audit.input.records import DELIVER, SEND, Ints
from gcom.audit.rules.detail_check import MessageTable, contradiction, judge_serials, judge_total, messages_of
from gcom.audit.rules.integrity import judge_integrity
from gcom.audit.rules.judging import Judgement, Look
from gcom.audit.summary.fingerprints import BUCKET
from gcom.audit.summary.messages import RunTable
from gcom.audit.summary.process import ProcessSummary
from gcom.audit.summary.tally import Tally

Bucket = tuple[str, Any]  # of a Look's kind
_RULES = 4  # that share what may be looked at


@dataclass(slots=True)
class Part:
    """What of a large group is looked at: `looks` with the buckets chosen, `left` how many of each are not."""

    looks: list[Look] = field(default_factory=list)
    left: dict[str, int] = field(default_factory=dict)
    chains: list[int] = field(default_factory=list)
    closed: frozenset[str] = frozenset()  # whose logs are complete


def part_of(judgement: Judgement, most: int, coverage: dict[str, str]) -> Part:
    """Choose for each rule but CAUSAL the first buckets, of all views alike.

    They have about `most` messages for all rules together; at least one bucket is chosen for each.
    """
    part = Part(closed=frozenset(who for who, state in coverage.items() if state == "closed"))
    for look in judgement.looks:
        if look.buckets is not None:
            chosen = _first(look.buckets, most // _RULES)
            part.looks.append(replace(look, buckets=chosen))
            part.left[look.rule] = len(look.buckets) - len(chosen)
    wanted = {bucket for look in part.looks for bucket in _buckets(look)}
    part.chains = sorted(chain for chain, touched in judgement.chains.items() if not wanted.isdisjoint(touched))
    return part


def touched(summary: ProcessSummary) -> list[Bucket]:
    """The buckets of which a summary of one chain has messages."""
    places = {(section.view, bucket) for section in summary.sections for bucket in section.order}
    sent = {bucket for first, last in summary.sent for bucket in range(first // BUCKET, last // BUCKET + 1)}
    numbers = {*summary.sent_digests, *summary.heard_digests, *((summary.process, bucket) for bucket in sent)}
    kinds = {"serials": summary.serials, "places": places, "numbers": numbers}
    return [(kind, each) for kind, buckets in kinds.items() for each in buckets]


def _buckets(look: Look) -> list[Bucket]:
    return [(look.kind, each) for each in look.buckets or ()]


def _first(buckets: dict[Any, int], most: int) -> dict[Any, int]:
    order = sorted(buckets)
    if isinstance(order[0], tuple):  # the first of each view or sender, then the second of each, and so on
        begins: dict[Any, int] = {}
        for index, (one, _) in enumerate(order):
            begins.setdefault(one, index)
        order = [each for _, each in sorted((index - begins[each[0]], each) for index, each in enumerate(order))]
    total, chosen = 0, dict[Any, int]()
    for each in order:
        total += buckets[each]
        if chosen and total > most:
            break
        chosen[each] = buckets[each]
    return chosen


def look_at_part(run_tables: list[RunTable], part: Part) -> dict[str, Tally]:
    """The tallies that the part gives; `run_tables` are by process, and of each process in the log's order."""
    found: dict[str, Tally] = {}
    messages = messages_of(run_tables)
    for look in part.looks:
        tally = found[look.rule] = Tally()
        left, settled = part.left[look.rule], False
        match look.rule:
            case "SERIAL_UNIQUE":
                judge_serials(messages, tally)
                settled = not left and _count_placed(messages, look) == look.messages
            case "INTEGRITY":
                judge_integrity(run_tables, look, part.closed, tally)
                settled = not left
            case "TOTAL":
                judge_total(messages, tally)
            case "TOTAL_GAP_FREE":
                settled = _judge_orders(messages, look, tally, whole=not left)
        if not settled and not tally.violations:
            what = f"{left:,} buckets that differ were not looked at" if left else "what differs leaves it open"
            tally.doubt(1, f"{what}: --exact decides")
    return found


def _count_placed(messages: MessageTable, look: Look) -> int:
    """How many messages have a serial in the look's buckets."""
    placed = (messages.serial >= 0) & (messages.sender >= 0) & (messages.kind != SEND)
    inside = placed & np.isin(messages.serial // BUCKET, list(look.buckets or ()))
    return len(np.unique(messages.message[inside]))


def _judge_orders(messages: MessageTable, look: Look, tally: Tally, *, whole: bool) -> bool:
    """Two messages that two processes delivered in unlike order; returns whether every pair is decided.

    `whole` tells that no bucket is left, so that orders may turn out to be equal, at other places.
    """
    decided = 0
    for view, one, other in look.pairs:
        orders = [_delivered(messages, view, who) for who in (one, other)]
        rows = contradiction(messages, *orders)
        decided += bool(rows) or (whole and _are_equal(messages, look, view, orders))
        if rows:
            steps = [{"before": messages.where(a), "after": messages.where(b)} for a, b in rows]
            more = {"view": view, "kind": "inverted", "other": one, "steps": steps}
            tally.violate(1, **{**steps[0]["after"], **more})
    return decided == len(look.pairs)


def _are_equal(messages: MessageTable, look: Look, view: int, orders: list[Ints]) -> bool:
    """Whether the orders are equal in each stretch of the look's buckets, and so in all: between, they are alike."""
    buckets = np.array(sorted(bucket for in_view, bucket in look.buckets or () if in_view == view))
    stretch = np.cumsum(np.diff(buckets, prepend=buckets[0]) > 1)
    found = []
    for rows in orders:
        bucket = messages.place[rows] // BUCKET
        inside = np.isin(bucket, buckets)
        found.append([messages.message[rows[inside]], stretch[np.searchsorted(buckets, bucket[inside])]])
    return all(np.array_equal(one, other) for one, other in zip(*found, strict=True))


def _delivered(messages: MessageTable, view: int, who: str) -> Ints:
    process = messages.processes.index(who) if who in messages.processes else -1
    return np.flatnonzero((messages.process == process) & (messages.view == view) & (messages.kind == DELIVER))
