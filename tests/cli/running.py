"""Commands as a shell runs them: real processes with pipes, each ended when its test ends, every wait bounded."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import IO, Any, Self

ROOT = Path(__file__).resolve().parent.parent.parent
LIMIT_S = 30.0

Row = dict[str, Any]


def environment(registry: str | None) -> dict[str, str]:
    """Ours for a command: the packages of this checkout, and that registry."""
    found = {name: value for name, value in os.environ.items() if name not in ("GCOM_REGISTRY", "NO_COLOR")}
    found["PYTHONPATH"] = str(ROOT)
    return {**found, "GCOM_REGISTRY": registry} if registry else found


def gcom_command(*words: str) -> list[str]:
    return [sys.executable, "-m", "gcom.cli", *words]


def run_gcom(
    *words: str, registry: str | None = None, stdin: bytes = b"", cwd: Path | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run one command to its end."""
    return subprocess.run(
        gcom_command(*words), input=stdin, capture_output=True, env=environment(registry), timeout=LIMIT_S * 2, cwd=cwd
    )


class Command:
    """A command that runs; its two outputs are read as they come."""

    def __init__(self, *words: str, registry: str, stdin: IO[bytes] | int = subprocess.PIPE) -> None:
        self.process = subprocess.Popen(
            gcom_command(*words),
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(registry),
        )
        self.out: list[str] = []
        self.errors: list[str] = []
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

    def until(self, condition: Callable[[Command], bool]) -> None:
        """Return when the condition holds; it is looked at whenever a line came."""
        deadline = monotonic() + LIMIT_S
        while not condition(self):
            try:
                self._news.get(timeout=max(0.01, deadline - monotonic()))
            except queue.Empty:
                raise AssertionError(f"not in {LIMIT_S} s: {self.out[-5:]} {self.errors[-5:]}") from None

    def until_members(self, count: int) -> None:
        """Wait for a view of that many, told in JSON."""
        self.until(lambda it: any(len(row.get("members", ())) == count for row in it.rows()))

    def rows(self, kind: str | None = None) -> list[Row]:
        rows: list[Row] = [json.loads(line) for line in list(self.out)]
        return [row for row in rows if kind is None or row["type"] == kind]

    def write(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def end(self) -> int:
        """Wait for the end, and for the last of its lines; the exit status."""
        status = self.process.wait(LIMIT_S)
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


def no_traceback(*texts: str) -> bool:
    return not any("Traceback" in text or "Exception" in text for text in texts)
