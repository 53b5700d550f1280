"""A member that sends as much as it is told: `python -m gcom.bench.memory.filler NAME REGISTRY GROUP ORDERING ...`.

It counts what it delivers, and says so about once a second, so that its parent sees that it lives.
"""

from __future__ import annotations

import sys
import threading
from itertools import repeat
from time import monotonic

import gcom
from gcom.bench.benchmark import parse
from gcom.bench.processes import child

JOIN_S = 30.0  # ends a hang; it measures nothing
SEND_S = 60.0  # the slowest member may be a minute behind at the end
PAYLOAD = b"seventeen bytes.."
CHUNK = 1000  # messages per send_many; between two it may report
POLL_S = 0.02


class Filler:
    """The member; deliveries are counted in a thread of their own."""

    def __init__(self, group: gcom.Group) -> None:
        self._group = group
        self.count = 0  # delivered, or lost as BASIC may
        self.wrong = 0
        threading.Thread(target=self._receive, name="receives", daemon=True).start()

    def _receive(self) -> None:
        for event in self._group.events():
            if type(event) is gcom.Message:
                self.count += 1
                self.wrong += event.payload != PAYLOAD
            elif type(event) is gcom.Lost:
                self.count += event.count

    def send(self, count: int) -> None:
        told_at = monotonic()
        while count > 0:
            self._group.send_many(repeat(PAYLOAD, min(CHUNK, count)), SEND_S)
            count -= CHUNK
            told_at = self._tell(told_at)
        # All must have arrived before the parent reads the memory: what is under way is no leak.
        self._group.flush(SEND_S)

    def wait_for(self, count: int) -> None:
        """Wait until that many were delivered."""
        pause, told_at = threading.Event(), monotonic()
        while self.count < count:
            # Its parent gives up on a child that says nothing for long: this one says that it waits.
            pause.wait(POLL_S)
            told_at = self._tell(told_at)

    def _tell(self, told_at: float) -> float:
        now = monotonic()
        if now - told_at < 1.0:
            return told_at
        child.say("delivered", count=self.count)
        return now


def main() -> None:
    """Send and wait as told, until standard input ends."""
    name, *words = sys.argv[1:]
    registry, definition, _ = parse(words)
    with gcom.connect(name, registry) as node:
        filler = Filler(node.join(definition.group, create=definition, timeout_s=JOIN_S))
        child.say("joined")
        while (order := child.heard()) is not None:
            filler.send(order["send"])
            child.say("sent")
            filler.wait_for(order["total"])
            child.say("filled", wrong=filler.wrong)
    child.end()


if __name__ == "__main__":
    main()
