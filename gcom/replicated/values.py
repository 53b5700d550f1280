"""Values as bytes: arguments, answers and states travel by msgpack, and come back equal, of the same types.

Beside msgpack's own: integers of any size, tuples, sets, deques, dicts of `collections`, dates and times, Decimal,
UUID, enums, and dataclasses. A class comes back only if the machine's own module knows it: nothing is imported, and no
method of it is called. Sets are packed in one order, so equal states have equal bytes.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from datetime import date, datetime, time, timedelta, timezone, tzinfo
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import msgpack

from gcom.errors import BadValue, MalformedFrame

Shape = tuple[int, Callable[[Any], Any], Callable[[Any], Any]]  # a number, to what msgpack knows, and back

_PLAIN = frozenset([type(None), bool, int, float, str, bytes])
_FACTORIES: dict[str, type] = {it.__name__: it for it in (int, float, str, bool, list, dict, set, deque)}
_DATACLASS, _ENUM, _ERROR, _SET, _FROZENSET = 1, 2, 3, 4, 5


def _zone(zone: tzinfo | None) -> str | float | None:
    if zone is None:
        return None
    if isinstance(zone, ZoneInfo) and zone.key:
        return zone.key
    if type(zone) is timezone:
        return zone.utcoffset(None).total_seconds()
    raise BadValue(f"a time zone must be datetime.timezone or zoneinfo.ZoneInfo; got {zone!r}")


def _zone_of(zone: str | float | None) -> tzinfo | None:
    if zone is None:
        return None
    return ZoneInfo(zone) if isinstance(zone, str) else timezone(timedelta(seconds=zone))


def _moment(value: datetime | time) -> list[Any]:
    return [value.replace(tzinfo=None, fold=0).isoformat(), value.fold, _zone(value.tzinfo)]


def _factory(value: defaultdict[Any, Any]) -> list[Any]:
    factory = value.default_factory
    name = getattr(factory, "__name__", "")
    if factory is not None and _FACTORIES.get(name) is not factory:
        raise BadValue(f"a defaultdict must have one of {', '.join(_FACTORIES)} as its factory; got {factory!r}")
    return [name if factory else None, dict(value)]


_SHAPES: dict[type, Shape] = {
    tuple: (6, list, tuple),
    int: (7, str, int),  # only those of more than 64 bits come here
    datetime: (8, _moment, lambda it: datetime.fromisoformat(it[0]).replace(fold=it[1], tzinfo=_zone_of(it[2]))),
    date: (9, date.isoformat, date.fromisoformat),
    time: (10, _moment, lambda it: time.fromisoformat(it[0]).replace(fold=it[1], tzinfo=_zone_of(it[2]))),
    timedelta: (11, lambda it: [it.days, it.seconds, it.microseconds], lambda it: timedelta(*it)),
    Decimal: (12, str, Decimal),
    UUID: (13, lambda it: it.bytes, lambda it: UUID(bytes=it)),
    deque: (14, lambda it: [list(it), it.maxlen], lambda it: deque(*it)),
    Counter: (15, dict, Counter),
    OrderedDict: (16, dict, OrderedDict),
    defaultdict: (17, _factory, lambda it: defaultdict(_FACTORIES[it[0]] if it[0] else None, it[1])),
}
_BACK: dict[int, Callable[[Any], Any]] = {code: back for code, _, back in _SHAPES.values()}


class ValueCodec:
    """Packs and unpacks values; `classes` are the dataclasses, enums and errors that may be among them."""

    def __init__(self, classes: Iterable[type] = ()) -> None:
        self._classes: Mapping[str, type] = {it.__qualname__: it for it in classes}

    def pack(self, value: object) -> bytes:
        """Return a value's bytes; raises BadValue for one that cannot travel."""
        try:
            packed: bytes = msgpack.packb(value, default=self._shape, strict_types=True)
        except (TypeError, ValueError, OverflowError, RecursionError) as error:
            raise error if isinstance(error, BadValue) else BadValue(f"a value cannot travel: {error}") from error
        return packed

    def unpack(self, data: bytes) -> Any:
        """Return the value of such bytes; raises MalformedFrame for others."""
        try:
            return msgpack.unpackb(data, ext_hook=self._value, strict_map_key=False)
        except (ValueError, TypeError, KeyError, AttributeError, ArithmeticError, RecursionError) as error:
            raise MalformedFrame(f"bytes that are no value: {error}") from error

    def copy(self, value: Any) -> Any:
        """Return a value that shares nothing with this one."""
        return value if type(value) in _PLAIN else self.unpack(self.pack(value))

    def _shape(self, value: Any) -> msgpack.ExtType:
        kind = type(value)
        if kind in _SHAPES:
            code, shape, _ = _SHAPES[kind]
            return msgpack.ExtType(code, self.pack(shape(value)))
        if kind in (set, frozenset):
            members = b"".join(sorted(map(self.pack, value)))
            return msgpack.ExtType(_SET if kind is set else _FROZENSET, members)
        if self._classes.get(kind.__qualname__) is not kind:
            raise BadValue(f"a value of type {kind.__qualname__} cannot travel{self._advice(kind)}")
        if isinstance(value, Enum):
            return msgpack.ExtType(_ENUM, self.pack([kind.__qualname__, value.name]))
        if isinstance(value, Exception):
            return msgpack.ExtType(_ERROR, self.pack([kind.__qualname__, *value.args]))
        found = [getattr(value, it.name) for it in fields(value)]
        return msgpack.ExtType(_DATACLASS, self.pack([kind.__qualname__, *found]))

    def _advice(self, kind: type) -> str:
        if is_dataclass(kind) or issubclass(kind, Enum):
            return ": define or import that class at the top of the machine's own module"
        return ": use numbers, text, bytes, lists, tuples, dicts, sets, times, enums or dataclasses"

    def _value(self, code: int, data: bytes) -> Any:
        if code in (_SET, _FROZENSET):
            unpacker = msgpack.Unpacker(ext_hook=self._value, strict_map_key=False, max_buffer_size=len(data) or 1)
            unpacker.feed(data)
            return set(unpacker) if code == _SET else frozenset(unpacker)
        value = self.unpack(data)
        if code in _BACK:
            return _BACK[code](value)
        name, *values = value
        kind = self._classes[name]
        if code == _ENUM and issubclass(kind, Enum):
            return kind[values[0]]
        if code == _ERROR and issubclass(kind, Exception):
            return kind(*values)
        if code != _DATACLASS or not is_dataclass(kind):
            raise ValueError(f"{name} is of another kind")
        # Without its `__init__`: a value that travelled is as it was, and runs no code of its class.
        made = object.__new__(kind)
        for it, found in zip(fields(kind), values, strict=True):
            object.__setattr__(made, it.name, found)
        return made
