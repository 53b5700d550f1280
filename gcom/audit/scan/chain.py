"""A pass over a chain of segments of one process, one segment in memory at a time."""

from __future__ import annotations

from dataclasses import dataclass, field

from gcom.audit.input.catalogue import Chain
from gcom.audit.input.reading import open_segment
from gcom.audit.input.segments import LogSegment
from gcom.audit.scan.scanner import Scanner
from gcom.audit.summary.applications import ApplicationKey, ApplicationSummary
from gcom.audit.summary.messages import MessageRecorder
from gcom.audit.summary.position import Key, Reached, reached_by
from gcom.audit.summary.process import ProcessSummary


@dataclass(slots=True)
class ChainSummary:
    """The driver's knowledge of a chain; `begins` and `ends` are the states at its ends, to be compared with its
    neighbours'.
    """

    process: str
    begins_at: int = 1
    ends_at: int = 0
    begins: dict[Key, Reached] = field(default_factory=dict)
    ends: dict[Key, Reached] = field(default_factory=dict)
    torn: bool = False
    exited: bool = False
    rotated: bool = False  # the last segment is whole, and says that another follows
    gaps: int = 0
    hides_groups: bool = False
    outside: bool = False  # messages lie outside of a session, of which no state tells
    groups: frozenset[Key] = frozenset()  # that it tells of
    left: frozenset[Key] = frozenset()  # of these, those in which it says that the session ended
    notes: list[str] = field(default_factory=list)
    contradictions: list[str] = field(default_factory=list)
    applications: int = 0  # that it tells of
    unseen: list[str] = field(default_factory=list)  # files that could not be read
    unknown_types: dict[str, int] = field(default_factory=dict)

    @property
    def extent(self) -> tuple[int, int, bool]:
        """Return how much was read: of a log that changed between two readings it differs."""
        return self.ends_at, self.gaps, self.torn


def scan(
    chain: Chain, seeds: tuple[int, int], recorders: dict[Key, MessageRecorder] | None = None
) -> tuple[dict[Key, ProcessSummary], dict[ApplicationKey, ApplicationSummary], ChainSummary]:
    """Go through a chain's segments, one in memory at a time; return a summary per group, one per thing that stands on
    groups, and that of the chain.
    """
    found, scanner, previous = ChainSummary(chain.process), Scanner(chain.process, seeds, recorders), -1
    for path, size in chain.segments:
        segment = open_segment(path, size)
        begins = path == chain.paths[0] and not chain.first
        if isinstance(segment, str):  # it has changed since it was listed
            found.unseen.append(path)
            scanner.lose_segment(f"{path}: {segment}")
            continue
        if begins:
            _begin(found, scanner, segment)
            previous = segment.opening.segment - 1
        _feed(scanner, segment, previous, first=begins)
        closing, previous = segment.closing, segment.opening.segment
        found.torn = segment.torn
        # Of the last segment that was read: each one before it was followed by another.
        found.exited = closing is not None and closing.exited
        found.rotated = closing is not None and not closing.exited and not segment.damage
    # A close with `rotate` promises a successor. Before another segment it is no gap, at the end of the
    # log it is one.
    if chain.last and found.rotated:
        scanner.lose_segment(f"{chain.paths[-1]}: {chain.process} went on after it, and the next segment is missing")
    scanner.finish()
    _end(found, scanner)
    return scanner.summaries, scanner.applications, found


def _begin(found: ChainSummary, scanner: Scanner, segment: LogSegment) -> None:
    """Begin inside a log: with the opening's state, which the driver holds against the end of the chain before."""
    found.begins_at, states = segment.opening.at, segment.opening.state or {}
    scanner.restore(states)
    for group, state in states.items():
        found.begins[group, state.get("instance", "")] = reached_by(state, found.process)


def _feed(scanner: Scanner, segment: LogSegment, previous: int, *, first: bool) -> None:
    # Nothing in it is believed, so its number and position prove nothing about the segments around it either.
    if segment.damage:
        scanner.lose_segment(f"{segment.path}: {segment.damage}; nothing in it is read")
        return
    missing = segment.opening.segment > previous + 1
    if missing:
        scanner.notes.append(f"{segment.path}: segment {previous + 1} of {scanner.process} is missing before it")
    scanner.feed(segment, missing, first)
    if segment.missing_tail:
        scanner.lose_segment(segment.missing_tail)


def _end(found: ChainSummary, scanner: Scanner) -> None:
    found.ends_at, found.gaps, found.hides_groups = scanner.expected, scanner.gaps, scanner.hides_groups
    found.notes, found.unknown_types = scanner.notes, scanner.unknown_types
    found.contradictions, found.applications = scanner.contradictions, len(scanner.applications)
    # Only of groups in which a view is in force: of all others a state says nothing, and the next opening
    # must say nothing either.
    positions = scanner.positions
    found.ends = {key: each.reached(found.process) for key, each in positions.items() if each.view is not None}
    found.outside = any(each.outside for each in positions.values())
    found.groups = frozenset(positions)
    found.left = frozenset(key for key, each in positions.items() if each.left)
