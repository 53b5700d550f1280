"""One group's tab: banner, topic, conversation, input, and members."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QLabel, QSplitter, QVBoxLayout, QWidget

from chat_gui.model.chat import GroupState
from chat_gui.model.commands import typed
from chat_gui.model.rows import ChatRow
from chat_gui.model.settings import DRAFT_CHARS_MAX, SavedTab
from chat_gui.view.banner import Banner, words
from chat_gui.view.conversation_view import ConversationView
from chat_gui.view.members_view import MembersView
from chat_gui.view.message_input import MessageInput

# A letter per ordering for the tab, and what it gives.
BADGES = {"NONORDERED": "U", "FIFO": "F", "CAUSAL": "C", "TOTAL": "T", "CAUSALTOTAL": "CT"}


class GroupTab(QWidget):
    """Shows a `GroupState`; `refresh` is called when something of it may have changed."""

    entered = Signal(str, str)  # group, what was typed

    def __init__(
        self,
        state: GroupState,
        older: Callable[[int, int], Sequence[ChatRow]],
        groups: Callable[[], list[str]],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.state = state
        self.banner = Banner(self)
        self._topic = QLabel(self)
        self._topic.setTextFormat(Qt.TextFormat.PlainText)
        self._topic.setContentsMargins(10, 4, 10, 4)
        self.conversation = ConversationView(older, self, state.name)
        self.members = MembersView(self)
        self.input = MessageInput(self._member_names, groups, self)
        self.input.entered.connect(lambda text: self.entered.emit(self.state.name, text))
        self.members.whisper.connect(self._whisper)
        split = self._split = QSplitter(Qt.Orientation.Horizontal, self)
        split.addWidget(self.conversation)
        split.addWidget(self.members)
        split.setStretchFactor(0, 1)
        split.setSizes([640, 170])
        split.setChildrenCollapsible(False)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 6)
        layout.setSpacing(4)
        for widget in (self.banner, self._topic, split, self.input):
            layout.addWidget(widget, 1 if widget is split else 0)
        self.setFocusProxy(self.input)

    def _member_names(self) -> list[str]:
        view = self.state.members.view
        return [name for name in (view.names if view else ()) if name != self.state.process.partition("#")[0]]

    def _whisper(self, name: str) -> None:
        self.input.setPlainText(f"/msg {name} ")
        self.input.moveCursor(self.input.textCursor().MoveOperation.End)
        self.input.setFocus()

    @property
    def members_width(self) -> int:
        """The width of the member list."""
        return self._split.sizes()[1]

    def show_width(self, members: int) -> None:
        """Give the member list this width, and the conversation the rest; 0: as they are."""
        if members:
            self._split.setSizes([max(1, sum(self._split.sizes()) - members), members])

    @property
    def title(self) -> str:
        """The text of the tab: crown, name, members, ordering, unread."""
        state, talk = self.state, self.state.conversation
        count = len(state.members.view.members) if state.members.view else 0
        order = BADGES[state.definition.ordering.value] if state.definition else ""
        marks = f" @{talk.mentioned}" if talk.mentioned else f" •{talk.unread}" if talk.unread else ""
        return f"{'♛ ' if state.leads else ''}{state.name} ({count}) {order}{marks}".rstrip()

    def saved(self) -> SavedTab:
        """Return what is to be found again at the next start."""
        talk = self.state.conversation
        # What waits for the group is not sent by a chat that ends: it is typed already, and stands in the input then.
        lines = [*(typed(*each) for each in talk.unsent.values()), self.input.toPlainText()]
        draft = "\n".join(line for line in lines if line)[:DRAFT_CHARS_MAX]
        return SavedTab(self.state.name, draft, talk.marker or 0, talk.unread, talk.mentioned)

    def refresh(self, registry_away: str) -> list[ChatRow]:
        """Show what is new; return the rows to keep."""
        talk = self.state.conversation
        news = talk.news()
        self.conversation.add(news)
        self.conversation.show_outbox(list(talk.outbox.values()))
        if changed := talk.changed():
            news = [*news, *self.conversation.rows.refresh(changed)]
        self.conversation.rows.marker = talk.marker
        self.members.show_members(self.state.members.list(self.state.process))
        self._topic.setText(talk.topic)
        self._topic.setVisible(bool(talk.topic))
        self.banner.say(*words(self.state, registry_away))
        return news
