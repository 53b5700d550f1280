"""What nobody looked at is unread: behind another window, in a tab at the back, or said while this chat was away."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from gcom_chat.model.conversation import Conversation
from gcom_chat.model.group_state import GroupStanding
from gcom_chat.model.updates import Arrived, Joined, Left
from gcom_chat.model.wire import ChatMessage, MessageKind
from gcom_chat.view.desktop.window_face import Mood, icon_of
from gcom_chat.view.window import ChatWindow
from PySide6.QtWidgets import QWidget

import gcom
from tests.chat_gui.windows import wait_until

Opener = Callable[..., ChatWindow]


def view(*names: str) -> gcom.View:
    return gcom.View(1, tuple(f"{name}#1" for name in names), ("",) * len(names))


def arrive(window: ChatWindow, group: str, *events: gcom.Event) -> None:
    window.on_updates([Arrived(group, 1_000, events)])


@pytest.fixture
def window(opened: Opener) -> ChatWindow:
    """A window of alice with two groups, of which news is in front."""
    window = opened("", "", "news", "work")
    window.chat.nick = window.chat.registry = "alice"
    window.chat.set_words(())
    for group in ("work", "news"):
        window.on_updates([Joined(group, "alice#1", gcom.Definition(group), view("alice", "bob"))])
    window.activateWindow()
    wait_until(lambda: window.in_sight)
    window.refresh()
    return window


def bob(text: str, number: int = 1) -> gcom.Message:
    return gcom.Message("bob#1", number, 1, text)


def test_what_comes_while_another_window_is_active_is_unread_and_notified(window: ChatWindow) -> None:
    told: list[str] = []
    window.desk.notifier.told.connect(lambda title, text: told.append(text))
    talk = window.tabs["news"].talk
    arrive(window, "news", bob("seen by alice"))
    assert (talk.unread, talk.marker, told) == (0, None, [])
    other = QWidget()
    other.show()
    other.activateWindow()
    wait_until(lambda: not window.in_sight)
    arrive(window, "news", bob("hello", 2), bob("alice?", 3))
    assert (talk.unread, talk.mentioned) == (2, 1)
    assert talk.rows[-2].key == talk.marker, "the line stands above the first that was not seen"
    assert told == ["bob: alice?"]
    assert window.windowTitle() == "@1 news (2) – GCom chat"
    assert window._face.mood is Mood.MENTION
    window.activateWindow()
    wait_until(lambda: window.in_sight)
    assert (talk.unread, talk.mentioned, window._face.mood) == (0, 0, Mood.CALM)
    other.close()


def test_what_comes_while_the_window_is_minimised_is_unread(window: ChatWindow) -> None:
    window.showMinimized()
    wait_until(lambda: window.isMinimized())
    arrive(window, "news", bob("hello"))
    assert window.tabs["news"].talk.unread == 1
    assert window.windowTitle() == "•1 news (2) – GCom chat"
    window.come_forward([])
    wait_until(lambda: window.in_sight)
    assert window.tabs["news"].talk.unread == 0


def test_title_and_icon_say_what_is_the_matter(window: ChatWindow) -> None:
    assert window.windowTitle() == "news (2) – GCom chat"
    arrive(window, "news", gcom.QuorumLost(None))
    assert window.windowTitle() == "news (2) – cut off – GCom chat"
    assert window.windowIcon().cacheKey() == icon_of(Mood.TROUBLE).cacheKey()
    arrive(window, "news", gcom.QuorumRegained(None))
    window.chat.registry_away = "no answer"
    window.refresh()
    assert window.windowTitle() == "news (2) – registry away – GCom chat"
    assert window.windowIcon().cacheKey() == icon_of(Mood.OFFLINE).cacheKey()
    assert window.chat.groups["news"].standing is GroupStanding.IN
    window.on_updates([Left("news", "expelled")])
    assert window.windowTitle() == "news (2) – not in the group – registry away – GCom chat"
    assert "The registry does not answer: nobody can join now." in window.tabs["news"].banner.text
    pictures = {mood: icon_of(mood).pixmap(32).toImage() for mood in Mood}
    assert all(pictures[a] != pictures[b] for a in Mood for b in Mood if a is not b)


def test_lines_that_were_missed_look_unread_and_stand_below_the_marker() -> None:
    talk = Conversation("news")
    talk.watched = True
    talk.on_message("bob#1", 1, 1, ChatMessage(MessageKind.TEXT, "before", "a"), 1, False, frozenset())
    missed = [("bob", ChatMessage(MessageKind.TEXT, text, text)) for text in ("a", "hey alice", "later")]
    talk.watched = False
    talk.on_backlog("", missed, 2, frozenset({"alice"}))
    assert (talk.unread, talk.mentioned) == (2, 1)
    assert [row.text for row in talk.rows if row.key >= (talk.marker or 0)] == ["hey alice", "later"]
    # Whoever looks at that moment is shown where it begins all the same.
    talk.on_backlog("", [*missed, ("bob", ChatMessage(MessageKind.TEXT, "last", "last"))], 3)
    assert talk.unread == 3


def test_what_was_said_before_a_newcomer_came_is_history_and_not_unread() -> None:
    talk = Conversation("news")
    talk.on_backlog("", [("bob", ChatMessage(MessageKind.TEXT, "long ago", "a"))], 2, frozenset({"ago"}))
    assert (talk.unread, talk.mentioned, talk.marker) == (0, 0, None)
