"""More mutants of what goes on from instance to instance of a name: grace and clocks, newcomers, what a succession
takes, and what the registry remembers. Those that no simulated group shows are told by a scenario driven by hand.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Any

from gcom.core import streams
from gcom.core.directory.rows import DissolvedInstance, Row, stands_above
from gcom.core.directory.table import Directory
from gcom.core.joining import join
from gcom.core.joining.attempt import JoinAttempt
from gcom.core.joining.join import Joining
from gcom.core.joining.steps import First
from gcom.core.machine import Stage
from gcom.core.member import Member
from gcom.core.membership import triggers
from gcom.core.membership.consensus import Consensus
from gcom.core.membership.in_doubt import InDoubt
from gcom.core.membership.own_leave import LeaveWish, OwnLeave
from gcom.core.membership.registration import Registration
from gcom.core.membership.triggers import Triggers
from gcom.core.membership.view_change import ViewChanger
from gcom.core.messages import frames
from gcom.core.messages.effects import Ended
from gcom.core.messages.frames import ORDER, Decision, Keeping, Promise, Refused, Source, Standing
from gcom.core.messages.registry import Note, Register
from gcom.core.messages.witness import WitnessAccept, WitnessPrepare
from gcom.core.state_transfer.donors import sources
from gcom.values import lineage
from gcom.values.lineage import Extent
from gcom.values.names import Process, name_of
from gcom.values.view import View
from tests.core import (
    test_directory_memory,
    test_join_attempt,
    test_joining,
    test_own_leave,
    test_return,
    test_succession,
)
from tests.core.scenarios import test_continuity as stories
from tests.core.scenarios import test_splits
from tests.sim.mutants import aims, between
from tests.sim.mutants.table import (
    Patch,
    dynamic,
    mutant,
    of_at_most,
    of_five,
    of_four,
    of_six,
    of_slow_calls,
    of_three,
    reliable,
    told_by,
)

# Clocks and grace


@mutant(reliable, dynamic, of_four, of_at_most(7), aim=between.the_registry_forgets_and_stops)
def clocks_count_pauses(patch: Patch) -> None:
    """A registry that was stopped finds its grace over, and every lease."""

    def count_all(self: Directory, now_ms: int) -> None:
        self._running_ms += 0 if self._heard_ms is None else now_ms - self._heard_ms
        self._heard_ms = now_ms

    patch.setattr(Directory, "tick", count_all)


@mutant(reliable, dynamic, of_six, of_at_most(8), aim=between.the_registry_knows_an_older_view_only)
def grace_is_for_unknown_names_only(patch: Patch) -> None:
    unclaimable = Directory._unclaimable

    def at_once(self: Directory, row: Row, request: Any) -> Any:
        refusal = unclaimable(self, row, request)
        return None if row.view and refusal and refusal.code == "RegistryStarting" else refusal

    patch.setattr(Directory, "_unclaimable", at_once)


@told_by(test_succession.test_an_operator_lets_the_detached_go_on_and_says_whom_that_gives_up)
def a_renewal_by_a_detached_leader_counts_as_one_by_a_quorum(patch: Patch) -> None:
    """An operator's order is over as soon as one of those whom it is for registers."""
    on_renewal = Directory._on_renewal

    def by_quorum(self: Directory, row: Row, request: Register) -> Any:
        return on_renewal(self, row, replace(request, detached=False))

    patch.setattr(Directory, "_on_renewal", by_quorum)


# Proof of death


@told_by(test_splits.test_a_newcomer_enters_the_side_of_which_the_registry_has_not_heard_yet, "ab", 600)
def who_is_on_a_side_of_its_own_is_dead(patch: Patch) -> None:
    """A newcomer begins beside it, with nothing."""
    on_refused = Joining._on_refused

    def dead(self: Joining, peer: Process, reply: Refused, now_ms: int) -> Any:
        reply = replace(reply, code="ended") if reply.code == "elsewhere" else reply
        return on_refused(self, peer, reply, now_ms)

    patch.setattr(Joining, "_on_refused", dead)


@told_by(test_splits.test_who_ends_a_side_of_which_the_registry_has_not_heard_knows_it)
def who_has_heard_of_nobody_else_ends_no_side(patch: Patch) -> None:
    def is_last(self: Registration, view: View, away: Collection[object]) -> bool:
        return bool(view.members == (self._process,) and away)

    patch.setattr(Registration, "is_last", is_last)


@mutant(reliable, dynamic, of_four, of_at_most(6), aim=between.one_that_enters_is_asked_for_another)
def who_is_unknown_where_it_was_is_dead(patch: Patch) -> None:
    on_refused, as_newcomer = Member._on_refused, Joining._on_refused

    def dead(reply: Refused) -> Refused:
        return replace(reply, code="ended") if reply.code in ("unknown", "entering") else reply

    patch.setattr(Member, "_on_refused", lambda self, peer, reply: on_refused(self, peer, dead(reply)))
    patch.setattr(
        Joining, "_on_refused", lambda self, peer, reply, now_ms: as_newcomer(self, peer, dead(reply), now_ms)
    )


# Succession


@mutant(reliable, dynamic, of_four, of_at_most(6), of_slow_calls, aim=between.one_awaits_the_state_and_another_has_it)
def who_awaits_the_state_gives_it_in_a_successor(patch: Patch) -> None:
    def any_donor(
        number: int, standings: dict[Process, Standing], joiners: dict[Process, Extent], *, anew: bool, merging: bool
    ) -> dict[Process, Source]:
        whole = {who: replace(standing, keeping=Keeping.WHOLE) for who, standing in standings.items()}
        first = next(iter(whole), "")
        given = sources(number, standings, joiners, anew=anew, merging=merging)
        waits = [who for who, standing in standings.items() if standing.keeping is Keeping.AWAITED]
        return given | (dict.fromkeys(waits, (first, number)) if anew else {})

    patch.setattr("gcom.core.membership.triggers.sources", any_donor)


@told_by(stories.test_story_5_a_joiner_begins_where_the_order_of_the_cut_ends)
def a_joiner_is_told_its_first_serial_before_the_cut_is_held(patch: Patch) -> None:
    everywhere = ViewChanger._install_everywhere

    def at_once(self: ViewChanger, decision: Decision, *given: Any) -> None:
        with Patch.context() as whole:
            whole.setattr(type(self._streams), "missing", lambda *_: [])
            tell = self.on_install
            whole.setattr(ViewChanger, "on_install", lambda *_: None)
            everywhere(self, decision, *given)
        tell(decision, *given)

    patch.setattr(ViewChanger, "_install_everywhere", at_once)


@told_by(stories.test_a_serial_that_one_alone_knows_is_not_given_out_when_it_is_all_that_is_left)
def a_succession_gives_out_serials_that_nobody_agreed_on(patch: Patch) -> None:
    fresh = Triggers.fresh

    def all_held(self: Triggers, promises: dict[Process, frames.Promise]) -> Decision:
        decision = fresh(self, promises)
        if decision.succession is None or ORDER not in decision.cut:
            return decision
        held = max(promise.held.get(ORDER, 0) for promise in promises.values())
        return replace(decision, cut=decision.cut | {ORDER: held})

    patch.setattr(Triggers, "fresh", all_held)


@mutant(reliable, dynamic, of_three, of_at_most(6), aim=aims.one_wakes_beside_a_newcomer)
def the_registry_does_not_promise_a_succession(patch: Patch) -> None:
    """It is asked to accept alone, and cannot name whom it has noted."""
    ask, on_vote = Consensus._ask_successor, Directory._on_vote

    def unasked(self: Consensus, survivors: frozenset[Process], now_ms: int) -> Any:
        if self._proposal:
            self._proposal.witness_promised = True
        return ask(self, survivors, now_ms)

    def unpromised(self: Directory, request: Any) -> Any:
        if request.group and isinstance(request, WitnessAccept):
            where = (request.instance, request.view, request.ballot, request.group)
            on_vote(self, WitnessPrepare(*where, request.decision.view.leader))
        return on_vote(self, request)

    patch.setattr(Consensus, "_ask_successor", unasked)
    patch.setattr(Directory, "_on_vote", unpromised)


@mutant(reliable, dynamic, of_five, aim=aims.one_sleeps_and_is_needed)
def the_registry_is_asked_before_the_survivors(patch: Patch) -> None:
    ask = Consensus._ask_successor

    def first(self: Consensus, survivors: frozenset[Process], now_ms: int) -> Any:
        proposal = self._proposal
        if proposal is None or proposal.decision is None:
            return ask(self, survivors, now_ms)
        accepted, proposal.accepted_by = proposal.accepted_by, set(survivors)
        outs = ask(self, survivors, now_ms)
        proposal.accepted_by = accepted
        return outs

    patch.setattr(Consensus, "_ask_successor", first)


@told_by(test_succession.test_an_install_that_comes_late_is_void_once_a_succession_is_promised, "promise", 1)
def an_install_is_taken_after_a_succession_was_promised(patch: Patch) -> None:
    on_install = ViewChanger.on_install

    def unfenced(self: ViewChanger, *given: Any) -> None:
        self.consensus.fenced = False
        on_install(self, *given)

    patch.setattr(ViewChanger, "on_install", unfenced)


@told_by(test_succession.test_an_install_that_comes_late_is_void_once_a_succession_is_promised, "promise", 9)
def the_dead_decide_in_a_ballot_above_that_of_the_succession(patch: Patch) -> None:
    on_install = ViewChanger.on_install

    def below(self: ViewChanger, decision: Decision, ballot: frames.Ballot, *given: Any) -> None:
        self.consensus.fenced &= ballot < self.consensus.promised
        on_install(self, decision, ballot, *given)

    patch.setattr(ViewChanger, "on_install", below)


@told_by(test_succession.test_who_was_noted_and_has_vowed_to_one_that_looks_promises_to_a_survivor_too)
def who_has_vowed_promises_to_nobody_else(patch: Patch) -> None:
    on_prepare = Joining.on_prepare

    def once(self: Joining, instance: str, prepare: frames.Prepare) -> Any:
        vowed = (instance, prepare.view) in self._outside
        promise = on_prepare(self, instance, prepare)
        return frames.Nack(prepare.view, frames.NO_BALLOT) if vowed else promise

    patch.setattr(Joining, "on_prepare", once)


@told_by(test_joining.test_who_asks_for_a_vow_gives_it_too, 2)
def a_vow_is_of_the_next_view_alone(patch: Patch) -> None:
    """A process that the entry lists, and that vowed to be no member, becomes one by a late INSTALL."""
    on_install = Joining.on_install

    def of_the_next(self: Joining, install: frames.Install) -> bool:
        left = {(instance, view) for instance, view in self._outside if (instance, view - 1) in self._outside}
        patched, self._outside = self._outside, left
        taken = on_install(self, install)
        self._outside = patched
        return taken

    patch.setattr(Joining, "on_install", of_the_next)


@told_by(test_joining.test_who_asks_for_a_vow_gives_it_too, 3)
def who_gave_its_word_not_to_enter_enters(patch: Patch) -> None:
    on_install = Joining.on_install

    def forget(self: Joining, install: frames.Install) -> bool:
        self._outside.clear()
        return on_install(self, install)

    patch.setattr(Joining, "on_install", forget)


@told_by(test_join_attempt.test_nobody_is_asked_for_a_word_while_a_lease_runs)
def a_founder_that_has_not_read_its_grant_is_asked_for_a_vow(patch: Patch) -> None:
    ask = JoinAttempt._ask_vows

    def whatever_the_lease(self: JoinAttempt) -> Any:
        entry = self.entry
        self.entry = replace(entry, alive=False) if entry else None
        outs = ask(self)
        self.entry = entry
        return outs

    patch.setattr(JoinAttempt, "_ask_vows", whatever_the_lease)


@told_by(test_joining.test_a_granted_view_of_which_it_gave_its_word_is_not_begun, 1, Stage.ENTERING)
def a_first_view_is_begun_against_its_word(patch: Patch) -> None:
    patch.setattr(JoinAttempt, "on_outside", lambda self, now_ms: [])
    follow = Joining._follow

    def forget(self: Joining, outs: list[Any], now_ms: int) -> None:
        if any(isinstance(out, First) for out in outs):
            self._outside.clear()
        follow(self, outs, now_ms)

    patch.setattr(Joining, "_follow", forget)


@told_by(test_return.test_a_newcomer_begins_nothing_before_one_that_was_in_and_is_listed_again)
def one_on_its_way_in_counts_as_a_newcomer(patch: Patch) -> None:
    def absent(self: JoinAttempt, peer: Process, reach: Extent, now_ms: int) -> Any:
        return self.on_unreached(peer, False, now_ms, absent=True)

    patch.setattr(JoinAttempt, "on_entering", absent)


# Leaving and coming


@told_by(stories.test_who_asked_to_leave_has_left_where_the_others_did_not_wait_for_it, "the registry")
def who_asked_to_leave_is_put_out(patch: Patch) -> None:
    finish = ViewChanger.finish

    def whatever_it_asked(self: ViewChanger, ended: Ended) -> None:
        if not ended.settled:
            self.own_leave.wish = LeaveWish()
        finish(self, ended)

    patch.setattr(ViewChanger, "finish", whatever_it_asked)


@mutant(reliable, of_five)
def a_leaver_is_not_told_what_became_of_its_doubt(patch: Patch) -> None:
    patch.setattr(InDoubt, "end", lambda self, unconfirmed: [])


@told_by(stories.test_who_leaves_while_it_is_detached_leaves_what_it_has_with_the_others)
def who_leaves_takes_what_it_accepted_along(patch: Patch) -> None:
    leave = Member.leave

    def at_once(self: Member, now_ms: int, wish: LeaveWish) -> None:
        if self.detached:
            self._view_change.finish(Ended(self.view.number, wish.reason))
        else:
            leave(self, now_ms, wish)

    patch.setattr(Member, "leave", at_once)


# What the registry remembers


@told_by(stories.test_story_6_with_two_leaders_one_after_the_other)
def a_note_forgets_who_was_noted_before(patch: Patch) -> None:
    on_note = Directory._on_note

    def anew(self: Directory, request: Note) -> Any:
        row = self._rows.get(request.group)
        if row:
            self._rows[request.group] = replace(row, noted=())
        return on_note(self, request)

    patch.setattr(Directory, "_on_note", anew)


@mutant(reliable, dynamic, of_three, of_at_most(6), aim=aims.one_outlives_the_view_that_put_it_out)
def who_registered_an_older_view_is_forgotten(patch: Patch) -> None:
    patch.setattr(Row, "with_seats", lambda self, seats: self)


@mutant(reliable, dynamic, of_three, of_at_most(6), aim=aims.one_outlives_the_view_that_put_it_out)
def who_was_put_out_is_not_told_to_the_registry(patch: Patch) -> None:
    patch.setattr(Registration, "install", lambda self, old, decision: None)


@told_by(test_directory_memory.test_who_was_put_out_may_have_the_name_until_it_is_back)
def another_life_of_a_name_is_the_one_that_was_put_out(patch: Patch) -> None:
    with_seats = Row.with_seats

    def by_name(self: Row, seats: Iterable[tuple[str, str]]) -> Row:
        names = self.view.names if self.view else ()
        row = with_seats(self, seats)
        return replace(row, older=tuple(seat for seat in row.older if name_of(seat[0]) not in names))

    patch.setattr(Row, "with_seats", by_name)


@told_by(test_directory_memory.test_a_detached_member_does_not_keep_the_name_from_a_group_in_service)
def a_detached_member_keeps_the_name_from_a_group_in_service(patch: Patch) -> None:
    on_rival = Directory._on_rival

    def above_alone(self: Directory, row: Row, request: Register) -> Any:
        return self._entry(row) if not stands_above(request, row) else on_rival(self, row, request)

    patch.setattr(Directory, "_on_rival", above_alone)


@told_by(stories.test_one_whose_fellows_have_left_since_delivers_nothing_that_they_went_on_without)
def one_that_was_put_out_delivers_what_it_sent_since(patch: Patch) -> None:
    patch.setattr(Row, "is_out", lambda self, process, view: False)


@told_by(stories.test_one_whom_only_a_joiner_can_tell_of_the_decision_follows_it)
def a_joiner_is_not_believed_that_it_was_let_in(patch: Patch) -> None:
    receive = Member.receive

    def deaf(self: Member, frame: Any, now_ms: int) -> Any:
        known = frame.source in self.view.members or frame.source in self._view_change.consensus.noted
        heard = tuple(item for item in frame.control if known or not isinstance(item, frames.Install))
        return receive(self, frame._replace(control=heard), now_ms)

    patch.setattr(Member, "receive", deaf)


@told_by(stories.test_who_leaves_gives_those_who_stay_what_they_lack, True)
def a_leaver_goes_before_those_who_stay_have_its_last_messages(patch: Patch) -> None:
    patch.setattr(OwnLeave, "may_go", lambda self, dead: True)


@told_by(test_own_leave.test_a_pause_of_its_own_is_not_counted)
def a_leaver_counts_its_pauses(patch: Patch) -> None:
    patch.setattr("gcom.core.membership.own_leave.min", max, raising=False)


@told_by(test_succession.test_an_operator_lets_the_detached_go_on_and_says_whom_that_gives_up)
def what_follows_a_fork_is_taken_for_what_those_given_up_had(patch: Patch) -> None:
    patch.setattr(triggers, "successor", lambda instance, founder, anew: lineage.successor(instance, founder))


@told_by(test_join_attempt.test_a_member_that_answers_meanwhile_is_looked_for_though_an_order_frees_the_name)
def one_that_comes_back_claims_an_entry_that_is_over(patch: Patch) -> None:
    tick = JoinAttempt.tick

    def claim(self: JoinAttempt, now_ms: int) -> Any:
        due = self._again_ms is not None and now_ms >= self._again_ms
        return [self._claim(self.entry)] if due and self.entry and self.entry.forked else tick(self, now_ms)

    patch.setattr(JoinAttempt, "tick", claim)


@told_by(stories.test_of_two_that_were_put_out_the_one_of_the_later_instance_begins)
def views_of_two_instances_are_compared_by_their_numbers(patch: Patch) -> None:
    patch.setattr(streams, "rank", lambda instance, view: view)


@told_by(stories.test_those_who_await_the_state_do_not_put_out_the_only_one_that_has_it, 2, 10_000)
def those_who_await_the_state_put_out_who_has_it(patch: Patch) -> None:
    patch.setattr(Triggers, "owed_state", lambda self, decision, promises: ())


@told_by(test_succession.test_what_is_left_of_a_static_group_that_had_started_can_send)
def a_static_group_starts_anew_with_each_successor(patch: Patch) -> None:
    fresh = Triggers.fresh

    def anew(self: Triggers, promises: dict[Process, Promise]) -> Decision:
        decision = fresh(self, promises)
        return replace(decision, view=replace(decision.view, started=False)) if decision.succession else decision

    patch.setattr(Triggers, "fresh", anew)


@told_by(stories.test_who_comes_back_to_a_static_group_that_had_started_can_send_though_all_others_are_dead)
def a_static_group_starts_anew_with_who_comes_back(patch: Patch) -> None:
    started = triggers.is_started
    patch.setattr(join, "is_started", lambda definition, members, before: started(definition, members, before=False))


@told_by(test_directory_memory.test_sides_that_are_dead_leave_no_tombstone_to_one_that_was_put_out)
def a_side_that_is_dead_has_left_for_all_others(patch: Patch) -> None:
    def buried(self: Directory, group: str, instance: str, view: int, dead: Iterable[str]) -> bool:
        self._dissolve(DissolvedInstance(group, instance, view))
        return True

    patch.setattr(Directory, "bury", buried)


@told_by(test_directory_memory.test_an_order_frees_the_name_once_all_who_are_left_had_the_time_to_obey_it)
def who_begins_anew_by_an_order_is_taken_for_one_that_goes_on(patch: Patch) -> None:
    successor = lineage.successor
    patch.setattr(lineage, "successor", lambda instance, founder, anew=False: successor(instance, founder))
