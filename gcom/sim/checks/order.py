"""FIFO, causal order, and the clocks that state a sender's past (Birman, Schiper, Stephenson 1991)."""

from __future__ import annotations

from gcom.core.messages.effects import Deliver, Installed
from gcom.sim.checks.record import InstanceHistory, ProcessHistory, Rule, Violation
from gcom.values.names import Process
from gcom.values.run import Run


class FifoOrder(Rule):
    """FIFO: when n of a sender is delivered, n-1 is settled."""

    def delivered(self, history: ProcessHistory, delivery: Deliver) -> None:
        sender, first = delivery.run.sender, delivery.run.first
        # Broken where a gap is passed over, and where what waited for it is thrown away when it is given up.
        if first > 1 and not history.has_settled(sender, first - 1):
            raise Violation(f"FIFO: {history.process} delivers {sender}, {first} before {first - 1}")


class CausalOrder(Rule):
    """CAUSAL: when m is delivered, all that its sender had delivered before sending it is settled.

    Of each other member of the view the highest number counts, rebuilt from the sender's deliveries, not from the
    message's clock; lower numbers are FIFO's, and in the past of that highest message.
    """

    def delivered(self, history: ProcessHistory, delivery: Deliver) -> None:
        run = delivery.run
        # A delivered run may be a part of a send, or of two: the sends tell what each of its messages needs.
        for send in self.record.stream(run.sender).of(run.first, run.last):
            # Broken where only one predecessor is looked at; and over BASIC where a lost run takes the clock entries
            # along that only it told.
            for other in history.section.view.members:
                needed = send.needs.get(other, 0)
                # The sender's own stream is FIFO's.
                if needed and other != run.sender and not history.has_settled(other, needed):
                    raise Violation(
                        f"CAUSAL: {history.process} delivers {run.sender}, {send.first} before {other}, {needed}, "
                        f"which {run.sender} had delivered when it sent that"
                    )


class WholePast(Rule):
    """CAUSAL, over RELIABLE: a message's past has not been given up here either.

    A message whose past nobody holds is given up with it, the same everywhere. A sender's base says nothing of that: it
    covers what those before it have given up.
    """

    def __init__(self, record: InstanceHistory) -> None:
        super().__init__(record)
        self._bases: dict[Process, dict[Process, int]] = {}

    def installed(self, history: ProcessHistory, installed: Installed) -> None:
        # 1. Over RELIABLE a message whose past nobody holds is given up by all who leave a view. 2. Who enters next
        #    has its number in its base, and never delivered it. 3. What it sends then does not depend on it.
        if installed.base:
            self._bases[history.process] = installed.base

    def delivered(self, history: ProcessHistory, delivery: Deliver) -> None:
        run = delivery.run
        base = self._bases.get(run.sender, {})
        for send in self.record.stream(run.sender).of(run.first, run.last):
            for other, skipped in history.skipped.items():
                needed = send.needs.get(other, 0)
                # Broken where the cut of a view is delivered though nobody has the past of some of it.
                if other != run.sender and needed > base.get(other, 0) and needed in skipped:
                    raise Violation(
                        f"CAUSAL: {history.process} delivers {run.sender}, {send.first} and has given up {other}, "
                        f"{needed}, which {run.sender} had delivered when it sent that"
                    )


class Clocks(Rule):
    """CLOCK: a run's clock, changes applied, is the highest number delivered from each other member, or in the base."""

    def __init__(self, record: InstanceHistory) -> None:
        super().__init__(record)
        self._logged: dict[Process, dict[Process, int]] = {}

    def sent(self, history: ProcessHistory, run: Run) -> None:
        logged = self._logged.setdefault(history.process, {})
        # The clock on the wire has only changes, as the log has: so what was sent before counts.
        logged.update(run.clock)
        for other in history.section.view.members:
            # Broken where a message has the clock of the moment at which it was submitted: what was delivered until
            # it got its number is missing.
            said, true = logged.get(other, 0), history.clock.get(other, 0)
            if other != history.process and said != true:
                raise Violation(
                    f"CLOCK: {history.process} sends {run.first} with {said} for {other}, having delivered {true}"
                )
