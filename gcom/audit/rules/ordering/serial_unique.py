"""SERIAL_UNIQUE: a serial is of one message or no-op, and a message has one serial.

In a bucket in which each process's serials rise, each of them is there once, and equal prints are equal sets. So such
buckets together hold each message with its serial once; if they hold more than there are messages, one has two serials,
which may lie in different buckets. Then all messages are compared by number, and those of buckets whose prints differ
by serial too.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from gcom.audit.input.contract import DELIVER, SKIP
from gcom.audit.input.rows import Ints
from gcom.audit.rules.certificates import count_with_serial
from gcom.audit.rules.rule import AuditRule, Case, Example, Mark, named, processes_in, where_total
from gcom.audit.summary.batch import Batch
from gcom.audit.summary.excerpts import Excerpt, MessageRequest
from gcom.audit.summary.fingerprints import BUCKET, fingerprints
from gcom.audit.summary.intervals import Intervals, add_numbers
from gcom.audit.summary.messages import table_of
from gcom.audit.summary.process import add_prints
from gcom.audit.summary.runs import merged
from gcom.audit.summary.tally import Tally


def _judge_batch(batch: Batch) -> None:
    """Record fingerprints of rows with serials, and the buckets in which a serial is not above all before it."""
    rows, summary, passed = batch.rows, batch.summary, batch.passed
    without = (rows.kind[passed] == DELIVER) & (rows.serial[passed] < 0)
    summary.deliveries_without_serial += int(rows.count[passed][without].sum())
    placed = passed[rows.serial[passed] >= 0]
    if not len(placed):
        return
    first = rows.serial[placed]
    last = first + rows.count[placed] - 1
    # Late, if not above all before it: then the bucket may have it twice, and equal prints prove nothing.
    highest = np.maximum.accumulate(np.concatenate(([summary.last_serial], last)))
    for index in np.flatnonzero(first <= highest[:-1]).tolist():
        summary.late_serials |= {*range(int(first[index]) // BUCKET, int(last[index]) // BUCKET + 1)}
    # For joining chains: each was scanned by itself, and only these two tell whether serials fell between them.
    summary.first_serial, summary.last_serial = summary.first_serial or int(first[0]), int(highest[-1])
    named_ones = placed[rows.sender[placed] >= 0]
    for who, _, ranges in merged(rows, named_ones[rows.kind[named_ones] == SKIP], by_view=False):
        add_numbers(summary.skipped, {who: Intervals(ranges)})
    summary.tally("SERIAL_UNIQUE").evaluated += int(rows.count[named_ones].sum())
    runs = rows.number[named_ones], rows.serial[named_ones], rows.count[named_ones]
    add_prints(summary.serials, fingerprints(batch.words[rows.sender[named_ones]], *runs, batch.seeds))


def _judge(case: Case, tally: Tally) -> None:
    """Judge that a serial is a no-op at all of a class or at none, and in a SAFE group at none where anybody has a
    message under it.
    """
    for bound in case.group.bound():
        placed = Intervals()
        for _, section in bound.heard if any(section.no_ops for _, section in bound.members) else ():
            placed = placed.union(section.placed)
        for who, section in bound.members:
            if clash := section.no_ops.common(placed):
                other = next(p for p, s in bound.heard if clash.lowest in s.placed)
                places = [each for each in section.no_op_places if each["serial"] in clash]
                where = (places or section.no_op_places)[0]
                more = {"process": who, "serial": clash.lowest, "other": other}
                tally.violate(len(clash), kind="no-op", **where | more)


def _ask(case: Case, _: Tally) -> MessageRequest | None:
    summaries = case.group.summaries.values()
    by_bucket: dict[int, set[tuple[int, int, int]]] = defaultdict(set)
    for summary in summaries:
        for bucket, prints in summary.serials.items():
            by_bucket[bucket].add(prints)
    # A process that goes back in a bucket may have one serial twice in it, and with equal prints at all processes
    # nothing would differ.
    late = {bucket for summary in summaries for bucket in summary.late_serials}
    unlike = [bucket for bucket in sorted(by_bucket) if len(by_bucket[bucket]) > 1 or bucket in late]
    # One message under two serials, and one without any, would be as many as there should be: so the count proves
    # nothing where any delivery lacks its serial.
    placed = sum(n for each in by_bucket.values() for n, _, _ in each) if not unlike else 0
    # What has no serial here may have one there, and is not counted.
    known = not any(summary.deliveries_without_serial for summary in summaries)
    certain = not unlike and known and placed == count_with_serial(case.group)
    return MessageRequest("SERIAL_UNIQUE", buckets=unlike) if by_bucket and not certain else None


def _judge_bucket(_: MessageRequest, sender: str, excerpts: list[Excerpt], __: frozenset[str]) -> Tally:
    """Judge a bucket of serials (no sender) or of a sender's numbers: no two rows share one and differ in the other."""
    tally = Tally()
    table = table_of(excerpts)
    # One bucket is compared one way only: by serial, which two messages share; or by number, which has two serials.
    key, other, kind = (table.message, table.serial, "message") if sender else (table.serial, table.message, "serial")
    # Sorted by one and then the other, two rows that clash are neighbours; a third is a clash
    # with its neighbour only.
    order: Ints = np.lexsort((other, key))
    clash = np.flatnonzero((key[order][1:] == key[order][:-1]) & (other[order][1:] != other[order][:-1]))
    for index in clash.tolist():
        one, two = sorted((int(order[index]), int(order[index + 1])))
        more = {"serial": int(table.serial[two]), "other_serial": int(table.serial[one])}
        tally.violate(1, kind=kind, **table.where(two), **more, other=table.where(one))
    return tally


def _sentence(e: Example) -> str:
    other = e["other"]
    if e["kind"] == "no-op":
        return f"Serial {e['serial']} is of no message at {e['process']}, and of one at {other}."
    if e["kind"] == "serial":
        return f"Serial {e['serial']} is {named(e)} at {e['process']} and {named(other)} at {other['process']}."
    where = f"{e['serial']} at {e['process']} and {e['other_serial']} at {other['process']}"
    return f"{named(e).capitalize()} has serial {where}."


def _marks(e: Example) -> set[Mark]:
    return {("serials", who, None) for who in processes_in(e)}


# Blamed where numbers come in another order under the same serials, and for a serial that a
# new sequencer gives again.
RULE = AuditRule(
    "SERIAL_UNIQUE",
    "A serial is of one message or no-op, and a message has one serial.",
    where_total,
    _sentence,
    judge_batch=_judge_batch,
    judge=_judge,
    ask=_ask,
    judge_bucket=_judge_bucket,
    marks=_marks,
)
