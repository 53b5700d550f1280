"""The load of the next frame to a peer: of a member's streams, envelopes, order and state, within the frame's
budget.
"""

from __future__ import annotations

from gcom.core.links import Links
from gcom.core.membership.flush import relay
from gcom.core.messages import frames
from gcom.core.messages.effects import Effect
from gcom.core.messages.frames import StateItem
from gcom.core.messages.orders import Orders
from gcom.core.multicast.window import NOTHING, Load
from gcom.core.state_transfer.transfer import Transfer
from gcom.core.streams import Streams
from gcom.core.unicast.channel import Channels, Pace
from gcom.values import limits
from gcom.values.envelope import Envelope
from gcom.values.names import Process

EMPTY: tuple[Load, list[Envelope], tuple[StateItem, ...]] = (NOTHING, [], ())


def size_of(load: Load, envelopes: list[Envelope], state: tuple[StateItem, ...]) -> int:
    """Return the bytes of data in a frame; a piece of state counts as a full load."""
    envelopes_size = sum(envelope.taken for envelope in envelopes) if envelopes else 0
    return limits.LOAD_BYTES_MAX if state else load.size + envelopes_size


class Outgoing:
    """Reader of what the parts have for a peer. A run that is formed has effects: they are added to `effects`."""

    def __init__(
        self, links: Links, streams: Streams, channels: Channels, transfer: Transfer, effects: list[Effect]
    ) -> None:
        self._links = links
        self._streams = streams
        self._outboxes = channels.outboxes
        self._transfer = transfer
        self._effects = effects

    def is_beside(self, peer: Process) -> bool:
        """Return whether a peer is another member of the view."""
        return peer in self._streams.multicast.out.peers

    def cargo_for(self, peer: Process, due: bool, now_ms: int) -> tuple[Load, list[Envelope], tuple[StateItem, ...]]:
        """Return the data of the next frame: runs or fragments, envelopes, state; `due`: a frame goes in any case."""
        state = self._state_for(peer, now_ms) if self._transfer.owes else None
        load, envelopes = self._load_and_envelopes_for(peer, due or state is not None, state)
        return load, envelopes, () if state is None else (state,)

    def _state_for(self, peer: Process, now_ms: int) -> StateItem | None:
        """Return the chunk of state, or the refusal of it, to put to a peer now, if any."""
        multicast = self._streams.multicast
        known = multicast.out.peers.get(peer)
        # A peer that has not installed the view can make nothing of a chunk. What a peer fetches goes first: a view
        # change waits for that.
        if known is None or known.view != multicast.view or self._links[peer].relays:
            return None
        data_waits = multicast.open_to(peer) and (self._streams.may_form or multicast.has_for(peer))
        return self._transfer.item_for(peer, data_waits or self._outboxes[peer].has_more, now_ms)

    def has_for(self, peer: Process) -> bool:
        """Return whether runs, envelopes or state could go to a peer now."""
        outbox = self._outboxes.get(peer)
        if outbox is None:
            return False  # no other member of the view
        if self._streams.multicast.has_for(peer):
            ready = not self._streams.awaits_order
        else:
            ready = bool(self._streams.unsent) and self._streams.may_form
        return ready or outbox.has_more or self._transfer.owes

    def has_more(self, peer: Process, now_ms: int) -> bool:
        """Return whether another frame with data may follow the one that was taken."""
        link = self._links[peer]
        return link.takes_load(self._streams.paced, now_ms) and (bool(link.relays) or self.has_for(peer))

    def _load_and_envelopes_for(
        self, peer: Process, due: bool, beside: StateItem | None
    ) -> tuple[Load, list[Envelope]]:
        """Return runs and envelopes to put to a peer, `beside` a piece of state; `due`: a frame goes in any case."""
        link = self._links[peer]
        budget = limits.LOAD_BYTES_MAX
        # A piece of state takes its room first: together with a full load it would not fit a frame.
        if isinstance(beside, frames.StateChunk):
            budget -= len(beside.data)
        outbox = self._outboxes.get(peer)
        envelopes_wait = outbox is not None and outbox.has_more
        # Streams and envelopes take turns at being first: else a link that is full of one would starve the other.
        if outbox and envelopes_wait and link.envelopes_first and not link.relays:
            load, envelopes = NOTHING, outbox.take(min(budget, limits.ENVELOPES_BYTES_TAKEN))
            budget -= sum(envelope.taken for envelope in envelopes)
            if not self._streams.awaits_order:
                load = self._streams.multicast.take(peer, budget, whole=True)  # beside envelopes whole runs only
            link.envelopes_first = False
            return load, envelopes
        load, envelopes = self._load_for(peer, budget), []
        if outbox and (due or envelopes_wait or load.size):
            envelopes = outbox.take(min(budget - load.size, limits.ENVELOPES_BYTES_TAKEN))
            envelopes_wait = envelopes_wait and outbox.has_more
        link.envelopes_first = envelopes_wait and load.size > 0
        return load, envelopes

    def _load_for(self, peer: Process, budget: int) -> Load:
        """Return the part of a stream that a peer fetches, else what follows for it in this process's own."""
        multicast = self._streams.multicast
        relays = self._links[peer].relays
        if relays and (relayed := relay(relays, multicast, budget)).size:
            return relayed
        # A run is formed when the link is free: what came in during the last call travels together, without a timer.
        # Not while this peer still lacks earlier runs: those go first, and what waits meanwhile becomes one larger run.
        forms = self._streams.unsent and multicast.open_to(peer) and not multicast.has_for(peer)
        if forms and (formed := self._streams.form(limits.RUN_BYTES_MAX)):
            self._effects += formed
            # Else the answer with its order wakes them.
            if not self._streams.awaits_order:
                self._links.wake_all(but=peer)
        return NOTHING if self._streams.awaits_order else multicast.take(peer, budget)

    def is_owed(self, peer: Process) -> bool:
        """Return whether the next heartbeat brings a peer more than a reply does.

        That is a piece of the order, envelopes that it did not take when they came, or a piece of state: only a call
        carries these, so its heartbeat is not put off.
        """
        serials, outbox = self._streams.serials, self._outboxes.get(peer)
        ordered = serials is not None and serials.lacks(peer) and self._streams.multicast.open_to(peer)
        return (
            ordered
            or (self._transfer.owes and self._transfer.giving)
            or (outbox is not None and outbox.pace is Pace.STALLED)
        )

    def orders_for(self, peer: Process) -> Orders | None:
        """Return the piece of the order to put to a peer with a frame: what it asked for, else what it lacks."""
        serials = self._streams.serials
        asked = self._links[peer].relays.get(frames.ORDER)
        if serials is None:
            self._links[peer].relays.pop(frames.ORDER, None)  # a peer's mistake
            return None
        if asked is None:
            return serials.put_to(peer) if serials.lacks(peer) and self._streams.multicast.open_to(peer) else None
        orders = serials.fetched(asked.view, asked.after)
        # Nothing to relay: the log was dropped, or ends before. The question is struck off, or it would take
        # a frame each time.
        asked.after = orders.end if orders else asked.last
        if asked.after >= asked.last:
            del self._links[peer].relays[frames.ORDER]
        return orders
