"""A member that sends at a steady rate: `python -m gcom.bench.latency.member NAME RATE SIZE REGISTRY GROUP ...`."""

from __future__ import annotations

import sys
import threading
from collections import Counter, defaultdict

import gcom
from gcom.bench.benchmark import parse
from gcom.bench.latency.pacing import age, pace, stamped
from gcom.bench.processes import child, usage

JOIN_S = 30.0  # a limit for what hangs, not a figure
STALL_S = 10.0  # nothing delivered for so long: the rest is missing
POLL_S = 0.01  # only to see the end: ages are taken from stamps


class Listener:
    """The deliveries of a turn: their ages, and what was not right."""

    def __init__(self, group: gcom.Group, ordered: bool) -> None:
        self._ordered = ordered
        self.begin()
        threading.Thread(target=self._receive, args=(group,), name="receives", daemon=True).start()

    def begin(self) -> None:
        self.ages_ns: list[int] = []
        self.lost = 0
        self.wrong: Counter[str] = Counter()
        self._last: defaultdict[str, int] = defaultdict(int)

    @property
    def count(self) -> int:
        return len(self.ages_ns) + self.lost

    def _receive(self, group: gcom.Group) -> None:
        for event in group.events():
            if type(event) is gcom.Message:
                number, age_ns = age(event.payload)
                if self._ordered and number <= self._last[event.sender]:
                    self.wrong[f"message {number} of {event.sender} came after {self._last[event.sender]}"] += 1
                self._last[event.sender] = number
                self.ages_ns.append(age_ns)
            elif type(event) is gcom.Lost:
                self.lost += event.count

    def wait_for(self, count: int) -> None:
        """Wait until so many were delivered, or nothing more comes."""
        pause, seen, polls = threading.Event(), -1, 0
        while self.count < count and polls * POLL_S < STALL_S:
            pause.wait(POLL_S)
            polls = polls + 1 if self.count == seen else 0
            seen = self.count
        if self.count != count:
            self.wrong[f"{self.count} delivered of {count} sent"] += 1


def main() -> None:
    """Send and listen as told, until standard input ends."""
    name, rate, size, *words = sys.argv[1:]
    registry, definition, (members,) = parse(words)
    node = gcom.connect(name, registry)
    group = node.join(definition.group, create=definition, timeout_s=JOIN_S)
    listener = Listener(group, definition.ordering.is_fifo)
    group.wait_for_members(int(members), JOIN_S)
    child.say("ready")
    while (order := child.heard()) is not None:
        listener.begin()
        child.say("begun")
        order = child.hear("go")
        began_s, switched = usage.cpu_s(), usage.switches()
        if order["sends"]:
            pace(float(rate), order["seconds"], lambda number: group.send(stamped(number, int(size))))
        listener.wait_for(order["count"])
        used = {"cpu_s": usage.cpu_s() - began_s, "switches": usage.switches() - switched}
        ages_ns = sorted(listener.ages_ns)
        child.say("taken", ages_ns=ages_ns, lost=listener.lost, wrong=list(listener.wrong), **used)
    node.close()
    child.end()


if __name__ == "__main__":
    main()
