"""Calls from other threads into a loop, which is woken once for all that came since it looked last."""

from __future__ import annotations

from asyncio import get_running_loop
from collections import deque
from collections.abc import Callable
from contextlib import suppress


class LoopWakes:
    """Calls that the loop that runs now is to make, in their order."""

    def __init__(self) -> None:
        self._loop = get_running_loop()
        self._calls: deque[Callable[[], object]] = deque()
        self._woken = False

    def post(self, call: Callable[[], object]) -> None:
        """Have the loop make a call. Any thread may use it; of a loop that is closed nothing is called any more."""
        self._calls.append(call)
        if not self._woken:
            self._woken = True
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._make_calls)

    def _make_calls(self) -> None:
        # First: a call that is posted from here on wakes the loop again.
        self._woken = False
        for _ in range(len(self._calls)):
            self._calls.popleft()()
