"""What the views of a group say together: each is the same everywhere, has one leader, and begins after one serial."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from gcom.audit.rules.groups import InstanceLogs
from gcom.audit.summary.tally import Tally


def judge_first_serials(group: InstanceLogs, tally: Tally) -> None:
    """All who install a view begin it after the same serial."""
    first: dict[int, tuple[str, int]] = {}
    for who, section in group.sections():
        if section.start is None:
            continue
        one, serial = first.setdefault(section.view, (who, section.serial))
        if serial != section.serial:
            record = next(view for view in group.summaries[who].views if view["view"] == section.view)
            where = {name: record[name] for name in ("at", "file", "line", "view")}
            more = {"other": one, "before": section.serial, "serial": serial}
            tally.violate(1, kind="start", process=who, **where, **more)


def judge_views(group: InstanceLogs, tallies: dict[str, Tally]) -> None:
    agreed: dict[int, dict[str, Any]] = {}
    leaders: dict[int, dict[str, dict[str, Any]]] = defaultdict(dict)
    for _, summary in sorted(group.summaries.items()):
        for view in summary.views:
            other = agreed.setdefault(view["view"], view)
            if _substance(view) != _substance(other):
                more = {"at": view["at"], "file": view["file"], "line": view["line"], "other": other["process"]}
                tallies["VIEW_AGREEMENT"].violate(1, kind="differs", process=view["process"], view=view["view"], **more)
        for record in (*summary.views, *summary.elects):
            leaders[record["view"]].setdefault(record["leader"], record)
    for view_number, named in sorted(leaders.items()):
        tallies["ONE_LEADER"].evaluated += 1
        if len(named) > 1:
            one, other = list(named.values())[:2]
            more = {"leaders": sorted(named), "other": one["process"]}
            where = {"at": other["at"], "file": other["file"], "line": other["line"]}
            tallies["ONE_LEADER"].violate(1, process=other["process"], view=view_number, **where, **more)


def _substance(view: dict[str, Any]) -> tuple[object, ...]:
    members = tuple(sorted(set(view["members"])))
    rest = (view["leader"], view["ordering"], view["multicast"])
    return (members, *rest, view.get("safe", False), view.get("netsplit", "PRIMARY"))
