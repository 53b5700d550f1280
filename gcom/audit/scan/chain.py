"""One pass over a chain of segments of one process, one segment in memory at a time."""

from __future__ import annotations

from dataclasses import dataclass, field

from gcom.audit.input.catalogue import Chain
from gcom.audit.input.reading import open_segment
from gcom.audit.input.records import Record
from gcom.audit.input.segments import LogSegment, Opening
from gcom.audit.scan.scanner import Scanner
from gcom.audit.summary.messages import MessageRecorder
from gcom.audit.summary.position import Key, Reached, reached_by


@dataclass(slots=True)
class Scanned:
    """The outcome of a chain's scan; `begins` and `ends` are the states at its ends, to be compared with its
    neighbours'.
    """

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
    recorders: dict[Key, MessageRecorder] | None = None,
) -> Scanned:
    """Go through a chain's segments, one in memory at a time."""
    scanned: Scanned | None = None
    previous = -1
    for path in chain.paths:
        segment = open_segment(path)
        if scanned is None:
            opening = None if isinstance(segment, str) or chain.first else segment.opening
            scanned = _begun(chain, opening, Scanner(chain.process, seeds, _states(opening), recorders))
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
    for key, position in scanner.positions.items():
        if position.view is not None:
            scanned.ends[key] = position.reached(chain.process)
    return scanned


def _states(opening: Opening | None) -> Record | None:
    return None if opening is None else opening.state


def _begun(chain: Chain, opening: Opening | None, scanner: Scanner) -> Scanned:
    """Return the outcome at the start, with the opening's state if the chain does not begin at the log's beginning."""
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
