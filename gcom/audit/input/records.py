"""Conversion of a segment's lines to columns.

Nearly all lines are `send`, `deliver` and `skip`; consecutive ones are parsed together by Arrow. All other lines, and
those that Arrow refuses, are parsed one by one. A line that is not a record of its type (DELIVERY_LOG.md, Records)
becomes a BAD row with the reason, so that the rows around it can still be judged.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json
from numpy.typing import NDArray

from gcom.audit.input.arrow import integers, valid

Ints = NDArray[np.int64]
Record = dict[str, Any]

# The order counts: up to SKIP a row is only columns, up to ELECT and above BAD it belongs to a group. Compact
# files hold the codes, so new kinds go to the end.
SEND, DELIVER, SKIP, VIEW, LEAVE, DETACH, ELECT, SUSPECT, LOST, OTHER, BAD, CONFIRM, ADOPT, QUORUM = range(14)
KINDS = {
    "send": SEND,
    "deliver": DELIVER,
    "skip": SKIP,
    "view": VIEW,
    "leave": LEAVE,
    "detach": DETACH,
    "elect": ELECT,
    "suspect": SUSPECT,
    "lost": LOST,
    "confirm": CONFIRM,
    "adopt": ADOPT,
    "quorum": QUORUM,
}
_NUMBERS = ("at", "t", "view", "sent_view", "number", "count", "serial", "held")
_TEXTS = ("type", "group", "instance", "sender")
COLUMNS = ("kind", "key", "sender", *_NUMBERS)  # of Rows, one number per row
_SCHEMA = pa.schema(
    [(name, pa.int64()) for name in _NUMBERS]
    + [(name, pa.string()) for name in _TEXTS]
    + [("digests", pa.list_(pa.int64()))]
)
# Bytes parsed at a time: Arrow's table and the columns made of it are in memory beside the segment, of 64 MiB.
_CHUNK_BYTES = 8 << 20
# Arrow has a price per call: a stretch of fewer lines is parsed faster one by one. Measured on logs in which every few
# lines are a `confirm`: ten to thirty times as fast. Up to so many stretches per chunk the price does not matter.
_ARROW_LINES_MIN = 160
_STRETCHES_MANY = 64
# Processes in the clocks of one stretch; with more it is parsed line by line. Arrow makes a column of each name that it
# ever sees, so a log of ever new processes would cost rows times processes.
_CLOCK_PROCESSES_MAX = 512
_NUMBER_MAX = 1 << 62  # so that a number plus a count is still one of 64 bits
RUN_MAX = 1 << 20  # messages of one record; one that claims more is rejected: a line must not fill the memory
# The fields that each record type must have beside `at`; below, the type of each field wherever it stands.
_REQUIRED = {
    "send": ("group", "view", "number", "clock"),
    "deliver": ("group", "view", "sent_view", "sender", "number"),
    "skip": ("group", "view"),
    "view": ("group", "view", "members", "leader", "ordering", "multicast"),
    "leave": ("group", "view"),
    "detach": ("group", "view"),
    "elect": ("group", "view", "leader"),
    "suspect": ("group", "view"),
    "confirm": ("group", "view", "number", "by"),
    "adopt": ("group", "view", "from", "cut"),
    "quorum": ("group", "view", "has"),
    "lost": ("count",),
}
_INTEGERS = ("view", "sent_view", "number", "count", "serial", "t", "held", "base_serial", "settled")
_OF_TYPE: dict[type, tuple[str, ...]] = {
    int: _INTEGERS,
    str: ("group", "instance", "sender", "leader", "ordering", "multicast", "netsplit", "by", "from", "into"),
    bool: ("safe", "has"),
    list: ("members", "digests", "succeeds"),
    dict: ("clock", "base", "cut", "state"),
}
_TYPE_OF = {name: kind for kind, names in _OF_TYPE.items() for name in names}
# Fields that are checked only in records that require them; elsewhere they are unknown, and ignored.
_ONLY_REQUIRED = ("group", "view", "sent_view", "clock", "members", "leader", "ordering", "multicast")
_OPTIONAL = tuple(name for name in _TYPE_OF if name not in _ONLY_REQUIRED)
_OF_SUCCESSION = {"view": int, "cut": dict, "without": dict, "gone": dict, "gives_up": list, "by": str, "serial": int}
_WORDS = {str: "a text", int: "an integer", bool: "true or false", list: "a list", dict: "a map"}
_FIRST_AND_LAST = ("open", "close")
_FROM_ONE = ("at", "count", "number", "view", "sent_view", "serial")


@dataclass(slots=True)
class Rows:
    """A segment's records without its first and its `close` line, one row per line; -1 stands for an absent number.

    `key` indexes `keys`, (group, instance), and `sender` indexes `senders`. `rare` holds the whole record of the rows
    that are no send, deliver or skip; of a BAD row the reason. `clock` holds per process the rows of sends whose clock
    names it, with the numbers named; `digests` the rows that have digests, each with its list.
    """

    kind: Ints
    at: Ints
    count: Ints
    key: Ints
    view: Ints
    sent_view: Ints
    sender: Ints
    number: Ints
    serial: Ints
    t: Ints
    held: Ints
    keys: list[tuple[str, str]] = field(default_factory=list)
    senders: list[str] = field(default_factory=list)
    rare: dict[int, Record] = field(default_factory=dict)
    clock: dict[str, tuple[Ints, Ints]] = field(default_factory=dict)
    digests: dict[int, list[int]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.kind)

    @classmethod
    def none(cls) -> Rows:
        columns: dict[str, Any] = dict.fromkeys(COLUMNS, np.zeros(0, np.int64))
        return cls(**columns)


def only_forward(rows: Rows, expected: int) -> Rows:
    """Return the rows, each BAD whose position is below `expected`, or is covered by an earlier row.

    Only positions order events, so the place of such a record in the order is unknown.
    """
    # Nearly always all positions go forward, and the rows are returned as they are.
    sound = np.flatnonzero(rows.kind != BAD)
    ends = rows.at[sound] + rows.count[sound]
    if not (rows.at[sound] < np.maximum.accumulate(np.concatenate(([expected], ends)))[:-1]).any():
        return rows
    kind, rare = rows.kind.copy(), dict(rows.rare)
    for row in sound.tolist():
        at = int(rows.at[row])
        if at < expected:
            kind[row] = BAD
            reason = f"it is at position {at}, after {expected - 1}: two processes claim one incarnation"
            rare[row] = {"type": "", "at": 0, "reason": reason}
        else:
            expected = at + int(rows.count[row])
    # A clock entry of a send that is BAD now would be read as another send's.
    kept = {who: kind[where] != BAD for who, (where, _) in rows.clock.items()}
    clock = {who: (where[kept[who]], said[kept[who]]) for who, (where, said) in rows.clock.items()}
    return replace(rows, kind=kind, rare=rare, clock=clock)


def parse(data: bytes, begin: int, end: int) -> Rows:
    """Return the lines of data[begin:end], each ended by a newline."""
    builder = _RowBuilder()
    for first, last in _chunks(data, begin, end):
        _parse_chunk(builder, data, first, last)
    return builder.rows()


def parse_slowly(data: bytes, begin: int, end: int) -> Rows:
    """Return what `parse` returns, computed in a simpler way; for tests."""
    builder = _RowBuilder()
    builder.add_records(_loaded(data, begin, end))
    return builder.rows()


def problem_of(record: object) -> str:
    """Return the reason why `record` is invalid (DELIVERY_LOG.md); empty if it is valid, or of an unknown type."""
    if not isinstance(record, dict) or not isinstance(record.get("type"), str):
        return "no JSON object with a type"
    if type(record.get("at")) is not int:
        return "no position `at`"
    required = _REQUIRED.get(record["type"])
    # `read_segment` has taken the opening and a whole close away: one in the middle means that two files were
    # joined, or that the last line is damaged.
    if record["type"] in _FIRST_AND_LAST:
        return f"a line that says `{record['type']}` and is not that of its segment, or not whole"
    # Unknown types are counted and passed over (DELIVERY_LOG.md), but their positions must fit, or
    # a gap would follow.
    if required is None:
        return _problem_of_numbers({name: record[name] for name in ("type", "count") if name in record})
    for name in (*required, *_OPTIONAL):
        # `type` and not isinstance: True is an int in Python, and no number in the contract.
        if name in record and type(record[name]) is not _TYPE_OF[name]:
            return f"{name} is not {_WORDS[_TYPE_OF[name]]}"
        if name in required and name not in record:
            return f"a {record['type']} without {name}"
    return _problem_of_numbers(record)


def _problem_of_numbers(record: Record) -> str:
    for name in _FROM_ONE:
        number = record.get(name, 1)
        if type(number) is not int or not 1 <= number <= _NUMBER_MAX:
            return f"{name} is {number!r}, not a number from 1 on"
    if KINDS.get(record["type"], OTHER) <= SKIP and record.get("count", 1) > RUN_MAX:
        return f"a run of {record['count']:,} messages, more than {RUN_MAX:,}"
    if record["type"] == "skip" and ("sender" in record) != ("number" in record):
        return "a skip with one of sender and number"
    # A skip has a sender and number, a serial, or both; without either it would give up
    # nothing at some position.
    if record["type"] == "skip" and "sender" not in record and "serial" not in record:
        return "a skip of nothing"
    if not all(type(each) is int and -_NUMBER_MAX <= each <= _NUMBER_MAX for each in record.get("digests", ())):
        return "digests are not numbers"
    for name in ("clock", "base", "cut"):
        # Of a type that has no such field, as a `clock` that is not a send's, anything may stand there.
        numbers = record.get(name)
        if isinstance(numbers, dict) and not all(type(n) is int and 0 <= n <= _NUMBER_MAX for n in numbers.values()):
            return f"{name} is not a map of numbers"
    members = record.get("members")
    if record["type"] == "view" and not (members and all(type(who) is str for who in members)):
        return "members is not a list of processes"
    if not all(is_succession(each) for each in record.get("succeeds", ())):
        return "succeeds does not name instances, views and cuts"
    return ""


def is_succession(entry: object) -> bool:
    """Tell whether `entry` is one of a `succeeds` (DELIVERY_LOG.md, Records)."""
    if not isinstance(entry, dict) or type(entry.get("instance")) is not str:
        return False
    if not all(type(entry[name]) is wanted for name, wanted in _OF_SUCCESSION.items() if name in entry):
        return False
    ranges = entry.get("without", {}).values()
    return (
        1 <= entry.get("view", 1) <= _NUMBER_MAX
        and all(type(n) is int and 0 <= n <= _NUMBER_MAX for n in entry.get("cut", {}).values())
        and all(type(who) is str for who in entry.get("gives_up", ()))
        and all(type(each) is list and all(map(_is_range, each)) for each in ranges)
    )


def _is_range(pair: object) -> bool:
    return isinstance(pair, list) and len(pair) == 2 and all(type(n) is int and 1 <= n <= _NUMBER_MAX for n in pair)


def _chunks(data: bytes, begin: int, end: int) -> Iterator[tuple[int, int]]:
    while begin < end:
        # A line is never parted, however long: a chunk ends with the line in which it is full.
        stop = end if end - begin <= _CHUNK_BYTES else data.index(b"\n", begin + _CHUNK_BYTES - 1) + 1
        yield begin, stop
        begin = stop


def _parse_chunk(builder: _RowBuilder, data: bytes, begin: int, end: int) -> None:
    """Parse stretches of plain lines with Arrow, and the lines between them one by one."""
    # Byte 10 is the newline. The lines are never made Python objects here: 120 million of them are an audit of
    # 17 GB (decision 0004).
    whole = np.frombuffer(data, np.uint8, end - begin, begin)
    ends = np.flatnonzero(whole == 10) + 1
    starts = np.concatenate(([0], ends[:-1]))
    plain = _are_plain(whole, starts, ends)
    borders = np.flatnonzero(np.diff(plain)) + 1
    fragmented = len(borders) > _STRETCHES_MANY and len(borders) * _ARROW_LINES_MIN > len(plain)
    # Few plain lines: another writer's style, with blanks or fields in another order.
    if len(plain) and (fragmented or plain.mean() < 0.5):
        builder.add_records(_loaded(data, begin, end))
        return
    for first, stop in zip([0, *borders.tolist()], [*borders.tolist(), len(plain)], strict=True):
        a, b = begin + int(starts[first]), begin + int(ends[stop - 1])
        if not (plain[first] and builder.add_plain(data[a:b], stop - first)):
            builder.add_records(_loaded(data, a, b))


def _are_plain(whole: NDArray[np.uint8], starts: Ints, ends: Ints) -> NDArray[np.bool_]:
    """Return for each line whether it begins as GCom writes a send, a deliver or a skip.

    Other lines may be such records too; they are parsed slowly.
    """
    # Shorter lines cannot be records; without this the comparison below would read past their end.
    long = ends - starts > 20
    at = np.where(long, starts, 0)
    if len(whole) <= 20:
        return np.zeros(len(starts), np.bool_)
    found = np.zeros(len(starts), np.bool_)
    for head in (b'{"type":"deliver"', b'{"type":"send"', b'{"type":"skip"'):
        # Compare only the letters that tell the types apart, and the closing quote; Arrow checks the rest.
        match = long.copy()
        for place in (0, 2, 9, 10, 11, len(head) - 1):
            match &= whole[at + place] == head[place]
        found |= match
    return found


def _loaded(data: bytes, begin: int, end: int) -> Iterator[object]:
    for line in data[begin:end].split(b"\n")[:-1]:
        yield loaded(line)


def loaded(line: bytes) -> object:
    """Return the value of a line of JSON; None if it is no JSON, or has text that UTF-8 cannot carry."""
    try:
        value = json.loads(line)
        # An escape may be half of a surrogate pair, which Python reads and no file can hold.
        if b"\\u" in line:
            json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return None
    return value


class _RowBuilder:
    """Columns that grow chunk by chunk."""

    def __init__(self) -> None:
        self._parts: list[dict[str, Ints]] = []
        self._length = 0
        self._keys: dict[tuple[str, str], int] = {}
        self._senders: dict[str, int] = {}
        self._rare: dict[int, Record] = {}
        self._clock: dict[str, list[tuple[Ints, Ints]]] = {}
        self._digests: dict[int, list[int]] = {}

    def rows(self) -> Rows:
        if not self._parts:
            return Rows.none()
        columns: dict[str, Any] = {name: np.concatenate([part[name] for part in self._parts]) for name in COLUMNS}
        return Rows(
            **columns,
            keys=list(self._keys),
            senders=list(self._senders),
            rare=self._rare,
            clock={who: _pairs(parts) for who, parts in self._clock.items()},
            digests=self._digests,
        )

    def _append(self, part: dict[str, Ints]) -> None:
        self._parts.append(part)
        self._length += len(part["kind"])

    def add_plain(self, data: bytes, lines: int) -> bool:
        """Parse with Arrow. Returns False, with nothing added, if Arrow refuses the lines or some are not sound."""
        if b"null" in data:  # Arrow reads it as an absent field
            return False
        try:
            table = pyarrow.json.read_json(
                pa.BufferReader(data),
                pyarrow.json.ReadOptions(use_threads=False, block_size=max(len(data), 1)),
                pyarrow.json.ParseOptions(explicit_schema=_SCHEMA),
            )
            # Arrow reads two objects on one line as two rows.
            return len(table) == lines and self._add_table(table)
        except (pa.ArrowException, UnicodeDecodeError):
            return False

    def _add_table(self, table: pa.Table) -> bool:
        kind = self._codes(table["type"], dict(KINDS))
        numbers = {name: integers(table[name], 1 if name == "count" else -1) for name in _NUMBERS}
        present = {name: valid(table[name]) for name in (*_NUMBERS, *_TEXTS, "digests")}
        clocks = table["clock"] if "clock" in table.column_names else None
        # Arrow fills in what a record lacks: whether each has what its type needs is checked as columns, and where
        # one has not, the slow way finds which.
        if not _are_sound(kind, numbers, present, clocks):
            return False
        if present["digests"].any() and not self._add_digests(table["digests"], kind):
            return False
        if clocks is not None and pa.types.is_struct(clocks.type):
            self._add_clocks(clocks, kind)
        key, sender = self._key_codes(table), self._codes(table["sender"], self._senders)
        self._append({**numbers, "kind": kind, "key": key, "sender": sender})
        return True

    def _codes(self, column: pa.ChunkedArray, known: dict[str, int], absent: int = -1) -> Ints:
        """Return each text as its code in `known`, where a new text gets the next code; `absent` for a missing text."""
        # A text is looked up once per chunk and not once per row: names are few, rows are millions.
        encoded = column.combine_chunks().dictionary_encode()
        if isinstance(encoded, pa.ChunkedArray):
            encoded = encoded.chunk(0) if encoded.num_chunks else pa.array([], pa.string()).dictionary_encode()
        codes = _ints([known.setdefault(text, len(known)) for text in encoded.dictionary.to_pylist()] + [absent])
        return codes[integers(encoded.indices, len(codes) - 1)]

    def _key_codes(self, table: pa.Table) -> Ints:
        groups: dict[str, int] = {}
        instances: dict[str, int] = {}
        group = self._codes(table["group"], groups)
        # An absent instance means "" (DELIVERY_LOG.md, Records), so "" has the code that absent texts get.
        instances[""] = 0
        instance = self._codes(table["instance"], instances, absent=0)
        # One number per pair, so that the pairs in use are found by one sort of integers.
        both = group * len(instances) + instance
        seen, inverse = np.unique(both, return_inverse=True)
        names, lives = list(groups), list(instances)
        pairs = [(names[each // len(lives)], lives[each % len(lives)]) for each in seen.tolist()]
        return _ints([self._keys.setdefault(pair, len(self._keys)) for pair in pairs])[inverse]

    def _add_clocks(self, column: pa.ChunkedArray, kind: Ints) -> None:
        clocks = column.combine_chunks()
        clocks = clocks.chunk(0) if isinstance(clocks, pa.ChunkedArray) else clocks
        for index in range(clocks.type.num_fields):
            # Where a clock itself is absent, so are its entries: only sends have one (_are_sound).
            entries = clocks.field(index)
            rows = np.flatnonzero(valid(entries) & (kind == SEND))
            if len(rows):
                said = integers(entries, 0)[valid(entries)]
                self._clock.setdefault(clocks.type.field(index).name, []).append((rows + self._length, said))

    def _add_digests(self, column: pa.ChunkedArray, kind: Ints) -> bool:
        chosen = np.flatnonzero(valid(column) & (kind != SKIP))
        found = dict(zip(chosen.tolist(), column.take(chosen).to_pylist(), strict=True))
        # Arrow reads a null in a list; by the contract digests are numbers.
        if any(None in each for each in found.values()):
            return False
        self._digests.update({row + self._length: each for row, each in found.items()})
        return True

    def add_records(self, records: Iterator[object]) -> None:
        """Add records that were parsed line by line."""
        columns: dict[str, list[int]] = {name: [] for name in COLUMNS}
        for found in records:
            row = self._length + len(columns["kind"])
            wrong = problem_of(found)
            record: Record = found if not wrong and isinstance(found, dict) else {"type": "", "at": 0, "reason": wrong}
            # An unknown type keeps its position and count, so that the records around it have no gap.
            code = BAD if wrong else KINDS.get(record["type"], OTHER)
            if code > SKIP:
                self._rare[row] = record
            columns["kind"].append(code)
            for name in _NUMBERS:
                known = name in ("at", "count") or is_known(code)
                columns[name].append(record.get(name, 1 if name == "count" else -1) if known else -1)
            columns["key"].append(self._key_code(record) if is_known(code) else -1)
            who = record.get("sender") if code <= SKIP else None
            columns["sender"].append(-1 if who is None else self._senders.setdefault(who, len(self._senders)))
            for process, said in record["clock"].items() if code == SEND else ():
                self._clock.setdefault(process, []).append((_ints([row]), _ints([said])))
            if code in (SEND, DELIVER) and "digests" in record:
                self._digests[row] = record["digests"]
        if columns["kind"]:
            self._append({name: _ints(column) for name, column in columns.items()})

    def _key_code(self, record: Record) -> int:
        if "group" not in record:
            return -1
        return self._keys.setdefault((record["group"], record.get("instance", "")), len(self._keys))


def _pairs(parts: list[tuple[Ints, Ints]]) -> tuple[Ints, Ints]:
    """Return pairs of columns as one pair."""
    first, second = zip(*parts, strict=True)
    return np.concatenate(first), np.concatenate(second)


def is_known(kind: int) -> bool:
    """Tell whether rows of that kind are records whose type the audit reads."""
    return kind < OTHER or kind > BAD


def _ints(values: list[int]) -> Ints:
    return np.array(values, np.int64)


def _are_sound(
    kind: Ints, numbers: dict[str, Ints], present: dict[str, NDArray[np.bool_]], clocks: pa.ChunkedArray | None
) -> bool:
    """Tell whether every plain line is a record; if not, the slow way finds the bad ones and their reasons."""
    if kind.max(initial=0) > SKIP or kind.min(initial=0) < 0 or numbers["count"].max(initial=0) > RUN_MAX:
        return False
    sends, delivers, skips = kind == SEND, kind == DELIVER, kind == SKIP
    for name in _FROM_ONE:
        if ((numbers[name] < 1) & present[name]).any() or numbers[name].max(initial=0) > _NUMBER_MAX:
            return False
    if not (present["at"].all() and present["group"].all() and present["view"].all()):
        return False
    if not (present["number"] | skips).all():
        return False
    if not (present["sender"] & present["sent_view"])[delivers].all():
        return False
    # As problem_of() says of a skip: both of sender and number or neither, and then a serial.
    if (present["sender"] != present["number"])[skips].any() or not (present["sender"] | present["serial"])[
        skips
    ].all():
        return False
    if not sends.any():
        return True
    # A send needs a clock, so a stretch with sends and no column of clocks has a bad line.
    return clocks is not None and _are_clocks(clocks, sends)


def _are_clocks(clocks: pa.ChunkedArray, sends: NDArray[np.bool_]) -> bool:
    if not pa.types.is_struct(clocks.type) or clocks.type.num_fields > _CLOCK_PROCESSES_MAX:
        return False
    # Arrow takes the types of clock entries from the data: one text among the numbers would make
    # a column of texts.
    if not all(pa.types.is_int64(clocks.type.field(i).type) for i in range(clocks.type.num_fields)):
        return False
    if not valid(clocks)[sends].all():
        return False
    flat = clocks.flatten()
    return all((pc.min(each).as_py() or 0) >= 0 and (pc.max(each).as_py() or 0) <= _NUMBER_MAX for each in flat)
