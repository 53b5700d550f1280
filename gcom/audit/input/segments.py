"""Segments: one file of a delivery log as its opening, its rows, its close, and its damage."""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import numpy as np

from gcom.audit.input.contract import BAD, Record
from gcom.audit.input.files import is_unsealed
from gcom.audit.input.records import loaded, parse
from gcom.audit.input.rows import Rows

VERSION = 1


@dataclass(frozen=True, slots=True)
class Opening:
    """The content of an `open` line: the process, the segment's number and first position, the wall time in
    nanoseconds since 1970, and the process's state in each group.
    """

    process: str
    segment: int
    at: int
    wall_ns: int
    state: Record | None


@dataclass(frozen=True, slots=True)
class Closing:
    """The content of a `close` line: the position after the last, and whether the process's log ends there."""

    at: int
    exited: bool


@dataclass(slots=True)
class LogSegment:
    """A file of a process's log.

    `damage` is the reason why no row can be trusted, and then there are no rows. `damaged_tail` is the reason why the
    rows from one line on cannot be trusted; these, and the close, are then left out. `torn` says that the last line has
    no end.
    """

    path: str
    opening: Opening
    rows: Rows
    closing: Closing | None = None
    torn: bool = False
    damage: str = ""
    sealed: bool = True  # under the name that says so
    damaged_tail: str = ""

    @property
    def missing_tail(self) -> str:
        """Return the reason why records are missing at its end: they cannot be trusted, or it is sealed and has no
        close.

        A segment that a crash left unfinished is not sealed, and so not cut.
        """
        if self.damaged_tail:
            return self.damaged_tail
        if self.damage or self.closing is not None or not self.sealed:
            return ""
        return f"{self.path}: it is sealed, but does not end with a close: it was cut, and its end is missing"


def read_segment(path: str, data: bytes) -> LogSegment | str:
    """Return `data` as a segment, or the reason why it is none: the first line. Damage behind that is in the segment's
    `damage`, `damaged_tail` or BAD rows.
    """
    # The bytes after the last newline were being written when the process or the machine stopped.
    end = data.rfind(b"\n") + 1
    first = data.find(b"\n") + 1
    # Only the first line tells whose log this is. Without it the rows may be of any process, and of any group.
    opening, wrong = opening_of(data[:first])
    if opening is None:
        return f"{path}:1: {wrong}"
    torn = end != len(data)
    # The last whole line, as only that one can be the close.
    last = data.rfind(b"\n", 0, end - 1) + 1
    closing = _closing(data[last:end]) if last >= first else None
    body = end if closing is None else last
    # By the name alone: a writer renames only what is whole and on the disk (trace/segment.py).
    sealed = not is_unsealed(path)
    segment = LogSegment(path, opening, Rows.none(), torn=torn, damage=wrong, sealed=sealed)
    # Another version: its fields may mean something else, so none of its rows is read.
    if wrong:
        return segment
    if closing is not None:
        lines, checksum = data.count(b"\n", 0, body), zlib.crc32(memoryview(data)[:body])
        segment.closing = Closing(closing["at"], closing["reason"] == "exit")
        # Two checks, as they fail differently. A number of lines that does not fit says that some are missing or there
        # twice; a checksum says that some were changed, and then a line that looks sound need not be.
        if torn or closing["records"] != lines:
            segment.damage = f"its close says {closing['records']} lines before it, there are {lines}"
            segment.damage += " and a piece behind it" if torn else ""
        elif closing["crc32"] != checksum:
            segment.damage = f"its close says checksum {closing['crc32']}, it is {checksum}"
    # Where the close fits, a line that is no record is one gap and the rest is believed. Where it does not fit, lines
    # may have been changed that still look sound.
    if not segment.damage or closing is None:
        segment.rows = parse(data, first, body)
    else:
        _keep_sound(segment, data, first, body, whole=closing["crc32"] == checksum)
    return segment


def _keep_sound(segment: LogSegment, data: bytes, begin: int, end: int, *, whole: bool) -> None:
    """Keep the sound rows of a segment that its close does not fit.

    1. The checksum fits (`whole`): all rows. 2. A line shows where the damage begins: the rows before it. 3. No line
    does, and the close names another position than the last line's: all rows, as only the end is missing. 4. Else some
    line was changed and still looks sound: no rows.
    """
    rows = parse(data, begin, end)
    ends = np.concatenate(([segment.opening.at], rows.at + rows.count))
    # The first line that is no record, or stands at another position than it should, is where the damage shows.
    wrong = np.flatnonzero((rows.kind == BAD) | (rows.at != ends[:-1]))
    if whole or (not len(wrong) and segment.closing is not None and segment.closing.at != ends[-1]):
        kept = len(rows)
    elif len(wrong):
        kept = int(wrong[0])
    else:
        return
    for _ in range(kept):
        begin = data.index(b"\n", begin) + 1
    segment.rows = rows if kept == len(rows) else parse(data, data.index(b"\n") + 1, begin)
    segment.damaged_tail = f"{segment.path}:{kept + 2}: {segment.damage}; nothing is read from this line on"
    # The damage is told as that of the tail now; the close fits nothing that is left.
    segment.damage, segment.closing = "", None


def opening_of(line: bytes) -> tuple[Opening | None, str]:
    """Return the opening, if the line tells whose segment it is; and its defect ("" if it has none)."""
    record = _record(line)
    if record is None or record.get("type") != "open":
        return None, "no delivery log: its first line is no `open` record"
    wrong = ""
    if record.get("version") != VERSION:
        wrong = f"written in version {record.get('version')!r} of the format; this audit reads version {VERSION}"
    state = record.get("state")
    # A process is its member and its incarnation; who says something else of them contradicts itself.
    parts = record.get("member"), record.get("incarnation")
    sound = (
        isinstance(record.get("process"), str)
        and (None in parts or record["process"] == f"{parts[0]}#{parts[1]}")
        # Its own fields are all that is asked of an opening. A state that is damaged would not tell what it hides, so
        # the segment is none.
        and all(type(record.get(name)) is int for name in ("segment", "at"))
        and (state is None or are_states(state))
    )
    if not sound:
        return None, wrong or "its `open` record lacks a field or has one of another kind"
    return Opening(record["process"], record["segment"], record["at"], record.get("wall_ns", 0), state), wrong


def _closing(line: bytes) -> Record | None:
    """Return the close, if the line is a whole one; any other line is left to be parsed as a record."""
    record = _record(line)
    if record is None or record.get("type") != "close" or type(record.get("reason")) is not str:
        return None
    return record if all(type(record.get(name)) is int for name in ("at", "records", "crc32")) else None


def _record(line: bytes) -> Record | None:
    record = loaded(line)
    return record if isinstance(record, dict) else None


def are_states(state: object) -> bool:
    """Tell whether `state` is a valid `state` by DELIVERY_LOG.md."""
    return isinstance(state, dict) and all(_is_state(each) for each in state.values())


def _is_state(state: object) -> bool:
    if not isinstance(state, dict):
        return False
    maps = [state.get(name) for name in ("delivered", "clock")]
    beyond = state.get("beyond", {})
    return (
        all(type(state.get(name, 0)) is int for name in ("view", "number", "serial"))
        and "view" in state
        and all(isinstance(each, dict) and all(type(n) is int for n in each.values()) for each in maps)
        and isinstance(beyond, dict)
        and all(_are_ranges(each) for each in beyond.values())
    )


def _are_ranges(ranges: object) -> bool:
    return isinstance(ranges, list) and all(
        isinstance(each, list) and len(each) == 2 and all(type(n) is int and n > 0 for n in each) for each in ranges
    )
