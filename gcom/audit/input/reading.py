"""Readers of a log folder: the list of its segments, and one of them opened, in either form.

Spark's own listing hides files that begin with a dot, and these hold what a process that is alive, or crashed, wrote
last. So segments are listed and opened here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from gcom.audit.input.compact import compact_opening, from_parquet, to_parquet
from gcom.audit.input.files import (
    UNREADABLE,
    WRITTEN_BY,
    absolute,
    base_of,
    folders_without,
    is_segment,
    is_unsealed,
    list_files,
    read_file,
    read_first_line,
    resembles_segment,
    sealed,
)
from gcom.audit.input.segments import LogSegment, Opening, opening_of, read_segment
from gcom.errors import BadValue, NotALog
from gcom.trace.segment import folder_name

NO_SEGMENT = "the folder of a process, without a segment of its log"
GONE = "it went away after it had been listed"


@dataclass(slots=True)
class Listing:
    """The segments of `gcom audit LOGDIR...` with their sizes now: of each so much is read, though it may grow.

    `notes` are about files that are passed over. `unread` names the files and folders that may hold logs and are not
    read.
    """

    sizes: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    others: int = 0  # files that are no segments


def list_segments(folders: Iterable[str]) -> Listing:
    """Return all segments under `folders`, sealed or not, sorted. Raises NotALog if there are none."""
    listing = Listing()
    for folder in map(absolute, folders):
        files = list_files(folder)
        found = {path: size for path, size in files.sizes.items() if is_segment(path)}
        listing.others += len(files.sizes) - len(found)
        listing.unread += files.unread
        others = (_misnamed(path, files.sizes) for path in files.sizes if path not in found)
        listing.unread += [wrong for wrong in others if wrong]
        listing.unread += [f"{each}: {NO_SEGMENT}" for each in folders_without(folder, found)]
        for path, size in found.items():
            # A process was killed between writing the sealed name and removing the other, or somebody copied in
            # between. The sealed one is whole.
            if is_unsealed(path) and sealed(path) in found:
                listing.notes.append(f"{path}: its sealed twin is read instead")
            else:
                listing.sizes[path] = size
    if not listing.sizes:
        got = f"only {listing.others:,} other files" if listing.others else "no files"
        raise NotALog(
            f"no delivery logs in {', '.join(folders)}: expected <member>/<incarnation>/<segment>.jsonl, got "
            f"{'; '.join([got, *listing.unread[:1]])}; {WRITTEN_BY}"
        )
    return listing


def _misnamed(path: str, sizes: dict[str, int]) -> str:
    """Return why a file that is no segment by its name may be one all the same; empty if it is none."""
    if not resembles_segment(path):
        return ""
    base = base_of(path)
    if base.lower().endswith(".jsonl"):
        opening, wrong = read_opening(path, sizes[path])
        if opening is not None:
            return f"{path}: a delivery log under a name that no segment has; name it as <6 digits>.jsonl"
        return f"{path}: {wrong}" if wrong.startswith(UNREADABLE) else ""
    # As `000003.jsonl.gz`: the segment itself may lie beside it.
    whole = path.removesuffix(base) + base[: base.index(".", 1)]
    unpacked = {f"{whole}{kind}" for kind in (".jsonl", ".parquet")} & sizes.keys()
    return "" if unpacked else f"{path}: a segment in a form that is not read; unpack it"


def open_segment(path: str, size: int = -1) -> LogSegment | str:
    """Return the segment in the first `size` bytes of a file, or the reason why it is none."""
    try:
        return from_parquet(path) if path.endswith(".parquet") else read_segment(path, read_file(path, size))
    except FileNotFoundError:
        return GONE
    except OSError as error:
        return f"{UNREADABLE}: {error.strerror or error}"


def read_opening(path: str, size: int = -1) -> tuple[Opening | None, str]:
    """Return the opening of the segment in a file, and its defect ("" if it has none)."""
    try:
        if path.endswith(".parquet"):
            return compact_opening(path)
        line = read_first_line(path, size)
    except OSError as error:
        return None, f"{UNREADABLE}: {error.strerror or error}"
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
    for path, listed in listing.sizes.items():
        tell(path)
        segment = open_segment(path, listed)
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
