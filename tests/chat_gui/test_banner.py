"""The words of the banner: what is wrong, what still works, what is being tried, and that it is over."""

from __future__ import annotations

import pytest
from gcom_chat.model.chat import Chat
from gcom_chat.model.group_state import GroupState
from gcom_chat.model.rows import MessageState
from gcom_chat.model.updates import Arrived, Connected, HeldBackNow, Joined, Left, LinesMoved, Listed, RegistryAway
from gcom_chat.model.wire import ChatMessage, MessageKind
from gcom_chat.view.banner import BACK_MS, Banner, soon, words
from PySide6.QtWidgets import QLabel

import gcom
from tests.chat_gui.insights import VIEW

ALICE, BOB, _ = VIEW.members


def joined(ordering: str) -> tuple[Chat, GroupState]:
    """A chat as bob in a group of three that alice leads."""
    chat = Chat()
    chat.apply(Connected("127.0.0.1:1", "bob"), 1_000_000)
    chat.open("news")
    chat.apply(Joined("news", BOB, gcom.Definition.parse("news", ordering), VIEW), 1_000_000)
    return chat, chat.groups["news"]


def said(chat: Chat, state: GroupState, at_ms: int) -> str:
    return words(state, chat, at_ms)[0]


def test_nothing_is_said_of_a_group_that_is_well() -> None:
    chat, state = joined("TOTAL")
    assert said(chat, state, 1_000_001) == ""


def test_a_silent_leader_means_an_election() -> None:
    chat, state = joined("TOTAL")
    chat.apply(Arrived("news", 1_000_001, (gcom.Suspicion("carol#1", "silence"),)), 1_000_001)
    assert said(chat, state, 1_000_001) == ""
    chat.apply(Arrived("news", 1_000_001, (gcom.Suspicion(ALICE, "silence"),)), 1_000_001)
    assert "alice: the group elects" in said(chat, state, 1_000_001)


def test_a_registry_that_is_away_and_back() -> None:
    waits = {}
    for ordering in ("CAUSAL", "TOTAL"):
        chat, state = joined(ordering)
        chat.apply(RegistryAway("no answer"), 2_000_000)
        waits[ordering] = "until a member numbers them" in said(chat, state, 2_000_000)
        assert "Talk goes on" in said(chat, state, 2_000_000)
        chat.apply(Listed(()), 3_000_000)
        assert said(chat, state, 3_000_000) == "The registry answers again."
        assert said(chat, state, 3_000_000 + BACK_MS) == ""
    assert waits == {"CAUSAL": False, "TOTAL": True}


def test_a_netsplit_names_all_lines_that_are_not_with_the_others_and_says_when_it_is_over() -> None:
    chat, state = joined("TOTAL")
    for name in "abcdefg":
        state.conversation.sending(ChatMessage(MessageKind.TEXT, f"line {name}", name), "bob", 1)
    chat.apply(LinesMoved("news", ("a",), MessageState.DOUBT, 1), 2_000_000)
    assert said(chat, state, 2_000_000) == "", "it only takes its time"
    chat.apply(Arrived("news", 2_000_000, (gcom.QuorumLost((1, 1)),)), 2_000_000)
    text = said(chat, state, 2_000_000)
    assert (
        "May not have arrived: “line a”. Waiting here: “line b”, “line c”, “line d”, “line e”, “line f” and 1" in text
    )
    chat.apply(Arrived("news", 3_000_000, (gcom.QuorumRegained(None),)), 3_000_000)
    chat.apply(LinesMoved("news", tuple("abcdefg"), MessageState.HELD), 3_000_000)
    assert said(chat, state, 3_000_000).startswith("Back in the group")
    assert said(chat, state, 3_000_000 + BACK_MS) == ""


def test_lines_that_ended_badly_can_all_be_sent_again_or_discarded() -> None:
    chat, state = joined("TOTAL")
    for name in "ab":
        state.conversation.sending(ChatMessage(MessageKind.TEXT, f"line {name}", name), "bob", 1)
    (notice,) = chat.apply(LinesMoved("news", ("a",), MessageState.LOST, why="too large"), 2)
    assert notice.text == "not sent: too large"
    chat.apply(LinesMoved("news", ("b",), MessageState.UNCONFIRMED, why="it went"), 2)
    text, buttons = words(state, chat, 1_000_001)
    assert text == "Not sent: “line a”. May not have arrived: “line b”."
    assert [name for name, _ in buttons] == ["again", "discard"]
    chat.apply(Left("news", "taken"), 3)
    assert [name for name, _ in words(state, chat, 4)[1]] == ["ask", "discard"]


def test_a_tab_that_was_closed_does_not_come_back_for_late_news() -> None:
    chat, _ = joined("TOTAL")
    chat.close("news")
    for update in (
        Arrived("news", 1, (gcom.QuorumRegained(None),)),
        LinesMoved("news", ("a",), MessageState.SENT),
        HeldBackNow("news", 2),
    ):
        assert chat.apply(update, 1) == []
    assert chat.groups == {}


@pytest.mark.usefixtures("qapp")
def test_the_seconds_to_the_next_try_are_shown_and_not_announced() -> None:
    chat, state = joined("TOTAL")
    assert soon(state, chat, 2_000_000) == ""
    chat.apply(RegistryAway("no answer"), 2_000_000)
    chat.asks_again_ms = 2_003_000
    assert soon(state, chat, 2_000_500) == "It is asked again in 3 s."
    assert soon(state, chat, 2_003_000) == ""
    banner = Banner()
    banner.say("It is away.", (("ask", "Ask now"),), "In 3 s.")
    assert banner.text == "It is away. In 3 s."
    (label,) = banner.findChildren(QLabel)
    assert label.accessibleName() == "It is away."
