"""A piece of a view's order, as frames and the registry's sequencer carry it (docs/protocols/order.md)."""

from __future__ import annotations

from dataclasses import dataclass

from gcom.values.names import Process

Span = tuple[Process, int, int]  # sender, first and last number


@dataclass(frozen=True, slots=True)
class Orders:
    """A piece of a view's order: the serials after `after`."""

    view: int
    after: int
    spans: tuple[Span, ...]

    @property
    def end(self) -> int:
        """The last serial that it tells."""
        return self.after + sum(last - first + 1 for _, first, last in self.spans)
