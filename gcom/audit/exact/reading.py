"""A process's log as rows of one table, with marks where something is missing and where a segment begins.

Segments are listed, checked and parsed as for the quick plan (segments.py, records.py): what is torn, damaged or no
record must not be two opinions. All judging is done elsewhere, in Spark's own expressions.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame

from gcom.audit.input.catalogue import Catalogue
from gcom.audit.input.reading import open_segment
from gcom.audit.input.records import BAD, DELIVER, KINDS, LOST, OTHER, SEND, SKIP, Ints, Record, Rows, only_forward
from gcom.audit.input.segments import LogSegment, are_states

_BATCH = 1 << 16
_TASK_BYTES = 32 << 20  # of logs that one task reads, at least

_COUNTS = "map<string,long>"
_STATE = (
    "struct<group:string,instance:string,view:long,number:long,serial:long,"
    f"delivered:{_COUNTS},beyond:map<string,array<array<long>>>,clock:{_COUNTS}>"
)
# `seq` is the place in the process's whole history, marks included; a run takes up one place a message. `kind` is a
# record's type, or "gap", "opened", or "log": the row that tells of the log itself. `file` is the place in the
# catalogue's list of the process's segments. `states` is what the opening says, null if it says nothing; of a gap,
# what the opening that follows it at once says.
ROWS = (
    "process string, kind string, group string, instance string, seq long, at long, count long, file int, line long,"
    "view long, sent_view long, sender string, number long, serial long,"
    f"clock {_COUNTS}, digests array<long>,"
    "members array<string>, leader string, ordering string, multicast string, safe boolean, netsplit string,"
    f"base {_COUNTS}, base_serial long, settled long, states array<{_STATE}>, coverage string, summary string"
)
_MAP = pa.map_(pa.string(), pa.int64())
_STATES = pa.list_(
    pa.struct(
        [("group", pa.string()), ("instance", pa.string())]
        + [(name, pa.int64()) for name in ("view", "number", "serial")]
        + [("delivered", _MAP), ("beyond", pa.map_(pa.string(), pa.list_(pa.list_(pa.int64())))), ("clock", _MAP)]
    )
)
_TEXTS, _LONGS = pa.list_(pa.string()), pa.list_(pa.int64())
_SCHEMA = pa.schema(
    [(name, pa.string()) for name in ("process", "kind", "group", "instance")]
    + [("seq", pa.int64()), ("at", pa.int64()), ("count", pa.int64()), ("file", pa.int32()), ("line", pa.int64())]
    + [("view", pa.int64()), ("sent_view", pa.int64()), ("sender", pa.string()), ("number", pa.int64())]
    + [("serial", pa.int64()), ("clock", _MAP), ("digests", _LONGS), ("members", _TEXTS), ("leader", pa.string())]
    + [("ordering", pa.string()), ("multicast", pa.string()), ("safe", pa.bool_()), ("netsplit", pa.string())]
    + [("base", _MAP), ("base_serial", pa.int64()), ("settled", pa.int64()), ("states", _STATES)]
    + [("coverage", pa.string()), ("summary", pa.string())]
)
_KEPT = {
    "view": ("at", "view", "leader", "members", "ordering", "multicast"),
    "leave": ("at", "view", "settled"),
    "elect": ("at", "view", "leader"),
}
_NAMES = {code: name for name, code in KINDS.items()}
_BEFORE = 4  # one more than the marks that may stand before a row


def read(spark: Any, catalogue: Catalogue) -> DataFrame:
    """All logs as ROWS; tasks take whole processes."""
    processes = sorted(catalogue.paths)
    paths = [catalogue.paths[process] for process in processes]
    size = sum(catalogue.sizes[path] for each in paths for path in each)
    tasks = max(1, min(len(processes), max(8, size // _TASK_BYTES)))

    def rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for index in batch.column(0).to_pylist():
                yield from _Log(processes[index]).batches(paths[index])

    frame: DataFrame = spark.range(0, len(processes), 1, tasks).mapInArrow(rows, ROWS)
    return frame


@dataclass(slots=True)
class _Log:
    """Goes through a process's segments in order."""

    process: str
    seq: int = 0
    expected: int = 1
    gaps: int = 0
    exited: bool = False
    torn: bool = False
    notes: list[str] = field(default_factory=list)
    unknown_types: Counter[str] = field(default_factory=Counter)
    marks: list[Record] = field(default_factory=list)
    pending: list[Record] = field(default_factory=list)  # gaps with nothing behind them yet

    def batches(self, paths: list[str]) -> Iterator[pa.RecordBatch]:
        previous = -1
        if not paths:  # all claimed by two writers: none is believed
            self._gap(self._mark())
        for index, path in enumerate(paths):
            segment = open_segment(path)
            if isinstance(segment, str):  # it has changed since it was listed
                continue
            yield from self._segment(segment, index, previous)
            previous = segment.opening.segment
            self.torn = segment.torn
            self.exited = segment.closing is not None and segment.closing.exited
            if segment.cut or (index == len(paths) - 1 and segment.closing is not None and not self.exited):
                self._gap(self._mark())
        self._pass_gaps(None)
        yield self._batch(self.marks)
        yield self._batch([self._summary(whole=bool(paths))])

    def _summary(self, *, whole: bool) -> Record:
        coverage = "torn" if self.torn else "closed" if self.exited else "open"
        coverage = coverage if whole and not self.gaps else "lost"
        told = {"notes": self.notes, "unknown_types": self.unknown_types, "positions": self.expected - 1}
        return {"kind": "log", "coverage": coverage, "summary": json.dumps(told)}

    def _batch(self, records: list[Record]) -> pa.RecordBatch:
        return pa.RecordBatch.from_pylist([{"process": self.process, **each} for each in records], _SCHEMA)

    def _segment(self, segment: LogSegment, index: int, previous: int) -> Iterator[pa.RecordBatch]:
        opening, closing, path = segment.opening, segment.closing, segment.path
        if segment.damage:
            self.notes.append(f"{path}: {segment.damage}; nothing in it is read")
            self._gap(self._mark())
            return
        if opening.at < self.expected:
            what = f"is at position {opening.at} instead of {self.expected}: two processes claim one incarnation"
            self.notes.append(f"{path}:1: {self.process} {what}; nothing in it is read")
            self._gap(self._mark())
            return
        if opening.segment > previous + 1:
            self.notes.append(f"{path}: segment {previous + 1} of {self.process} is missing before it")
            self._gap(self._mark())
        self.notes += [segment.cut] if segment.cut else []
        self._check_position(opening.at, self._mark(), path, 1)
        self.expected = opening.at
        self._open(opening.state, self._mark(), index)
        yield from self._rows(only_forward(segment.rows, opening.at), index, path)
        if closing is not None:
            self._check_position(closing.at, self._mark(), path, len(segment.rows) + 2)
            self.expected = max(self.expected, closing.at)
        yield self._batch(self.marks)
        self.marks.clear()

    def _mark(self) -> int:
        self.seq += 1
        return self.seq

    def _gap(self, seq: int) -> None:
        """What is missing in one place is one gap, however many signs of it there are."""
        self.gaps += 1
        if not self.pending:
            self.pending.append({"kind": "gap", "seq": seq, "at": self.expected})

    def _check_position(self, at: int, seq: int, path: str, line: int) -> None:
        if at != self.expected:
            what = "positions are missing before it" if at > self.expected else "two processes claim one incarnation"
            self.notes.append(f"{path}:{line}: {self.process} is at position {at} instead of {self.expected}: {what}")
            self._gap(seq)

    def _open(self, state: Record | None, seq: int, index: int) -> None:
        states = None if state is None else [_stated(group, each) for group, each in state.items()]
        self._pass_gaps(states)
        more = {"at": self.expected, "file": index, "line": 1, "states": states}
        self.marks.append({"kind": "opened", "seq": seq, **more})

    def _pass_gaps(self, states: list[Record] | None) -> None:
        """Something follows the gaps: an opening that tells `states`, or anything else (None)."""
        self.marks += [{**each, "states": states} for each in self.pending]
        self.pending.clear()

    def _rows(self, rows: Rows, index: int, path: str) -> Iterator[pa.RecordBatch]:
        if not len(rows):
            return
        plain = rows.kind <= SKIP
        places = np.where(plain, rows.count, 1) + _BEFORE
        seq = self.seq + np.cumsum(places) - places + _BEFORE
        self.seq += int(places.sum())
        self._mark_rows(rows, seq, index, path)
        for row, record in rows.rare.items():
            if rows.kind[row] == OTHER:
                self.unknown_types[record["type"]] += 1
            elif rows.kind[row] not in (BAD, LOST):
                self.marks.append(_control(rows, row, record, int(seq[row]), index))
        yield from self._plain(rows, np.flatnonzero(plain), seq, index)

    def _mark_rows(self, rows: Rows, seq: Ints, index: int, path: str) -> None:
        """Marks for what is missing between rows, or is no record."""
        records = np.flatnonzero(rows.kind != BAD)
        ends = (rows.at + rows.count)[records]
        jumps = records[rows.at[records] != np.concatenate(([self.expected], ends[:-1]))]
        odd = np.flatnonzero((rows.kind == BAD) | (rows.kind == LOST))
        done = -1
        for row in sorted({*jumps.tolist(), *odd.tolist()}):
            if row > done + 1:
                self._pass_gaps(None)
            before = np.searchsorted(records, row)
            self.expected = int(ends[before - 1]) if before else self.expected
            self._mark_row(rows, row, int(seq[row]), index, path)
            done = row
        if done < len(rows) - 1:
            self._pass_gaps(None)
        self.expected = int(ends[-1]) if len(ends) else self.expected

    def _mark_row(self, rows: Rows, row: int, seq: int, index: int, path: str) -> None:
        if rows.kind[row] == BAD:
            self.notes.append(f"{path}:{row + 2}: no record: {rows.rare[row]['reason']}")
            self._gap(seq - 2)
            return
        self._check_position(int(rows.at[row]), seq - 3, path, row + 2)
        self.expected = int(rows.at[row])
        if rows.kind[row] == LOST:
            self._gap(seq - 2)
            state = rows.rare[row].get("state")
            self._open(state if are_states(state) else None, seq - 1, index)
        else:
            self._pass_gaps(None)

    def _plain(self, rows: Rows, chosen: Ints, seq: Ints, index: int) -> Iterator[pa.RecordBatch]:
        clocks = _Clocks(rows)
        for begin in range(0, len(chosen), _BATCH):
            mine = chosen[begin : begin + _BATCH]
            columns = {
                "process": pa.array([self.process] * len(mine)),
                "kind": _taken([_NAMES[kind] for kind in (SEND, DELIVER, SKIP)], rows.kind[mine]),
                "group": _taken([group for group, _ in rows.keys], rows.key[mine]),
                "instance": _taken([instance for _, instance in rows.keys], rows.key[mine]),
                "seq": pa.array(seq[mine]),
                "file": pa.array(np.full(len(mine), index, np.int32)),
                "line": pa.array(mine + 2),
                "sender": _taken(rows.senders, rows.sender[mine]),
                "clock": clocks.of(mine),
            }
            for name in ("at", "count", "view", "sent_view", "number", "serial"):
                numbers = getattr(rows, name)[mine]
                columns[name] = pa.array(numbers, mask=numbers < 0)
            if rows.digests:
                columns["digests"] = pa.array([rows.digests.get(row) for row in mine.tolist()], _LONGS)
            arrays = [columns.get(field.name, pa.nulls(len(mine), field.type)) for field in _SCHEMA]
            yield pa.RecordBatch.from_arrays(arrays, schema=_SCHEMA)


class _Clocks:
    """A segment's clocks as one map a row."""

    def __init__(self, rows: Rows) -> None:
        self._names = list(rows.clock)
        sizes = [len(where) for where, _ in rows.clock.values()]
        where = np.concatenate([np.zeros(0, np.int64), *(each for each, _ in rows.clock.values())])
        said = np.concatenate([np.zeros(0, np.int64), *(each for _, each in rows.clock.values())])
        order = np.argsort(where, kind="stable")
        self._row, self._said = where[order], said[order]
        self._name = np.repeat(np.arange(len(sizes)), sizes)[order]

    def of(self, rows: Ints) -> pa.Array:
        begins, ends = (np.searchsorted(self._row, rows, side) for side in ("left", "right"))
        sizes = ends - begins
        offsets = np.concatenate(([0], np.cumsum(sizes)))
        chosen = np.repeat(begins - offsets[:-1], sizes) + np.arange(offsets[-1])
        names = _taken(self._names, self._name[chosen])
        return pa.MapArray.from_arrays(pa.array(offsets, pa.int32()), names, pa.array(self._said[chosen], pa.int64()))


def _taken(texts: list[str], codes: Ints) -> pa.Array:
    return pa.array(texts, pa.string()).take(pa.array(codes, mask=codes < 0))


def _stated(group: str, state: Record) -> Record:
    maps = {name: list(state[name].items()) for name in ("delivered", "clock")}
    numbers = {name: state.get(name, 0) for name in ("view", "number", "serial")}
    beyond = list(state.get("beyond", {}).items())
    return {"group": group, "instance": state.get("instance", ""), **numbers, **maps, "beyond": beyond}


def _control(rows: Rows, row: int, record: Record, seq: int, index: int) -> Record:
    kept = {name: record[name] for name in _KEPT.get(record["type"], ("at", "view")) if name in record}
    if record["type"] == "view":
        kept |= {"safe": record.get("safe", False), "netsplit": record.get("netsplit", "PRIMARY")}
        kept |= {"base": list(record.get("base", {}).items()), "base_serial": record.get("base_serial", 0)}
    group, instance = rows.keys[rows.key[row]]
    where = {"group": group, "instance": instance, "seq": seq, "file": index, "line": row + 2}
    return {"kind": _NAMES[int(rows.kind[row])], **where, **kept}
