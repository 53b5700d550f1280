"""A look at a part of a large group: the first of the buckets that differ, for evidence.

A violation that is found among some messages is one among all. What is not found there is unknown. Only the chains of
segments that have something of these buckets are read again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gcom.audit.account import Account
from gcom.audit.closer import Messages, contradiction, judge_serials, judge_total, messages_of
from gcom.audit.digests import judge_integrity
from gcom.audit.hashing import BUCKET
from gcom.audit.judging import Judgement, Look
from gcom.audit.place import Tally
from gcom.audit.records import DELIVER, SEND, Ints
from gcom.audit.tape import Tape

Bucket = tuple[str, Any]  # of a Look's kind


@dataclass(slots=True)
class Part:
    """What of a large group is looked at: `looks` with the buckets chosen, `left` how many of each are not."""

    looks: list[Look] = field(default_factory=list)
    left: dict[str, int] = field(default_factory=dict)
    chains: list[int] = field(default_factory=list)
    closed: frozenset[str] = frozenset()  # whose logs are complete


def part_of(judgement: Judgement, most: int, coverage: dict[str, str]) -> Part:
    """Choose for each rule the first buckets, of `most` messages together but at least one; of all views alike."""
    part = Part(closed=frozenset(who for who, state in coverage.items() if state == "closed"))
    for look in judgement.looks:
        if look.rule == "CAUSAL":  # crossing.py's
            continue
        if look.buckets is None:
            reason = f"{judgement.deliveries:,} deliveries are too many to compare one by one: --exact decides"
            judgement.tallies[look.rule].doubt(1, reason)
            continue
        chosen = _first(look.buckets, most)
        part.looks.append(Look(look.rule, chosen, look.pairs, look.others))
        part.left[look.rule] = len(look.buckets) - len(chosen)
    wanted = {bucket for look in part.looks for bucket in _buckets(look)}
    part.chains = sorted(chain for chain, touched in judgement.chains.items() if not wanted.isdisjoint(touched))
    return part


def touched(account: Account) -> list[Bucket]:
    """The buckets of which an account of one chain has messages."""
    places = {(section.view, bucket) for section in account.sections for bucket in section.order}
    numbers = {*account.sent_digests, *account.heard_digests}
    kinds = {"serials": account.serials, "places": places, "numbers": numbers}
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


def look_at_part(tapes: list[Tape], part: Part) -> dict[str, Tally]:
    """The tallies that the part gives; `tapes` are by process, and of each process in the log's order."""
    found: dict[str, Tally] = {}
    messages = messages_of(tapes)
    for look in part.looks:
        tally = found[look.rule] = Tally()
        settled = False
        match look.rule:
            case "SERIAL_UNIQUE":
                judge_serials(messages, tally)
                alike, placed = look.others
                settled = not part.left[look.rule] and alike + _count_placed(messages, look) == placed
            case "INTEGRITY":
                judge_integrity(tapes, look, part.closed, tally)
                settled = not part.left[look.rule]
            case "TOTAL":
                judge_total(messages, tally)
            case "TOTAL_GAP_FREE":
                settled = _judge_orders(messages, look.pairs, tally)
        if not settled and not tally.violations:
            tally.doubt(1, "the first places of a large group that differ do not tell enough: --exact decides")
    return found


def _count_placed(messages: Messages, look: Look) -> int:
    """How many messages have a serial in the look's buckets."""
    placed = (messages.serial >= 0) & (messages.sender >= 0) & (messages.kind != SEND)
    inside = placed & np.isin(messages.serial // BUCKET, list(look.buckets or ()))
    return len(np.unique(messages.message[inside]))


def _judge_orders(messages: Messages, pairs: list[tuple[int, str, str]], tally: Tally) -> bool:
    """Two messages that two processes delivered in unlike order; returns whether there are some for every pair."""
    found = 0
    for view, one, other in pairs:
        rows = contradiction(messages, *(_delivered(messages, view, who) for who in (one, other)))
        if rows:
            found += 1
            steps = [{"before": messages.where(a), "after": messages.where(b)} for a, b in rows]
            more = {"view": view, "kind": "inverted", "other": one, "steps": steps}
            tally.violate(1, **{**steps[0]["after"], **more})
    return found == len(pairs)


def _delivered(messages: Messages, view: int, who: str) -> Ints:
    process = messages.processes.index(who) if who in messages.processes else -1
    return np.flatnonzero((messages.process == process) & (messages.view == view) & (messages.kind == DELIVER))
