"""Mutants of links with several frames in flight: what a broken connection takes along, and what was merely put."""

from __future__ import annotations

from gcom.core.links import Links
from gcom.core.messages.orders import Orders
from gcom.core.multicast.reliable import Reliable
from gcom.core.ordering.agreement import OrderAgreement
from gcom.core.unicast.channel import Outbox
from gcom.values.names import Process
from tests.sim.mutants.table import Patch, lossy, mutant, of_three, posting, reliable, total


@mutant(total, of_three)
def an_order_that_was_put_counts_as_held(patch: Patch) -> None:
    """An acknowledgement that runs ahead: the frame with the order may never arrive."""
    put_to = OrderAgreement.put_to

    def run_ahead(self: OrderAgreement, peer: Process) -> Orders | None:
        orders = put_to(self, peer)
        if orders:
            self._held[peer] = max(self._held[peer], orders.end)
        return orders

    patch.setattr(OrderAgreement, "put_to", run_ahead)


@mutant(lossy)
def places_of_lost_frames_stay_taken(patch: Patch) -> None:
    """Every connection that breaks leaves fewer frames that may be in flight, until none may."""
    failed = Links.failed

    def keep(self: Links, peer: Process, now_ms: int) -> None:
        loads = self[peer].loads if peer in self else 0
        failed(self, peer, now_ms)
        if peer in self:
            self[peer].loads = loads

    patch.setattr(Links, "failed", keep)


@mutant(reliable, lossy)
def one_run_is_lost_from_the_middle(patch: Patch) -> None:
    """Runs put behind the oldest unanswered frame are taken for arrived when a connection breaks."""

    def skip(self: Reliable, peer: Process) -> None:
        known = self.out.peers.get(peer)
        if known and known.cursor > known.held:
            known.cursor, known.at_byte = max(known.held, known.cursor - 1), 0

    patch.setattr(Reliable, "on_failed", skip)
    patch.setattr(Reliable, "on_replied", lambda self, peer: None)


@mutant(posting, lossy)
def envelopes_of_later_frames_are_lost_with_the_connection(patch: Patch) -> None:
    def skip(self: Outbox) -> None:
        self.cursor = min(self.cursor, self.held + 1)

    patch.setattr(Outbox, "on_failed", skip)
    patch.setattr(Outbox, "on_replied", lambda self: None)


@mutant(reliable)
def answers_that_came_together_count_as_one(patch: Patch) -> None:
    """Of calls whose answers came together the oldest alone is over: the places of the others stay taken."""
    replied = Links.replied
    patch.setattr(Links, "replied", lambda self, peer, now_ms, calls=1: replied(self, peer, now_ms))
