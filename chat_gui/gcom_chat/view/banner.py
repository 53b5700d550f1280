"""A strip above a conversation that says what is wrong, what still works, and what is being tried."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QWidget

import gcom
from gcom_chat.model.chat import Chat
from gcom_chat.model.group_state import GroupStanding, GroupState, PrivateTalk, Talk
from gcom_chat.model.outbox import ChatOutbox
from gcom_chat.model.rows import MessageState
from gcom_chat.model.texts.isolates import apart
from gcom_chat.model.texts.words import translate
from gcom_chat.view import colours

Buttons = tuple[tuple[str, str], ...]  # name and text of each
QUOTED_MAX, QUOTED_CHARS = 5, 24  # of the lines that are named: a banner has two lines or three
BACK_MS = 5_000  # for how long it says that all is well again


class Banner(QFrame):
    """Shows a text, and perhaps buttons; `pressed` brings the name of one."""

    pressed = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._label = QLabel(self)
        self._label.setTextFormat(Qt.TextFormat.PlainText)
        self._label.setWordWrap(True)
        self._buttons: list[QPushButton] = []
        self._shown: Buttons = ()
        layout = self._layout = QHBoxLayout(self)
        layout.setContentsMargins(10, 6, 10, 6)
        layout.addWidget(self._label, 1)
        self.setAutoFillBackground(True)
        self.hide()

    @property
    def text(self) -> str:
        """The text that is shown; empty while it is hidden."""
        # Not isVisible, which is false as well while the tab around it is behind another one.
        return self._label.text() if not self.isHidden() else ""

    def say(self, text: str, buttons: Buttons = (), soon: str = "") -> None:
        """Show a text, or hide where there is none; `soon`: when something is tried again, which is not announced."""
        text = gcom.isolated(text)
        self._label.setText(f"{text} {soon}".strip())
        # A screen reader announces each name that is set, be it the same; a count of seconds would never let it end.
        if text != self._label.accessibleName():
            self._label.setAccessibleName(text)
        self._show_buttons(buttons)
        # From the window's colours, not its own: those were tinted before, and would be tinted again.
        palette = self.window().palette()
        palette.setColor(self.backgroundRole(), colours.tint(palette, colours.accent(palette), 0.22))
        self.setPalette(palette)
        self.setVisible(bool(text))

    def _show_buttons(self, buttons: Buttons) -> None:
        # Only where they are others: this runs 25 times a second, and a button that is made anew loses its press.
        if buttons == self._shown:
            return
        self._shown = buttons
        for button in self._buttons:
            self._layout.removeWidget(button)
            button.deleteLater()
        self._buttons = [QPushButton(text, self) for _, text in buttons]
        for button, (name, _) in zip(self._buttons, buttons, strict=True):
            button.clicked.connect(partial(self.pressed.emit, name))
            self._layout.addWidget(button)


def words(shown: Talk, chat: Chat, now_ms: int) -> tuple[str, Buttons]:
    """Return what a tab's banner says, and its buttons."""
    state = shown.state if isinstance(shown, PrivateTalk) else shown
    text, button = _standing(state, chat, now_ms)
    own = shown.conversation.own
    if isinstance(shown, PrivateTalk) and not text and not shown.reachable:
        text = translate("banner", "{} is not in the group {} now.").format(apart(shown.peer), apart(shown.group))
    lines = lines_text(own, waiting=state.standing is not GroupStanding.IN)
    buttons = (("ask", button),) if button else ()
    if own.unfinished:
        again = (("again", translate("banner", "Send all again")),) if state.standing is GroupStanding.IN else ()
        buttons = (*buttons, *again, ("discard", translate("banner", "Discard all")))
    return f"{text} {lines}".strip(), buttons


def lines_text(own: ChatOutbox, waiting: bool = True) -> str:
    """Return in words which own lines have not come to all members; `waiting`: those too whose end is open."""
    parts = [
        (translate("banner", "Not sent: {}."), (MessageState.LOST,)),
        (
            translate("banner", "May not have arrived: {}."),
            (MessageState.UNCONFIRMED, *((MessageState.DOUBT,) if waiting else ())),
        ),
        (translate("banner", "Waiting here: {}."), (MessageState.WAITING,) if waiting else ()),
    ]
    named = ((text, [line.row.text for line in own.lines.values() if line.state in states]) for text, states in parts)
    return " ".join(text.format(_quoted(texts)) for text, texts in named if texts)


def _quoted(texts: Sequence[str]) -> str:
    first = [" ".join(text.split()) for text in texts[:QUOTED_MAX]]
    cut = [f"{text[:QUOTED_CHARS]}{'…' if len(text) > QUOTED_CHARS else ''}" for text in first]
    quotes = ", ".join(f"“{apart(text)}”" for text in cut)
    more = len(texts) - len(first)
    return translate("banner", "{} and {} more").format(quotes, more) if more else quotes


def _standing(state: GroupState, chat: Chat, now_ms: int) -> tuple[str, str]:
    """Return what is to be said of a chat's standing in a group, and the word on a button."""
    match state.standing:
        case GroupStanding.JOINING if chat.registry_away and not chat.registry:
            text = translate("banner", "No registry answers: {}. The chat asks again by itself.")
            return text.format(chat.registry_away), ""
        case GroupStanding.JOINING:
            return translate(
                "banner", "Joining {}: waiting for the registry and for the members to let this chat in."
            ).format(apart(state.name)), ""
        case GroupStanding.DETACHED:
            text = translate(
                "banner",
                "This side of a netsplit hears too few members to go on. You can read, and what you write waits here. "
                "It goes on by itself when a majority of the group is heard again.",
            )
            return text, ""
        case GroupStanding.RETURNING:
            text = translate("banner", "Out of the group: {}. This chat is on its way back; what you write waits here.")
            return text.format(state.why), ""
        case GroupStanding.LEFT:
            button = translate("banner", "Create it…") if state.missing else translate("banner", "Join again")
            text = translate("banner", "Not in this group: {}.").format(state.why)
            if chat.registry_away:
                text += " " + translate("banner", "The registry does not answer: nobody can join now.")
            return text, button
        case GroupStanding.IN if leader := state.members.silent_leader:
            text = translate(
                "banner",
                "Nothing is heard of the leader {}: the group elects the next one. You can read, and what you write "
                "waits for the new view.",
            )
            return text.format(apart(leader)), ""
        case GroupStanding.IN if chat.registry_away:
            text = translate(
                "banner",
                "The registry does not answer. Talk goes on; new groups and newcomers have to wait{}.",
            )
            served = state.definition is not None and state.definition.ordering.is_total
            order = translate("banner", ", and so may messages, until a member numbers them in its place")
            return text.format(order if served else ""), translate("banner", "Ask now")
        case GroupStanding.IN if now_ms - state.back_ms < BACK_MS:
            return translate("banner", "Back in the group: what waited is on its way."), ""
        case GroupStanding.IN if now_ms - chat.registry_back_ms < BACK_MS:
            return translate("banner", "The registry answers again."), ""
    return "", ""


def soon(state: GroupState, chat: Chat, now_ms: int) -> str:
    """Return when the registry is asked again, if that is what the banner tells of; else nothing."""
    if state.standing is not GroupStanding.IN or state.members.silent_leader or not chat.registry_away:
        return ""
    left_s = -(-max(0, chat.asks_again_ms - now_ms) // 1000)
    return translate("banner", "It is asked again in {} s.").format(left_s) if left_s else ""
