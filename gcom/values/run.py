"""Payloads; runs, consecutive messages of one sender, the unit of protocol work (ARCHITECTURE 2); fragments of a
run.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from gcom.errors import BadValue, MessageTooLarge
from gcom.values.names import Process

Payload = bytes | str
Encoded = bytes | memoryview  # a view where the bytes are part of a frame that is kept for them


def check_payload(payload: object, bytes_max: int, what: str = "a message") -> None:
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
    """Return the fewest first payloads that reach `size` together, or all; text counts by its characters."""
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


class StateToMerge(bytes):
    """The state that a member's last instance left it with, which it brings into this one; a message alone in its run.

    It has a number and a place in the group's order as every message, and is handed to no application as one.
    """


@dataclass(frozen=True, slots=True)
class Seal:
    """The signature of a run's sender over the bytes of `encoded` from `at_byte` on, which are the unsigned run.

    `credential` vouches for the key that signed; only a run from which a receiver may have to learn the key has one
    (docs/protocols/signing.md).
    """

    signature: bytes
    credential: bytes
    at_byte: int


@dataclass(frozen=True, slots=True)
class Run:
    """Messages `first … last` of `sender`, sent in `view`.

    `clock` holds the entries of the sender's vector clock that changed since its previous run: the highest number it
    had delivered from each other process. `encoded` is the run as it travels, made once for all peers.
    """

    sender: Process
    view: int
    first: int
    clock: dict[Process, int]
    payloads: list[Payload]
    encoded: Encoded
    seal: Seal | None = None  # in a signed group
    last: int = field(init=False)  # computed once: every layer that a run passes asks for it

    def __post_init__(self) -> None:
        object.__setattr__(self, "last", self.first + len(self.payloads) - 1)


@dataclass(frozen=True, slots=True)
class Fragment:
    """Bytes from `at_byte` on of an encoded run that no frame holds: message `first` of `sender`, alone in its run.

    `total` is the size of the encoded run. A fragment is never stored, acknowledged or relayed: only whole runs are.
    """

    sender: Process
    view: int
    first: int
    at_byte: int
    total: int
    data: bytes

    @property
    def end(self) -> int:
        return self.at_byte + len(self.data)
