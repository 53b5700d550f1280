"""`Companions`: starts the companions, starts those again that crashed, and ends them."""

from __future__ import annotations

import subprocess
import sys
import time
from contextlib import suppress

from gcom_chat.demo.script import COMPANIONS, LENGTH_S

AWAY_S = 6.0  # how long one that crashed stays away
LATER_S = 1.5  # how long after the first companion the others start
END_S = 5.0  # a companion that does not end by itself is killed


class Companions:
    """The companions of one demonstration, at a registry; `logs` is the folder of their delivery logs.

    `poll` is called now and then, and `close` at the end.
    """

    def __init__(self, registry: str, logs: str) -> None:
        self.registry, self.logs = registry, logs
        self._began = time.monotonic()
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._back_at: dict[str, float] = {}
        self.crashes = 0
        first, *others = COMPANIONS
        self._start(first)  # the oldest leads, and its crash is to show an election
        # As if they came back: `poll` starts them, and nobody waits here.
        self._back_at.update(dict.fromkeys(others, self._began + LATER_S))

    def _start(self, name: str) -> None:
        # One that comes back goes on where the others are.
        from_s = (time.monotonic() - self._began) % LENGTH_S
        of_its_own = [name, self.registry, f"{from_s:.2f}", self.logs]
        command = [sys.executable, "-m", "gcom_chat.demo.companion", *of_its_own]
        self._running[name] = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)

    def poll(self) -> None:
        """Start again who crashed some time ago."""
        now = time.monotonic()
        for name, process in self._running.items():
            # A dead process stays in the table until it is started again: it counts once.
            if process.poll() is not None and name not in self._back_at:
                self._back_at[name] = now + AWAY_S
                self.crashes += 1
        for name, at in list(self._back_at.items()):
            if now >= at:
                del self._back_at[name]
                self._start(name)

    def close(self) -> None:
        """End all; who does not leave in time is killed."""
        for process in self._running.values():
            if process.stdin:
                with suppress(OSError):
                    process.stdin.close()
        deadline = time.monotonic() + END_S
        # Waited for only now, when each has been told: they leave at the same time.
        for process in self._running.values():
            try:
                process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
