"""Mutants of envelopes and group calls, and of the witness of a tie."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gcom.core.directory.witness import Vote, Witness, WitnessRecord
from gcom.core.messages import events
from gcom.core.messages.effects import Effect, UnicastLost
from gcom.core.unicast.channel import Channels, Inbox, Outbox
from gcom.core.unicast.endpoint import UnicastEndpoint
from gcom.core.unicast.rpc import PendingCalls
from gcom.sim.plan.events import Fault
from gcom.values.envelope import Envelope, Kind
from gcom.values.names import Process
from gcom.values.run import Payload
from tests.sim.mutants import aims
from tests.sim.mutants.table import (
    Patch,
    even,
    hit_by,
    mutant,
    of_at_most,
    posting,
    witnessed,
)


@mutant(posting)
def an_envelope_is_taken_each_time_it_comes(patch: Patch) -> None:
    add = Inbox.add

    def once_more(self: Inbox, envelope: Envelope) -> None:
        held = self.held
        add(self, envelope)
        self.held = max(held, self.held)

    patch.setattr(Inbox, "takes", lambda self, envelope, served: envelope.number <= self.held + 1)
    patch.setattr(Inbox, "add", once_more)


@mutant(posting)
def envelopes_beyond_a_gap_are_taken(patch: Patch) -> None:
    """And what is put does not begin with what is not acknowledged."""
    patch.setattr(Inbox, "takes", lambda self, envelope, served: envelope.number > self.held)
    patch.setattr(Outbox, "on_failed", lambda self: None)
    patch.setattr(Outbox, "on_replied", lambda self: None)


@mutant(posting)
def envelopes_are_not_put_again(patch: Patch) -> None:
    patch.setattr(Outbox, "on_failed", lambda self: None)
    patch.setattr(Outbox, "on_replied", lambda self: None)


@mutant(posting)
def nobody_is_told_of_envelopes_to_who_departed(patch: Patch) -> None:
    install = Channels.install

    def quietly(self: Channels, members: tuple[Process, ...]) -> list[Any]:
        install(self, members)
        return []

    patch.setattr(Channels, "install", quietly)


@mutant(posting)
def nobody_is_told_of_envelopes_that_never_reached_who_departed(patch: Patch) -> None:
    handle = UnicastEndpoint.handle

    def quietly(self: UnicastEndpoint, event: events.UnicastEvent) -> list[Effect]:
        return [effect for effect in handle(self, event) if not isinstance(effect, UnicastLost)]

    patch.setattr(UnicastEndpoint, "handle", quietly)


@mutant(posting)
def envelopes_that_were_never_put_are_not_told_of(patch: Patch) -> None:
    def undelivered(self: Outbox) -> tuple[Payload, ...]:
        return tuple(envelope.payload for envelope in self._kept if envelope.kind is Kind.UNICAST)

    patch.setattr(Outbox, "undelivered", property(undelivered))


@mutant(posting)
def that_envelopes_were_read_is_never_told(patch: Patch) -> None:
    receipt = Channels.receipt
    patch.setattr(Channels, "receipt", lambda self, peer: receipt(self, peer)._replace(read=0, served=0))


@mutant(posting)
def a_call_waits_for_who_departed(patch: Patch) -> None:
    patch.setattr(PendingCalls, "on_departed", lambda self, gone: [])


@mutant(posting)
def an_answer_counts_after_the_end_of_its_call(patch: Patch) -> None:
    on_answer = PendingCalls.on_answer
    patch.setattr(PendingCalls, "on_answer", lambda self, member, call: on_answer(self, member, call) or True)


@mutant(witnessed, even, of_at_most(4), aim=aims.halves_one_after_the_other)
def trace_01_the_witness_forgets_its_votes_when_it_starts_again(patch: Patch) -> None:
    begin = Witness.__init__

    def forget(self: Witness, records: Iterable[WitnessRecord], save: Any) -> None:
        begin(self, (), save)

    patch.setattr(Witness, "__init__", forget)


@mutant(witnessed, even, hit_by(Fault.PARTITION))
def trace_01_the_witness_votes_for_whoever_asks(patch: Patch) -> None:
    become = Witness._become

    def forget(self: Witness, vote: Vote, record: WitnessRecord) -> None:
        become(self, vote, record)
        if record.decided:
            del self._records[record.instance]

    patch.setattr(Witness, "_become", forget)
