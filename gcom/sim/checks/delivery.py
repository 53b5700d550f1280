"""Rules on single messages: each was sent, comes once, in its sender's view (DELIVERY_LOG.md, Rules)."""

from __future__ import annotations

from gcom.core.intake import FORGED
from gcom.core.messages.effects import Deliver, Ended, Installed, Skip, Suspected
from gcom.sim.checks.record import ProcessHistory, Rule, Violation
from gcom.values.names import Process
from gcom.values.run import Run


class LifeRule(Rule):
    """LIFE: nothing follows the end of a session; nothing but suspicions and the end precedes its first view."""

    def installed(self, history: ProcessHistory, installed: Installed) -> None:
        self._goes_on(history, f"installs view {installed.view.number}")

    def sent(self, history: ProcessHistory, run: Run) -> None:
        self._goes_on(history, f"sends {run.first}")

    def delivered(self, history: ProcessHistory, delivery: Deliver) -> None:
        self._goes_on(history, f"delivers {delivery.run.sender}, {delivery.run.first}")

    def skipped(self, history: ProcessHistory, skip: Skip) -> None:
        self._goes_on(history, f"skips {skip.sender}, {skip.first}")

    def ended(self, history: ProcessHistory, ended: Ended) -> None:
        self._goes_on(history, f"ends again ({ended.reason})")

    def _goes_on(self, history: ProcessHistory, what: str) -> None:
        # An effect after the end would reach an application that was told that all is over.
        if history.ended:
            # Broken where a process that comes back takes its old name: its peers believe that it has what
            # the first one had.
            raise Violation(f"LIFE: {history.process} {what} after its end ({history.ended.reason})")


class Creation(Rule):
    """NO_CREATION: a process's sends are 1, 2, 3, …; a delivered message was sent before, with that content."""

    def sent(self, history: ProcessHistory, run: Run) -> None:
        expected = len(self.record.stream(history.process).payloads) + 1
        # Broken where numbers begin again with each view: two messages would have one name.
        if run.sender != history.process or run.first != expected or not run.payloads:
            raise Violation(f"NO_CREATION: {history.process} sends {run.sender}, {run.first} where {expected} follows")

    def delivered(self, history: ProcessHistory, delivery: Deliver) -> None:
        run = delivery.run
        stream = self.record.streams.get(run.sender)
        # The payloads themselves and not a digest: what is delivered is what its sender's application gave to `send`.
        if run.first < 1 or stream is None or stream.payloads[run.first - 1 : run.last] != run.payloads:
            raise Violation(
                f"NO_CREATION: {history.process} delivers {run.sender}, {run.first}…{run.last}, not sent so"
            )


class Duplication(Rule):
    """NO_DUPLICATION: no message is delivered or skipped that was delivered, skipped or in the base before."""

    def delivered(self, history: ProcessHistory, delivery: Deliver) -> None:
        self._once(history, "delivers", delivery.run.sender, delivery.run.first, delivery.run.last)

    def skipped(self, history: ProcessHistory, skip: Skip) -> None:
        self._once(history, "skips", skip.sender, skip.first, skip.first + skip.count - 1)

    def _once(self, history: ProcessHistory, verb: str, sender: Process, first: int, last: int) -> None:
        known = history.settled.get(sender)
        again = known.first_known(first, last) if known else 0
        # Broken where a run that comes a second time, as calls may, is delivered again; and where a leader orders
        # messages that are not there yet.
        if again:
            raise Violation(f"NO_DUPLICATION: {history.process} {verb} {sender}, {again}, which was settled before")


class SendingView(Rule):
    """SENDING_VIEW: a message is delivered in the view in which it was sent."""

    def sent(self, history: ProcessHistory, run: Run) -> None:
        number = history.section.view.number
        if run.view != number:
            raise Violation(f"SENDING_VIEW: {history.process} sends {run.first} for view {run.view} in view {number}")

    def delivered(self, history: ProcessHistory, delivery: Deliver) -> None:
        run, number = delivery.run, history.section.view.number
        views = {
            delivery.view,
            run.view,
            # As the sender's own record says: what the run claims of its view is a peer's word.
            *(send.view for send in self.record.stream(run.sender).of(run.first, run.last)),
        }
        if views != {number}:
            raise Violation(
                f"SENDING_VIEW: {history.process} delivers {run.sender}, {run.first}…{run.last} of view "
                f"{sorted(views)} in view {number}"
            )


class NoForgery(Rule):
    """NO_FORGERY: nobody is taken for a forger, since no simulated process is one (docs/protocols/signing.md)."""

    def suspects(self, history: ProcessHistory, suspected: Suspected) -> None:
        # Broken where a run comes without the credential that its receiver needs, or is judged before that is there.
        if suspected.reason == FORGED:
            raise Violation(f"NO_FORGERY: {history.process} takes {suspected.process} for a forger")
