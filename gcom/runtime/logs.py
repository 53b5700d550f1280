"""The delivery logs of one host: a file for each process, that is for each incarnation of its name.

Sessions write into them under the host's lock; one thread of the host writes them out. A log that cannot go on, for a
full disk say, ends, and the applications are told.
"""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import NamedTuple

from loguru import logger

from gcom.core.machine import GroupMachine
from gcom.core.messages.effects import Effect
from gcom.errors import BadValue
from gcom.runtime.user_process.process_events import tell_of_forks
from gcom.trace.writer import DeliveryLog
from gcom.values.names import Process


class Logging(NamedTuple):
    """The delivery logs that the application wants: in which folder, if any, and whether with digests of payloads."""

    folder: str | Path | None
    digests: bool


class DeliveryLogs:
    """The logs by process; without a folder there are none. `open` and `take_unused` hold the host's lock."""

    def __init__(self, wanted: Logging) -> None:
        """Make the folder if need be; raise BadValue if it cannot be had, before anything is half-created."""
        folder, self._digests = wanted
        if self._digests and folder is None:
            raise BadValue("log_digests needs log_dir, the folder for the logs; got none")
        self.folder = Path(folder) if folder is not None else None
        self.troubles: dict[Process, str] = {}  # why logs have ended; set and get are atomic
        self._logs: dict[Process, DeliveryLog] = {}
        tell_of_forks(self)
        try:
            if self.folder:
                self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise BadValue(f"log folder {str(folder)!r} cannot be used: {error.strerror}") from error

    def __len__(self) -> int:
        return len(self._logs)

    def open(self, process: Process) -> None:
        if self.folder is not None:
            self._logs[process] = DeliveryLog(
                self.folder,
                process,
                wall_ns=time.time_ns(),
                clock_us=lambda: time.monotonic_ns() // 1000,
                on_trouble=partial(self._on_trouble, process),
                digests=self._digests,
            )

    def get(self, process: Process) -> DeliveryLog | None:
        return self._logs.get(process)

    def take_unused(self, used: set[Process]) -> list[DeliveryLog]:
        """Return the logs of processes that are not in use, to be closed; each holds a descriptor until then."""
        finished = [process for process in self._logs if process not in used]
        for process in finished:
            self.troubles.pop(process, None)
        # Taken out under the lock, and closed without it: closing waits for a disk.
        return [self._logs.pop(process) for process in finished]

    def flush(self) -> None:
        """Hand what was recorded to the operating system."""
        # A copy: a process that comes back opens its log under the host's lock, which this thread does not hold.
        for log in list(self._logs.values()):
            log.flush()

    def close(self) -> None:
        """Write everything out and end all logs."""
        for log in self._logs.values():
            log.close()

    def on_forked(self) -> None:
        """Let go of the files, in the child of a fork: what waits to be written is the parent's."""
        for log in self._logs.values():
            log.let_go()

    def _on_trouble(self, process: Process, text: str) -> None:
        # Called with the lock and without it, so it only notes: the thread that flushes tells the applications.
        logger.warning("{}", text)
        self.troubles[process] = text


class SessionLog:
    """A session's part of its process's delivery log. Guarded by the host's lock."""

    def __init__(self, log: DeliveryLog, machine: GroupMachine) -> None:
        self.flush_before_frame = log.flush_before_frame
        self._log = log
        self._machine = machine

    def record(self, effect: Effect) -> None:
        """Record an effect of the machine, once it knows the group's definition."""
        if definition := self._machine.definition:
            self._log.record(definition, self._machine.instance, effect)

    def confirm(self, number: int, by: str) -> None:
        """Record that a message was confirmed to the application as held by `by`."""
        definition, view = self._machine.definition, self._machine.view
        if definition and view:
            self._log.confirm(definition, self._machine.instance, view.number, number, by)
