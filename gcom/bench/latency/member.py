"""A member that sends at a steady rate, in turns."""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic

import gcom
from gcom.bench.frame import JsonRow
from gcom.bench.latency.pacing import age, pace, stamped
from gcom.bench.latency.stages import Stamps
from gcom.bench.processes import child, usage
from gcom.bench.settings import LatencySetup

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
        child.wait_for_deliveries(lambda: self.count, count)
        if self.count != count:
            self.wrong[f"{self.count} delivered of {count} sent"] += 1


class PacedMember:
    """The part of this member in each turn: its methods are the parent's orders."""

    def __init__(self, group: gcom.Group, setup: LatencySetup) -> None:
        self._group = group
        self._setup = setup
        self._listener = Listener(group, setup.definition.ordering.is_fifo, setup.loop)

    def begin(self) -> None:
        """Forget the turn before, which each member must have done when the first message is sent."""
        self._listener.begin()

    def take(self, sends: bool, seconds: float, count: int) -> JsonRow:
        """Send and listen until `count` messages were delivered; return what came of it."""
        # Before the first send, and read after the last delivery: what sending and receiving cost is in it, and
        # waiting costs nothing.
        began_s, switched = usage.cpu_s(), usage.switches()
        rate, size = self._setup.rate / self._setup.senders, self._setup.size
        late_ns = pace(rate, seconds, lambda number: self._group.send(stamped(number, size))) if sends else []
        listener = self._listener
        listener.wait_for(count)
        used = {"cpu_s": usage.cpu_s() - began_s, "switches": usage.switches() - switched}
        ages = {"ages_ns": sorted(listener.ages_ns), "own_ns": sorted(listener.own_ns), "late_ns": sorted(late_ns)}
        return {**ages, "lost": listener.lost, "wrong": list(listener.wrong), **used}

    def take_watched(self, sends: bool, seconds: float, count: int) -> JsonRow:
        """Take a turn; return the stamps of its messages."""
        self._listener.taken_s = taken_s = dict[tuple[str, int], float]()
        with self._group.watch(WATCHED_MAX) as watch:
            self.take(sends, seconds, count)
            traces = watch.take()
        # Without messages that this listener had not taken: their last stage has no end.
        stamps = [
            Stamps(it.sender, it.number, it.sent_s, it.received_s, it.ordered_s, it.delivered_s, at)
            for it in traces
            if (at := taken_s.get((it.sender, it.number)))
        ]
        return {"stamps": stamps}


@contextmanager
def member(name: str, setup: JsonRow, registry: str) -> Iterator[PacedMember]:
    wanted = LatencySetup(**setup)
    with gcom.connect(name, registry) as node:
        group = node.join(wanted.definition.group, create=wanted.definition, timeout_s=child.JOIN_S)
        paced = PacedMember(group, wanted)
        group.wait_for_members(wanted.members, child.JOIN_S)
        yield paced
