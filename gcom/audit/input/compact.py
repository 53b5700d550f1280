"""The command `gcom audit compact`: segments as Parquet, with the same meaning, in less space if they are large.

One file per segment. The columns are those of Rows; a record that is no send, deliver or skip stands unchanged in
`rare`. The opening, the close, and the damage of the segment are in the file's metadata, so that damage stays known.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from gcom.audit.input.arrow import integers
from gcom.audit.input.files import is_remote, local, read_file
from gcom.audit.input.rows import COLUMNS, Rows
from gcom.audit.input.segments import Closing, LogSegment, Opening

_META = b"gcom.segment"


def to_parquet(segment: LogSegment, target: Path) -> None:
    rows = segment.rows
    columns: dict[str, Any] = {name: getattr(rows, name) for name in COLUMNS}
    columns["clock"] = _clocks(rows)
    digests = [rows.digests.get(row) for row in range(len(rows))] if rows.digests else None
    columns["digests"] = pa.array(digests if digests is not None else [None] * len(rows), pa.list_(pa.int64()))
    # As JSON text: these records are one in thousands, and have whatever fields a later version may add.
    rare = {row: json.dumps(record) for row, record in rows.rare.items()}
    columns["rare"] = pa.array([rare.get(row) for row in range(len(rows))], pa.string())
    about = {
        "version": 1,
        "path": segment.path,
        "opening": asdict(segment.opening),
        "closing": None if segment.closing is None else asdict(segment.closing),
        "torn": segment.torn,
        "damage": segment.damage,
        "sealed": segment.sealed,
        # The key is that of files that were written before the field had a better name.
        "worn": segment.damaged_tail,
        "keys": rows.keys,
        "senders": rows.senders,
        "clocks": list(rows.clock),
    }
    table = pa.table(columns).replace_schema_metadata({_META: json.dumps(about).encode()})
    from pyarrow import parquet as pq

    pq.write_table(table, target, compression="zstd")


def _clocks(rows: Rows) -> Any:
    """Return the clock of each send as a map from the index in `clocks`; null for rows without a clock."""
    where = np.concatenate([np.zeros(0, np.int64), *(at for at, _ in rows.clock.values())])
    said = np.concatenate([np.zeros(0, np.int64), *(values for _, values in rows.clock.values())])
    who = np.concatenate(
        [np.zeros(0, np.int32), *(np.full(len(at), i, np.int32) for i, (at, _) in enumerate(rows.clock.values()))]
    )
    # `clock` has entries process by process, a map column wants them row by row. A stable sort keeps the processes of
    # a row in one order, so that equal segments give equal files.
    order = np.argsort(where, kind="stable")
    # How many entries each row has; Arrow's maps are one list of all entries, with the offsets at which rows begin.
    counts = np.bincount(where, minlength=len(rows)) if len(where) else np.zeros(len(rows), np.int64)
    offsets = np.concatenate(([0], np.cumsum(counts))).astype(np.int32)
    return pa.MapArray.from_arrays(pa.array(offsets), pa.array(who[order]), pa.array(said[order]))


def compact_opening(path: str) -> tuple[Opening | None, str]:
    """Return the opening of a compact segment, as `read_opening` has it."""
    about = _about(path)
    return (None, about) if isinstance(about, str) else (Opening(**about["opening"]), about["damage"])


def from_parquet(path: str) -> LogSegment | str:
    """Return the segment, or a sentence saying why the file is none of ours. Never raises for such a file."""
    about = _about(path)
    if isinstance(about, str):
        return f"{path}: {about}"
    from pyarrow import parquet as pq

    table = pq.read_table(_source(path))
    # -1 for null, as in lines: both readers must make the same rows of the same log.
    columns: dict[str, Any] = {name: integers(table[name], -1) for name in COLUMNS}
    rows = Rows(**columns, senders=about["senders"])
    rows.keys = [(group, instance) for group, instance in about["keys"]]
    rare = table["rare"]
    for row in np.flatnonzero(rare.is_valid().to_numpy()).tolist():
        rows.rare[row] = json.loads(rare[row].as_py())
    digests = table["digests"]
    for row in np.flatnonzero(digests.is_valid().to_numpy()).tolist():
        rows.digests[row] = digests[row].as_py()
    _read_clocks(rows, table["clock"], about["clocks"])
    closing = None if about["closing"] is None else Closing(**about["closing"])
    opening = Opening(**about["opening"])
    damaged_tail = about.get("worn", "")
    # A file of an older GCom does not say whether its segment was sealed. Taken as not sealed, it is not called cut for
    # want of a close.
    return LogSegment(
        path, opening, rows, closing, about["torn"], about["damage"], about.get("sealed", False), damaged_tail
    )


def _read_clocks(rows: Rows, column: pa.ChunkedArray, names: list[str]) -> None:
    done = 0
    found: dict[int, list[tuple[Any, Any]]] = {}
    for chunk in column.chunks:
        offsets = chunk.offsets.to_numpy()
        where = np.repeat(np.arange(len(chunk)), np.diff(offsets)) + done
        # A chunk may be a part of a larger array: its offsets begin where the part does.
        who = chunk.keys.to_numpy()[offsets[0] : offsets[-1]]
        said = chunk.items.to_numpy()[offsets[0] : offsets[-1]]
        for code in np.unique(who).tolist():
            found.setdefault(code, []).append((where[who == code], said[who == code]))
        done += len(chunk)
    for code, parts in sorted(found.items()):
        rows.clock[names[code]] = (np.concatenate([a for a, _ in parts]), np.concatenate([b for _, b in parts]))


def _about(path: str) -> Any:
    from pyarrow import parquet as pq

    try:
        # The schema alone: a catalogue asks this of each file, and reads no rows.
        metadata = pq.read_schema(_source(path)).metadata or {}
    except (pa.ArrowInvalid, OSError) as error:
        return f"no Parquet file: {error}"
    if _META not in metadata:
        return "a Parquet file that `gcom audit compact` did not write"
    return json.loads(metadata[_META])


def _source(path: str) -> Any:
    return pa.BufferReader(read_file(path)) if is_remote(path) else local(path)
