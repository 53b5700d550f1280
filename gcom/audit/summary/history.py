"""The report's history of a (group, instance), put together from its summaries. It decides nothing."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from gcom.audit.summary.process import ProcessSummary
from gcom.audit.summary.tally import Tally
from gcom.audit.summary.timeline import Counts, Timeline

VIEWS = 200  # views of a group that the report can show


@dataclass(slots=True)
class History:
    """The sum of all processes' timelines as `whole`, and in `timelines` each one's without its deliveries.

    `views` are the first of each number, at most VIEWS: number, members, leader, about when (None: not known).
    """

    whole: Timeline = field(default_factory=Timeline)
    timelines: dict[str, Timeline] = field(default_factory=dict)
    views: list[tuple[int, list[str], str, int | None]] = field(default_factory=list)

    def violations(self, tally: Tally) -> dict[int, int]:
        """Return the number of a rule's violations in each bin of `whole`."""
        found: dict[int, int] = {}
        # A violation has a position, and its process's own timeline turns that into a time. Without times it is in no
        # bin.
        for (process, block), messages in tally.spread.blocks.items():
            timeline = self.timelines.get(process)
            when = timeline.when(block << tally.spread.shift) if timeline is not None else None
            if when is not None:
                found[when >> self.whole.shift] = found.get(when >> self.whole.shift, 0) + messages
        return found


def history_of(summaries: dict[str, ProcessSummary]) -> History:
    """Return the history; `summaries` are by process."""
    history = History()
    for process, summary in sorted(summaries.items()):
        history.whole.add(summary.timeline)
        # Without deliveries per bin, which only the whole group's plot shows: a history is sent to
        # the driver, per process.
        mine = summary.timeline
        history.timelines[process] = Timeline(mine.shift, Counts(), mine.held, mine.own, mine.anchors)
    first: dict[int, dict[str, Any]] = {}
    for _, summary in sorted(summaries.items()):
        for view in summary.views:
            # Where processes disagree about a view VIEW_AGREEMENT says so; the plot needs one of them.
            first.setdefault(view["view"], view)
    for number, view in sorted(first.items())[:VIEWS]:
        when = summaries[view["process"]].timeline.when(view["at"])
        history.views.append((number, list(view["members"]), view["leader"], when))
    return history
