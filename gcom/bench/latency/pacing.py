"""Messages at a steady rate, each with the time at which it was sent."""

from __future__ import annotations

import struct
import time
from collections.abc import Callable
from time import monotonic_ns

_STAMP = struct.Struct("!QQ")  # number, time


def pace(rate: float, seconds: float, send: Callable[[int], object]) -> list[int]:
    """Call `send` with 1, 2, ... at a rate per second; return by how many nanoseconds each call was late.

    A call that comes late does not delay the rest.
    """
    # Rounded as by the parent: receivers wait for just so many.
    count = max(1, round(rate * seconds))
    began_ns = monotonic_ns()
    late_ns = []
    for number in range(1, count + 1):
        # By the plan, not after the call before: a sender that waits for a slow call would send
        # less just when things are slow, and hide it from the figures (coordinated omission).
        planned_ns = began_ns + int(number * 1e9 / rate)
        left_ns = planned_ns - monotonic_ns()
        if left_ns > 0:
            time.sleep(left_ns / 1e9)
        late_ns.append(monotonic_ns() - planned_ns)
        send(number)
    return late_ns


def stamped(number: int, size: int) -> bytes:
    """Return a payload of `size` bytes that says when it was made."""
    return _STAMP.pack(number, monotonic_ns()).ljust(size, b".")


def age(payload: bytes | str) -> tuple[int, int]:
    """Return the number in a payload, and the nanoseconds since it was made. CLOCK_MONOTONIC is one for a machine."""
    assert isinstance(payload, bytes)
    number, sent_ns = _STAMP.unpack_from(payload)
    return number, monotonic_ns() - sent_ns
