"""VIEW_AGREEMENT: a view is the same at all processes that install it, and views of a process go up by one.

The scan judges the second half.
"""

from __future__ import annotations

from typing import Any

from gcom.audit.input.contract import Record
from gcom.audit.rules.rule import AuditRule, Case, Example, Mark, Projection, always, place_of, processes_in
from gcom.audit.summary.position import LogPosition
from gcom.audit.summary.process import ProcessSummary
from gcom.audit.summary.tally import Tally

_VIEWS = 100  # of the views that a jump passes over, so many get a mark


def judge_installation(summary: ProcessSummary, position: LogPosition, record: Record) -> None:
    """Judge a `view` record by itself, at the position before it."""
    view, tally = record["view"], summary.tally("VIEW_AGREEMENT")
    tally.evaluated += 1
    where = place_of(record)
    if summary.process not in record["members"] or record["leader"] not in record["members"]:
        tally.violate(1, **where, kind="outsider")
    # Behind a gap the last view is not known, and before the first there is none: neither is a jump.
    if position.last_view and view != position.last_view + 1:
        tally.violate(1, **where, kind="jump", before=position.last_view)
    # Who was expelled, or left, returns as a new incarnation, which is another process (DELIVERY_LOG.md, Records).
    if position.left:
        tally.violate(1, **where, kind="again")


def _judge(case: Case, tally: Tally) -> None:
    agreed: dict[int, dict[str, Any]] = {}
    for _, summary in sorted(case.group.summaries.items()):
        for view in summary.views:
            # Against the first log that has the view: of three that differ, two violations are told.
            other = agreed.setdefault(view["view"], view)
            if _substance(view) != _substance(other):
                tally.violate(1, kind="differs", **place_of(view), other=other["process"])


def _substance(view: dict[str, Any]) -> tuple[object, ...]:
    # The rule speaks of one set of members: their order is not compared.
    members = tuple(sorted(set(view["members"])))
    rest = (view["leader"], view["ordering"], view["multicast"])
    return (members, *rest, view.get("safe", False), view.get("netsplit", "PRIMARY"))


def _sentence(e: Example) -> str:
    match e.get("kind"):
        case "outsider":
            return f"{e['process']} installed view {e['view']}, of which it or the leader is no member."
        case "jump":
            return f"{e['process']} installed view {e['view']} right after view {e['before']}."
        case "again":
            return f"{e['process']} installed view {e['view']} after the end of its session."
        case _:
            return f"View {e['view']} at {e['process']} is not what {e['other']} installed under that number."


def marks_of_views(e: Example) -> set[Mark]:
    """Return the view, and those that a jump passed over, of each process named."""
    view = e.get("view") or 0
    # What others installed meanwhile is missing here, so their violations of these views have the same cause.
    passed = range(e["before"] + 1, view)[:_VIEWS] if e.get("kind") == "jump" else ()
    return {("view", who, each) for who in processes_in(e) for each in (*passed, view)}


# Blamed for a view that is dropped, has another number, or other members at one process.
RULE = AuditRule(
    "VIEW_AGREEMENT",
    "A view is the same at all who install it.",
    always,
    _sentence,
    judge=_judge,
    marks=marks_of_views,
    projection=Projection(view_before=True, members=True),
)
