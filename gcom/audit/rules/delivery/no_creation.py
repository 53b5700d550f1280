"""NO_CREATION: each delivered message was sent. The scan also holds that a sender numbers its messages 1, 2, 3 ..."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gcom.audit.input.rows import Ints
from gcom.audit.rules.rule import AuditRule, Case, Example, Projection, always, named
from gcom.audit.summary.batch import Batch
from gcom.audit.summary.intervals import Intervals
from gcom.audit.summary.runs import by_code
from gcom.audit.summary.tally import Tally


def _judge_batch(batch: Batch) -> None:
    _judge_own_sends(batch)
    if len(batch.delivers):
        _judge_own_deliveries(batch)


def _judge_own_sends(batch: Batch) -> None:
    """Judge that a process's sends are 1, 2, 3 ..."""
    summary, sends, number = batch.summary, batch.sends, batch.position.number
    if not len(sends):
        return
    first, last = batch.ends(sends)
    # Where a gap hid the last number, the first send sets the measure.
    before = np.concatenate(([number if number is not None else first[0] - 1], last[:-1]))
    for index in np.flatnonzero(first != before + 1).tolist():
        where = batch.where(int(sends[index]))
        summary.tally("NO_CREATION").violate(1, kind="jump", before=int(before[index]), **where)
    summary.highest_sent = max(summary.highest_sent, int(last.max()))


def _judge_own_deliveries(batch: Batch) -> None:
    """Judge that own messages are delivered after their send; record the highest number of the rest."""
    rows, summary, delivers = batch.rows, batch.summary, batch.delivers
    summary.tally("NO_CREATION").evaluated += int(rows.count[delivers].sum())
    _, last = batch.ends(delivers)
    own = rows.senders.index(batch.process) if batch.process in rows.senders else -1
    mine = rows.sender[delivers] == own
    # An own message that came before its send is a violation already; counted in `highest` it would be a second one.
    early = np.zeros(len(delivers), np.bool_)
    if mine.any():
        early[mine] = _judge_early(batch, delivers[mine], last[mine])
    last = last[~early]
    for code, of in by_code(rows.sender[delivers][~early]):
        who = rows.senders[code]
        summary.highest[who] = max(summary.highest.get(who, 0), int(last[of].max()))


def _judge_early(batch: Batch, own: Ints, last: Ints) -> NDArray[np.bool_]:
    """Record as violations the deliveries of own messages that came before their send; return which these are."""
    _, sent = batch.ends(batch.sends)
    # Behind a gap nobody knows what was sent in it, so nothing is early.
    sent = np.concatenate(([batch.position.number if batch.position.number is not None else 1 << 62], sent))
    known = sent[np.searchsorted(batch.sends, own)]
    for index in np.flatnonzero(last > known).tolist():
        row = int(own[index])
        # Of a run only the part behind the last number sent is early.
        above = int(min(last[index] - known[index], batch.rows.count[row]))
        first = max(int(batch.rows.number[row]), int(known[index]) + 1)
        batch.summary.tally("NO_CREATION").violate(above, kind="early", **batch.where_of(row, first))
    return np.asarray(last > known)


def _judge(case: Case, tally: Tally) -> None:
    """Judge that a delivered number is at most the highest that its sender is known to have sent."""
    group = case.group
    for who, summary in sorted(group.summaries.items()):
        for sender, highest in sorted(summary.highest.items()):
            of_sender = group.summaries.get(sender)
            known = of_sender.highest_sent if of_sender is not None else 0
            if highest <= known:
                continue
            unsent = summary.delivered.get(sender, Intervals()).above(known)
            number = unsent.lowest
            if group.closed(sender):
                tally.violate(len(unsent), kind="unsent", process=who, sender=sender, number=number, known=known)
            else:  # the send may stand in what is missing of its log
                tally.doubt(len(unsent), f"the log of {sender} does not tell whether it sent {number}")


def _sentence(e: Example) -> str:
    match e.get("kind"):
        case "jump":
            return f"{e['process']} sent its number {e['number']} right after its number {e['before']}."
        case "early":
            return f"{e['process']} delivered its own number {e['number']} before it had sent it."
        case _:
            return (
                f"{e['process']} delivered {named(e)}, but {e['sender']}, whose log is complete, "
                f"sent no more than {e['known']}."
            )


# It finds a number that was never sent, a sender that never was in the group, a send that was dropped, doubled or
# renumbered, and an own delivery before its send.
RULE = AuditRule(
    "NO_CREATION",
    "Every delivered message was sent.",
    always,
    _sentence,
    judge_batch=_judge_batch,
    judge=_judge,
    projection=Projection(neighbours=True),
)
