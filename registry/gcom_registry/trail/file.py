"""The file of the trail, `trail.jsonl` in the data folder: lines in the order of the events, bounded by rotation.

A line is with the system before the request is answered, and not synced to the disk. What cannot be written is counted,
and told by a line once there is room: the registry goes on, and says that it is ill. Refusals are bounded in time as
well, so that a stranger's flood does not push what others did out of the files: what is refused again is counted.
"""

from __future__ import annotations

import json
import os
import threading
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic

from gcom.runtime import pyro
from gcom.values.names import Process

FILE = "trail.jsonl"
BYTES_MAX, FILES_MAX = 8 * 1024 * 1024, 8  # of one file, and files: at the bound the oldest file is removed
REFUSALS_MAX, REFUSALS_S = 100, 60.0  # lines about refusals in so many seconds; the rest is counted
REASON_CHARS_MAX = 500
DEPARTED_MAX = 1024  # processes whose late requests are no strangers'; of the oldest they are told


class Trail:
    """The trail in a folder, which must be there when the first event is noted; without one nothing is kept.

    Any thread may note an event. `trouble` says why the last line was not written, and is empty if it was.
    """

    def __init__(self, folder: Path | None, bytes_max: int = BYTES_MAX) -> None:
        self.trouble = ""
        self._path = folder / FILE if folder else None
        self._bytes_max = bytes_max
        self._lock = threading.Lock()
        self._descriptor = -1
        self._missed = self._unnamed = 0
        self._refused: set[tuple[object, ...]] = set()  # what has a line of late
        self._refusals_since = monotonic()
        self._departed: dict[str, None] = {}
        self.ended_s = self._path.stat().st_mtime if self._path and self._path.exists() else 0.0  # as it was found

    def note(self, event: str, **facts: object) -> None:
        """Write a line about an event that took place; the peer that is being served is named by itself."""
        if self._path is not None:
            with self._lock:
                self._write(event, facts)

    def refuse(self, request: str, reason: str, **facts: object) -> None:
        """Write a line about a refused request, unless the like, or too many, were refused of late."""
        if self._path is None:
            return
        who, host = facts.get("by", str(pyro.peer())), str(facts.get("from", "")).rpartition(":")[0]
        like = (request, facts.get("group", reason), who, host)
        with self._lock:
            self._tell_unnamed()
            if like in self._refused or len(self._refused) >= REFUSALS_MAX:
                self._unnamed += 1
            else:
                self._refused.add(like)
                self._write("refused", {"request": request, "reason": reason[:REASON_CHARS_MAX], **facts})

    def remember_departure(self, process: Process) -> None:
        """Remember that a process has left its group, or was put out."""
        with self._lock:
            self._departed[process] = None
            if len(self._departed) > DEPARTED_MAX:
                del self._departed[next(iter(self._departed))]

    def has_departed(self, process: Process) -> bool:
        """Tell whether a process has left its group of late, or was put out."""
        with self._lock:
            return process in self._departed

    def retry(self) -> None:
        """Write what is due: the count of missed lines, and that of refusals without a line."""
        if self._path is None:
            return
        with self._lock:
            self._tell_unnamed()
            self._tell_missed()

    def close(self) -> None:
        with self._lock:
            if self._descriptor >= 0:
                os.close(self._descriptor)
            self._path, self._descriptor = None, -1

    def _tell_unnamed(self) -> None:
        if monotonic() - self._refusals_since < REFUSALS_S:
            return
        unnamed, self._unnamed, self._refused = self._unnamed, 0, set()
        self._refusals_since = monotonic()
        # Not of the peer that is being served: it may have asked for none of these.
        if unnamed and not self._append({"time": _now(), "event": "refusals", "count": unnamed}):
            self._missed += 1

    def _tell_missed(self) -> bool:
        """Tell whether no line is missed that this one does not tell of."""
        if self._missed and self._append({"time": _now(), "event": "missed", "count": self._missed}):
            self._missed = 0
        return not self._missed

    def _write(self, event: str, facts: dict[str, object]) -> None:
        row = {"time": _now(), "event": event, **facts}
        if (who := pyro.peer()) is not None:
            row = {**row, "by": str(who), "from": pyro.peer_place()}
        if not (self._tell_missed() and self._append(row)):
            self._missed += 1

    def _append(self, row: dict[str, object]) -> bool:
        line = json.dumps(row, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"
        try:
            size = self._opened(len(line))
            if os.write(self._descriptor, line) < len(line):
                os.ftruncate(self._descriptor, size)  # half a line would spoil the next one
                raise OSError("no room")
        except OSError as error:
            self.trouble = f"the audit trail {str(self._path)!r} cannot be written: {error.strerror or error}"
            return False
        self.trouble = ""
        return True

    def _opened(self, more: int) -> int:
        """Open the file, or the next one where this is full or gone, and return its size."""
        assert self._path is not None, "only a trail with a file writes"
        if self._descriptor >= 0:
            state = os.fstat(self._descriptor)
            if state.st_nlink and state.st_size + more <= self._bytes_max:
                return state.st_size
            os.close(self._descriptor)
            self._descriptor = -1
        if self._path.exists() and self._path.stat().st_size + more > self._bytes_max:
            self._rotate(self._path)
        self._descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        return os.fstat(self._descriptor).st_size

    @staticmethod
    def _rotate(path: Path) -> None:
        for number in range(FILES_MAX - 1, 0, -1):
            older = path.with_name(f"{path.name}.{number - 1}") if number > 1 else path
            if older.exists():
                older.replace(path.with_name(f"{path.name}.{number}"))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
