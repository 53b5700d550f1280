"""Commands as a shell runs them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import IO

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


class Command(Child):
    """A command that runs."""

    def __init__(self, *words: str, registry: str, stdin: IO[bytes] | int = subprocess.PIPE) -> None:
        super().__init__(gcom_command(*words), environment(registry), stdin)

    def until_members(self, count: int) -> None:
        """Wait for a view of that many, told in JSON."""
        self.until(lambda: any(len(row.get("members", ())) == count for row in self.rows()), f"view of {count}")


def no_traceback(*texts: str) -> bool:
    return not any("Traceback" in text or "Exception" in text for text in texts)
