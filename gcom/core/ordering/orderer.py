"""The interface of all orderings, over runs (GCom 2009 §5.1, §5.2).

An ordering is told each run that the multicast passes up and each range that is lost, and answers with what is handed
over now. It never calls anybody. Over RELIABLE runs come without gaps; over BASIC a gap is held until it is filled or
given up. Total order, which needs serials besides, is in `total`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from gcom.core.hold_back import HeldRun
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
    """The part of an ordering that the group uses. `serial`: the last one that is behind; 0 where there are none."""

    serial: int

    def install(self, view: int, members: tuple[Process, ...], cut: dict[Process, int], serial: int) -> None:
        """Begin a view: every stream stands at the cut, the last serial was `serial`; streams of others have ended."""

    def receive(self, run: Run) -> list[Delivery]:
        """Take a run that came up; return what is handed over now, in order."""

    def pass_over(self, sender: Process, first: int, last: int) -> list[Delivery]:
        """Record that this range of `sender` will never come; return what is handed over now."""

    def order(self, spans: list[Span]) -> list[Delivery]:
        """Take the next serials, for these messages; return what is handed over now."""

    def close(self) -> list[Delivery]:
        """End the view: give up what is held back for something that no member has."""

    def abandon(self) -> list[Delivery]:
        """Give up, after `close`, what has no agreed serial, where another instance succeeds this one."""

    def held_back(self) -> Iterator[HeldRun]:
        """Yield the runs that are held back, and what each waits for."""


def orderer(ordering: Ordering) -> Orderer:
    """Return a new object of the class that keeps an ordering."""
    match ordering:
        case Ordering.NONORDERED:
            return NonOrdered()
        case Ordering.FIFO:
            return Fifo()
        case Ordering.CAUSAL:
            return Causal()
        case Ordering.TOTAL | Ordering.CAUSALTOTAL:
            return Total(causal=ordering is Ordering.CAUSALTOTAL)
