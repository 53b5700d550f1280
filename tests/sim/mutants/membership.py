"""Mutants of coming and going: suspicion, entry, names, instances, leaving, and the registry."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from gcom.core.detector.suspicion import Detector
from gcom.core.directory.rows import Row
from gcom.core.directory.table import Directory
from gcom.core.member import Member
from gcom.core.membership.admission import Admission, Joiner
from gcom.core.membership.tombstones import Tombstones
from gcom.core.membership.triggers import Triggers
from gcom.core.membership.view_change import ViewChanger
from gcom.core.messages.effects import Effect
from gcom.core.messages.frames import Ballot, Decision
from gcom.core.messages.registry import Claim, GroupInfo
from gcom.core.streams import Streams
from gcom.sim.plan.events import Fault
from gcom.sim.world import World
from gcom.values.names import Process
from tests.sim.mutants import aims
from tests.sim.mutants.table import (
    Patch,
    dynamic,
    gone_silently,
    hit_by,
    intruded,
    leaving,
    mutant,
    of_at_most,
    of_three,
    reliable,
    split_for_long,
    static,
)

crashing = hit_by(Fault.CRASH, Fault.EFFECT, Fault.FRAME)


@mutant()
def nobody_is_ever_suspected(patch: Patch) -> None:
    patch.setattr(Detector, "suspect", lambda self, peer, reason: False)


@mutant(gone_silently)
def silence_is_no_evidence(patch: Patch) -> None:
    patch.setattr(Detector, "tick", lambda self, now_ms: ([], {}))


@mutant()
def who_is_slow_is_put_out_unsuspected(patch: Patch) -> None:
    """A change takes out everybody but the proposer's elders."""
    fresh = Triggers.fresh

    def hasty(self: Triggers, promises: Any) -> Decision:
        youngest = list(promises)[-1]
        kept = {who: promise for who, promise in promises.items() if who != youngest or who == self._process}
        return fresh(self, kept)

    patch.setattr(Triggers, "fresh", hasty)


@mutant(of_three, split_for_long)
def trace_15_who_has_no_quorum_stays(patch: Patch) -> None:
    """It goes on for ever as if it were in the group, and its name stays taken."""
    patch.setattr(Triggers, "is_detached", lambda self, now_ms: False)


@mutant(crashing)
def trace_10_a_dead_instance_keeps_its_name(patch: Patch) -> None:
    """Nobody may claim a group whose lease has run out and of whose members none answers."""
    claim = Directory._on_claim
    patch.setattr(Directory, "_on_claim", lambda self, request: claim(self, replace(request, gone=())))


@mutant(dynamic, of_three, of_at_most(6), aim=aims.all_leave_but_one)
def trace_11_a_group_made_again_is_the_same_instance(patch: Patch) -> None:
    patch.setattr(Directory, "_add", lambda self, wanted: self._put(Row(wanted, "i1")))


@mutant(hit_by(Fault.CRASH, Fault.EFFECT, Fault.FRAME, Fault.PARTITION, Fault.PAUSE))
def trace_11_a_process_that_comes_back_is_the_same_process(patch: Patch) -> None:
    patch.setattr(World, "next_process", lambda self, name: f"{name}#1")


@mutant()
def trace_13_who_goes_on_without_a_quorum_goes_on_in_the_same_instance(patch: Patch) -> None:
    """A claim of a group whose members are out of reach gives the claimant the group's instance, and view 1."""
    claim = Directory._on_claim

    def same(self: Directory, request: Claim) -> Any:
        answer = claim(self, request)
        row = self._rows[request.group]
        if not isinstance(answer, GroupInfo) or row.instance == request.instance:
            return answer
        return self._put(replace(row, instance=request.instance, after=("", 0)))

    patch.setattr(Directory, "_on_claim", same)


@mutant()
def a_joiner_is_not_told_where_the_streams_stand(patch: Patch) -> None:
    begin = Streams._begin

    def from_nothing(self: Streams, entry: Decision, serial: int) -> None:
        """A joiner has no stream yet."""
        begin(self, entry if self.multicast.view else replace(entry, cut={}), serial)

    patch.setattr(Streams, "_begin", from_nothing)


@mutant()
def trace_12_a_joiners_base_is_less_than_what_the_others_have(patch: Patch) -> None:
    """It is told where the streams stood before the last messages of the cut, as an application that lags would."""
    begin = Member.__init__

    def lagging(self: Member, found: Any, process: Process, links: Any, transfer: Any, entry: Any, *more: Any) -> None:
        cut = {sender: max(0, number - 1) for sender, number in entry.decision.cut.items()}
        lagged = replace(entry, decision=replace(entry.decision, cut=cut))
        begin(self, found, process, links, transfer, lagged, *more)

    patch.setattr(Member, "__init__", lagging)


@mutant(intruded)
def a_name_is_given_to_whoever_asks(patch: Patch) -> None:
    patch.setattr(Admission, "_taken", lambda self, *given: None)

    def ready(self: Admission, staying: set[Process], cut_off: Collection[str] = ()) -> list[Joiner]:
        return list(self.waiting.values())

    patch.setattr(Admission, "ready", ready)


@mutant(static)
def a_static_group_starts_with_whoever_is_there(patch: Patch) -> None:
    patch.setattr("gcom.core.membership.triggers.is_started", lambda definition, members, before: True)
    patch.setattr("gcom.core.joining.join.is_started", lambda definition, members, before: True)


@mutant(leaving)
def a_leaver_is_not_told(patch: Patch) -> None:
    patch.setattr(Tombstones, "install", lambda self, decision, now_ms: None)

    def everywhere(self: ViewChanger, decision: Decision, ballot: Ballot, now_ms: int) -> None:
        announce(self, decision, ballot, now_ms)
        for leaver in decision.left:
            self._links.close(leaver)

    announce = ViewChanger._install_everywhere
    patch.setattr(ViewChanger, "_install_everywhere", everywhere)


@mutant(of_three, of_at_most(6), aim=aims.one_leaves_and_sleeps)
def a_leaver_is_forgotten_with_the_next_view(patch: Patch) -> None:
    install = Tombstones.install

    def forget(self: Tombstones, decision: Decision, now_ms: int) -> None:
        self._told.clear()
        install(self, decision, now_ms)

    patch.setattr(Tombstones, "install", forget)


@mutant(leaving, reliable)
def a_leaver_is_let_go_without_the_cut(patch: Patch) -> None:
    close = Streams.close

    def leave(self: Streams, decision: Decision) -> list[Effect]:
        return close(self, decision) if self.process in decision.view.members else []

    patch.setattr(Streams, "close", leave)


@mutant(leaving)
def whoever_lags_leaves_with_the_leaver(patch: Patch) -> None:
    """A change takes a silent member for one that asked to go."""
    fresh = Triggers.fresh

    def politely(self: Triggers, promises: Any) -> Decision:
        decision = fresh(self, promises)
        return replace(decision, left=dict.fromkeys(decision.left, "request"))

    patch.setattr(Triggers, "fresh", politely)


@mutant(dynamic, of_three, of_at_most(6), aim=aims.some_come_and_go)
def who_was_in_and_went_is_let_in_again(patch: Patch) -> None:
    patch.setattr(Tombstones, "is_gone", lambda self, process: False)
