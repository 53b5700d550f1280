"""BASIC multicast: each run is sent once to each member (ARCHITECTURE 5).

A gap is known from a later run or from the sender's `sent`, and given up after a grace; nothing is stored and nothing
is promised about agreement. But the view ends at its cut like any other: what comes after this process's promise waits
until the cut is known, goes up with it, or is dropped as never received, in every order alike. The fragments of a large
run go once each: where a call with one fails, the rest is not sent, and the message is a gap.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gcom.core.hold_back import VIEW, HeldRun
from gcom.core.messages.frames import Status
from gcom.core.multicast.reliable import MulticastProtocol, Range
from gcom.core.multicast.window import NOTHING, Load, Peer
from gcom.values import limits
from gcom.values.names import Process
from gcom.values.run import Fragment, Run


@dataclass(slots=True)
class _Gap:
    last: int
    since_ms: int


class Basic(MulticastProtocol):
    """Multicast that sends each run once.

    `_top[s]`: everything up to it arrived, is in `_gaps[s]` (by its first number), or is lost. Since the promise:
    `_late[s]` are runs beyond it, by their first number, `_rest` runs of the cut, `_lost` what was given up.
    """

    # Nobody could fetch what was numbered and not sent, so it goes out during a view change, too.
    stops = False

    def __init__(self, process: Process) -> None:
        super().__init__(process)
        self._top: dict[Process, int] = {}
        self._gaps: dict[Process, dict[int, _Gap]] = {}
        self._late: dict[Process, dict[int, Run]] = {}
        self._rest: list[Run] = []
        self._lost: list[Range] = []

    def receive(self, run: Run, now_ms: int) -> list[Run]:
        if run.sender not in self._top or run.view != self.view:
            return []
        # Beyond the promise, and perhaps beyond the cut: only the cut says whether it was received in this view.
        if self.wedged and run.first > self._top[run.sender]:
            self._late[run.sender][run.first] = run
            return []
        if not self._take(run, now_ms):
            return []
        if self.wedged:
            self._rest.append(run)  # of what was promised, so the cut has it
            return []
        return [run]

    def _take(self, run: Run, now_ms: int) -> bool:
        """Return whether a run is new."""
        if run.first <= self._top[run.sender]:
            return self._fill(run)
        self._note(run.sender, run.first - 1, now_ms)
        self._top[run.sender] = run.last
        return True

    def _fill(self, run: Run) -> bool:
        gaps = self._gaps[run.sender]
        first = self._gap(run.sender, run.first)
        if first is None or run.last > gaps[first].last:
            return False  # seen before, or given up
        # What is left on either side of the run is as old as the whole gap was, so it is given up no later.
        gap = gaps.pop(first)
        if first < run.first:
            gaps[first] = _Gap(run.first - 1, gap.since_ms)
        if run.last < gap.last:
            gaps[run.last + 1] = gap
        return True

    def _note(self, sender: Process, sent: int, now_ms: int) -> None:
        if sent > self._top[sender]:
            self._gaps[sender][self._top[sender] + 1] = _Gap(sent, now_ms)
            self._top[sender] = sent

    def on_sent(self, sender: Process, sent: int, now_ms: int) -> None:
        """Record a sender's word that 1…sent were put to this process: it shows a gap after which no run follows."""
        # Wedged: what is missing is counted from the cut, not from what the sender has put since.
        if sender in self._top and not self.wedged:
            self._note(sender, sent, now_ms)

    def on_failed(self, peer: Process) -> None:
        """Give up a run in the middle of its fragments: one copy to each, no resend."""
        # A whole run needs nothing: its cursor is past it, and `sent` will tell the peer that it is missing.
        known = self.out.peers.get(peer)
        if known and known.at_byte:
            known.cursor, known.at_byte = known.cursor + 1, 0  # such a run is one message
            self._collect()

    def assemble(self, fragment: Fragment, now_ms: int, by: Process = "") -> Run | None:
        """Take a fragment, as both kinds do; a fragment of a missing message is a reason not to give it up yet."""
        if not self.awaits(fragment):
            return None
        gap = self._gap(fragment.sender, fragment.first)
        if gap is not None:
            self._gaps[fragment.sender][gap].since_ms = now_ms
        return self.assemblies.add(fragment, by)

    def awaits(self, item: Run | Fragment) -> bool:
        if item.sender not in self._top or item.view != self.view:
            return False
        # A fragment of what was given up is ignored: its number has been skipped, and would be handed over a
        # second time.
        return item.first > self._top[item.sender] or self._gap(item.sender, item.first) is not None

    def _gap(self, sender: Process, number: int) -> int | None:
        """Return the first number of the gap that has `number`."""
        gaps = self._gaps[sender]
        first = max((first for first in gaps if first <= number), default=None)
        return first if first is not None and number <= gaps[first].last else None

    def held(self, sender: Process) -> int:
        return self._top.get(sender, 0)

    def holdings(self) -> dict[Process, int]:
        return {self.process: self.out.number, **self._top}

    def _missing(self, now_ms: int) -> list[Range]:
        for sender in self._top:
            end = self._cut.get(sender, 0)
            late = self._late[sender]
            for run in [run for _, run in sorted(late.items()) if run.last <= end]:
                del late[run.first]
                self._rest += [run] if self._take(run, now_ms) else []
            # Known by the cut alone: the sender died after its last run, and no later run or `sent` will come.
            self._note(sender, end, now_ms)
        gaps = [(sender, first, gap) for sender, found in self._gaps.items() for first, gap in sorted(found.items())]
        return [Range(sender, first, gap.last) for sender, first, gap in gaps if first <= self._cut.get(sender, 0)]

    def held_back(self) -> Iterator[HeldRun]:
        yield from super().held_back()
        for run in [*self._rest, *[run for late in self._late.values() for run in late.values()]]:
            yield run.sender, run.first, run.last, (VIEW,)

    def fetched(self, view: int, sender: Process, after: int, at_byte: int, bytes_max: int) -> Load:
        return NOTHING  # nothing is kept for others

    def take(self, peer: Process, bytes_max: int, whole: bool = False) -> Load:
        """Return what goes next, and keep no longer a run that was put to every peer."""
        load = super().take(peer, bytes_max, whole)
        self._collect()
        return load

    def close(self, cut: dict[Process, int]) -> tuple[list[Run], list[Range]]:
        # No grace at the view's end: up to the cut each number is delivered or skipped in its own view.
        lost = self._lost + [lost for sender in self._top for lost in self._give_up(sender, limits.NUMBER_MAX)]
        return [run for run in self._rest if run.last <= cut.get(run.sender, 0)], lost

    def overdue(self, now_ms: int) -> list[Range]:
        lost = [lost for sender in self._top for lost in self._give_up(sender, now_ms - limits.GAP_GRACE_MS)]
        # It goes up at the view's end, as what came since the promise does. Let 4 be here, and 5 lost: told now, the
        # loss would be read before 4, and give credit for 4, too, so that more than a window would wait.
        if self.wedged:
            self._lost += lost
            return []
        return lost

    def _give_up(self, sender: Process, since_ms: int) -> list[Range]:
        """Give up gaps older than `since_ms`, in order."""
        gaps, lost = self._gaps[sender], list[Range]()
        for first, gap in sorted(gaps.items()):
            # A gap waits for an earlier one that fragments still fill: FIFO would deliver over the earlier one
            # (simulation: 3 of 300 seeds).
            if gap.since_ms > since_ms:
                break
            del gaps[first]
            self.assemblies.drop(sender, first, gap.last)
            lost.append(Range(sender, first, gap.last))
        return lost

    def _begin(self, others: list[Process], cut: dict[Process, int]) -> None:
        # A sender may have sent on during the change: what is above the cut then belongs to the next view's numbers.
        self._top = {sender: max(cut.get(sender, 0), self._top.get(sender, 0)) for sender in others}
        self._gaps = {sender: {} for sender in others}
        self._late, self._rest, self._lost = {sender: {} for sender in others}, [], []

    def _on_status(self, peer: Process, known: Peer, status: Status) -> None:
        self.out.on_status(known, status.held, status.consumed)

    def _collect(self) -> None:
        self.out.store.drop(min([self.out.number, *[peer.cursor for peer in self.out.peers.values()]]))
