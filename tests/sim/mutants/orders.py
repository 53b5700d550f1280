"""Mutants of the orders: hold-back, clocks, serials, no-ops, and the sequencer in its several lives."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gcom.core.messages.effects import Deliver, Delivery, Effect, Skip
from gcom.core.messages.frames import Decision
from gcom.core.messages.orders import Span
from gcom.core.messages.sequencer import SequencerAnswer, SequencerRequest, Unknown, Want
from gcom.core.ordering.agreement import OrderAgreement
from gcom.core.ordering.causal import Causal
from gcom.core.ordering.fifo import Fifo
from gcom.core.ordering.order_log import OrderLog
from gcom.core.ordering.sequencer import Sequencer, _Served
from gcom.core.ordering.total import Total
from gcom.core.streams import Streams
from gcom.sim.plan.events import Fault
from gcom.values import limits
from gcom.values.names import Process
from gcom.values.run import Payload, Run
from tests.core.scenarios import test_traces
from tests.sim.mutants import aims
from tests.sim.mutants.table import (
    Patch,
    basic,
    causal,
    causal_total,
    forgets,
    hit_by,
    lossy,
    mutant,
    of_five,
    of_just,
    of_three,
    reliable,
    told_by,
    total,
    unsafe,
)

forgetful = hit_by(Fault.AMNESIA)


@mutant(causal, of_three)
def causal_delivers_without_holding_back(patch: Patch) -> None:
    patch.setattr(Causal, "_waits", lambda self, run: False)


@mutant(causal, of_three)
def causal_looks_at_one_predecessor_only(patch: Patch) -> None:
    waits = Causal._waits

    def one(self: Causal, run: Run) -> bool:
        return waits(self, replace(run, clock=dict([*run.clock.items()][:1])))

    patch.setattr(Causal, "_waits", one)


@mutant(causal, of_three)
def causal_forgets_who_waits(patch: Patch) -> None:
    patch.setattr(Causal, "_freed_by", lambda self, stream: [])


@mutant(causal, of_five, reliable, unsafe, aim=aims.without_a_past)
def trace_09_the_cut_is_delivered_though_nobody_has_its_past(patch: Patch) -> None:
    def close(self: Causal) -> list[Delivery]:
        ups: list[Delivery] = []
        for held in self._held_back.values():
            ups += [Deliver(run, self._view) for _, run in sorted(held.items())]
            held.clear()
        return ups

    patch.setattr(Fifo, "close", close)


@mutant(causal_total, of_five, reliable, unsafe, aim=aims.without_a_past)
def trace_09_a_serial_is_delivered_though_nobody_has_its_past(patch: Patch) -> None:
    patch.setattr(Total, "_lacks_past", lambda self, run: False)


@mutant(causal, basic, of_three, lossy)
def trace_14_a_lost_run_takes_its_clock_along(patch: Patch) -> None:
    """Over BASIC only what changed since the last run is told, as over RELIABLE."""
    begin = Streams.__init__

    def changes_only(self: Streams, *given: Any) -> None:
        begin(self, *given)
        self._basic = False

    patch.setattr(Streams, "__init__", changes_only)


@mutant()
def runs_carry_no_clock(patch: Patch) -> None:
    form = Streams._form_run

    def bare(self: Streams, bytes_max: int) -> Run:
        self._clock, self._clock_told = {}, {}
        return form(self, bytes_max)

    patch.setattr(Streams, "_form_run", bare)


@mutant()
def what_changed_in_the_clock_is_forgotten_with_the_view(patch: Patch) -> None:
    install = Streams.install

    def reset(self: Streams, decision: Decision, serial: int) -> None:
        self._clock = {}
        install(self, decision, serial)

    patch.setattr(Streams, "install", reset)


@mutant()
def a_joiners_clock_begins_with_nothing(patch: Patch) -> None:
    begin = Streams.__init__

    def empty(self: Streams, *given: Any) -> None:
        begin(self, *given)
        self._clock = {}

    patch.setattr(Streams, "__init__", empty)


@mutant()
def trace_17_a_message_has_the_clock_of_the_moment_it_was_submitted(patch: Patch) -> None:
    """The fix was to give numbers and clock when a run is taken into a frame; here the clock is older than that."""
    submit, form = Streams.submit, Streams.form

    def note(self: Any, payloads: list[Payload]) -> None:
        if not self.unsent:
            self.clock_then = dict(self._clock)
        submit(self, payloads)

    def old(self: Any, bytes_max: int) -> list[Effect]:
        now = self._clock
        self._clock = dict(getattr(self, "clock_then", now))
        told = dict(self._clock)
        effects = form(self, bytes_max)
        later = {sender: number for sender, number in now.items() if told.get(sender) != number}
        self._clock = {**later, **self._clock} if effects else now
        self.clock_then = dict(self._clock)
        return effects

    patch.setattr(Streams, "submit", note)
    patch.setattr(Streams, "form", old)


@mutant(total)
def total_delivers_on_receipt(patch: Patch) -> None:
    """Each member gives serials by itself, in the order in which runs come."""

    def receive(self: Total, run: Run) -> list[Deliver | Skip]:
        serial = self.serial + 1
        self.serial += len(run.payloads)
        return [Deliver(run, self._view, serial)]

    patch.setattr(Total, "receive", receive)
    patch.setattr(Total, "order", lambda self, entries: [])


@told_by(test_traces.test_trace_04_an_order_that_only_a_minority_heard_of_is_delivered_by_nobody, "TOTAL")
def trace_04_a_serial_is_delivered_before_a_majority_holds_its_order(patch: Patch) -> None:
    patch.setattr("gcom.core.ordering.agreement.held_by_majority", lambda view, held: max(held.values()))


@mutant(total)
def the_order_goes_on_after_the_promise(patch: Patch) -> None:
    def wedge(self: OrderAgreement) -> None:
        self._wanted = None

    patch.setattr(OrderAgreement, "wedge", wedge)


@mutant(total, of_three)
def each_member_ends_the_order_with_its_own_messages_first(patch: Patch) -> None:
    def close(self: OrderAgreement, decision: Decision) -> list[Span]:
        view = self.view
        mine_first = sorted(view.members, key=lambda member: member != self.process)
        self.view = replace(view, members=tuple(mine_first))
        entries = ends(self, decision)
        self.view = view
        return entries

    ends = OrderAgreement.close
    patch.setattr(OrderAgreement, "close", close)


@mutant(total)
def a_no_op_takes_no_serial(patch: Patch) -> None:
    following = Total._next

    def left_out(self: Total, sender: Process, first: int, last: int) -> Deliver | Skip | None:
        known = first in self._held_back[sender] or first in self._lost[sender]
        up = following(self, sender, first, last)
        if isinstance(up, Skip) and self._closing and not known:
            self.serial -= up.count
            return replace(up, serial=0)
        return up

    patch.setattr(Total, "_next", left_out)


@mutant(total, forgets)
def trace_05_a_sequencer_that_starts_again_goes_on_by_what_it_is_asked(patch: Patch) -> None:
    """It takes the last serial from the question, and does not know the last number of each sender."""
    want = Sequencer._on_want

    def go_on(self: Sequencer, request: Want) -> SequencerAnswer:
        key = request.group, request.instance
        if key not in self._served:
            self._served[key] = _Served(request.view, OrderLog(request.after, {}))
        self._served[key].log.ordered.setdefault(request.process, 0)
        return want(self, request)

    patch.setattr(Sequencer, "_on_want", go_on)


@mutant(total, of_just(3), aim=aims.a_new_sequencer)
def serials_are_reused_since_a_view_is_opened_again(patch: Patch) -> None:
    """The leader opens a sequencer that has forgotten the view with what it knows; another member knows more."""
    unserved = OrderAgreement._on_unserved

    def again(self: OrderAgreement, request: SequencerRequest, answer: SequencerAnswer | None, now_ms: int) -> None:
        if isinstance(answer, Unknown):
            self._opened = False
            self._retry_ms = now_ms + limits.JOIN_GATHER_MS
        else:
            unserved(self, request, answer, now_ms)

    patch.setattr(OrderAgreement, "_on_unserved", again)


@mutant(total)
def the_sequencer_serves_whichever_view_asks(patch: Patch) -> None:
    want = Sequencer._on_want

    def serve(self: Sequencer, request: Want) -> SequencerAnswer:
        served = self._served.get((request.group, request.instance))
        if served is None:
            return Unknown()
        view, served.view = served.view, request.view
        answer = want(self, request)
        served.view = view
        return answer

    patch.setattr(Sequencer, "_on_want", serve)


@mutant(total, forgets)
def trace_06_who_is_cut_off_from_the_sequencer_does_not_say_so(patch: Patch) -> None:
    def wait(self: OrderAgreement, request: SequencerRequest, answer: SequencerAnswer | None, now_ms: int) -> None:
        self._retry_ms = now_ms + limits.JOIN_GATHER_MS

    patch.setattr(OrderAgreement, "_on_unserved", wait)


@mutant(total)
def nobody_passes_the_order_on(patch: Patch) -> None:
    patch.setattr(OrderAgreement, "put_to", lambda self, peer: None)


@mutant(total)
def a_leader_orders_what_only_it_knows_to_exist(patch: Patch) -> None:
    """The sequencing leader orders its own messages twice as far as they go, before they are there."""
    sequence = OrderAgreement.sequence

    def ahead(self: OrderAgreement, sender: Process, upto: int) -> bool:
        return sequence(self, sender, upto + 1)

    patch.setattr(OrderAgreement, "sequence", ahead)


@mutant(total)
def a_joiner_is_not_told_the_last_serial(patch: Patch) -> None:
    begin = Streams._begin

    def from_nothing(self: Streams, decision: Decision, serial: int) -> None:
        begin(self, decision, serial if self.multicast.view else 0)

    patch.setattr(Streams, "_begin", from_nothing)
