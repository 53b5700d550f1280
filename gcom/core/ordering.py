"""In which order received runs are released to the application: one interface over runs (GCom 2009 §5.1, §5.2).

An ordering is told each run that the multicast stored and each range that was lost, and answers with the runs that may
be delivered now. It never calls anybody. Over RELIABLE runs come without gaps, so FIFO holds nothing back there; over
BASIC a gap is held until it is filled or given up.
"""

from __future__ import annotations

from typing import Protocol

from gcom.values.definition import Ordering
from gcom.values.names import Process
from gcom.values.run import Run


class Orderer(Protocol):
    """What the group needs of an ordering."""

    def enter(self, sender: Process, number: int) -> None:
        """`sender`'s stream begins after `number`."""

    def receive(self, run: Run) -> list[Run]:
        """A run was stored; returns what may be delivered now, in order."""

    def pass_over(self, sender: Process, last: int) -> list[Run]:
        """What is missing of `sender` up to `last` will never come; returns what may be delivered now."""

    def install(self, members: tuple[Process, ...]) -> None:
        """A new view: streams of others have ended."""


class NonOrdered:
    """Messages go to the application as they arrive."""

    def enter(self, sender: Process, number: int) -> None:
        pass

    def receive(self, run: Run) -> list[Run]:
        return [run]

    def pass_over(self, sender: Process, last: int) -> list[Run]:
        return []

    def install(self, members: tuple[Process, ...]) -> None:
        pass


class Fifo:
    """Each sender's messages in the order it sent them.

    `_next[s]` is the number that may be delivered next; every run in `_held[s]` begins after it.
    """

    def __init__(self) -> None:
        self._next: dict[Process, int] = {}
        self._held: dict[Process, dict[int, Run]] = {}

    def enter(self, sender: Process, number: int) -> None:
        self._next[sender] = number + 1
        self._held[sender] = {}

    def receive(self, run: Run) -> list[Run]:
        if run.first == self._next[run.sender] and not self._held[run.sender]:  # the usual case, without a copy
            self._next[run.sender] = run.last + 1
            return [run]
        assert run.first >= self._next[run.sender], "the multicast passes each message once"
        self._held[run.sender][run.first] = run
        return self._release(run.sender)

    def pass_over(self, sender: Process, last: int) -> list[Run]:
        held = self._held[sender]
        released = [held.pop(first) for first in sorted(held) if first <= last]
        self._next[sender] = max(self._next[sender], last + 1)
        return released + self._release(sender)

    def _release(self, sender: Process) -> list[Run]:
        released: list[Run] = []
        while run := self._held[sender].pop(self._next[sender], None):
            self._next[sender] = run.last + 1
            released.append(run)
        return released

    def install(self, members: tuple[Process, ...]) -> None:
        for sender in [sender for sender in self._next if sender not in members]:
            assert not self._held[sender], "a view ends with nothing held back"
            del self._next[sender], self._held[sender]


def orderer(ordering: Ordering) -> Orderer:
    """The module for an ordering."""
    modules: dict[Ordering, type[NonOrdered] | type[Fifo]] = {Ordering.NONORDERED: NonOrdered, Ordering.FIFO: Fifo}
    return modules[ordering]()
