"""SENDING_VIEW: a message is delivered in the view that it was sent in, which is in force at both.

The scan compares the records with the view in force there; here the sender's log tells the view of each send.
"""

from __future__ import annotations

import numpy as np

from gcom.audit.rules.rule import AuditRule, Case, Example, Mark, always, named
from gcom.audit.summary.batch import Batch
from gcom.audit.summary.intervals import Intervals
from gcom.audit.summary.runs import merged
from gcom.audit.summary.tally import Tally


def _judge_batch(batch: Batch) -> None:
    """Judge that a record's views are one, and the view in force; nothing is sent outside of a session."""
    position, rows, summary, delivers, sends = batch.position, batch.rows, batch.summary, batch.delivers, batch.sends
    for row in sends[batch.is_not_in_force(rows.view[sends])].tolist():
        where = batch.where(row, in_force=position.in_force)
        summary.tally("SENDING_VIEW").violate(int(rows.count[row]), kind="send", **where)
    if not len(delivers):
        return
    tally = summary.tally("SENDING_VIEW")
    tally.evaluated += int(rows.count[delivers].sum())
    view, sent_view = rows.view[delivers], rows.sent_view[delivers]
    wrong = (view != sent_view) | batch.is_not_in_force(view)
    for index in np.flatnonzero(wrong).tolist():
        row = int(delivers[index])
        more = {"sent_view": int(sent_view[index]), "in_force": position.in_force}
        tally.violate(int(rows.count[row]), kind="here", **batch.where(row, **more))
    # Only what is consistent here is held against the sender's log: else one wrong record would be two violations.
    for who, in_view, ranges in merged(rows, delivers[~wrong]):
        into = summary.delivered_in.setdefault((who, in_view), Intervals())
        for first, last in ranges:
            into.add(first, last)


def _judge(case: Case, tally: Tally) -> None:
    group = case.group
    for who, summary in sorted(group.summaries.items()):
        for (sender, view), numbers in sorted(summary.delivered_in.items()):
            theirs = group.summaries.get(sender)
            sent_there = theirs.sent_in.get(view, Intervals()) if theirs is not None else Intervals()
            rest = numbers.minus(sent_there)
            if not rest:
                continue
            # What the sender's log does not have at all is NO_CREATION's to judge, or unknown where that log
            # has an end missing.
            unsent = rest.minus(theirs.sent) if theirs is not None else rest
            elsewhere = rest.minus(unsent)
            if elsewhere:
                number = elsewhere.lowest
                # The numbers are in some view's set, as `elsewhere` was sent; the first by view stands for them.
                sent_view = next(v for v, each in theirs.sent_in.items() if number in each) if theirs else None
                more = {"number": number, "view": view, "sent_view": sent_view}
                tally.violate(len(elsewhere), kind="sent", process=who, sender=sender, **more)
            if unsent and not group.closed(sender):
                tally.doubt(len(unsent), f"the log of {sender} does not tell in which view it sent {unsent.lowest}")


def _sentence(e: Example) -> str:
    if e.get("kind") == "sent":
        return f"{e['process']} delivered {named(e)} in view {e['view']}, but it was sent in view {e['sent_view']}."
    force = "no view" if e.get("in_force") is None else f"view {e['in_force']}"
    if e.get("kind") == "send":
        return f"{e['process']} sent its number {e['number']} with view {e['view']}, while {force} was in force there."
    return (
        f"{e['process']} delivered {named(e)} with view {e['view']} and sending view {e['sent_view']}, "
        f"while {force} was in force there."
    )


def _marks(e: Example) -> set[Mark]:
    return set() if e.get("kind") == "sent" else {("view", e.get("process", ""), e.get("view") or 0)}


# Blamed for a send or a delivery that names another view, and for a delivery that comes behind the next view.
RULE = AuditRule(
    "SENDING_VIEW",
    "A message is delivered in the view that it was sent in.",
    always,
    _sentence,
    judge_batch=_judge_batch,
    judge=_judge,
    marks=_marks,
)
