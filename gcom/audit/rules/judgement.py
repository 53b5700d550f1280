"""The judgement of one (group, instance): a tally per rule, and the input of later stages."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from gcom.audit.summary.excerpts import MessageRequest
from gcom.audit.summary.history import History
from gcom.audit.summary.intervals import Intervals
from gcom.audit.summary.lineage import SessionSummary
from gcom.audit.summary.position import Key
from gcom.audit.summary.tally import Tally

DeliveredNumbers = dict[str, Intervals]


@dataclass(slots=True)
class Judgement:
    """The judgement of one (group, instance). `requests` are the messages that rules still need.

    `starts` are the beginnings of chains: the index of the first section, and the number of its deliveries that an
    earlier chain has. `outcomes` are, where CAUSAL is judged over messages, the messages that each process delivered,
    and those that it settled.
    """

    key: Key
    definition: dict[str, Any]
    expected: frozenset[str]
    tallies: dict[str, Tally]
    processes: list[str]
    views: int
    deliveries: int
    members: dict[int, list[str]]  # by view
    requests: list[MessageRequest] = field(default_factory=list)
    starts: dict[int, tuple[int, int]] = field(default_factory=dict)
    outcomes: dict[str, tuple[DeliveredNumbers, DeliveredNumbers]] = field(default_factory=dict)
    history: History = field(default_factory=History)
    sends: int = 0
    missing_records: str = ""  # why the logs do not show that a promise was kept, though nothing breaks it
    sessions: list[SessionSummary] = field(default_factory=list)  # for CONTINUITY, which is judged over all instances


def verdict_of(tally: Tally) -> str:
    """Return FAIL, UNKNOWN, VACUOUS or PASS (DELIVERY_LOG.md, Verdict)."""
    if tally.violations:
        return "FAIL"
    if tally.unknown:
        return "UNKNOWN"
    return "PASS" if tally.evaluated else "VACUOUS"
