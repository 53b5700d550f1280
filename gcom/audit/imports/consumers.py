"""Import of consumers' logs: `gcom audit import kafka FILE...`, `gcom audit import nats FILE...`.

Neither system writes such a log; people write one by hand, where their consumer handles a record: a JSON object a line,
with the fields of the form's layout. Each partition, or stream, becomes a group, and each consumer a process of it. If
lines name the producer and its own count, messages are known by these, and offsets are serials: so two consumers that
had two messages at one offset break SERIAL_UNIQUE. Else the offset is all that names a message.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gcom.audit.imports.writing import (
    Imported,
    LogRecords,
    NameSpelling,
    WrongLines,
    check_new,
    in_order,
    read_text,
    view_of,
    write_logs,
)
from gcom.audit.input.contract import RUN_MAX
from gcom.errors import BadValue

_SPAREST = 16  # of so many numbers of a producer at least one has a line
NUMBER_MAX = 1 << 53  # what JSON's readers agree on
_Names = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ConsumerLayout:
    """The names of a form's fields; `first` is its lowest offset."""

    form: str
    group: _Names
    offset: str
    first: int
    producer: str
    count: str

    @property
    def told(self) -> str:
        """Return the layout as an error tells it."""
        where = ", ".join(f'"{name}"' for name in self.group)
        consumed = f'{{"consumer", {where}, "{self.offset}"}}'
        return f'lines as {consumed}, each with or without "{self.producer}" and "{self.count}"'


KAFKA = ConsumerLayout("kafka", ("topic", "partition"), "offset", 0, "producer", "sequence")
NATS = ConsumerLayout("nats", ("stream",), "stream_seq", 1, "publisher", "number")


@dataclass(frozen=True, slots=True)
class _HandedLine:
    """A record that a consumer was handed, or, without a consumer, that a producer sent."""

    line: int
    group: str
    consumer: str
    offset: int
    producer: str
    number: int
    digest: int | None


@dataclass(slots=True)
class _Partition:
    """The lines of one partition or stream."""

    consumed: dict[str, list[_HandedLine]] = field(default_factory=lambda: defaultdict(list))
    produced: dict[str, dict[int, int | None]] = field(default_factory=lambda: defaultdict(dict))
    lowest: dict[str, int] = field(default_factory=dict)  # number of each producer


def import_consumers(layout: ConsumerLayout, files: list[Path], into: Path) -> Imported:
    """Write the lines as delivery logs under `into`, which must be empty. Raises BadValue, NotALog, or OSError."""
    check_new(into)
    groups: dict[str, _Partition] = defaultdict(_Partition)
    notes: list[str] = []
    events = left_out = 0
    spelling = NameSpelling()
    for file in files:
        wrong = WrongLines(str(file), layout.told)
        lines = [*_lines(layout, read_text(file), wrong, spelling)]
        notes += wrong.notes(len(lines))
        events, left_out = events + len(lines), left_out + wrong.count
        for line in lines:
            _add(groups[line.group], line)
    notes += spelling.notes()
    named = _are_named(layout, groups)
    logs: dict[str, LogRecords] = defaultdict(list)
    rules: set[str] = set()
    for name, group in groups.items():
        carried = _rules(group, named)
        rules |= {*carried}
        _write_group(name, group, named, carried, logs)
    if not any(group.consumed for group in groups.values()):
        raise BadValue(f"no consumer in {', '.join(map(str, files))}: expected {layout.told}")
    if not named and any(group.produced for group in groups.values()):
        notes.append(f"producers' lines show nothing here: consumers' lines do not have {layout.producer}")
    write_logs(logs, into)
    return Imported(len(logs), events, in_order(rules), left_out, notes)


def _lines(layout: ConsumerLayout, text: str, wrong: WrongLines, spelling: NameSpelling) -> Iterator[_HandedLine]:
    for number, each in enumerate(text.split("\n"), 1):
        if not each.strip():
            continue
        try:
            said = json.loads(each)
        except (ValueError, RecursionError):
            wrong.add(number, each, "no JSON")
            continue
        found = _line(layout, number, said, spelling) if isinstance(said, dict) else "no JSON object"
        if isinstance(found, str):
            wrong.add(number, each, found)
        else:
            yield found


def _line(layout: ConsumerLayout, number: int, said: dict[str, Any], spelling: NameSpelling) -> _HandedLine | str:
    """Return what a line says, or why it says nothing."""
    consumed = "consumer" in said
    wanted = (*layout.group, *(("consumer", layout.offset) if consumed else (layout.producer, layout.count)))
    if missing := [name for name in wanted if said.get(name) in (None, "")]:
        return f"it lacks {' and '.join(missing)}"
    if (layout.producer in said) != (layout.count in said):
        return f"it has one of {layout.producer} and {layout.count}"
    for name in ("consumer", layout.producer):
        if name in said and (type(said[name]) is not str or "#" in said[name]):
            return f"{name} is no text without #"
    if type(said.get("session", 1)) not in (int, str) or "#" in str(said.get("session", 1)):
        return "session is no number and no text without #"
    for name in (layout.offset, layout.count):
        least = layout.first if name == layout.offset else 0
        if name in said and (type(said[name]) is not int or not least <= said[name] < NUMBER_MAX):
            return f"{name} is no number from {least} on"
    digest = said.get("crc32")
    if digest is not None and (type(digest) is not int or not 0 <= digest < 1 << 32):
        return "crc32 is no number of 32 bits"
    group = spelling.of("/".join(str(said[name]) for name in layout.group))
    consumer = spelling.of(f"{said['consumer']}#{said.get('session', 1)}") if consumed else ""
    producer = spelling.of(said.get(layout.producer, ""))
    offset = said[layout.offset] - layout.first + 1 if consumed else 0
    return _HandedLine(number, group, consumer, offset, producer, said.get(layout.count, -1), digest)


def _add(group: _Partition, line: _HandedLine) -> None:
    if line.consumer:
        group.consumed[line.consumer].append(line)
    else:
        group.produced[line.producer][line.number] = line.digest
    if line.producer:
        group.lowest[line.producer] = min(line.number, group.lowest.get(line.producer, line.number))


def _are_named(layout: ConsumerLayout, groups: dict[str, _Partition]) -> bool:
    """Tell whether the lines name producers. Raises BadValue if some do and others do not."""
    found = {bool(line.producer) for group in groups.values() for each in group.consumed.values() for line in each}
    if len(found) > 1:
        names = f"{layout.producer} and {layout.count}"
        raise BadValue(f"some consumers' lines have {names}: expected all to have them, or none; write them in all")
    return True in found


def _rules(group: _Partition, named: bool) -> list[str]:
    """Return the rules that the lines of a partition or stream can carry."""
    if not named:
        return in_order(("NO_DUPLICATION", "FIFO"))
    rules = {"NO_DUPLICATION", "FIFO", "TOTAL", "SERIAL_UNIQUE"}
    heard = {line.producer for each in group.consumed.values() for line in each}
    # Of a producer without a line nobody knows what it sent.
    if heard <= group.produced.keys():
        rules |= {"NO_CREATION"}
    if _with_digests(group):
        rules |= {"INTEGRITY"}
    return in_order(rules)


def _with_digests(group: _Partition) -> bool:
    """Tell whether all lines have a digest: one without another beside it shows nothing."""
    sent = [digest for each in group.produced.values() for digest in each.values()]
    consumed = [line.digest for each in group.consumed.values() for line in each]
    return bool(sent) and None not in sent and None not in consumed


def _write_group(name: str, group: _Partition, named: bool, rules: list[str], logs: dict[str, LogRecords]) -> None:
    """Add the records of a partition or stream to its processes' logs."""
    senders = {producer: f"{producer}#1" for producer in group.produced}
    members = sorted({*group.consumed, *senders.values()})
    where = {"group": name, "view": 1}
    digests = _with_digests(group)
    places = _places(line for each in group.consumed.values() for line in each)
    view = {**view_of(members, rules), **where}
    for producer, process in senders.items():
        logs[process] += [view, *({**where, **each} for each in _sent(group, producer, digests))]
    for consumer, lines in group.consumed.items():
        records = [{**where, **_delivered(group, name, line, places, named, digests)} for line in lines]
        first: dict[str, int] = {}
        for record in records:
            first[record["sender"]] = min(record["number"], first.get(record["sender"], record["number"]))
        # A consumer may begin anywhere: what is before its first counts as known.
        base = {sender: number - 1 for sender, number in first.items() if number > 1}
        logs[consumer] += [{**view, "base": base, "base_serial": min(line.offset for line in lines) - 1}, *records]


def _places(lines: Iterable[_HandedLine]) -> dict[int, int]:
    """Return the place of each offset among all that any consumer had: compaction and transactions leave holes."""
    return {offset: place for place, offset in enumerate(sorted({line.offset for line in lines}), 1)}


def _sent(group: _Partition, producer: str, digests: bool) -> LogRecords:
    """Return a producer's sends; a number of which there is no line, as of a retry, counts as sent."""
    sent, lowest = group.produced[producer], group.lowest[producer]
    last = max(sent) - lowest + 1
    if last > _SPAREST * len(sent) + RUN_MAX:
        told = f"{len(sent):,} lines, of which the numbers are from {lowest:,} to {max(sent):,}"
        raise BadValue(f"producer {producer}: expected a number that goes up by one with each record, got {told}")
    if not digests:
        runs = range(1, last + 1, RUN_MAX)
        return [{"type": "send", "number": n, "count": min(RUN_MAX, last - n + 1), "clock": {}} for n in runs]
    return [
        {"type": "send", "number": number - lowest + 1, "clock": {}, "digests": [sent[number]]}
        if number in sent
        else {"type": "send", "number": number - lowest + 1, "clock": {}}
        for number in range(lowest, max(sent) + 1)
    ]


def _delivered(
    group: _Partition, name: str, line: _HandedLine, places: dict[int, int], named: bool, digests: bool
) -> dict[str, Any]:
    record: dict[str, Any] = {"type": "deliver", "sent_view": 1, "line": line.line}
    if not named:
        return record | {"sender": f"{name}#1", "number": places[line.offset]}
    record |= {"sender": f"{line.producer}#1", "number": line.number - group.lowest[line.producer] + 1}
    return record | {"serial": line.offset} | ({"digests": [line.digest]} if digests else {})
