"""Nouns of topics: what a producer sends, what a store answers, and what a reader gets."""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from gcom.errors import BadValue, MessageTooLarge
from gcom.values import limits

NONE_SENT = -1  # the last sequence of a producer that has sent nothing
NEXT_SEQ = -1  # the sequence of a draft that takes the next one
SEQUENCE_MAX = 2**62
SLOTS = 2**16  # keys are hashed to so many slots, and slots belong to shards
HEADERS_BYTES_MAX = 16 * 1024
_NAME = re.compile(r"[^\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]{1,200}")


class Entry(NamedTuple):
    """A message on its way into a topic."""

    seq: int
    body: bytes
    key: bytes | None = None
    head: bytes = b""  # encoded headers

    @property
    def digest(self) -> int:
        """Return checksum and length of key, headers and body as one number: two bodies of one digest count as one."""
        check = zlib.crc32(self.body, zlib.crc32(self.head, zlib.crc32(self.key or b"")))
        return (len(self.body) & 0x3FFFFFFF) << 32 | check


Draft = tuple[int, bytes, bytes | None, bytes]  # of an entry, whose sequence may be NEXT_SEQ: cheaper than an Entry


@dataclass(frozen=True, slots=True)
class Keep:
    """The bounds of what a topic keeps: a message goes as soon as one of these says so."""

    before: int | None = None  # messages below this offset go
    count: int | None = None
    age_ms: int | None = None
    size_bytes: int | None = None
    unread_too: bool = False  # also what a subscription has not acknowledged

    @property
    def is_bounded(self) -> bool:
        """Tell whether there is a bound at all."""
        return (self.before, self.count, self.age_ms, self.size_bytes) != (None,) * 4


@dataclass(frozen=True, slots=True)
class TopicReceipt:
    """The store's answer for one message.

    `offset` is its place in the topic. Of a duplicate it is the place of the first one, or None once that is trimmed.
    `durable` says what the receipt survives: "file" is an fsynced file on this machine.
    """

    topic: str
    offset: int | None
    seq: int | None
    duplicate: bool
    durable: str


@dataclass(frozen=True, slots=True)
class TopicMessage:
    """A stored message. `producer` and `seq` are None for a message without a named producer."""

    topic: str
    offset: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)
    key: bytes | None = None
    producer: str | None = None
    seq: int | None = None
    at_ms: int = 0

    @property
    def text(self) -> str:
        """Return the body as text; bytes that are not UTF-8 become question marks."""
        return self.body.decode("utf-8", "replace")


def checked_name(text: object, what: str) -> str:
    """Return `text` if it may name a topic, a producer or a subscription; raise BadValue if not."""
    if not isinstance(text, str) or not _NAME.fullmatch(text) or text != text.strip():
        raise BadValue(
            f"{what} name {text!r:.80} is not allowed: expected 1 to 200 characters without control characters, "
            "and no space at either end"
        )
    return text


def checked_body(body: bytes | str) -> bytes:
    """Return the bytes of a body; raise BadValue for another type, MessageTooLarge for one over the limit."""
    if isinstance(body, str):
        body = encoded(body)
    if not isinstance(body, bytes | bytearray | memoryview):
        raise BadValue(f"a body must be bytes or text; got {type(body).__name__}")
    if len(body) > limits.MESSAGE_BYTES_MAX:
        raise MessageTooLarge(f"a body has at most {limits.MESSAGE_BYTES_MAX} bytes; got {len(body)}")
    return bytes(body)


def encoded(text: str) -> bytes:
    """Return text as UTF-8; raise BadValue for half a character, as file names that are not UTF-8 have in Python."""
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise BadValue(
            f"text must have whole characters: got {text[error.start : error.start + 1]!r} at place {error.start}; "
            "a body or a key may be bytes"
        ) from error


def checked_seq(seq: int) -> int:
    """Return a sequence if it is one; raise BadValue if not."""
    if isinstance(seq, bool) or not isinstance(seq, int) or not 0 <= seq < SEQUENCE_MAX:
        raise BadValue(f"a sequence must be a whole number from 0 to 2**62 - 1; got {seq!r}")
    return seq


def slot_of(key: bytes | None, offset: int) -> int:
    """Return the slot of a message: by its key, so that messages of one key share a shard, else by its offset."""
    return offset % SLOTS if key is None else zlib.crc32(key) % SLOTS
