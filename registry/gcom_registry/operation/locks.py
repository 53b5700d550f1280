"""The processes that have a file locked, as Linux tells them (proc_locks(5))."""

from __future__ import annotations

import os
from pathlib import Path

TABLE = Path("/proc/locks")


def held_by(path: Path) -> str:
    """Return in words who has a file locked, to be put behind an error; empty where nobody tells."""
    try:
        state, lines = path.stat(), TABLE.read_text().splitlines()
    except OSError:
        return ""
    place = f"{os.major(state.st_dev):02x}:{os.minor(state.st_dev):02x}:{state.st_ino}"
    # As in: 1: POSIX  ADVISORY  WRITE 4711 fe:01:1835 1073741824 1073742335
    found = {words[4] for line in lines if len(words := line.split()) > 5 and words[5] == place}
    return ": " + ", ".join(sorted(f"process {it}{_name(it)}" for it in found)) if found else ""


def _name(process: str) -> str:
    try:
        return f" ({Path('/proc', process, 'comm').read_text().strip()})"
    except OSError:  # over by now, or of another namespace
        return ""
