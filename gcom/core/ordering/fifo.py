"""FIFO order: each sender's messages in the order in which it sent them (GCom 2009 §5.1)."""

from __future__ import annotations

from collections.abc import Iterator

from gcom.core.hold_back import HeldRun, gaps
from gcom.core.messages.effects import Deliver, Delivery, Skip
from gcom.core.ordering.unordered import NonOrdered
from gcom.values.names import Process
from gcom.values.run import Run


class Fifo(NonOrdered):
    """The order in which each sender sent.

    `_settled[s]`: 1…n of s are behind. `_held_back[s]` are runs beyond it, by their first number; `_lost[s]` ranges.
    """

    def __init__(self) -> None:
        super().__init__()
        self._settled: dict[Process, int] = {}
        self._held_back: dict[Process, dict[int, Run]] = {}
        self._lost: dict[Process, dict[int, int]] = {}  # first to last

    def install(self, view: int, members: tuple[Process, ...], cut: dict[Process, int], serial: int) -> None:
        self._view = view
        # Over BASIC a stream may stand beyond the cut: what was received there is never handed over twice.
        self._settled = {member: max(cut.get(member, 0), self._settled.get(member, 0)) for member in members}
        self._held_back = {member: {} for member in members}
        self._lost = {member: {} for member in members}

    def receive(self, run: Run) -> list[Delivery]:
        nothing_waits = not self._held_back[run.sender] and not self._lost[run.sender]
        # The usual case, without a copy.
        if run.first == self._settled[run.sender] + 1 and nothing_waits:
            self._settled[run.sender] = run.last
            return [Deliver(run, self._view)]
        self._held_back[run.sender][run.first] = run
        return self._release(run.sender)

    def pass_over(self, sender: Process, first: int, last: int) -> list[Delivery]:
        """Skip a lost range in its place."""
        # Not at once: a member that is done with a number counts as done with all before, and the window opens so far.
        self._lost[sender][first] = last
        return self._release(sender)

    def close(self) -> list[Delivery]:
        """Give up what is left: it waits for a message that no member holds."""
        # Over RELIABLE all who go on have the same cut, so they give up the same (ARCHITECTURE 8).
        given_up: list[Delivery] = []
        for sender, held in self._held_back.items():
            ranges = {**{first: run.last for first, run in held.items()}, **self._lost[sender]}
            given_up += [self._skip(sender, first, last) for first, last in sorted(ranges.items())]
            held.clear()
            self._lost[sender].clear()
        return given_up

    def held_back(self) -> Iterator[HeldRun]:
        for sender, held in self._held_back.items():
            ranges = {first: run.last for first, run in held.items()}
            yield from gaps(sender, self._settled[sender], ranges, self._lost[sender])

    def _skip(self, sender: Process, first: int, last: int) -> Skip:
        return Skip(sender, first, last - first + 1, self._view)

    def _release(self, sender: Process) -> list[Delivery]:
        released: list[Delivery] = []
        while True:
            following = self._settled[sender] + 1
            if run := self._held_back[sender].get(following):
                # A sender's runs are released in order, so one that waits holds up all that follow it.
                if self._waits(run):
                    return released
                del self._held_back[sender][following]
                self._settled[sender] = run.last
                released.append(Deliver(run, self._view))
            elif lost := self._lost[sender].pop(following, None):
                self._settled[sender] = lost
                released.append(self._skip(sender, following, lost))
            else:
                return released

    def _waits(self, run: Run) -> bool:
        """Return whether the next run of a sender waits for other senders' messages; in FIFO order none does."""
        return False
