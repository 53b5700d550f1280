"""Files that nobody but the user may read, and where they are."""

from __future__ import annotations

import os
import secrets
import stat
from pathlib import Path

from platformdirs import user_data_path, user_state_path

from gcom.errors import BadValue


def data_folder() -> Path:
    """Return the user's data folder of GCom; it need not be there."""
    return user_data_path("gcom", appauthor=False)


def state_folder() -> Path:
    """Return the user's folder of what GCom keeps from run to run; it need not be there."""
    return user_state_path("gcom", appauthor=False)


def make_folder(folder: Path) -> Path:
    """Make a folder that nobody else may enter, and those above it; raises BadValue."""
    try:
        # The mode is for the last folder alone, and one that is there keeps its own: so each file that is private is
        # made so by itself, too.
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise BadValue(f"folder {str(folder)!r} cannot be made: {error.strerror}") from error
    return folder


def write(path: Path, data: bytes) -> None:
    """Write a file whole, readable by the user alone, in place of what was there; raises BadValue."""
    # Beside it: a rename is one step within a file system only. A random end: two writers never share the file.
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        # Private from its first byte on: a file that is closed to others afterwards was open to them for a moment.
        with open(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(data)
            file.flush()
            # On the disk before it takes the name: a crash leaves the old file or the new one, and never a part.
            os.fsync(file.fileno())
        os.replace(beside, path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise BadValue(f"file {str(path)!r} cannot be written: {error.strerror}") from error


def read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise BadValue(f"file {str(path)!r} cannot be read: {error.strerror}") from error


def read_private(path: Path) -> bytes:
    """Return the bytes of a file that must be the user's alone; raises BadValue, also where others may read it."""
    refuse_loose(path)
    return read(path)


def refuse_loose(path: Path) -> None:
    """Raise BadValue for a file that is not there, or that others may read."""
    try:
        mode = path.stat().st_mode
    except OSError as error:
        raise BadValue(f"file {str(path)!r} cannot be read: {error.strerror}") from error
    if os.name == "posix" and stat.S_IMODE(mode) & 0o077:
        raise BadValue(f"key file {str(path)!r} may be read by others: chmod 600 {path}")
