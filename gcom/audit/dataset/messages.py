"""Rows of a chain of segments as Arrow batches with a row per message: deliveries, sends, and views.

A segment that cannot be read, and a line that is no record, give no rows: the audit tells of them, and what they hide.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from gcom.audit.dataset.clocks import ClockReader
from gcom.audit.input.catalogue import Chain
from gcom.audit.input.contract import DELIVER, SEND, VIEW
from gcom.audit.input.reading import open_segment
from gcom.audit.input.rows import Ints, Rows, only_forward
from gcom.audit.input.segments import LogSegment

BATCH = 1 << 16  # messages of a batch at most; a record may stand for a million
_TEXT, _COUNT, _TIME = pa.string(), pa.int64(), pa.timestamp("us", "UTC")
_WHERE = [("group", _TEXT), ("instance", _TEXT), ("view", _COUNT), ("process", _TEXT), ("position", _COUNT)]
_MESSAGE = [("sender", _TEXT), ("number", _COUNT), ("serial", _COUNT), ("sent_view", _COUNT)]
_DEFINED = [("leader", _TEXT), ("ordering", _TEXT), ("multicast", _TEXT)]
DELIVERIES = pa.schema([*_WHERE, *_MESSAGE, ("delivered", _TIME), ("held_us", _COUNT)])
SENDS = pa.schema([*_WHERE, ("number", _COUNT), ("sent", _TIME), ("clock", pa.map_(_TEXT, _COUNT))])
VIEWS = pa.schema([*_WHERE, ("installed", _TIME), ("members", pa.list_(_TEXT)), *_DEFINED])
OfChain = Callable[[Chain], Iterator[pa.RecordBatch]]


def deliveries_of(chain: Chain) -> Iterator[pa.RecordBatch]:
    """Yield the deliveries of a chain."""
    for segment, rows in _segments(chain):
        for index, place in _messages(rows, DELIVER):
            serial = rows.serial[index]
            # Of a run only the first message's wait is known.
            held = np.where(place == 0, rows.held[index], -1)
            yield _batch(
                DELIVERIES,
                *_where(segment, rows, index, place),
                _named(rows.senders, rows.sender[index]),
                rows.number[index] + place,
                _known(serial + place, serial >= 0),
                _known(rows.sent_view[index], rows.sent_view[index] >= 0),
                _times(segment, rows.t[index]),
                _known(held, held >= 0),
            )


def sends_of(chain: Chain) -> Iterator[pa.RecordBatch]:
    """Yield the sends of a chain, each with its whole clock."""
    for segment, rows in _segments(chain):
        clocks = ClockReader(rows)
        for index, place in _messages(rows, SEND):
            yield _batch(
                SENDS,
                *_where(segment, rows, index, place),
                rows.number[index] + place,
                _times(segment, rows.t[index]),
                clocks.read(index),
            )


def views_of(chain: Chain) -> Iterator[pa.RecordBatch]:
    """Yield the views that a chain installs."""
    for segment, rows in _segments(chain):
        index = np.flatnonzero(rows.kind == VIEW)
        if len(index):
            said = [rows.rare[row] for row in index.tolist()]
            words = [[each[name] for each in said] for name in ("members", "leader", "ordering", "multicast")]
            where = _where(segment, rows, index, np.zeros(len(index), np.int64))
            yield _batch(VIEWS, *where, _times(segment, rows.t[index]), *words)


def _segments(chain: Chain) -> Iterator[tuple[LogSegment, Rows]]:
    """Yield each segment that can be read with its rows; of two records that claim one position the first counts."""
    expected = 1
    for path, size in chain.segments:
        segment = open_segment(path, size)
        if isinstance(segment, str) or segment.damage or segment.opening.at < expected:
            continue
        rows = only_forward(segment.rows, segment.opening.at)
        expected = int((rows.at + rows.count).max()) if len(rows) else segment.opening.at
        yield segment, rows


def _messages(rows: Rows, kind: int) -> Iterator[tuple[Ints, Ints]]:
    """Yield the messages of one kind, as the row of each and its place in the row's run."""
    chosen = np.flatnonzero(rows.kind == kind)
    counts = rows.count[chosen]
    ends = np.cumsum(counts)
    for first in range(0, int(ends[-1]) if len(ends) else 0, BATCH):
        messages = np.arange(first, min(first + BATCH, int(ends[-1])))
        run = np.searchsorted(ends, messages, side="right")
        yield chosen[run], messages - (ends[run] - counts[run])


def _where(segment: LogSegment, rows: Rows, index: Ints, place: Ints) -> list[Any]:
    keys = rows.key[index]
    return [
        _named([group for group, _ in rows.keys], keys),
        _named([instance for _, instance in rows.keys], keys),
        rows.view[index],
        pa.repeat(segment.opening.process, len(index)),
        rows.at[index] + place,
    ]


def _named(names: list[str], codes: Ints) -> pa.Array:
    # Arrow takes each name once, and not once per message.
    plain = [name.encode("utf-8", "replace").decode() for name in names]
    return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), pa.array(plain, _TEXT)).cast(_TEXT)


def _known(values: Ints, known: NDArray[np.bool_]) -> pa.Array:
    return pa.array(values, mask=~known)


def _times(segment: LogSegment, t: Ints) -> pa.Array:
    """Return wall times by the process's own clock; null where a record, or its segment, does not tell."""
    begin = segment.opening.wall_ns
    known = (t >= 0) & (type(begin) is int and begin > 0)
    return pa.array(np.where(known, t + (begin // 1000 if known.any() else 0), 0), _COUNT, mask=~known).cast(_TIME)


def _batch(schema: pa.Schema, *columns: Any) -> pa.RecordBatch:
    arrays = [
        column if isinstance(column, pa.Array) else pa.array(column, field.type)
        for column, field in zip(columns, schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
