"""In which order received runs go to the application: one interface over runs (GCom 2009 §5.1, §5.2).

An ordering is told each run that the multicast passes up and each range that is lost, and answers with what is handed
over now. It never calls anybody. Over RELIABLE runs come without gaps; over BASIC a gap is held until it is filled or
given up. Total order, which needs serials besides, is in `total`.
"""

from __future__ import annotations

from typing import Protocol

from gcom.core.messages.effects import Delivery
from gcom.core.messages.orders import Span
from gcom.core.ordering.causal import Causal
from gcom.core.ordering.fifo import Fifo
from gcom.core.ordering.total import Total
from gcom.core.ordering.unordered import NonOrdered
from gcom.values.definition import Ordering
from gcom.values.names import Process
from gcom.values.run import Run


class Orderer(Protocol):
    """What the group needs of an ordering."""

    def install(self, view: int, members: tuple[Process, ...], cut: dict[Process, int], serial: int) -> None:
        """A new view: every stream stands at the cut, the last serial was `serial`; streams of others have ended."""

    def receive(self, run: Run) -> list[Delivery]:
        """A run came up; returns what is handed over now, in order."""

    def pass_over(self, sender: Process, first: int, last: int) -> list[Delivery]:
        """This range of `sender` will never come; returns what is handed over now."""

    def order(self, spans: list[Span]) -> list[Delivery]:
        """The next serials are for these messages; returns what is handed over now."""

    def close(self) -> list[Delivery]:
        """The view ends and nothing more comes: what is held back for something that nobody has is given up."""

    def abandon(self) -> list[Delivery]:
        """After `close`, where another instance succeeds this one: what has no agreed serial is given up."""


def orderer(ordering: Ordering) -> Orderer:
    """The module for an ordering."""
    match ordering:
        case Ordering.NONORDERED:
            return NonOrdered()
        case Ordering.FIFO:
            return Fifo()
        case Ordering.CAUSAL:
            return Causal()
        case Ordering.TOTAL | Ordering.CAUSALTOTAL:
            return Total(causal=ordering is Ordering.CAUSALTOTAL)
