"""The group calls of a session: those that it makes, until they are over, and the requests that wait for its state.

The session puts the members' answers into an open call while it carries out effects; `Results` shows it to the
application. A request is answered by the membership's `CallServer`, which outlives sessions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, assert_never

from gcom.core.messages import events
from gcom.core.messages.effects import Answered, GroupCallOver, Serve
from gcom.runtime.request_handlers import NO_HANDLER, CallServer
from gcom.values.answers import Outcome
from gcom.values.names import Process
from gcom.values.run import Payload


class OpenCall:
    """The answers to call `number` of a session. Guarded by the host's lock; the application reads without it."""

    def __init__(self, number: int, members: tuple[Process, ...]) -> None:
        self.number = number
        self.answers: dict[Process, tuple[Outcome, Payload]] = dict.fromkeys(members, (Outcome.PENDING, ""))
        self.arrived: list[Process] = []
        self.over = not members

    def put(self, member: Process, outcome: Outcome, payload: Payload) -> None:
        """Record a member's answer; the last one ends the call."""
        # In this order: a thread that finds the member in `arrived`, without the lock, finds its answer as well.
        self.answers[member] = outcome, payload
        self.arrived.append(member)
        self.over = self.over or len(self.arrived) == len(self.answers)


class CallingSession(Protocol):
    """The part of a session that its group calls use. Called with the lock held."""

    def step(self, event: events.Event) -> None: ...


class GroupCalls:
    """The calls of one session that are not over, by number, and requests to it. Guarded by the host's lock."""

    def __init__(self, session: CallingSession, call_server: CallServer, now_ms: Callable[[], int]) -> None:
        self.waiting: list[Serve] = []  # requests that came before the state which they are about
        self._session = session
        self._call_server = call_server
        self._now_ms = now_ms
        self._calls: dict[int, OpenCall] = {}
        self._begun = 0  # ever

    def __len__(self) -> int:
        return len(self._calls)

    def begin(self, payload: Payload, members: tuple[Process, ...], timeout_ms: int | None) -> OpenCall:
        """Ask members of the view; a call of none is over at once."""
        self._begun += 1
        call = OpenCall(self._begun, members)
        if members:
            self._calls[call.number] = call
            deadline_ms = None if timeout_ms is None else self._now_ms() + timeout_ms
            self._session.step(events.GroupCall(call.number, members, payload, deadline_ms))
        return call

    def withdraw(self, call: OpenCall) -> None:
        """Take no more answers; requests that have not left are withdrawn."""
        if not call.over:
            self._end(call.number)
            self._session.step(events.EndGroupCall(call.number))

    def on_effect(self, effect: Serve | Answered | GroupCallOver, state_awaited: bool) -> list[events.Event]:
        """Carry out an effect of group calls; return the events for the machine that follow."""
        match effect:
            case Serve() if state_awaited:
                # Other members answer from the state, this one would from nothing: it answers when it has it.
                self.waiting.append(effect)
            case Serve(caller, call):
                if not self._call_server.take(self._session, effect):
                    return [events.Served(caller, call, NO_HANDLER, failed=True)]
            case Answered(call, member, outcome, payload):
                self._answer(call, member, outcome, payload)
            case GroupCallOver(call):
                self._end(call)
            case _:
                assert_never(effect)
        return []

    def serve_early(self, is_in_view: bool) -> None:
        """Have requests served that wait for a thread, or for the first handler of a member that has just come in."""
        if is_in_view:
            self._call_server.serve_waiting(self._now_ms())

    def serve_waiting(self) -> None:
        """Serve the requests that waited for the state."""
        waiting, self.waiting = self.waiting, []
        for event in [event for request in waiting for event in self.on_effect(request, state_awaited=False)]:
            self._session.step(event)

    def _answer(self, number: int, member: Process, outcome: Outcome, payload: Payload) -> None:
        """Record a member's answer, unless the call is over."""
        call = self._calls.get(number)
        # An answer to a call that is over came too late, and is no mistake of its sender's.
        if call is not None:
            call.put(member, outcome, payload)
            if call.over:
                del self._calls[number]

    def _end(self, number: int) -> None:
        call = self._calls.pop(number, None)
        if call is not None:
            call.over = True
