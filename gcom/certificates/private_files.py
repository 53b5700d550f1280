"""Files that nobody but the user may read, and where they are.

What does not pass by itself, such as a path that is none or a folder that others may enter, is BadValue. A disk that
is full, read-only or fails is StorageUnavailable: the same call may succeed later.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Callable
from pathlib import Path

from platformdirs import user_config_path, user_data_path, user_state_path

from gcom.errors import BadValue, GComError, StorageUnavailable

# The path itself is wrong, and waiting mends nothing.
_WRONG_PATH = frozenset(
    (errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.ENAMETOOLONG, errno.ELOOP, errno.EINVAL)
)
_WRONG_FILE = _WRONG_PATH | {errno.EACCES, errno.EPERM}  # to a reader; a writer meets these in a read-only folder
_OTHERS = 0o077  # permissions of all but the owner


def data_folder() -> Path:
    """Return the user's data folder of GCom; it need not be there. Raises BadValue where the user has no home."""
    return _of_user(user_data_path)


def state_folder() -> Path:
    """Return the user's folder of what GCom keeps from run to run, as `data_folder`."""
    return _of_user(user_state_path)


def config_folder() -> Path:
    """Return the user's folder of settings, as `data_folder`."""
    return _of_user(user_config_path)


def _of_user(find: Callable[..., Path]) -> Path:
    try:
        return find("gcom", appauthor=False)
    except RuntimeError as error:  # as a service has it, or a container whose user is a number alone
        raise BadValue("this user has no home folder: set HOME to a folder of its own") from error


def make_folder(folder: Path) -> Path:
    """Make a folder that nobody else may enter, and those above it that are missing; raises BadValue."""
    try:
        if not folder.parent.exists():
            make_folder(folder.parent)
        if not folder.is_dir():
            folder.mkdir(mode=0o700)
            folder.chmod(0o700)  # a umask may have taken the owner's own permissions
    except FileExistsError as error:
        # Another process may have made it just now.
        if not folder.is_dir():
            raise failure(error, f"folder {str(folder)!r} cannot be made") from error
    except OSError as error:
        raise failure(error, f"folder {str(folder)!r} cannot be made", _WRONG_PATH) from error
    return folder


def make_file(path: Path) -> bool:
    """Make an empty file that nobody else may read, unless it is there; return whether it was made."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return False
    except OSError as error:
        raise failure(error, f"file {str(path)!r} cannot be made", _WRONG_PATH) from error
    os.fchmod(descriptor, 0o600)
    os.close(descriptor)
    return True


def write(path: Path, data: bytes) -> None:
    """Write a file whole, readable by the user alone, in place of what was there; raises BadValue."""
    # Beside it: a rename is one step within a file system only. A random end: two writers never share the file.
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        # Private from its first byte on: a file that is closed to others afterwards was open to them for a moment.
        with open(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            os.fchmod(file.fileno(), 0o600)
            file.write(data)
            file.flush()
            # On the disk before it takes the name: a crash leaves the old file or the new one, and never a part.
            os.fsync(file.fileno())
        os.replace(beside, path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise failure(error, f"file {str(path)!r} cannot be written", _WRONG_PATH) from error


def read(path: Path) -> bytes:
    """Return the bytes of a file; raises BadValue."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise failure(error, f"file {str(path)!r} cannot be read") from error


def read_private(path: Path) -> bytes:
    """Return the bytes of a file that must be the user's alone; raises BadValue, also where others may read it."""
    refuse_loose(path)
    return read(path)


def refuse_loose(path: Path) -> None:
    """Raise BadValue for a file that is not there, or that others may read."""
    if _state(path, "file").st_mode & _OTHERS and os.name == "posix":
        raise BadValue(f"key file {str(path)!r} may be read by others: chmod 600 {path}")


def refuse_open_folder(folder: Path, *files: str) -> None:
    """Raise BadValue unless a folder, and those of the files in it that are there, are this user's alone."""
    for path in (folder, *(folder / name for name in files)):
        kind = "folder" if path == folder else "file"
        if os.name == "posix" and (path == folder or path.exists()):
            _refuse_open(kind, path, folder)


def _refuse_open(kind: str, path: Path, folder: Path) -> None:
    state = _state(path, kind)
    if state.st_uid != os.geteuid():
        raise BadValue(
            f"{kind} {str(path)!r} is of user {owner(state.st_uid)}, and not of {owner(os.geteuid())}: run this as "
            "that user, or name another folder"
        )
    if state.st_mode & _OTHERS:
        mode = stat.S_IMODE(state.st_mode)
        raise BadValue(f"{kind} {str(path)!r} is open to other users (mode {mode:o}): chmod -R go= {folder}")


def owner(user: int) -> str:
    """Return the name of a user by number, or the number where it has none, as in another container."""
    import pwd  # not on every system

    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return f"number {user}"


def failure(error: OSError, text: str, final: frozenset[int] = _WRONG_FILE) -> GComError:
    """Return the error for a failed operation: BadValue where its number is `final`, StorageUnavailable where not."""
    words = f"{text}: {error.strerror or error}"
    return BadValue(words) if error.errno in final else StorageUnavailable(words)


def _state(path: Path, kind: str) -> os.stat_result:
    try:
        return path.stat()
    except OSError as error:
        raise failure(error, f"{kind} {str(path)!r} cannot be read") from error
