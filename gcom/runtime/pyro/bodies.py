"""Bodies of messages, in the serializer of the peer: msgpack for GCom, and serpent for stock clients of a name server.

Only reading is dangerous. Marshal and json are never read, serpent by a reader of our own (`serpent_text`), and what is
written is read by nobody here.
"""

from __future__ import annotations

from typing import Any

from Pyro5 import serializers

from gcom.runtime.pyro.serpent_text import NotSerpent, read_serpent
from gcom.runtime.pyro.wire import MSGPACK, Bad, WireMessage, pack, plain, plain_map

SERPENT = serializers.SerpentSerializer.serializer_id
READ = (MSGPACK, SERPENT)


def body_of(message: WireMessage) -> Any:
    """Return the body as plain values; raises Bad."""
    if message.serializer == MSGPACK:
        return plain(message.body)
    if message.serializer != SERPENT:
        raise Bad("serializer")
    try:
        return read_serpent(bytes(message.body), plain_map)
    except NotSerpent as error:
        raise Bad("not serpent", f"not what serpent writes, or too long or deep: {error}") from error


def body(value: object, serializer: int) -> bytes:
    """Return an answer as bytes; objects of Pyro5's own, such as URIs, in the form that a stock proxy reads."""
    if serializer == MSGPACK and type(value) is bytes:
        return pack(value)
    written: bytes = serializers.serializers_by_id[serializer].dumps(value)
    return written


def failure(error: Any, serializer: int) -> bytes:
    """Return an exception in the form that a stock proxy reads: its class and text, never a traceback."""
    name = f"Pyro5.errors.{type(error).__name__}"
    return body({"__class__": name, "__exception__": True, "args": [str(error)[:1000]], "attributes": {}}, serializer)


def rejection(text: str, serializer: int) -> tuple[bytes, int]:
    """Return a text in the serializer that the peer speaks, and that serializer: msgpack where nobody knows it."""
    known = serializer in serializers.serializers_by_id
    return (body(text, serializer), serializer) if known else (pack(text), MSGPACK)
