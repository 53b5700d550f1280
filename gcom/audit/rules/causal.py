"""CAUSAL over messages: what senders had delivered, held against what receivers had settled, bucket by bucket.

When p delivers message n of s, for each other member q the highest number that s had delivered of q before sending n
must be settled at p. Both sides are columns: a block of the PAST has s's sends with what s had heard of each q, one of
the PRESENT p's deliveries of s with the highest that p had settled of each q, and what was missing beneath. Both are
cut at buckets of s's numbers, so that one task can compare a sender's bucket with what all receivers say of it.
A run is one row on either side: what others had sent cannot change inside one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from gcom.audit.input.records import Ints
from gcom.audit.summary.dependencies import PAST, PRESENT, Block, Placed
from gcom.audit.summary.runs import expanded
from gcom.audit.summary.tally import EXAMPLES, Tally

_NO_NUMBERS = np.zeros(0, np.int64)


def judge_causality(blocks: Iterable[Placed], members: dict[int, list[str]], coverage: dict[str, str]) -> Tally:
    """CAUSAL over buckets of senders' numbers, of each of which `blocks` are all; in any order.

    `members` are by view, for who knows only its number.
    """
    tally = Tally()
    buckets: dict[tuple[str, int], dict[str, list[Block]]] = {}
    for sender, bucket, kind, block in blocks:
        buckets.setdefault((sender, bucket), {PAST: [], PRESENT: []})[kind].append(block)
    for (sender, _), sides in sorted(buckets.items(), key=lambda each: each[0]):
        _judge_bucket(tally, sender, sides[PAST], sides[PRESENT], members, closed=coverage.get(sender) == "closed")
    return tally


def _judge_bucket(
    tally: Tally,
    sender: str,
    past: list[Block],
    present: list[Block],
    members: dict[int, list[str]],
    *,
    closed: bool,
) -> None:
    """`closed` tells whether the sender's log is complete, so that it sent nothing else."""
    sends = _Sends(sorted(past, key=lambda block: block["since"]))
    for block in sorted(present, key=lambda block: (block["process"], block["since"])):
        if block["view"] is None:
            continue
        run, step = expanded(block["count"])
        number = block["number"][run] + step
        place, known = sends.find(number)
        if not known.all() and not closed:
            missing = int((~known).sum())
            first = int(number[~known][0])
            tally.doubt(missing, f"the log of {sender} does not tell what it had delivered before {first}")
        inside = members.get(block["view"], ()) if block["members"] is None else block["members"]
        for other, heard in sends.heard.items():
            if other != sender and other in inside:
                needed = np.where(known, heard[place], 0)
                _compare(tally, sender, block, other, needed, run, step)


def _compare(tally: Tally, sender: str, block: Block, other: str, needed: Ints, run: Ints, step: Ints) -> None:
    """`needed` is the number of `other` that each message needs, 0 for none; `run` and `step` are as of expanded()."""
    counts = needed > 0
    tally.evaluated += int(counts.sum())
    late = np.flatnonzero(counts & _is_missing(block, other, needed, run, step))
    if not block["certain"]:
        if len(late):
            number = int(block["number"][run[late[0]]] + step[late[0]])
            tally.doubt(len(late), f"{block['process']} has a gap before it delivered {number} of {sender}")
        return
    if other in block["left_out"] and counts.any():
        tally.doubt(1, f"{block['process']} delivered more of {other} out of turn than is kept: --exact decides")
    for index in late[:EXAMPLES].tolist():
        into = {name: int(block[name][run[index]] + step[index]) for name in ("at", "number")}
        where = {name: block[name] for name in ("process", "view", "file")}
        line = int(block["line"][run[index]])
        tally.violate(1, **where, **into, sender=sender, line=line, other=other, needed=int(needed[index]))
    tally.violations += max(0, len(late) - EXAMPLES)


def _is_missing(block: Block, other: str, needed: Ints, run: Ints, step: Ints) -> Any:
    """Whether each needed number of `other` was not settled before the message that needs it."""
    missing = needed > (block[f"of {other}"][run] if f"of {other}" in block else 0)
    if f"holes of {other}" in block:
        first, last, since, until = block[f"holes of {other}"].reshape(4, -1)
        at = block["at"][run] + step
        hole = np.maximum(np.searchsorted(first, needed, "right") - 1, 0)
        missing |= (needed >= first[hole]) & (needed <= last[hole]) & (since[hole] < at) & (at <= until[hole])
    return missing


class _Sends:
    """A sender's numbers in a bucket, each once, with what had been heard before it; the first of a number counts.

    `past` are the blocks in order. `heard` has for each other process what had been delivered of it before each number.
    """

    def __init__(self, past: list[Block]) -> None:
        runs = [expanded(block["count"]) for block in past]
        number = [block["number"][run] + step for block, (run, step) in zip(past, runs, strict=True)]
        certain = [np.full(len(run), block["certain"]) for block, (run, _) in zip(past, runs, strict=True)]
        self._numbers, once = np.unique(np.concatenate([_NO_NUMBERS, *number]), return_index=True)
        self._certain = np.concatenate([_NO_NUMBERS, *certain]).astype(np.bool_)[once]
        self.heard: dict[str, Ints] = {}
        for name in sorted({name for block in past for name in block if name.startswith("of ")}):
            heard = [
                block[name][run] if name in block else np.zeros(len(run), np.int64)
                for block, (run, _) in zip(past, runs, strict=True)
            ]
            self.heard[name[3:]] = np.concatenate(heard)[once]

    def find(self, number: Ints) -> tuple[Ints, Any]:
        """Where each number is in `heard`, and whether it is there and certain."""
        if not len(self._numbers):
            return np.zeros(len(number), np.int64), np.zeros(len(number), np.bool_)
        place = np.minimum(np.searchsorted(self._numbers, number), len(self._numbers) - 1)
        return place, (self._numbers[place] == number) & self._certain[place]
