"""Views and elections as a timeline: who came and went, who leads, who was suspected, and when no quorum was heard."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

import gcom
from gcom_chat.model.chat import departed_text
from gcom_chat.model.insight.names import called, short
from gcom_chat.model.members import reason_text
from gcom_chat.model.texts.words import translate

ENTRIES_MAX = 500  # a group that flaps all night; the list is drawn anew at each entry


class EntryKind(StrEnum):
    """The kind of an entry."""

    VIEW = "view"
    ELECTION = "election"  # a view with another leader than the one before
    SUSPICION = "suspicion"
    QUORUM = "quorum"
    DEPARTURE = "departure"


@dataclass(frozen=True, slots=True)
class TimelineEntry:
    """An entry. `members`: of the view; `view` is 0 where there is none."""

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
        self._add(view, translate("timeline", "the view at joining"), at_ms)

    def on_events(self, events: Iterable[gcom.Event], at_ms: int) -> None:
        """Take what of a group's events belongs here."""
        for event in events:
            match event:
                case gcom.ViewChange(view, joined, left):
                    self._add(view, _change(joined, left), at_ms)
                case gcom.Suspicion(process, reason):
                    text = translate("timeline", "{} is suspected: {}").format(called(process), reason)
                    self._note(EntryKind.SUSPICION, text, at_ms)
                case gcom.QuorumLost():
                    text = translate("timeline", "no quorum is heard: nothing can be sent")
                    self._note(EntryKind.QUORUM, text, at_ms)
                case gcom.QuorumRegained():
                    self._note(EntryKind.QUORUM, translate("timeline", "a quorum is heard again"), at_ms)
                case gcom.Departure(reason, returning=returning):
                    text = translate("timeline", "this chat is out: {}").format(departed_text(reason))
                    text += translate("timeline", "; coming back") if returning else ""
                    self._note(EntryKind.DEPARTURE, text, at_ms)
                case gcom.Returned():
                    text = translate("timeline", "this chat is back, as another process")
                    self._note(EntryKind.DEPARTURE, text, at_ms)
                case _:
                    pass

    def _add(self, view: gcom.View, what: str, at_ms: int) -> None:
        if self.entries and self.entries[-1].view == view.number:
            return  # the first event is of the view that this process joined
        # Only the change of a leader is an election: the first view has one without.
        elected = bool(self._leader) and view.leader != self._leader
        if elected:
            what += translate("timeline", "; {} leads now, the oldest who is left").format(called(view.leader))
        kind = EntryKind.ELECTION if elected else EntryKind.VIEW
        self._leader = view.leader
        self.entries.append(TimelineEntry(at_ms, kind, what, view.number, short(view.leader), view.names))

    def _note(self, kind: EntryKind, text: str, at_ms: int) -> None:
        self.entries.append(TimelineEntry(at_ms, kind, text))


def _change(joined: Iterable[str], left: dict[str, str]) -> str:
    words = [f"+{called(process)}" for process in joined]
    words += [f"\N{MINUS SIGN}{called(process)} ({reason_text(why)})" for process, why in left.items()]
    return ", ".join(words) or translate("view", "the same members")
