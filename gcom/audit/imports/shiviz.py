"""Import of other systems' logs as delivery logs: `gcom audit import shiviz FILE`.

A ShiViz or GoVector log has events of hosts, each with a vector clock. Each event becomes a message that its host
sends, numbered by the host's own entry. Where a host's clock has a higher entry for another host than before, it has
learned that host's events up to there, and they become deliveries, each after those that it depends on. So the rules
check the same as ShiViz, and more: NO_CREATION checks that own entries go up by one and that nobody knows an event that
was not logged, CAUSAL that a clock takes over all entries of the clocks behind it.

Source: ShiViz's log format and "impermissible vector clock" (Beschastnikh et al., "Debugging Distributed Systems", CACM
2016); GoVector's `<host> <clock as JSON>` line with the event's text on the next.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path

from gcom.audit.imports.writing import (
    SHOWN_MAX,
    Imported,
    LogRecords,
    NameSpelling,
    check_new,
    in_order,
    read_text,
    view_of,
    write_logs,
)
from gcom.errors import BadValue, NotALog

SHIVIZ = r"(?P<host>\S*) (?P<clock>{.*})\n(?P<event>.*)"
SHIVIZ_RULES = in_order(("NO_CREATION", "FIFO", "CAUSAL", "CLOCK"))
_FITS = "give a --regex that fits, with the groups host, clock and event"
_GROUP, _INSTANCE = "imported", ""
_Sums = dict[tuple[str, int], int]  # of the entries of each event's clock, by host and number


@dataclass(frozen=True, slots=True)
class ImportedEvent:
    """An event of `host` with its vector clock, its place in the file, and its text."""

    host: str
    clock: dict[str, int]
    line: int
    text: str

    @property
    def own(self) -> int:
        """Return the host's own entry, which is the event's number."""
        return self.clock[self.host]


def import_shiviz(file: Path, into: Path, regex: str = SHIVIZ) -> Imported:
    """Write the log as delivery logs under `into`, which must be empty. Raises BadValue, NotALog, or OSError."""
    check_new(into)
    events, notes = parse(read_text(file), regex, str(file))
    by_host: dict[str, list[ImportedEvent]] = {}
    for each in events:
        by_host.setdefault(each.host, []).append(each)
    for host, mine in by_host.items():
        notes += _sort(host, mine)
    notes += _write(by_host, into)
    return Imported(len(by_host), len(events), SHIVIZ_RULES, notes=notes)


def parse(text: str, regex: str, name: str) -> tuple[list[ImportedEvent], list[str]]:
    """Return the events in the file's order, and notes about lines that are none. Raises BadValue, NotALog."""
    pattern = _compiled(regex)
    found: list[ImportedEvent] = []
    spelling = NameSpelling()
    # The line of the file, not of the event: GoVector's events have two. It is counted on from match to match.
    line, end = 1, 0
    strange: list[tuple[int, str]] = []
    for match in pattern.finditer(text):
        between = text[end : match.start()].split("\n")
        # A line is strange if no part of it is in an event.
        strange += _told(line, between[bool(found) : -1], bool(found))
        line += len(between) - 1
        found.append(_event(match, name, line, spelling))
        line += text.count("\n", match.start(), match.end())
        end = match.end()
    if not found:
        raise NotALog(_nothing_in(text, regex, name))
    strange += _told(line, text[end:].split("\n")[1:], True)
    notes = _notes_of(strange, sum(map(bool, map(str.strip, text.splitlines()))), regex, name)
    return found, notes + spelling.notes()


def _told(line: int, lines: list[str], behind: bool) -> list[tuple[int, str]]:
    """Return the lines that are not blank, with their numbers; the first is `line`, or `behind` it."""
    return [(number, each) for number, each in enumerate(lines, line + behind) if each.strip()]


def _notes_of(strange: list[tuple[int, str]], lines: int, regex: str, name: str) -> list[str]:
    """Return what to say of the lines that fit no event. Raises NotALog if they are half of all, or more."""
    if not strange:
        return []
    number, first = strange[0]
    fit = f"{len(strange):,} of {lines:,} lines fit no event"
    # Of a log with another layout a few lines may fit by chance: nothing that they say is worth judging.
    if 2 * len(strange) >= lines:
        raise NotALog(f"{name}:{number}: {fit}: expected {regex}, got {first[:SHOWN_MAX]!r}; {_FITS}")
    return [f"{name}:{number}: {fit}, and are left out; the first is {first[:SHOWN_MAX]!r}"]


def _event(match: re.Match[str], name: str, line: int, spelling: NameSpelling) -> ImportedEvent:
    try:
        clock = json.loads(match["clock"])
    except ValueError as error:
        raise NotALog(
            f"{name}:{line}: the clock is no JSON: {error}; correct the line, or give a --regex that fits"
        ) from None
    host = spelling.of(match["host"])
    if not isinstance(clock, dict) or not all(type(n) is int and n >= 0 for n in clock.values()):
        got = match["clock"][:200]
        raise NotALog(f"{name}:{line}: not a vector clock: expected a map of host to number, got {got}")
    entries = {spelling.of(each): number for each, number in clock.items()}
    if len(entries) < len(clock):
        raise NotALog(f"{name}:{line}: not a vector clock: it has two entries for one name, spelled in two ways")
    # The process is called host#1, and `#` is what separates a member from its incarnation in
    # every name of ours.
    if not host or "#" in host:
        raise NotALog(
            f"{name}:{line}: not a host: expected a name without #, got {host!r}; rename it, or give a --regex"
        )
    if host not in entries:
        raise NotALog(
            f"{name}:{line}: not a vector clock: expected an entry for {host} itself, got {match['clock'][:200]}"
        )
    return ImportedEvent(host, entries, line, match["event"] if "event" in match.re.groupindex else "")


def _sort(host: str, mine: list[ImportedEvent]) -> list[str]:
    """Put a host's events in the order of its own clock; return a note if the file has another one.

    Threads of one host write their lines when they come to it; the clock was counted under a lock.
    """
    late = sum(each.own < before for each, before in zip(mine, accumulate((it.own for it in mine), max), strict=True))
    if not late:
        return []
    first = next(one for one, before in pairwise(mine) if before.own < one.own)
    mine.sort(key=lambda each: each.own)
    return [
        f"{host}: {late:,} of its lines stand behind later events, the first behind line {first.line}; its clock counts"
    ]


def _nothing_in(text: str, regex: str, name: str) -> str:
    first = next(((number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()), None)
    if first is None:
        return f"{name} is empty: expected events with vector clocks; name another file"
    number, line = first
    return f"{name}:{number}: no event in the file: expected {regex}, got {line[:SHOWN_MAX]!r}; {_FITS}"


def _compiled(regex: str) -> re.Pattern[str]:
    """Return the regex with Python's group syntax; ShiViz writes groups as JavaScript does."""
    try:
        # So that the expression in ShiViz's own window can be copied here.
        pattern = re.compile(re.sub(r"\(\?<(?=[A-Za-z])", "(?P<", regex), re.MULTILINE)
    except re.error as error:
        raise BadValue(f"--regex must be a regular expression; got {regex!r}: {error}") from None
    missing = {"host", "clock"} - pattern.groupindex.keys()
    if missing:
        lacks = " and ".join(sorted(missing))
        raise BadValue(f"--regex must have the groups host and clock, as (?<host>\\S*); {regex!r} lacks {lacks}")
    return pattern


def _write(by_host: dict[str, list[ImportedEvent]], into: Path) -> list[str]:
    # An event's own entry is its number, so (host, own entry) is what clocks of others refer to. An event's clock sums
    # to more than those of all that it depends on.
    sums = {(each.host, each.own): sum(each.clock.values()) for mine in by_host.values() for each in mine}
    notes = []
    logs: dict[str, LogRecords] = {}
    for host, mine in by_host.items():
        # A host that others know and that has no line of its own: its log is missing, so it is a member without a
        # log, and what it sent is unknown.
        strangers = sorted({other for each in mine for other in each.clock} - by_host.keys())
        if strangers:
            notes.append(f"{host} names {', '.join(strangers[:5])}, of which there are no events")
        members = sorted(f"{each}#1" for each in [*by_host, *strangers])
        where = {"group": _GROUP, "instance": _INSTANCE, "view": 1}
        logs[f"{host}#1"] = [{**where, **record} for record in _records(host, mine, sums, members)]
    write_logs(logs, into)
    return notes


def _records(host: str, mine: list[ImportedEvent], sums: _Sums, members: list[str]) -> Iterator[dict[str, object]]:
    """Yield the view, and per event what it was the first to know of, its send and its own delivery."""
    # GoVector knows no views and no retransmission: one view of all hosts, BASIC, and of the orders only
    # CAUSAL. So the audit expects of the log exactly what a vector clock claims.
    yield view_of(members, SHIVIZ_RULES)
    clock: dict[str, int] = {}
    logged: dict[str, int] = {}
    for each in mine:
        for other, number in _learned(each, clock, sums):
            yield {"type": "deliver", "sent_view": 1, "sender": f"{other}#1", "number": number}
        entries = {who: n for who, n in each.clock.items() if who != host}
        clock |= {who: n for who, n in entries.items() if n > clock.get(who, 0)}
        # DELIVERY_LOG.md, `send`: only entries that changed since this process's previous send.
        changed = {f"{who}#1": n for who, n in entries.items() if logged.get(who, 0) != n}
        logged |= entries
        number = each.own
        yield {"type": "send", "number": number, "clock": changed, "event": each.text, "line": each.line}
        yield {"type": "deliver", "sent_view": 1, "sender": f"{host}#1", "number": number}


def _learned(event: ImportedEvent, clock: dict[str, int], sums: _Sums) -> list[tuple[str, int]]:
    """Return the events of others that `event` is the first to know of, in an order that fits their own clocks."""
    new = [
        (other, number)
        for other, last in event.clock.items()
        if other != event.host
        for number in range(clock.get(other, 0) + 1, last + 1)
    ]
    # An event that no line tells of sorts last: what it depends on is not known, and NO_CREATION blames its
    # delivery.
    return sorted(new, key=lambda each: (sums.get(each, 1 << 62), each))
