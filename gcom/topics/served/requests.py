"""Requests to a server and its answers, and errors as they travel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from gcom import errors
from gcom.errors import GComError, MalformedFrame, PeerError, Unavailable
from gcom.topics import errors as topic_errors
from gcom.topics.served import codec

OBJECT = "gcom.topics"  # on a server
VERSION = 2  # of requests; raised when any of them changes
SCHEME = "gcom://"
CALL, ASK, NEWS, GREET, LEAVE, FORWARDED = "call", "ask", "news", "greet", "leave", "forwarded"
DONE, FAILED = 0, 1  # how an answer begins
GONE, LOST = 2, 3  # not carried out, by a server that closes or has the topic no more; carried out or not


class WrittenCall(NamedTuple):
    """A call as it travels: its number (0: it may be repeated), the topic by which it is routed, and its words."""

    number: int
    topic: str
    name: str
    arguments: Any


class CallForgotten(topic_errors.ReceiptUnknown):
    """A numbered call that its server does not know any more: asking again cannot settle it."""


class RemoteFailure(PeerError):
    """An error that the server has, and this side does not know."""


def kinds_of(module: object) -> Iterator[type[GComError]]:
    """Yield the errors of a module."""
    for kind in vars(module).values():
        if isinstance(kind, type) and issubclass(kind, GComError):
            yield kind


_KINDS = {kind.__name__: kind for module in (errors, topic_errors) for kind in kinds_of(module)}
_KINDS["CallForgotten"] = CallForgotten


def packed_error(error: BaseException) -> list[object]:
    """Return an error as it travels."""
    return [FAILED, type(error).__name__, str(error)]


def read_error(name: object, text: object) -> GComError:
    """Return the error that a server told."""
    kind = _KINDS.get(name) if isinstance(name, str) else None
    return kind(str(text)) if kind is not None else RemoteFailure(f"{name}: {text}")


def request(kind: str, *words: object) -> bytes:
    """Return a request as bytes."""
    return codec.pack([VERSION, kind, *words])


def read_request(data: bytes) -> tuple[str, list[Any]]:
    """Return the kind and the words of a request; raise MalformedFrame, VersionMismatch."""
    match codec.unpack(data):
        case [int() as version, str(), *_] if version != VERSION:
            raise errors.VersionMismatch(f"a request of version {version} of topics; this server speaks {VERSION}")
        case [int(), str() as kind, *words]:
            return kind, words
    raise MalformedFrame("not a request of topics")


def read_answer(data: bytes) -> list[Any]:
    """Return the values of an answer; raise what the server told, Unavailable where it is closing."""
    match codec.unpack(data):
        case [0, *values]:
            return values
        case [1, name, text]:
            raise read_error(name, text)
        case [2 | 3, text]:
            raise Unavailable(str(text))
    raise MalformedFrame("not an answer of topics")


def read_calls(words: Sequence[Any]) -> list[WrittenCall]:
    """Return the calls of a request; raise MalformedFrame."""
    calls = []
    for it in words:
        match it:
            case [int() as number, str() as topic, str() as name, arguments] if number >= 0:
                calls.append(WrittenCall(number, topic, name, arguments))
            case _:
                raise MalformedFrame("a call has a number, a topic, a name and arguments")
    return calls
