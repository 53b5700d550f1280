"""Private conversations have a tab each; who is ignored is not shown; two members of a small group look different."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import pytest
from gcom_chat.model.chat import Chat
from gcom_chat.model.input.commands import BadCommand, parse
from gcom_chat.model.name_colours import COLOURS, NameColours
from gcom_chat.model.rows import ChatRow, MessageState, RowKind
from gcom_chat.model.updates import Arrived, BacklogCame, HistoryCame, Joined
from gcom_chat.model.wire import ChatMessage, MessageKind, encode
from gcom_chat.storage.places import Places
from gcom_chat.view.window import ChatWindow

import gcom
from tests.chat_gui.windows import is_in, rows, say, texts, wait_until

Opener = Callable[..., ChatWindow]
VIEW = gcom.View(1, ("alice#1", "bob#1"), ("", ""))


def unicast(text: str, identity: str = "") -> gcom.Unicast:
    return gcom.Unicast("bob#1", encode(ChatMessage(MessageKind.TEXT, text, identity or text)))


def test_private_talk_has_a_tab_that_is_found_again(opened: Opener, places: Places, registry: str) -> None:
    with gcom.connect("bob", registry) as bob:
        bob.create("news", "FIFO")
        news = bob.join("news")
        window = opened("alice", registry, "news", places=places)
        wait_until(lambda: is_in(window, "news", 2))
        news.send_to("alice", "psst")
        wait_until(lambda: "news@bob" in window.tabs and "psst" in texts(window, "news@bob"))
        assert window._tabs.current is window.tabs["news"], "it takes nobody away from what is read"
        assert window.tabs["news@bob"].title == "✉ bob (news) @1"
        assert "psst" not in texts(window, "news")
        say(window, "news", "/msg bob what?")
        assert window._tabs.current is window.tabs["news@bob"]
        say(window, "news@bob", "and /me is plain here")
        wait_until(lambda: [row.delivery for row in rows(window, "news@bob") if row.own] == [MessageState.HELD] * 2)
        said = [event for event in iter(lambda: news.receive(0), None) if isinstance(event, gcom.Unicast)]
        assert len(said) == 2
        window.close()

        again = opened(places=places)
        assert list(again.tabs) == ["news", "news@bob"]
        wait_until(lambda: "psst" in texts(again, "news@bob") and is_in(again, "news", 2))
        news.send_to("alice", "still here")
        wait_until(lambda: texts(again, "news@bob")[-1] == "still here")
        again.close_tab("news")
        assert list(again.tabs) == []


def test_what_comes_before_its_scrollback_follows_it() -> None:
    chat = Chat()
    chat.open("news")
    chat.apply(Joined("news", "alice#1", gcom.Definition("news"), VIEW), 0)
    chat.apply(Arrived("news", 5_000, (unicast("new"),)), 5_000)
    talk = chat.privates["news@bob"]
    assert not talk.conversation.rows
    old = ChatRow(7, RowKind.PRIVATE, 1_000, "bob", "old")
    (notice,) = chat.apply(HistoryCame("news@bob", (old,), older=False), 6_000)
    assert (notice.group, notice.text) == ("news@bob", "bob (private): new")
    assert [row.text for row in talk.conversation.rows if row.name] == ["old", "new"]
    assert talk.conversation.rows[-1].key > 7
    chat.apply(Arrived("news", 7_000, (unicast("again", "new"),)), 7_000)
    assert len([row for row in talk.conversation.rows if row.name]) == 2, "one id is one message"


@pytest.mark.parametrize("line", ["/msg bbo hi", "/msg alice hi"])
def test_a_private_line_needs_another_member(opened: Opener, line: str) -> None:
    window = opened("", "", "news")
    window.chat.nick = "alice"
    window.on_updates([Joined("news", "alice#1", gcom.Definition("news"), VIEW)])
    say(window, "news", line)
    assert window.tabs["news"].input.toPlainText() == line
    assert "another member of the group: bob" in texts(window, "news")[-1]
    assert not window.chat.privates


def test_who_is_ignored_is_not_shown_and_opens_no_tab(opened: Opener, places: Places) -> None:
    window = opened("", "", "news", places=places)
    window.chat.nick = "alice"
    window.on_updates([Joined("news", "alice#1", gcom.Definition("news"), VIEW)])
    say(window, "news", "/ignore bob")
    said = gcom.Message("bob#1", 1, 1, "alice!"), unicast("psst")
    window.on_updates(
        [
            Arrived("news", 1, said),
            BacklogCame("news", "", (("bob", ChatMessage(MessageKind.TEXT, "before", "x")),)),
        ]
    )
    assert [row for row in rows(window, "news") if row.name == "bob"] == []
    assert list(window.tabs) == ["news"]
    assert "⊘" in window.tabs["news"].members.item(1).text()
    window.close()

    again = opened("", "", "news", places=places)
    say(again, "news", "/ignore")
    assert texts(again, "news")[-1] == "ignored: bob"
    again.on_updates([Joined("news", "alice#1", gcom.Definition("news"), VIEW)])
    again.tabs["news"].members.ignore_wanted.emit("bob")
    again.on_updates([Arrived("news", 1, said[:1])])
    assert texts(again, "news")[-1] == "alice!"
    say(again, "news", "/unignore bob")
    assert texts(again, "news")[-1] == "bob is not ignored"
    with pytest.raises(BadCommand):
        again._commands.run(again.chat.talk("news"), parse("/ignore a/b"))


def test_no_two_members_of_a_small_group_share_a_colour() -> None:
    names = [f"member{number}" for number in range(40)]
    for group in combinations(names[:14], 4):
        assert len({NameColours(group).of(name) for name in group}) == 4
    assert len({NameColours(names[:COLOURS]).of(name) for name in names[:COLOURS]}) == COLOURS
    assert all(0 <= NameColours(names).of(name) < COLOURS for name in names)


def test_a_name_keeps_its_colour_while_others_come_and_go() -> None:
    first = next(name for name in map(str, range(100)) if NameColours().of(name) == NameColours().of("bob"))
    colours = NameColours((first, "bob"))
    before = colours.of("bob")
    colours.settle(("bob",))
    assert colours.of("bob") == before
    colours.settle(("bob", first))
    assert colours.of("bob") == before != colours.of(first)
