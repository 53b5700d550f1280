"""SELF_DELIVERY: a process that goes on from a view has settled every message that it sent in it."""

from __future__ import annotations

from gcom.audit.rules.rule import AuditRule, Case, Example, Mark, marks_of_range, some_ranges, where_reliable
from gcom.audit.summary.intervals import Intervals
from gcom.audit.summary.tally import Tally


def _judge(case: Case, tally: Tally) -> None:
    for who, section in case.group.sections():
        # Who is in no class owes nothing: it crashed, or the log does not say how it went on.
        if section.next in ("none", "unknown") or not section.covered or not section.sends:
            continue
        tally.evaluated += len(section.sends)
        # At the end of the view, as those who go on begin the next one without what is missing now.
        missing = section.sends.minus(section.settled.get(who, Intervals()))
        if missing:
            more = {"number": missing.lowest, "missing": some_ranges(missing), "view": section.view}
            tally.violate(len(missing), process=who, sender=who, **more)


def _sentence(e: Example) -> str:
    return f"{e['process']} sent number {e['number']} in view {e['view']} and went on from it without delivering it."


def marks_of_missing(e: Example) -> set[Mark]:
    """Return the hole, and the missing messages; of long ranges both ends, whose neighbours other violations name."""
    found: set[Mark] = {("hole", e["process"], e["view"])}
    for first, last in e.get("missing", ()):
        found |= marks_of_range(e["sender"], first, last)
    return found


# Blamed for a dropped delivery of one's own, which in a NONORDERED group nothing else shows at the process itself.
RULE = AuditRule(
    "SELF_DELIVERY",
    "A member that goes on delivers its own messages.",
    where_reliable,
    _sentence,
    judge=_judge,
    needs_ends=True,
    marks=marks_of_missing,
)
