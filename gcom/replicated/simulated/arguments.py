"""Commands drawn from a seed: by the types that a machine's methods name, or by a function of the user's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from datetime import UTC, date, datetime, timedelta
from enum import Enum
from random import Random
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from gcom.errors import BadValue
from gcom.replicated.machine import MachineKind

DrawnCommand = tuple[str, tuple[Any, ...]]
CommandDraw = Callable[[Random], DrawnCommand]
_EPOCH = datetime(2000, 1, 1, tzinfo=UTC)

# Few values each, so that commands meet: two that take the same item say more than two that take one of a thousand.
_PLAIN: dict[Any, Callable[[Random], Any]] = {
    NoneType: lambda random: None,
    bool: lambda random: random.random() < 0.5,
    int: lambda random: random.choice((0, 1, 1, 2, 3, 5, 8, -1, 1000)),
    float: lambda random: random.choice((0.0, 0.5, 1.0, -2.5)),
    str: lambda random: random.choice(("a", "b", "c", "nails", "")),
    bytes: lambda random: random.choice((b"", b"a", b"bytes")),
    datetime: lambda random: _EPOCH + timedelta(hours=random.randrange(100)),
    date: lambda random: _EPOCH.date() + timedelta(days=random.randrange(100)),
    timedelta: lambda random: timedelta(seconds=random.randrange(100)),
    Any: lambda random: random.choice((None, 1, "a", b"b", [1, 2])),
    object: lambda random: random.choice((None, 1, "a", b"b", [1, 2])),
}


def drawn_by_types(kind: MachineKind) -> CommandDraw:
    """Return a draw of any command, with arguments by their annotations; raises BadValue for a type it cannot draw."""
    if not kind.commands:
        raise BadValue(f"{kind.name} has no command: mark methods with @gcom.replicated.command")
    shapes = {name: _types_of(kind, name) for name in sorted(kind.commands)}
    for name, types in shapes.items():
        for parameter, wanted in types.items():
            try:
                _value(Random(0), wanted)
            except BadValue as error:
                raise BadValue(f"{kind.name}.{name}: {parameter}: {error}") from error
    names = list(shapes)

    def draw(random: Random) -> DrawnCommand:
        name = random.choice(names)
        return name, tuple(_value(random, it) for it in shapes[name].values())

    return draw


def _types_of(kind: MachineKind, name: str) -> dict[str, Any]:
    hints = get_type_hints(kind.commands[name])
    parameters = list(kind.signatures[name].signature.parameters.values())[1:]
    wanted = [it for it in parameters if it.kind in (it.POSITIONAL_ONLY, it.POSITIONAL_OR_KEYWORD)]
    return {it.name: hints.get(it.name, Any) for it in wanted}


def _value(random: Random, wanted: Any) -> Any:
    if wanted in _PLAIN:
        return _PLAIN[wanted](random)
    origin, inner = get_origin(wanted) or wanted, get_args(wanted)
    if origin in (Union, UnionType):
        return _value(random, random.choice(inner))
    if origin is Literal:
        return random.choice(inner)
    if origin is tuple and inner and inner[-1] is not Ellipsis:
        return tuple(_value(random, it) for it in inner)
    if origin in (list, set, frozenset, tuple):
        return origin([_value(random, (*inner, Any)[0]) for _ in range(random.randrange(4))])
    if origin is dict:
        key, value = inner or (str, Any)
        return {_value(random, key): _value(random, value) for _ in range(random.randrange(4))}
    if isinstance(wanted, type) and issubclass(wanted, Enum):
        return random.choice(list(wanted))
    if isinstance(wanted, type) and is_dataclass(wanted):
        hints = get_type_hints(wanted)
        return wanted(**{it.name: _value(random, hints[it.name]) for it in fields(wanted) if it.init})
    raise BadValue(f"no value of {wanted!r} can be drawn: give commands=, a function that returns (name, arguments)")
