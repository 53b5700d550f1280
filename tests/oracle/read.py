"""Reads a log folder as DELIVERY_LOG.md says: sealed segments and dot-files, torn tails, damage, gaps.

Written from that document alone; it shares nothing with the writer that it judges.
"""

from __future__ import annotations

import json
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.oracle.applications import APPLICATION_FIELDS, is_application
from tests.oracle.events import (
    Adopt,
    Confirm,
    Coverage,
    Deliver,
    Elect,
    End,
    Event,
    Gap,
    History,
    Opened,
    Process,
    Send,
    Skip,
    State,
    Succession,
    View,
)

Key = tuple[str, str]  # group, instance
Record = dict[str, Any]


@dataclass(slots=True)
class Segment:
    opening: Record
    records: list[Record | None]  # None: a line that is no record
    closing: Record | None
    torn: bool
    damage: str = ""
    sealed: bool = True
    worn: str = ""  # why what stood behind the records was left out


@dataclass(slots=True)
class ProcessLog:
    """All that one process wrote. Among `items` are its records, and gaps and openings as records of our own."""

    process: Process
    items: list[Record] = field(default_factory=list)
    torn: bool = False
    exited: bool = False

    @property
    def has_gap(self) -> bool:
        return any(item["type"] == "gap" for item in self.items)

    @property
    def hides_groups(self) -> bool:
        """A `lost` record hides messages; any other gap may hide all that the process did in a group."""
        return any(item["type"] == "gap" and not item["dropped"] for item in self.items)

    @property
    def coverage(self) -> Coverage:
        if self.has_gap:
            return "lost"
        if self.torn:
            return "torn"
        return "closed" if self.exited else "open"


@dataclass(slots=True)
class Logs:
    processes: dict[Process, ProcessLog] = field(default_factory=dict)
    groups: dict[Key, list[History]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)  # logs that may tell of groups that nobody knows
    unknown_types: Counter[str] = field(default_factory=Counter)


def read(folder: Path) -> Logs:
    """All logs under `folder`, split into one history for each process and (group, instance)."""
    logs = Logs()
    segments: dict[Process, list[Segment]] = {}
    for path in sorted(folder.glob("*/*/*.jsonl"), key=lambda path: (path.parent, path.name.lstrip("."))):
        if path.name.startswith(".") and path.with_name(path.name[1:]).exists():
            logs.notes.append(f"{path.relative_to(folder)} is an earlier state of its sealed twin")
            continue
        segment = _read_segment(path)
        if segment is None:
            logs.notes.append(f"{path.relative_to(folder)} has no whole first line")
            logs.unread.append(str(path.relative_to(folder)))
        else:
            segments.setdefault(segment.opening["process"], []).append(segment)
    for home in sorted(path for path in folder.glob("*/*") if path.is_dir() and not list(path.rglob("*.jsonl"))):
        logs.unread.append(str(home.relative_to(folder)))
        logs.notes.append(f"{logs.unread[-1]} has no segment")
    for process in sorted(segments):
        ordered = _of_one_writer(segments[process])
        if len(ordered) < len({int(segment.opening["segment"]) for segment in segments[process]}):
            logs.notes.append(f"{process} has two writers of one segment")
        log = logs.processes[process] = _joined(process, ordered, logs)
        logs.unread += [process] if log.hides_groups else []
    _split(logs)
    return logs


def _of_one_writer(segments: list[Segment]) -> list[Segment]:
    """In order; two that differ and have one number are left out, and two that are the same are one."""
    by_number: dict[int, list[Segment]] = {}
    for segment in segments:
        same = by_number.setdefault(int(segment.opening["segment"]), [])
        if segment not in same:
            same.append(segment)
    return [same[0] for _, same in sorted(by_number.items()) if len(same) == 1]


def _read_segment(path: Path) -> Segment | None:
    *lines, tail = path.read_bytes().split(b"\n")
    records = [_parsed(line) for line in lines]
    if not records or records[0] is None or records[0].get("type") != "open":
        return None
    if not all(
        type(records[0].get(name)) is kind for name, kind in {"process": str, "segment": int, "at": int}.items()
    ):
        return None
    if records[0].get("state") is not None and not _are_states(records[0]["state"]):
        return None
    parts = [records[0].get(name) for name in ("member", "incarnation")]
    if None not in parts and records[0]["process"] != f"{parts[0]}#{parts[1]}":
        return None
    opening, rest = records[0], records[1:]
    closing = rest.pop() if rest and rest[-1] is not None and rest[-1].get("type") == "close" else None
    rest = [None if each is not None and each["type"] in ("open", "close") else each for each in rest]
    segment = Segment(opening, rest, closing, torn=tail != b"", sealed=not path.name.startswith("."))
    if closing is not None and (tail or closing["records"] != len(lines) - 1):
        segment.damage = "another number of lines than its close says"
    elif closing is not None and closing["crc32"] != zlib.crc32(b"".join(line + b"\n" for line in lines[:-1])):
        segment.damage = "another checksum than its close says"
    elif opening.get("version") != 1:
        segment.damage = f"version {opening.get('version')}"
    if segment.damage and closing is not None and opening.get("version") == 1:
        fits = closing["crc32"] == zlib.crc32(b"".join(line + b"\n" for line in lines[:-1]))
        sound = len(rest) if fits else _sound(segment)
        if sound is not None:
            segment.records, segment.closing = rest[:sound], None
            segment.damage, segment.worn = "", segment.damage
    return segment


def _sound(segment: Segment) -> int | None:
    """How many records stand before the first sign of damage; None if there is no sign but the checksum."""
    expected = segment.opening["at"]
    for index, record in enumerate(segment.records):
        if record is None or record["at"] != expected:
            return index
        expected += record.get("count", 1)
    return len(segment.records) if segment.closing is not None and segment.closing["at"] != expected else None


def _parsed(line: bytes) -> Record | None:
    """The record that a line is; None for what is no record of its type."""
    try:
        record = json.loads(line, object_pairs_hook=_object)
    except ValueError:
        return None
    if not isinstance(record, dict) or not isinstance(record.get("type"), str) or type(record.get("at")) is not int:
        return None
    return record if _is_whole(record) else None


def _object(pairs: list[tuple[str, Any]]) -> Record:
    """An object that has a name twice is none."""
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a name twice")
    return dict(pairs)


def _is_whole(record: Record) -> bool:
    if record["type"] == "close":
        return type(record.get("reason")) is str and all(type(record.get(name)) is int for name in ("records", "crc32"))
    if record["type"] in APPLICATION_FIELDS and not is_application(record):
        return False
    fields = _FIELDS.get(record["type"])
    if fields is None:
        return type(record.get("count", 1)) is int and record.get("count", 1) > 0
    kinds = {f: _KINDS[f] for f in (*fields, *_MAY_HAVE.get(record["type"], ()), *_ALL_MAY_HAVE) if f in record}
    kinds |= {f: _KINDS[f] for f in fields}
    # Another type's fields are unknown in this one, and unknown fields are ignored.
    record = {name: value for name, value in record.items() if name in kinds or name not in _KINDS}
    if not all(type(record.get(name)) is kind for name, kind in kinds.items()):
        return False
    if not all(record.get(name, 1) > 0 for name in ("at", "count", "number", "view", "sent_view", "serial")):
        return False
    if not all(type(n) is int and n >= 0 for name in ("clock", "base", "cut") for n in record.get(name, {}).values()):
        return False
    if not all(_is_succession(each) for each in record.get("succeeds", [])):
        return False
    if record["type"] == "view" and not (record["members"] and all(type(who) is str for who in record["members"])):
        return False
    if any(record[name] not in words for name, words in _WORDS.items() if name in record):
        return False
    if "carries" in record and not (record["carries"] and all(type(rule) is str for rule in record["carries"])):
        return False
    if len(set(record.get("members", []))) < len(record.get("members", [])):
        return False
    if len(record.get("digests", [])) > record.get("count", 1):
        return False
    followed = [each["instance"] for each in record.get("succeeds", [])]
    if len(set(followed)) < len(followed) or (followed and record["view"] != 1):
        return False
    if record["type"] == "skip" and ("sender" in record) != ("number" in record):
        return False
    return record["type"] != "skip" or "sender" in record or "serial" in record


def _is_succession(entry: object) -> bool:
    if not isinstance(entry, dict) or type(entry.get("instance")) is not str:
        return False
    kinds = {"view": int, "cut": dict, "without": dict, "gone": dict, "gives_up": list, "by": str, "serial": int}
    if not all(type(entry[name]) is kind for name, kind in kinds.items() if name in entry):
        return False
    given_up, by = entry.get("gives_up", []), entry.get("by", "")
    if by not in ("", "proof", "operator", "merge", "ended") or (by == "proof" and given_up):
        return False
    if len({str(who) for who in given_up}) < len(given_up):
        return False
    numbers = [entry.get("view", 1), *(n + 1 for n in entry.get("cut", {}).values() if type(n) is int)]
    pairs = [pair for ranges in entry.get("without", {}).values() for pair in (ranges if type(ranges) is list else [0])]
    return (
        min(numbers) > 0
        and all(type(n) is int for n in entry.get("cut", {}).values())
        and all(type(who) is str for who in entry.get("gives_up", []))
        and all(type(pair) is list and [type(n) for n in pair] == [int, int] and min(pair) > 0 for pair in pairs)
    )


def _are_states(states: object) -> bool:
    return isinstance(states, dict) and all(_is_state(each) for each in states.values())


def _is_state(state: object) -> bool:
    if not isinstance(state, dict) or type(state.get("view")) is not int:
        return False
    if not all(type(state.get(name, 0)) is int for name in ("number", "serial")):
        return False
    for counts in (state.get("delivered"), state.get("clock")):
        if not isinstance(counts, dict) or not all(type(number) is int for number in counts.values()):
            return False
    beyond = state.get("beyond", {})
    pairs = [pair for ranges in beyond.values() for pair in ranges] if isinstance(beyond, dict) else [None]
    return all(isinstance(pair, list) and len(pair) == 2 and min(pair) > 0 for pair in pairs)


_FIELDS = {
    "send": ("group", "view", "number", "clock"),
    "deliver": ("group", "view", "sent_view", "sender", "number"),
    "skip": ("group", "view"),
    "view": ("group", "view", "members", "leader", "ordering", "multicast"),
    "leave": ("group", "view"),
    "detach": ("group", "view"),
    "confirm": ("group", "view", "number", "by"),
    "adopt": ("group", "view", "from", "cut"),
    "quorum": ("group", "view", "has"),
    "elect": ("group", "view", "leader"),
    "suspect": ("group", "view"),
    "lost": ("count",),
}
_WORDS = {
    "ordering": ("NONORDERED", "FIFO", "CAUSAL", "TOTAL", "CAUSALTOTAL"),
    "multicast": ("BASIC", "RELIABLE"),
    "netsplit": ("PRIMARY", "PARTITIONABLE"),
    "by": ("majority", "all"),
}
_MAY_HAVE = {
    "send": ("digests",),
    "deliver": ("serial", "digests", "held"),
    "skip": ("sender", "number", "serial"),
    "view": ("safe", "netsplit", "base", "base_serial", "succeeds", "carries"),
    "leave": ("settled", "into"),
    "detach": ("into",),
    "lost": ("state",),
}
_ALL_MAY_HAVE = ("instance", "count", "t")
_KINDS: dict[str, type] = {
    "from": str,
    **dict.fromkeys(("group", "instance", "sender", "leader", "ordering", "multicast", "netsplit"), str),
    **dict.fromkeys(("view", "sent_view", "number", "count", "serial", "settled", "base_serial", "t", "held"), int),
    **dict.fromkeys(("clock", "base", "state", "cut"), dict),
    **dict.fromkeys(("members", "digests", "succeeds", "carries"), list),
    **dict.fromkeys(("into", "by"), str),
    **dict.fromkeys(("safe", "has"), bool),
}


def _joined(process: Process, segments: list[Segment], logs: Logs) -> ProcessLog:
    """One process's segments as one sequence of items, with a gap wherever positions or segments are missing."""
    log = ProcessLog(process)
    expected = 1
    for index, segment in enumerate(segments):
        opening, closing = segment.opening, segment.closing
        where = f"{process} segment {opening['segment']}"
        damage = segment.damage or ("two writers: its positions go back" if opening["at"] < expected else "")
        if damage:
            logs.notes.append(f"{where} is not read: {damage}")
            _gap(log, expected)
            continue
        if opening["segment"] > (segments[index - 1].opening["segment"] + 1 if index else 0):
            _gap(log, expected)
        expected = _check_position(log, logs, opening["at"], expected)
        log.items.append({"type": "opened", "at": opening["at"], "state": opening.get("state")})
        for record in segment.records:
            expected = _append(log, logs, record, expected)
        if closing is not None:
            expected = _check_position(log, logs, closing["at"], expected)
        elif segment.worn or segment.sealed:
            logs.notes.append(f"{where} ends too early: {segment.worn or 'it has no close'}")
            _gap(log, expected)
    if not segments:
        _gap(log, expected)
        return log
    last = segments[-1]
    log.torn = last.torn
    log.exited = last.closing is not None and last.closing.get("reason") == "exit"
    if last.closing is not None and not log.exited and not last.damage:
        logs.notes.append(f"{process} went on after its last segment: the next is missing")
        _gap(log, expected)
    return log


def _append(log: ProcessLog, logs: Logs, record: Record | None, expected: int) -> int:
    """Positions order events, and nothing else does: a record that goes back is of no known place, so it is none."""
    if record is None or record["at"] < expected:
        what = "is no record" if record is None else "goes back: two writers"
        logs.notes.append(f"{log.process} has a line that {what}, near position {expected}")
        _gap(log, expected)
        return expected
    expected = _check_position(log, logs, record["at"], expected)
    if record["type"] == "lost":
        _gap(log, expected, dropped=True)
        state = record.get("state")
        log.items.append({"type": "opened", "at": expected, "state": state if _are_states(state) else None})
    else:
        log.items.append(record)
    return expected + int(record.get("count", 1))


def _check_position(log: ProcessLog, logs: Logs, at: int, expected: int) -> int:
    if at != expected:
        what = "positions are missing" if at > expected else "two writers"
        logs.notes.append(f"{log.process} goes on at position {at} instead of {expected}: {what}")
        _gap(log, expected)
    return max(at, expected)


def _gap(log: ProcessLog, at: int, *, dropped: bool = False) -> None:
    """A gap: what is missing in one place is one, however many signs of it there are."""
    if not log.items or log.items[-1]["type"] != "gap":
        log.items.append({"type": "gap", "at": at, "dropped": dropped})
    log.items[-1]["dropped"] &= dropped


def _split(logs: Logs) -> None:
    for log in logs.processes.values():
        for key in _keys(log, logs):
            logs.groups.setdefault(key, []).append(_history(log, key))
    for histories in logs.groups.values():
        _add_missing(histories, logs)


def _keys(log: ProcessLog, logs: Logs) -> list[Key]:
    keys: dict[Key, None] = {}
    for item in log.items:
        if "group" in item and item["type"] not in APPLICATION_FIELDS:
            keys[item["group"], item.get("instance", "")] = None
        for group, state in (item.get("state") or {}).items() if item["type"] == "opened" else ():
            keys[group, state.get("instance", "")] = None
        if item["type"] not in _KNOWN:
            logs.unknown_types[item["type"]] += 1
    return list(keys)


def _add_missing(histories: list[History], logs: Logs) -> None:
    """A member whose log is not there, or is silent about the group but has a gap, is one gap.

    Of a sender whose log is complete and says nothing of the group it is known that it sent nothing.
    """
    events = [event for history in histories for event in history.events]
    members = {who for event in events if isinstance(event, View) for who in event.members}
    known = {history.process for history in histories}
    for who in sorted({event.sender for event in events if isinstance(event, Deliver)} - known):
        if who in logs.processes and logs.processes[who].coverage == "closed":
            histories.append(History(who, "closed"))
    for who in sorted(members - {history.process for history in histories}):
        log = logs.processes.get(who)
        if log is None or log.has_gap:
            histories.append(History(who, "lost", [Gap(0, state=False)]))


def _history(log: ProcessLog, key: Key) -> History:
    history = History(log.process, log.coverage)
    present = ended = False
    for index, item in enumerate(log.items):
        if item["type"] == "gap":
            state = _state_after(log.items, index + 1)
            has_state = state is not None and _state_of(state, key) is not None
            if ended or (state is not None and not present and not has_state):
                continue  # it was not in the group then
            history.events.append(Gap(item["at"], has_state))
            if state is not None and not has_state:
                history.events.append(End(item["at"], seen=False))
                ended = True
        elif item["type"] == "opened":
            state = _state_of(item["state"] or {}, key)
            present = present or state is not None
            history.events.append(Opened(item["at"], _parse_state(state) if state is not None else None))
        elif (item.get("group"), item.get("instance", "")) == key:
            present = True
            ended = ended or item["type"] in ("leave", "detach")
            history.events.extend(_explode(item))
    return history


def _state_after(items: list[Record], index: int) -> Record | None:
    """The state of all groups, as the opening after a gap has it; None if none follows at once."""
    while index < len(items) and items[index]["type"] == "gap":
        index += 1
    if index < len(items) and items[index]["type"] == "opened":
        state: Record | None = items[index]["state"]
        return state
    return None


def _state_of(state: Record, key: Key) -> Record | None:
    of_group: Record | None = state.get(key[0])
    return of_group if of_group is not None and of_group.get("instance", "") == key[1] else None


def _parse_state(state: Record) -> State:
    settled = {(who, number) for who, last in state["delivered"].items() for number in range(1, last + 1)}
    for who, ranges in state.get("beyond", {}).items():
        settled |= {(who, number) for first, count in ranges for number in range(first, first + count)}
    return State(state["view"], state.get("number", 0), frozenset(settled), state["clock"], state.get("serial", 0))


def _explode(item: Record) -> Iterator[Event]:
    reader = _READERS.get(item["type"])
    if reader is not None:
        for offset in range(item.get("count", 1)):
            yield reader(item, item["at"] + offset, offset)


def _view(item: Record, at: int, _: int) -> Event:
    return View(
        at,
        item["view"],
        tuple(item["members"]),
        item["leader"],
        item["ordering"],
        item["multicast"],
        item.get("safe", False),
        item.get("netsplit", "PRIMARY"),
        item.get("base", {}),
        item.get("base_serial", 0),
        tuple(_succession(entry) for entry in item.get("succeeds", [])),
        frozenset(item["carries"]) if "carries" in item else None,
    )


def _succession(entry: Record) -> Succession:
    ranges = [(who, first, count) for who, pairs in entry.get("without", {}).items() for first, count in pairs]
    return Succession(
        entry["instance"],
        entry.get("view"),
        entry.get("cut"),
        frozenset((who, number) for who, first, count in ranges for number in range(first, first + count)),
        entry.get("by", ""),
        frozenset(entry.get("gone", {})),
        frozenset(entry.get("gives_up", [])),
        entry.get("serial"),
    )


def _send(item: Record, at: int, offset: int) -> Event:
    return Send(at, item["view"], item["number"] + offset, item["clock"], _digest(item, offset))


def _deliver(item: Record, at: int, offset: int) -> Event:
    serial = item["serial"] + offset if "serial" in item else None
    number = item["number"] + offset
    return Deliver(at, item["view"], item["sent_view"], item["sender"], number, serial, _digest(item, offset))


def _skip(item: Record, at: int, offset: int) -> Event:
    message = (item["sender"], item["number"] + offset) if "sender" in item else None
    return Skip(at, item["view"], message, item["serial"] + offset if "serial" in item else None)


def _leave(item: Record, at: int, _: int) -> Event:
    return End(at, item.get("settled"), into=item.get("into"), reason=item.get("reason") or "request")


def _detach(item: Record, at: int, _: int) -> Event:
    return End(at, into=item.get("into"), reason=item.get("reason") or "quorum")


def _confirm(item: Record, at: int, offset: int) -> Event:
    return Confirm(at, item["view"], item["number"] + offset, item["by"])


def _adopt(item: Record, at: int, _: int) -> Event:
    return Adopt(at, item["from"], item["cut"])


def _elect(item: Record, at: int, _: int) -> Event:
    return Elect(at, item["view"], item["leader"])


def _digest(item: Record, offset: int) -> int | None:
    digests: list[int] | None = item.get("digests")
    return digests[offset] if digests is not None and offset < len(digests) else None


_READERS = {
    "view": _view,
    "send": _send,
    "deliver": _deliver,
    "skip": _skip,
    "leave": _leave,
    "detach": _detach,
    "confirm": _confirm,
    "adopt": _adopt,
    "elect": _elect,
}
_KNOWN = {*_READERS, *APPLICATION_FIELDS, "suspect", "quorum", "gap", "opened"}
