"""The delivery logs of a simulated run, for the audit: one of each process, with the records of its replica."""

from __future__ import annotations

from pathlib import Path

from gcom.errors import Unavailable
from gcom.trace.writer import DeliveryLog

WALL_NS = 1_700_000_000_000_000_000  # when all simulated runs begin


class SimulatedLogs:
    """The logs of a run, in a folder of its own. Time is the number of records."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._logs: dict[str, DeliveryLog] = {}
        self._us = 0

    def of(self, process: str) -> DeliveryLog:
        """Return the log of a process that lives."""
        if process not in self._logs:
            self._logs[process] = DeliveryLog(
                self._folder, process, wall_ns=WALL_NS, clock_us=self._now_us, on_trouble=self._on_trouble
            )
        return self._logs[process]

    def crash(self, process: str) -> None:
        """End the log of a process as a kill does: the operating system has what was written."""
        if log := self._logs.pop(process, None):
            log.flush()
            log.abandon()

    def close(self) -> None:
        """Seal the logs of all that live."""
        for log in self._logs.values():
            log.close()

    def _now_us(self) -> int:
        self._us += 1
        return self._us

    def _on_trouble(self, text: str) -> None:
        raise Unavailable(text)
