"""One order for all: the union of all processes' deliveries has no cycle, and serials agree with it.

The cycle is looked for as deliveries come, by keeping one line of all messages in which every known "before" points
forward (Pearce and Kelly 2006, §2: dynamic topological sort). A delivery that agrees with the line costs one look.
"""

from __future__ import annotations

from gcom.core.messages.effects import Deliver, Installed, Skip
from gcom.sim.checks.record import InstanceHistory, ProcessHistory, Rule, Violation
from gcom.values.names import Process

_Message = tuple[Process, int]


class PrecedenceGraph:
    """A growing relation "before" on messages, as long as it has no cycle."""

    def __init__(self) -> None:
        self._place: dict[_Message, int] = {}
        self._after: dict[_Message, list[_Message]] = {}
        self._before: dict[_Message, list[_Message]] = {}

    def put(self, one: _Message, other: _Message) -> list[_Message]:
        """Add `one` before `other`; return the path from `other` back to `one` if there is one already."""
        for message in (one, other):
            if message not in self._place:
                # At the end of the line: a message that is new is after all that is known,
                # until somebody says otherwise.
                self._place[message] = len(self._place)
                self._after[message], self._before[message] = [], []
        # Nearly every delivery says what another process's said before.
        if other in self._after[one]:
            return []
        if self._place[one] > self._place[other]:
            path = self._reorder(one, other)
            if path:
                return path
        self._after[one].append(other)
        self._before[other].append(one)
        return []

    def _reorder(self, one: _Message, other: _Message) -> list[_Message]:
        """Move the successors of `other` behind the predecessors of `one`, within the places between them."""
        # Only what stands between the two places can be on a path from one to the other.
        lowest, highest = self._place[other], self._place[one]
        came_from: dict[_Message, _Message | None] = {other: None}
        todo = [other]
        while todo:
            message = todo.pop()
            for later in self._after[message]:
                # The path from `other` to `one` was there before: with "one before other" it is a circle.
                if later == one:
                    return self._path(came_from, message, one)
                # Beyond the old place of `one` nothing has to move (Pearce and Kelly's affected region).
                if later not in came_from and self._place[later] < highest:
                    came_from[later] = message
                    todo.append(later)
        earlier = self._reaching(one, lowest)
        # First what must come before, then what must come after, in the places that both had: nobody else moves.
        moved = sorted(earlier, key=self._place.__getitem__) + sorted(came_from, key=self._place.__getitem__)
        for message, place in zip(moved, sorted(self._place[message] for message in moved), strict=True):
            self._place[message] = place
        return []

    def _path(self, came_from: dict[_Message, _Message | None], last: _Message, end: _Message) -> list[_Message]:
        path: list[_Message] = [end]
        step: _Message | None = last
        while step is not None:
            path.append(step)
            step = came_from[step]
        return path[::-1]

    def _reaching(self, one: _Message, lowest: int) -> list[_Message]:
        """Return `one` and the messages that must come before it, of those placed behind `lowest`."""
        found = {one: None}
        todo = [one]
        while todo:
            for earlier in self._before[todo.pop()]:
                if earlier not in found and self._place[earlier] > lowest:
                    found[earlier] = None
                    todo.append(earlier)
        return list(found)


class TotalOrder(Rule):
    """TOTAL: the orders in which processes deliver have no cycle together, not only in pairs."""

    def __init__(self, record: InstanceHistory) -> None:
        super().__init__(record)
        self._order = PrecedenceGraph()
        self._last: dict[Process, _Message] = {}

    def delivered(self, history: ProcessHistory, delivery: Deliver) -> None:
        run = delivery.run
        # Message by message: runs are cut differently at different members.
        for number in range(run.first, run.last + 1):
            message = (run.sender, number)
            last = self._last.get(history.process)
            path = self._order.put(last, message) if last else []
            if path:
                said = " before ".join(f"{sender} {n}" for sender, n in [*path, message])
                raise Violation(f"TOTAL: {history.process} delivers against the others' order: {said}")
            self._last[history.process] = message


class Serials(Rule):
    """SERIAL_UNIQUE and SERIAL_CONTIGUOUS: one serial, one message, over all processes; at each they go up by 1."""

    def __init__(self, record: InstanceHistory) -> None:
        super().__init__(record)
        self._message: dict[int, _Message | None] = {}  # by serial; None: a no-op
        self._serial: dict[_Message, int] = {}
        self._at: dict[Process, int] = {}
        self._starts: dict[int, tuple[Process, int]] = {}  # by view, a process that began it, and its serial

    def installed(self, history: ProcessHistory, installed: Installed) -> None:
        """Set a process that enters to the serial at which the earlier members stand."""
        who, number = history.process, installed.view.number
        if not history.sections:
            self._at[who] = installed.base_serial
        other, serial = self._starts.setdefault(number, (who, self._at[who]))
        if self._at[who] != serial:
            raise Violation(
                f"SERIAL_CONTIGUOUS: {who} begins view {number} after serial {self._at[who]}, {other} after {serial}"
            )

    def delivered(self, history: ProcessHistory, delivery: Deliver) -> None:
        serial, run = delivery.serial, delivery.run
        if not serial:
            raise Violation(f"SERIAL_CONTIGUOUS: {history.process} delivers {run.sender}, {run.first} without a serial")
        self._go_on(history.process, serial, len(run.payloads))
        for offset in range(len(run.payloads)):
            self._only(history.process, serial + offset, (run.sender, run.first + offset))

    def skipped(self, history: ProcessHistory, skip: Skip) -> None:
        serial = skip.serial
        if not serial:
            return
        self._go_on(history.process, serial, skip.count)
        for offset in range(skip.count):
            self._only(history.process, serial + offset, (skip.sender, skip.first + offset) if skip.sender else None)

    def _go_on(self, who: Process, serial: int, count: int) -> None:
        before = self._at.get(who, 0)
        # Broken where a no-op takes no serial: a place of the order that nobody passes.
        if serial != before + 1:
            raise Violation(f"SERIAL_CONTIGUOUS: {who} goes from serial {before} to {serial}")
        self._at[who] = serial + count - 1

    def _only(self, who: Process, serial: int, message: _Message | None) -> None:
        known = self._message.setdefault(serial, message)
        # Broken where a serial is delivered before a majority holds its order, where a sequencer serves whoever asks,
        # and where a leader opens one again with what it alone knows.
        if known != message:
            raise Violation(f"SERIAL_UNIQUE: serial {serial} is {known}, and at {who} {message}")
        if message is not None and self._serial.setdefault(message, serial) != serial:
            raise Violation(f"SERIAL_UNIQUE: {message} has serial {self._serial[message]}, and at {who} {serial}")
