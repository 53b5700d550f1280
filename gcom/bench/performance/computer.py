"""The machine, the interpreter and the commit that a page of figures is of."""

from __future__ import annotations

import os
import platform
import subprocess
from dataclasses import dataclass
from pathlib import Path

import gcom

_ROOT = Path(__file__).resolve().parent.parent.parent.parent
_PROCESSORS = Path("/proc/cpuinfo")


@dataclass(frozen=True, slots=True)
class Computer:
    """The environment of a measurement; `load` is the machine's load average when it began."""

    processor: str
    cores: int
    system: str
    python: str
    load: float
    commit: str

    @classmethod
    def here(cls) -> Computer:
        system, python = f"{platform.system()} {platform.release()}", platform.python_version()
        # The load before anything of ours runs: the page says so where others kept the machine busy.
        return cls(_processor(), os.cpu_count() or 1, system, python, os.getloadavg()[0], commit())


def _processor() -> str:
    if _PROCESSORS.exists():
        for line in _PROCESSORS.read_text().splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    return platform.processor() or platform.machine()


def commit(root: Path = _ROOT) -> str:
    """Return the commit of a checkout, and whether files differ from it; of what is installed, its version."""
    head = _git(root, "rev-parse", "--short=10", "HEAD")
    # An installed copy may lie inside of another project's checkout, whose commit says nothing of GCom.
    if not head or not (root / "pyproject.toml").exists():
        return f"version {gcom.__version__}"
    # Files that git does not know are no part of what was measured.
    return f"{head} with changes" if _git(root, "status", "--porcelain", "--untracked-files=no") else head


def _git(root: Path, *words: str) -> str:
    """Return what git prints; empty where there is no git, or no checkout."""
    try:
        done = subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return done.stdout.strip()
