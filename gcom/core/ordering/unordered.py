"""No order: messages go to the application as they arrive."""

from __future__ import annotations

from collections.abc import Iterator

from gcom.core.hold_back import HeldRun
from gcom.core.messages.effects import Deliver, Delivery, Skip
from gcom.core.messages.orders import Span
from gcom.values.names import Process
from gcom.values.run import Run


class NonOrdered:
    """The ordering that holds nothing back."""

    serial = 0

    def __init__(self) -> None:
        self._view = 0

    def install(self, view: int, members: tuple[Process, ...], cut: dict[Process, int], serial: int) -> None:
        self._view = view

    def receive(self, run: Run) -> list[Delivery]:
        return [Deliver(run, self._view)]

    def pass_over(self, sender: Process, first: int, last: int) -> list[Delivery]:
        return [Skip(sender, first, last - first + 1, self._view)]

    def order(self, spans: list[Span]) -> list[Delivery]:
        return []

    def close(self) -> list[Delivery]:
        # Nothing was held back, so a view ends with nothing to give up. What is missing then is the multicast's affair.
        return []

    def abandon(self) -> list[Delivery]:
        return []

    def held_back(self) -> Iterator[HeldRun]:
        yield from ()
