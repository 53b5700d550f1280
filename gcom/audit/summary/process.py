"""The summary of one process's log for one (group, instance): its own violations, and the data to compare."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from gcom.audit.input.contract import Record
from gcom.audit.summary.intervals import Intervals
from gcom.audit.summary.position import Key
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
class SectionSummary:
    """A piece of a process's section: from installing `view`, or the beginning of the part scanned, to its end.

    `start` is the highest settled number of each member at the instant of installing, None if that is not certain or
    was not seen. `next` tells how the process went on: to a view, or "into" and an instance (lineage.INTO); "none" if
    it belongs to no class, "unknown" if a gap hides it, "open" where the log ends inside, which becomes "END" if the
    log is complete (InstanceLogs.of). `settled` are the messages that it had settled by the end of this section, since
    its session began. `serial` is the last one before the section, where `start` is not None.
    `placed` and `no_ops` are the serials of messages and of none, `no_op_places` the first records of the latter.
    """

    view: int
    installed: bool
    start: dict[str, int] | None
    covered: bool
    delivered: dict[str, Intervals] = field(default_factory=dict)
    sends: Intervals = field(default_factory=Intervals)
    settled: dict[str, Intervals] = field(default_factory=dict)
    next: int | str = "open"
    order: Fingerprints = field(default_factory=dict)  # of the deliveries, by their places
    serial: int = 0
    placed: Intervals = field(default_factory=Intervals)
    no_ops: Intervals = field(default_factory=Intervals)
    no_op_places: list[dict[str, Any]] = field(default_factory=list)


@dataclass(slots=True)
class ProcessSummary:
    """The summary of one process's log, or of a part of it, for one (group, instance): some kilobytes, however long the
    log is.

    Message numbers are kept per sender; fields without a sender are of the process's own messages.
    """

    process: str
    key: Key
    # What the scan has judged already: the rules' cases that need no other log.
    tallies: dict[str, Tally] = field(default_factory=dict)
    sections: list[SectionSummary] = field(default_factory=list)
    views: list[Record] = field(default_factory=list)
    elects: list[Record] = field(default_factory=list)
    gaps: list[tuple[int, bool]] = field(default_factory=list)  # position, and whether a state behind it tells the rest
    sent: Intervals = field(default_factory=Intervals)
    sent_in: dict[int, Intervals] = field(default_factory=dict)  # by view
    # By sender and view, where the record's views agree with one another and with the view in force.
    delivered_in: dict[tuple[str, int], Intervals] = field(default_factory=dict)
    highest_sent: int = 0  # also where only a state tells of it
    highest: dict[str, int] = field(default_factory=dict)  # delivered, of each sender
    delivered: dict[str, Intervals] = field(default_factory=dict)
    deliveries: int = 0
    deliveries_without_serial: int = 0
    serials: Fingerprints = field(default_factory=dict)
    skipped: dict[str, Intervals] = field(default_factory=dict)  # with their serials
    given_up: dict[str, Intervals] = field(default_factory=dict)  # skipped, with a serial or without
    first_serial: int = 0
    last_serial: int = 0  # the highest
    late_serials: frozenset[int] = frozenset()  # buckets in which a serial is not above all before it
    sent_digests: Fingerprints = field(default_factory=dict)
    delivered_digests: Fingerprints = field(default_factory=dict)
    sent_with_digest: Intervals = field(default_factory=Intervals)
    delivered_with_digest: dict[str, Intervals] = field(default_factory=dict)
    # Of each other process: the first own message that was sent after a delivery from it, and so depends on it.
    depends_from: dict[str, int] = field(default_factory=dict)
    # Clock entries that are wrong if the other process is in the view, which this part of the log does not tell: by
    # view, other process, and whether a gap hides the view's record (else an earlier part has it).
    undecided_clocks: dict[tuple[int, str, bool], Tally] = field(default_factory=dict)
    timeline: Timeline = field(default_factory=Timeline)
    # For CONTINUITY: the record that ended the session and what was settled then, confirmations by view and `by`, and
    # the states taken over.
    end: Record = field(default_factory=dict)
    settled_at_end: dict[str, Intervals] = field(default_factory=dict)
    confirmed: dict[tuple[int, str], Intervals] = field(default_factory=dict)
    adopts: list[Record] = field(default_factory=list)

    def tally(self, rule: str) -> Tally:
        """Return the tally of a rule, to which cases are added."""
        return self.tallies.setdefault(rule, Tally())
