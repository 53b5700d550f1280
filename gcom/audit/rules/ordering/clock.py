"""CLOCK: a send's entry for another member is the number of its messages that the sender had delivered.

The scan judges it, but for members of a view whose record is not in the part scanned: other logs tell of that view.
"""

from __future__ import annotations

import numpy as np

from gcom.audit.input.rows import Ints
from gcom.audit.rules.rule import AuditRule, Case, Example, Mark, Projection, always
from gcom.audit.summary.batch import Batch
from gcom.audit.summary.tally import Tally


def _judge_batch(batch: Batch) -> None:
    """Judge that each send's entry for each member, changes applied, is the number delivered of it."""
    position, sends = batch.position, batch.sends
    if not len(sends):
        return
    tally = batch.summary.tally("CLOCK")
    # Behind a gap without a state nobody knows what had been delivered, so no entry is wrong or right.
    judged = position.view is not None and position.certain
    if judged:
        tally.evaluated += int(batch.rows.count[sends].sum())
    for who, true in batch.true_clock.items():
        said = _said(batch, who)
        # _said() has gone on with the logged clock all the same: entries are changes, and the next
        # one counts from there.
        if not judged or (said == true).all():
            continue
        if position.members is not None and who in position.members:
            _compare(batch, tally, who, said, true)
        elif position.members is None:  # Members that the log does not name: the views in other logs tell of them.
            assert position.view is not None, "it is judged"
            place = position.view, who, position.hides_members
            _compare(batch, batch.summary.undecided_clocks.setdefault(place, Tally()), who, said, true)


def _said(batch: Batch, who: str) -> Ints:
    """Return each send's entry for a process: the last one logged, as the log has only changes."""
    position, sends = batch.position, batch.sends
    where, values = batch.clock.get(who, (sends[:0], sends[:0]))
    # Entries of this batch's sends only: `clock` has those of the whole segment.
    low, high = np.searchsorted(where, (sends[0], sends[-1] + 1))
    said = np.concatenate(([position.logged_clock.get(who, 0)], values[low:high]))[
        np.searchsorted(where[low:high], sends, "right")
    ]
    if high > low:
        position.logged_clock[who] = int(said[-1])
    return np.asarray(said)


def _compare(batch: Batch, tally: Tally, who: str, said: Ints, true: Ints) -> None:
    for index in np.flatnonzero(said != true).tolist():
        row = int(batch.sends[index])
        more = {"other": who, "said": int(said[index]), "true": int(true[index])}
        tally.violate(int(batch.rows.count[row]), **batch.where(row, **more))


def _judge(case: Case, tally: Tally) -> None:
    group = case.group
    members = group.members()
    for who, summary in sorted(group.summaries.items()):
        own = {view["view"]: view["members"] for view in summary.views}
        for (view, other, hidden), found in sorted(summary.undecided_clocks.items()):
            # 1. The view's record is in an earlier chain: the process's own views tell. 2. It is in a gap: only other
            #    members' logs do.
            inside = (members if hidden else own).get(view)
            if inside is None:
                tally.doubt(found.violations, f"no log tells who is in view {view}, which {who} was in")
            elif other in inside:
                found.name(who)
                tally.add(found)


def _sentence(e: Example) -> str:
    return (
        f"{e['process']} sent number {e['number']} with a clock that says {e['said']} for {e['other']}, "
        f"having delivered {e['true']}."
    )


def _marks(e: Example) -> set[Mark]:
    return {("message", e["other"], max(e["said"], e["true"]))}


# Blamed for an entry that is one more, one less, or missing: receivers hold back by these entries.
RULE = AuditRule(
    "CLOCK",
    "The clock of a send says what had been delivered.",
    always,
    _sentence,
    judge_batch=_judge_batch,
    judge=_judge,
    open_by_gaps="without_state",
    marks=_marks,
    other_is_sender=True,
    projection=Projection(clock=True),
)
