"""Access to log files: in a folder of this machine, or on a file system that Arrow reaches (hdfs, s3, gs, abfs).

Both the driver and the tasks open files by their full names. Credentials of remote file systems are those of the
environment, as Arrow takes them.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from gcom.errors import AuditUnavailable, NotALog

WRITTEN_BY = "give the folder that --log-dir named (`gcom join --log-dir FOLDER`, `gcom.Node(log_dir=...)`)"
UNREADABLE = "it cannot be read"
_CHECK = "check its name, and the credentials in the environment"
_ALIASES = {"s3a://": "s3://", "s3n://": "s3://"}  # what Spark calls it: what Arrow calls it
# Six digits or more: a log of a million segments goes on counting. A dot in front: still being written.
_SEGMENT = re.compile(r"\.?\d{6,}\.jsonl|\d{6,}\.parquet")
_LINE_BYTES_MAX = 1 << 24  # of a first line
_T = TypeVar("_T")


def is_remote(name: str) -> bool:
    """Return whether the file of this full name can be read only through Arrow's file systems."""
    return "://" in name and not name.startswith("file://")


def local(name: str) -> Path:
    """Return the path of a file that is not remote."""
    return Path(name.removeprefix("file://"))


@dataclass(slots=True)
class FileList:
    """The files under a folder with their sizes, and a sentence about each path that could not be looked at."""

    sizes: dict[str, int] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)

    def refuse(self, path: str, error: OSError) -> None:
        self.unread.append(f"{path}: {UNREADABLE}: {error.strerror or error}")


def absolute(folder: str) -> str:
    """Return the full name of a folder: a task may run in another folder than this process."""
    return folder if is_remote(folder) else os.path.abspath(local(folder))


def list_files(folder: str) -> FileList:
    """Return all files under `folder`, a full name. Raises NotALog if it is no folder, or AuditUnavailable."""
    if is_remote(folder):
        return FileList(_list_remote(folder))
    root = local(folder)
    if not root.exists():
        raise NotALog(f"{folder} does not exist: expected a folder of delivery logs; {WRITTEN_BY}")
    if root.is_file():
        raise NotALog(f"{folder} is a file: expected a folder of delivery logs; {WRITTEN_BY}")
    found = FileList()
    # Sorted, so that notes and examples come in one order on every machine.
    for path in sorted(_walk(str(root), found)):
        try:
            info = _follow(path, os.stat)
        except OSError as error:
            # Of other files only a link to nothing matters: it may stand for a folder of logs. Another one that is
            # gone was removed since.
            if is_segment(path) or os.path.islink(path):
                found.refuse(path, error)
            continue
        if stat.S_ISREG(info.st_mode):
            found.sizes[path] = info.st_size
        elif is_segment(path):
            found.unread.append(f"{path}: {UNREADABLE}: it is no file")
    return found


def _walk(root: str, found: FileList) -> Iterator[str]:
    """Yield the paths of all files under `root`; linked folders are followed, each folder is gone through once."""
    seen = set()
    for home, folders, names in os.walk(root, followlinks=True, onerror=lambda e: found.refuse(str(e.filename), e)):
        real = os.path.realpath(home)
        # A link may lead back to a folder that it lies in. The walk ends, as a folder is entered once.
        if real in seen:
            folders.clear()
            continue
        seen.add(real)
        folders.sort()
        yield from (os.path.join(home, name) for name in names)


def folders_without(folder: str, files: Iterable[str]) -> list[str]:
    """Return the folders of processes under `folder` that have none of its segments; remote ones are not looked at."""
    if is_remote(folder):
        return []
    # A process makes its folder and its first segment at once, so somebody took the segments away.
    kept = {local(name).parent for name in files if "\\" not in name}
    logs = {home.parent.parent for home in kept}
    found = {home for log in logs if log.is_relative_to(local(folder)) for home in log.glob("[!.]*/[!.]*")}
    # By their real names: a linked folder is listed under one of its names only.
    real = {os.path.realpath(home) for home in kept}
    return sorted(str(home) for home in found if os.path.realpath(home) not in real and _has_no_folder(home))


def _has_no_folder(home: Path) -> bool:
    """Tell whether this is a folder without another in it; a log copied beside others has its processes one deeper."""
    try:
        return not any(each.is_dir() for each in home.iterdir())
    except OSError:  # a file, or a folder that cannot be read, which the listing has told
        return False


def base_of(name: str) -> str:
    """Return the last part of a file's name.

    An archive that was made on Windows, and unpacked elsewhere, gives files with backslashes in their names.
    """
    return re.split(r"[/\\]", name)[-1]


def is_segment(name: str) -> bool:
    """Tell whether a file's name is that of a segment."""
    return _SEGMENT.fullmatch(base_of(name)) is not None


def resembles_segment(name: str) -> bool:
    """Tell whether a file's name says that it may be a segment: packed, or under another name."""
    base = base_of(name)
    return base.lower().endswith(".jsonl") or _SEGMENT.match(base) is not None


def is_unsealed(name: str) -> bool:
    """Tell whether a segment's name says that it is still written to."""
    return base_of(name).startswith(".")


def sealed(name: str) -> str:
    """Return the name that an unsealed segment gets when it is sealed."""
    base = base_of(name)
    return name.removesuffix(base) + base[1:]


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


def read_file(name: str, size: int = -1) -> bytes:
    """Return the first `size` bytes of the file, or all; also if it was sealed since it was listed. Raises OSError."""
    return _follow(name, lambda known: _read_file(known, size))


def read_first_line(name: str, size: int = _LINE_BYTES_MAX) -> bytes:
    """Return the first line, with its end if it has one within `size` bytes and 16 MiB; of a file as in `read_file`."""
    return _follow(name, lambda known: _read_first_line(known, min(size, _LINE_BYTES_MAX)))


def is_readable(name: str) -> bool:
    """Tell whether this process can read the file."""
    try:
        read_first_line(name, 1)
    except OSError:
        return False
    return True


def _read_file(name: str, size: int) -> bytes:
    if not is_remote(name):
        with local(name).open("rb") as file:
            return file.read(size)
    system, path = _system_of(name)
    with system.open_input_stream(path) as stream:
        data: bytes = stream.read(None if size < 0 else size)
        return data


def _read_first_line(name: str, most: int) -> bytes:
    if not is_remote(name):
        with local(name).open("rb") as file:
            return file.readline(most)
    system, path = _system_of(name)
    line = b""
    with system.open_input_stream(path) as stream:
        # It ends: each piece has a byte or more, and `most` of them suffice.
        while b"\n" not in line and len(line) < most:
            # An opening with the state of many groups is longer than a block; the bound stops at a file that is
            # no log and has no line end at all.
            piece = stream.read(min(1 << 16, most - len(line)))
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
