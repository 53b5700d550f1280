"""Tallies of one rule's cases: the numbers that hold, that are violated, and that are unknown."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from gcom.audit.summary.timeline import Spread

EXAMPLES = 8  # violations that a tally keeps whole; the rest are only counted


@dataclass(slots=True)
class Tally:
    """A rule's cases as far as one stage could judge them."""

    evaluated: int = 0
    violations: int = 0
    unknown: int = 0
    reason: str = ""  # of the first unknown case
    examples: list[dict[str, Any]] = field(default_factory=list)
    spread: Spread = field(default_factory=Spread)

    def violate(self, messages: int, **example: Any) -> None:
        """Count `messages` violations; one example stands for them."""
        self.violations += messages
        if "at" in example:
            self.spread.add(example.get("process", ""), example["at"], messages)
        # A broken log may violate a rule at each of its messages: the count says how often, the first few say what.
        if len(self.examples) < EXAMPLES:
            self.examples.append(example)

    def doubt(self, messages: int, reason: str) -> None:
        """Count `messages` unknown cases; the first reason stays."""
        self.unknown += messages
        self.reason = self.reason or reason

    def name(self, process: str) -> None:
        """Name the process in violations that name none: those that its own log showed."""
        for example in self.examples:
            example.setdefault("process", process)
        self.spread.name(process)

    def add(self, other: Tally) -> None:
        self.evaluated += other.evaluated
        self.violations += other.violations
        self.unknown += other.unknown
        self.reason = self.reason or other.reason
        self.examples += other.examples[: EXAMPLES - len(self.examples)]
        self.spread.join(other.spread)
