"""Total order: messages go to the application by their serials, through all views (ARCHITECTURE 6; DSU 2004, §4.1).

It is told the order (only what a majority of the view holds, from `agreement`), the payloads, and what is lost. A
serial whose message is lost here is skipped in its place. With `causal`, a message whose past nobody holds is given up
too, at its serial.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from gcom.core.hold_back import PLACE, HeldRun
from gcom.core.messages.effects import Deliver, Skip
from gcom.core.messages.orders import Span
from gcom.values.names import Process
from gcom.values.run import Run
from gcom.values.snapshot import Missing


class Total:
    """Total order, and with `causal` causal-total. `_order` are the serials after `serial`, in order."""

    def __init__(self, causal: bool) -> None:
        self._causal = causal
        self._view = 0
        self.serial = 0
        self._closing = False
        # By sender: the first number that is lost to all members, or that depends on a message that is.
        self._given_up: dict[Process, int] = {}
        self._held_back: dict[Process, dict[int, Run]] = {}  # by their first number
        self._lost: dict[Process, dict[int, int]] = {}  # first to last
        self._order: deque[Span] = deque()

    def install(self, view: int, members: tuple[Process, ...], cut: dict[Process, int], serial: int) -> None:
        self._view, self.serial, self._closing = view, serial, False
        self._order.clear()
        self._given_up = {}
        self._held_back = {member: {} for member in members}
        self._lost = {member: {} for member in members}

    def receive(self, run: Run) -> list[Deliver | Skip]:
        self._held_back[run.sender][run.first] = run
        return self._release() if self._order else []

    def pass_over(self, sender: Process, first: int, last: int) -> list[Deliver | Skip]:
        self._lost[sender][first] = last
        return self._release()

    def order(self, spans: list[Span]) -> list[Deliver | Skip]:
        self._order += spans
        return self._release()

    def close(self) -> list[Deliver | Skip]:
        """End the view: all that comes has come, so what the order still has and nobody holds is a no-op everywhere."""
        self._closing = True
        return self._release()

    def abandon(self) -> list[Deliver | Skip]:
        """Give up, after `close`, what has come and has no serial."""
        given_up: list[Deliver | Skip] = []
        # None of these has an agreed serial, and nobody knows which of them a dead
        # majority had agreed on: if one survivor delivered them, another might not.
        for sender, runs in self._held_back.items():
            lost = self._lost[sender]
            ranges = {**{first: run.last for first, run in runs.items()}, **lost}
            given_up += [Skip(sender, first, last - first + 1, self._view) for first, last in sorted(ranges.items())]
            runs.clear()
            lost.clear()
        return given_up

    def held_back(self) -> Iterator[HeldRun]:
        """Yield the runs that have no agreed place, or whose place is behind that of a message which is not here."""
        placed = {sender: last for sender, _, last in self._order}
        behind = (self._awaited(),) if self._order else ()
        for sender, held in self._held_back.items():
            for first, run in sorted(held.items()):
                yield sender, first, run.last, behind if first <= placed.get(sender, 0) else (PLACE,)

    def _awaited(self) -> Missing:
        """Return the messages that the next serials are of, and that have not come up: missing, or not SAFE yet."""
        sender, first, last = self._order[0]
        return Missing("message", sender, first, min([last, *[it - 1 for it in self._held_back[sender] if it > first]]))

    def _release(self) -> list[Deliver | Skip]:
        released: list[Deliver | Skip] = []
        while self._order:
            sender, first, last = self._order[0]
            up = self._next(sender, first, last)
            # A later serial waits, though it could be delivered: members would differ in what comes first.
            if up is None:
                break
            count = up.count if isinstance(up, Skip) else len(up.run.payloads)
            self.serial += count
            self._order.popleft()
            if first + count <= last:
                self._order.appendleft((sender, first + count, last))
            released.append(up)
        return released

    def _next(self, sender: Process, first: int, last: int) -> Deliver | Skip | None:
        """Return the most that can be handed over of the serials for first…last of `sender`; None: nothing yet."""
        serial = self.serial + 1
        if run := self._held_back[sender].pop(first, None):
            # A serial's span may end within a run, since spans follow WANTs and runs follow frames.
            if run.last > last:
                run, rest = _split(run, last)
                self._held_back[sender][rest.first] = rest
            # The order contains every message's past before it, so all members give up the same, without a word.
            if self._causal and self._lacks_past(run):
                self._given_up.setdefault(sender, first)
                return Skip(sender, first, len(run.payloads), self._view, serial)
            return Deliver(run, self._view, serial)
        if lost := self._lost[sender].pop(first, None):
            if lost > last:
                self._lost[sender][last + 1] = lost
            return Skip(sender, first, min(lost, last) - first + 1, self._view, serial)
        # The payload may still come: only the end of the view says that nobody holds it.
        if not self._closing:
            return None
        self._given_up.setdefault(sender, first)
        # Up to the next message that is here: one no-op may cover a part of the span only.
        known = [*self._held_back[sender], *self._lost[sender]]
        until = min([last, *[begin - 1 for begin in known if begin > first]])
        return Skip(sender, first, until - first + 1, self._view, serial)

    def _lacks_past(self, run: Run) -> bool:
        # Nothing was given up in this view, which is nearly always so: then no clock needs to be looked at.
        if not self._given_up:
            return False
        past = {**run.clock, run.sender: run.first - 1}
        return any(number <= past.get(other, 0) for other, number in self._given_up.items())


def _split(run: Run, last: int) -> tuple[Run, Run]:
    """Split a run after message `last`."""
    count = last - run.first + 1
    # `encoded` stays with the first part: only whole runs are relayed, and the store keeps those.
    rest = Run(run.sender, run.view, last + 1, run.clock, run.payloads[count:], b"")
    return Run(run.sender, run.view, run.first, run.clock, run.payloads[:count], run.encoded), rest
