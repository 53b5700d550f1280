"""`Chat`: all that the window shows, brought up to date by the client's updates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

import gcom
from gcom_chat.model.conversation import Conversation
from gcom_chat.model.group_state import GroupStanding, GroupState, PrivateTalk, Talk, private_name
from gcom_chat.model.members import REASONS, view_text
from gcom_chat.model.rows import ENDED_BADLY, MessageState, RowKind
from gcom_chat.model.texts.isolates import apart
from gcom_chat.model.texts.words import QT_TRANSLATE_NOOP, translate
from gcom_chat.model.updates import (
    Arrived,
    BacklogCame,
    Connected,
    Exported,
    FoundOnDisk,
    HeldBackNow,
    HistoryCame,
    InvitationAccepted,
    JoinBegan,
    Joined,
    Left,
    LinesMoved,
    Listed,
    ProtectionTold,
    ReceiptCame,
    RegistryAway,
    RegistryFound,
    StorageTold,
    SurroundingsCame,
    Update,
    WishFailed,
)
from gcom_chat.model.wire import decode

DEPARTED = {
    **REASONS,
    "expelled": QT_TRANSLATE_NOOP("reasons", "the group went on without this chat"),
    "succession": QT_TRANSLATE_NOOP(
        "reasons", "too few were left; it goes on in an instance that succeeds the old one"
    ),
    "merge": QT_TRANSLATE_NOOP("reasons", "this side goes over to the other one"),
    "fork": QT_TRANSLATE_NOOP("reasons", "this side goes on alone"),
    "dissolved": QT_TRANSLATE_NOOP("reasons", "all others have left"),
    "taken": QT_TRANSLATE_NOOP("reasons", "the name was taken by another"),
    "state": QT_TRANSLATE_NOOP("reasons", "a member's state could not be used"),
    "unread": QT_TRANSLATE_NOOP("reasons", "this chat read nothing for too long"),
    "defect": QT_TRANSLATE_NOOP("reasons", "a defect in GCom ended it"),
}


VIEWS_A_LINE_MAX = 10  # a line that tells more is read by nobody
# What comes of a group for as long as it has a tab.
_OF_A_TAB = JoinBegan, Joined, Arrived, BacklogCame, LinesMoved, HeldBackNow


def departed_text(reason: str) -> str:
    """Return why this chat is not in a group, in words."""
    return translate("reasons", DEPARTED.get(reason, reason))


@dataclass(frozen=True, slots=True)
class Notice:
    """A word that the window shows beside the conversations: an error, or a mention."""

    text: str
    group: str = ""
    error: bool = False
    lasting: bool = False  # it stands in the conversation in front, too, where it does not go after a while
    shown: bool = False  # the group's tab shows it already


class Chat:
    """The groups of a chat, and its connection. `words`: what counts as a mention beside the own name."""

    def __init__(self, rows_max: int = 10_000) -> None:
        self.nick = ""
        self.registry = ""
        self.certified = False  # this chat has a certificate of its own there, and may sign
        self.registry_away = ""  # in words; empty: it answers
        self.registry_back_ms = 0  # when it answered again
        self.asks_again_ms = 0  # when it is asked next, while it is away
        self.listed: tuple[gcom.GroupInfo, ...] = ()
        self.groups: dict[str, GroupState] = {}
        self.privates: dict[str, PrivateTalk] = {}
        self.ignored: frozenset[str] = frozenset()  # members whose words are not shown
        self.words: frozenset[str] = frozenset()
        self.collapse = True  # view changes in a row make one line
        self._more_words: tuple[str, ...] = ()
        self._rows_max = rows_max

    def open(self, group: str, first_key: int = 1) -> GroupState:
        """Return the state of a group's tab, a new one if there is none."""
        if group not in self.groups:
            self.groups[group] = GroupState(group, Conversation(group, first_key, self._rows_max))
        return self.groups[group]

    def open_private(self, group: str, peer: str) -> PrivateTalk:
        """Return the private conversation with a member of a group that has a tab."""
        name = private_name(group, peer)
        if name not in self.privates:
            self.privates[name] = PrivateTalk(self.groups[group], peer, Conversation(name, 1, self._rows_max))
        return self.privates[name]

    def talk(self, name: str) -> Talk:
        """Return what a tab shows, by its name."""
        return self.groups[name] if name in self.groups else self.privates[name]

    @property
    def talks(self) -> list[Talk]:
        """The conversations that have tabs: groups, and then private ones."""
        return [*self.groups.values(), *self.privates.values()]

    @property
    def summary(self) -> str:
        """The numbers of messages and view changes, a line per group."""
        lines = []
        for name, state in self.groups.items():
            rows = state.conversation.rows
            said = [row for row in rows if row.kind in (RowKind.MESSAGE, RowKind.ACTION)]
            views = sum(row.kind is RowKind.VIEW for row in rows)
            lines.append(f"{name}: {len(said)} messages of {len({row.name for row in said})}, {views} view changes")
        return "\n".join(lines) or "no group was joined"

    def close(self, name: str) -> list[str]:
        """Forget what a closed tab showed, with a group its private conversations; return the names of all."""
        closed = [name, *(private for private, talk in self.privates.items() if talk.group == name)]
        self.groups.pop(name, None)
        for private in closed:
            self.privates.pop(private, None)
        return closed

    def set_words(self, words: tuple[str, ...]) -> None:
        """Count these, and the own name, as a mention."""
        self._more_words = words
        # The own name anew each time: after /nick it is another
        # one, and nobody should have to enter it in the settings.
        self.words = frozenset(word.casefold() for word in (self.nick, *words) if word)

    def apply(self, update: Update, now_ms: int) -> list[Notice]:
        """Take one update; return what the window says of it."""
        if isinstance(update, _OF_A_TAB) and update.group not in self.groups:
            return []  # the tab was closed meanwhile, and does not come back for that
        match update:
            case Connected(registry, nick):
                self._on_answer(now_ms)
                self.registry, self.nick = registry, nick
                self.set_words(self._more_words)
            case RegistryAway(text):
                self.registry_away = text
            case Listed(groups):
                self._on_answer(now_ms)
                self.listed = groups
            case WishFailed():
                return self._on_failed(update, now_ms)
            case JoinBegan(group):
                self._become(self.open(group), GroupStanding.JOINING, now_ms)
            case Joined():
                self._on_joined(update, now_ms)
            case BacklogCame(group, topic, said):
                known = [(name, message) for name, message in said if name not in self.ignored]
                self.open(group).conversation.on_backlog(topic, known, now_ms, self.words)
            case Arrived(group):
                return self._on_arrived(self.open(group), update)
            case LinesMoved(group):
                return self._on_moved(self.open(group), update, now_ms)
            case HeldBackNow(group, count):
                self.open(group).held = count
            case ProtectionTold(name, registry, certified=certified) if (name, registry) == (self.nick, self.registry):
                self.certified = certified
            case ReceiptCame() | RegistryFound() | InvitationAccepted() | ProtectionTold():
                pass  # the window shows it where it was asked for
            case FoundOnDisk() | SurroundingsCame():
                pass
            case Left(group, reason):
                self._on_left(group, reason, now_ms)
            # Older rows go to the view alone, which asked for them: in
            # the model they would push the newest out at its bound.
            case HistoryCame(older=False):
                return self._on_history(update, now_ms)
            case HistoryCame():
                pass
            case Exported(name, text):
                if name in self.groups or name in self.privates:
                    self.talk(name).conversation.notice(text, now_ms)
            case StorageTold(text):
                return [Notice(text, error=True, lasting=True)]
            case _:
                assert_never(update)
        return []

    def _on_answer(self, now_ms: int) -> None:
        """Record that the registry answers."""
        if self.registry_away:
            self.registry_away, self.registry_back_ms = "", now_ms

    def _on_history(self, came: HistoryCame, now_ms: int) -> list[Notice]:
        if came.group in self.groups:
            self.groups[came.group].conversation.restore(came.rows, came.lines)
        if not (private := self.privates.get(came.group)):
            return []
        private.conversation.restore(came.rows, came.lines)
        private.loaded, waiting, private.waiting = True, private.waiting, []
        return [notice for update in waiting for notice in self.apply(update, now_ms)]

    def _on_moved(self, state: GroupState, moved: LinesMoved, now_ms: int) -> list[Notice]:
        talks: list[Talk] = [state, *(talk for talk in self.privates.values() if talk.state is state)]
        # Lines of several tabs may end together, when the group is left.
        mine = [talk for talk in talks if not talk.conversation.own.lines.keys().isdisjoint(moved.ids)]
        for talk in mine:
            if isinstance(talk, PrivateTalk) and not talk.loaded:
                talk.waiting.append(moved)
            else:
                for identity in moved.ids:
                    talk.conversation.on_moved(identity, moved.state, moved.number, moved.why, now_ms)
        if moved.state not in ENDED_BADLY:
            return []
        lost = moved.state is MessageState.LOST
        sent = translate("chat", "not sent: {}") if lost else translate("chat", "may not have arrived: {}")
        return [Notice(sent.format(moved.why), talk.name, error=True, shown=True) for talk in mine]

    # groups

    def _become(self, state: GroupState, standing: GroupStanding, now_ms: int, why: str = "") -> None:
        trouble = state.standing in (GroupStanding.DETACHED, GroupStanding.RETURNING)
        # The banner says for a while that all is well again; after a join there was nothing to be well again from.
        if trouble and standing is GroupStanding.IN:
            state.back_ms = now_ms
        state.standing, state.since_ms, state.why, state.missing = standing, now_ms, why, False

    def _on_failed(self, failed: WishFailed, now_ms: int) -> list[Notice]:
        state = self.groups.get(failed.group)
        # Only a join that failed leaves one outside; another wish of a member changes nothing in its standing.
        if state and state.standing is GroupStanding.JOINING:
            self._become(state, GroupStanding.LEFT, now_ms, failed.why)
            state.missing = failed.missing
        return [Notice(translate("chat", "could not {}: {}").format(failed.what, failed.why), failed.group, error=True)]

    def _on_joined(self, update: Joined, now_ms: int) -> None:
        state = self.open(update.group)
        state.definition, state.process = update.definition, update.process
        # Its own view event comes as well, but later, behind what
        # else waits: the list must not stand empty until then.
        state.members.on_view(update.view, {}, now_ms)
        self._become(state, GroupStanding.IN, now_ms)

    def _on_left(self, group: str, reason: str, now_ms: int) -> None:
        state = self.groups.get(group)
        if state is not None:
            self._become(state, GroupStanding.LEFT, now_ms, departed_text(reason))
            if reason == "request":  # by a wish of the user's own, as another name is
                return
            state.conversation.notice(
                translate("chat", "this chat is no longer in the group: {}").format(departed_text(reason)), now_ms
            )

    # events

    def _on_arrived(self, state: GroupState, update: Arrived) -> list[Notice]:
        notices: list[Notice] = []
        for event in update.events:
            if isinstance(event, gcom.Message):
                if not self.ignored or event.name not in self.ignored:
                    notices += self._on_message(state, event, update)
            elif isinstance(event, gcom.Unicast):
                if event.name not in self.ignored:
                    notices += self._on_unicast(state, event, update)
            else:
                self._on_event(state, event, update.at_ms)
        return notices

    def _on_message(self, state: GroupState, event: gcom.Message, update: Arrived) -> list[Notice]:
        talk, own = state.conversation, event.sender == state.process
        message = decode(event.payload)
        row = talk.on_message(event.sender, event.number, event.view, message, update.at_ms, own, self.words)
        if row is None:  # shown already
            return []
        row.looks_like = state.members.looks_like(row.name)
        row.times = update.times.get((event.sender, event.number))
        # Who is looking needs no notice of what he sees.
        told = row.mention and not talk.watched
        return [Notice(f"{apart(row.name)}: {apart(row.text[:200])}", state.name)] if told else []

    def _on_unicast(self, state: GroupState, event: gcom.Unicast, update: Arrived) -> list[Notice]:
        private = self.open_private(state.name, event.name)
        if not private.loaded:
            private.waiting.append(Arrived(state.name, update.at_ms, (event,)))
            return []
        row = private.conversation.on_private(event.name, decode(event.payload), update.at_ms, self.nick)
        if row is None:  # shown already
            return []
        row.looks_like = state.members.looks_like(row.name)
        if private.conversation.watched:
            return []
        text = translate("chat", "{} (private): {}").format(apart(row.name), apart(row.text[:200]))
        return [Notice(text, private.name)]

    def _on_event(self, state: GroupState, event: gcom.Event, now_ms: int) -> None:
        talk = state.conversation
        match event:
            case gcom.ViewChange(view, _, left):
                state.members.on_view(view, left, now_ms)
                self._on_view(state, event, now_ms)
                # A view that comes while no quorum is heard is an older
                # one, read late: it does not end the detachment.
                if state.standing is not GroupStanding.DETACHED:
                    self._become(state, GroupStanding.IN, now_ms)
            case gcom.Suspicion(process, reason):
                state.members.on_suspicion(process, reason, now_ms)
            # Which own lines these have to do with is known to those who keep them: LinesMoved tells it.
            case gcom.QuorumLost():
                self._become(state, GroupStanding.DETACHED, now_ms)
            case gcom.QuorumRegained():
                self._become(state, GroupStanding.IN, now_ms)
            case gcom.Lost(sender, _, count):
                talk.notice(
                    translate("chat", "{} messages of {} were lost on the way here").format(
                        count, apart(sender.partition("#")[0])
                    ),
                    now_ms,
                )
            case gcom.Departure():
                self._on_departure(state, event, now_ms)
            case gcom.Returned(process):
                state.process = process
                self._become(state, GroupStanding.IN, now_ms)
                talk.notice(translate("chat", "this chat is back in the group"), now_ms)
            case gcom.StateLost(_, reason):
                talk.notice(
                    translate("chat", "nobody can give the topic and what was said before: {}").format(reason), now_ms
                )
            case gcom.StateRestored(_, reason):
                talk.notice(
                    translate("chat", "what was said while this chat was out is lost: {}").format(reason), now_ms
                )
            case gcom.StateUnmerged(_, reason):
                talk.notice(
                    translate("chat", "what this side said meanwhile stays here alone: {}").format(reason), now_ms
                )
            case gcom.LogEnded(_, reason):
                talk.notice(translate("chat", "the delivery log ends here: {}").format(reason), now_ms)

    def _on_view(self, state: GroupState, event: gcom.ViewChange, now_ms: int) -> None:
        """Show a view change, in one line with those right before it."""
        talk = state.conversation
        if not (self.collapse and state.views and talk.last_is_view and len(state.views) < VIEWS_A_LINE_MAX):
            state.views = []
        state.views.append(event)
        talk.on_view(view_text(*state.views), event.view.number, now_ms, again=len(state.views) > 1)

    def _on_departure(self, state: GroupState, event: gcom.Departure, now_ms: int) -> None:
        why = departed_text(event.reason)
        if event.returning:
            self._become(state, GroupStanding.RETURNING, now_ms, why)
            state.conversation.notice(translate("chat", "out of the group: {}; coming back").format(why), now_ms)
