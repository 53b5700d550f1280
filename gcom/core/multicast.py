"""BASIC and RELIABLE multicast over runs (DESIGN 5; Chang and Maxemchuk 1984; Cachin, Guerraoui, Rodrigues 2011, §3).

RELIABLE is lazy reliable broadcast made view-synchronous: N-1 copies, every receiver stores a run until it is stable,
and nobody relays while nobody fails. A link has one call in flight, so a receiver takes only the run that follows what
it holds, and the sender goes back to what the peer says it holds after every reply: no gap outlives one exchange.
A view change freezes the stores; the union of what the survivors hold is fetched, and all deliver the same.

BASIC sends each run once to each member. What is missing is known from a later run or from the sender's `sent`, and
given up after a grace; nothing is stored and nothing is promised about agreement.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from gcom.core.frames import Status
from gcom.core.window import Outgoing, Peer, RunStore
from gcom.values import limits
from gcom.values.definition import Multicast as Kind
from gcom.values.names import Process
from gcom.values.run import Run
from gcom.values.view import View


@dataclass(frozen=True, slots=True)
class Range:
    """Messages first…last of `sender`."""

    sender: Process
    first: int
    last: int


class Multicast(ABC):
    """A group's streams in one view, this process's own and one a sender."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self.out = Outgoing(process, 0)
        self.consumed: dict[Process, int] = {}  # of each sender, behind this process's application
        self.view = 0
        self.frozen = False  # from the promise to a view change until its install

    def install(self, view: View, cut: dict[Process, int]) -> None:
        """Begin `view`; `cut` is where each stream stands."""
        self.view = view.number
        self.frozen = False
        others = [member for member in view.members if member != self.process]
        self.out.install(others)
        self.consumed = {sender: self.consumed.get(sender, cut.get(sender, 0)) for sender in others}
        self._begin(others, cut)

    def submit(self, run: Run) -> None:
        """Take a run of this process into its stream."""
        self.out.add(run)
        self._collect()

    def on_consumed(self, sender: Process, number: int) -> None:
        """The application is done with 1…number of a sender."""
        if sender == self.process:
            self.out.on_self_consumed(number)
        elif sender in self.consumed:
            self.consumed[sender] = max(self.consumed[sender], number)

    def on_status(self, peer: Process, status: Status) -> None:
        """What a peer of the same view acknowledges, and how far its own stream is stable."""
        known = self.out.peers[peer]
        known.view, known.frozen = status.view, status.frozen
        if status.view == self.view:
            self._on_status(peer, known, status)
            self._collect()

    def on_replied(self, peer: Process) -> None:
        """A call succeeded, its status was taken, and none is in flight: go back to what the peer holds."""
        return

    def open_to(self, peer: Process) -> bool:
        """Whether a peer may be sent data now: it is in the view, and nothing is frozen that matters."""
        known = self.out.peers.get(peer)
        return known is not None and known.view == self.view and self._may_send(known)

    def has_for(self, peer: Process) -> bool:
        """Whether there is data to send to a peer now."""
        return self.open_to(peer) and self.out.peers[peer].cursor < self.out.number

    def take(self, peer: Process, bytes_max: int) -> list[Run]:
        """The next runs for a peer; they count as put to it."""
        known = self.out.peers[peer]
        runs = self.out.store.after(known.cursor, bytes_max) if self.has_for(peer) else []
        if runs:
            known.cursor = runs[-1].last
            self._collect()
        return runs

    @property
    def some_frozen(self) -> bool:
        """Whether a peer in this view has promised to a change, by its last status."""
        return any(peer.frozen and peer.view == self.view for peer in self.out.peers.values())

    @abstractmethod
    def receive(self, run: Run, now_ms: int) -> list[Run]:
        """Store a run of another member; returns what may go up to the ordering."""

    def on_sent(self, sender: Process, sent: int, now_ms: int) -> None:
        """A sender says that 1…sent were put to this process."""
        return

    @abstractmethod
    def on_failed(self, peer: Process) -> None:
        """A call to a peer failed: what it carried may or may not have arrived."""

    @abstractmethod
    def held(self, sender: Process) -> int:
        """The hold ack for a sender."""

    @abstractmethod
    def holdings(self) -> dict[Process, int]:
        """How far each stream counts here, for a promise."""

    @abstractmethod
    def missing(self, cut: dict[Process, int], now_ms: int) -> list[Range]:
        """What of the cut is not yet here; once asked, it is waited for or must be fetched."""

    @abstractmethod
    def fetched(self, view: int, sender: Process, after: int, bytes_max: int) -> list[Run]:
        """Runs of a sender to relay to a member that misses them."""

    @abstractmethod
    def close(self, cut: dict[Process, int]) -> tuple[list[Run], list[Range]]:
        """End the view at the cut: the runs that still go up, and what is lost."""

    @abstractmethod
    def freeze(self) -> None:
        """A promise to a view change was made."""

    def within(self, cut: dict[Process, int]) -> bool:
        """Whether nothing went up here that the cut leaves out, and the cut has all of this process's own stream."""
        return True

    def can_end(self, cut: dict[Process, int]) -> bool:
        """Whether the view can end at a cut of which nothing is missing; a peer's mistake, if not."""
        return True

    def overdue(self, now_ms: int) -> list[Range]:
        """What is given up by now."""
        return []

    def deadline_ms(self) -> int | None:
        """When something is given up next."""
        return None

    def release_previous(self) -> None:
        """Everybody who stays has installed: the last view's payloads are not needed any more."""
        return

    @abstractmethod
    def _begin(self, others: list[Process], cut: dict[Process, int]) -> None: ...

    @abstractmethod
    def _on_status(self, peer: Process, known: Peer, status: Status) -> None: ...

    @abstractmethod
    def _may_send(self, known: Peer) -> bool: ...

    @abstractmethod
    def _collect(self) -> None: ...


class Reliable(Multicast):
    """Every run is stored by every receiver until it is stable.

    `_released[s]` <= `_stores[s].last`: what went up. `_marks` are the hold acks at the promise; an ack after it could
    make a sender count a run as held that no promise mentioned.
    """

    def __init__(self, process: Process) -> None:
        super().__init__(process)
        self._stores: dict[Process, RunStore] = {}
        self._released: dict[Process, int] = {}
        self._marks: dict[Process, int] = {}
        self._cut: dict[Process, int] | None = None
        self._previous: dict[Process, RunStore] = {}

    def freeze(self) -> None:
        """Promise: from now on nothing new is stored, acknowledged or released."""
        if not self.frozen:
            self._marks = {sender: store.last for sender, store in self._stores.items()}
        self.frozen = True
        self._cut = None

    def receive(self, run: Run, now_ms: int) -> list[Run]:
        store = self._stores.get(run.sender)
        if store is None or run.view != self.view or run.first != store.last + 1:
            return []
        if self.frozen:
            if self._cut is not None and run.last <= self._cut.get(run.sender, 0):
                store.append(run)
            return []
        store.append(run)
        self._released[run.sender] = run.last
        return [run]

    def on_failed(self, peer: Process) -> None:
        known = self.out.peers.get(peer)
        if known:
            known.cursor = known.held

    def on_replied(self, peer: Process) -> None:
        known = self.out.peers.get(peer)
        if known and known.view == self.view and not known.frozen:
            known.cursor = known.held

    def held(self, sender: Process) -> int:
        if self.frozen:
            return self._marks.get(sender, 0)
        store = self._stores.get(sender)
        return store.last if store else 0

    def holdings(self) -> dict[Process, int]:
        return {self.process: self.out.number, **{sender: store.last for sender, store in self._stores.items()}}

    def missing(self, cut: dict[Process, int], now_ms: int) -> list[Range]:
        self._cut = cut
        stores = self._stores.items()
        ends = [(sender, store.last + 1, cut.get(sender, 0)) for sender, store in stores]
        return [Range(sender, first, last) for sender, first, last in ends if first <= last]

    def fetched(self, view: int, sender: Process, after: int, bytes_max: int) -> list[Run]:
        store = self._archive(view).get(sender)
        if store is None or after < store.floor:
            return []
        return store.after(after, bytes_max)

    def _archive(self, view: int) -> dict[Process, RunStore]:
        if view == self.view:
            return {self.process: self.out.store, **self._stores}
        return self._previous if view == self.view - 1 else {}

    def close(self, cut: dict[Process, int]) -> tuple[list[Run], list[Range]]:
        runs: list[Run] = []
        for sender, store in self._stores.items():
            store.truncate(max(cut.get(sender, 0), store.floor))
            assert store.last == cut.get(sender, store.last), "a view ends with its whole cut held"
            runs += store.after(self._released[sender], limits.NUMBER_MAX)
        self._previous = {self.process: self.out.store, **self._stores}
        return runs, []

    def within(self, cut: dict[Process, int]) -> bool:
        if cut.get(self.process, 0) != self.out.number:
            return False
        return all(number <= cut.get(sender, 0) for sender, number in self._released.items())

    def can_end(self, cut: dict[Process, int]) -> bool:
        return all(store.ends_at(max(cut.get(sender, 0), store.floor)) for sender, store in self._stores.items())

    def release_previous(self) -> None:
        self._previous = {}

    def _begin(self, others: list[Process], cut: dict[Process, int]) -> None:
        self._cut = None
        self._stores = {sender: RunStore(cut.get(sender, 0)) for sender in others}
        self._released = {sender: cut.get(sender, 0) for sender in others}

    def _on_status(self, peer: Process, known: Peer, status: Status) -> None:
        if not self.frozen:
            self.out.on_status(known, status.held, status.consumed)
            known.cursor = max(known.cursor, known.held)
        store = self._stores[peer]
        store.drop(min(status.stable, self._released[peer]))

    def _may_send(self, known: Peer) -> bool:
        return not known.frozen and not self.frozen

    def _collect(self) -> None:
        self.out.store.drop(self.out.stable)


@dataclass(slots=True)
class _Gap:
    last: int
    since_ms: int


class Basic(Multicast):
    """Each run is sent once.

    `_top[s]`: everything up to it arrived, is in `_gaps[s]` (by its first number), or is lost.
    """

    def __init__(self, process: Process) -> None:
        super().__init__(process)
        self._top: dict[Process, int] = {}
        self._gaps: dict[Process, dict[int, _Gap]] = {}

    def freeze(self) -> None:
        """Promise: nothing new is numbered; what was numbered still goes out, since nobody could fetch it."""
        self.frozen = True

    def receive(self, run: Run, now_ms: int) -> list[Run]:
        if run.sender not in self._top or run.view != self.view:
            return []
        if run.first <= self._top[run.sender]:
            return [run] if self._fill(run) else []
        self._note(run.sender, run.first - 1, now_ms)
        self._top[run.sender] = run.last
        return [run]

    def _fill(self, run: Run) -> bool:
        gaps = self._gaps[run.sender]
        first = max((first for first in gaps if first <= run.first), default=0)
        if not first or run.last > gaps[first].last:
            return False  # seen before, or given up
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
        """The sender says that 1…sent were put to this process."""
        if sender in self._top:
            self._note(sender, sent, now_ms)

    def on_failed(self, peer: Process) -> None:
        return  # one copy to each, no resend

    def held(self, sender: Process) -> int:
        return self._top.get(sender, 0)

    def holdings(self) -> dict[Process, int]:
        return {self.process: self.out.number, **self._top}

    def missing(self, cut: dict[Process, int], now_ms: int) -> list[Range]:
        for sender in self._top:
            self._note(sender, cut.get(sender, 0), now_ms)
        gaps = [(sender, first, gap) for sender, found in self._gaps.items() for first, gap in sorted(found.items())]
        return [Range(sender, first, gap.last) for sender, first, gap in gaps if first <= cut.get(sender, 0)]

    def fetched(self, view: int, sender: Process, after: int, bytes_max: int) -> list[Run]:
        return []

    def close(self, cut: dict[Process, int]) -> tuple[list[Run], list[Range]]:
        return [], [lost for sender in self._top for lost in self._give_up(sender, limits.NUMBER_MAX)]

    def overdue(self, now_ms: int) -> list[Range]:
        return [lost for sender in self._top for lost in self._give_up(sender, now_ms - limits.GAP_GRACE_MS)]

    def _give_up(self, sender: Process, since_ms: int) -> list[Range]:
        gaps = self._gaps[sender]
        due = [(first, gap.last) for first, gap in sorted(gaps.items()) if gap.since_ms <= since_ms]
        for first, _ in due:
            del gaps[first]
        return [Range(sender, first, last) for first, last in due]

    def deadline_ms(self) -> int | None:
        times = [gap.since_ms for gaps in self._gaps.values() for gap in gaps.values()]
        return min(times) + limits.GAP_GRACE_MS if times else None

    def _begin(self, others: list[Process], cut: dict[Process, int]) -> None:
        self._top = {sender: max(cut.get(sender, 0), self._top.get(sender, 0)) for sender in others}
        self._gaps = {sender: {} for sender in others}

    def _on_status(self, peer: Process, known: Peer, status: Status) -> None:
        self.out.on_status(known, status.held, status.consumed)

    def _may_send(self, known: Peer) -> bool:
        return True

    def _collect(self) -> None:
        self.out.store.drop(min([self.out.number, *[peer.cursor for peer in self.out.peers.values()]]))


def multicast(kind: Kind, process: Process) -> Reliable | Basic:
    """The module for a kind of multicast."""
    return Reliable(process) if kind is Kind.RELIABLE else Basic(process)
