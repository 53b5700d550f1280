"""A member that sends at a steady rate: `python -m gcom.bench.latency.member NAME RATE SIZE HOW REGISTRY ...`."""

from __future__ import annotations

import sys
import threading
from collections import Counter, defaultdict
from time import monotonic
from typing import Any

import gcom
from gcom.bench.benchmark import parse
from gcom.bench.latency.pacing import age, pace, stamped
from gcom.bench.latency.stages import Stamps
from gcom.bench.processes import child, usage

JOIN_S = 30.0  # a limit for what hangs, not a figure
STALL_S = 10.0  # nothing delivered for so long: the rest is missing
POLL_S = 0.01  # only to see the end: ages are taken from stamps
WATCHED_MAX = 10_000  # messages of a turn whose stages are told; the last ones


class Listener:
    """The deliveries of a turn: their ages, and what was not right."""

    def __init__(self, group: gcom.Group, ordered: bool, loop: bool) -> None:
        self._ordered = ordered
        self._process = group.process
        self.begin()
        if loop:
            threading.Thread(target=self._receive, args=(group,), name="receives", daemon=True).start()
        else:
            group.listen(on_event=self._on_event, direct=True)

    def begin(self) -> None:
        self.ages_ns: list[int] = []  # of what others sent
        self.own_ns: list[int] = []
        self.lost = 0
        # By text: a fault that repeats takes one entry, however often it is counted.
        self.wrong: Counter[str] = Counter()
        self._last: defaultdict[str, int] = defaultdict(int)
        self.taken_s: dict[tuple[str, int], float] | None = None  # kept in a turn that tells stages

    @property
    def count(self) -> int:
        return len(self.ages_ns) + len(self.own_ns) + self.lost

    def _receive(self, group: gcom.Group) -> None:
        for event in group.events():
            self._on_event(event)

    def _on_event(self, event: gcom.Event) -> None:
        if type(event) is gcom.Message:
            # Before all else here: what the checks below cost is no part of the age.
            number, age_ns = age(event.payload)
            if self._ordered and number <= self._last[event.sender]:
                self.wrong[f"message {number} of {event.sender} came after {self._last[event.sender]}"] += 1
            self._last[event.sender] = number
            if self.taken_s is not None:
                self.taken_s[event.sender, event.number] = monotonic()
            (self.own_ns if event.sender == self._process else self.ages_ns).append(age_ns)
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


class Turns:
    """The part of this member in each turn."""

    def __init__(self, group: gcom.Group, listener: Listener, rate: float, size: int) -> None:
        self._group = group
        self._listener = listener
        self._rate = rate
        self._size = size

    def take(self, order: dict[str, Any]) -> dict[str, object]:
        """Send and listen as told; return what came of it."""
        # Before the first send, and read after the last delivery: what sending and receiving cost is in it, and
        # waiting costs nothing.
        began_s, switched = usage.cpu_s(), usage.switches()
        late_ns = []
        if order["sends"]:
            late_ns = pace(self._rate, order["seconds"], lambda number: self._group.send(stamped(number, self._size)))
        listener = self._listener
        listener.wait_for(order["count"])
        used = {"cpu_s": usage.cpu_s() - began_s, "switches": usage.switches() - switched}
        ages = {"ages_ns": sorted(listener.ages_ns), "own_ns": sorted(listener.own_ns), "late_ns": sorted(late_ns)}
        return {**ages, "lost": listener.lost, "wrong": list(listener.wrong), **used}

    def take_watched(self, order: dict[str, Any]) -> dict[str, object]:
        """Take a turn, and tell the stamps of its messages, too."""
        self._listener.taken_s = taken_s = dict[tuple[str, int], float]()
        with self._group.watch(WATCHED_MAX) as watch:
            result = self.take(order)
            traces = watch.take()
        # Without messages that this listener had not taken: their last stage has no end.
        rows = [
            Stamps(it.sender, it.number, it.sent_s, it.received_s, it.ordered_s, it.delivered_s, at)
            for it in traces
            if (at := taken_s.get((it.sender, it.number)))
        ]
        return {**result, "stamps": rows}


def main() -> None:
    """Take turns as told, until standard input ends."""
    name, rate, size, how, *words = sys.argv[1:]
    registry, definition, (members,) = parse(words)
    node = gcom.connect(name, registry)
    group = node.join(definition.group, create=definition, timeout_s=JOIN_S)
    listener = Listener(group, definition.ordering.is_fifo, how == "loop")
    turns = Turns(group, listener, float(rate), int(size))
    group.wait_for_members(int(members), JOIN_S)
    child.say("ready")
    while (order := child.heard()) is not None:
        listener.begin()
        # In two steps: when the first message is sent, each member must have forgotten the turn before.
        child.say("begun")
        order = child.hear("go")
        child.say("taken", **(turns.take_watched(order) if order["watched"] else turns.take(order)))
    node.close()
    child.end()


if __name__ == "__main__":
    main()
