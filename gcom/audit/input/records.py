"""Conversion of a segment's lines to columns.

Nearly all lines are `send`, `deliver` and `skip`; consecutive ones are parsed together by Arrow. All other lines, and
those that Arrow refuses, are parsed one by one. A line that is not a record of its type (DELIVERY_LOG.md, Records)
becomes a BAD row with the reason, so that the rows around it can still be judged.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json
from numpy.typing import NDArray

from gcom.audit.input.arrow import integers, valid
from gcom.audit.input.contract import (
    BAD,
    DELIVER,
    FROM_ONE,
    KINDS,
    NUMBER_MAX,
    OTHER,
    RUN_MAX,
    SEND,
    SKIP,
    Record,
    own_fields,
    problem_of,
)
from gcom.audit.input.rows import COLUMNS, NUMBERS, Ints, Rows

_TEXTS = ("type", "group", "instance", "sender")
_SCHEMA = pa.schema(
    [(name, pa.int64()) for name in NUMBERS]
    + [(name, pa.string()) for name in _TEXTS]
    + [("digests", pa.list_(pa.int64()))]
)
# Bytes parsed at a time: Arrow's table and the columns made of it are in memory beside the segment, of 64 MiB.
_CHUNK_BYTES = 8 << 20
# Each call of Arrow has a fixed cost: lines of a shorter block are parsed faster one by one. Measured on logs in which
# every few lines are a `confirm`: ten to thirty times as fast.
_ARROW_LINES_MIN = 160
_BLOCKS_MANY = 64  # blocks of a chunk; up to so many the fixed cost does not matter
# Lines up to so many bytes are not looked at for nested values. Of longer ones Arrow gets those that have so many lists
# and maps at most, and a line that is nested deeper than that is no record, however it is read.
_FLAT_BYTES, _NESTED_MAX = 512, 256
# Processes in the clocks of one block; with more it is parsed line by line. Arrow makes a column of each name that it
# ever sees, so a log of ever new processes would cost rows times processes.
_CLOCK_PROCESSES_MAX = 512


def parse(data: bytes, begin: int, end: int) -> Rows:
    """Return the lines of data[begin:end], each ended by a newline, as rows; a line that is no record is a BAD row."""
    builder = _RowBuilder()
    for first, last in _chunks(data, begin, end):
        _parse_chunk(builder, data, first, last)
    return builder.rows()


def parse_slowly(data: bytes, begin: int, end: int) -> Rows:
    """Return what `parse` returns, computed in a simpler way; for tests."""
    builder = _RowBuilder()
    builder.add_records(_loaded(data, begin, end))
    return builder.rows()


def _chunks(data: bytes, begin: int, end: int) -> Iterator[tuple[int, int]]:
    # It ends: a chunk has a line or more.
    while begin < end:
        # A line is never parted, however long: a chunk ends with the line in which it is full.
        stop = end if end - begin <= _CHUNK_BYTES else data.index(b"\n", begin + _CHUNK_BYTES - 1) + 1
        yield begin, stop
        begin = stop


def _parse_chunk(builder: _RowBuilder, data: bytes, begin: int, end: int) -> None:
    """Parse blocks of plain lines with Arrow, and the lines between them one by one."""
    # Byte 10 is the newline. The lines are never made Python objects here: 120 million of them are an audit of
    # 17 GB (decision 0004).
    whole = np.frombuffer(data, np.uint8, end - begin, begin)
    ends = np.flatnonzero(whole == 10) + 1
    starts = np.concatenate(([0], ends[:-1]))
    plain = _are_plain(whole, starts, ends)
    borders = np.flatnonzero(np.diff(plain)) + 1
    fragmented = len(borders) > _BLOCKS_MANY and len(borders) * _ARROW_LINES_MIN > len(plain)
    # Line by line, where calls of Arrow would cost more than they save: many short blocks of plain lines, or few plain
    # lines at all (another writer's style, with blanks or fields in another order).
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
    # Shorter lines cannot be records; without this the comparison below would read past their end. A record ends
    # with its line: Arrow would also read one that goes on in the next.
    long = (ends - starts > 20) & (whole[ends - 2] == ord("}"))
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
    # Arrow follows nested values to any depth, and at some depth the process crashes. In shorter lines none is so deep.
    for line in np.flatnonzero(found & (ends - starts > _FLAT_BYTES)).tolist():
        text = whole[starts[line] : ends[line]].tobytes()
        found[line] = text.count(b"[") + text.count(b"{") <= _NESTED_MAX
    return found


def _loaded(data: bytes, begin: int, end: int) -> Iterator[object]:
    for line in data[begin:end].split(b"\n")[:-1]:
        yield loaded(line)


def loaded(line: bytes) -> object:
    """Return the value of a line of JSON; None if it is no JSON, is nested too deep, has a name twice in one object, or
    has text that is no UTF-8.
    """
    try:
        value = _decode(line.decode())  # bytes are also read as UTF-16, and as halves of surrogate pairs
        # An escape may be half of a surrogate pair, which Python reads and no file can hold.
        if b"\\u" in line:
            json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return None
    may_be_deep = line.count(b"[") + line.count(b"{") > _NESTED_MAX
    return None if may_be_deep and _is_deep(value) else value


def _object(pairs: list[tuple[str, object]]) -> Record:
    found = dict(pairs)
    # Which of the two is meant nobody can say; Arrow refuses such a line as well.
    if len(found) < len(pairs):
        raise ValueError("a name twice in one object")
    return found


_decode = json.JSONDecoder(object_pairs_hook=_object).decode  # made once: `json.loads` would make one for each line


def _is_deep(value: object) -> bool:
    """Return whether lists and maps are nested more than `_NESTED_MAX` deep."""
    level = [value]
    for _ in range(_NESTED_MAX + 1):
        inner = [it.values() if isinstance(it, dict) else it for it in level if isinstance(it, dict | list)]
        if not inner:
            return False
        level = [*chain.from_iterable(inner)]
    return True


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
        # Arrow reads a null as an absent field, and ends at a byte of zero.
        if b"null" in data or b"\0" in data:
            return False
        try:
            if not data.isascii():
                data.decode()  # Arrow checks this only of fields that it is asked for
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
        # In a field that Arrow was not asked for, a number with a fraction may be `Inf`, which is no JSON.
        if any(_has_fraction(table.schema.field(at).type) for at in range(len(_SCHEMA), table.num_columns)):
            return False
        kind = self._codes(table["type"], dict(KINDS))
        numbers = {name: integers(table[name], 1 if name == "count" else -1) for name in NUMBERS}
        present = {name: valid(table[name]) for name in (*NUMBERS, *_TEXTS, "digests")}
        clocks = table["clock"] if "clock" in table.column_names else None
        # Arrow reads a missing field as null and does not complain. So the columns are checked for the fields that
        # each type needs; if one lacks a field, parsing line by line finds it.
        if not _are_sound(kind, numbers, present, clocks):
            return False
        if present["digests"].any() and not self._add_digests(table["digests"], kind, numbers["count"]):
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
                said = integers(entries, 0)[rows]
                self._clock.setdefault(clocks.type.field(index).name, []).append((rows + self._length, said))

    def _add_digests(self, column: pa.ChunkedArray, kind: Ints, count: Ints) -> bool:
        chosen = np.flatnonzero(valid(column) & (kind != SKIP))
        found = dict(zip(chosen.tolist(), column.take(chosen).to_pylist(), strict=True))
        # Arrow reads a null in a list; by the contract digests are numbers.
        if any(None in each for each in found.values()):
            return False
        # What has more of them than messages is no record; line by line it is found.
        if any(len(each) > n for each, n in zip(found.values(), count[chosen].tolist(), strict=True)):
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
            record = own_fields(record)
            columns["kind"].append(code)
            for name in NUMBERS:
                columns[name].append(record.get(name, 1 if name == "count" else -1))
            columns["key"].append(self._key_code(record))
            who = record.get("sender")
            columns["sender"].append(-1 if who is None else self._senders.setdefault(who, len(self._senders)))
            for process, said in record["clock"].items() if code == SEND else ():
                self._clock.setdefault(process, []).append((_ints([row]), _ints([said])))
            if "digests" in record:
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


def _ints(values: list[int]) -> Ints:
    return np.array(values, np.int64)


def _has_fraction(kind: pa.DataType) -> bool:
    """Tell whether values of that type may have a fraction in them."""
    return pa.types.is_floating(kind) or any(_has_fraction(kind.field(i).type) for i in range(kind.num_fields))


def _are_sound(
    kind: Ints, numbers: dict[str, Ints], present: dict[str, NDArray[np.bool_]], clocks: pa.ChunkedArray | None
) -> bool:
    """Tell whether every plain line is a record; if not, the slow way finds the bad ones and their reasons."""
    if kind.max(initial=0) > SKIP or kind.min(initial=0) < 0 or numbers["count"].max(initial=0) > RUN_MAX:
        return False
    sends, delivers, skips = kind == SEND, kind == DELIVER, kind == SKIP
    # Fields of a type that has none of these are ignored (DELIVERY_LOG.md), also where they hold nonsense.
    foreign = (present["sender"] | present["serial"]) & sends | (present["sent_view"] | present["held"]) & ~delivers
    if foreign.any():
        return False
    for name in FROM_ONE:
        if ((numbers[name] < 1) & present[name]).any() or numbers[name].max(initial=0) > NUMBER_MAX:
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
    # A send needs a clock, so a block with sends and no column of clocks has a bad line.
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
    return all((pc.min(each).as_py() or 0) >= 0 and (pc.max(each).as_py() or 0) <= NUMBER_MAX for each in flat)
