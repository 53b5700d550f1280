"""Serialization between the stages of the job, and for `--incremental`: msgpack, with our own classes by name.

Only the classes named here are ever built from bytes, whatever the bytes say.
"""

from __future__ import annotations

import zlib
from dataclasses import fields, is_dataclass
from enum import IntEnum
from typing import Any

import msgpack
import numpy as np

from gcom.audit.applications.judging import ApplicationJudgement
from gcom.audit.rules.judgement import Judgement
from gcom.audit.scan.chain import ChainSummary
from gcom.audit.summary.applications import ApplicationSummary
from gcom.audit.summary.excerpts import MessageRequest
from gcom.audit.summary.history import History
from gcom.audit.summary.intervals import Intervals
from gcom.audit.summary.lineage import SessionSummary
from gcom.audit.summary.position import Reached
from gcom.audit.summary.process import ProcessSummary, SectionSummary
from gcom.audit.summary.tally import Tally
from gcom.audit.summary.timeline import Counts, Spread, Timeline

# msgpack and not pickle: what --incremental keeps is read from a folder, and pickle would run what stands there.
_CLASSES: dict[str, Any] = {
    each.__name__: each
    for each in (
        ApplicationSummary,
        ApplicationJudgement,
        ProcessSummary,
        SectionSummary,
        Tally,
        Judgement,
        MessageRequest,
        ChainSummary,
        Counts,
        Spread,
        Timeline,
        History,
        Reached,
        SessionSummary,
    )
}


class _Code(IntEnum):
    """Codes of the types that msgpack lacks."""

    TUPLE = 0
    INTERVALS = 1
    OBJECT = 2
    PAIRS = 3  # a dict whose keys are not all texts
    ARRAY = 4  # of integers
    SET = 5


def pack(thing: object) -> bytes:
    """Return `thing` as bytes. Raises TypeError if it is neither plain nor of a class named here."""
    # Strict: a subclass, as a NumPy integer, would come back as something else, and fails here instead.
    packed: bytes = msgpack.packb(_plain(thing), strict_types=True)
    return packed


def unpack(data: bytes) -> Any:
    """Return the value that `pack` was given. Raises ValueError on other bytes."""
    try:
        return msgpack.unpackb(data, ext_hook=_built, strict_map_key=True)
    # A damaged file of the cache may be valid msgpack of anything, so any way to fail means the same.
    except (KeyError, TypeError, ValueError, zlib.error, msgpack.UnpackException) as error:
        raise ValueError(f"not what the audit wrote: {error}") from error


def _plain(thing: object) -> object:
    match thing:
        case tuple():
            return _ext(_Code.TUPLE, [_plain(each) for each in thing])
        case Intervals():
            return _ext(_Code.INTERVALS, [number for pair in thing for number in pair])
        case np.ndarray():
            # Columns go up by little, so their differences are small and compress well.
            return _ext(_Code.ARRAY, zlib.compress(np.diff(thing, prepend=0).tobytes(), 1))
        # Sorted: a set's order depends on the interpreter's hash seed, and equal things must be equal bytes.
        case frozenset():
            return _ext(_Code.SET, [_plain(each) for each in sorted(thing)])
        case list():
            return [_plain(each) for each in thing]
        case dict() if all(type(key) is str for key in thing):
            return {key: _plain(value) for key, value in thing.items()}
        case dict():
            return _ext(_Code.PAIRS, [[_plain(key), _plain(value)] for key, value in thing.items()])
        case _ if is_dataclass(thing):
            name = type(thing).__name__
            # By position, which costs no field names per object; _VERSION of the cache tells apart
            # what another GCom wrote.
            return _ext(_Code.OBJECT, [name, [_plain(getattr(thing, field.name)) for field in fields(thing)]])
        case _:
            return thing


def _ext(code: _Code, content: object) -> msgpack.ExtType:
    return msgpack.ExtType(int(code), msgpack.packb(content, strict_types=True))


def _built(code: int, data: bytes) -> Any:
    # From the inside out: what an object has in it is built before it is.
    content = msgpack.unpackb(data, ext_hook=_built, strict_map_key=True)
    match code:
        case _Code.TUPLE:
            return tuple(content)
        case _Code.INTERVALS:
            return Intervals(zip(content[::2], content[1::2], strict=True))
        case _Code.OBJECT:
            return _CLASSES[content[0]](*content[1])
        case _Code.PAIRS:
            return dict(content)
        case _Code.SET:
            return frozenset(content)
        case _Code.ARRAY:
            return np.cumsum(np.frombuffer(zlib.decompress(content), np.int64))
        case _:
            raise ValueError(f"type {code}")
