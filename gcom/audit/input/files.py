"""Access to log files: in a folder of this machine, or on a file system that Arrow reaches (hdfs, s3, gs, abfs).

Both the driver and the tasks open files by their full names. Credentials of remote file systems are those of the
environment, as Arrow takes them.
"""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

from gcom.errors import AuditUnavailable, NotALog

WRITTEN_BY = "give the folder that --log-dir named (`gcom join --log-dir FOLDER`, `gcom.Node(log_dir=...)`)"
_CHECK = "check its name, and the credentials in the environment"
_ALIASES = {"s3a://": "s3://", "s3n://": "s3://"}  # what Spark calls it: what Arrow calls it
_T = TypeVar("_T")


def is_remote(name: str) -> bool:
    """Return whether the file of this full name can be read only through Arrow's file systems."""
    return "://" in name and not name.startswith("file://")


def local(name: str) -> Path:
    """Return the path of a file that is not remote."""
    return Path(name.removeprefix("file://"))


def list_files(folder: str) -> dict[str, int]:
    """Return all files under `folder`, with their sizes. Raises NotALog if it is no folder, or AuditUnavailable."""
    if is_remote(folder):
        return _list_remote(folder)
    root = local(folder)
    if not root.exists():
        raise NotALog(f"{folder} does not exist: expected a folder of delivery logs; {WRITTEN_BY}")
    if root.is_file():
        raise NotALog(f"{folder} is a file: expected a folder of delivery logs; {WRITTEN_BY}")
    found = {}
    # Sorted, so that notes and examples come in one order on every machine.
    for path in sorted(root.rglob("*")):
        try:
            info = _follow(str(path), lambda name: Path(name).stat())
        except FileNotFoundError:  # removed since, or a link to nothing
            continue
        if stat.S_ISREG(info.st_mode):
            found[str(path)] = info.st_size
    return found


def folders_without(folder: str, files: Iterable[str]) -> list[str]:
    """Return the folders of processes under `folder` that have none of its segments; remote ones are not looked at."""
    if is_remote(folder):
        return []
    # A process makes its folder and its first segment at once, so somebody took the segments away.
    kept = {local(name).parent for name in files}
    logs = {home.parent.parent for home in kept}
    found = {home for log in logs if log.is_relative_to(local(folder)) for home in log.glob("[!.]*/[!.]*")}
    # A log that was copied beside others has its processes a level deeper.
    bare = [home for home in found - kept if home.is_dir() and not any(each.is_dir() for each in home.iterdir())]
    return sorted(map(str, bare))


def is_unsealed(name: str) -> bool:
    """Tell whether a segment's name says that it is still written to."""
    return name.rpartition("/")[2].startswith(".")


def sealed(name: str) -> str:
    """Return the name that an unsealed segment gets when it is sealed."""
    folder, slash, base = name.rpartition("/")
    return f"{folder}{slash}{base[1:]}"


def _follow(name: str, use: Callable[[str], _T]) -> _T:
    """Return the result of `use`, also for a file that is sealed after it was listed. Raises OSError."""
    try:
        return use(name)
    except FileNotFoundError:
        if not is_unsealed(name):
            raise
        # 1. The listing has `.000003.jsonl`, which its process still writes. 2. The process seals it: the file is
        # now `000003.jsonl`. 3. The audit opens the name that it listed, and nothing is there. Its content is
        # under the new name.
        return use(sealed(name))


def read_file(name: str) -> bytes:
    """Return the bytes of the file, also if it was sealed since it was listed. Raises OSError."""
    return _follow(name, _read_file)


def read_first_line(name: str) -> bytes:
    """Return the first line, with its end if it has one within 16 MiB; of a file as in `read_file`."""
    return _follow(name, _read_first_line)


def _read_file(name: str) -> bytes:
    if not is_remote(name):
        return local(name).read_bytes()
    system, path = _system_of(name)
    with system.open_input_stream(path) as stream:
        data: bytes = stream.read()
        return data


def _read_first_line(name: str, most: int = 1 << 24) -> bytes:
    if not is_remote(name):
        with local(name).open("rb") as file:
            return file.readline(most)
    system, path = _system_of(name)
    line = b""
    with system.open_input_stream(path) as stream:
        while b"\n" not in line and len(line) < most:
            # An opening with the state of many groups is longer than a block; the bound stops at a file that is
            # no log and has no line end at all.
            piece = stream.read(1 << 16)
            if not piece:
                break
            line += piece
    return line[: line.find(b"\n") + 1] or line


def _list_remote(folder: str) -> dict[str, int]:
    from pyarrow.fs import FileSelector, FileType

    system, path = _system_of(folder)
    try:
        found = system.get_file_info(FileSelector(path, recursive=True))
    except FileNotFoundError:
        raise NotALog(f"{folder} does not exist: expected a folder of delivery logs; {WRITTEN_BY}") from None
    except OSError as error:
        raise AuditUnavailable(f"{folder} cannot be listed: {error}; {_CHECK}") from None
    root, name = path.rstrip("/"), folder.rstrip("/")
    # Arrow lists paths without the scheme that the caller gave; names get it back, since tasks
    # open files by name.
    names = {name + info.path[len(root) :]: info.size for info in found if info.type == FileType.File}
    return dict(sorted(names.items()))


def _system_of(name: str) -> tuple[Any, str]:
    """Return Arrow's file system for a full name, and the path in it; raises AuditUnavailable."""
    from pyarrow import ArrowInvalid
    from pyarrow.fs import FileSystem

    known = name
    for alias, scheme in _ALIASES.items():
        known = scheme + name.removeprefix(alias) if name.startswith(alias) else known
    try:
        system, path = FileSystem.from_uri(known)
    except (ArrowInvalid, OSError) as error:
        raise AuditUnavailable(f"{name} cannot be reached: {error}; {_CHECK}") from None
    return system, path
