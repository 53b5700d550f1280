"""A run: consecutive messages of one sender, the unit of protocol work (ARCHITECTURE 2); and a piece of its bytes."""

from __future__ import annotations

from dataclasses import dataclass, field

from gcom.values.names import Process

Payload = bytes | str
Encoded = bytes | memoryview  # a view where the bytes are part of a frame that is kept for them


class Brought(bytes):
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
class Piece:
    """Bytes from `at_byte` on of an encoded run that no frame holds: message `first` of `sender`, alone in its run.

    `total` is the size of the encoded run. A piece is never stored, acknowledged or relayed: only whole runs are.
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
