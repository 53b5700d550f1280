"""Payloads: bytes or text of a bounded size."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate

from gcom.errors import BadValue, MessageTooLarge
from gcom.values.run import Payload


def check(payload: object, bytes_max: int, what: str = "a message") -> None:
    """Raise BadValue or MessageTooLarge unless `payload` may be sent."""
    if type(payload) is bytes:
        size = len(payload)
    elif type(payload) is str:
        # Most text is ASCII, and to encode a message only to count it would copy it once more for each send.
        size = len(payload) if payload.isascii() else len(_utf8(payload))
    else:
        raise BadValue(f"{what} must be bytes or str; got {type(payload).__name__}")
    if size > bytes_max:
        raise MessageTooLarge(f"{what} of {size:,} bytes is over the limit of {bytes_max:,}: cut it up")


def are_bytes(payloads: Sequence[Payload], bytes_max: int) -> bool:
    """Return whether each payload is bytes, of a size that may be sent."""
    # In C loops: this is on the path of every message.
    return set(map(type, payloads)) <= {bytes} and max(map(len, payloads), default=0) <= bytes_max


def up_to(size: int, payloads: Sequence[Payload]) -> Sequence[Payload]:
    """Return the first of these, as many as it takes to reach a size; one at least."""
    return payloads[: 1 + bisect_left(list(accumulate(map(len, payloads))), size)]


def text_of(payload: Payload) -> str:
    """Return a payload as text; bytes that are no UTF-8 are replaced."""
    return payload if isinstance(payload, str) else payload.decode(errors="replace")


def data_of(payload: Payload) -> bytes:
    """Return a payload as bytes; text as UTF-8."""
    return payload if isinstance(payload, bytes) else payload.encode()


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise BadValue(f"text must be encodable as UTF-8: {error.reason} at {error.start}; send bytes") from error
