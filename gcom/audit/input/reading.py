"""Readers of a log folder: the list of its segments, and one of them opened, in either form.

Spark's own listing hides files that begin with a dot, and these hold what a process that is alive, or crashed, wrote
last. So segments are listed and opened here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from gcom.audit.input.compact import compact_opening, from_parquet, to_parquet
from gcom.audit.input.files import (
    WRITTEN_BY,
    folders_without,
    is_unsealed,
    list_files,
    read_file,
    read_first_line,
    sealed,
)
from gcom.audit.input.segments import LogSegment, Opening, opening_of, read_segment
from gcom.errors import BadValue, NotALog
from gcom.trace.segment import folder_name

# Six digits or more: a log of a million segments goes on counting. A dot in front: still being written.
_NAME = re.compile(r"\.?\d{6,}\.jsonl|\d{6,}\.parquet")


@dataclass(slots=True)
class Listing:
    """The files of `gcom audit LOGDIR...`; `notes` are about other files that lie there, `bare` names folders of
    processes without a segment.
    """

    sizes: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    bare: list[str] = field(default_factory=list)
    others: int = 0  # files that are no segments


def list_segments(folders: Iterable[str]) -> Listing:
    """Return all segments under `folders`, sealed or not, sorted. Raises NotALog if there are none."""
    listing = Listing()
    for folder in folders:
        files = list_files(folder)
        found = {path: size for path, size in files.items() if _NAME.fullmatch(_base(path))}
        listing.others += len(files) - len(found)
        listing.bare += folders_without(folder, found)
        for path, size in found.items():
            # A process was killed between writing the sealed name and removing the other, or somebody copied in
            # between. The sealed one is whole.
            if is_unsealed(path) and sealed(path) in found:
                listing.notes.append(f"{path}: its sealed twin is read instead")
            else:
                listing.sizes[path] = size
    if not listing.sizes:
        raise NotALog(
            f"no delivery logs in {', '.join(folders)}: expected <member>/<incarnation>/<segment>.jsonl, got "
            f"{f'only {listing.others:,} other files' if listing.others else 'no files'}; {WRITTEN_BY}"
        )
    return listing


def _base(path: str) -> str:
    return path.rpartition("/")[2]


def open_segment(path: str) -> LogSegment | str:
    """Return the segment in a file, or the reason why it is none. Raises OSError if the file cannot be read."""
    try:
        return from_parquet(path) if path.endswith(".parquet") else read_segment(path, read_file(path))
    except FileNotFoundError:
        return "it went away after it had been listed"


def read_opening(path: str) -> tuple[Opening | None, str]:
    """Return the opening of the segment in a file, and its defect ("" if it has none)."""
    if path.endswith(".parquet"):
        return compact_opening(path)
    line = read_first_line(path)
    # Without an end the line may be half: its process was killed while it began the segment, and wrote
    # no record in it.
    return opening_of(line) if line.endswith(b"\n") else (None, "no delivery log: it has no whole first line")


def compact(listing: Listing, into: Path, tell: Callable[[str], None]) -> int:
    """Write each segment of the listing under `into`, which must be empty; return the number of bytes written.

    `tell` gets the path of each file before it is read. Raises BadValue, NotALog, or OSError.
    """
    if into.exists() and any(into.iterdir()):
        raise BadValue(f"{into} is not empty: expected a new folder for the Parquet files; name another")
    size = 0
    for path in listing.sizes:
        tell(path)
        segment = open_segment(path)
        # Without a file that is no segment the copy would get another verdict than the original, and nobody would know.
        if isinstance(segment, str):
            raise NotALog(segment)
        member, _, incarnation = segment.opening.process.partition("#")
        home = into / folder_name(member) / folder_name(incarnation)
        home.mkdir(parents=True, exist_ok=True)
        target = home / f"{segment.opening.segment:06}.parquet"
        # Two folders may hold logs of one process; only the audit can tell whether they are copies or two writers.
        if target.exists():
            what = f"segment {segment.opening.segment} of {segment.opening.process}"
            raise BadValue(f"two files for {what}: expected one, got {path} as well; compact each folder by itself")
        to_parquet(segment, target)
        size += target.stat().st_size
    return size
