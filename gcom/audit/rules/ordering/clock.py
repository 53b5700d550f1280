"""CLOCK: what a send says of other members is what had been delivered of them.

The scan judges it, but for members of a view whose record is not in what was scanned: that, other logs tell.
"""

from __future__ import annotations

from gcom.audit.rules.rule import Case, Example, Mark, Projection, Rule, always
from gcom.audit.summary.tally import Tally


def _judge(case: Case, tally: Tally) -> None:
    group = case.group
    members = group.members()
    for who, summary in sorted(group.summaries.items()):
        own = {view["view"]: view["members"] for view in summary.views}
        for (view, other, hidden), found in sorted(summary.unplaced.items()):
            inside = (members if hidden else own).get(view)
            if inside is None:
                tally.doubt(found.violations, f"no log tells who is in view {view}, which {who} was in")
            elif other in inside:
                for example in found.examples:
                    example.setdefault("process", who)
                found.spread.name(who)
                tally.add(found)


def _sentence(e: Example) -> str:
    return (
        f"{e['process']} sent number {e['number']} with a clock that says {e['said']} for {e['other']}, "
        f"having delivered {e['true']}."
    )


def _marks(e: Example) -> set[Mark]:
    return {("message", e["other"], max(e["said"], e["true"]))}


RULE = Rule(
    "CLOCK",
    "The clock of a send says what had been delivered.",
    always,
    _sentence,
    judge=_judge,
    marks=_marks,
    other_is_sender=True,
    projection=Projection(clock=True),
)
