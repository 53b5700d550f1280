"""Conversion of Arrow's columns to NumPy's, by their buffers.

PyArrow's own `to_numpy` and `fill_null` import pandas, which takes half a second: longer than it takes to judge a small
log.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


def valid(column: pa.Array | pa.ChunkedArray) -> NDArray[np.bool_]:
    """Tell of each value whether it is there."""
    return _joined([_valid(each) for each in _chunks(column)], np.bool_)


def integers(column: pa.Array | pa.ChunkedArray, absent: int) -> NDArray[np.int64]:
    """Return a column of integers, with `absent` where there is none."""
    return np.where(valid(column), _joined([_values(each) for each in _chunks(column)], np.int64), absent)


def _chunks(column: pa.Array | pa.ChunkedArray) -> list[pa.Array]:
    return column.chunks if isinstance(column, pa.ChunkedArray) else [column]


def _joined(parts: list[NDArray[Any]], kind: type) -> NDArray[Any]:
    return np.concatenate(parts) if parts else np.zeros(0, kind)


def _valid(array: pa.Array) -> NDArray[np.bool_]:
    if not array.null_count:
        return np.ones(len(array), np.bool_)
    bits = array.buffers()[0]
    if bits is None:  # a column of type null
        return np.zeros(len(array), np.bool_)
    # Arrow's validity bitmap: one bit per value, lowest bit first. It is not cut where a slice of an array is
    # taken, so the slice's offset is applied after unpacking.
    unpacked = np.unpackbits(np.frombuffer(bits, np.uint8), bitorder="little")
    return unpacked[array.offset : array.offset + len(array)].astype(np.bool_)


def _values(array: pa.Array) -> NDArray[np.int64]:
    data = array.buffers()[1]
    if data is None:
        return np.zeros(len(array), np.int64)
    # A dictionary's indices have 32 bits, our columns 64: both are read here.
    values = np.frombuffer(data, np.dtype(f"i{array.type.bit_width // 8}"))
    return values[array.offset : array.offset + len(array)].astype(np.int64, copy=False)
