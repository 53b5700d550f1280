"""Deadlines of the library's blocking calls."""

from __future__ import annotations

from math import isnan
from threading import TIMEOUT_MAX
from time import monotonic

from gcom.errors import BadValue


def deadline_of(timeout_s: float | None) -> float | None:
    """Return the deadline in monotonic seconds, None for no limit; a time below 0 is no wait. Raises BadValue."""
    if timeout_s is None:
        return None
    # To Python True is the number 1; and a deadline that is not a number would be neither before nor after any time, so
    # that a wait would never see it pass.
    if isinstance(timeout_s, bool) or not isinstance(timeout_s, int | float) or isnan(timeout_s):
        raise BadValue(f"timeout_s must be a number of seconds, or None for no limit; got {timeout_s!r}")
    # A condition raises OverflowError for a longer time than that.
    return None if timeout_s >= TIMEOUT_MAX else monotonic() + timeout_s
