"""Views and elections as a timeline: who came and went, who leads, who was suspected, and when no quorum was heard."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

import gcom
from chat_gui.model.insight.names import short
from chat_gui.model.members import REASONS

ENTRIES_MAX = 500


class EntryKind(StrEnum):
    """The kind of an entry."""

    VIEW = "view"
    ELECTION = "election"  # a view with another leader than the one before
    SUSPICION = "suspicion"
    QUORUM = "quorum"
    DEPARTURE = "departure"


@dataclass(frozen=True, slots=True)
class TimelineEntry:
    """One entry. `members`: of the view; `view` is 0 where there is none."""

    at_ms: int
    kind: EntryKind
    text: str
    view: int = 0
    leader: str = ""
    members: tuple[str, ...] = ()


class GroupTimeline:
    """The entries of one group, oldest first."""

    def __init__(self) -> None:
        self.entries: deque[TimelineEntry] = deque(maxlen=ENTRIES_MAX)
        self._leader = ""

    def on_view(self, view: gcom.View, at_ms: int) -> None:
        """Take the view in which this process came in."""
        self._add(view, "the view at joining", at_ms)

    def on_events(self, events: Iterable[gcom.Event], at_ms: int) -> None:
        """Take what of a group's events belongs here."""
        for event in events:
            match event:
                case gcom.ViewChange(view, joined, left):
                    self._add(view, _change(joined, left), at_ms)
                case gcom.Suspicion(process, reason):
                    self._note(EntryKind.SUSPICION, f"{short(process)} is suspected: {reason}", at_ms)
                case gcom.QuorumLost():
                    self._note(EntryKind.QUORUM, "no quorum is heard: nothing can be sent", at_ms)
                case gcom.QuorumRegained():
                    self._note(EntryKind.QUORUM, "a quorum is heard again", at_ms)
                case gcom.Departure(reason, returning=returning):
                    text = f"this chat is out: {REASONS.get(reason, reason)}" + ("; coming back" if returning else "")
                    self._note(EntryKind.DEPARTURE, text, at_ms)
                case gcom.Returned():
                    self._note(EntryKind.DEPARTURE, "this chat is back, as another process", at_ms)
                case _:
                    pass

    def _add(self, view: gcom.View, what: str, at_ms: int) -> None:
        if self.entries and self.entries[-1].view == view.number:
            return  # the first event is of the view that this process joined
        elected = bool(self._leader) and view.leader != self._leader
        if elected:
            what += f"; {short(view.leader)} leads now, the oldest who is left"
        kind = EntryKind.ELECTION if elected else EntryKind.VIEW
        self._leader = view.leader
        self.entries.append(TimelineEntry(at_ms, kind, what, view.number, short(view.leader), view.names))

    def _note(self, kind: EntryKind, text: str, at_ms: int) -> None:
        self.entries.append(TimelineEntry(at_ms, kind, text))


def _change(joined: Iterable[str], left: dict[str, str]) -> str:
    words = [f"+{short(process)}" for process in joined]
    words += [f"\N{MINUS SIGN}{short(process)} ({REASONS.get(why, why)})" for process, why in left.items()]
    return ", ".join(words) or "the same members"
