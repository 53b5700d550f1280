"""A process's position in its log: its knowledge at that point, in one group's instance, and the sections so far."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from gcom.audit.summary.intervals import Intervals

Key = tuple[str, str]  # group, instance


@dataclass(slots=True)
class Reached:
    """A process's progress in a group; `members` are None where they are not known."""

    numbers: tuple[object, ...]
    clock: dict[str, int]
    members: tuple[str, ...] | None

    @classmethod
    def of(
        cls,
        process: str,
        numbers: tuple[int | None, ...],
        settled: dict[str, Intervals],
        clock: dict[str, int],
        members: tuple[str, ...] | None = None,
    ) -> Reached:
        """Return progress in a form that compares: `numbers` are of view, own message and serial."""
        ranges = sorted((who, tuple(iter(each))) for who, each in settled.items() if each)
        # Zeros, and an entry for the process itself, say nothing: one writer has them and another leaves them out.
        others = {who: n for who, n in clock.items() if who != process and n}
        return cls((*numbers, tuple(ranges)), others, members)

    def leads_to(self, other: Reached) -> bool:
        """Tell whether the other is equal; clocks are compared for members only, as older logs lack those of processes
        that left.
        """
        named = {*self.clock, *other.clock} if self.members is None else {*self.members}
        clocks = ({who: n for who, n in each.clock.items() if who in named} for each in (self, other))
        return self.numbers == other.numbers and next(clocks) == next(clocks)


@dataclass(slots=True)
class LogPosition:
    """A process's knowledge at a point of its log. `certain` is false after a gap until a state tells the lost part.
    None stands for a value that a gap has hidden.
    """

    certain: bool = True
    present: bool = False  # something of the group was seen
    ended: bool = False
    left: bool = False  # the end of the session was seen: none follows
    outside: bool = False  # messages lie outside of the session: a state tells nothing of them
    view: int | None = None
    last_view: int | None = 0
    members: tuple[str, ...] | None = ()  # None: of a view whose record is not in what is scanned, or in a gap
    members_of: int | None = None  # the view whose members they are
    hides_members: bool = False  # a gap hides the view's record
    number: int | None = 0
    serial: int | None = 0
    settled: dict[str, Intervals] = field(default_factory=dict)
    true_clock: dict[str, int] = field(default_factory=dict)  # highest number delivered from each, or in base
    logged_clock: dict[str, int] = field(default_factory=dict)  # the logged clock, changes applied
    since_gap: dict[str, int] | None = None  # the first number delivered from each sender since a gap

    @property
    def in_force(self) -> int | None:
        """Return the view in force; None outside of the session, or where a gap hides it."""
        return None if self.left else self.view

    def settled_of(self, sender: str) -> Intervals:
        return self.settled.setdefault(sender, Intervals())

    def lose(self) -> None:
        """Forget what a gap makes uncertain."""
        self.certain = False
        self.view = self.last_view = self.number = self.serial = None
        self.since_gap = {}

    def restore(self, state: dict[str, Any]) -> None:
        """Take over a state's values for those that a gap hid."""
        self.certain = True
        self.view = self.last_view = state["view"]
        # 1. The log has view 3. 2. A gap hides the record of view 4. 3. The next state names view 4, but no members.
        # Those of view 3 would make clocks of joiners look wrong, so the members are unknown until a view is installed.
        if self.members_of != state["view"]:
            self.members, self.members_of, self.hides_members = None, None, True
        self.number = state.get("number", 0)
        self.serial = state.get("serial", 0)
        # A union: what the log has shown stays true, and the state adds what the gap hid.
        for who, settled in settled_in(state).items():
            self.settled[who] = self.settled_of(who).union(settled)
        self.true_clock = dict(state["clock"])

    def install(self, view: int, members: tuple[str, ...], base: dict[str, int], base_serial: int) -> None:
        # Only where the process enters: a base is of one that begins. Later the serials go on by themselves, and what a
        # record claims beside what was delivered settles nothing.
        enters = self.last_view in (0, None)
        if self.last_view == 0:
            self.serial = base_serial
        self.view = self.last_view = view
        self.members, self.members_of, self.hides_members = members, view, False
        for sender, number in base.items() if enters else ():
            if number:
                self.settled_of(sender).add(1, number)
            # What the base has counts as delivered for clocks (DELIVERY_LOG.md, CLOCK): the joiner's state holds it.
            self.true_clock[sender] = max(number, self.true_clock.get(sender, 0))

    def reached(self, process: str) -> Reached:
        """Return the progress in a form to compare with a state."""
        numbers = (self.view, self.number, self.serial)
        return Reached.of(process, numbers, self.settled, self.true_clock, self.members)


def settled_in(state: dict[str, Any]) -> dict[str, Intervals]:
    """Return the settled messages of a `state`, by sender."""
    settled = {who: Intervals([(1, last)] if last else []) for who, last in state["delivered"].items()}
    for who, ranges in state.get("beyond", {}).items():
        for first, count in ranges:
            settled.setdefault(who, Intervals()).add(first, first + count - 1)
    return settled


def reached_by(state: dict[str, Any], process: str) -> Reached:
    """Return the content of a `state` in the form of `LogPosition.reached`."""
    numbers = (state["view"], state.get("number", 0), state.get("serial", 0))
    return Reached.of(process, numbers, settled_in(state), state["clock"])
