"""The window's title and icon: which group is in front, how many are in it, and what waits to be looked at."""

from __future__ import annotations

from enum import StrEnum
from functools import cache

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QFont, QIcon, QPainter, QPixmap
from PySide6.QtWidgets import QMainWindow

from gcom_chat.model.chat import Chat
from gcom_chat.model.group_state import GroupStanding, PrivateTalk, Talk
from gcom_chat.model.texts.isolates import apart
from gcom_chat.model.texts.words import translate

NAME = "GCom chat"
SIZES = 16, 24, 32, 64, 128


class Mood(StrEnum):
    """The states that the icon shows, the most urgent first."""

    TROUBLE = "trouble"  # a group is cut off or lost, or lines were not sent
    MENTION = "mention"
    UNREAD = "unread"
    OFFLINE = "offline"  # no registry answers
    CALM = "calm"


# The sign in the corner, and its colour.
_BADGES = {Mood.TROUBLE: ("!", "#c0281c"), Mood.MENTION: ("@", "#9a4b00"), Mood.UNREAD: ("", "#1b8a3a")}


def mood_of(chat: Chat) -> Mood:
    """Return what is most urgent of all that a chat has open."""
    talks = [talk.conversation for talk in chat.talks]
    fine = GroupStanding.IN, GroupStanding.JOINING
    if any(state.standing not in fine for state in chat.groups.values()) or any(talk.own.unfinished for talk in talks):
        return Mood.TROUBLE
    if any(talk.mentioned for talk in talks):
        return Mood.MENTION
    if any(talk.unread for talk in talks):
        return Mood.UNREAD
    return Mood.CALM if chat.registry and not chat.registry_away else Mood.OFFLINE


def title_of(chat: Chat, shown: Talk | None) -> str:
    """Return the title: what is unread in all tabs, the tab in front with its group's members, and what is wrong."""
    mentioned = sum(talk.conversation.mentioned for talk in chat.talks)
    unread = sum(talk.conversation.unread for talk in chat.talks)
    marks = f"@{mentioned} " if mentioned else f"•{unread} " if unread else ""
    if shown is None:
        return NAME
    state = shown.state if isinstance(shown, PrivateTalk) else shown
    group = apart(shown.group)
    name = f"{apart(shown.peer)} ({group})" if shown.peer else f"{group} ({state.count})"
    states = {
        GroupStanding.JOINING: translate("title", "joining"),
        GroupStanding.DETACHED: translate("title", "cut off"),
        GroupStanding.RETURNING: translate("title", "coming back"),
        GroupStanding.LEFT: translate("title", "not in the group"),
    }
    away = translate("title", "registry away") if chat.registry_away else ""
    words = [f"{marks}{name}", states.get(state.standing, ""), away, NAME]
    return " – ".join(word for word in words if word)


@cache
def icon_of(mood: Mood) -> QIcon:
    """Return the chat's sign, two speech bubbles, with what it says in the corner."""
    icon = QIcon()
    for size in SIZES:
        icon.addPixmap(_picture(mood, size))
    return icon


def _picture(mood: Mood, size: int) -> QPixmap:
    picture = QPixmap(size, size)
    picture.fill(Qt.GlobalColor.transparent)
    painter = QPainter(picture)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.scale(size / 64, size / 64)
    painter.setPen(Qt.PenStyle.NoPen)
    bubbles = ("#8a8a8a", "#b8b8b8") if mood is Mood.OFFLINE else ("#005c99", "#f0b04a")
    for colour, x, y in zip(bubbles, (4, 20), (8, 28), strict=True):
        painter.setBrush(QColor(colour))
        painter.drawRoundedRect(x, y, 40, 26, 9, 9)
    if badge := _BADGES.get(mood):
        sign, colour = badge
        where = QRectF(32, 0, 32, 32)
        painter.setPen(QColor("#ffffff"))
        painter.setBrush(QColor(colour))
        painter.drawEllipse(where.adjusted(2, 2, -2, -2))
        font = QFont()
        font.setPixelSize(24)
        font.setBold(True)
        painter.setFont(font)
        painter.drawText(where, Qt.AlignmentFlag.AlignCenter, sign)
    painter.end()
    return picture


class WindowFace:
    """Gives a window its title and icon, where they are others."""

    def __init__(self, window: QMainWindow) -> None:
        self._window = window
        self.mood = Mood.CALM
        window.setWindowIcon(icon_of(self.mood))

    def show(self, chat: Chat, shown: Talk | None) -> bool:
        """Show what a chat has open; return whether the icon is another."""
        if (title := title_of(chat, shown)) != self._window.windowTitle():
            self._window.setWindowTitle(title)
        mood, before = mood_of(chat), self.mood
        if mood is before:
            return False
        self.mood = mood
        self._window.setWindowIcon(icon_of(mood))
        return True
