"""The catalogue: all segments, sorted by process, and the chains in which they are scanned."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from itertools import repeat

from gcom.audit.input.files import read_file
from gcom.audit.input.reading import Listing, read_opening
from gcom.audit.input.segments import Opening


@dataclass(frozen=True, slots=True)
class Chain:
    """Segments of one process that one scanner goes through in order: from the log's beginning if `first`, to its end
    if `last`. `sizes` are the bytes that are read of each, as they were listed; all where there are none.
    """

    process: str
    paths: tuple[str, ...]
    first: bool = True
    last: bool = True
    sizes: tuple[int, ...] = ()

    @property
    def segments(self) -> list[tuple[str, int]]:
        """Return each path with the number of bytes that are read of it; -1 for all."""
        return [*zip(self.paths, self.sizes or repeat(-1, len(self.paths)), strict=True)]


@dataclass(slots=True)
class Catalogue:
    """All segments by process, with the `sizes` that are read. `openings` are by path; `notes` tell of files that are
    no segments, `unread` of those that may have been some.
    """

    paths: dict[str, list[str]] = field(default_factory=dict)
    openings: dict[str, Opening] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)


def catalogue(listing: Listing) -> Catalogue:
    """Sort segments by process and number; the same segment twice counts once."""
    found = Catalogue(sizes=listing.sizes, notes=[*listing.notes, *listing.unread], unread=list(listing.unread))
    by_process: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for path in listing.sizes:
        opening, wrong = read_opening(path, listing.sizes[path])
        if opening is None:
            found.notes.append(f"{path}:1: {wrong}")
            # It may have been a log: nobody knows whose, so nobody knows which groups it told of.
            found.unread.append(found.notes[-1])
        else:
            found.openings[path] = opening
            by_process[opening.process].append((opening.segment, path))
    for process, segments in sorted(by_process.items()):
        found.paths[process] = _without_copies(process, sorted(segments), found)
    return found


def _without_copies(process: str, segments: list[tuple[int, str]], found: Catalogue) -> list[str]:
    """Return one path per number. Two segments of one number that differ come from two writers: neither can be
    believed.
    """
    by_number: dict[int, list[str]] = defaultdict(list)
    for number, path in segments:
        by_number[number].append(path)
    kept = []
    for number, paths in by_number.items():
        # A folder may hold a copy of a log beside it, as `cp -r` leaves one: whoever copied is no second
        # writer. Bytes are compared only where a number is there twice, so this reads nothing in sound logs.
        alike = [path for path in paths[1:] if _content(path, found) == _content(paths[0], found)]
        found.notes += [f"{path}: the same as {paths[0]}; it counts once" for path in alike]
        if len(alike) == len(paths) - 1:
            kept.append(paths[0])
        else:
            # Which of the two is the process's own cannot be known, and each would make the other a
            # list of violations. Without either, the numbers jump, which the scan takes for a gap:
            # UNKNOWN, and nobody blamed.
            both = " and ".join(paths)
            found.notes.append(f"{both}: each is segment {number} of {process}: two processes claim one incarnation")
    return kept


def _content(path: str, found: Catalogue) -> bytes:
    return read_file(path, found.sizes[path])
