"""Programs as real processes with pipes: their lines are read as they come, every wait is bounded, and each is ended
when its test ends."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import IO, Any, Self, TypeVar

ROOT = Path(__file__).resolve().parent.parent
LIMIT_S = 120.0  # for what takes seconds at most, also where others use the machine

Row = dict[str, Any]
T = TypeVar("T")


def stop(process: subprocess.Popen[Any]) -> None:
    """Send SIGSTOP, and wait until no thread of the process runs any more."""
    process.send_signal(signal.SIGSTOP)
    # On a busy machine they run on for some milliseconds: time enough to answer a peer.
    os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)


def environment(**more: str) -> dict[str, str]:
    """Ours for a program: the packages of this checkout, nothing that changes what GCom does, and `more`."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith("GCOM_") and name != "NO_COLOR"}
    return {**ours, "PYTHONPATH": str(ROOT), **more}


class Child:
    """A program that runs. `out` and `errors` are its lines so far."""

    def __init__(
        self,
        command: Sequence[str],
        env: Mapping[str, str] | None = None,
        stdin: IO[bytes] | int = subprocess.PIPE,
        before: Callable[[], object] | None = None,
    ) -> None:
        """`before` runs in the child, before the program."""
        self.process = subprocess.Popen(
            command,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment() if env is None else env,
            preexec_fn=before,
        )
        self.out: list[str] = []
        self.errors: list[str] = []
        self._rows: list[Row] = []  # of its lines, as far as somebody asked
        self._news: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._readers = [
            threading.Thread(target=self._read, args=(self.process.stdout, self.out), daemon=True),
            threading.Thread(target=self._read, args=(self.process.stderr, self.errors), daemon=True),
        ]
        for reader in self._readers:
            reader.start()

    def _read(self, stream: IO[bytes], lines: list[str]) -> None:
        with stream:
            for line in stream:
                lines.append(line.decode(errors="replace").rstrip("\n"))
                self._news.put(None)
        self._news.put(None)

    def until(self, found: Callable[[], T | None], what: str = "it") -> T:
        """Return what `found` returns, once that is true; it is asked again whenever a line came."""
        deadline = monotonic() + LIMIT_S
        while not (it := found()):
            over = not any(reader.is_alive() for reader in self._readers)
            try:
                self._news.get(timeout=0 if over else max(0.01, deadline - monotonic()))
            except queue.Empty:
                why = "it ended" if over else f"in {LIMIT_S:g} s"
                raise AssertionError(f"no {what}, {why}: {self.out[-5:]} {self.errors[-5:]}") from None
        return it

    def rows(self, kind: str | None = None) -> list[Row]:
        """Its lines, each a JSON object; of one type, if given."""
        self._rows += [json.loads(line) for line in self.out[len(self._rows) :]]
        return [row for row in self._rows if kind is None or row["type"] == kind]

    def write(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def signal(self, number: signal.Signals) -> None:
        if number is signal.SIGSTOP:
            stop(self.process)
        else:
            self.process.send_signal(number)

    def end(self, timeout_s: float = LIMIT_S) -> int:
        """Wait for the end, and for the last of its lines; the exit status."""
        status = self.process.wait(timeout_s)
        for reader in self._readers:
            reader.join(LIMIT_S)
        return status

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.end()
        if self.process.stdin is not None:
            self.process.stdin.close()
