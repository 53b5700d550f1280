"""A group's tab: banner, topic, conversation, input, and members."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from itertools import islice

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QColor, QPalette, QResizeEvent
from PySide6.QtWidgets import QLabel, QSizePolicy, QSplitter, QVBoxLayout, QWidget

from gcom_chat.model.chat import Chat
from gcom_chat.model.group_state import PrivateTalk, Talk
from gcom_chat.model.members import Pulse
from gcom_chat.model.rows import ChatRow
from gcom_chat.model.settings import DRAFT_CHARS_MAX, SavedTab, promises_of
from gcom_chat.model.texts.isolates import apart
from gcom_chat.view import colours
from gcom_chat.view.banner import Banner, soon, words
from gcom_chat.view.members_view import MembersView
from gcom_chat.view.rows.conversation_view import ConversationView
from gcom_chat.view.writing.message_input import MessageInput

# A letter per ordering for the tab, and what it gives.
BADGES = {"NONORDERED": "U", "FIFO": "F", "CAUSAL": "C", "TOTAL": "T", "CAUSALTOTAL": "CT"}


NAME_WIDTH = 200  # in the text of a tab, of which several should be in sight
SPEAKERS_ROWS = 500  # that are looked through for who spoke last


class TopicLine(QLabel):
    """The topic in one line, as much of it as there is room for; the tooltip has it whole."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setContentsMargins(10, 4, 10, 4)
        # Any member may set it: one long word must not make the window of all others as wide.
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self._topic = ""

    def show_topic(self, topic: str) -> None:
        """Show a topic, or nothing where there is none."""
        if topic != self._topic:
            self._topic = topic
            self.setToolTip(f"<qt>{escape(topic)}</qt>" if topic else "")
            self._fit()
        self.setVisible(bool(topic))

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Show more or less of it."""
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        self.setText(
            self.fontMetrics().elidedText(apart(self._topic), Qt.TextElideMode.ElideRight, self.contentsRect().width())
        )


class GroupTab(QWidget):
    """Shows a group, or a private conversation in one; `refresh` is called when something of it may have changed."""

    entered = Signal(str, str)  # the tab's name, what was typed
    private_wanted = Signal(str)  # a member
    ignore_wanted = Signal(str)

    def __init__(
        self,
        shown: Talk,
        older: Callable[[int, int], Sequence[ChatRow]],
        groups: Callable[[], list[str]],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.shown, self.talk = shown, shown.conversation
        self.name, self.group, self.peer = shown.name, shown.group, shown.peer
        self.state = shown.state if isinstance(shown, PrivateTalk) else shown
        self._pulse: Pulse | None = None
        self._pulse_s = 0.0
        self.banner = Banner(self)
        self._topic = TopicLine(self)
        self.conversation = ConversationView(older, self, self.name)
        self.conversation.delegate.members = self.state.members
        self.conversation.delegate.private = bool(self.peer)
        self.members = MembersView(self)
        self.members.setHidden(bool(self.peer))
        self.input = MessageInput(self._member_names, groups, self)
        if self.peer:
            self.input.setPlaceholderText(self.tr("Message to {} alone, or /help").format(apart(self.peer)))
        self.input.entered.connect(lambda text: self.entered.emit(self.name, text))
        self.members.private_wanted.connect(self.private_wanted)
        self.members.ignore_wanted.connect(self.ignore_wanted)
        split = self._split = QSplitter(Qt.Orientation.Horizontal, self)
        split.addWidget(self.conversation)
        split.addWidget(self.members)
        split.setStretchFactor(0, 1)
        split.setSizes([640, 170])
        # A list that was dragged to a width of 0 would not be found again.
        split.setChildrenCollapsible(False)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 6)
        layout.setSpacing(4)
        for widget in (self.banner, self._topic, split, self.input):
            layout.addWidget(widget, 1 if widget is split else 0)
        # Whoever turns to the tab begins to type.
        self.setFocusProxy(self.input)

    def _member_names(self) -> list[str]:
        """Return the other members, the last speakers first."""
        view = self.state.members.view
        names = [name for name in (view.names if view else ()) if name != self.state.process.partition("#")[0]]
        speakers = dict.fromkeys(row.name for row in islice(reversed(self.talk.rows), SPEAKERS_ROWS))
        rank = {name: at for at, name in enumerate(speakers)}
        return sorted(names, key=lambda name: rank.get(name, len(rank)))

    @property
    def members_width(self) -> int:
        """The width of the member list."""
        return self._split.sizes()[1]

    def show_width(self, members: int) -> None:
        """Give the member list this width, and the conversation the rest; 0: as they are."""
        if members:
            self._split.setSizes([max(1, sum(self._split.sizes()) - members), members])

    @property
    def colour(self) -> QColor:
        """The colour of the tab's text: of its own for a mention, and for what is unread; the signs say the same."""
        talk = self.talk
        if talk.mentioned:
            return colours.accent(self.palette())
        # None of its own, else: the style's colour follows a switch from light to dark.
        return self.palette().color(QPalette.ColorRole.Link) if talk.unread else QColor()

    @property
    def about(self) -> str:
        """The signs of the tab in words."""
        state, talk = self.state, self.talk
        lines = []
        if self.peer:
            lines += [self.tr("{} alone, in the group {}").format(apart(self.peer), apart(self.group))]
        else:
            lines += [self.group]
            lines += [self.tr("this chat leads the group")] if state.leads else []
            lines += [state.definition.ordering.value] if state.definition else []
            lines += [self.tr("%n message(s) held back: they wait for others", "", state.held)] if state.held else []
        lines += [self.tr("%n unread", "", talk.unread)] if talk.unread else []
        lines += [self.tr("%n mention(s)", "", talk.mentioned)] if talk.mentioned else []
        lines += [self.tr("lines of yours that were not sent")] if talk.own.unfinished else []
        return "\n".join(lines)

    @property
    def title(self) -> str:
        """The text of the tab: crown, name, members, ordering, held back, not sent, unread."""
        state, talk = self.state, self.talk
        marks = f" @{talk.mentioned}" if talk.mentioned else f" •{talk.unread}" if talk.unread else ""
        marks = f"{' ✗' if talk.own.unfinished else ''}{marks}"
        if self.peer:
            return f"✉ {self._fitting(self.peer)} ({self._fitting(self.group)}){marks}"
        order = BADGES[state.definition.ordering.value] if state.definition else ""
        held = f" ◷{state.held}" if state.held else ""
        return (
            f"{'♛ ' if state.leads else ''}{self._fitting(state.name)} ({state.count}) {order}{held}".rstrip() + marks
        )

    def _fitting(self, name: str) -> str:
        """Return as much of a name as a tab has room for."""
        return self.fontMetrics().elidedText(apart(name), Qt.TextElideMode.ElideMiddle, NAME_WIDTH)

    def saved(self) -> SavedTab:
        """Return what is to be found again at the next start."""
        talk = self.talk
        draft = self.input.toPlainText()[:DRAFT_CHARS_MAX]
        promises = promises_of(self.state.definition) if self.state.definition else ""
        return SavedTab(self.name, draft, talk.marker or 0, talk.unread, talk.mentioned, promises)

    def refresh(self, chat: Chat, now_ms: int) -> list[ChatRow]:
        """Show what is new; return the rows to keep."""
        talk = self.talk
        news = talk.news()
        self.conversation.add(news)
        self.conversation.show_outbox(talk.own.rows)
        self.conversation.renew(talk.changed())
        self.conversation.rows.marker = talk.marker
        # The pulse that is known, for the members may be others since it came.
        self.show_pulse(self._pulse, self._pulse_s)
        self._topic.show_topic(self.state.conversation.topic)
        self.show_banner(chat, now_ms)
        return news

    def show_banner(self, chat: Chat, now_ms: int) -> None:
        """Say what is wrong, and when something is tried again."""
        text, buttons = words(self.shown, chat, now_ms)
        self.banner.say(text, buttons, soon(self.state, chat, now_ms))

    def show_pulse(self, pulse: Pulse | None, now_s: float) -> None:
        """Show the members, and how they were last heard."""
        self._pulse, self._pulse_s = pulse, now_s
        self.members.show_members(self.state.members.list(self.state.process, pulse, now_s))
