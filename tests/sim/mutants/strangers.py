"""Mutants of what keeps a name from those who have no seat in its group: in the registry, and in members."""

from __future__ import annotations

from dataclasses import replace

from gcom.core.directory import several
from gcom.core.directory.contests import Contests
from gcom.core.directory.rows import Row
from gcom.core.directory.table import Directory
from gcom.core.membership.registration import Registration, Verdict
from gcom.core.messages.registry import Register
from gcom.core.messages.sequencer import SequencerAnswer, Want
from gcom.core.ordering.sequencer import Sequencer
from gcom.sim.plan.plan import Plan
from gcom.values import lineage
from gcom.values.names import InstanceId
from tests.core import test_contests, test_directory, test_registration, test_sequencer, test_several
from tests.sim.mutants.table import Patch, mutant, told_by


def lied_to(plan: Plan) -> Plan:
    """A stranger lies to the registries."""
    return replace(plan, stranger=True)


@mutant(aim=lied_to)
def whoever_asks_registers_a_view(patch: Patch) -> None:
    """1. X registers a later view of a living group, with itself alone. 2. It unregisters it."""
    patch.setattr(Directory, "_not_a_member", lambda self, row, request: None)


@told_by(test_contests.test_a_false_claim_is_taken_back_by_any_member_that_it_called_dead)
def a_false_claim_stands(patch: Patch) -> None:
    patch.setattr(Contests, "disputes", lambda self, request, row, now_ms: False)


@told_by(test_directory.test_an_instance_that_a_stranger_makes_up_displaces_no_living_one, "k0", 1)
def an_id_is_believed_to_be_older(patch: Patch) -> None:
    def is_older(self: Contests, row: Row, request: Register) -> bool:
        return lineage.origin_of(request.instance) < lineage.origin_of(row.instance)

    patch.setattr(Contests, "_is_older", is_older)


@told_by(test_directory.test_an_instance_that_a_stranger_makes_up_displaces_no_living_one, "k0", 1)
def whoever_asks_unregisters(patch: Patch) -> None:
    everybody = property(lambda self: {"mallory#1", *self.known})
    patch.setattr(Row, "members_to_be", everybody)
    patch.setattr(Directory, "_not_a_member", lambda self, row, request: self._entry(row))


@told_by(test_contests.test_a_stranger_that_took_an_entry_leaves_no_end_of_the_group)
def a_stranger_buries_what_it_took(patch: Patch) -> None:
    patch.setattr(Contests, "is_hearsay", lambda self, row, now_ms: False)


@told_by(test_contests.test_members_that_are_heard_again_have_the_entry_back)
def a_detached_member_takes_back_what_may_be_anothers(patch: Patch) -> None:
    settle = Contests.settle
    patch.setattr(Contests, "settle", lambda self, request: settle(self, replace(request, detached=False)))


@told_by(test_contests.test_a_claim_is_contested_for_some_minutes_alone)
def a_claim_is_contested_for_ever(patch: Patch) -> None:
    patch.setattr(Contests, "_open", lambda self, group, now_ms: self._by_group.get(group))


@told_by(test_several.test_of_a_rival_its_own_home_alone_has_a_say)
def a_copy_has_a_say_of_a_rival(patch: Patch) -> None:
    patch.setattr(several, "_hearsay", lambda answer, at, request: False)


@told_by(
    test_registration.test_the_registrys_word_in_service_and_detached,
    test_registration.other("k3"),
    Verdict.GO_ON,
    Verdict.GIVE_WAY,
)
def a_member_in_service_gives_way_to_whatever_is_listed(patch: Patch) -> None:
    def on_other(self: Registration, other: InstanceId, detached: bool) -> Verdict:
        return Verdict.GIVE_WAY

    patch.setattr(Registration, "_on_other", on_other)


@told_by(test_directory.test_a_stranger_that_is_not_invited_registers_no_view_of_a_static_group)
def a_static_group_is_registered_with_others(patch: Patch) -> None:
    patch.setattr(Directory, "_not_a_member", lambda self, row, request: None)


@told_by(test_sequencer.test_a_stranger_gets_no_serials_is_told_none_and_has_none_forgotten)
def whoever_asks_is_told_the_order(patch: Patch) -> None:
    on_want = Sequencer._on_want

    def without_a_seat(self: Sequencer, request: Want) -> SequencerAnswer:
        log = self._served[request.group, request.instance].log
        log.ordered.setdefault(request.process, 0)
        return on_want(self, request)

    patch.setattr(Sequencer, "_on_want", without_a_seat)
