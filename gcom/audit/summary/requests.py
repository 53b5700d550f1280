"""What a rule asks for when summaries leave it open: the messages themselves."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from gcom.audit.summary.intervals import Intervals


@dataclass(slots=True)
class MessageRequest:
    """Ask for the messages that decide `rule`, in pieces (pieces.py).

    `buckets` are those that differ: of serials for SERIAL_UNIQUE, (sender, bucket of numbers) for INTEGRITY.
    `classes` are, for TOTAL_GAP_FREE, those whose orders differ: the view, and the process and index of each section.
    `delivered` is, for TOTAL, what each process delivered of each sender. `members` are, for CAUSAL, those of each
    view.
    """

    rule: str
    buckets: list[Any] = field(default_factory=list)
    classes: list[tuple[int, list[tuple[str, int]]]] = field(default_factory=list)
    delivered: dict[str, dict[str, Intervals]] = field(default_factory=dict)
    members: dict[int, list[str]] = field(default_factory=dict)
