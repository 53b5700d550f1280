"""NO_CREATION: what is delivered was sent. During the scan: a process's own numbers are 1, 2, 3 ..."""

from __future__ import annotations

from gcom.audit.rules.rule import Case, Example, Projection, Rule, always, named
from gcom.audit.summary.intervals import Intervals
from gcom.audit.summary.tally import Tally


def _judge(case: Case, tally: Tally) -> None:
    """A delivered number is at most the highest that its sender is known to have sent."""
    group = case.group
    for who, summary in sorted(group.summaries.items()):
        for sender, highest in sorted(summary.highest.items()):
            theirs = group.summaries.get(sender)
            known = theirs.known_sent if theirs is not None else 0
            if highest <= known:
                continue
            over = summary.delivered.get(sender, Intervals()).above(known)
            messages = max(len(over), 1)
            number = over.lowest or highest
            if group.closed(sender):
                tally.violate(messages, kind="unsent", process=who, sender=sender, number=number, known=known)
            else:  # the send may stand in what is missing of its log
                tally.doubt(messages, f"the log of {sender} does not tell whether it sent {number}")


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


RULE = Rule(
    "NO_CREATION",
    "What is delivered was sent.",
    always,
    _sentence,
    judge=_judge,
    projection=Projection(neighbours=True),
)
