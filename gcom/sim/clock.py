"""The clock of one node: it runs a little slower or faster than true time, and starts at an offset from it."""

from __future__ import annotations

from collections.abc import Callable


class Clock:
    """A local clock; `rate` is local milliseconds per thousand true ones."""

    def __init__(self, true_now_ms: Callable[[], int], rate: int, offset_ms: int) -> None:
        self._true_now_ms = true_now_ms
        self._rate = rate
        self._offset_ms = offset_ms

    @property
    def now_ms(self) -> int:
        return self._offset_ms + self._true_now_ms() * self._rate // 1000

    def true_ms(self, local_ms: int) -> int:
        """Return a local duration in true milliseconds, rounded up so that the clock shows its end; at least 1."""
        # At least 1: a timer that fires at once, again and again, would stop virtual time.
        return max(1, -(-local_ms * 1000 // self._rate))

    def true_until(self, local_at_ms: int) -> int:
        """Return the true milliseconds until the clock shows a time; at least 1."""
        return self.true_ms(local_at_ms - self.now_ms)
