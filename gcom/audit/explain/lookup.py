"""Look-up of records after the verdict: the surroundings of a violation, from no more files than it needs.

A segment's `open` tells what was sent, delivered and installed before it, so that the file in which a message was
delivered is found without reading the others.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gcom.audit.input.catalogue import Catalogue
from gcom.audit.input.contract import BAD, DETACH, ELECT, KINDS, LEAVE, LOST, SEND, SKIP, VIEW, Record, own_fields
from gcom.audit.input.reading import open_segment
from gcom.audit.input.rows import Ints, Rows, only_forward
from gcom.audit.input.segments import LogSegment
from gcom.audit.summary.position import Key, settled_in

_SEGMENTS_MAX = 4  # parsed segments in memory
_FILES_TRIED_MAX = 3  # files read for one record: the likeliest by their openings, and those before it
Bools = NDArray[np.bool_]
_NONE = np.zeros(0, np.int64)
_NAMES = {code: name for name, code in KINDS.items()}


@dataclass(frozen=True, slots=True)
class LogEvent:
    """A record, of `count` messages. `sender` is the process itself for a `send`; absent numbers are -1."""

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
    key: Key
    record: Record = field(compare=False)  # as written, without times and without fields that the audit does not read

    def has(self, sender: str, number: int) -> bool:
        return self.sender == sender and 0 < self.number <= number < self.number + self.count


@dataclass(frozen=True, slots=True)
class Hole:
    """A place where records are missing. `state` is the process's state behind them, by group, as the next opening or
    the `lost` record has it; None if neither has one.
    """

    state: Record | None


class LogLookup:
    """Look-ups of records in the logs of a catalogue; one that finds nothing returns None, or an empty list."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._segments: OrderedDict[str, LogSegment | None] = OrderedDict()

    def has(self, process: str) -> bool:
        return process in self._catalogue.paths

    def position(self, process: str, at: int) -> LogEvent | None:
        """Return the process's record at position `at`."""
        openings = self._catalogue.openings
        # An opening's `at` is the position of its first record, so the last segment that begins at or
        # before it has it.
        paths = [path for path in self._catalogue.paths.get(process, ()) if openings[path].at <= at]
        segment = self._segment(paths[-1]) if paths else None
        if segment is None:
            return None
        rows = segment.rows
        found = np.flatnonzero((rows.at <= at) & (at < rows.at + rows.count) & (rows.kind != BAD))
        return _event(segment, int(found[0])) if len(found) else None

    def delivery(self, process: str, key: Key, sender: str, number: int) -> LogEvent | None:
        """Return the first delivery, or skip, of the message by the process."""
        return next(iter(self.deliveries(process, key, sender, number)), None)

    def deliveries(self, process: str, key: Key, sender: str, number: int) -> list[LogEvent]:
        """Return all records in the file of the first with which the process delivered, or skipped, the message."""

        def settled(state: Record) -> bool:
            # A state tells ranges, so whether a message had been delivered before a file is known without reading it.
            theirs = settled_in(state).get(sender)
            return theirs is not None and number in theirs

        def are_here(rows: Rows) -> Any:
            # -2 where the file does not name the sender: -1 is the code of rows without one.
            code = rows.senders.index(sender) if sender in rows.senders else -2
            return (rows.sender == code) & (rows.kind != SEND) & _covers(rows, number)

        return self._find(process, key, settled, are_here)

    def sending(self, process: str, key: Key, number: int) -> LogEvent | None:
        """Return the process's `send` of its message of that number."""

        def are_here(rows: Rows) -> Any:
            return (rows.kind == SEND) & _covers(rows, number)

        return next(iter(self._find(process, key, lambda state: state.get("number", 0) >= number, are_here)), None)

    def installing(self, process: str, key: Key, view: int) -> LogEvent | None:
        """Return the `view` record with which the process installed the view."""

        def are_here(rows: Rows) -> Any:
            return (rows.kind == VIEW) & (rows.view == view)

        return next(iter(self._find(process, key, lambda state: state["view"] >= view, are_here)), None)

    def ending(self, process: str, key: Key, view: int) -> LogEvent | None:
        """Return the record that ended the process's session in that view: the next view, a `leave` or a `detach`."""

        def are_here(rows: Rows) -> Any:
            return ((rows.kind == LEAVE) | (rows.kind == DETACH)) & (rows.view == view)

        following = self.installing(process, key, view + 1)
        return following or next(iter(self._find(process, key, lambda _: False, are_here)), None)

    def whole(self, process: str, *keys: Key) -> Iterator[LogEvent | Hole]:
        """Yield all records of the groups in the process's log, as far as they are believed, and a hole where some are
        missing.
        """
        expected, previous, missing = 1, -1, False
        for path in self._catalogue.paths.get(process, ()):
            opening, segment = self._catalogue.openings[path], self._segment(path)
            # A segment that begins before the end of the last one has another writer: "smaller: two writers"
            # (DELIVERY_LOG.md). The order of its records is unknown, so the witness has a hole there, as the
            # audit has a gap.
            if segment is None or opening.at < expected:
                previous, missing = opening.segment, True
                continue
            if missing or opening.segment > previous + 1 or opening.at > expected:
                # What the opening tells of the hidden part goes into the witness: without it CLOCK would have nothing
                # to go on from.
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
                    yield _event(segment, row)
            missing |= bool(segment.missing_tail) or (segment.closing is not None and segment.closing.at > expected)

    def around(self, event: LogEvent, key: Key, before: int, after: int) -> list[LogEvent]:
        """Return the group's records from `before` before the event to `after` behind it, also from files next to
        it.
        """
        mine = self._rows(event.file, key)
        place = int(np.searchsorted(mine, event.line - 2))
        found = self._events(event.file, mine[max(place - before, 0) : place + after + 1])
        if place < before:
            # One file further at most: a file has far more records than are looked around.
            earlier, rows = self._next_to(event, key, -1)
            found = self._events(earlier, rows[place - before :]) + found
        if place + after + 1 > len(mine):
            later, rows = self._next_to(event, key, 1)
            found += self._events(later, rows[: place + after + 1 - len(mine)])
        return found

    def _next_to(self, event: LogEvent, key: Key, step: int) -> tuple[str, Ints]:
        """Return the file before or behind, and its rows of the group."""
        paths = self._catalogue.paths[event.process]
        place = paths.index(event.file) + step
        return (paths[place], self._rows(paths[place], key)) if 0 <= place < len(paths) else ("", _NONE)

    def _rows(self, path: str, key: Key) -> Ints:
        segment = self._segment(path)
        return _rows_of(segment, key) if segment is not None else _NONE

    def _events(self, path: str, rows: Ints) -> list[LogEvent]:
        segment = self._segment(path) if len(rows) else None
        return [_event(segment, row) for row in rows.tolist()] if segment is not None else []

    def clock(self, send: LogEvent) -> dict[str, int]:
        """Return the full clock at an event: per other process the last number in the log, changes applied."""
        # A file's first send has all entries (DELIVERY_LOG.md), so no earlier file is needed.
        segment = self._segment(send.file)
        if segment is None:
            return {}
        rows, row = segment.rows, send.line - 2
        found = {}
        for who, (where, said) in rows.clock.items():
            # Clock entries of all groups are in one list, so the group's own are chosen.
            mine = said[(where <= row) & (rows.key[where] == rows.key[row])]
            if len(mine):
                found[who] = int(mine[-1])
        return found

    def place(self, event: LogEvent) -> tuple[int, int]:
        """Return a key that sorts the records of one process in the order of its log."""
        return self._catalogue.openings[event.file].segment, event.line

    def wall_ns(self, process: str) -> int:
        """Return the beginning of the process's log, in nanoseconds since 1970."""
        wall_ns = self._catalogue.openings[self._catalogue.paths[process][0]].wall_ns
        return wall_ns if type(wall_ns) is int else 0

    def _find(
        self, process: str, key: Key, passed: Callable[[Record], bool], are_here: Callable[[Rows], Any]
    ) -> list[LogEvent]:
        """Return the group's rows that `are_here` chooses, of the first file that has any. `passed` tells from a file's
        opening state that they lie in an earlier file.
        """
        for path in self._likely(process, key, passed):
            segment = self._segment(path)
            mine = _rows_of(segment, key) if segment is not None else _NONE
            if segment is not None and len(found := mine[are_here(segment.rows)[mine]]):
                return self._events(path, found)
        return []

    def _likely(self, process: str, key: Key, passed: Callable[[Record], bool]) -> Iterator[str]:
        """Yield the file in which the openings' states place the record, then a few files before it, backwards."""
        paths = self._catalogue.paths.get(process, [])
        last = len(paths)
        # The first opening by which it had happened: it lies in the file before that.
        for index, path in enumerate(paths):
            state: Any = (self._catalogue.openings[path].state or {}).get(key[0])
            # The first file has no state: nothing was before it.
            if index and state is not None and state.get("instance", "") == key[1] and passed(state):
                last = index
                break
        # From the likeliest file backwards: what a state calls settled lies before it, and nearly always just before.
        return iter(reversed(paths[max(last - _FILES_TRIED_MAX, 0) : last]))

    def _segment(self, path: str) -> LogSegment | None:
        if path not in self._segments:
            read = open_segment(path, self._catalogue.sizes[path])
            # None is remembered, too: a file that cannot be read is not parsed again for every look-up.
            self._segments[path] = None if isinstance(read, str) or read.damage else read
            while len(self._segments) > _SEGMENTS_MAX:
                self._segments.popitem(last=False)
        # The least recently used one goes first: look-ups of one incident come back to the same few files.
        self._segments.move_to_end(path)
        return self._segments[path]


def _covers(rows: Rows, number: int) -> Bools:
    """Tell of each row whether it is of the message of that number."""
    return (rows.number <= number) & (number < rows.number + rows.count)


def _rows_of(segment: LogSegment, key: Key) -> Ints:
    rows = segment.rows
    code = rows.keys.index(key) if key in rows.keys else -2
    mine: Ints = np.flatnonzero((rows.key == code) & ((rows.kind <= ELECT) | (rows.kind > BAD)))
    return mine


def _event(segment: LogSegment, row: int) -> LogEvent:
    rows, process = segment.rows, segment.opening.process
    kind, key = int(rows.kind[row]), rows.keys[rows.key[row]] if rows.key[row] >= 0 else ("", "")
    sender = rows.senders[rows.sender[row]] if rows.sender[row] >= 0 else ""
    return LogEvent(
        process=process,
        kind=_NAMES.get(kind, ""),
        at=int(rows.at[row]),
        count=int(rows.count[row]),
        view=int(rows.view[row]),
        sender=process if kind == SEND else sender,
        # A `confirm` has a number too, of a message that it neither sends nor delivers.
        number=int(rows.number[row]) if kind <= SKIP else -1,
        serial=int(rows.serial[row]),
        file=segment.path,
        line=row + 2,
        key=key,
        record=_record(segment, row, key),
    )


def _record(segment: LogSegment, row: int, key: Key) -> Record:
    rows = segment.rows
    if row in rows.rare:
        return own_fields(rows.rare[row])
    # Only fields that the columns have: what the audit does not read is in no witness either.
    written: Record = {"type": _NAMES.get(int(rows.kind[row]), ""), "group": key[0], "instance": key[1]}
    for name in ("view", "sent_view", "number", "serial", "count"):
        if (number := int(getattr(rows, name)[row])) >= 0:
            written[name] = number
    if rows.sender[row] >= 0:
        written["sender"] = rows.senders[rows.sender[row]]
    if row in rows.digests:
        written["digests"] = rows.digests[row]
    return written
