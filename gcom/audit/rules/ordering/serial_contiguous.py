"""SERIAL_CONTIGUOUS: serials go up by one at each process, and all that install a view begin it after one serial.

The scan judges the first half.
"""

from __future__ import annotations

import numpy as np

from gcom.audit.rules.rule import AuditRule, Case, Example, Mark, Projection, place_of, processes_in, where_total
from gcom.audit.summary.batch import Batch
from gcom.audit.summary.tally import Tally


def _judge_batch(batch: Batch) -> None:
    rows, position = batch.rows, batch.position
    placed = batch.passed[rows.serial[batch.passed] >= 0]
    if not len(placed):
        return
    first = rows.serial[placed]
    last = first + rows.count[placed] - 1
    tally = batch.summary.tally("SERIAL_CONTIGUOUS")
    # Behind a gap the first serial has nothing to follow, so it is no case.
    tally.evaluated += int(rows.count[placed].sum()) - (position.serial is None)
    before = np.concatenate(([position.serial if position.serial is not None else first[0] - 1], last[:-1]))
    for index in np.flatnonzero(first != before + 1).tolist():
        more = {"serial": int(first[index]), "before": int(before[index])}
        tally.violate(1, **batch.where(int(placed[index]), **more))
    # From the last one, also after a jump: one hole in the serials is one violation.
    position.serial = int(last[-1])


def _judge(case: Case, tally: Tally) -> None:
    """Judge that all that install a view begin it after the same serial."""
    first: dict[int, tuple[str, int]] = {}
    for who, section in case.group.sections():
        if section.start is None:
            continue
        # Against the first that has the view; who comes from a gap has no start to compare.
        one, serial = first.setdefault(section.view, (who, section.serial))
        if serial != section.serial:
            record = next(view for view in case.group.summaries[who].views if view["view"] == section.view)
            more = {"other": one, "before": section.serial, "serial": serial}
            tally.violate(1, kind="start", **place_of(record), **more)


def _sentence(e: Example) -> str:
    if e.get("kind") == "start":
        return (
            f"{e['process']} installed view {e['view']} after serial {e['before']}, "
            f"{e['other']} after serial {e['serial']}."
        )
    return f"{e['process']} went from serial {e['before']} to serial {e['serial']}."


def _marks(e: Example) -> set[Mark]:
    view = e.get("view") or 0
    if e.get("kind") == "start":
        return {("hole", who, view - 1) for who in processes_in(e)}  # what one lacks there
    if e["serial"] > e["before"] + 1:
        return {("hole", e["process"], each) for each in (view, view - 1)}  # seen at the next delivery
    return set()


# Blamed for deliveries that are swapped with their serials, for serials that count wrongly through the same order,
# and for a joiner that begins behind another serial than the others.
RULE = AuditRule(
    "SERIAL_CONTIGUOUS",
    "Serials go up by one at each process.",
    where_total,
    _sentence,
    judge_batch=_judge_batch,
    judge=_judge,
    open_by_gaps="without_state",
    marks=_marks,
    projection=Projection(neighbours=True, serials=True),
)
