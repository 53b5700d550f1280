"""Evidence around an incident's first violation: records of the processes concerned, and each member's order there."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field

from gcom.audit.explain.incidents import Incident
from gcom.audit.explain.lookup import LogEvent, LogLookup
from gcom.audit.explain.result import AuditResult, GroupResult
from gcom.audit.summary.position import Key

# Bounds on what a report carries of one audit: it stays a page, whatever the logs hold, and --json has the rest.
INCIDENTS = 20  # incidents of which the surroundings are shown
EVENTS = 200  # of one incident
AROUND = 20  # records before and after a violation, of each process
_MEMBERS_MAX = 10  # beyond that a table of clocks is no evidence that anybody reads
_COLUMNS_MAX = 48

MessageId = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Strip:
    """A member's deliveries laid against the columns: "same", "moved", "missing", "skipped", "twice", or "" (not
    seen).
    """

    process: str
    cells: list[str]


@dataclass(slots=True)
class Evidence:
    """The records and orders around one violation. `events` are by process, those concerned first; `columns` are
    messages in the order that `reference` has them.
    """

    incident: Incident
    events: dict[str, list[LogEvent]] = field(default_factory=dict)
    columns: list[MessageId] = field(default_factory=list)
    reference: str = ""
    strips: list[Strip] = field(default_factory=list)


def evidence_of(result: AuditResult, lookup: LogLookup) -> dict[str, Evidence]:
    """Return the evidence of the first incidents that count, by incident id."""
    groups = {(group.group, group.instance): group for group in result.groups}
    found = [incident for group in result.groups for incident in group.incidents]
    first = sorted(found, key=lambda incident: not incident.expected)[:INCIDENTS]
    return {each.id: _gather(each, groups[each.group, each.instance], lookup) for each in first if each.expected}


def concerned_by(incident: Incident) -> list[str]:
    """Return the processes that violate, then the senders of the messages."""
    senders = [sender for sender, _ in incident.messages]
    return list(dict.fromkeys([*incident.processes, *senders]))


def event_of(incident: Incident, process: str, lookup: LogLookup) -> LogEvent | None:
    """Return the process's record nearest to the violation: at its position, by its message, or by its view."""
    key = (incident.group, incident.instance)
    # First the position that the violation itself names: only a process that lacks a record has none.
    for who, at in incident.positions:
        event = lookup.position(who, at) if who == process else None
        if event is not None:
            return event
    for step in (0, 1, -1):  # a process that lacks the message may have the next one, or the one before
        for sender, number in incident.messages:
            sent = lookup.sending(process, key, number + step) if sender == process else None
            event = lookup.delivery(process, key, sender, number + step) or sent
            if event is not None:
                return event
    view = incident.view
    return (lookup.ending(process, key, view) or lookup.installing(process, key, view)) if view else None


def _gather(incident: Incident, group: GroupResult, lookup: LogLookup) -> Evidence:
    found = Evidence(incident)
    key: Key = (incident.group, incident.instance)
    # The concerned ones first, and others beside them: an order is wrong only against another one.
    concerned = [who for who in concerned_by(incident) if lookup.has(who)][: _MEMBERS_MAX // 2]
    members = list(dict.fromkeys([*concerned, *(who for who in group.processes if lookup.has(who))]))[:_MEMBERS_MAX]
    # The bound is on all records of an incident, so more processes get fewer each.
    around = min(AROUND, EVENTS // max(2 * len(concerned), 1))
    settled: dict[str, list[LogEvent]] = {}
    for process in members:
        middle = event_of(incident, process, lookup)
        events = lookup.around(middle, key, AROUND, AROUND) if middle is not None else []
        if kept := [event for event in events if event.kind in ("deliver", "skip") and event.number > 0]:
            settled[process] = kept
        # All members' orders are compared, and only of the concerned ones are records shown.
        if process in concerned and middle is not None:
            found.events[process] = lookup.around(middle, key, around, around - 1)
    _compare(found, settled)
    return found


def _compare(found: Evidence, settled: dict[str, list[LogEvent]]) -> None:
    """Lay all orders against one reference: that of a process that the incident does not blame, if there is one."""
    if len(settled) < 2:
        return
    blamed = found.incident.processes
    wanted = found.incident.messages

    def rank(who: str) -> tuple[int, bool, str]:
        """Return a key that prefers a process with the named messages; of several, one that is not concerned."""
        return -sum(any(event.has(*each) for event in settled[who]) for each in wanted), who in blamed, who

    found.reference = min(settled, key=rank)
    columns = _columns(settled, found.reference, wanted)
    middle = next((place for place, message in enumerate(columns) if message in wanted), len(columns) // 2)
    # The violation in the middle, where there is room on both sides: what led to it is before it.
    begin = max(0, min(middle - _COLUMNS_MAX // 2, len(columns) - _COLUMNS_MAX))
    found.columns = columns[begin : begin + _COLUMNS_MAX]
    first = [found.reference, *(who for who in settled if who != found.reference)]
    strips = [Strip(who, _cells(settled[who], found.columns)) for who in first]
    found.strips = [strip for strip in strips if any(strip.cells)]


def _columns(settled: dict[str, list[LogEvent]], reference: str, wanted: list[MessageId]) -> list[MessageId]:
    """Return the reference's messages; a message that it lacks comes behind the one that it followed elsewhere."""
    ours = settled[reference]
    # A message that is there twice has one column: the second time shows in its cell.
    columns = list(dict.fromkeys(message for event in ours for message in _ends(event, wanted)))
    for who, events in settled.items():
        # Only between two messages that the reference has, too: what lies outside may be a matter of
        # where the look-up ended.
        known = [place for place, event in enumerate(events) if who != reference and _in(ours, event)]
        for place in range(known[0], known[-1]) if known else ():
            before = _ends(events[place - 1], wanted)[-1] if place else None
            for message in _ends(events[place], wanted) if not _in(ours, events[place]) else ():
                if message not in columns and before in columns:
                    columns.insert(columns.index(before) + 1, message)
                before = message
    return columns


def _in(events: list[LogEvent], event: LogEvent) -> bool:
    return any(each.has(event.sender, event.number) for each in events)


def _ends(event: LogEvent, wanted: list[MessageId]) -> list[MessageId]:
    """Return the messages of a run; of a long run only its two ends and the wanted messages."""
    last = event.number + event.count - 1
    # Three from either end: enough to see where a run begins and ends, whatever lies between.
    numbers = {*range(event.number, min(event.number + 3, last + 1)), *range(max(last - 2, event.number), last + 1)}
    numbers |= {number for sender, number in wanted if event.has(sender, number)}
    return [(event.sender, number) for number in sorted(numbers)]


def _cells(events: list[LogEvent], columns: list[MessageId]) -> list[str]:
    seen: list[tuple[int, LogEvent]] = []
    for event in events:
        here = [place for place, message in enumerate(columns) if event.has(*message)]
        # In the order of numbers within a run, as they were delivered.
        seen += [(place, event) for place in sorted(here, key=lambda place: columns[place][1])]
    if not seen:
        return [""] * len(columns)
    places = [place for place, _ in seen]
    # Only between what was seen: beyond the records that were looked up nobody knows.
    cells = ["missing" if min(places) < place < max(places) else "" for place in range(len(columns))]
    # A longest increasing subsequence (Schensted 1961) moves the fewest: of "2 3 4 1" it says that 1 was late, and
    # not that three messages were early.
    orderly = _longest_rise(places)
    for index, (place, event) in enumerate(seen):
        if event.kind == "skip":
            cells[place] = "skipped"
        elif cells[place] in ("same", "moved", "twice"):
            cells[place] = "twice"
        else:
            cells[place] = "same" if index in orderly else "moved"
    return cells


def _longest_rise(numbers: list[int]) -> set[int]:
    """Return the indexes of a longest strictly rising subsequence; all other indexes are out of order."""
    tails: list[int] = []  # the last number of the best rise of each length
    ends: list[int] = []  # the index of that last number
    before: list[int] = []  # of each index, the one before it in its rise; -1 if it begins one
    for index, number in enumerate(numbers):
        length = bisect_left(tails, number)
        before.append(ends[length - 1] if length else -1)
        # Patience sorting: each length keeps the lowest end, which leaves the most room for what comes.
        tails[length : length + 1] = [number]
        ends[length : length + 1] = [index]
    rise: set[int] = set()
    at = ends[-1] if ends else -1
    # It ends: what is before an index is a smaller one.
    while at >= 0:
        rise.add(at)
        at = before[at]
    return rise
