"""The simulator has teeth: a core that is broken in one place is caught within the seeds that the whole core passes.

Each mutant replaces one rule by what a hasty reader would take for it. A mutant that survives is a hole in the checks.
Most die within 25 seeds; those that need a crash at the very moment of a change need about 140.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from gcom.core import frames
from gcom.core.change import ViewChange
from gcom.core.detector import Detector
from gcom.core.effects import Effect
from gcom.core.farewells import Farewells
from gcom.core.frames import NO_BALLOT, Decision
from gcom.core.multicast import Basic, Range, Reliable
from gcom.core.ordering import Fifo
from gcom.core.proposing import Grounds
from gcom.core.streams import Streams
from gcom.core.window import Outgoing, RunStore
from gcom.sim.checkers import Violation
from gcom.sim.plan import draw
from gcom.sim.world import World
from gcom.values import limits
from gcom.values.names import Process
from gcom.values.run import Run

SEEDS = (*range(150), 752)  # 752: a leaver hears late of the view that goes on without it
Patch = Callable[[pytest.MonkeyPatch], None]
MUTANTS: dict[str, Patch] = {}


def mutant(patch: Patch) -> Patch:
    MUTANTS[patch.__name__] = patch
    return patch


@mutant
def fifo_delivers_over_a_gap(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Fifo, "receive", lambda self, run: [run])


@mutant
def fifo_forgets_what_it_holds_when_a_gap_is_given_up(patch: pytest.MonkeyPatch) -> None:
    def pass_over(self: Fifo, sender: Process, last: int) -> list[Run]:
        self._next[sender] = last + 1
        self._held[sender].clear()
        return []

    patch.setattr(Fifo, "pass_over", pass_over)


@mutant
def runs_are_stored_and_delivered_after_the_promise(patch: pytest.MonkeyPatch) -> None:
    receive = Reliable.receive

    def thaw(self: Reliable, run: Run, now_ms: int) -> list[Run]:
        frozen, self.frozen = self.frozen, False
        runs = receive(self, run, now_ms)
        self.frozen = frozen
        return runs

    patch.setattr(Reliable, "receive", thaw)


def _close_without_asking(self: Reliable, cut: dict[Process, int]) -> tuple[list[Run], list[Range]]:
    """The end of a view, without the assertion that the cut is held."""
    runs: list[Run] = []
    for sender, store in self._stores.items():
        store.truncate(max(cut.get(sender, 0), store.floor))
        runs += store.after(self._released[sender], limits.NUMBER_MAX)
    return runs, []


@mutant
def nobody_fetches_what_it_misses_of_the_cut(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Reliable, "missing", lambda self, cut, now_ms: [])
    patch.setattr(Reliable, "close", _close_without_asking)


@mutant
def what_is_beyond_the_cut_is_delivered_too(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Reliable, "within", lambda self, cut: True)
    patch.setattr(RunStore, "truncate", lambda self, number: None)
    patch.setattr(Reliable, "close", _close_without_asking)
    runs_are_stored_and_delivered_after_the_promise(patch)


@mutant
def what_only_the_cut_brought_is_not_delivered(patch: pytest.MonkeyPatch) -> None:
    def close(self: Reliable, cut: dict[Process, int]) -> tuple[list[Run], list[Range]]:
        _close_without_asking(self, cut)
        return [], []

    patch.setattr(Reliable, "close", close)


@mutant
def a_promise_forgets_the_accepted_value(patch: pytest.MonkeyPatch) -> None:
    promise = ViewChange._promise

    def forget(self: ViewChange, ballot: frames.Ballot, held: dict[Process, int]) -> frames.Promise:
        self._accepted = (NO_BALLOT, None)
        return promise(self, ballot, held)

    patch.setattr(ViewChange, "_promise", forget)


@mutant
def acks_cover_what_was_sent_and_not_what_is_stored(patch: pytest.MonkeyPatch) -> None:
    sent: dict[tuple[int, Process], int] = {}

    def held(self: Reliable, sender: Process) -> int:
        return max(sent.get((id(self), sender), 0), self._stores[sender].last if sender in self._stores else 0)

    patch.setattr(
        Streams, "on_sent", lambda self, sender, number, now_ms: sent.update({(id(self.multicast), sender): number})
    )
    patch.setattr(Reliable, "held", held)


@mutant
def a_run_is_stable_once_it_is_sent(patch: pytest.MonkeyPatch) -> None:
    def _on_status(self: Reliable, peer: Process, known: Any, status: frames.Status) -> None:
        self.out.on_status(known, status.held, status.consumed)
        self._stores[peer].drop(self._released[peer])

    patch.setattr(Reliable, "_on_status", _on_status)


@mutant
def numbers_begin_again_with_each_view(patch: pytest.MonkeyPatch) -> None:
    install = Outgoing.install

    def reset(self: Outgoing, peers: list[Process]) -> None:
        self.number = 0
        install(self, peers)

    patch.setattr(Outgoing, "install", reset)


@mutant
def a_sender_never_goes_back(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Reliable, "on_failed", lambda self, peer: None)
    patch.setattr(Reliable, "on_replied", lambda self, peer: None)


@mutant
def a_run_is_delivered_each_time_it_comes(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Basic, "_fill", lambda self, run: True)
    patch.setattr(Fifo, "receive", lambda self, run: [run])


@mutant
def gaps_are_never_given_up(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Basic, "overdue", lambda self, now_ms: [])


@mutant
def the_cut_is_what_all_hold(patch: pytest.MonkeyPatch) -> None:
    fresh = Grounds.fresh

    def least(self: Grounds, promises: dict[Process, frames.Promise]) -> Decision:
        decision = fresh(self, promises)
        cut = {sender: min(promise.held.get(sender, 0) for promise in promises.values()) for sender in decision.cut}
        return Decision(decision.view, decision.joined, decision.left, cut)

    patch.setattr(Grounds, "fresh", least)


@mutant
def a_joiner_is_not_told_where_the_streams_stand(patch: pytest.MonkeyPatch) -> None:
    init = Streams.__init__

    patch.setattr(
        Streams,
        "__init__",
        lambda self, process, definition, view, base: init(self, process, definition, view, {}),
    )


@mutant
def nobody_is_ever_suspected(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Detector, "suspect", lambda self, peer, reason: False)


@mutant
def a_sender_does_not_deliver_its_own(patch: pytest.MonkeyPatch) -> None:
    form = Streams.form

    def sent_only(self: Streams, bytes_max: int) -> list[Effect]:
        return form(self, bytes_max)[:1]

    patch.setattr(Streams, "form", sent_only)


@mutant
def credit_is_never_given(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(limits, "WINDOW_MESSAGES_MAX", 100)
    patch.setattr(Reliable, "on_consumed", lambda self, sender, number: None)
    patch.setattr(Basic, "on_consumed", lambda self, sender, number: None)


@mutant
def a_leaver_is_forgotten_with_the_next_view(patch: pytest.MonkeyPatch) -> None:
    install = Farewells.install

    def forget(self: Farewells, decision: Decision, now_ms: int) -> None:
        self._told.clear()
        install(self, decision, now_ms)

    patch.setattr(Farewells, "install", forget)


@mutant
def a_suspicion_never_yields_in_a_change(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Detector, "_leaves_quorum", True)


@mutant
def a_leaver_is_let_go_without_the_cut(patch: pytest.MonkeyPatch) -> None:
    close = Streams.close

    def leave(self: Streams, decision: Decision) -> list[Effect]:
        return close(self, decision) if self.process in decision.view.members else []

    patch.setattr(Streams, "close", leave)


@pytest.mark.slow
@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_is_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    MUTANTS[name](monkeypatch)
    caught: list[str] = []
    for seed in SEEDS:
        try:
            World(draw(seed)).run()
        except Violation as violation:
            caught.append(f"seed {seed}: {violation}")
            break
    assert caught, f"{name} survives {len(SEEDS)} seeds"
