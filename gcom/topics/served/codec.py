"""Values as they travel between a client and a server: msgpack, with a type of its own for each noun of topics.

Whatever arrives is checked against the types that the receiving function has: a value of another type is refused
before anything is done with it.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from operator import attrgetter
from typing import Any, Union, get_args, get_origin, get_type_hints

import msgpack

from gcom.errors import MalformedFrame
from gcom.topics.storage.appends import ProducerClaim, Target
from gcom.topics.storage.subscriptions import HandedOut, Sub, SubscriptionInfo, Terms
from gcom.topics.storage.topics import ProducerInfo, TopicInfo
from gcom.topics.storage.transaction import StoreCall
from gcom.topics.values import Entry, Keep, TopicMessage, TopicReceipt

# By number: a new one goes to the end.
_KINDS = (
    Entry,
    Target,
    ProducerClaim,
    Sub,
    Terms,
    HandedOut,
    TopicMessage,
    TopicReceipt,
    TopicInfo,
    ProducerInfo,
    SubscriptionInfo,
    Keep,
)
_NUMBERS: dict[type[Any], int] = {kind: number for number, kind in enumerate(_KINDS)}

_ROWS = 64  # added to the number of a kind: a list of such nouns

Check = Callable[[Any], Any]


class Unfit(Exception):
    """A value of another type than was expected."""


class NounRows:
    """A list of nouns of one kind, which is packed as one: that takes a third of the time."""

    __slots__ = ("kind", "nouns")

    def __init__(self, kind: Any, nouns: Sequence[Any]) -> None:
        self.kind, self.nouns = kind, nouns


def in_rows(value: object) -> object:
    """Return a list of nouns of one kind as rows; any other value as it is."""
    if not isinstance(value, list) or not value or type(value[0]) not in _NUMBERS:
        return value
    kind = type(value[0])
    return NounRows(kind, value) if all(type(it) is kind for it in value) else value


def pack(value: object) -> bytes:
    """Return a value as it travels."""
    packed: bytes = msgpack.packb(value, default=_packed, strict_types=True, use_bin_type=True)
    return packed


def unpack(data: bytes) -> Any:
    """Return the value in bytes; raise MalformedFrame. Its nouns have the right types, and lists are lists."""
    try:
        return msgpack.unpackb(data, ext_hook=_unpacked, strict_map_key=False)
    except MalformedFrame:
        raise
    except (ValueError, TypeError, msgpack.UnpackException, RecursionError) as error:
        raise MalformedFrame(f"not a value of topics: {error}") from error


def _packed(value: object) -> object:
    kind: Any = type(value)
    number = _NUMBERS.get(kind)
    if number is not None:
        return msgpack.ExtType(number, pack(list(_values_of(kind)(value))))
    if isinstance(value, NounRows):
        values = _values_of(value.kind)
        return msgpack.ExtType(_ROWS + _NUMBERS[value.kind], pack([list(values(it)) for it in value.nouns]))
    if isinstance(value, tuple):
        return list(value)
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"a {kind.__name__} cannot travel")


def _unpacked(number: int, data: bytes) -> object:
    place = number - _ROWS if number >= _ROWS else number
    if not 0 <= place < len(_KINDS):
        raise MalformedFrame(f"no noun of topics has the number {number}")
    kind: Any = _KINDS[place]
    values = unpack(data)
    if number < _ROWS:
        return _noun(kind, _form(kind), values)
    if not isinstance(values, list):
        raise MalformedFrame(f"rows of {kind.__name__} are a list")
    form = _form(kind)
    return [_noun(kind, form, row) for row in values]


def _noun(kind: Any, form: Sequence[Check], values: object) -> object:
    if not isinstance(values, list) or len(values) != len(form):
        raise MalformedFrame(f"a {kind.__name__} has {len(form)} values")
    try:
        return kind(*[check(value) for check, value in zip(form, values, strict=True)])
    except Unfit as error:
        raise MalformedFrame(f"a {kind.__name__} with a wrong value: {error}") from error


@cache
def _names(kind: Any) -> list[str]:
    return [field.name for field in fields(kind)] if is_dataclass(kind) else list(kind._fields)


@cache
def _values_of(kind: Any) -> Callable[[object], tuple[object, ...]]:
    """Return a function that returns the values of a noun, of which there are several."""
    return attrgetter(*_names(kind))


@cache
def _form(kind: Any) -> tuple[Check, ...]:
    """Return the checks of a noun's values."""
    hints = get_type_hints(kind)
    return tuple(check_of(hints[name]) for name in _names(kind))


@cache
def check_of(hint: Any) -> Check:
    """Return a function that returns a value which fits a type, and raises Unfit for any other."""
    origin, inner = get_origin(hint), get_args(hint)
    if hint is Any or hint is object:
        return lambda value: value
    if hint is None or hint is type(None):
        return lambda value: value if value is None else _unfit(value, hint)
    if origin in (Union, types.UnionType):
        if all(isinstance(one, type) and get_origin(one) is None for one in inner):
            return lambda value: value if type(value) in inner else _unfit(value, hint)
        return _union([check_of(one) for one in inner])
    if origin is tuple:
        return _fixed([check_of(one) for one in inner])
    if origin in (list, Sequence):
        return _several(check_of(inner[0]))
    if origin in (dict, Mapping):
        return _table(check_of(inner[0]), check_of(inner[1]))
    return lambda value: value if type(value) is hint else _unfit(value, hint)


def _unfit(value: object, hint: object) -> Any:
    raise Unfit(f"expected {getattr(hint, '__name__', hint)}, got {type(value).__name__}")


def _union(checks: Sequence[Check]) -> Check:
    def check(value: Any) -> Any:
        for one in checks:
            try:
                return one(value)
            except Unfit:
                continue
        return _unfit(value, "another type")

    return check


def _fixed(checks: Sequence[Check]) -> Check:
    def check(value: Any) -> Any:
        if not isinstance(value, list | tuple) or len(value) != len(checks):
            return _unfit(value, f"{len(checks)} values")
        return tuple(one(it) for one, it in zip(checks, value, strict=True))

    return check


def _several(one: Check) -> Check:
    return lambda value: [one(it) for it in value] if isinstance(value, list | tuple) else _unfit(value, "a list")


def _table(key: Check, value: Check) -> Check:
    return lambda it: {key(name): value(one) for name, one in it.items()} if isinstance(it, dict) else _unfit(it, dict)


@cache
def checks_of(function: Callable[..., Any]) -> tuple[tuple[Check, ...], Check]:
    """Return the checks for a function's arguments, behind the transaction, and for its result."""
    hints = get_type_hints(function)
    result = hints.pop("return")
    return tuple(check_of(hint) for hint in list(hints.values())[1:]), check_of(result)


def checked_arguments(function: Callable[..., Any], arguments: object) -> tuple[object, ...]:
    """Return the arguments of a function as it takes them; raise MalformedFrame where they are others."""
    checks, _ = checks_of(function)
    if not isinstance(arguments, list) or len(arguments) != len(checks):
        raise MalformedFrame(f"{function.__name__} has {len(checks)} arguments")
    try:
        return tuple(check(it) for check, it in zip(checks, arguments, strict=True))
    except Unfit as error:
        raise MalformedFrame(f"{function.__name__} was given a wrong argument: {error}") from error


def checked_result(call: StoreCall[Any], result: object) -> Any:
    """Return what a server answered to a call, as the function returns it; raise MalformedFrame."""
    try:
        return checks_of(call.function)[1](result)
    except Unfit as error:
        raise MalformedFrame(f"the answer to {call.function.__name__} is none: {error}") from error
