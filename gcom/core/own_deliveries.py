"""The messages of one session's own process: the delivered ones with their places in the order, and the lost ones."""

from __future__ import annotations

from collections import deque

from gcom.core.messages.effects import Deliver
from gcom.values.names import Process

SERIALS_MAX = 10_000  # own runs whose places in the order are known; the oldest are forgotten
LOST_MAX = 1_000  # ranges of own messages that are known to be lost; the oldest are forgotten


class OwnDeliveries:
    """The fates of a process's own messages, by their numbers. Guarded by the host's lock."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self.delivered = 0  # the last that is delivered here
        self.lost: deque[tuple[int, int]] = deque(maxlen=LOST_MAX)  # these will never be delivered
        self._serials: deque[tuple[int, int, int]] = deque(maxlen=SERIALS_MAX)  # by run: first, last, serial of first

    def record(self, delivery: Deliver) -> None:
        """Record a run that is delivered here, if it is an own one."""
        run = delivery.run
        if run.sender != self._process:
            return
        self.delivered = max(self.delivered, run.last)
        if delivery.serial:
            self._serials.append((run.first, run.last, delivery.serial))

    def serial_of(self, number: int) -> int | None:
        """Return a message's place in the total order, where it was delivered here and is not forgotten."""
        return next((serial + number - first for first, last, serial in self._serials if first <= number <= last), None)

    def is_lost(self, number: int) -> bool:
        """Return whether an event has said of a message that it will never be delivered."""
        return any(first <= number <= last for first, last in self.lost)
