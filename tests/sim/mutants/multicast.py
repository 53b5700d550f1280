"""Mutants of the data path: storing, acknowledging, resending, giving up, and what opens a window."""

from __future__ import annotations

from typing import Any

from gcom.core.membership.view_change import ViewChanger
from gcom.core.messages.effects import Delivery, Effect, Skip
from gcom.core.messages.frames import Status
from gcom.core.multicast.basic import Basic
from gcom.core.multicast.reliable import Phase, Range, Reliable
from gcom.core.multicast.window import Flow, OwnStream, Peer, RunStore
from gcom.core.ordering.fifo import Fifo
from gcom.core.ordering.unordered import NonOrdered
from gcom.core.streams import Streams
from gcom.sim.plan.events import Fault
from gcom.values import limits
from gcom.values.names import Process
from gcom.values.run import Run
from tests.sim.mutants import aims
from tests.sim.mutants.table import (
    Patch,
    basic,
    dynamic,
    fifo,
    hit_by,
    mutant,
    of_at_most,
    of_five,
    of_just,
    of_three,
    quiet,
    reliable,
    safe,
    small_window,
    unsafe,
)


@mutant(fifo, basic)
def fifo_delivers_over_a_gap(patch: Patch) -> None:
    patch.setattr(Fifo, "receive", NonOrdered.receive)


@mutant(fifo, basic)
def fifo_forgets_what_it_holds_when_a_gap_is_given_up(patch: Patch) -> None:
    def pass_over(self: Fifo, sender: Process, first: int, last: int) -> list[Delivery]:
        self._settled[sender] = last
        self._held_back[sender].clear()
        return [Skip(sender, first, last - first + 1, self._view)]

    patch.setattr(Fifo, "pass_over", pass_over)


@mutant(basic)
def a_run_is_delivered_each_time_it_comes(patch: Patch) -> None:
    patch.setattr(Basic, "_fill", lambda self, run: True)
    patch.setattr(Fifo, "receive", NonOrdered.receive)


@mutant(basic)
def gaps_are_never_given_up(patch: Patch) -> None:
    patch.setattr(Basic, "overdue", lambda self, now_ms: [])


@mutant(basic, quiet)
def trace_14_nothing_tells_of_a_lost_last_message(patch: Patch) -> None:
    """A gap is known from a later run only, and not from how far the sender says to have sent."""
    patch.setattr(Basic, "on_sent", lambda self, sender, sent, now_ms: None)


@mutant(reliable)
def a_sender_never_goes_back(patch: Patch) -> None:
    patch.setattr(Reliable, "on_failed", lambda self, peer: None)
    patch.setattr(Reliable, "on_replied", lambda self, peer: None)


@mutant(reliable, unsafe, of_three, of_at_most(5), aim=aims.a_dead_one_is_heard_in_the_change)
def runs_are_stored_and_delivered_after_the_promise(patch: Patch) -> None:
    receive = Reliable.receive

    def thaw(self: Reliable, run: Run, now_ms: int) -> list[Run]:
        stands, (self.phase, self.wedged) = (self.phase, self.wedged), (Phase.OPEN, False)
        runs = receive(self, run, now_ms)
        self.phase, self.wedged = stands
        return runs

    patch.setattr(Reliable, "receive", thaw)


def close_without_asking(self: Reliable, cut: dict[Process, int]) -> tuple[list[Run], list[Range]]:
    """The end of a view, without the assertion that the cut is held."""
    runs: list[Run] = []
    for sender, store in self._stores.items():
        store.truncate(max(cut.get(sender, 0), store.floor))
        runs += store.after(self._released[sender], limits.NUMBER_MAX)
    self._previous = {self.process: self.out.store, **self._stores}
    return runs, []


@mutant(reliable)
def nobody_fetches_what_it_misses_of_the_cut(patch: Patch) -> None:
    patch.setattr(Reliable, "missing", lambda self, cut, now_ms: [])
    patch.setattr(Reliable, "can_end", lambda self, cut: True)
    patch.setattr(Reliable, "close", close_without_asking)


@mutant(reliable, unsafe, of_three, of_at_most(5), aim=aims.a_dead_one_is_heard_in_the_change)
def what_is_beyond_the_cut_is_delivered_too(patch: Patch) -> None:
    patch.setattr(Reliable, "within", lambda self, cut: True)
    patch.setattr(Reliable, "can_end", lambda self, cut: True)
    patch.setattr(RunStore, "truncate", lambda self, number: None)
    patch.setattr(Reliable, "close", close_without_asking)
    runs_are_stored_and_delivered_after_the_promise(patch)


@mutant(reliable)
def what_only_the_cut_brought_is_not_delivered(patch: Patch) -> None:
    def close(self: Reliable, cut: dict[Process, int]) -> tuple[list[Run], list[Range]]:
        close_without_asking(self, cut)
        return [], []

    patch.setattr(Reliable, "close", close)


@mutant(reliable, dynamic, of_just(4), aim=aims.one_is_needed_that_lags)
def the_last_views_payloads_are_dropped_with_the_view(patch: Patch) -> None:
    """Members that are still in it can fetch them nowhere."""
    install = Streams.install

    def forget(self: Streams, *given: Any) -> None:
        install(self, *given)
        self.release_previous()

    patch.setattr(Streams, "install", forget)


@mutant(reliable, dynamic, of_just(4), aim=aims.one_is_needed_that_lags)
def the_last_views_payloads_are_dropped_though_a_suspect_lacks_them(patch: Patch) -> None:
    installed_by = ViewChanger.installed_by

    def release(self: ViewChanger, peer: Process, bits: int = 0) -> None:
        installed_by(self, peer, bits)
        if not self.behind & self.triggers.live:
            self._streams.release_previous()

    patch.setattr(ViewChanger, "installed_by", release)


@mutant(reliable)
def trace_07_a_run_is_acknowledged_before_it_is_stored(patch: Patch) -> None:
    """A run that comes after the promise is acknowledged, though no promise has mentioned it."""
    store, held = Reliable._store, Reliable.held

    def arrive(self: Any, run: Run) -> bool:
        if run.view == self.view and run.sender in self._stores and run.first == early(self, run.sender) + 1:
            self.arrived = {**getattr(self, "arrived", {}), run.sender: run.last}
        return store(self, run)

    def early(self: Any, sender: Process) -> int:
        return int(max(held(self, sender), getattr(self, "arrived", {}).get(sender, 0)))

    patch.setattr(Reliable, "_store", arrive)
    patch.setattr(Reliable, "held", early)


@mutant(reliable)
def acks_cover_what_was_sent_and_not_what_is_stored(patch: Patch) -> None:
    held = Reliable.held

    def on_sent(self: Any, sender: Process, sent: int, now_ms: int) -> None:
        self.sent = {**getattr(self, "sent", {}), sender: sent}

    patch.setattr(Reliable, "on_sent", on_sent)
    patch.setattr(
        Reliable, "held", lambda self, sender: max(held(self, sender), getattr(self, "sent", {}).get(sender, 0))
    )


@mutant(reliable)
def a_receiver_drops_what_it_has_delivered(patch: Patch) -> None:
    on_status = Reliable._on_status

    def drop(self: Reliable, peer: Process, known: Peer, status: Status) -> None:
        on_status(self, peer, known, status)
        self._stores[peer].drop(self._released[peer])

    patch.setattr(Reliable, "_on_status", drop)


@mutant(reliable)
def a_sender_drops_what_it_has_sent(patch: Patch) -> None:
    """Stability is forgotten: a run counts as held by all once it has its numbers."""

    def after(self: RunStore, number: int, bytes_max: int) -> list[Run]:
        """Without the assertion that nothing was dropped."""
        return kept(self, max(number, self.floor), bytes_max)

    kept = RunStore.after
    patch.setattr(RunStore, "after", after)
    add, recount = OwnStream.add, OwnStream._recount

    def added(self: OwnStream, run: Run) -> None:
        add(self, run)
        self._recount()

    def forget(self: OwnStream) -> None:
        recount(self)
        self.stable = self.number

    patch.setattr(OwnStream, "add", added)
    patch.setattr(OwnStream, "_recount", forget)


@mutant(reliable)
def numbers_begin_again_with_each_view(patch: Patch) -> None:
    install = OwnStream.install

    def reset(self: OwnStream, peers: list[Process]) -> None:
        self.number = 0
        install(self, peers)

    patch.setattr(OwnStream, "install", reset)


@mutant()
def a_sender_does_not_deliver_its_own(patch: Patch) -> None:
    form = Streams.form

    def sent_only(self: Streams, bytes_max: int) -> list[Effect]:
        return form(self, bytes_max)[:1]

    patch.setattr(Streams, "form", sent_only)


@mutant(reliable)
def a_frozen_member_goes_on_numbering(patch: Patch) -> None:
    """Messages numbered after its promise are in no union: it delivers it, and the view ends without it."""

    def may_form(self: Streams) -> bool:
        return bool(self.unsent) and self._view.started and self.multicast.out.flow.opens_for(len(self.unsent))

    patch.setattr(Streams, "may_form", property(may_form))

    def open_to(self: Reliable, peer: Process) -> bool:
        known = self.out.peers.get(peer)
        return known is not None and known.view == self.view and not known.wedged

    patch.setattr(Reliable, "open_to", open_to)


@mutant()
def runs_are_put_to_members_that_are_not_in_the_view_yet_and_taken(patch: Patch) -> None:
    """The fences of the data: neither looks at the view, and who lags there, having promised, takes all the same."""
    runs_are_stored_and_delivered_after_the_promise(patch)
    store, receive = Reliable._store, Basic.receive

    def open_to(self: Any, peer: Process) -> bool:
        known = self.out.peers.get(peer)
        return known is not None and not self.wedged

    def _store(self: Reliable, run: Run) -> bool:
        return store(self, _of_view(run, self.view))

    def _receive(self: Basic, run: Run, now_ms: int) -> list[Run]:
        return receive(self, _of_view(run, self.view), now_ms)

    patch.setattr("gcom.core.multicast.reliable.MulticastProtocol.open_to", open_to)
    patch.setattr(Reliable, "_store", _store)
    patch.setattr(Basic, "receive", _receive)


def _of_view(run: Run, view: int) -> Run:
    return Run(run.sender, view, run.first, run.clock, run.payloads, run.encoded)


@mutant(small_window)
def bytes_of_the_window_are_never_given_back(patch: Patch) -> None:
    def consumed(self: Flow, floor: int) -> None:
        self._floor = max(self._floor, floor)
        while self._waiting and self._waiting[0][0] <= self._floor:
            self._waiting.popleft()

    patch.setattr(Flow, "consumed", consumed)


@mutant(small_window)
def credit_is_never_given(patch: Patch) -> None:
    patch.setattr(Reliable, "on_consumed", lambda self, sender, number: None)
    patch.setattr(Basic, "on_consumed", lambda self, sender, number: None)


@mutant(small_window)
def trace_08_a_window_opens_on_receipt(patch: Patch) -> None:
    """Credit is given for what has arrived, not for what the application has read."""
    receive = Streams.receive

    def consume(self: Streams, run: Run, now_ms: int) -> list[Effect]:
        effects = receive(self, run, now_ms)
        self.multicast.on_consumed(run.sender, self.multicast.held(run.sender))
        self.multicast.on_consumed(self.process, self.multicast.out.number)
        return effects

    patch.setattr(Streams, "receive", consume)


@mutant(reliable)
def trace_15_what_may_not_have_arrived_is_not_named(patch: Patch) -> None:
    """A member that is put out, or loses the quorum, takes all that it sent for arrived."""
    patch.setattr(Streams, "unconfirmed", property(lambda self: None))


@mutant(safe)
def safe_is_delivered_at_once(patch: Patch) -> None:
    release_safe = Reliable.release_safe

    def receive(self: Any, run: Run, now_ms: int) -> list[Run]:
        return Reliable.receive(self, run, now_ms)

    def submit(self: Any, run: Run) -> list[Run]:
        self.out.add(run)
        self._released[self.process] = run.last
        return [run]

    patch.setattr("gcom.core.multicast.safe.Safe.receive", receive)
    patch.setattr("gcom.core.multicast.safe.Safe.submit", submit)
    patch.setattr("gcom.core.multicast.safe.Safe.release_safe", release_safe)


@mutant(safe, of_five, hit_by(Fault.PARTITION))
def safe_is_delivered_on_one_ack(patch: Patch) -> None:
    patch.setattr("gcom.core.multicast.safe.held_by_majority", lambda view, held: sorted(held.values())[-2:][0])


@mutant(safe, of_five, hit_by(Fault.PARTITION))
def a_receiver_takes_itself_and_the_sender_for_a_majority(patch: Patch) -> None:
    from gcom.core.multicast.safe import Safe

    begin = Safe._begin

    def pairs(self: Safe, others: list[Process], cut: dict[Process, int]) -> None:
        begin(self, others, cut)
        self._majority_of_two = dict.fromkeys(others, True)

    patch.setattr(Safe, "_begin", pairs)
