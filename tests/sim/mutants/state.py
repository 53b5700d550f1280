"""Mutants of the state's way to a joiner: barrier, donors, chunks."""

from __future__ import annotations

from dataclasses import replace

from gcom.core.delivery_queue import DeliveryQueue, Handed
from gcom.core.membership import triggers
from gcom.core.membership.triggers import Triggers
from gcom.core.messages.effects import AwaitState, Deliver, OfState, Skip, StateUnavailable, TakeState
from gcom.core.messages.frames import Decision, Keeping, Source, Standing, StateChunk
from gcom.core.state_transfer.donors import leaver_to_keep
from gcom.core.state_transfer.donors import sources as named
from gcom.core.state_transfer.reconciliation import StateReconciliation
from gcom.core.state_transfer.transfer import Transfer, _IncomingState
from gcom.core.streams import Streams
from gcom.values.lineage import Extent
from gcom.values.names import Process
from tests.core import test_reconciliation, test_state
from tests.core.replicas import Replicas
from tests.core.scenarios import test_continuity
from tests.sim.mutants import aims
from tests.sim.mutants.table import Patch, keeping, mutant, of_three, reliable, told_by


@mutant(keeping)
def the_state_is_taken_at_once_and_not_at_the_barrier(patch: Patch) -> None:
    put = DeliveryQueue.put

    def early(self: DeliveryQueue[object], effect: Handed | AwaitState) -> list[Deliver | Skip]:
        if isinstance(effect, TakeState):
            self.queued.appendleft(effect)
            return []
        return put(self, effect)

    patch.setattr(DeliveryQueue, "put", early)


@mutant(keeping)
def the_state_is_taken_behind_the_barrier(patch: Patch) -> None:
    put = DeliveryQueue.put
    late: dict[int, list[Handed]] = {}

    def one_later(self: DeliveryQueue[object], effect: Handed | AwaitState) -> list[Deliver | Skip]:
        if isinstance(effect, TakeState):
            late[id(self)] = [effect]
            return []
        covered = put(self, effect)
        if isinstance(effect, Deliver):
            for it in late.pop(id(self), []):
                put(self, it)
        return covered

    patch.setattr(DeliveryQueue, "put", one_later)


@mutant(reliable, keeping, of_three, aim=aims.one_is_back_while_another_waits)
def who_held_what_a_restored_state_lacks_is_not_told(patch: Patch) -> None:
    patch.setattr(DeliveryQueue, "_holds_from_before", lambda *_: False)


@told_by(test_state.test_where_all_leave_as_one_joins_it_has_the_state_or_begins_anew, 4, 1)
def a_leaver_goes_though_the_view_made_it_a_donor(patch: Patch) -> None:
    """Its word of the view before counts on."""
    install = Triggers.install

    def keep(self: Triggers, decision: Decision, now_ms: int) -> None:
        before = self.leavers
        install(self, decision, now_ms)
        self.leavers = {member: why for member, why in before.items() if member in decision.view.members}

    patch.setattr(Triggers, "install", keep)


@told_by(test_state.test_one_that_leaves_as_the_donor_fails_gives_the_state_first, Replicas.kill)
def a_leaver_goes_though_it_alone_has_the_state(patch: Patch) -> None:
    patch.setattr(triggers, "leaver_to_keep", lambda *_, **__: None)


@told_by(test_state.test_one_that_leaves_as_it_awaits_the_state_gives_what_it_holds_if_nobody_has_more)
def a_leaver_that_awaits_the_state_has_nothing_to_give(patch: Patch) -> None:
    def of_those_who_have_it(
        standings: dict[Process, Standing], leavers: list[Process], joiners: dict[Process, Extent], **how: bool
    ) -> Process | None:
        have = [who for who in leavers if standings[who].keeping is not Keeping.AWAITED]
        return leaver_to_keep(standings, have, joiners, **how)

    patch.setattr(triggers, "leaver_to_keep", of_those_who_have_it)


@told_by(test_state.test_who_alone_has_the_state_gives_it_however_long_it_slept)
def a_donor_that_sleeps_has_failed(patch: Patch) -> None:
    tick = Transfer.tick
    patch.setattr(Transfer, "tick", lambda self, now_ms, heard=True: tick(self, now_ms))


@mutant(keeping)
def a_joiner_reads_on_before_its_state(patch: Patch) -> None:
    put = DeliveryQueue.put

    def open_still(self: DeliveryQueue[object], effect: Handed | AwaitState) -> list[Deliver | Skip]:
        return [] if isinstance(effect, AwaitState) else put(self, effect)

    patch.setattr(DeliveryQueue, "put", open_still)


@mutant(keeping)
def what_the_state_covers_is_handed_over_as_well(patch: Patch) -> None:
    patch.setattr("gcom.core.delivery_queue._split_at_barrier", lambda held, view: ([], held))


@mutant(keeping)
def one_that_waits_counts_as_one_that_has(patch: Patch) -> None:
    def sources(
        number: int, standings: dict[Process, Standing], joiners: dict[Process, Extent], **how: bool
    ) -> dict[Process, Source]:
        whole = {
            who: replace(it, keeping=Keeping.WHOLE) if it.keeping is Keeping.AWAITED else it
            for who, it in standings.items()
        }
        return named(number, whole, joiners, **how)

    patch.setattr(triggers, "sources", sources)


@mutant(keeping, of_three, aim=aims.a_donor_dies)
def the_chunks_of_one_donor_are_taken_for_the_next_ones(patch: Patch) -> None:
    install_wanted = Transfer._install_wanted

    def go_on(self: Transfer, source: Source | None, number: int, now_ms: int) -> list[OfState]:
        if self._incoming and source not in (None, self._incoming.source) and source and source[0] != self.process:
            wanted, self._incoming = self._incoming, _IncomingState(source, now_ms)
            self._incoming.chunks = wanted.chunks
            return []
        return install_wanted(self, source, number, now_ms)

    patch.setattr(Transfer, "_install_wanted", go_on)


@mutant(keeping)
def a_chunk_is_taken_whichever_it_is(patch: Patch) -> None:
    on_chunk = Transfer.on_chunk

    def take(self: Transfer, source: Process, chunk: StateChunk, now_ms: int) -> list[OfState]:
        index = len(self._incoming.chunks) + 1 if self._incoming else 0
        return on_chunk(self, source, replace(chunk, index=index), now_ms)

    patch.setattr(Transfer, "on_chunk", take)


@mutant(keeping)
def nobody_seeks_another_donor(patch: Patch) -> None:
    patch.setattr(Transfer, "needs_donor", False)


@mutant(keeping)
def joiners_are_told_that_the_state_is_lost(patch: Patch) -> None:
    def enter(self: Transfer, decision: Decision, now_ms: int, instance: str) -> list[OfState]:
        self._instance = instance
        return self.install(replace(decision, sources={}), now_ms)

    patch.setattr(Transfer, "enter", enter)


@mutant(reliable, keeping, aim=aims.donors_die_while_one_is_out)
def a_state_that_began_at_a_loss_takes_the_place_of_one_that_did_not(patch: Patch) -> None:
    on_chunk = Transfer.on_chunk

    def silent(self: Transfer, source: Process, chunk: StateChunk, now_ms: int) -> list[OfState]:
        return on_chunk(self, source, replace(chunk, since=0), now_ms)

    patch.setattr(Transfer, "on_chunk", silent)


@mutant(reliable, keeping, of_three, aim=aims.the_last_donor_dies_as_one_comes_back)
def nobody_goes_on_with_its_own(patch: Patch) -> None:
    patch.setattr("gcom.core.state_transfer.donors._latest", lambda waiting: [])


@told_by(test_state.test_12_where_all_who_had_the_state_die_the_rest_go_on_from_the_one_that_waited_longest)
def each_who_waits_begins_by_itself_where_the_last_donor_dies(patch: Patch) -> None:
    patch.setattr("gcom.core.state_transfer.donors._longest", lambda standings: [])


@told_by(test_state.test_one_that_every_donor_has_failed_goes_on_with_all_that_came_since_it_entered)
def what_one_held_is_dropped_where_every_donor_has_failed(patch: Patch) -> None:
    put = DeliveryQueue.put

    def drop(self: DeliveryQueue[object], effect: Handed | AwaitState) -> list[Deliver | Skip]:
        if isinstance(effect, StateUnavailable):
            self.tail.clear()
        return put(self, effect)

    patch.setattr(DeliveryQueue, "put", drop)


@mutant(reliable, keeping, of_three, aim=aims.donors_die)
def what_one_held_as_it_awaited_the_state_ends_with_its_instance(patch: Patch) -> None:
    end = DeliveryQueue.end

    def end_all(self: DeliveryQueue[object], own: object, *, goes_on: bool = False) -> None:
        end(self, own)

    patch.setattr(DeliveryQueue, "end", end_all)


@told_by(test_continuity.test_a_state_that_has_come_whole_goes_over_into_a_successor)
def a_state_that_came_since_the_promise_ends_with_its_instance(patch: Patch) -> None:
    patch.setattr(Transfer, "succeed", lambda self, decision: [])


@mutant(reliable, of_three, aim=aims.sides_meet)
def who_enters_another_instance_brings_nothing(patch: Patch) -> None:
    patch.setattr(StateReconciliation, "enter", lambda self, instance, first: setattr(self, "_kept", None))


@mutant(reliable, of_three, aim=aims.sides_meet)
def every_brought_state_is_taken_for_the_first(patch: Patch) -> None:
    take_states_to_merge = Streams.take_states_to_merge

    def take(self: Streams) -> list[tuple[Process, bytes]]:
        taken = take_states_to_merge(self)
        return [(sender, taken[0][1]) for sender, _ in taken]

    patch.setattr(Streams, "take_states_to_merge", take)


@mutant(reliable, of_three, aim=aims.sides_meet)
def what_was_merged_before_a_state_that_never_came_is_not_brought_again(patch: Patch) -> None:
    patch.setattr(StateReconciliation, "lost", lambda self: None)


@told_by(test_reconciliation.test_what_is_given_up_is_told_unless_it_was_merged)
def what_one_was_about_to_bring_is_dropped_at_its_end(patch: Patch) -> None:
    patch.setattr(StateReconciliation, "give_up", lambda self: None)
