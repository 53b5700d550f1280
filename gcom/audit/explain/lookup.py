"""Look-up of records after the verdict: the surroundings of a violation, from no more files than it needs.

A segment's `open` tells what was sent, delivered and installed before it, so that the file in which a message was
delivered is found without reading the others.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gcom.audit.input.catalogue import Catalogue
from gcom.audit.input.reading import open_segment
from gcom.audit.input.records import BAD, DELIVER, ELECT, KINDS, LOST, SEND, SKIP, VIEW, Ints, Record, only_forward
from gcom.audit.input.segments import LogSegment
from gcom.audit.summary.position import Key, settled_in

_KEPT = 4  # parsed segments in memory
_TRIED = 3  # files looked into for one message, where their openings do not tell
_NONE = np.zeros(0, np.int64)
_NAMES = {code: name for name, code in KINDS.items()}


@dataclass(frozen=True, slots=True)
class LogEvent:
    """One record, of `count` messages. `sender` is the process itself for a `send`; absent numbers are -1."""

    process: str
    kind: str
    at: int
    count: int
    view: int
    sender: str
    number: int
    serial: int
    file: str
    line: int
    record: Record | None  # of all but send, deliver and skip

    def has(self, sender: str, number: int) -> bool:
        return self.sender == sender and 0 < self.number <= number < self.number + self.count


@dataclass(frozen=True, slots=True)
class Spot:
    """A row of a file."""

    path: str
    row: int


@dataclass(frozen=True, slots=True)
class Hole:
    """A place where records are missing; `state` is their sum by group, as the opening behind them says."""

    state: Record | None


class LogLookup:
    """Looks things up in the logs of a catalogue. A look-up that finds nothing returns None."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._segments: OrderedDict[str, LogSegment | None] = OrderedDict()

    def has(self, process: str) -> bool:
        return process in self._catalogue.paths

    def position(self, process: str, at: int) -> Spot | None:
        """Return the process's place at position `at`."""
        openings = self._catalogue.openings
        paths = [path for path in self._catalogue.paths.get(process, ()) if openings[path].at <= at]
        segment = self._segment(paths[-1]) if paths else None
        if segment is None:
            return None
        rows = segment.rows
        found = np.flatnonzero((rows.at <= at) & (at < rows.at + rows.count) & (rows.kind != BAD))
        return Spot(segment.path, int(found[0])) if len(found) else None

    def delivery(self, process: str, key: Key, sender: str, number: int) -> Spot | None:
        """Return the place of the first delivery, or skip, of the message by the process."""

        def settled(state: Record) -> bool:
            theirs = settled_in(state).get(sender)
            return theirs is not None and number in theirs

        return self._find(process, key, settled, partial(_passing, sender=sender, number=number))

    def deliveries(self, process: str, key: Key, sender: str, number: int) -> list[Spot]:
        """Return all places in the file of the first where the process delivered, or skipped, the message."""
        first = self.delivery(process, key, sender, number)
        segment = self._segment(first.path) if first is not None else None
        if segment is None:
            return []
        return [Spot(segment.path, row) for row in _passing(segment, _rows_of(segment, key), sender, number).tolist()]

    def sending(self, process: str, key: Key, number: int) -> Spot | None:
        """Return the place of the process's `send` of its message of that number."""

        def here(segment: LogSegment, mine: Ints) -> Ints:
            rows = segment.rows
            of = (rows.kind[mine] == SEND) & (rows.number[mine] <= number)
            return _of(mine, of & (number < rows.number[mine] + rows.count[mine]))

        return self._find(process, key, lambda state: state.get("number", 0) >= number, here)

    def installing(self, process: str, key: Key, view: int) -> Spot | None:
        """Return the place of the `view` record with which the process installed the view."""

        def here(segment: LogSegment, mine: Ints) -> Ints:
            rows = segment.rows
            return _of(mine, (rows.kind[mine] == VIEW) & (rows.view[mine] == view))

        return self._find(process, key, lambda state: state["view"] >= view, here)

    def ending(self, process: str, key: Key, view: int) -> Spot | None:
        """Return the place where the process's session in that view ended: the next view, a `leave` or a `detach`."""
        following = self.installing(process, key, view + 1)
        if following is not None:
            return following

        def here(segment: LogSegment, mine: Ints) -> Ints:
            rows = segment.rows
            ends = (rows.kind[mine] != VIEW) & (rows.kind[mine] > SKIP) & (rows.kind[mine] < ELECT)
            return _of(mine, ends & (rows.view[mine] == view))

        return self._find(process, key, lambda _: False, here)

    def key(self, spot: Spot) -> Key:
        """Return the (group, instance) that the record is of."""
        segment = self._segment(spot.path)
        assert segment is not None, "the spot was found in it"
        key: Key = segment.rows.keys[segment.rows.key[spot.row]]
        return key

    def whole(self, process: str, *keys: Key) -> Iterator[Spot | Hole]:
        """Yield all records of the groups in the process's log, as far as they are believed, and a hole where some are
        missing.
        """
        expected, previous, missing = 1, -1, False
        for path in self._catalogue.paths.get(process, ()):
            opening, segment = self._catalogue.openings[path], self._segment(path)
            # A segment that begins before the end of the last one has another writer: "smaller: two writers"
            # (DELIVERY_LOG.md). The order of its records is unknown, so the witness has a hole there, as the audit has
            # a gap.
            if segment is None or opening.at < expected:
                previous, missing = opening.segment, True
                continue
            if missing or opening.segment > previous + 1 or opening.at > expected:
                yield Hole(opening.state)
            expected, previous, missing = opening.at, opening.segment, False
            rows = only_forward(segment.rows, expected)
            mine = {row for key in keys for row in _rows_of(segment, key).tolist()}
            for row in range(len(rows)):
                if rows.kind[row] == BAD:
                    missing = True
                    continue
                if rows.kind[row] == LOST:
                    yield Hole(rows.rare[row].get("state"))
                elif missing or rows.at[row] > expected:
                    yield Hole(None)
                missing, expected = False, int(rows.at[row] + rows.count[row])
                if row in mine:
                    yield Spot(path, row)
            missing |= bool(segment.cut) or (segment.closing is not None and segment.closing.at > expected)

    def around(self, spot: Spot, key: Key, before: int, after: int) -> list[LogEvent]:
        """Return the group's records from `before` before the spot to `after` behind it, also from files next to it."""
        mine = self._mine(spot.path, key)
        place = int(np.searchsorted(mine, spot.row))
        found = [Spot(spot.path, row) for row in mine[max(place - before, 0) : place + after + 1].tolist()]
        if place < before:
            earlier, rows = self._next_to(spot.path, key, -1)
            found = [Spot(earlier, row) for row in rows[place - before :].tolist()] + found
        if place + after + 1 > len(mine):
            later, rows = self._next_to(spot.path, key, 1)
            found += [Spot(later, row) for row in rows[: place + after + 1 - len(mine)].tolist()]
        return [_event(segment, each.row) for each in found if (segment := self._segment(each.path)) is not None]

    def _next_to(self, path: str, key: Key, step: int) -> tuple[str, Ints]:
        """Return the file before or behind, and its rows of the group."""
        paths = self._catalogue.paths[self._catalogue.openings[path].process]
        place = paths.index(path) + step
        return (paths[place], self._mine(paths[place], key)) if 0 <= place < len(paths) else ("", _NONE)

    def _mine(self, path: str, key: Key) -> Ints:
        segment = self._segment(path)
        return _rows_of(segment, key) if segment is not None else _NONE

    def record(self, spot: Spot) -> Record:
        """Return the record without times and without the fields that the audit does not read."""
        segment = self._segment(spot.path)
        assert segment is not None, "the spot was found in it"
        rows, row = segment.rows, spot.row
        if row in rows.rare:
            return dict(rows.rare[row])
        group, instance = rows.keys[rows.key[row]]
        written: Record = {"type": _NAMES[int(rows.kind[row])], "group": group, "instance": instance}
        for name in ("view", "sent_view", "number", "serial", "count"):
            if (number := int(getattr(rows, name)[row])) >= 0:
                written[name] = number
        if rows.sender[row] >= 0:
            written["sender"] = rows.senders[rows.sender[row]]
        if row in rows.digests:
            written["digests"] = rows.digests[row]
        return written

    def clock(self, spot: Spot) -> dict[str, int]:
        """Return the full clock at a send: per other process the last number in the log, changes applied."""
        segment = self._segment(spot.path)
        if segment is None:
            return {}
        rows = segment.rows
        found = {}
        for who, (where, said) in rows.clock.items():
            mine = said[(where <= spot.row) & (rows.key[where] == rows.key[spot.row])]
            if len(mine):
                found[who] = int(mine[-1])
        return found

    def view(self, spot: Spot) -> int:
        """Return the view of the record; -1 if it has none."""
        segment = self._segment(spot.path)
        return int(segment.rows.view[spot.row]) if segment is not None else -1

    def place(self, spot: Spot) -> tuple[int, int]:
        """Return a key that sorts the spots of one process in the order of its log."""
        return self._catalogue.openings[spot.path].segment, spot.row

    def wall_ns(self, process: str) -> int:
        """Return the beginning of the process's log, in nanoseconds since 1970."""
        wall_ns = self._catalogue.openings[self._catalogue.paths[process][0]].wall_ns
        return wall_ns if type(wall_ns) is int else 0

    def _find(
        self,
        process: str,
        key: Key,
        passed: Callable[[Record], bool],
        here: Callable[[LogSegment, Ints], Ints],
    ) -> Spot | None:
        """Return the first row that `here` finds. `passed` tells from a file's opening state that the row lies in an
        earlier file.
        """
        for path in self._likely(process, key, passed):
            segment = self._segment(path)
            found = here(segment, _rows_of(segment, key)) if segment is not None else None
            if found is not None and len(found):
                return Spot(path, int(found[0]))
        return None

    def _likely(self, process: str, key: Key, passed: Callable[[Record], bool]) -> Iterator[str]:
        """Return the file that the states point to first, then some before it."""
        paths = self._catalogue.paths.get(process, [])
        last = len(paths)
        for index, path in enumerate(paths):
            state: Any = (self._catalogue.openings[path].state or {}).get(key[0])
            if index and state is not None and state.get("instance", "") == key[1] and passed(state):
                last = index
                break
        return iter(reversed(paths[max(last - _TRIED, 0) : last]))

    def _segment(self, path: str) -> LogSegment | None:
        if path not in self._segments:
            read = open_segment(path)
            self._segments[path] = None if isinstance(read, str) or read.damage else read
            while len(self._segments) > _KEPT:
                self._segments.popitem(last=False)
        self._segments.move_to_end(path)
        return self._segments[path]


def _passing(segment: LogSegment, mine: Ints, sender: str, number: int) -> Ints:
    rows = segment.rows
    code = rows.senders.index(sender) if sender in rows.senders else -2
    of = (rows.sender[mine] == code) & (rows.number[mine] <= number) & (rows.kind[mine] != SEND)
    return _of(mine, of & (number < rows.number[mine] + rows.count[mine]))


def _of(mine: Ints, chosen: NDArray[np.bool_]) -> Ints:
    rows: Ints = mine[chosen]
    return rows


def _rows_of(segment: LogSegment, key: Key) -> Ints:
    rows = segment.rows
    code = rows.keys.index(key) if key in rows.keys else -2
    mine: Ints = np.flatnonzero((rows.key == code) & ((rows.kind <= ELECT) | (rows.kind > BAD)))
    return mine


def _event(segment: LogSegment, row: int) -> LogEvent:
    rows, opening = segment.rows, segment.opening
    kind = int(rows.kind[row])
    record = rows.rare.get(row)
    sender = rows.senders[rows.sender[row]] if rows.sender[row] >= 0 else ""
    return LogEvent(
        process=opening.process,
        kind=_NAMES[kind],
        at=int(rows.at[row]),
        count=int(rows.count[row]),
        view=int(rows.view[row]),
        sender=opening.process if kind == SEND else sender,
        number=int(rows.number[row]) if kind in (SEND, DELIVER, SKIP) else -1,
        serial=int(rows.serial[row]),
        file=segment.path,
        line=row + 2,
        record=record,
    )
