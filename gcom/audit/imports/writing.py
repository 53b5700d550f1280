"""The writing of imported records as delivery logs, and what is said of lines that fit no record."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gcom.audit.rules.table import RULES
from gcom.errors import BadValue, NotALog
from gcom.trace.segment import Segment, folder_name
from gcom.values.definition import Ordering
from gcom.values.spelling import normal

FILE_BYTES_MAX = 1 << 30  # it is read as a whole, and one record per event is in memory beside it
SHOWN_NAMES = 5
SHOWN_MAX = 120  # letters of a line that does not fit
LogRecords = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Imported:
    """The outcome of an import; `rules` are those that the records can carry, `left_out` the lines that fit none."""

    processes: int
    events: int
    rules: list[str]
    left_out: int = 0
    notes: list[str] = field(default_factory=list)


class WrongLines:
    """The lines of a file that fit no record: counted, and the first is told."""

    def __init__(self, name: str, expected: str) -> None:
        self.count = 0
        self._name, self._expected, self._first = name, expected, ""

    def add(self, line: int, text: str, why: str) -> None:
        """Count a line that is left out because of `why`."""
        self.count += 1
        self._first = self._first or f"{self._name}:{line}: {why}: got {text[:SHOWN_MAX].strip()!r}"

    def notes(self, events: int) -> list[str]:
        """Return what to say of them. Raises NotALog if nothing fits, or if they are half of all or more."""
        if not events and not self.count:
            raise NotALog(f"{self._name} has no events: expected {self._expected}; name another file")
        if self.count >= max(events, 1):
            told = f"{self._first}; {self.count:,} of {events + self.count:,} lines fit no event"
            raise NotALog(f"{told}: expected {self._expected}; name another file, or another form")
        if not self.count:
            return []
        return [f"{self._first}; {self.count:,} of {events + self.count:,} lines fit no event, and are left out"]


class NameSpelling:
    """Brings names into NFC, as decision 0031 has it: a name that two programs spell in two ways is one."""

    def __init__(self) -> None:
        self._changed: dict[str, None] = {}  # names in NFC, in their order

    def of(self, name: str) -> str:
        """Return a name in NFC."""
        found = normal(name)
        if found != name:
            self._changed[found] = None
        return found

    def notes(self) -> list[str]:
        """Return what to say of the names that were spelled otherwise."""
        if not self._changed:
            return []
        named = ", ".join([*self._changed][:SHOWN_NAMES])
        return [f"{many_of(len(self._changed), 'name')} spelled in another form than NFC, and brought into it: {named}"]


def read_text(file: Path) -> str:
    """Return a file's text. Raises BadValue if it is too large, or OSError."""
    size = file.stat().st_size
    if size > FILE_BYTES_MAX:
        told = f"expected at most {FILE_BYTES_MAX:,} bytes, got {size:,}"
        raise BadValue(f"{file} is too large: {told}; cut it between two runs, and import each part")
    return file.read_text("utf-8", errors="replace")


def check_new(into: Path) -> None:
    """Raise BadValue for a folder that has files."""
    if into.exists() and any(into.iterdir()):
        raise BadValue(f"{into} is not empty: expected a new folder for the delivery logs; name another")


def in_order(rules: Iterable[str]) -> list[str]:
    """Return the rules in the order of the audit's table."""
    found = {*rules}
    return [rule for rule in RULES if rule in found]


def view_of(members: list[str], rules: list[str]) -> dict[str, Any]:
    """Return the one view of an imported group; its ordering is the weakest that promises the rules."""
    defined = [{"ordering": str(ordering), "multicast": "BASIC"} for ordering in Ordering]
    definition = next(each for each in defined if all(RULES[rule].promised(each) for rule in rules))
    return {"type": "view", "members": members, "leader": members[0], **definition, "carries": rules}


def many_of(count: int, what: str) -> str:
    """Return a count in words."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def write_logs(logs: Mapping[str, LogRecords], into: Path) -> None:
    """Write a log per process, which is `member#incarnation`; a file that ends is taken for a run that ended."""
    for process, records in logs.items():
        member, _, incarnation = process.partition("#")
        home = into / folder_name(member) / folder_name(incarnation)
        home.mkdir(parents=True)
        segment = Segment(home, 0)
        about = {"version": 1, "member": member, "incarnation": incarnation, "process": process}
        _append(segment, 1, {"type": "open", **about, "segment": 0, "wall_ns": 0})
        at = 1
        for record in records:
            _append(segment, at, record)
            at += record.get("count", 1)
        # Else no rule about the end could fail, and all would be UNKNOWN.
        segment.seal(at, "exit")


def _append(segment: Segment, at: int, record: dict[str, Any]) -> None:
    segment.append(json.dumps({"type": record["type"], "at": at, **record}, separators=(",", ":")))
