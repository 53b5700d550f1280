"""The open group calls of a session: the answers of the members asked, in the order in which they came.

The session fills them while it carries out effects; `Results` shows one to the application.
"""

from __future__ import annotations

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


class OpenCalls:
    """The calls of one session that are not over, by number. Guarded by the host's lock."""

    def __init__(self) -> None:
        self._calls: dict[int, OpenCall] = {}
        self._begun = 0  # ever

    def __len__(self) -> int:
        return len(self._calls)

    def begin(self, members: tuple[Process, ...]) -> OpenCall:
        """Open a call of these members; of none, it is over at once."""
        self._begun += 1
        call = OpenCall(self._begun, members)
        if members:
            self._calls[call.number] = call
        return call

    def answer(self, number: int, member: Process, outcome: Outcome, payload: Payload) -> None:
        """Record a member's answer, unless the call is over."""
        call = self._calls.get(number)
        # An answer to a call that is over came too late, and is no mistake of its sender's.
        if call is not None:
            call.put(member, outcome, payload)
            if call.over:
                del self._calls[number]

    def end(self, number: int) -> None:
        call = self._calls.pop(number, None)
        if call is not None:
            call.over = True
