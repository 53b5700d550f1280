"""A letter: what one process sends to one other, the unit of unicast and of group calls."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from gcom.values import limits
from gcom.values.run import Payload


class Kind(IntEnum):
    """What a letter is; the numbers are those of the wire, and never given to another kind."""

    UNICAST = 0  # a message to one member
    REQUEST = 1  # of a call, to each member asked
    ANSWER = 2  # to a request: the handler's value
    ERROR = 3  # to a request: what the handler raised, or that there is none


@dataclass(frozen=True, slots=True)
class Letter:
    """Letter `number` of its sender to its receiver, dense from 1. `call` is the asker's own count; 0 in a unicast."""

    number: int
    kind: Kind
    call: int
    payload: Payload

    @property
    def size(self) -> int:
        """Bytes of its payload, the same at both ends."""
        return size_of(self.payload)

    @property
    def taken(self) -> int:
        """Bytes of a frame that it takes at most."""
        return self.size + limits.LETTER_HEADER_BYTES


@dataclass(frozen=True, slots=True)
class Receipt:
    """How the source of a status stands with the target's letters; every field only grows."""

    held: int = 0  # letters 1…held are here
    read: int = 0  # so many unicasts are behind the application (flow control)
    served: int = 0  # so many requests have their answer under way (flow control)


def size_of(payload: Payload) -> int:
    """Bytes of a payload as it travels, without its header."""
    if isinstance(payload, str) and not payload.isascii():
        return len(payload.encode())
    return len(payload)
