"""One group call: what each member that was asked has answered, in the order in which the answers came.

The session fills it while it carries out effects; `Results` shows it to the application.
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
        self.answers[member] = outcome, payload
        self.arrived.append(member)
        self.over = self.over or len(self.arrived) == len(self.answers)
