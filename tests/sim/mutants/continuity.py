"""Mutants of what goes on from instance to instance of a name: detachment, proof, succession, notes and the registry.

What they break is seen by CONTINUITY (gcom/sim/checks/continuity.py), or by a group that does not come back to life.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gcom.core.detector.suspicion import Detector
from gcom.core.directory.rows import Row
from gcom.core.directory.table import Directory
from gcom.core.holders import Holders
from gcom.core.joining.attempt import JoinAttempt
from gcom.core.joining.steps import Ask
from gcom.core.member import Member
from gcom.core.membership.admission import Admission
from gcom.core.membership.consensus import Consensus
from gcom.core.membership.registration import Registration, Verdict
from gcom.core.membership.triggers import Triggers
from gcom.core.membership.view_change import ViewChanger
from gcom.core.messages import frames
from gcom.core.messages.frames import NO_BALLOT, Decision, Keeping
from gcom.core.messages.registry import Claim, GroupInfo, Register
from gcom.core.messages.witness import WitnessPromised
from gcom.core.ordering.agreement import OrderAgreement
from gcom.core.state_transfer.transfer import Transfer
from gcom.core.streams import Streams
from gcom.values import lineage
from gcom.values.lineage import precedence_by_size as by_size
from gcom.values.names import InstanceId, Process
from tests.core import test_directory
from tests.core.making import C
from tests.core.test_holders import (
    test_the_one_holder_that_is_left_has_the_message,
    test_who_lacks_what_a_message_follows_is_no_holder_of_it,
)
from tests.sim.mutants import aims
from tests.sim.mutants.table import Patch, dynamic, mutant, of_at_most, of_five, of_just, of_three, reliable, told_by

# Detachment


@mutant(reliable, dynamic, of_three, of_at_most(6), aim=aims.one_sleeps_through_a_succession)
def a_member_without_a_quorum_ends(patch: Patch) -> None:
    """Its process forgets that it was a member, and enters again."""
    tick = ViewChanger.tick

    def end(self: ViewChanger, now_ms: int) -> None:
        tick(self, now_ms)
        if self.detached and not self.ended:
            self.end("expelled")

    patch.setattr(ViewChanger, "tick", end)


@mutant(reliable, dynamic, of_three, of_at_most(6), aim=aims.one_outlives_the_view_that_put_it_out)
def a_detached_member_does_not_register(patch: Patch) -> None:
    due = Registration.due

    def attached_only(self: Registration, view: Any, detached: bool, now_ms: int) -> list[Register]:
        return [] if detached else due(self, view, detached, now_ms)

    patch.setattr(Registration, "due", attached_only)


@mutant(reliable, dynamic, of_three, of_at_most(6), aim=aims.all_are_cut_off_in_a_change)
def a_promise_is_forgotten_when_the_quorum_is_lost(patch: Patch) -> None:
    look = ViewChanger._look_for_quorum

    def forget(self: ViewChanger, now_ms: int) -> None:
        before = self.detached
        look(self, now_ms)
        if self.detached and not before:
            self.consensus.promised, self.consensus._accepted = NO_BALLOT, (NO_BALLOT, None)

    patch.setattr(ViewChanger, "_look_for_quorum", forget)


# Proof of death


@mutant(reliable, dynamic, of_three, of_at_most(6), aim=aims.a_minority_is_cut_off)
def who_does_not_answer_is_dead(patch: Patch) -> None:
    on_failed = Member.on_failed
    patch.setattr(
        Member, "on_failed", lambda self, peer, refused, dead, now_ms: on_failed(self, peer, refused, True, now_ms)
    )


@mutant(reliable, dynamic, of_three, of_at_most(6), aim=aims.a_minority_is_refused)
def where_nobody_listens_somebody_is_dead(patch: Patch) -> None:
    on_failed = Member.on_failed

    def refused_is_dead(self: Member, peer: Process, refused: bool, dead: bool, now_ms: int) -> None:
        on_failed(self, peer, refused, dead or refused, now_ms)

    patch.setattr(Member, "on_failed", refused_is_dead)


@mutant(reliable, dynamic, of_three, of_at_most(6), aim=aims.a_minority_is_cut_off)
def who_is_suspected_counts_as_dead(patch: Patch) -> None:
    review = Detector._review

    def bury(self: Detector) -> None:
        review(self)
        self.dead = dict.fromkeys(self.suspects, frames.DEAD)

    patch.setattr(Detector, "_review", bury)


# Succession


@mutant(reliable, dynamic, of_three, of_at_most(6), aim=aims.one_sleeps_and_is_needed)
def one_survivor_need_not_promise(patch: Patch) -> None:
    """A survivor of a view that is not heard is not waited for."""
    survivors = vars(Triggers)["survivors"]

    def heard(self: Triggers) -> frozenset[Process] | None:
        found: frozenset[Process] | None = survivors.fget(self)
        return found if found is None else found & self.live

    patch.setattr(Triggers, "survivors", property(heard))


@mutant(reliable, dynamic, of_three, of_at_most(6), aim=aims.one_wakes_beside_a_newcomer)
def who_is_noted_is_not_asked(patch: Patch) -> None:
    on_witness = Consensus.on_witness

    def without(self: Consensus, promised: WitnessPromised) -> None:
        on_witness(self, replace(promised, noted=()))

    patch.setattr(Consensus, "on_witness", without)


@mutant(reliable, dynamic, of_five, aim=aims.one_accepts_what_others_decide_otherwise)
def a_succession_puts_an_accepted_value_forward(patch: Patch) -> None:
    decide = Consensus.decide

    def accepted(self: Consensus, fresh: Decision) -> Any:
        proposal = self._proposal
        assert proposal is not None, "as in the original"
        proposal.succession = False
        return decide(self, fresh)

    patch.setattr(Consensus, "decide", accepted)


@mutant(reliable, dynamic, of_three, of_at_most(6), aim=aims.one_sleeps_and_is_needed)
def the_cut_of_a_succession_is_what_its_proposer_holds(patch: Patch) -> None:
    fresh = Triggers.fresh

    def own(self: Triggers, promises: dict[Process, frames.Promise]) -> Decision:
        decision = fresh(self, promises)
        if decision.succession is None:
            return decision
        return replace(decision, cut={s: promises[self._process].held.get(s, 0) for s in decision.cut})

    patch.setattr(Triggers, "fresh", own)


@mutant(reliable, dynamic, of_three, of_at_most(6), aim=aims.one_sleeps_through_a_succession)
def who_is_left_goes_on_in_the_same_instance(patch: Patch) -> None:
    patch.setattr("gcom.core.membership.triggers.successor", lambda instance, founder, anew: instance)


@mutant(reliable, dynamic, of_just(4), aim=aims.donors_die)
def who_awaited_the_state_has_it_in_a_successor(patch: Patch) -> None:
    inherit = Transfer.inherit

    def whole(self: Transfer, former: Transfer, instance: InstanceId) -> None:
        inherit(self, former, instance)
        if self.keeping is Keeping.AWAITED:
            self.keeping = Keeping.WHOLE

    patch.setattr(Transfer, "inherit", whole)


# Notes


@mutant(reliable, dynamic, of_three, of_at_most(6), aim=aims.one_wakes_beside_a_newcomer)
def a_joiner_is_not_noted(patch: Patch) -> None:
    begin = Admission.__init__

    def without(self: Admission, *given: Any) -> None:
        begin(self, *given)
        self._notes = False

    patch.setattr(Admission, "__init__", without)


@mutant(reliable, dynamic, of_three, of_at_most(6), aim=aims.one_wakes_beside_a_newcomer)
def a_renewal_forgets_who_was_noted(patch: Patch) -> None:
    on_renewal = Directory._on_renewal

    def forget(self: Directory, row: Row, request: Register) -> Any:
        return on_renewal(self, replace(row, noted=()), request)

    patch.setattr(Directory, "_on_renewal", forget)


# The registry


@mutant(reliable, dynamic, of_three, of_at_most(6), aim=aims.a_newcomer_meets_an_outage)
def a_newcomer_claims_over_a_silent_owner(patch: Patch) -> None:
    unclaimable = Directory._unclaimable
    tick = JoinAttempt.tick

    def claim(self: JoinAttempt, now_ms: int) -> Any:
        due = self._again_ms is not None and now_ms >= self._again_ms
        doubted = self.entry is not None and self.entry.members and not self.entry.alive
        return [self._claim(self.entry)] if due and doubted and self.entry else tick(self, now_ms)

    patch.setattr(JoinAttempt, "tick", claim)
    patch.setattr(
        Directory,
        "_unclaimable",
        lambda self, row, request: unclaimable(self, row, replace(request, gone=tuple(row.known))),
    )


@mutant(reliable, dynamic, of_three, of_at_most(6), aim=aims.one_wakes_while_the_latest_sleeps)
def an_older_view_replaces_a_later_one(patch: Patch) -> None:
    on_renewal = Directory._on_renewal

    def older(self: Directory, row: Row, request: Register) -> Any:
        return on_renewal(self, replace(row, view=None) if request.view.number < row.number else row, request)

    patch.setattr(Directory, "_on_renewal", older)


@mutant(reliable, dynamic, of_three, of_at_most(6), aim=aims.all_leave_but_one)
def a_tombstone_is_forgotten(patch: Patch) -> None:
    on_unregister = Directory._on_unregister

    def forget(self: Directory, request: Any) -> Any:
        answer = on_unregister(self, request)
        self._tombstones._ends.clear()
        return answer

    patch.setattr(Directory, "_on_unregister", forget)


@mutant(reliable, dynamic, of_three, of_at_most(6), aim=aims.the_registry_forgets_all)
def a_registry_that_starts_gives_names_away(patch: Patch) -> None:
    patch.setattr(Directory, "grace_ms", 0)


@mutant(reliable, dynamic, of_three, of_at_most(6), aim=aims.one_sleeps_through_a_succession)
def a_successor_stands_below_its_predecessor(patch: Patch) -> None:
    def below(instance: str) -> lineage.Precedence:
        return lineage.origin_of(instance), lineage.generation(instance), instance

    patch.setattr(lineage, "precedence", below)
    patch.setattr(lineage, "descends", lambda instance, ancestor: False)
    patch.setattr("gcom.core.membership.registration.descends", lambda instance, ancestor: False)


@told_by(test_directory.test_of_two_living_instances_lineage_decides_and_never_size_or_view, "k2", "k3", "k2", "second")
def size_decides_between_instances(patch: Patch) -> None:
    def larger(request: Register, row: Row) -> bool:
        mine = by_size(len(request.view.members), request.view.number, request.instance)
        return mine < by_size(len(row.view.members) if row.view else 0, row.number, row.instance)

    patch.setattr("gcom.core.directory.table.stands_above", larger)


# Coming and going


@mutant(reliable, dynamic, of_three, of_at_most(6), aim=aims.one_wakes_beside_a_newcomer)
def the_registry_has_no_vote_in_a_succession(patch: Patch) -> None:
    decided, may_choose = Consensus.decided, Consensus._may_choose

    def chosen(self: Consensus, proposal: Any, given: set[Process]) -> bool:
        return may_choose(self, proposal, given) if self.survivors is None else self.survivors <= given

    def accepted(self: Consensus, live: set[Process]) -> Decision | None:
        proposal = self._proposal
        if self.survivors is None or proposal is None or proposal.decision is None:
            return decided(self, live)
        return proposal.decision if self.survivors <= proposal.accepted_by else None

    patch.setattr(Consensus, "_may_choose", chosen)
    patch.setattr(Consensus, "decided", accepted)


@mutant(reliable, dynamic, of_three, of_at_most(6), aim=aims.one_wakes_beside_one_that_was_not_noted)
def a_note_counts_though_the_registry_has_not_answered(patch: Patch) -> None:
    ready = Admission.ready

    def asked(self: Admission, *given: Any) -> Any:
        self.waiting = {who: replace(joiner, noted=True) for who, joiner in self.waiting.items()}
        return ready(self, *given)

    patch.setattr(Admission, "ready", asked)


@mutant(reliable, dynamic, of_five, of_at_most(6), aim=aims.one_wakes_beside_one_that_comes_back)
def who_comes_back_from_a_later_view_is_only_gone(patch: Patch) -> None:
    patch.setattr(Triggers, "on_returning", lambda self, reach: None)


@mutant(reliable, dynamic, of_five, of_at_most(6), aim=aims.two_are_put_out_of_one_view)
def of_one_view_all_have_the_same(patch: Patch) -> None:
    extent = Streams.extent
    patch.setattr(Streams, "extent", lambda self, instance: (extent(self, instance)[0], 0))


@mutant(reliable, dynamic, of_five, of_at_most(6), aim=aims.one_begins_beside_another_and_dies)
def who_comes_back_behind_another_is_forgotten(patch: Patch) -> None:
    claim = JoinAttempt._claim

    def alone(self: JoinAttempt, entry: GroupInfo) -> Ask:
        asked = claim(self, entry)
        assert isinstance(asked.request, Claim), "as in the original"
        return Ask(replace(asked.request, away=()))

    patch.setattr(JoinAttempt, "_claim", alone)


@mutant(reliable, dynamic, of_three, of_at_most(6), aim=aims.one_sleeps_through_a_succession)
def nobody_is_ever_proven_dead(patch: Patch) -> None:
    patch.setattr(Detector, "proven", lambda self, peer, proof: self.gone(peer, proof))


@told_by(test_directory.test_of_two_living_instances_lineage_decides_and_never_size_or_view, "k2", "k3", "k2", "second")
def the_instance_with_more_views_stands_above(patch: Patch) -> None:
    def longer(request: Register, row: Row) -> bool:
        return request.view.number > row.number

    patch.setattr("gcom.core.directory.table.stands_above", longer)


@mutant(reliable, dynamic, of_three, of_at_most(6), aim=aims.all_leave_but_one)
def who_was_cut_off_is_not_told_that_all_have_left(patch: Patch) -> None:
    _deaf_to(patch, Verdict.DISSOLVED)


@mutant(reliable, dynamic, of_three, of_at_most(6), aim=aims.one_outlives_the_view_that_put_it_out)
def who_was_cut_off_is_not_told_of_a_later_view(patch: Patch) -> None:
    _deaf_to(patch, Verdict.EXPELLED)


def _deaf_to(patch: Patch, deaf: Verdict) -> None:
    on_answer = Registration.on_answer

    def ignore(self: Registration, *given: Any) -> Verdict:
        verdict = on_answer(self, *given)
        return Verdict.GO_ON if verdict is deaf else verdict

    patch.setattr(Registration, "on_answer", ignore)


# Who holds a message


@told_by(test_the_one_holder_that_is_left_has_the_message, "TOTAL", False, C)
def a_copy_without_its_place_counts(patch: Patch) -> None:
    """The member that is left does not know the place, and gives the message up."""
    patch.setattr(OrderAgreement, "unaware", lambda self, number: [])


@told_by(test_who_lacks_what_a_message_follows_is_no_holder_of_it, "CAUSAL")
def a_copy_without_its_past_counts(patch: Patch) -> None:
    """A message dies with its sender, and one that follows it is given up."""
    patch.setattr(Holders, "on_formed", lambda self, run: None)
