"""Exceptions of a signal's handler, as Ctrl-C brings them, at random places of a call."""

from __future__ import annotations

import signal
from collections.abc import Callable
from random import Random
from types import TracebackType
from typing import Any, Self, TypeVar

T = TypeVar("T")
FIRST_S = 0.003  # the first interrupt comes at latest so long after a call's begin
GROWTH = 1.5  # of that time, each time it was too short: a slow machine gets there, too


class Interrupts:
    """Raises KeyboardInterrupt in the main thread, in the middle of what is attempted."""

    def __init__(self, seed: int) -> None:
        self.count = 0
        self._random = Random(seed)
        self._inside = False
        self._before: Any = None

    def __enter__(self) -> Self:
        self._before = signal.signal(signal.SIGALRM, self._interrupt)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, self._before)

    def _interrupt(self, *_: object) -> None:
        if self._inside:
            raise KeyboardInterrupt

    def attempt(self, work: Callable[[], T]) -> T:
        """Do some work until once it is not interrupted; return what it returns."""
        limit_s = FIRST_S
        while True:
            signal.setitimer(signal.ITIMER_REAL, limit_s * self._random.uniform(0.05, 1.0))
            try:
                self._inside = True
                found = work()
                self._inside = False
            except KeyboardInterrupt:
                self._inside = False
                self.count += 1
                limit_s *= GROWTH
            else:
                return found
