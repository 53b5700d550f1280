"""The files of a log folder, and one file as a segment: its opening, its rows, its close, and what is wrong with it.

Spark's own listing hides files that begin with a dot, and these hold what a process that is alive, or crashed, wrote
last. So segments are listed and opened here.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from gcom.audit.records import Record, Rows, parse, problem_of
from gcom.errors import NotALog

VERSION = 1
_NAME = re.compile(r"\.?(\d{6,})\.jsonl")


@dataclass(frozen=True, slots=True)
class Opening:
    process: str
    segment: int
    at: int
    wall_ns: int
    state: Record | None


@dataclass(frozen=True, slots=True)
class Closing:
    at: int
    exited: bool


@dataclass(slots=True)
class Segment:
    """`damage` tells why the rows cannot be trusted, and then there are none; `torn` that the last line has no end."""

    path: str
    opening: Opening
    rows: Rows
    closing: Closing | None = None
    torn: bool = False
    damage: str = ""
    checksum: int = 0


@dataclass(slots=True)
class Listing:
    """The files of `gcom audit LOGDIR...`; `notes` are about what else lies there."""

    paths: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def list_segments(folders: Iterable[str]) -> Listing:
    """All segments under `folders`, sealed or not, sorted. Raises NotALog where there are none."""
    listing = Listing()
    for folder in folders:
        root = Path(folder.removeprefix("file://"))
        if not root.exists():
            raise NotALog(f"{folder} does not exist")
        if root.is_file():
            raise NotALog(f"{folder} is a file; give the folder that --log-dir named")
        found = sorted(path for path in root.rglob("*.jsonl") if _NAME.fullmatch(path.name))
        sealed = {path for path in found if not path.name.startswith(".")}
        for path in found:
            if path.name.startswith(".") and path.with_name(path.name[1:]) in sealed:
                listing.notes.append(f"{path}: its sealed twin is read instead")
            else:
                listing.paths.append(str(path))
    if not listing.paths:
        raise NotALog(
            f"no delivery logs in {', '.join(folders)}: looked for <member>/<incarnation>/<segment>.jsonl; "
            "`gcom join --log-dir FOLDER` and `gcom.Node(log_dir=...)` write them"
        )
    return listing


def read_segment(path: str, data: bytes) -> Segment | str:
    """`data` as a segment, or why it is none. Damage between the first line and the close does not matter here."""
    end = data.rfind(b"\n") + 1
    first = data.find(b"\n") + 1
    opening, wrong = _opening(data[:first])
    if opening is None:
        return f"{path}:1: {wrong}"
    torn = end != len(data)
    last = data.rfind(b"\n", 0, end - 1) + 1
    closing = _closing(data[last:end]) if last >= first else None
    body = end if closing is None else last
    segment = Segment(path, opening, Rows.none(), torn=torn, damage=wrong)
    if wrong:
        return segment
    segment.checksum = zlib.crc32(memoryview(data)[:body])
    lines = data.count(b"\n", 0, body)
    if closing is not None:
        segment.closing = Closing(closing.get("at", 0), closing.get("reason") == "exit")
        if not all(type(closing.get(name)) is int for name in ("at", "records", "crc32")):
            segment.damage = "its close lacks a field or has one of another kind"
        elif torn or closing["records"] != lines:
            segment.damage = f"its close says {closing['records']} lines before it, there are {lines}"
            segment.damage += " and a piece behind it" if torn else ""
        elif closing["crc32"] != segment.checksum:
            segment.damage = f"its close says checksum {closing['crc32']}, it is {segment.checksum}"
    if not segment.damage:
        segment.rows = parse(data, first, body)
    return segment


def read_opening(path: str) -> tuple[Opening | None, str]:
    """The first line of a file, and what is wrong with it."""
    with open(path, "rb") as file:
        line = file.readline()
    return _opening(line) if line.endswith(b"\n") else (None, "no delivery log: it has no whole first line")


def _opening(line: bytes) -> tuple[Opening | None, str]:
    """The opening, if the line tells whose segment it is; and what is wrong with it."""
    record = _record(line)
    if record is None or record.get("type") != "open":
        return None, "no delivery log: its first line is no `open` record"
    wrong = ""
    if record.get("version") != VERSION:
        wrong = f"written in version {record.get('version')!r} of the format; this audit reads version {VERSION}"
    state = record.get("state")
    sound = (
        isinstance(record.get("process"), str)
        and type(record.get("segment")) is int
        and not problem_of(record)
        and (state is None or are_states(state))
    )
    if not sound:
        return None, wrong or "its `open` record lacks a field or has one of another kind"
    return Opening(record["process"], record["segment"], record["at"], record.get("wall_ns", 0), state), wrong


def _closing(line: bytes) -> Record | None:
    record = _record(line)
    if record is None or record.get("type") != "close":
        return None
    return record


def _record(line: bytes) -> Record | None:
    try:
        record = json.loads(line)
    except ValueError:
        return None
    return record if isinstance(record, dict) else None


def are_states(state: object) -> bool:
    """Whether `state` is what DELIVERY_LOG.md says of a `state`."""
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
