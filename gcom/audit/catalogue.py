"""Which segments there are, whose they are, and in which chains they are gone through."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from gcom.audit.causality import Dependencies
from gcom.audit.files import read_file
from gcom.audit.place import Key, Reached, reached_by
from gcom.audit.reading import Listing, open_segment, read_opening
from gcom.audit.records import Record
from gcom.audit.scanner import Scanner
from gcom.audit.segments import LogSegment, Opening
from gcom.audit.tape import Tape


@dataclass(frozen=True, slots=True)
class Chain:
    """Segments of one process that one scanner goes through in order: from the log's beginning if `first`, to its end
    if `last`.
    """

    process: str
    paths: tuple[str, ...]
    first: bool = True
    last: bool = True


@dataclass(slots=True)
class Catalogue:
    """`openings` are by path; `notes` tell of files that are no segments, `unread` of those that may have been some."""

    paths: dict[str, list[str]] = field(default_factory=dict)
    openings: dict[str, Opening] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)


def catalogue(listing: Listing) -> Catalogue:
    """Sort segments by process and number; the same segment twice counts once."""
    found = Catalogue(sizes=listing.sizes, notes=list(listing.notes))
    by_process: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for path in listing.sizes:
        opening, wrong = read_opening(path)
        if opening is None:
            found.notes.append(f"{path}:1: {wrong}")
            found.unread.append(found.notes[-1])
        else:
            found.openings[path] = opening
            by_process[opening.process].append((opening.segment, path))
    for process, segments in sorted(by_process.items()):
        found.paths[process] = _without_copies(process, sorted(segments), found.notes)
    return found


def _without_copies(process: str, segments: list[tuple[int, str]], notes: list[str]) -> list[str]:
    """One path a number. Two segments of one number that differ are two writers': neither can be believed."""
    by_number: dict[int, list[str]] = defaultdict(list)
    for number, path in segments:
        by_number[number].append(path)
    kept = []
    for number, paths in by_number.items():
        alike = [path for path in paths[1:] if read_file(path) == read_file(paths[0])]
        notes += [f"{path}: the same as {paths[0]}; it counts once" for path in alike]
        if len(alike) == len(paths) - 1:
            kept.append(paths[0])
        else:
            both = " and ".join(paths)
            notes.append(f"{both}: each is segment {number} of {process}: two processes claim one incarnation")
    return kept


@dataclass(slots=True)
class Scanned:
    """What became of a chain; `begins` and `ends` are the states at its ends, to be held against its neighbours'."""

    scanner: Scanner
    torn: bool
    exited: bool
    rotated: bool = False  # the last segment is whole, and says that another follows
    begins: dict[Key, Reached] = field(default_factory=dict)
    ends: dict[Key, Reached] = field(default_factory=dict)
    begins_at: int = 0
    ends_at: int = 0


def scan(
    chain: Chain,
    seeds: tuple[int, int],
    tapes: dict[Key, Tape] | None = None,
    dependencies: dict[Key, Dependencies] | None = None,
) -> Scanned:
    """Go through a chain's segments, one in memory at a time."""
    scanned: Scanned | None = None
    previous = -1
    for path in chain.paths:
        segment = open_segment(path)
        if scanned is None:
            opening = None if isinstance(segment, str) or chain.first else segment.opening
            scanned = _begun(chain, opening, Scanner(chain.process, seeds, _states(opening), tapes, dependencies))
            previous = -1 if opening is None else opening.segment - 1
        if isinstance(segment, str):  # it has changed since it was listed
            scanned.scanner.lose_segment(f"{path}: {segment}")
            continue
        first = not chain.first and path == chain.paths[0]
        _feed(scanned.scanner, scanned, segment, previous, first=first)
        previous = segment.opening.segment
    assert scanned is not None, "a chain has a path"
    scanner = scanned.scanner
    if chain.last and scanned.rotated:
        scanner.lose_segment(f"{chain.paths[-1]}: {chain.process} went on after it, and the next segment is missing")
    scanner.finish()
    scanned.ends_at = scanner.expected
    for key, place in scanner.places.items():
        if place.view is not None:
            scanned.ends[key] = place.reached(chain.process)
    return scanned


def _states(opening: Opening | None) -> Record | None:
    return None if opening is None else opening.state


def _begun(chain: Chain, opening: Opening | None, scanner: Scanner) -> Scanned:
    """With the state that the opening says, where the chain does not begin at the log's beginning."""
    scanned = Scanned(scanner, torn=False, exited=False, begins_at=1 if opening is None else opening.at)
    for group, each in (_states(opening) or {}).items():
        scanned.begins[group, each.get("instance", "")] = reached_by(each, chain.process)
    return scanned


def _feed(scanner: Scanner, scanned: Scanned, segment: LogSegment, previous: int, *, first: bool) -> None:
    number = segment.opening.segment
    if segment.damage:
        scanner.lose_segment(f"{segment.path}: {segment.damage}; nothing in it is read")
    else:
        missing = number > previous + 1
        if missing:
            scanner.notes.append(f"{segment.path}: segment {previous + 1} of {scanner.process} is missing before it")
        scanner.feed(segment, missing, first)
        if segment.cut:
            scanner.lose_segment(segment.cut)
    scanned.torn = segment.torn
    scanned.exited = segment.closing is not None and segment.closing.exited
    scanned.rotated = segment.closing is not None and not segment.closing.exited and not segment.damage
