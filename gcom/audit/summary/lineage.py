"""The record of a session for CONTINUITY: its beginning, its end, its messages then, and those confirmed to it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from gcom.audit.input.contract import Record
from gcom.audit.summary.intervals import Intervals
from gcom.audit.summary.position import LogPosition
from gcom.audit.summary.process import ProcessSummary

# `next` of a section whose process went over, followed by the instance: two processes that went to different
# instances are in different classes.
INTO = "into"
# Reasons of ends by which a process does not outlive the instance, unless it went `into` another: it has left for good,
# or is out by a decision that kept all.
_DOES_NOT_OUTLIVE = ("request", "exit", "expelled", "defect")


def note_end(summary: ProcessSummary, position: LogPosition, record: Record) -> None:
    """Keep the first `leave` or `detach`, and the messages settled at it."""
    # A process enters an instance once. A second end is in a log that two wrote, or outside of a session, which
    # SENDING_VIEW and VIEW_AGREEMENT tell.
    if not summary.end:
        summary.end = record
        summary.settled_at_end = {who: settled.copy() for who, settled in position.settled.items()}


def next_after(end: Record) -> int | str:
    """Return the `next` of the section that a `leave` or `detach` ends (DELIVERY_LOG.md, Rules)."""
    # "For a leaver with `settled`, that number"; a class also crosses instances, for a process that went over by the
    # decided value of a succession. Any other end puts the process into no class: nobody is compared with it.
    if end["type"] == "leave" and "settled" in end:
        settled: int = end["settled"]
        return settled
    return f"{INTO} {end['into']}" if "into" in end and end.get("reason") == "succession" else "none"


def note_evidence(summary: ProcessSummary, record: Record) -> None:
    """Keep a `confirm` or an `adopt`."""
    if record["type"] == "adopt":
        summary.adopts.append(record)
        return
    first = record["number"]
    numbers = summary.confirmed.setdefault((record["view"], record["by"]), Intervals())
    numbers.add(first, first + record.get("count", 1) - 1)


@dataclass(frozen=True, slots=True)
class SucceedsRecord:
    """An entry of `succeeds`; None stands for a field that it lacks. `without` has, by sender, the numbers that no
    process held.
    """

    instance: str
    view: int | None
    cut: dict[str, int] | None
    without: dict[str, Intervals]
    by: str
    gone: frozenset[str]
    gives_up: frozenset[str]
    serial: int | None

    @property
    def required(self) -> dict[str, Intervals]:
        """Return the messages in the cut, without those that no process held."""
        whole = {who: Intervals([(1, last)]) for who, last in (self.cut or {}).items() if last}
        return {who: each.minus(self.without.get(who, Intervals())) for who, each in whole.items()}


def successions_in(view: Record) -> list[SucceedsRecord]:
    """Return the entries of a view's `succeeds`; none where it follows nothing."""
    return [_succession(entry) for entry in view.get("succeeds", ())]


def _succession(entry: dict[str, Any]) -> SucceedsRecord:
    ranges = {
        who: Intervals((first, first + count - 1) for first, count in pairs)
        for who, pairs in entry.get("without", {}).items()
    }
    return SucceedsRecord(
        instance=entry["instance"],
        view=entry.get("view"),
        cut=entry.get("cut"),
        without={who: each for who, each in ranges.items() if each},
        by=entry.get("by", ""),
        gone=frozenset(entry.get("gone", ())),
        gives_up=frozenset(entry.get("gives_up", ())),
        serial=entry.get("serial"),
    )


def confirms_in(confirm: Record) -> list[Record]:
    """Return a `confirm` for each message of the run."""
    # One by one, since a witness keeps single messages.
    kept = {name: value for name, value in confirm.items() if name not in ("at", "t", "count")}
    return [{**kept, "number": confirm["number"] + step} for step in range(confirm.get("count", 1))]


def renumbered(entry: Record, rank: Callable[[str, int], int], serials: list[int]) -> Record:
    """Return an entry of `succeeds` where only some messages count: `rank` counts them, `serials` are theirs."""
    changed = dict(entry)
    # A sender of which no kept message is in the cut has no entry: 0 means that.
    if "cut" in entry:
        changed["cut"] = {who: number for who, last in entry["cut"].items() if (number := rank(who, last))}
    if "serial" in entry:
        changed["serial"] = bisect_right(serials, entry["serial"])
    if "without" in entry:
        changed["without"] = {who: _ranked(who, pairs, rank) for who, pairs in entry["without"].items()}
    return changed


def _ranked(who: str, pairs: list[list[int]], rank: Callable[[str, int], int]) -> list[list[int]]:
    # A range is kept as far as kept messages are in it, and numbered by these; a range without any goes.
    ends = [(rank(who, first - 1), rank(who, first + count - 1)) for first, count in pairs]
    return [[before + 1, last - before] for before, last in ends if last > before]


@dataclass(slots=True)
class SessionSummary:
    """A process's session in one instance, as far as CONTINUITY needs it.

    `views` are the numbers that it installed; `lowest` is its record of the lowest of them, `first` of view 1 (empty if
    it has none), `end` the record that ended its session (empty if none did). `settled` is as of the end; of BASIC
    groups it is left out, and so is `delivered`.
    """

    process: str
    has_gap: bool
    views: list[int]
    lowest: Record
    first: Record
    end: Record
    settled: dict[str, Intervals]
    delivered: dict[str, Intervals]
    deliveries: int
    confirmed: dict[tuple[int, str], Intervals] = field(default_factory=dict)
    adopts: list[Record] = field(default_factory=list)

    @property
    def into(self) -> str | None:
        """Return the instance that it went over to."""
        into: str | None = self.end.get("into")
        return into

    @property
    def reason(self) -> str:
        """Return the reason of its end; empty if none was seen."""
        told: str = self.end.get("reason", "")
        return told or ({"leave": "request", "detach": "quorum"}[self.end["type"]] if self.end else "")

    def outlives(self, closed: bool) -> bool:
        """Tell whether it went on after the instance, as far as its log tells; `closed` is of that log."""
        if not self.views:
            return False
        # CONTINUITY, outlives: "ended by `leave` or `detach` with `into`, or it is `closed` without leaving". A log
        # that merely stops may be a crash: nothing shows that its process went on.
        return (self.into is not None or self.reason not in _DOES_NOT_OUTLIVE) if self.end else closed


def session_of(summary: ProcessSummary, *, has_gap: bool) -> SessionSummary:
    """Return the part of a summary that the rule needs."""
    views = sorted(summary.views, key=lambda view: int(view["view"]))  # the first record of each number stays first
    # As of the end if there was one: what a log has behind it is outside of the session.
    settled = summary.settled_at_end if summary.end else summary.sections[-1].settled if summary.sections else {}
    reliable = any(view["multicast"] == "RELIABLE" for view in views)  # else no cut is asked, and holes may be many
    return SessionSummary(
        process=summary.process,
        has_gap=has_gap,
        views=sorted({view["view"] for view in views}),
        lowest=views[0] if views else {},
        first=views[0] if views and views[0]["view"] == 1 else {},
        end=summary.end,
        settled=settled if reliable else {},
        delivered=summary.delivered if reliable else {},
        deliveries=summary.deliveries,
        confirmed=summary.confirmed,
        adopts=summary.adopts,
    )
