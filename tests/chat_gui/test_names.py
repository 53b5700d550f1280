"""Names of all alphabets in the chat: one form whichever is typed, with blanks in commands and searches."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable
from dataclasses import replace

import pytest
from gcom_chat.model.input.commands import named
from gcom_chat.model.insight.debugging import obey
from gcom_chat.model.query import Query
from gcom_chat.model.rows import ChatRow, RowKind
from gcom_chat.model.text import mentions
from gcom_chat.model.texts.copies import as_json, log_line, plain
from gcom_chat.model.texts.isolates import ShownText, pattern_of
from gcom_chat.storage.places import Places
from gcom_chat.view.window import ChatWindow

import gcom
from gcom.values.spelling import imitated
from tests.chat_gui.windows import is_in, say, texts, wait_until

MEMBERS = ("Jörg", "Jörg Müller", "李雷", "alice")
NFD = unicodedata.normalize("NFD", "Zoë Müller")


def test_a_profile_keeps_one_form_of_a_name(opened: Callable[..., ChatWindow], places: Places, registry: str) -> None:
    window = opened(NFD, registry, places=places)
    wait_until(lambda: window.chat.registry == registry, "registry")
    window.join("Ko\u0308ln", gcom.Definition("Ko\u0308ln"))
    wait_until(lambda: is_in(window, "Köln"), "group")
    assert window.chat.nick == "Zoë Müller"
    say(window, "Köln", "hallo")
    wait_until(lambda: "hallo" in texts(window, "Köln"), "line")
    window.close()
    again = opened(places=places)
    wait_until(lambda: is_in(again, "Köln"), "group after a restart")
    assert again.chat.nick == "Zoë Müller"
    assert "hallo" in texts(again, "Köln")


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("Jörg Müller ja", ("Jörg Müller", "ja")),
        ("Jo\u0308rg Mu\u0308ller", ("Jörg Müller", "")),
        ("Jörg Müllerin kommt", ("Jörg", "Müllerin kommt")),
        ("bob  hi there", ("bob", "hi there")),
    ],
)
def test_the_longest_name_that_a_line_begins_with_is_meant(line: str, found: tuple[str, str]) -> None:
    assert named(line, MEMBERS) == found


def test_links_of_names_with_blanks_are_cut_and_made_late() -> None:
    cut = obey(gcom.Faults(), "partition", "Jörg Müller 李雷 | alice", MEMBERS)
    assert ("Jörg Müller", "alice") in cut.cuts
    assert ("李雷", "Jörg Müller") not in cut.cuts
    late = obey(cut, "delay", "Jo\u0308rg Mu\u0308ller 20ms", MEMBERS)
    assert gcom.Faults.parse(str(late)) == late


def test_a_search_finds_what_a_name_with_a_blank_said() -> None:
    assert Query.parse('from:"Jo\u0308rg Müller" ja "so"') == Query('ja "so"', (("from", "jörg müller"),))
    assert Query.parse("https://a b") == Query("https://a b", ())


def test_names_are_mentioned_and_imitated_across_alphabets() -> None:
    words = frozenset(["jörg müller", "नरेंद्र"])
    assert mentions("Danke, Jo\u0308rg Müller!", words)
    assert mentions("अच्छा नरेंद्र", words)
    assert not mentions("Jörg Müllerin", words)
    assert imitated("\u0441\u043e\u0441\u043e", ["coco", "alice"]) == "coco"


@pytest.mark.parametrize(
    ("text", "drawn"),
    [
        ("דוד: 5 apples", "\u2068דוד\u2069: 5 apples"),
        ("@דוד, ask ليلى 2 (3)", "@\u2068דוד\u2069, ask \u2068ليلى 2\u2069 (3)"),
        ("שלום, מה שלומך?", "שלום, מה שלומך?"),
        ("hello", "hello"),
    ],
)
def test_a_members_name_in_a_text_turns_nothing_round_and_each_place_is_found_again(text: str, drawn: str) -> None:
    shown = ShownText(text, pattern_of(("דוד", "ليلى 2", "alice")))
    assert shown.text == drawn
    assert [shown.original(shown.place(at)) for at in range(len(text))] == list(range(len(text)))
    assert all(drawn[shown.place(at)] == text[at] for at in range(len(text)))


def test_copies_and_exports_keep_names_from_the_right_apart() -> None:
    row = ChatRow(1, RowKind.MESSAGE, 0, "דוד", "5 apples\nשלום 2", process="דוד#1", number=1)
    assert log_line(row).endswith("] \u2068דוד\u2069: \u20685 apples\u2069\n\u2068שלום 2\u2069")
    assert json.loads(as_json("קבוצה", [row]))["sender"] == "דוד#1"
    assert plain(replace(row, name="bob", text="5 apples")) == "bob: 5 apples"
    assert named("\u2068דוד\u2069 hi", ("דוד",)) == ("דוד", "hi")


def test_names_from_the_right_stand_apart_in_tabs_titles_lists_and_the_matrix(
    opened: Callable[..., ChatWindow], registry: str
) -> None:
    long = "M" * 32
    with gcom.connect("דוד", registry) as node, gcom.connect(long, registry) as other:
        node.create("קבוצה-7", "FIFO")
        with node.join("קבוצה-7") as group, other.join("קבוצה-7"):
            window = opened("ليلى 2", registry, "קבוצה-7")
            wait_until(lambda: is_in(window, "קבוצה-7", 3), "group")
            tab, group_name = window.tabs["קבוצה-7"], "\u2068קבוצה-7\u2069"
            group.send("hello")
            wait_until(lambda: "hello" in texts(window, "קבוצה-7"), "line")
            assert tab.title.startswith(f"{group_name} (3) F")
            assert f"{group_name} (3)" in window.windowTitle()
            assert "קבוצה-7" in tab.about
            items = [tab.members.item(at) for at in range(3)]
            assert items[0].text().startswith("● \u2068דוד\u2069 ♛")
            assert "…" in items[1].text()
            assert long in items[1].toolTip()
            assert tab.members.horizontalScrollBar().maximum() == 0
            say(window, "קבוצה-7", "/ignore דוד")
            wait_until(lambda: window.chat.ignored == {"דוד"}, "ignored")
            say(window, "קבוצה-7", "/msg \u2068דוד\u2069 5 apples")
            wait_until(lambda: len(window.tabs) == 2, "private tab")
            assert "\u2068דוד\u2069" in window.tabs["קבוצה-7@דוד"].title
            window.desk.go_to("קבוצה-7")
            window.dock.show()
            window.dock.tabs.setCurrentWidget(window.dock.debug)
            matrix = window.dock.debug.matrix
            wait_until(lambda: matrix.columnCount() == 4, "matrix")
            column, row = matrix.horizontalHeaderItem(0), matrix.verticalHeaderItem(1)
            assert column is not None
            assert column.text().endswith("\u2068דוד\u2069")
            assert row is not None
            assert row.toolTip() == long
