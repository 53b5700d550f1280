"""An envelope: the unit of unicast and of group calls, from one process to one other."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

from gcom.values import limits
from gcom.values.run import Payload


class Kind(IntEnum):
    """The kind of an envelope; the numbers are those of the wire, and never given to another kind."""

    UNICAST = 0  # a message to one member
    REQUEST = 1  # of a call, to each member asked
    ANSWER = 2  # to a request: the handler's value
    ERROR = 3  # to a request: what the handler raised, or that there is none


@dataclass(frozen=True, slots=True)
class Envelope:
    """Envelope `number` of its sender to its receiver, dense from 1. `call` is the asker's own count; 0 in a
    unicast.
    """

    number: int
    kind: Kind
    call: int
    payload: Payload

    @property
    def size(self) -> int:
        """The bytes of its payload, the same at both ends."""
        return size_of(self.payload)

    @property
    def taken(self) -> int:
        """The bytes of a frame that it takes at most."""
        return self.size + limits.ENVELOPE_HEADER_BYTES


class EnvelopeReceipt(NamedTuple):
    """The receipt for the target's envelopes, in a status; every field only grows."""

    held: int = 0  # envelopes 1…held are here
    read: int = 0  # so many unicasts were read by the application (flow control)
    served: int = 0  # so many requests have an answer with a number (flow control)


def size_of(payload: Payload) -> int:
    """Return the bytes of a payload as it travels, without its header."""
    # Both ends count credit by it, so it must not depend on how a text is kept in memory.
    if isinstance(payload, str) and not payload.isascii():
        return len(payload.encode())
    return len(payload)
