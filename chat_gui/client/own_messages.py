"""The own messages of a group that not all members are known to hold yet."""

from __future__ import annotations

from collections import deque

import gcom

LOOKS_MAX = 64  # receipts per look


class OwnMessages:
    """Numbers of own messages, oldest first; for one thread. While there are none it asks for nothing."""

    def __init__(self, group: gcom.Group) -> None:
        self._group = group
        self._told = group.definition.multicast is gcom.Multicast.RELIABLE  # over BASIC nobody tells what it holds
        self._process = ""
        self._numbers: deque[int] = deque()

    def sent(self, number: int) -> None:
        """Record that a message went into the group."""
        self._restart()
        if self._told:
            self._numbers.append(number)

    def held(self) -> int:
        """Return the last message that all hold, with all before it; 0: none is new."""
        self._restart()
        # What all hold of a stream is its beginning, so the last one says it of all: one receipt, as a rule, for
        # thousands.
        if self._numbers and self._is_held(self._numbers[-1]):
            last = self._numbers[-1]
            self._numbers.clear()
            return last
        last = 0
        for _ in range(LOOKS_MAX):
            if not self._numbers or not self._is_held(self._numbers[0]):
                break
            last = self._numbers.popleft()
        return last

    def _is_held(self, number: int) -> bool:
        try:
            return self._group.receipt(number).state == "held"
        except gcom.GComError:  # the group was left, or its numbers begin anew
            return False

    def _restart(self) -> None:
        """Forget the numbers of a process that this one is no more: a return begins at 1 again."""
        if self._process != self._group.process:
            self._process = self._group.process
            self._numbers.clear()
