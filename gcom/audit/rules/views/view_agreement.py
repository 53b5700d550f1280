"""VIEW_AGREEMENT: a view is the same at all processes that install it, and so is the definition in all views of an
instance; members keep their ranks, and views of a process go up by one.

The scan judges what a process's own log shows.
"""

from __future__ import annotations

from typing import Any

from gcom.audit.input.contract import Record
from gcom.audit.rules.groups import InstanceLogs
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
    # 1. A base settles what no record shows. 2. So it is of who enters, and of messages that earlier views had. 3. Any
    #    other one would hide what was lost.
    inside = bool(position.last_view)
    founds = view == 1 and not record.get("succeeds")
    if (inside or founds) and any(record.get("base", {}).values()):
        tally.violate(1, **where, kind="base")
    if inside and record.get("base_serial", 0):
        tally.violate(1, **where, kind="base")


def judge_end(summary: ProcessSummary, position: LogPosition, record: Record) -> None:
    """Judge the `settled` of a `leave`, at the position before it: the view after the one in force."""
    following = None if position.in_force is None else position.in_force + 1
    if record["type"] == "leave" and "settled" in record and following not in (None, record["settled"]):
        summary.tally("VIEW_AGREEMENT").violate(1, **place_of(record), kind="settled", settled=record["settled"])


def _judge(case: Case, tally: Tally) -> None:
    agreed: dict[int, dict[str, Any]] = {}
    definition: dict[str, Any] = {}
    for _, summary in sorted(case.group.summaries.items()):
        for view in summary.views:
            # Against the first log that has the view: of three that differ, two violations are told.
            other = agreed.setdefault(view["view"], view)
            definition = definition or view
            if _substance(view) != _substance(other):
                tally.violate(1, kind="differs", **place_of(view), other=other["process"])
            # Each `view` record has the definition of the group, which is one for all of its life.
            elif _definition(view) != _definition(definition):
                more = {"other": definition["process"], "other_view": definition["view"]}
                tally.violate(1, kind="definition", **place_of(view), **more)
    _judge_ranks(agreed, tally)
    _judge_leavers(case.group, agreed, tally)


def _judge_ranks(agreed: dict[int, dict[str, Any]], tally: Tally) -> None:
    """Judge that who stays keeps its rank before those who stay behind it, and before those who enter."""
    for number, view in sorted(agreed.items()):
        before = agreed.get(number - 1, {"members": ()})["members"]
        stay = [who for who in before if who in set(view["members"])]
        if view["members"][: len(stay)] != stay:
            tally.violate(1, kind="rank", **place_of(view))


def _judge_leavers(group: InstanceLogs, agreed: dict[int, dict[str, Any]], tally: Tally) -> None:
    """Judge that the view which goes on without a leaver is without it."""
    for who, summary in sorted(group.summaries.items()):
        view = agreed.get(summary.end.get("settled", 0), {})
        if who in view.get("members", ()):
            tally.violate(1, kind="stays", **{**place_of(summary.end), "view": view["view"]}, other=view["process"])


def _substance(view: dict[str, Any]) -> tuple[object, ...]:
    # The order of members is their rank, which decides who leads next.
    return (tuple(view["members"]), view["leader"], *_definition(view))


def _definition(view: dict[str, Any]) -> tuple[object, ...]:
    return (view["ordering"], view["multicast"], view.get("safe", False), view.get("netsplit", "PRIMARY"))


def _sentence(e: Example) -> str:
    match e.get("kind"):
        case "outsider":
            return f"{e['process']} installed view {e['view']}, of which it or the leader is no member."
        case "jump":
            return f"{e['process']} installed view {e['view']} right after view {e['before']}."
        case "again":
            return f"{e['process']} installed view {e['view']} after the end of its session."
        case "base":
            return f"{e['process']} installed view {e['view']} with a base, though it does not enter with it."
        case "settled":
            return f"{e['process']} left view {e['view']}, and says that view {e['settled']} goes on without it."
        case "stays":
            return f"{e['process']} left before view {e['view']}, which {e['other']} installed with it as a member."
        case "rank":
            return f"View {e['view']} at {e['process']} has its members in another order than the view before."
        case "definition":
            return (
                f"View {e['view']} at {e['process']} has another definition of the group than view {e['other_view']} "
                f"at {e['other']}."
            )
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
    "A view is the same at all who install it, and the group's definition in all views.",
    always,
    _sentence,
    judge=_judge,
    marks=marks_of_views,
    projection=Projection(view_before=True, members=True),
)
