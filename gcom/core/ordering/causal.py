"""Causal order by vector clocks of runs (Birman, Schiper, Stephenson 1991, §5.1)."""

from __future__ import annotations

from collections.abc import Iterator

from gcom.core.hold_back import HeldRun
from gcom.core.messages.effects import Delivery
from gcom.core.ordering.fifo import Fifo
from gcom.values.names import Process
from gcom.values.run import Run
from gcom.values.snapshot import MISSING_MAX, Missing


class Causal(Fifo):
    """The order in which a message comes after all that its sender had delivered before sending it.

    A sender whose next run waits stands in `_waiting` under the one stream that it waits for.
    """

    def __init__(self) -> None:
        super().__init__()
        self._waiting: dict[Process, dict[Process, int]] = {}  # stream: {sender that waits: for which number}

    def install(self, view: int, members: tuple[Process, ...], cut: dict[Process, int], serial: int) -> None:
        super().install(view, members, cut, serial)
        self._waiting = {member: {} for member in members}

    def receive(self, run: Run) -> list[Delivery]:
        self._held_back[run.sender][run.first] = run
        return self._release(run.sender)

    def _release(self, sender: Process) -> list[Delivery]:
        released: list[Delivery] = []
        # A release may free senders that wait for this one, and these others. Only they are looked at: with N senders
        # in wait, a look at all after each release would cost N per run.
        free = [sender]
        while free:
            freed = free.pop()
            if released_now := super()._release(freed):
                released += released_now
                free += self._freed_by(freed)
        return released

    def _waits(self, run: Run) -> bool:
        """Return whether a part of the run's past is not here; its sender then waits for the first such part."""
        # A run's clock says only what changed since its sender's last run. That is enough, since those runs were
        # released first; over BASIC, where one may be lost, a run repeats all that changed in the view.
        for other, number in run.clock.items():
            # A stream that is not of this view has ended: everything of it was delivered or given up at the cut.
            if other != run.sender and number > self._settled.get(other, number):
                # Under the first missing stream only. Once that is there the run is looked at anew, and
                # stands under the next.
                self._waiting[other][run.sender] = number
                return True
        return False

    def held_back(self) -> Iterator[HeldRun]:
        past: dict[Process, tuple[Missing, ...]] = {}
        for sender, first, last, missing in super().held_back():
            # The sender's runs are released in order: what the earlier ones wait for, the later ones do as well.
            past[sender] = tuple(dict.fromkeys((*past.get(sender, ()), *self._predecessors(sender, first))))
            yield sender, first, last, (*missing, *past[sender])[:MISSING_MAX]

    def _predecessors(self, sender: Process, first: int) -> Iterator[Missing]:
        """Yield what of a held run's causal past is not behind."""
        for other, number in self._held_back[sender][first].clock.items():
            settled = self._settled.get(other, number)
            if other != sender and number > settled:
                yield Missing("message", other, settled + 1, number)

    def _freed_by(self, stream: Process) -> list[Process]:
        waiting = self._waiting[stream]
        freed = [sender for sender, number in waiting.items() if number <= self._settled[stream]]
        for sender in freed:
            del waiting[sender]
        return freed
