"""Bodies that stock Pyro5 programs write and read: msgpack, and serpent, which is their default.

Serpent is Python's own literals, and its reader hands a peer's text to Python's parser, which nesting and long chains
of operators can exhaust. Here a text is first held to a few kilobytes, to the tokens that serpent writes, and to a
small depth; what remains is a literal that costs no more than its size. It is read where something is open to stock
programs: at a registry on loopback, whose name server is.
"""

from __future__ import annotations

import ast
import re
from typing import Any

from Pyro5 import serializers

from gcom.runtime.pyro.wire import MSGPACK, RefusedMessage, WireMessage, pack, plain, plain_map

SERPENT = serializers.SerpentSerializer.serializer_id
SERPENT_BYTES_MAX = 16 * 1024  # a registration with all that a name server takes fits many times
DEPTH_MAX = 8  # deeper than any call of a stock proxy: such a nest is only there to exhaust a stack
_HEAD = re.compile(r"# serpent utf-8 python[\d.]{1,8}\r?\n")
# No escapes but those of repr(); half of a surrogate pair could never be sent on.
_ESCAPE = r"""\\(?:[\\'"nrt]|x[0-9a-f]{2}|u(?!d[89a-f])[0-9a-f]{4}|U[0-9a-f]{8})"""
_TOKEN = re.compile(
    rf"""\s+|'(?:[^'\\\n]|{_ESCAPE})*'|"(?:[^"\\\n]|{_ESCAPE})*"|-?\d{{1,300}}(?:\.\d{{1,300}})?(?:e[+-]?\d{{1,5}})?"""
    r"|True\b|False\b|None\b|[\[\](){},:]"
)
_OPENING, _CLOSING = ("[", "(", "{"), ("]", ")", "}")
_BEFORE_VALUE, _AFTER_VALUE = (*_OPENING, ",", ":"), (*_CLOSING, ",", ":")
WORDS = 'only msgpack is spoken here: set Pyro5.config.SERIALIZER = "msgpack"'


def read_body(message: WireMessage) -> Any:
    """Return a body as plain values; raises RefusedMessage. The serializer is one of the two."""
    return plain(message.body) if message.serializer == MSGPACK else read_serpent(bytes(message.body))


def read_serpent(body: bytes) -> Any:
    """Return serpent as plain values; raises RefusedMessage for anything that a stock proxy would not write."""
    # Before anything looks at it: what it costs to refuse a text is bounded by this.
    if len(body) > SERPENT_BYTES_MAX:
        raise RefusedMessage("too large", f"more than {SERPENT_BYTES_MAX} bytes of serpent: {WORDS}")
    try:
        text = body.decode()
        _check_tokens(text, _HEAD.match(text))
        return _plain(ast.literal_eval(text))
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError) as error:
        raise RefusedMessage("not serpent") from error


def _check_tokens(text: str, head: re.Match[str] | None) -> None:
    """Raise ValueError for a text that is not a shallow literal."""
    place, depth, before = head.end() if head else 0, 0, ","
    while place < len(text):
        found = _TOKEN.match(text, place)
        if found is None:
            raise ValueError(f"no token of serpent at {place}")
        place, token = found.end(), found[0]
        depth += (token in _OPENING) - (token in _CLOSING)
        if depth > DEPTH_MAX:
            raise ValueError("too deep")
        # One value behind another, as in 1-2-3…, 'a''b'… and f(1)(2)…, would be an expression, however long.
        if not (token.isspace() or token in _AFTER_VALUE or before in _BEFORE_VALUE):
            raise ValueError(f"an operator before {place}")
        before = before if token.isspace() else token


def _plain(value: Any) -> Any:
    """Return the value with lists for tuples and sets, and texts for URIs, as msgpack gives them."""
    match value:
        case dict():
            return plain_map({key: _plain(found) for key, found in value.items()})
        # In some order that is always the same, since a set has none.
        case set():
            return sorted(map(_plain, value), key=repr)
        case tuple() | list():
            return [_plain(found) for found in value]
    return value


def dump(value: object, serializer: int = MSGPACK) -> bytes:
    """Return an answer as bytes; objects of Pyro5's own, such as URIs, in the form that a stock proxy reads."""
    dumped: bytes = serializers.serializers_by_id[serializer].dumps(value)
    return dumped


def failure(error: Any, serializer: int = MSGPACK) -> bytes:
    """Return an exception in the form that a stock proxy reads: its class and text, never a traceback."""
    name = f"Pyro5.errors.{type(error).__name__}"
    # Stock Pyro5 would send that, and show a stranger what runs here.
    told = {"__class__": name, "__exception__": True, "args": [str(error)[:1000]], "attributes": {}}
    return dump(told, serializer)


def rejection(text: str, serializer: int) -> tuple[bytes, int]:
    """Return a text in the serializer that the peer speaks. Writing is harmless in any of them; only reading is not."""
    writer = serializers.serializers_by_id.get(serializer)
    return (writer.dumps(text), serializer) if writer else (pack(text), MSGPACK)
