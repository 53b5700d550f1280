"""The members of a group as its member list shows them: here, suspected, or gone, and since when."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

import gcom
from gcom_chat.model.name_colours import NameColours
from gcom_chat.model.texts.isolates import apart, pattern_of
from gcom_chat.model.texts.words import QT_TRANSLATE_NOOP, translate

GONE_MAX = 50  # members that are gone and still listed; the oldest go first


class MemberPresence(StrEnum):
    """The state of a member."""

    HERE = "here"
    SUSPECTED = "suspected"
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class MemberLine:
    """A line of the list. `why`: the reason for a suspicion or a departure, in words."""

    name: str
    process: str
    presence: MemberPresence
    since_ms: int
    leads: bool = False
    own: bool = False
    why: str = ""
    looks_like: str = ""  # a member that was here before, with a name that may be taken for this one's
    heard_s: int | None = None  # whole seconds since something came from it; None: nothing is known
    round_trip_ms: float | None = None  # of a call to it and back, to two digits


@dataclass(frozen=True, slots=True)
class Pulse:
    """The last sign of life of each process, and the time that a call to it takes, at `at_s` of a monotonic clock."""

    at_s: float
    heard_s: Mapping[str, float]
    round_trip_s: Mapping[str, float]


SILENT_S = 3  # from then on the list says so: heartbeats come more often than that


# The reasons of a ViewChange's `left`, for people.
REASONS = {
    "request": QT_TRANSLATE_NOOP("reasons", "left"),
    "exit": QT_TRANSLATE_NOOP("reasons", "left without waiting"),
    "expelled": QT_TRANSLATE_NOOP("reasons", "was put out: nothing was heard of it"),
    "crash": QT_TRANSLATE_NOOP("reasons", "crashed"),
    "dead": QT_TRANSLATE_NOOP("reasons", "crashed"),
    "merge": QT_TRANSLATE_NOOP("reasons", "went over to another instance"),
    "state": QT_TRANSLATE_NOOP("reasons", "left: its state could not be kept"),
    "unread": QT_TRANSLATE_NOOP("reasons", "left: its window read nothing"),
    "defect": QT_TRANSLATE_NOOP("reasons", "ended by a defect"),
}


_PRESENCES = {
    MemberPresence.HERE: QT_TRANSLATE_NOOP("presence", "here"),
    MemberPresence.SUSPECTED: QT_TRANSLATE_NOOP("presence", "suspected"),
    MemberPresence.GONE: QT_TRANSLATE_NOOP("presence", "gone"),
}


def presence_text(presence: MemberPresence) -> str:
    """Return the state of a member, in words."""
    return translate("presence", _PRESENCES[presence])


def reason_text(reason: str) -> str:
    """Return why a member went, in words."""
    return translate("reasons", REASONS.get(reason, reason))


class Members:
    """The members of a group: those here, those suspected, and those that went."""

    def __init__(self) -> None:
        self.view: gcom.View | None = None
        self._since: dict[str, int] = {}
        self._suspected: dict[str, tuple[int, str]] = {}
        self._gone: dict[str, MemberLine] = {}
        self.colours = NameColours()
        self.from_the_right: re.Pattern[str] | None = None  # finds names that turn round what stands beside them
        self._looks: dict[str, str] = {}  # by the name of who came later, the older member it looks like

    def on_view(self, view: gcom.View, left: dict[str, str], now_ms: int) -> None:
        """Take a new view: who is in it is here, and no more suspected."""
        for process, reason in left.items():
            name = process.partition("#")[0]
            # Taken out first, so that it goes to the end: the list shows the latest first, and the oldest go at the
            # bound.
            self._gone.pop(name, None)
            self._gone[name] = MemberLine(name, process, MemberPresence.GONE, now_ms, why=reason_text(reason))
        for process in view.members:
            self._since.setdefault(process, now_ms)
            self._gone.pop(process.partition("#")[0], None)
        for name in list(self._gone)[:-GONE_MAX]:
            del self._gone[name]
        # A process that comes back is another one, and is here since then.
        self._since = {process: self._since[process] for process in view.members}
        self._suspected.clear()
        self.view = view
        self.colours.settle(view.names)
        self.from_the_right = pattern_of((*view.names, *self._gone))
        looks = ((name, gcom.imitated(name, view.names[:rank])) for rank, name in enumerate(view.names))
        self._looks = {name: older for name, older in looks if older}

    def on_suspected(self, suspected: dict[str, str], now_ms: int) -> None:
        """Take who is suspected now, and why."""
        before = self._suspected
        self._suspected = {
            # Since when it is suspected stays what it was.
            process: before.get(process, (now_ms, why))
            for process, why in suspected.items()
            if process in self._since
        }

    def on_suspicion(self, process: str, why: str, now_ms: int) -> None:
        """Take one suspicion."""
        if process in self._since:
            self._suspected.setdefault(process, (now_ms, why))

    def list(self, own: str, pulse: Pulse | None = None, now_s: float = 0) -> list[MemberLine]:
        """Return all, in rank order, and then who is gone, latest first; `now_s` on the clock of the pulse."""
        members = self.view.members if self.view else ()
        here = [self._line(process, process == own) for process in members]
        if pulse is not None:
            here = [line if line.own else _with_pulse(line, pulse, now_s) for line in here]
        return here + list(reversed(self._gone.values()))

    @property
    def silent_leader(self) -> str:
        """The leader's name while it is suspected: the others elect the next one; else empty."""
        leader = self.view.leader if self.view else ""
        return leader.partition("#")[0] if leader in self._suspected else ""

    def looks_like(self, name: str) -> str:
        """Return the older member for whom a name may be taken; empty: none."""
        return self._looks.get(name, "")

    def _line(self, process: str, own: bool) -> MemberLine:
        assert self.view is not None, "a line is of a view"
        name, leads = process.partition("#")[0], process == self.view.leader
        looks = self.looks_like(name)
        if found := self._suspected.get(process):
            return MemberLine(name, process, MemberPresence.SUSPECTED, found[0], leads, own, found[1], looks)
        return MemberLine(name, process, MemberPresence.HERE, self._since[process], leads, own, "", looks)


def _with_pulse(line: MemberLine, pulse: Pulse, now_s: float) -> MemberLine:
    heard_s, round_trip_s = pulse.heard_s.get(line.process), pulse.round_trip_s.get(line.process)
    return replace(
        line,
        heard_s=None if heard_s is None else max(0, int(heard_s + now_s - pulse.at_s)),
        round_trip_ms=None if round_trip_s is None else float(f"{1000 * round_trip_s:.2g}"),
    )


def view_text(*changes: gcom.ViewChange) -> str:
    """Return view changes that follow each other: "view 7: +carol −bob (crashed), leader alice"."""
    signs = []
    for change in changes:
        signs += [f"+{_name(process)}" for process in change.joined]
        signs += [f"\N{MINUS SIGN}{_name(process)} ({reason_text(why)})" for process, why in change.left.items()]
    what, first, last = (
        " ".join(signs) or translate("view", "the same members"),
        changes[0].view.number,
        changes[-1].view,
    )
    leader = _name(last.leader)
    if first == last.number:
        return translate("view", "view {}: {}, leader {}").format(first, what, leader)
    return translate("view", "views {} to {}: {}, leader {}").format(first, last.number, what, leader)


def _name(process: str) -> str:
    return apart(process.partition("#")[0])
