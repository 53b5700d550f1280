"""The summary of one process's log for one (group, instance): its own violations, and the data to compare."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from gcom.audit.input.records import Record
from gcom.audit.summary.intervals import Intervals
from gcom.audit.summary.position import Key
from gcom.audit.summary.sections import SectionSummary
from gcom.audit.summary.tally import Tally
from gcom.audit.summary.timeline import Timeline

# Of each bucket: how many messages, and two sums (fingerprints.py).
Fingerprints = dict[Any, tuple[int, int, int]]


def add_prints(mine: Fingerprints, theirs: Fingerprints) -> None:
    """Add `theirs` to `mine`: counts add up, and so do sums, modulo 2^64."""
    for bucket, (n, s1, s2) in theirs.items():
        m, t1, t2 = mine.get(bucket, (0, 0, 0))
        mine[bucket] = (m + n, (t1 + s1) % 2**64, (t2 + s2) % 2**64)


@dataclass(slots=True)
class ProcessSummary:
    """The summary of one process's log, or of a part of it, for one (group, instance).

    `digested` and `heard_digested` are the numbers sent, and delivered of each sender, that have digests. `sent_in` and
    `heard_in` are, by view, the numbers sent, and delivered of each sender where the record's views agree with one
    another and with the view in force. `dependent_from` is per other process the first own number that was sent after a
    delivery from it. `unplaced` are clocks that are wrong if the other process is in the view, where this part of the
    log does not tell: by view, other process, and whether a gap hides the view's record.
    """

    process: str
    key: Key
    tallies: dict[str, Tally] = field(default_factory=dict)
    sections: list[SectionSummary] = field(default_factory=list)
    views: list[Record] = field(default_factory=list)
    elects: list[Record] = field(default_factory=list)
    gaps: list[tuple[int, bool]] = field(default_factory=list)
    sent: Intervals = field(default_factory=Intervals)
    sent_in: dict[int, Intervals] = field(default_factory=dict)
    heard_in: dict[tuple[str, int], Intervals] = field(default_factory=dict)
    known_sent: int = 0
    highest: dict[str, int] = field(default_factory=dict)
    delivered: dict[str, Intervals] = field(default_factory=dict)
    deliveries: int = 0
    deliveries_without_serial: int = 0
    serials: Fingerprints = field(default_factory=dict)
    skipped: dict[str, Intervals] = field(default_factory=dict)  # of each sender, what was skipped with its serial
    first_serial: int = 0
    last_serial: int = 0  # the highest
    late_serials: frozenset[int] = frozenset()  # buckets in which a serial is not above all before it
    sent_digests: Fingerprints = field(default_factory=dict)
    heard_digests: Fingerprints = field(default_factory=dict)
    digested: Intervals = field(default_factory=Intervals)
    heard_digested: dict[str, Intervals] = field(default_factory=dict)
    dependent_from: dict[str, int] = field(default_factory=dict)
    unplaced: dict[tuple[int, str, bool], Tally] = field(default_factory=dict)
    timeline: Timeline = field(default_factory=Timeline)
    # For CONTINUITY (continuity.py): the end of the session, what was settled then, and what an instance's successor
    # owes.
    end: Record = field(default_factory=dict)
    left_with: dict[str, Intervals] = field(default_factory=dict)
    confirmed: dict[tuple[int, str], Intervals] = field(default_factory=dict)  # by view and `by`
    adopts: list[Record] = field(default_factory=list)

    def tally(self, rule: str) -> Tally:
        return self.tallies.setdefault(rule, Tally())
