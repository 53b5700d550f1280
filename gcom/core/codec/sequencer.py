"""Codec of requests to the registry's sequencer and of its answers; checked here, once, like the directory's."""

from __future__ import annotations

from typing import Any, assert_never

import msgpack

from gcom.core.codec import checked
from gcom.core.codec.frames import decode_orders
from gcom.core.codec.versions import mismatch
from gcom.core.messages.orders import Orders
from gcom.core.messages.sequencer import Close, Open, Opened, SequencerAnswer, SequencerRequest, Unknown, Want
from gcom.errors import BadValue, MalformedFrame
from gcom.values import limits, names

_BOUNDS = {
    "max_str_len": 128,
    "max_bin_len": 0,
    # As many as an answer may have spans: msgpack allocates an announced array before it reads it.
    "max_array_len": limits.ORDERS_MAX,
    "max_map_len": limits.MEMBERS_MAX,
    "max_ext_len": 0,
}


def encode_request(request: SequencerRequest) -> bytes:
    match request:
        case Open(group, instance, view, serial, settled):
            return _pack("open", group, instance, view, serial, settled)
        case Want(group, instance, view, process, upto, after, stable):
            return _pack("want", group, instance, view, process, upto, after, stable)
        case Close(group, instance):
            return _pack("close", group, instance)
        case _:
            assert_never(request)


def decode_request(data: bytes) -> SequencerRequest:
    """Return the request of `data`; raise MalformedFrame or VersionMismatch."""
    match _unpack(data):
        case ["open", group, instance, view, serial, dict() as settled]:
            numbers = {checked.process(who): checked.number(number) for who, number in settled.items()}
            return Open(*_where(group, instance), checked.number(view), checked.number(serial), numbers)
        case ["want", group, instance, view, process, upto, after, stable]:
            checked.numbers(view, upto, after, stable)
            return Want(*_where(group, instance), view, checked.process(process), upto, after, stable)
        case ["close", group, instance]:
            return Close(*_where(group, instance))
        case other:
            raise MalformedFrame(f"{str(other)[:80]!r} asks a sequencer nothing")


def encode_answer(answer: SequencerAnswer) -> bytes:
    match answer:
        case Orders(view, after, spans):
            return _pack("orders", (view, after, spans))
        case Opened():
            return _pack("opened")
        case Unknown():
            return _pack("unknown")
        case _:
            assert_never(answer)


def decode_answer(data: bytes) -> SequencerAnswer:
    """Return the answer of `data`; raise MalformedFrame or VersionMismatch."""
    match _unpack(data):
        case ["orders", [_, _, _] as orders]:
            return decode_orders(orders)
        case ["opened"]:
            return Opened()
        case ["unknown"]:
            return Unknown()
        case other:
            raise MalformedFrame(f"{str(other)[:80]!r} is no answer of a sequencer")


def _pack(kind: str, *fields: object) -> bytes:
    packed: bytes = msgpack.packb([limits.PROTOCOL_VERSION, kind, *fields])
    return packed


def _unpack(data: bytes) -> list[Any]:
    try:
        parts = msgpack.unpackb(data, **_BOUNDS)
    except (ValueError, msgpack.exceptions.UnpackException) as error:
        raise MalformedFrame(f"not a message of a sequencer: {type(error).__name__}") from error
    if not isinstance(parts, list) or len(parts) < 2 or type(parts[0]) is not int:
        raise MalformedFrame("a sequencer's message begins with a version and a kind")
    if parts[0] != limits.PROTOCOL_VERSION:
        raise mismatch(parts[0])
    return parts[1:]


def _where(group: Any, instance: Any) -> tuple[str, str]:
    try:
        return names.group_name(group), checked.instance(instance)
    except BadValue as error:
        raise MalformedFrame(str(error)) from error
