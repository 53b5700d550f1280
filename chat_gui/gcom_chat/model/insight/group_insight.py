"""The dock's knowledge of one group: its newest snapshot, the traces of its last messages, and its timeline."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import gcom
from gcom_chat.model.insight.clocks import ClockMatrix
from gcom_chat.model.insight.timeline import GroupTimeline

TRACES_MAX = 2_000  # what pages look back on; older ones are in the delivery log


@dataclass(frozen=True, slots=True)
class Probed:
    """A look at a group: its snapshot, and the traces since the last look."""

    group: str
    snapshot: gcom.Snapshot
    traces: tuple[gcom.Trace, ...]


class GroupInsight:
    """Grows by looks and events; the timeline goes on while the dock is closed."""

    def __init__(self) -> None:
        self.snapshot: gcom.Snapshot | None = None
        self.clocks = ClockMatrix()
        self.timeline = GroupTimeline()
        self.traces: deque[gcom.Trace] = deque(maxlen=TRACES_MAX)

    def on_probed(self, snapshot: gcom.Snapshot, traces: Sequence[gcom.Trace], now_ms: int) -> None:
        """Take a look at the group."""
        self.snapshot = snapshot
        self.clocks.on_snapshot(snapshot, now_ms)
        self.traces.extend(traces)
