"""SAFE multicast: RELIABLE, and a message goes up once a majority of the view holds it (ARCHITECTURE 5; Spread's SAFE).

Uniform agreement (Cachin, Guerraoui, Rodrigues 2011, §3.4, majority acks): a view change needs a quorum of promises, so
what a majority holds is in every cut, and what one member delivered all do, even if that one dies at once. The sender
counts the hold acks and tells in its status how far its stream is safe; where two members are a majority, a receiver
knows by itself, since the sender holds what it sends.
"""

from __future__ import annotations

from collections.abc import Iterator

from gcom.core.hold_back import STABILITY, VIEW, HeldRun
from gcom.core.messages.frames import Status
from gcom.core.multicast.reliable import Range, Reliable
from gcom.core.multicast.window import Peer
from gcom.core.quorum import held_by_majority
from gcom.values import limits
from gcom.values.names import Process
from gcom.values.run import Run


class Safe(Reliable):
    """RELIABLE whose messages wait for a majority.

    `_released` has this process's own stream too. `_told[s]`: how far s says that its stream is safe.
    """

    def __init__(self, process: Process) -> None:
        super().__init__(process)
        self._told: dict[Process, int] = {}
        self._majority_of_two: dict[Process, bool] = {}  # whether a sender and this process are a majority

    @property
    def safe(self) -> int:
        """The last number of this process's stream that a majority of members holds."""
        assert self.in_force is not None, "only a member sends"
        # Members only, never the registry as witness: it votes, and stores nothing that a survivor could fetch.
        held = {peer: known.held for peer, known in self.out.peers.items()}
        return held_by_majority(self.in_force, {**held, self.process: self.out.number})

    def submit(self, run: Run) -> list[Run]:
        super().submit(run)
        return self.release_safe()

    def receive(self, run: Run, now_ms: int) -> list[Run]:
        return self.release_safe() if self._store(run) else []

    def release_safe(self) -> list[Run]:
        # A promise stops the counting: what is released later might be in no cut. The install delivers the whole cut.
        if self.wedged:
            return []
        runs = self._release(self.process, self.safe)
        for sender, store in self._stores.items():
            # Where two are a majority (views of two and three) the sender, which holds what it sends, and this process
            # suffice. Larger views wait for the sender's count, one status later.
            runs += self._release(
                sender, store.last if self._majority_of_two[sender] else min(store.last, self._told[sender])
            )
        return runs

    def held_back(self) -> Iterator[HeldRun]:
        waits_for = (STABILITY, VIEW) if self.wedged else (STABILITY,)
        for sender, first, last, missing in super().held_back():
            yield sender, first, last, waits_for if VIEW in missing else missing
        for run in self.out.store.after(max(self._released[self.process], self.out.store.floor), limits.NUMBER_MAX):
            yield self.process, run.first, run.last, waits_for

    def awaited(self, released: list[Run]) -> bool:
        # The others wait for this process's `safe` unless each of them can count by itself: a status is owed at once.
        return any(run.sender == self.process for run in released) and not all(self._majority_of_two.values())

    def _release(self, sender: Process, upto: int) -> list[Run]:
        released = self._released[sender]
        if upto <= released:
            return []
        store = self.out.store if sender == self.process else self._stores[sender]
        runs = [run for run in store.after(released, limits.NUMBER_MAX) if run.last <= upto]
        if runs:
            self._released[sender] = runs[-1].last
        # What all hold and this process has let up may be dropped only now: `_collect` looks at both.
        if sender == self.process:
            self._collect()
        return runs

    def close(self, cut: dict[Process, int]) -> tuple[list[Run], list[Range]]:
        # Own messages that no majority held: the cut has them, since this process's promise names them.
        own = self.out.store.after(self._released[self.process], limits.NUMBER_MAX)
        runs, lost = super().close(cut)
        return own + runs, lost

    def _begin(self, others: list[Process], cut: dict[Process, int]) -> None:
        super()._begin(others, cut)
        assert self.in_force is not None, "a stream begins in a view"
        self._released[self.process] = self.out.number
        self._told = dict.fromkeys(others, 0)
        pairs = {sender: held_by_majority(self.in_force, {sender: 1, self.process: 1}) for sender in others}
        self._majority_of_two = {sender: held == 1 for sender, held in pairs.items()}

    def _on_status(self, peer: Process, known: Peer, status: Status) -> None:
        super()._on_status(peer, known, status)
        # Counted after the promise, it might name what is in no cut.
        if not self.wedged:
            self._told[peer] = max(self._told[peer], status.safe)

    def _collect(self) -> None:
        # Stable is not enough: a run may be held by all before this process has counted that, and let it up.
        self.out.store.drop(min(self.out.stable, self._released.get(self.process, 0)))
