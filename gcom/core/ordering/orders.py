"""In which order received runs go to the application: one interface over runs (GCom 2009 §5.1, §5.2).

An ordering is told each run that the multicast passes up and each range that is lost, and answers with what is handed
over now. It never calls anybody. Over RELIABLE runs come without gaps; over BASIC a gap is held until it is filled or
given up. Total order, which needs serials besides, is in `total`.
"""

from __future__ import annotations

from typing import Protocol

from gcom.core.messages.effects import Deliver, Skip
from gcom.core.messages.orders import Span
from gcom.core.ordering.total import Total
from gcom.values.definition import Ordering
from gcom.values.names import Process
from gcom.values.run import Run

Up = Deliver | Skip  # what goes to the application


class Orderer(Protocol):
    """What the group needs of an ordering."""

    def install(self, view: int, members: tuple[Process, ...], cut: dict[Process, int], serial: int) -> None:
        """A new view: every stream stands at the cut, the last serial was `serial`; streams of others have ended."""

    def receive(self, run: Run) -> list[Up]:
        """A run came up; returns what is handed over now, in order."""

    def pass_over(self, sender: Process, first: int, last: int) -> list[Up]:
        """This range of `sender` will never come; returns what is handed over now."""

    def order(self, spans: list[Span]) -> list[Up]:
        """The next serials are for these messages; returns what is handed over now."""

    def close(self) -> list[Up]:
        """The view ends and nothing more comes: what is held back for something that nobody has is given up."""

    def abandon(self) -> list[Up]:
        """After `close`, where another instance succeeds this one: what has no agreed serial is given up."""


class NonOrdered:
    """Messages go to the application as they arrive."""

    def __init__(self) -> None:
        self._view = 0

    def install(self, view: int, members: tuple[Process, ...], cut: dict[Process, int], serial: int) -> None:
        self._view = view

    def receive(self, run: Run) -> list[Up]:
        return [Deliver(run, self._view)]

    def pass_over(self, sender: Process, first: int, last: int) -> list[Up]:
        return [Skip(sender, first, last - first + 1, self._view)]

    def order(self, spans: list[Span]) -> list[Up]:
        return []

    def close(self) -> list[Up]:
        return []

    def abandon(self) -> list[Up]:
        return []


class Fifo(NonOrdered):
    """Each sender's messages in the order it sent them.

    `_settled[s]`: 1…n of s are behind. `_held[s]` are runs beyond it, by their first number; `_lost[s]` ranges.
    """

    def __init__(self) -> None:
        super().__init__()
        self._settled: dict[Process, int] = {}
        self._held: dict[Process, dict[int, Run]] = {}
        self._lost: dict[Process, dict[int, int]] = {}  # first to last

    def install(self, view: int, members: tuple[Process, ...], cut: dict[Process, int], serial: int) -> None:
        self._view = view
        self._settled = {member: max(cut.get(member, 0), self._settled.get(member, 0)) for member in members}
        self._held = {member: {} for member in members}
        self._lost = {member: {} for member in members}

    def receive(self, run: Run) -> list[Up]:
        nothing_waits = not self._held[run.sender] and not self._lost[run.sender]
        if run.first == self._settled[run.sender] + 1 and nothing_waits:  # the usual case, without a copy
            self._settled[run.sender] = run.last
            return [Deliver(run, self._view)]
        self._held[run.sender][run.first] = run
        return self._release(run.sender)

    def pass_over(self, sender: Process, first: int, last: int) -> list[Up]:
        """It is skipped in its place: who has dealt with it has dealt with all before it, and windows open so far."""
        self._lost[sender][first] = last
        return self._release(sender)

    def close(self) -> list[Up]:
        """What is left waits for a message that nobody holds: the same at everyone (DESIGN 8, over RELIABLE)."""
        given_up: list[Up] = []
        for sender, held in self._held.items():
            ranges = {**{first: run.last for first, run in held.items()}, **self._lost[sender]}
            given_up += [self._skip(sender, first, last) for first, last in sorted(ranges.items())]
            held.clear()
            self._lost[sender].clear()
        return given_up

    def _skip(self, sender: Process, first: int, last: int) -> Skip:
        return Skip(sender, first, last - first + 1, self._view)

    def _release(self, sender: Process) -> list[Up]:
        released: list[Up] = []
        while True:
            following = self._settled[sender] + 1
            if run := self._held[sender].pop(following, None):
                self._settled[sender] = run.last
                released.append(Deliver(run, self._view))
            elif lost := self._lost[sender].pop(following, None):
                self._settled[sender] = lost
                released.append(self._skip(sender, following, lost))
            else:
                return released


class Causal(Fifo):
    """A message after all that its sender had delivered before sending it (Birman, Schiper, Stephenson 1991, §5.1).

    A run's clock says what changed since its sender's last run; as each sender's runs are released in order, that is
    all that needs to be looked at. A sender whose next run waits stands in `_waiting` under the one stream it waits
    for, so a release looks only at those whom it may free.
    """

    def __init__(self) -> None:
        super().__init__()
        self._waiting: dict[Process, dict[Process, int]] = {}  # stream: {sender that waits: for which number}

    def install(self, view: int, members: tuple[Process, ...], cut: dict[Process, int], serial: int) -> None:
        super().install(view, members, cut, serial)
        self._waiting = {member: {} for member in members}

    def receive(self, run: Run) -> list[Up]:
        self._held[run.sender][run.first] = run
        return self._release(run.sender)

    def _release(self, sender: Process) -> list[Up]:
        released: list[Up] = []
        free = [sender]
        while free:
            freed = free.pop()
            before = self._settled[freed]
            self._release_of(freed, released)
            if self._settled[freed] > before:
                free += self._freed_by(freed)
        return released

    def _release_of(self, sender: Process, released: list[Up]) -> None:
        while True:
            following = self._settled[sender] + 1
            run = self._held[sender].get(following)
            if run is not None:
                if self._waits(run):
                    return
                del self._held[sender][following]
                self._settled[sender] = run.last
                released.append(Deliver(run, self._view))
            elif lost := self._lost[sender].pop(following, None):
                self._settled[sender] = lost
                released.append(self._skip(sender, following, lost))
            else:
                return

    def _waits(self, run: Run) -> bool:
        """Whether something of the run's past is not here; its sender then waits for the first such thing."""
        for other, number in run.clock.items():
            if other != run.sender and number > self._settled.get(other, number):
                self._waiting[other][run.sender] = number
                return True
        return False

    def _freed_by(self, stream: Process) -> list[Process]:
        waiting = self._waiting[stream]
        freed = [sender for sender, number in waiting.items() if number <= self._settled[stream]]
        for sender in freed:
            del waiting[sender]
        return freed


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
