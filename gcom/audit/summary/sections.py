"""Sections: the events between two views at one process, as far as rules compare them."""

from __future__ import annotations

from dataclasses import dataclass, field

from gcom.audit.summary.intervals import Intervals


@dataclass(slots=True)
class SectionSummary:
    """A piece of a process's section: from installing `view`, or the beginning of the part scanned, to its end.

    `start` is the highest settled number of each member at the instant of installing, None if that is not certain or
    was not seen. `next` is a view, "none", "unknown", or "open" where the log ends inside. `settled` are the messages
    that the process had settled at the end of its whole session so far. `serial` is the last before the section, where
    `start` is told.
    """

    view: int
    installed: bool
    start: dict[str, int] | None
    covered: bool
    delivered: dict[str, Intervals] = field(default_factory=dict)
    sends: Intervals = field(default_factory=Intervals)
    settled: dict[str, Intervals] = field(default_factory=dict)
    next: int | str = "open"
    # Of each bucket of places of the order of delivery: how many messages, and two sums (fingerprints.py).
    order: dict[int, tuple[int, int, int]] = field(default_factory=dict)
    serial: int = 0
