"""How long a caller waits."""

from __future__ import annotations

from math import isnan
from threading import TIMEOUT_MAX
from time import monotonic

from gcom.errors import BadValue


def deadline_of(timeout_s: float | None) -> float | None:
    """In monotonic seconds; None: for ever. A time below 0 is no wait. Raises BadValue."""
    if timeout_s is None:
        return None
    if isinstance(timeout_s, bool) or not isinstance(timeout_s, int | float) or isnan(timeout_s):
        raise BadValue(f"timeout_s {timeout_s!r} is no number of seconds, nor None, which is for ever")
    return None if timeout_s >= TIMEOUT_MAX else monotonic() + timeout_s
