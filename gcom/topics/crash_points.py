"""Crash points: places at which a test has the process killed; off unless asked for.

GCOM_TOPICS_CRASH="append.committed:3"    SIGKILL, the third time that a commit is done and not yet answered
"""

from __future__ import annotations

import os
import signal
from collections import Counter

from gcom.errors import BadValue

VARIABLE = "GCOM_TOPICS_CRASH"
POINTS = (
    "append.judged",  # a request was accepted, nothing is written
    "append.written",  # the transaction is complete, and not committed
    "append.committed",  # it is committed, nobody knows
    "append.replied",  # the callers have their receipts
    "effect.begun",  # a handler is done, and its transaction not committed
    "effect.committed",  # it is committed, nothing of its outbox is sent
    "outbox.sent",  # messages of an outbox are stored, and still in it
    "outbox.receipted",  # they are taken out of it
    "link.sent",  # messages of a link are at the other end
)


class CrashPoints:
    """The point at which this process dies, if any."""

    def __init__(self, text: str) -> None:
        self._point, _, times = text.partition(":")
        if text and (self._point not in POINTS or not times.isdigit()):
            raise BadValue(f"{VARIABLE}={text!r} is not POINT:TIMES; points are {', '.join(POINTS)}")
        self._times = int(times or 0)
        self._passed: Counter[str] = Counter()

    def passed(self, point: str) -> None:
        """Die here if this is the point, and the time."""
        if point == self._point:
            self._passed[point] += 1
            if self._passed[point] == self._times:
                os.kill(os.getpid(), signal.SIGKILL)


CRASH_POINTS = CrashPoints(os.environ.get(VARIABLE, ""))
