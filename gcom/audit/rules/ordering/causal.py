"""CAUSAL: a process settles, before it delivers m, every message that m's sender had delivered or sent before m.

Serials certify it where they rise by one everywhere, each message has one, and FIFO and the starts of views hold: a
message's serial is above those of all messages that its sender had delivered before the send, since the sender delivers
it after these; and a process that delivers it has passed all lower serials, with their messages, or had these in its
base. Else the messages that senders had delivered are compared with those that receivers had settled, in excerpts of
senders' numbers (summary/dependencies.py).

Source: Birman, Schiper and Stephenson 1991, "Lightweight Causal and Atomic Group Multicast".
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gcom.audit.input.rows import Ints
from gcom.audit.rules.certificates import bases_are_compared, pass_the_same_serials, senders_deliver_their_own
from gcom.audit.rules.groups import InstanceLogs
from gcom.audit.rules.rule import AuditRule, Case, Example, named, where_causal
from gcom.audit.summary.dependencies import PAST, PRESENT
from gcom.audit.summary.excerpts import Excerpt, MessageRequest
from gcom.audit.summary.intervals import Intervals
from gcom.audit.summary.runs import expanded
from gcom.audit.summary.tally import EXAMPLES, Tally

_NO_NUMBERS = np.zeros(0, np.int64)
_OF_MESSAGES = ("NO_CREATION", "NO_DUPLICATION", "FIFO", "SERIAL_CONTIGUOUS")
_OF_VIEWS = ("SENDING_VIEW", "VIEW_AGREEMENT", "VIRTUAL_SYNCHRONY")


def _ask(case: Case, tally: Tally) -> MessageRequest | None:
    group, summaries = case.group, case.group.summaries.values()
    serials = all(not each.deliveries_without_serial for each in summaries) and any(each.serials for each in summaries)
    found = [case.tallies[rule] for rule in (*_OF_MESSAGES, *_OF_VIEWS)]
    # A violation anywhere in these breaks the chain of the proof; an unknown case might hide one.
    sound = not any(each.violations or each.unknown for each in found)
    unique = case.request("SERIAL_UNIQUE") is None
    # Any of these missing, and the proof is incomplete: then the messages themselves are compared.
    if (
        serials
        and sound
        and unique
        and senders_deliver_their_own(group)
        and pass_the_same_serials(group)
        and bases_are_compared(group)
    ):
        tally.evaluated += _count_dependencies(group)
        return None
    return MessageRequest("CAUSAL", members=group.members())


def _count_dependencies(group: InstanceLogs) -> int:
    """Count the cases as the second reading would, without it."""
    members = {view: set(each) for view, each in group.members().items()}
    known: dict[tuple[str, int], tuple[Intervals, int]] = {}
    total = 0
    for summary in group.summaries.values():
        for (sender, view), numbers in summary.delivered_in.items():
            theirs = group.summaries.get(sender)
            if theirs is None:
                continue
            # Nearly all have delivered the same of a sender, so each sender's dependencies are counted once, and not
            # once per process: with N members that would be N times N times N.
            same, count = known.get((sender, view), (None, 0))
            if same != numbers:
                inside = members.get(view, set()) - {sender}
                count = _count_after(numbers, [n for other, n in theirs.depends_from.items() if other in inside])
                known[sender, view] = numbers, count
            total += count
    return total


def _count_after(numbers: Intervals, firsts: list[int]) -> int:
    """Return how many of the numbers are from each of `firsts` on, all added up.

    From its first send after a delivery of another process on, every message of a sender depends on that process.
    """
    return sum(max(0, last - max(first, since) + 1) for first, last in numbers for since in firsts)


def _judge_bucket(request: MessageRequest, sender: str, excerpts: list[Excerpt], closed: frozenset[str]) -> Tally:
    """Judge a bucket of a sender's numbers. If the sender's log is closed, it sent no others."""
    tally = Tally()
    past = [excerpt for excerpt in excerpts if excerpt["side"] == PAST]
    present = [excerpt for excerpt in excerpts if excerpt["side"] == PRESENT]
    sends = _Sends(sorted(past, key=lambda excerpt: excerpt["since"]))
    for excerpt in sorted(present, key=lambda excerpt: (excerpt["process"], excerpt["since"])):
        # Outside of any view there are no members whose messages could be owed: SENDING_VIEW tells such deliveries.
        if excerpt["view"] is None:
            continue
        # Message by message from here on, as a run of the receiver may be cut differently than the sender's.
        run, step = expanded(excerpt["count"])
        number = excerpt["number"][run] + step
        place, known = sends.find(number)
        if not known.all() and sender not in closed:
            missing = int((~known).sum())
            first = int(number[~known][0])
            tally.doubt(missing, f"the log of {sender} does not tell what it had delivered before {first}")
        inside = request.members.get(excerpt["view"], ()) if excerpt["members"] is None else excerpt["members"]
        for other, clock in sends.clock.items():
            # Of members of the view only: 1. s had delivered messages of q. 2. q left. 3. A receiver in the next view
            # owes nothing of q that the view change did not settle.
            if other != sender and other in inside:
                needed = np.where(known, clock[place], 0)
                _compare(tally, sender, excerpt, other, needed, run, step)
    return tally


def _compare(tally: Tally, sender: str, excerpt: Excerpt, other: str, needed: Ints, run: Ints, step: Ints) -> None:
    """Judge the dependencies on one process. `needed` is the number of `other` that each message needs, 0 for none;
    `run` and `step` are as of expanded().
    """
    counts = needed > 0
    tally.evaluated += int(counts.sum())
    late = np.flatnonzero(counts & _is_missing(excerpt, other, needed, run, step))
    # Behind a gap what is missing may have been settled inside it.
    if not excerpt["certain"]:
        if len(late):
            number = int(excerpt["number"][run[late[0]]] + step[late[0]])
            tally.doubt(len(late), f"{excerpt['process']} has a gap before it delivered {number} of {sender}")
        return
    # All are counted and a few kept: a process that once lacks a message violates at each later one that needs it.
    for index in late[:EXAMPLES].tolist():
        into = {name: int(excerpt[name][run[index]] + step[index]) for name in ("at", "number")}
        where = {name: excerpt[name] for name in ("process", "view", "file")}
        line = int(excerpt["line"][run[index]])
        tally.violate(1, **where, **into, sender=sender, line=line, other=other, needed=int(needed[index]))
    tally.violations += max(0, len(late) - EXAMPLES)


def _is_missing(excerpt: Excerpt, other: str, needed: Ints, run: Ints, step: Ints) -> Any:
    """Tell whether each needed number of `other` was not settled before the message that needs it."""
    # Two ways to lack a number: above the highest that was settled, or in a hole below it.
    missing = needed > (excerpt[f"of {other}"][run] if f"of {other}" in excerpt else 0)
    if f"holes of {other}" in excerpt:
        first, last, since, until = excerpt[f"holes of {other}"].reshape(4, -1)
        at = excerpt["at"][run] + step
        # The last hole that begins at or below the number: only that one can have it, as holes do not overlap.
        hole = np.maximum(np.searchsorted(first, needed, "right") - 1, 0)
        # Open at this very delivery: since it became a hole, and until it was filled.
        missing |= (needed >= first[hole]) & (needed <= last[hole]) & (since[hole] < at) & (at <= until[hole])
    return missing


class _Sends:
    """A sender's numbers in a bucket, each once, with its deliveries before the send; the first send of a number
    counts.

    `past` are the excerpts in order. `clock` has per other process the highest number of it that was delivered before
    each send.
    """

    def __init__(self, past: list[Excerpt]) -> None:
        runs = [expanded(excerpt["count"]) for excerpt in past]
        number = [excerpt["number"][run] + step for excerpt, (run, step) in zip(past, runs, strict=True)]
        certain = [np.full(len(run), excerpt["certain"]) for excerpt, (run, _) in zip(past, runs, strict=True)]
        # A number that was sent twice counts as sent first; NO_CREATION tells the second.
        self._numbers, once = np.unique(np.concatenate([_NO_NUMBERS, *number]), return_index=True)
        self._certain = np.concatenate([_NO_NUMBERS, *certain]).astype(np.bool_)[once]
        self.clock: dict[str, Ints] = {}
        for name in sorted({name for excerpt in past for name in excerpt if name.startswith("of ")}):
            clock = [
                excerpt[name][run] if name in excerpt else np.zeros(len(run), np.int64)
                for excerpt, (run, _) in zip(past, runs, strict=True)
            ]
            self.clock[name[3:]] = np.concatenate(clock)[once]

    def find(self, number: Ints) -> tuple[Ints, Any]:
        """Return the place of each number in `clock`, and whether it is there and certain."""
        if not len(self._numbers):
            return np.zeros(len(number), np.int64), np.zeros(len(number), np.bool_)
        # As in INTEGRITY: a number that is above all of these is compared with the last one, and is not equal.
        place = np.minimum(np.searchsorted(self._numbers, number), len(self._numbers) - 1)
        return place, (self._numbers[place] == number) & self._certain[place]


_WHEN = {
    "delivered": " (which it delivered after it)",
    "skipped": " (which it skipped after it)",
    "settled": " (which was settled there only after it)",
    "": " (which it never delivered)",
}


def _sentence(e: Example) -> str:
    when = _WHEN[e["later"]] if "later" in e else ""
    return (
        f"{e['process']} delivered {named(e)} before number {e['needed']} of {e['other']}{when}, "
        f"but {e['sender']} had delivered that when it sent {e['number']}."
    )


# Blamed for a message that is swapped with its cause, of another sender: FIFO holds, and both arrive.
RULE = AuditRule(
    "CAUSAL",
    "A message comes after everything that its sender had delivered before it.",
    where_causal,
    _sentence,
    ask=_ask,
    judge_bucket=_judge_bucket,
    other_is_sender=True,
    more_messages=lambda e: [(e["other"], e["needed"])],
)
