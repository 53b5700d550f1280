"""AGREEMENT: of the processes that go on together, each has delivered every message that one delivered in the view."""

from __future__ import annotations

from collections import defaultdict

from gcom.audit.rules.delivery.self_delivery import marks_of_missing
from gcom.audit.rules.rule import AuditRule, Case, Example, named, some_ranges, where_reliable
from gcom.audit.summary.intervals import Intervals, add_numbers
from gcom.audit.summary.lineage import INTO
from gcom.audit.summary.process import SectionSummary
from gcom.audit.summary.tally import Tally

_Member = tuple[str, SectionSummary]


def _judge(case: Case, tally: Tally) -> None:
    group = case.group
    safe = any(view.get("safe") for summary in group.summaries.values() for view in summary.views)
    everyone: dict[int, list[_Member]] = defaultdict(list)
    for who, section in group.sections():
        everyone[section.view].append((who, section))
    for (view, _), members in sorted(group.classes().items(), key=str):
        # In a SAFE group all who go on owe also what a member delivered that crashed in the view. Not those who go over
        # into a successor: where a quorum is dead, messages that only it held are gone, and CONTINUITY judges the rest.
        heard = members
        if safe and not _goes_over(members[0]):
            heard = [each for each in everyone[view] if not _goes_over(each)]
        if len(heard) > 1:
            tally.evaluated += 1
            _judge_class(view, members, heard, tally)


def _goes_over(member: _Member) -> bool:
    """Tell whether a process leaves the view into a successor, and so binds nobody who went on in the instance.

    1. C is put out of view 3, and the others, in view 4, all die. 2. C goes on alone, in a successor, and delivers its
    own last message as that begins. 3. No member of view 4 had this message, and none has broken a promise by that.
    """
    return str(member[1].next).startswith(INTO)


def _judge_class(view: int, members: list[_Member], heard: list[_Member], tally: Tally) -> None:
    """Judge that all of `members` have settled every message that any of `heard` delivered in the view."""
    demanded: dict[str, Intervals] = {}
    for _, section in heard:
        add_numbers(demanded, section.delivered)
    for who, section in members:
        # A settled message is not owed: a skip or a base covers it, or a delivery at any time so far, as a joiner's
        # state may contain it.
        for sender, numbers in sorted(demanded.items()) if section.covered else ():
            missing = numbers.minus(section.settled.get(sender, Intervals()))
            if missing:
                # The lowest one stands for all that this process lacks of the sender: one loss is one incident.
                number = missing.lowest
                other = next(p for p, s in heard if number in s.delivered.get(sender, Intervals()))
                more = {"number": number, "missing": some_ranges(missing), "view": view, "other": other}
                tally.violate(len(missing), process=who, sender=sender, **more)


def _sentence(e: Example) -> str:
    return (
        f"{e['other']} delivered {named(e)} in view {e['view']}, and {e['process']}, which went on with it, never did."
    )


# Blamed in tests/audit/test_mutations.py for a delivery that is dropped, also where another is there twice, so that
# whoever counts sees nothing; and for a log that says it is complete and lacks its last deliveries.
RULE = AuditRule(
    "AGREEMENT",
    "Those who go on together deliver the same messages.",
    where_reliable,
    _sentence,
    judge=_judge,
    needs_ends=True,
    marks=marks_of_missing,
)
