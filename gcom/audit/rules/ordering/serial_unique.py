"""SERIAL_UNIQUE: a serial is of one message, and a message has one serial.

In a bucket in which each process's serials rise, each of them is there once, and equal prints are equal sets. So such
buckets together hold each message with its serial once; if they hold more than there are messages, one has two serials,
of which no bucket needs to know both. Then all messages are compared by number, and those of buckets whose prints
differ by serial too.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from gcom.audit.input.records import Ints
from gcom.audit.rules.certificates import count_placed
from gcom.audit.rules.rule import Case, Example, Mark, Rule, in_order, named, processes_in
from gcom.audit.summary.messages import table_of
from gcom.audit.summary.pieces import Piece
from gcom.audit.summary.requests import MessageRequest
from gcom.audit.summary.tally import Tally


def _ask(case: Case, _: Tally) -> MessageRequest | None:
    summaries = case.group.summaries.values()
    by_bucket: dict[int, set[tuple[int, int, int]]] = defaultdict(set)
    for summary in summaries:
        for bucket, prints in summary.serials.items():
            by_bucket[bucket].add(prints)
    late = {bucket for summary in summaries for bucket in summary.late_serials}
    unlike = [bucket for bucket in sorted(by_bucket) if len(by_bucket[bucket]) > 1 or bucket in late]
    placed = sum(n for each in by_bucket.values() for n, _, _ in each) if not unlike else 0
    # What has no serial here may have one there, and is not counted.
    known = not any(summary.deliveries_without_serial for summary in summaries)
    certain = not unlike and known and placed == count_placed(case.group)
    return MessageRequest("SERIAL_UNIQUE", buckets=unlike) if by_bucket and not certain else None


def _judge_bucket(_: MessageRequest, sender: str, pieces: list[Piece], __: frozenset[str]) -> Tally:
    """Of a bucket of serials (no sender) or of a sender's numbers: no two rows share one and differ in the other."""
    tally = Tally()
    table = table_of(pieces)
    key, other, kind = (table.message, table.serial, "message") if sender else (table.serial, table.message, "serial")
    order: Ints = np.lexsort((other, key))
    clash = np.flatnonzero((key[order][1:] == key[order][:-1]) & (other[order][1:] != other[order][:-1]))
    for index in clash.tolist():
        one, two = sorted((int(order[index]), int(order[index + 1])))
        more = {"serial": int(table.serial[two]), "other_serial": int(table.serial[one])}
        tally.violate(1, kind=kind, **table.where(two), **more, other=table.where(one))
    return tally


def _sentence(e: Example) -> str:
    other = e["other"]
    if e["kind"] == "serial":
        return f"Serial {e['serial']} is {named(e)} at {e['process']} and {named(other)} at {other['process']}."
    where = f"{e['serial']} at {e['process']} and {e['other_serial']} at {other['process']}"
    return f"{named(e).capitalize()} has serial {where}."


def _marks(e: Example) -> set[Mark]:
    return {("serials", who, None) for who in processes_in(e)}


RULE = Rule(
    "SERIAL_UNIQUE",
    "A serial is of one message, and a message has one serial.",
    in_order("TOTAL", "CAUSALTOTAL"),
    _sentence,
    ask=_ask,
    judge_bucket=_judge_bucket,
    marks=_marks,
)
