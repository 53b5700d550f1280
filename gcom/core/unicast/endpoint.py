"""Unicast and group calls of one member. Composes envelopes and calls; returns effects.

The members of the view in force can be sent to or asked. When a view goes on without one, what was under way to it is
reported (`UnicastLost`), and what it was asked has an answer: `Outcome.DEPARTED`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from gcom.core.messages import events
from gcom.core.messages.effects import Answered, DeliverUnicast, Effect, GroupCallOver, Serve, UnicastLost
from gcom.core.unicast.channel import Channels
from gcom.core.unicast.rpc import PendingCalls
from gcom.values.answers import Outcome
from gcom.values.envelope import Envelope, Kind
from gcom.values.names import Process
from gcom.values.view import View


class UnicastEndpoint:
    """A member's unicasts and calls, both ways. It is told nothing of streams, nor they of it."""

    def __init__(self, process: Process, view: View) -> None:
        self.process = process
        self.channels = Channels(process, view.members)
        self._first = view.number
        self._calls = PendingCalls()

    # the application

    def handle(self, event: events.UnicastEvent) -> list[Effect]:
        """Carry out what the application wants."""
        effects: list[Effect] = []
        match event:
            case events.SendUnicast(target, payload):
                if target in self.channels.outboxes:
                    self.channels.outboxes[target].add_unicast(payload)
                # The target may have left between the application's look at the members and this step.
                else:
                    effects.append(UnicastLost(target, (payload,)))
            case events.GroupCall():
                effects += self._call(event)
            case events.Served(caller, call, payload, failed):
                # The caller may be gone while its request was served: nobody waits for the answer.
                if caller in self.channels.outboxes:
                    kind = Kind.ERROR if failed else Kind.ANSWER
                    self.channels.outboxes[caller].add_answer(kind, call, payload)
            case events.EndGroupCall(call):
                self._end(call)
            case _:
                assert_never(event)
        return effects + self._to_self()

    def _call(self, event: events.GroupCall) -> list[Effect]:
        # A member that has left since the application looked answers at once, as departed, in place of an error for the
        # whole call.
        here = [member for member in event.targets if member in self.channels.outboxes]
        self._calls.begin(event.call, here, event.deadline_ms)
        for member in here:
            self.channels.outboxes[member].add_request(event.call, event.payload)
        gone = [member for member in event.targets if member not in self.channels.outboxes]
        return [Answered(event.call, member, Outcome.DEPARTED) for member in gone]

    def _end(self, call: int) -> None:
        # Only what was not put is taken back: a member that has the request serves it, and its answer is
        # dropped.
        for member in self._calls.end(call):
            self.channels.outboxes[member].withdraw(call)

    def on_read(self, sender: Process) -> tuple[bool, list[Effect]]:
        """Record that a unicast was read; return whether its sender should hear at once, and what follows."""
        return self.channels.on_read(sender), self._to_self()

    # the members

    def install(self, members: tuple[Process, ...]) -> list[Effect]:
        """Begin a view."""
        gone = [member for member in self.channels.outboxes if member not in members]
        effects: list[Effect] = [UnicastLost(*lost) for lost in self.channels.install(members)]
        # Each open call has a result for every member asked, so no call hangs (JGroups' GET_ALL did).
        return effects + [Answered(call, who, Outcome.DEPARTED) for call, who in self._calls.on_departed(gone)]

    def receive(self, sender: Process, envelopes: Iterable[Envelope], view: int) -> list[Effect]:
        """Take envelopes that a member put to this process in a view."""
        # 1. B is let in with view 5, does not hear of it, and is put out. 2. It is let in with view 8, under one id.
        # 3. A's envelopes of view 5 come late: they have the numbers of those that A will write in view 8.
        if view < self._first:
            return []
        return self._open(sender, self.channels.receive(sender, envelopes)) + self._to_self()

    def _to_self(self) -> list[Effect]:
        return self._open(self.process, self.channels.to_self())

    def _open(self, sender: Process, envelopes: list[Envelope]) -> list[Effect]:
        effects: list[Effect] = []
        for envelope in envelopes:
            match envelope.kind:
                case Kind.UNICAST:
                    effects.append(DeliverUnicast(sender, envelope.payload))
                case Kind.REQUEST:
                    effects.append(Serve(sender, envelope.call, envelope.payload))
                # Dropped otherwise: a late answer to a call that is over.
                case Kind.ANSWER if self._calls.on_answer(sender, envelope.call):
                    effects.append(Answered(envelope.call, sender, Outcome.VALUE, envelope.payload))
                case Kind.ERROR if self._calls.on_answer(sender, envelope.call):
                    effects.append(Answered(envelope.call, sender, Outcome.ERROR, envelope.payload))
        return effects

    def tick(self, now_ms: int) -> list[Effect]:
        """End the calls whose time is over."""
        if not (overdue := self._calls.overdue(now_ms)):
            return []
        for call in overdue:
            self._end(call)
        return [GroupCallOver(call) for call in overdue]
