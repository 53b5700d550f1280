"""Chat messages on the wire: a JSON object per payload (docs/chat.md, Wire format).

    {"gcom-chat": 1, "kind": "text", "text": "hello", "id": "f3a81c02", "at": 1763846400123}

A payload that is no such object is text as it is, so that `gcom join` and ten lines of Python can talk to a chat. A
kind that this version does not know is shown as such, never dropped.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from gcom_chat.model.texts.words import translate

VERSION = 1
MARK = "gcom-chat"
TEXT_BYTES_MAX = 256 * 1024  # of one message that is sent; what comes may be longer, and is shown in part
_ID_CHARS_MAX = 32
# The end of 9999, as early as it is anywhere: a later time is a peer's nonsense, and raises where it is shown.
_AT_MS_MAX = 253_402_128_000_000


class MessageKind(StrEnum):
    """The kind of a chat message."""

    TEXT = "text"
    ACTION = "action"  # /me
    TOPIC = "topic"  # the conversation's topic from now on; empty: none
    NICK = "nick"  # the sender comes back under the name in `text`
    UNKNOWN = "unknown"  # of a later version, or broken; never sent


_SENT = (MessageKind.TEXT, MessageKind.ACTION, MessageKind.TOPIC, MessageKind.NICK)


class TextTooLong(ValueError):
    """A text longer than a message may be."""


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """A message. `id` is the sender's own word for it; `at_ms` its wall clock, ms since 1970; both may be missing."""

    kind: MessageKind
    text: str
    id: str = ""
    at_ms: int = 0


def encode(message: ChatMessage) -> str:
    """Return a message's payload; raise TextTooLong, or ValueError for a kind that is never sent."""
    if message.kind is MessageKind.UNKNOWN:
        raise ValueError("a message of an unknown kind is shown, not sent")
    size = len(message.text.encode("utf-8", "replace"))
    if size > TEXT_BYTES_MAX:
        raise TextTooLong(
            translate("chat", "text of {:,} bytes is too long: at most {:,}; send it in parts").format(
                size, TEXT_BYTES_MAX
            )
        )
    fields = {MARK: VERSION, "kind": message.kind.value, "text": message.text, "id": message.id, "at": message.at_ms}
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":"))


def decode(payload: bytes | str) -> ChatMessage:
    """Return the message of any payload; nothing that a peer sends raises."""
    text = payload if isinstance(payload, str) else payload.decode("utf-8", "replace")
    # Not tried as JSON where the mark is missing: what others send that happens to be JSON is a text to them.
    if not text.startswith("{") or f'"{MARK}"' not in text[:64]:
        return ChatMessage(MessageKind.TEXT, text)
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError):
        return ChatMessage(MessageKind.UNKNOWN, translate("chat", "a message that is broken"))
    return _of_fields(fields)


def _of_fields(fields: dict[str, Any]) -> ChatMessage:
    kind, text = fields.get("kind"), fields.get("text")
    identity, at_ms = fields.get("id"), fields.get("at")
    # Remembered for each message, so a peer's word for it has a bound.
    identity = identity[:_ID_CHARS_MAX] if isinstance(identity, str) else ""
    at_ms = at_ms if isinstance(at_ms, int) and not isinstance(at_ms, bool) and 0 <= at_ms <= _AT_MS_MAX else 0
    known = next((each for each in _SENT if each == kind), None)
    if fields.get(MARK) != VERSION or known is None or not isinstance(text, str):
        named = f"{kind[:40]!r}" if isinstance(kind, str) else "?"
        what = translate("chat", "a message of the kind {}, which this version cannot show").format(named)
        return ChatMessage(MessageKind.UNKNOWN, what, identity, at_ms)
    return ChatMessage(known, text, identity, at_ms)
