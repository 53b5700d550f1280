"""Interruptions of a log for every group: a gap, or the opening of a segment."""

from __future__ import annotations

from dataclasses import dataclass

from gcom.audit.input.records import Record


@dataclass(slots=True)
class Break:
    """An interruption for all groups, before `row`: a gap, or the opening after it, with its state."""

    row: int
    at: int
    gap: bool
    state: Record | None
    told: bool = False  # a gap: an opening follows at once that has a state
