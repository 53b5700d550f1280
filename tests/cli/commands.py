"""Commands as a shell runs them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import chdir, contextmanager, redirect_stderr
from io import BytesIO, TextIOWrapper
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO
from unittest.mock import patch

from gcom.cli import app
from tests import running
from tests.running import LIMIT_S, Child


def environment(registry: str | None) -> dict[str, str]:
    """Ours for a command: the packages of this checkout, and that registry."""
    return running.environment(GCOM_REGISTRY=registry) if registry else running.environment()


def gcom_command(*words: str) -> list[str]:
    return [sys.executable, "-m", "gcom.cli", *words]


def run_gcom(
    *words: str, registry: str | None = None, stdin: bytes = b"", cwd: Path | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run one command to its end."""
    return subprocess.run(
        gcom_command(*words), input=stdin, capture_output=True, env=environment(registry), timeout=LIMIT_S * 2, cwd=cwd
    )


def run_here(*words: str, stdin: bytes = b"", cwd: Path) -> subprocess.CompletedProcess[bytes]:
    """Run one command to its end in this process: as `run_gcom`, without the start of another Python."""
    err = BytesIO()
    with (
        chdir(cwd),
        _written_to(1) as out,
        redirect_stderr(TextIOWrapper(err, "utf-8", write_through=True)),
        patch.object(sys, "stdin", TextIOWrapper(BytesIO(stdin), "utf-8")),
    ):
        status = app.run(words)
        out.seek(0)
        return subprocess.CompletedProcess(words, status, out.read(), err.getvalue())


@contextmanager
def _written_to(descriptor: int) -> Iterator[IO[bytes]]:
    """Yield a file that takes what is written to a descriptor: commands write there, and not to `sys.stdout`."""
    kept = os.dup(descriptor)
    try:
        with TemporaryFile() as file:
            os.dup2(file.fileno(), descriptor)
            yield file
    finally:
        os.dup2(kept, descriptor)
        os.close(kept)


class Command(Child):
    """A command that runs."""

    def __init__(self, *words: str, registry: str, stdin: IO[bytes] | int = subprocess.PIPE) -> None:
        super().__init__(gcom_command(*words), environment(registry), stdin)

    def until_members(self, count: int) -> None:
        """Wait for a view of that many, told in JSON."""
        self.until(lambda: any(len(row.get("members", ())) == count for row in self.rows()), f"view of {count}")


def no_traceback(*texts: str) -> bool:
    return not any("Traceback" in text or "Exception" in text for text in texts)
