"""Rules on an application's calls: nothing is sent, left or piled up that it did not ask for."""

from __future__ import annotations

from gcom.core.messages.effects import Deliver, Ended, Installed
from gcom.sim.checks.record import InstanceHistory, ProcessHistory, Rule, Violation
from gcom.values import limits
from gcom.values.names import Process
from gcom.values.run import Payload, Run


class Calls(Rule):
    """NO_CREATION: the numbered messages are those submitted, in that order. LEAVE: only a process that asked leaves.

    WINDOW: of each sender at most a window of messages waits for a reader.
    """

    def __init__(self, record: InstanceHistory) -> None:
        super().__init__(record)
        self._submitted: dict[Process, list[Payload]] = {}
        self._leaving: set[Process] = set()
        self._unread: dict[tuple[Process, Process], int] = {}  # by reader and sender

    def submit(self, who: Process, payloads: list[Payload]) -> None:
        self._submitted.setdefault(who, []).extend(payloads)

    def leave(self, who: Process) -> None:
        self._leaving.add(who)

    def read(self, who: Process, sender: Process, count: int) -> None:
        """Record that an application has read `count` messages of a sender."""
        self._unread[who, sender] -= count

    def delivered(self, history: ProcessHistory, delivery: Deliver) -> None:
        run, who = delivery.run, history.process
        unread = self._unread[who, run.sender] = self._unread.get((who, run.sender), 0) + len(run.payloads)
        # The bound is the window's, per sender: it is the credit of the slowest reader that stops a sender.
        # Broken where credit is given for what has arrived, and not for what was read.
        if unread > limits.WINDOW_MESSAGES_MAX:
            raise Violation(
                f"WINDOW: {unread} messages of {run.sender} wait to be read at {who}, where a window has "
                f"{limits.WINDOW_MESSAGES_MAX}"
            )

    def submitted(self, who: Process) -> int:
        """Return the number of messages that a process's application has submitted."""
        return len(self._submitted.get(who, []))

    def sent(self, history: ProcessHistory, run: Run) -> None:
        submitted = self._submitted.get(history.process, [])
        # What the machine numbers is what `send` was given, in that order: nothing is doubled, dropped or swapped
        # before it has a number.
        if submitted[run.first - 1 : run.last] != run.payloads:
            raise Violation(f"NO_CREATION: {history.process} sends {run.first}…{run.last} otherwise than was submitted")

    def installed(self, history: ProcessHistory, installed: Installed) -> None:
        for gone, reason in installed.left.items():
            # A view that calls an expulsion a leave would hide that somebody was put out.
            if reason == "request" and gone not in self._leaving:
                # Broken where a change takes one that lags for a leaver.
                raise Violation(f"LEAVE: view {installed.view.number} lets {gone} go, which did not ask to")

    def ended(self, history: ProcessHistory, ended: Ended) -> None:
        if ended.reason == "request" and history.process not in self._leaving:
            raise Violation(f"LEAVE: {history.process} ends by request, and did not ask to")
