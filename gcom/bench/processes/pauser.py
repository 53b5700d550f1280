"""A process that stops another until its parent lets it go on, or for so long.

A process that is stopped cannot see that its parent is gone. This one sees it, so nothing stays stopped for ever.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
from time import monotonic

from gcom.bench.processes import child


def pause(process: int, seconds: float) -> None:
    """Stop the process, wait, and have it go on; report the time of each."""
    with contextlib.suppress(ProcessLookupError):  # it ended
        at = monotonic()
        os.kill(process, signal.SIGSTOP)
        child.say("stopped", at=at)
        # Until its parent lets it go, dies, or the time is over: in each case the stopped process goes on.
        select.select([sys.stdin], [], [], seconds)
        at = monotonic()
        os.kill(process, signal.SIGCONT)
        child.say("continued", at=at)
