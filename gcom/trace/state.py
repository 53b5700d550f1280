"""The state of a process in one group, as far as its log says: what a segment begins with that follows another.

A segment must be judged alone when the one before it is gone, so its first line repeats what the lost lines added up
to. The writer keeps that sum up to date as it encodes, in constant time for a run that continues its sender's stream.
"""

from __future__ import annotations

import json

from gcom.values.names import Process

CUTS_MAX = 64  # barriers for which a state may still come; a state of an earlier one is logged without its cut


class SettledNumbers:
    """The numbers of one sender that are delivered, skipped, or in the base: 1…`prefix`, and ranges `beyond` it.

    `beyond` is sorted, and no two of its (first, last) touch. It is short: a gap is filled or given up soon.
    """

    __slots__ = ("beyond", "prefix")

    def __init__(self) -> None:
        self.prefix = 0
        self.beyond: list[tuple[int, int]] = []

    def add(self, first: int, last: int) -> None:
        # NONORDERED and BASIC deliver beyond a gap; in all other groups nothing ever lies beyond.
        if first > self.prefix + 1:
            self.beyond = _merged(sorted([*self.beyond, (first, last)]))
            return
        self.prefix = max(self.prefix, last)
        # A range beyond may touch the prefix now: then it is part of it, and `beyond` stays short.
        while self.beyond and self.beyond[0][0] <= self.prefix + 1:
            self.prefix = max(self.prefix, self.beyond.pop(0)[1])


class LoggedSession:
    """The log's knowledge of one process in one instance of a group.

    `true_clock` has the highest number delivered from each other process, `logged_clock` the entries as the lines of
    its sends have told them. They differ between a delivery and the next send. `logged_all` is false from the beginning
    of a second or later segment until a send in it has told the whole clock.
    """

    def __init__(self, process: Process, group: str, instance: str) -> None:
        self.instance = instance
        self.head = f'"group":{json.dumps(group)},"instance":{json.dumps(instance)}'
        self.view = 0
        self.number = 0
        self.serial = 0  # the last one delivered, skipped, or in the base; 0 in an order without serials
        self.settled: dict[Process, SettledNumbers] = {}
        self.true_clock: dict[Process, int] = {}
        self.logged_clock: dict[Process, int] = {}
        self.logged_all = True
        self.cuts: dict[int, dict[Process, int]] = {}  # where each stream stood at the barriers of the last views
        self._process = process
        self._members: tuple[Process, ...] = ()

    def install(self, view: int, members: tuple[Process, ...], base: dict[Process, int]) -> None:
        self.view = view
        # The base counts as delivered: a later segment's `delivered` is then one number per sender.
        for sender, number in base.items():
            self.deliver(sender, 1, number)
        self._members = members
        self.cuts[view] = {sender: done.prefix for sender, done in self.settled.items()}
        # A donor's state may come views after its barrier, and its `adopt` names what had been settled at that.
        if len(self.cuts) > CUTS_MAX:
            del self.cuts[min(self.cuts)]

    def changed(self, clock: dict[Process, int]) -> dict[Process, int]:
        """Return the entries of a run's clock that the last send did not say."""
        # Over BASIC a run repeats what its view's runs have told; the log need not.
        return {who: number for who, number in clock.items() if self.logged_clock.get(who) != number}

    def send(self, last: int, clock: dict[Process, int]) -> dict[Process, int]:
        """Record a send; return the clock that its line carries."""
        self.number = last
        self.logged_clock.update(clock)
        # The first send of a segment tells all, since the lines that told the rest may be gone.
        if self.logged_all:
            return clock
        self.logged_all = True
        return {who: number for who, number in self.logged_clock.items() if who in self._members}

    def deliver(self, sender: Process, first: int, last: int) -> None:
        self.settle(sender, first, last)
        # The clock in the log is of other processes: the own number is in every send.
        if sender != self._process and last > self.true_clock.get(sender, 0):
            self.true_clock[sender] = last

    def settle(self, sender: Process, first: int, last: int) -> None:
        if sender not in self.settled:
            self.settled[sender] = SettledNumbers()
        self.settled[sender].add(first, last)

    def state(self) -> dict[str, object]:
        """Return the `state` of DELIVERY_LOG.md, Records."""
        beyond = {who: [[a, b - a + 1] for a, b in done.beyond] for who, done in self.settled.items() if done.beyond}
        return {
            "instance": self.instance,
            "view": self.view,
            "number": self.number,
            "delivered": {who: done.prefix for who, done in self.settled.items()},
            "beyond": beyond,
            "clock": dict(self.true_clock),
            "serial": self.serial,
        }


def _merged(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged = ranges[:1]
    for first, last in ranges[1:]:
        if first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
        else:
            merged.append((first, last))
    return merged
