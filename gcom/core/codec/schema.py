"""Schema: how a class and its fields' kinds become an encoder, a decoder and a check.

A *kind* is what one field may be. A *record* is a class with a kind for each field; it is a kind itself, so records
nest. The kinds are listed in `kinds`, where a field's annotation names its kind. So a new type of message is one entry
in the table of `control`, `registry` or `sequencer`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from operator import call
from typing import Any, Generic, TypeVar

import msgpack

from gcom.errors import MalformedFrame, VersionMismatch
from gcom.values import limits

T = TypeVar("T")
Decode = Callable[[Any], Any]
Encode = Callable[[Any], Any]
# Whatever bytes can raise in a decoder; none of it may end the thread that reads from a peer.
NOT_OURS = (ValueError, TypeError, KeyError, IndexError, RecursionError, OverflowError, msgpack.UnpackException)


def malformed(what: str, expected: str, got: object) -> MalformedFrame:
    """Return the error for a field that a peer got wrong."""
    # Cut to 80 characters: the text is read by people, and a peer may have sent anything.
    return MalformedFrame(f"malformed {what}: expected {expected}, got {str(got)[:80]!r}")


@dataclass(frozen=True, slots=True)
class FieldKind:
    """The kind of a field: `decode` returns what may be relied on, or raises; without `encode` it travels as it is."""

    decode: Decode
    encode: Encode | None = None


@dataclass(frozen=True, slots=True)
class Record(FieldKind):
    """The kind of the values of one class, `made`. They travel as lists of fields."""

    decode: Decode
    encode: Encode
    made: type


def record(made: type, kinds: Mapping[str, FieldKind], rule: Callable[[Any], None] | None = None) -> Record:
    """Return the record of a class with a kind for each of its fields that travels, in the order of the wire.

    `rule` raises for a value whose fields are right, but not together.
    """
    decoders, encoders = [kind.decode for kind in kinds.values()], [kind.encode for kind in kinds.values()]

    def decode(given: Any) -> Any:
        # As many fields as the class has, not more: a field that an older GCom would pass over may be one that safety
        # rests on, and then the version must differ.
        if type(given) is not list or len(given) != len(kinds):
            raise malformed(made.__name__, f"a list of {', '.join(kinds) or 'nothing'}", given)
        # In C loops, as everywhere here: requests for an order are decoded once per message.
        value = made(**dict(zip(kinds, map(call, decoders, given), strict=True)))
        if rule:
            rule(value)
        return value

    def encode(value: Any) -> list[Any]:
        # Most fields travel as they are: a record without encoders is read out in one C loop.
        fields = list(map(partial(getattr, value), kinds))
        if not any(encoders):
            return fields
        return [each(field) if each else field for each, field in zip(encoders, fields, strict=True)]

    return Record(decode, encode, made)


def alone(kind: Record) -> Record:
    """Return a record whose only field is the value itself."""
    return Record(lambda given: kind.decode(*given), lambda value: [kind.encode(value)], kind.made)


def optional(kind: FieldKind) -> FieldKind:
    """Return the kind with None as well."""
    encode = kind.encode
    return FieldKind(
        lambda given: None if given is None else kind.decode(given),
        encode and (lambda value: None if value is None else encode(value)),
    )


def row(*kinds: FieldKind) -> FieldKind:
    """Return the kind of tuples of just these fields, which travel as they are."""
    decoders = [kind.decode for kind in kinds]

    def decode(given: Any) -> tuple[Any, ...]:
        if type(given) is not list or len(given) != len(decoders):
            raise malformed("row", f"a list of {len(decoders)}", given)
        return tuple(map(call, decoders, given))

    return FieldKind(decode)


def listing(kind: FieldKind, most: int) -> FieldKind:
    """Return the kind of tuples of at most so many."""
    encode = kind.encode

    def decode(given: Any) -> tuple[Any, ...]:
        if type(given) is not list or len(given) > most:
            raise malformed("list", f"a list of at most {most}", given)
        return tuple(map(kind.decode, given))

    return FieldKind(decode, encode and (lambda values: list(map(encode, values))))


def table(key: FieldKind, value: FieldKind, most: int) -> FieldKind:
    """Return the kind of dicts of at most so many entries, which travel as they are."""

    def decode(given: Any) -> dict[Any, Any]:
        # The bound before the entries: each of them is checked, and a peer could send a million.
        if type(given) is not dict or len(given) > most:
            raise malformed("table", f"a table of at most {most} entries", given)
        return dict(zip(map(key.decode, given), map(value.decode, given.values()), strict=True))

    return FieldKind(decode)


def not_spoken(parts: Any) -> MalformedFrame | VersionMismatch:
    """Return the error for a message of another version, or of none; the former says whose GCom is to be replaced."""
    if type(parts) is not list or type(parts[0]) is not int:
        return malformed("message", "a list that begins with a version", parts)
    version, ours = parts[0], limits.PROTOCOL_VERSION
    older = "the other side's" if version < ours else "this process's"
    return VersionMismatch(
        f"the other side speaks protocol {version}, this process {ours}: "
        f"{older} GCom is the older one; install the same version for both, and start that side again"
    )


class Messages(Generic[T]):
    """The messages of one side of a conversation: a msgpack list of version, kind, and that kind's fields.

    `bounds` are msgpack's, which allocates an announced array before it reads it.
    """

    def __init__(self, what: str, bounds: Mapping[str, int], records: Mapping[str, Record]) -> None:
        self._what = what
        self._bounds = bounds
        self._decoders = {kind: each.decode for kind, each in records.items()}
        self._encoders = {each.made: (kind, each.encode) for kind, each in records.items()}

    def encode(self, value: T) -> bytes:
        """Return the bytes of a message."""
        kind, encode = self._encoders[type(value)]
        data: bytes = msgpack.packb([limits.PROTOCOL_VERSION, kind, *encode(value)])
        return data

    def decode(self, data: bytes) -> T:
        """Return the message of `data`; raise MalformedFrame or VersionMismatch."""
        try:
            parts = msgpack.unpackb(data, **self._bounds)
            version, kind, *fields = parts
            # The version is first and checked first, so that two versions can always tell that they differ.
            if type(parts) is not list or type(version) is not int or version != limits.PROTOCOL_VERSION:
                raise not_spoken(parts)
            value: T = self._decoders[kind](fields)
        except NOT_OURS as error:
            # One exception for whatever bytes can do to a decoder: callers tell the peer, count it, and go on.
            raise MalformedFrame(f"malformed {self._what}: {type(error).__name__}: {error}") from error
        return value
