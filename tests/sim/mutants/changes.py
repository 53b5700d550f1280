"""Mutants of the view change: ballots, promises, quorums, the cut, and who is waited for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gcom.core.detector.suspicion import Detector
from gcom.core.membership.consensus import Consensus, ConsensusState, Out
from gcom.core.membership.flush import Flush
from gcom.core.membership.triggers import Triggers
from gcom.core.membership.view_change import ViewChanger
from gcom.core.messages import frames
from gcom.core.messages.frames import NO_BALLOT, Ballot, Decision, OfChange
from gcom.core.streams import Streams
from gcom.sim.plan.events import LEAVER
from gcom.values.names import Process
from gcom.values.view import View
from tests.sim.mutants import aims
from tests.sim.mutants.table import (
    Patch,
    dies_over,
    even,
    lossy,
    mutant,
    of_at_most,
    of_five,
    of_three,
    reliable,
    stalls,
)

QUORUM = "is_quorum"


def _quorum(patch: Patch, rule: Any, *modules: str) -> None:
    for module in modules or ("membership.consensus", "detector.suspicion", "membership.triggers"):
        patch.setattr(f"gcom.core.{module}.{QUORUM}", rule)


@mutant(even, of_at_most(4), aim=aims.halves_one_after_the_other)
def trace_01_a_tie_goes_to_both_halves(patch: Patch) -> None:
    _quorum(patch, lambda view, present, *_, **__: 2 * sum(m in present for m in view.members) >= len(view.members))


@mutant()
def a_suspicion_is_an_expulsion(patch: Patch) -> None:
    """No quorum is asked for anything: whoever sees nobody goes on alone."""
    _quorum(patch, lambda view, present, *_, **__: True)


@mutant(of_three)
def trace_03_whoever_is_left_decides(patch: Patch) -> None:
    """The value needs those who stay, not a quorum of the view that is left."""
    _quorum(patch, lambda view, present, *_, **__: True, "membership.consensus", "membership.triggers")


@mutant(of_three)
def trace_03_a_cut_is_installed_as_it_comes(patch: Patch) -> None:
    """Nobody waits until the value is decided."""
    want = Flush.want

    def at_once(self: Flush, decision: Decision, holders: Any, decided: bool) -> None:
        want(self, decision, holders, decided=True)

    patch.setattr(Flush, "want", at_once)


@mutant(of_three, aim=aims.nobody_hears_of_a_decision)
def a_promise_forgets_the_accepted_value(patch: Patch) -> None:
    promise = Consensus._promise

    def forget(self: Consensus, *given: Any) -> frames.Promise:
        self._accepted = (NO_BALLOT, None)
        return promise(self, *given)

    patch.setattr(Consensus, "_promise", forget)


@mutant(of_three, aim=aims.nobody_hears_of_a_decision)
def a_proposer_prefers_its_own_value_to_an_accepted_one(patch: Patch) -> None:
    decide = Consensus.decide

    def own(self: Consensus, fresh: Decision) -> list[Out]:
        proposal = self._proposal
        assert proposal is not None, "as in the original"
        bare = {who: replace(p, accepted=None, accepted_ballot=NO_BALLOT) for who, p in proposal.promises.items()}
        proposal.promises = bare
        return decide(self, fresh)

    patch.setattr(Consensus, "decide", own)


def _record(self: Consensus, cut: frames.Cut) -> None:
    """Without the assertion that the ballot was promised."""
    self._recorded = cut.decision
    self.state = ConsensusState.CUTTING


@mutant(of_three, of_at_most(5), aim=aims.a_cut_meets_a_rivals)
def a_promise_does_not_bind(patch: Patch) -> None:
    """A value is accepted below the ballot that was promised."""
    on_cut = Consensus.on_cut

    def accept(self: Consensus, source: Process, cut: frames.Cut) -> list[Out]:
        if (
            cut.ballot < self.promised
            and cut.ballot[1] == self.view.rank(source)
            and self.state is not ConsensusState.NORMAL
        ):
            self.promised, self.state = cut.ballot, ConsensusState.PROMISED
        return on_cut(self, source, cut)

    patch.setattr(Consensus, "on_cut", accept)
    patch.setattr(Consensus, "_record", _record)


@mutant(of_three, stalls("Prepare", until=("Prepare", "Promise")))
def trace_02_ballots_name_no_proposer(patch: Patch) -> None:
    """Two proposers of one attempt have one ballot: a promise to either is a promise to both."""
    on_prepare, on_cut, give_way = Consensus.on_prepare, Consensus.on_cut, Consensus._give_way

    def same(self: Consensus, source: Process, ballot: Ballot) -> None:
        owned = ballot[1] == self.view.rank(source)
        if (
            owned
            and ballot != self.promised
            and ballot[0] == self.promised[0]
            and self.state is not ConsensusState.NORMAL
        ):
            self.promised, self.state = ballot, ConsensusState.PROMISED

    def prepare(self: Consensus, source: Process, ballot: Ballot, *given: Any) -> Any:
        same(self, source, ballot)
        return on_prepare(self, source, ballot, *given)

    def cut(self: Consensus, source: Process, item: frames.Cut) -> list[Out]:
        same(self, source, item.ballot)
        return on_cut(self, source, item)

    def yield_to(self: Consensus, ballot: Ballot) -> None:
        if self._proposal and ballot[0] > self._proposal.ballot[0]:
            give_way(self, ballot)

    patch.setattr(Consensus, "on_prepare", prepare)
    patch.setattr(Consensus, "on_cut", cut)
    patch.setattr(Consensus, "_give_way", yield_to)
    patch.setattr(Consensus, "_record", _record)


@mutant()
def a_cut_is_accepted_before_it_is_held(patch: Patch) -> None:
    flush = ViewChanger._fetch_cut

    def accept(self: ViewChanger, now_ms: int) -> None:
        wanted = self._flush.wanted
        if wanted is None or self.ended or self._flush.decided:
            flush(self, now_ms)
            return
        self._streams.missing(wanted.cut, now_ms)
        self._flush.clear()
        self._carry_out(self.consensus.complete(), now_ms)

    patch.setattr(ViewChanger, "_fetch_cut", accept)


@mutant(reliable)
def the_cut_is_what_all_hold(patch: Patch) -> None:
    fresh = Triggers.fresh

    def least(self: Triggers, promises: dict[Process, frames.Promise]) -> Decision:
        decision = fresh(self, promises)
        cut = {sender: min(promise.held.get(sender, 0) for promise in promises.values()) for sender in decision.cut}
        return replace(decision, cut=cut)

    patch.setattr(Triggers, "fresh", least)


@mutant(reliable)
def the_cut_is_what_the_proposer_holds(patch: Patch) -> None:
    fresh = Triggers.fresh

    def own(self: Triggers, promises: dict[Process, frames.Promise]) -> Decision:
        decision = fresh(self, promises)
        return replace(decision, cut={s: promises[self._process].held.get(s, 0) for s in decision.cut})

    patch.setattr(Triggers, "fresh", own)


@mutant(reliable, stalls("Promise", whom=LEAVER))
def a_member_installs_though_the_cut_leaves_out_what_it_delivered(patch: Patch) -> None:
    patch.setattr(Streams, "within", lambda self, cut: True)


@mutant(reliable, of_five, aim=aims.an_old_cut_comes_again)
def items_of_another_view_s_change_count(patch: Patch) -> None:
    """The fence of the change: late PREPAREs, CUTs and CUT_OKs of the last one are taken for this one's."""
    on_item = ViewChanger.on_item

    def take(self: ViewChanger, source: Process, item: OfChange, now_ms: int) -> None:
        on_item(self, source, replace(item, view=self.view.number), now_ms)

    patch.setattr(ViewChanger, "on_item", take)


@mutant()
def any_install_is_the_next_one(patch: Patch) -> None:
    """The fence of the install: a decision that comes late, or early, is carried out."""
    on_install = ViewChanger.on_install

    def take(self: ViewChanger, decision: Decision, *given: Any, **more: Any) -> None:
        number, view = self.view.number, self.view
        if self.process in decision.view.members and decision.view.number != number:
            self.view = replace(view, number=decision.view.number - 1)
        on_install(self, decision, *given, **more)
        if self.view.number == decision.view.number - 1 and self.view.members == view.members:
            self.view = view

    patch.setattr(ViewChanger, "on_install", take)


@mutant()
def a_stalled_change_is_never_superseded(patch: Patch) -> None:
    patch.setattr(ViewChanger, "_may_supersede", lambda self, now_ms: False)


@mutant(reliable, of_three, dies_over("Promise", last=True))
def a_value_is_kept_though_who_held_its_cut_is_gone(patch: Patch) -> None:
    patch.setattr(Consensus, "is_stale", lambda self, live: False)


@mutant(lossy, of_five)
def what_was_not_answered_is_not_asked_again(patch: Patch) -> None:
    patch.setattr(Consensus, "ask_again", lambda self, live, now_ms: [])


@mutant(of_three)
def trace_16_anybody_may_propose_at_any_time(patch: Patch) -> None:
    """Nobody looks at ranks, waits after a higher ballot, or lets a change run its course; of five they never end."""
    patch.setattr(Triggers, "permits", lambda self, proposer: True)
    patch.setattr(ViewChanger, "_may_supersede", lambda self, now_ms: True)
    patch.setattr(ViewChanger, "_retry_ms", property(lambda self: 0, lambda self, value: None), raising=False)


@mutant(of_three, of_at_most(4), dies_over("Install", 1))
def who_is_behind_is_not_told(patch: Patch) -> None:
    patch.setattr(ViewChanger, "tell", lambda self, peer: None)


@mutant()
def a_suspicion_never_yields_in_a_change(patch: Patch) -> None:
    patch.setattr(Detector, "_leaves_quorum", True)


@mutant(of_three, dies_over("Install", 0))
def a_proposer_does_not_wait_for_a_quorum_to_accept(patch: Patch) -> None:
    """It installs what it has proposed as soon as it holds the cut itself."""

    def decided(self: Consensus, live: set[Process]) -> Decision | None:
        proposal = self._proposal
        return proposal.decision if proposal and self.process in proposal.accepted_by else None

    patch.setattr(Consensus, "decided", decided)


@mutant()
def joiners_are_put_before_their_elders(patch: Patch) -> None:
    fresh = Triggers.fresh

    def first(self: Triggers, promises: dict[Process, frames.Promise]) -> Decision:
        decision = fresh(self, promises)
        view, count = decision.view, len(decision.joined)
        return replace(decision, view=_rotated(view, count))

    patch.setattr(Triggers, "fresh", first)


def _rotated(view: View, count: int) -> View:
    cut = len(view.members) - count
    return replace(
        view, members=view.members[cut:] + view.members[:cut], addresses=view.addresses[cut:] + view.addresses[:cut]
    )
