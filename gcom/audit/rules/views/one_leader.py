"""ONE_LEADER: a view has one leader, in all `view` and `elect` records of it."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from gcom.audit.rules.rule import AuditRule, Case, Example, Projection, always, place_of
from gcom.audit.rules.views.view_agreement import marks_of_views
from gcom.audit.summary.tally import Tally


def _judge(case: Case, tally: Tally) -> None:
    leaders: dict[int, dict[str, dict[str, Any]]] = defaultdict(dict)
    for _, summary in sorted(case.group.summaries.items()):
        for record in (*summary.views, *summary.elects):
            # An `elect` may name another leader than the view did: then the view has had two.
            leaders[record["view"]].setdefault(record["leader"], record)
    for _, named in sorted(leaders.items()):
        tally.evaluated += 1
        if len(named) > 1:
            # Two are enough to show it: the first two by process.
            one, other = list(named.values())[:2]
            tally.violate(1, **place_of(other), leaders=sorted(named), other=one["process"])


def _sentence(e: Example) -> str:
    return f"View {e['view']} has more than one leader: {', '.join(e['leaders'])}."


# Blamed for another leader in one process's record of the view. VIEW_AGREEMENT compares the leader as well; this rule
# also reads `elect` records.
RULE = AuditRule(
    "ONE_LEADER",
    "A view has one leader.",
    always,
    _sentence,
    judge=_judge,
    marks=marks_of_views,
    projection=Projection(members=True),
)
