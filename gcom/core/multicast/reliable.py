"""The base of both multicasts over runs, and RELIABLE (ARCHITECTURE 5; BASIC is in basic.py).

RELIABLE is lazy reliable broadcast made view-synchronous: N-1 copies, every receiver stores a run until it is stable,
and nobody relays while nobody fails. A link carries frames in order, so a receiver takes only the run that follows what
it holds; the sender goes back to what the peer says it holds when a link breaks, and when all that was put is answered:
no gap outlives a window. A view change wedges the stores; the union of what the survivors hold is fetched, and all
deliver the same.

Sources: Chang and Maxemchuk 1984; Cachin, Guerraoui and Rodrigues 2011, §3.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from gcom.core.hold_back import FRAGMENTS, VIEW, HeldRun
from gcom.core.messages.frames import Status
from gcom.core.multicast.fragments import Assemblies
from gcom.core.multicast.window import NOTHING, Load, OwnStream, Peer, RunStore
from gcom.values import limits
from gcom.values.names import Process
from gcom.values.run import Fragment, Run
from gcom.values.view import View


class Phase(Enum):
    """The phase of all streams in a view."""

    OPEN = "open"  # runs are sent, stored, acknowledged, and go up
    WEDGED = "wedged"  # promised to a view change: nothing new is numbered, stored, acknowledged, or goes up
    FILLING = "filling"  # the cut is known: what is missing of it, and nothing else, is stored


# Every state and what may follow it. A higher ballot takes FILLING back to WEDGED, an install any state to OPEN.
PHASES: dict[Phase, tuple[Phase, ...]] = {
    Phase.OPEN: (Phase.OPEN, Phase.WEDGED),
    Phase.WEDGED: (Phase.OPEN, Phase.WEDGED, Phase.FILLING),
    Phase.FILLING: (Phase.OPEN, Phase.WEDGED, Phase.FILLING),
}


@dataclass(frozen=True, slots=True)
class Range:
    """Messages first…last of `sender`; of the first one's run `at_byte` bytes are here."""

    sender: Process
    first: int
    last: int
    at_byte: int = 0


class MulticastProtocol(ABC):
    """A group's streams in one view: this process's own, and one per sender."""

    stops = True  # nothing is sent from a promise to the next view, by either side

    def __init__(self, process: Process) -> None:
        self.process = process
        self.out = OwnStream(process, 0)
        self.consumed: dict[Process, int] = {}  # of each sender, behind this process's application
        self.view = 0
        self.in_force: View | None = None
        self.phase = Phase.OPEN
        self.wedged = False  # from the promise to a view change until its install; follows from the phase
        self.some_wedged = False  # a peer in this view has promised to a change, by its last status
        self._cut: dict[Process, int] = {}  # while FILLING
        self.assemblies = Assemblies()

    def install(self, view: View, cut: dict[Process, int]) -> None:
        """Begin `view`; `cut` is where each stream stands."""
        self.view = view.number
        self.in_force = view
        self._become(Phase.OPEN)
        self.some_wedged = False
        self.assemblies = Assemblies()  # what the cut does not have will never be whole
        others = [member for member in view.members if member != self.process]
        self.out.install(others)
        # Credit goes on over views: what an application has not read, it has not read in the next view either.
        self.consumed = {sender: self.consumed.get(sender, cut.get(sender, 0)) for sender in others}
        self._begin(others, cut)

    def _become(self, phase: Phase) -> None:
        assert phase in PHASES[self.phase], f"{self.phase} to {phase}"
        self.phase, self.wedged = phase, phase is not Phase.OPEN

    def wedge(self) -> None:
        """Stop taking anything new: a promise to a view change was made."""
        self._become(Phase.WEDGED)

    def missing(self, cut: dict[Process, int], now_ms: int) -> list[Range]:
        """Return what of the cut is not yet here; from now on it is stored if it comes."""
        self._cut = cut
        self._become(Phase.FILLING)
        return self._missing(now_ms)

    def submit(self, run: Run) -> list[Run]:
        """Take a run of this process into its stream; return what may go up to the ordering."""
        self.out.add(run)
        # Alone in the view: no ack will ever come to free what is stored.
        if not self.out.peers:
            self._collect()
        return [run]

    @property
    def safe(self) -> int:
        """The last number of this process's stream that a majority holds; counted for SAFE delivery only."""
        return 0

    def release_safe(self) -> list[Run]:
        """Return what may go up since more of it is held by others; only SAFE delivery waits for that."""
        return []

    def awaited(self, released: list[Run]) -> bool:
        """Return whether others wait for this process's word that something was released."""
        return False

    def on_consumed(self, sender: Process, number: int) -> None:
        """Record that the application is done with 1…number of a sender."""
        if sender == self.process:
            self.out.on_self_consumed(number)
        elif sender in self.consumed:
            self.consumed[sender] = max(self.consumed[sender], number)

    def on_status(self, peer: Process, status: Status) -> None:
        """Take a peer's acknowledgements, and how far its own stream is stable."""
        known, stable = self.out.peers[peer], self.out.stable
        # Before the fence below: that a peer lags, or has promised, is what decides whether anything may be
        # put to it. A word of before its present view was overtaken by a later one.
        if (known.view, known.wedged) != (status.view, status.wedged) and known.view <= status.view:
            known.view, known.wedged = status.view, status.wedged
            self.some_wedged = any(each.wedged and each.view == self.view for each in self.out.peers.values())
        # A status of another view speaks of other stores; its acks would free what the peer may have to fetch.
        if status.view == self.view:
            self._on_status(peer, known, status)
            if self.out.stable > stable:
                self._collect()

    def on_replied(self, peer: Process) -> None:
        """Go back to what the peer holds: all that was put to it is answered, and its status was taken."""
        return

    def open_to(self, peer: Process) -> bool:
        """Return whether a peer may be sent data now: it is in the view, and no wedge forbids it."""
        known = self.out.peers.get(peer)
        # A member that lags would refuse a run of this view: its stores are still those of the last one.
        if known is None or known.view != self.view:
            return False
        return not (self.stops and (self.wedged or known.wedged))

    def has_for(self, peer: Process) -> bool:
        """Return whether there is data to send to a peer now."""
        known = self.out.peers.get(peer)
        return known is not None and known.cursor < self.out.number and self.open_to(peer)

    def take(self, peer: Process, bytes_max: int, whole: bool = False) -> Load:
        """Return what goes to a peer next, no fragment if `whole`; it counts as put to the peer."""
        known = self.out.peers.get(peer)
        if known is None or known.cursor >= self.out.number or not self.open_to(peer):
            return NOTHING
        store = self.out.store
        load = (
            Load(tuple(store.after(known.cursor, bytes_max)))
            if whole
            else store.load(known.cursor, known.at_byte, bytes_max)
        )
        if load.size:
            known.cursor, known.at_byte = load.end
        return load

    def told_stable(self, sender: Process) -> int:
        """Return the number up to which a sender has said that all hold its stream."""
        return 0

    def lacking(self, number: int) -> list[Process]:
        """Return the members of the view that are not known to hold 1…number of this process's stream."""
        if number > self.out.number:
            return [self.process, *self.out.peers]
        # A member that has not installed the view may yet have to fetch what the view before had, so it does not count.
        # One that is ahead of this process counts: it keeps what it had, in the cut of this view.
        return [peer for peer, known in self.out.peers.items() if known.view < self.view or known.held < number]

    @abstractmethod
    def receive(self, run: Run, now_ms: int) -> list[Run]:
        """Store a run of another member; return what may go up to the ordering."""

    def assemble(self, fragment: Fragment, now_ms: int, by: Process = "") -> Run | None:
        """Take a fragment of another member's run; returns the run once it is whole, to be received like any other."""
        return self.assemblies.add(fragment, by) if self.awaits(fragment) else None

    def partial(self, sender: Process) -> int:
        """Return how many bytes of the run after `held` are here, for the sender to go on from."""
        return 0

    def on_sent(self, sender: Process, sent: int, now_ms: int) -> None:
        """Record a sender's word that 1…sent were put to this process."""
        return

    @abstractmethod
    def on_failed(self, peer: Process) -> None:
        """Record that a call to a peer failed: what it carried may or may not have arrived."""

    @abstractmethod
    def held(self, sender: Process) -> int:
        """Return how far this process acknowledges that it holds a sender's stream."""

    @abstractmethod
    def holdings(self) -> dict[Process, int]:
        """Return how far each stream counts here, for a promise."""

    @abstractmethod
    def fetched(self, view: int, sender: Process, after: int, at_byte: int, bytes_max: int) -> Load:
        """Return what of a sender to relay to a member that misses it."""

    @abstractmethod
    def close(self, cut: dict[Process, int]) -> tuple[list[Run], list[Range]]:
        """End the view at the cut: return the runs that still go up, and what is lost."""

    def within(self, cut: dict[Process, int]) -> bool:
        """Return whether the cut has all that went up here, and all of this process's own stream."""
        return True

    def can_end(self, cut: dict[Process, int]) -> bool:
        """Return whether the view can end at a cut that is all here; if not, the cut is a peer's mistake."""
        return True

    def overdue(self, now_ms: int) -> list[Range]:
        """Return the gaps that are given up by now; over RELIABLE there are none."""
        return []

    def release_previous(self) -> None:
        """Forget the last view's payloads: all who stay have installed."""
        return

    def held_back(self) -> Iterator[HeldRun]:
        """Yield the runs that are here, whole or in part, and have not gone up, with what each waits for."""
        for sender, assembly in self.assemblies.open.items():
            yield sender, assembly.first, assembly.first, (FRAGMENTS,)

    @abstractmethod
    def awaits(self, item: Run | Fragment) -> bool:
        """Return whether a run, or the run of a fragment were it whole, would be taken."""

    @abstractmethod
    def _missing(self, now_ms: int) -> list[Range]: ...

    @abstractmethod
    def _begin(self, others: list[Process], cut: dict[Process, int]) -> None: ...

    @abstractmethod
    def _on_status(self, peer: Process, known: Peer, status: Status) -> None: ...

    @abstractmethod
    def _collect(self) -> None: ...


class Reliable(MulticastProtocol):
    """Multicast in which every receiver stores a run until it is stable.

    `_released[s]` <= `_stores[s].last`: the last that went up. `_marks[s]`: what was held at the promise.
    """

    def __init__(self, process: Process) -> None:
        super().__init__(process)
        self._stores: dict[Process, RunStore] = {}
        self._released: dict[Process, int] = {}
        self._marks: dict[Process, int] = {}
        self._previous: dict[Process, RunStore] = {}

    def wedge(self) -> None:
        # Not again at a higher ballot: what a flush stored since the first promise must not raise the acks.
        if not self.wedged:
            self._marks = {sender: store.last for sender, store in self._stores.items()}
        super().wedge()

    def receive(self, run: Run, now_ms: int) -> list[Run]:
        # Stored while wedged means that the cut has it. It goes up at the install, with the rest of the cut.
        if not self._store(run) or self.wedged:
            return []
        self._released[run.sender] = run.last
        return [run]

    def _store(self, run: Run) -> bool:
        """Keep a run that follows what is held."""
        store = self._stores.get(run.sender)
        # Go-back-N instead of a table of gaps: links carry frames in order, so a gap is as rare as a broken connection.
        if store is None or run.view != self.view or run.first != store.last + 1:
            return False
        if not self._may_store(run.sender, run.last):
            return False
        store.append(run)
        return True

    def _may_store(self, sender: Process, last: int) -> bool:
        """Return whether a run may be stored: once this process has promised, only a run of the cut."""
        # 1. B promises with 5 of A held. 2. A's run 6 arrives, and B stores and delivers it. 3. The union has only 5. B
        # would have delivered what no member of the next view can fetch.
        return self.phase is Phase.OPEN or (self.phase is Phase.FILLING and last <= self._cut.get(sender, 0))

    def on_failed(self, peer: Process) -> None:
        known = self.out.peers.get(peer)
        # The call may have arrived in full; then the next status moves the cursor on, and copies are ignored.
        if known:
            known.go_back()

    def on_replied(self, peer: Process) -> None:
        known = self.out.peers.get(peer)
        # A wedged peer's ack stands still, and going back would put the same runs to it with every exchange.
        if known and known.view == self.view and not known.wedged:
            known.go_back()

    def held(self, sender: Process) -> int:
        # The acks of the promise. A later one could make a sender count a run as held by all, and drop it, though no
        # promise, and so no cut, mentions it.
        if self.wedged:
            return self._marks.get(sender, 0)
        store = self._stores.get(sender)
        return store.last if store else 0

    def told_stable(self, sender: Process) -> int:
        store = self._stores.get(sender)
        return store.floor if store else limits.NUMBER_MAX  # one that is gone: all who stay have its cut

    def partial(self, sender: Process) -> int:
        store = self._stores.get(sender)
        return self.assemblies.size(sender, store.last + 1) if store and not self.wedged else 0

    def awaits(self, item: Run | Fragment) -> bool:
        store = self._stores.get(item.sender)
        if store is None or item.view != self.view or item.first != store.last + 1:
            return False
        return self._may_store(item.sender, item.first)

    def holdings(self) -> dict[Process, int]:
        return {self.process: self.out.number, **{sender: store.last for sender, store in self._stores.items()}}

    def _missing(self, now_ms: int) -> list[Range]:
        stores = self._stores.items()
        ends = [(sender, store.last + 1, self._cut.get(sender, 0)) for sender, store in stores]
        here = self.assemblies.size
        return [Range(sender, first, last, here(sender, first)) for sender, first, last in ends if first <= last]

    def fetched(self, view: int, sender: Process, after: int, at_byte: int, bytes_max: int) -> Load:
        store = self._archive(view).get(sender)
        # Dropped because stable: all of the view hold it, so the asker of a fetch has it, or is from before.
        if store is None or after < store.floor:
            return NOTHING
        return store.load(after, at_byte, bytes_max)

    def _archive(self, view: int) -> dict[Process, RunStore]:
        if view == self.view:
            return {self.process: self.out.store, **self._stores}
        # A member that is one view behind still fetches that view's cut.
        return self._previous if view == self.view - 1 else {}

    def close(self, cut: dict[Process, int]) -> tuple[list[Run], list[Range]]:
        runs: list[Run] = []
        for sender, store in self._stores.items():
            # Own stream excepted, what is beyond the cut went up nowhere: `within` has refused the other case.
            store.truncate(max(cut.get(sender, 0), store.floor))
            assert store.last == cut.get(sender, store.last), "a view ends with its whole cut held"
            runs += store.after(self._released[sender], limits.NUMBER_MAX)
        # Kept until all have installed: 1. B installs the next view. 2. C still lacks a run of the cut. 3.
        # Its sender has died, and B alone can relay it.
        self._previous = {self.process: self.out.store, **self._stores}
        return runs, []

    def within(self, cut: dict[Process, int]) -> bool:
        # All others promised without this process's last messages: it is not in the union, so not in the view.
        if cut.get(self.process, 0) != self.out.number:
            return False
        return all(number <= cut.get(sender, 0) for sender, number in self._released.items())

    def can_end(self, cut: dict[Process, int]) -> bool:
        # Cuts are made of promises, which name ends of runs; another number is a peer's mistake.
        return all(store.ends_at(max(cut.get(sender, 0), store.floor)) for sender, store in self._stores.items())

    def release_previous(self) -> None:
        self._previous = {}

    def held_back(self) -> Iterator[HeldRun]:
        yield from super().held_back()
        for sender, store in self._stores.items():
            for run in store.after(max(self._released[sender], store.floor), limits.NUMBER_MAX):
                yield sender, run.first, run.last, (VIEW,)

    def _begin(self, others: list[Process], cut: dict[Process, int]) -> None:
        self._stores = {sender: RunStore(cut.get(sender, 0)) for sender in others}
        self._released = {sender: cut.get(sender, 0) for sender in others}

    def _on_status(self, peer: Process, known: Peer, status: Status) -> None:
        said = status.held, status.consumed, status.partial
        # Nearly every status says what the last one said, and then there is nothing to count.
        if not self.wedged and said != (known.held, known.consumed, known.partial):
            self.out.on_status(known, *said)
            # More than was put to it, by this count: 1. A connection breaks, and
            # the cursor goes back. 2. What was under way had arrived after all.
            if known.cursor < known.held:
                known.go_back()
        # Not beyond what went up: SAFE keeps runs that all hold until it knows that a majority does.
        store, stable = self._stores[peer], min(status.stable, self._released[peer])
        if stable > store.floor:
            store.drop(stable)

    def _collect(self) -> None:
        self.out.store.drop(self.out.stable)
