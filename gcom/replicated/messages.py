"""Messages between the replicas of one state, as they travel in its group."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgpack

from gcom.errors import MalformedFrame


@dataclass(frozen=True, slots=True)
class CallerOpened:
    """A caller makes itself known; commands of an unknown one are refused."""

    caller: str


@dataclass(frozen=True, slots=True)
class CallerClosed:
    """A caller has ended: nothing of it need be remembered."""

    caller: str


# A tuple: one is made for each command at each replica, and a dataclass takes three times as long.
class CommandSent(NamedTuple):
    """Command `number` of a caller, which follows its command `previous`; the caller has the answers up to `done`."""

    caller: str
    number: int
    previous: int
    done: int
    name: str
    arguments: bytes


@dataclass(frozen=True, slots=True)
class MembersNoted:
    """The members of a view, told in it by its leader: so they change at one place of the order."""

    view: int
    members: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ReadMarked:
    """A place in the order, for a query that sees what is before it. It changes nothing and has no index."""

    caller: str
    number: int


@dataclass(frozen=True, slots=True)
class DigestTold:
    """The digest of the sender's state at an index. It changes nothing and has no index."""

    index: int
    digest: bytes


# of durable states


@dataclass(frozen=True, slots=True)
class HelloSaid:
    """The facts of the sender's disk, in the round of a view, after so many rounds were asked for in it."""

    view: int
    asked: int
    promised: int
    term: int
    index: int
    lost: bool
    version: int
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Promised:
    """The sender has that term on its disk: it takes no log of a lower one."""

    view: int
    asked: int
    term: int


@dataclass(frozen=True, slots=True)
class LogPart:
    """A part of the log that a round has chosen."""

    view: int
    asked: int
    term: int
    number: int
    count: int
    data: bytes


@dataclass(frozen=True, slots=True)
class RoundAsked:
    """All begin a round: the sender's disk is ahead of the log in force, or its term is above this floor."""

    view: int
    floor: int


@dataclass(frozen=True, slots=True)
class NamesSet:
    """Other configured names, one more or one fewer than those of that version."""

    version: int
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SyncedTold:
    """The sender's disk has the log up to an entry of that term. It goes by unicast."""

    term: int
    index: int


Ordered = CallerOpened | CallerClosed | CommandSent | MembersNoted
OfRound = HelloSaid | Promised | LogPart | RoundAsked
ReplicaMessage = Ordered | OfRound | NamesSet | SyncedTold | ReadMarked | DigestTold
_KINDS: dict[str, type[ReplicaMessage]] = {
    "o": CallerOpened,
    "x": CallerClosed,
    "c": CommandSent,
    "m": MembersNoted,
    "r": ReadMarked,
    "d": DigestTold,
    "h": HelloSaid,
    "p": Promised,
    "l": LogPart,
    "a": RoundAsked,
    "n": NamesSet,
    "s": SyncedTold,
}
_LETTERS = {kind: letter for letter, kind in _KINDS.items()}
_FIELDS: dict[type, tuple[type, ...]] = {
    CallerOpened: (str,),
    CallerClosed: (str,),
    CommandSent: (str, int, int, int, str, bytes),
    MembersNoted: (int, tuple),
    ReadMarked: (str, int),
    DigestTold: (int, bytes),
    HelloSaid: (int, int, int, int, int, bool, int, tuple),
    Promised: (int, int, int),
    LogPart: (int, int, int, int, int, bytes),
    RoundAsked: (int, int),
    NamesSet: (int, tuple),
    SyncedTold: (int, int),
}


def encode(message: ReplicaMessage) -> bytes:
    """Return a message's bytes."""
    if isinstance(message, CommandSent):
        fields: Iterable[Any] = message
    else:
        fields = [getattr(message, name) for name in type(message).__slots__]
    data: bytes = msgpack.packb([_LETTERS[type(message)], *fields])
    return data


def decode(data: bytes) -> ReplicaMessage:
    """Return the message of such bytes; raises MalformedFrame for others."""
    try:
        letter, *fields = msgpack.unpackb(data, use_list=False)
        kind = _KINDS[letter]
        if tuple(map(type, fields)) != _FIELDS[kind]:
            raise ValueError(f"{kind.__name__} of {fields!r:.80}")
        if isinstance(fields[-1], tuple) and not all(isinstance(it, str) for it in fields[-1]):
            raise ValueError("a name is a text")
        return kind(*fields)
    except (ValueError, TypeError, KeyError, msgpack.exceptions.UnpackException) as error:
        raise MalformedFrame(f"no message of a replicated state: {error}") from error


def plain(value: object) -> bytes:
    """Return the bytes of plain lists, numbers, texts and bytes."""
    data: bytes = msgpack.packb(value)
    return data


def of_plain(data: bytes) -> Any:
    """Return what `plain` packed; raises MalformedFrame."""
    try:
        return msgpack.unpackb(data)
    except (ValueError, msgpack.exceptions.UnpackException) as error:
        raise MalformedFrame(f"no state of a replica: {error}") from error
