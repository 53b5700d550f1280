"""AGREEMENT: of the processes that go on together, each has delivered every message that one delivered in the view."""

from __future__ import annotations

from gcom.audit.rules.delivery.self_delivery import marks_of_missing
from gcom.audit.rules.groups import BoundClass
from gcom.audit.rules.judgement import DeliveredNumbers
from gcom.audit.rules.rule import AuditRule, Case, Example, named, some_ranges, where_reliable
from gcom.audit.summary.intervals import Intervals, add_numbers
from gcom.audit.summary.tally import Tally


def _judge(case: Case, tally: Tally) -> None:
    given_up = {who: summary.given_up for who, summary in case.group.summaries.items()}
    for bound in case.group.bound():
        if len(bound.heard) > 1:
            tally.evaluated += 1
            _judge_class(bound, given_up, tally)


def _judge_class(bound: BoundClass, given_up: dict[str, DeliveredNumbers], tally: Tally) -> None:
    """Judge that all members of the class have settled every message that any process bound them to."""
    demanded: DeliveredNumbers = {}
    for _, section in bound.heard:
        add_numbers(demanded, section.delivered)
    for who, section in bound.members:
        # A settled message is not owed: a skip or a base covers it, or a delivery at any time so far, as a joiner's
        # state may contain it.
        for sender, numbers in sorted(demanded.items()) if section.covered else ():
            missing = numbers.minus(section.settled.get(sender, Intervals()))
            if missing:
                _blame(bound, who, sender, missing, tally, kind="missing")
            # What a majority held is in every cut, so no survivor may give it up, also where that member is dead.
            if bound.safe and (skipped := given_up[who].get(sender, Intervals()).common(numbers)):
                _blame(bound, who, sender, skipped, tally, kind="skipped")


def _blame(bound: BoundClass, who: str, sender: str, numbers: Intervals, tally: Tally, *, kind: str) -> None:
    # The lowest one stands for all that this process lacks of the sender: one loss is one incident.
    number = numbers.lowest
    other = next(p for p, s in bound.heard if number in s.delivered.get(sender, Intervals()))
    more = {"number": number, "missing": some_ranges(numbers), "view": bound.view, "other": other}
    tally.violate(len(numbers), kind=kind, process=who, sender=sender, **more)


def _sentence(e: Example) -> str:
    if e["kind"] == "skipped":
        return f"{e['other']} delivered {named(e)} in view {e['view']} of a SAFE group, and {e['process']} gave it up."
    return (
        f"{e['other']} delivered {named(e)} in view {e['view']}, and {e['process']}, which went on with it, never did."
    )


# Blamed in tests/audit/test_mutations.py for a delivery that is dropped, also where another is there twice, so that
# whoever counts sees nothing; and for a log that says it is complete and lacks its last deliveries.
RULE = AuditRule(
    "AGREEMENT",
    "Members that go on together deliver the same messages.",
    where_reliable,
    _sentence,
    judge=_judge,
    needs_ends=True,
    marks=marks_of_missing,
)
