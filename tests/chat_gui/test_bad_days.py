"""Bad input and bad days: the window answers, says what happened, and loses nothing that was typed."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from gcom_chat.model.group_state import GroupStanding
from gcom_chat.model.rows import MessageState, RowKind
from gcom_chat.model.text import SIGN
from gcom_chat.model.updates import LinesMoved, StorageTold
from gcom_chat.model.wire import ChatMessage, MessageKind
from gcom_chat.storage.places import Places
from gcom_chat.view.dialogs.groups import ConnectDialog, CreateDialog
from gcom_chat.view.group_tab import GroupTab
from gcom_chat.view.rows.rows_model import SHOWN_MAX
from gcom_chat.view.window import ChatWindow
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QDialogButtonBox

import gcom
from tests.chat_gui.windows import is_in, rows, say, texts, wait_until

Opener = Callable[..., ChatWindow]


@pytest.mark.slow
def test_a_flood_is_taken_in_while_one_types(opened: Opener, places: Places, registry: str) -> None:
    """The window takes keys between two batches, shows the end, and keeps no more rows than it lays out."""
    count = 20_000
    with gcom.connect("bob", registry) as bob:
        bob.create("news", "FIFO")
        news = bob.join("news")
        window = opened("alice", registry, "news", places=places)
        wait_until(lambda: is_in(window, "news", 2))
        thread = threading.Thread(target=lambda: news.send_many((f"line {n}" for n in range(count)), timeout_s=120))
        thread.start()
        field = window.tabs["news"].input
        typed = 0
        while f"line {count - 1}" not in texts(window, "news")[-50:]:
            QTest.keyClick(field, Qt.Key.Key_X)
            typed += 1
            assert field.toPlainText() == "x" * typed
            QTest.qWait(10)
        thread.join()
        assert typed > 5
        assert len(rows(window, "news")) <= SHOWN_MAX
        assert window.chat.groups["news"].conversation.rows[-1].text == f"line {count - 1}"


@pytest.mark.slow
def test_strange_payloads_are_shown_and_harm_nothing(opened: Opener, places: Places, registry: str) -> None:
    payloads: list[bytes | str] = [
        "x" * (1 << 20),
        '{"gcom-chat": 1, "kind": "text", "text": ',
        '{"gcom-chat": 1, "kind": "later", "text": "?"}',
        '{"gcom-chat": 99}',
        json.dumps({"gcom-chat": 1, "kind": "text", "text": 7}),
        '{"gcom-chat":' + "[" * 100_000,
        b"\xff\xfe\x00\x01 bytes",
        "\x1b[31mred \u202eevil\u2066 <b>no html</b> \x07\n" * 20,
        "",
        "\n" * 5_000,
        "the last one",
    ]
    with gcom.connect("bob", registry) as bob:
        bob.create("news", "FIFO")
        news = bob.join("news")
        window = opened("alice", registry, "news", places=places)
        wait_until(lambda: is_in(window, "news", 2))
        news.send_many(payloads)
        wait_until(lambda: "the last one" in texts(window, "news"))
        window.grab()
        said = [row for row in rows(window, "news") if row.name == "bob"]
        assert len(said) == len(payloads)
        assert "more characters" in said[0].text
        assert len(said[0].text) < 20_000
        assert [row.kind for row in said[1:6]] == [RowKind.NOTICE] * 5
        assert said[7].text.count(SIGN) == 20 * 4
        assert "<b>no html</b>" in said[7].text


def test_a_text_that_is_too_long_stays_in_the_input(opened: Opener, registry: str) -> None:
    with gcom.connect("bob", registry) as bob:
        bob.create("news", "FIFO")
        bob.join("news")
        window = opened("alice", registry, "news")
        wait_until(lambda: is_in(window, "news", 2))
        say(window, "news", "x" * (1 << 20))
        assert len(window.tabs["news"].input.toPlainText()) == 1 << 20
        assert "too long" in texts(window, "news")[-1]


def test_what_is_typed_before_the_group_is_there_stays(opened: Opener) -> None:
    window = opened("", "", "news")
    say(window, "news", "hello?")
    assert window.tabs["news"].input.toPlainText() == "hello?"
    assert "not sent" in texts(window, "news")[-1]


@pytest.mark.parametrize("name", ["", " ", "x" * 200, "a  b", "../etc", "\u202eevil", "a#1"])
def test_a_name_that_cannot_be_keeps_ok_closed_and_says_why(opened: Opener, name: str) -> None:
    window = opened()
    create, connect = CreateDialog("alice", certified=False, parent=window), ConnectDialog("", "127.0.0.1:7411", window)
    create.name.setText(name)
    connect.nick.setText(name)
    for dialog in (create, connect):
        assert not dialog.buttons.button(QDialogButtonBox.StandardButton.Ok).isEnabled()
        assert dialog.problem()


@pytest.mark.parametrize("registry", ["", "host", "host:", ":1", "host:0", "host:65536", "host:x", "host:１"])
def test_a_port_that_is_none_keeps_connect_closed(opened: Opener, registry: str) -> None:
    page = opened()._start
    page.nick.setText("alice")
    page.registry.setText(registry)
    assert not page.connect_button.isEnabled()
    assert page.hint.text()


def test_a_group_that_is_there_already_is_said(opened: Opener, registry: str) -> None:
    with gcom.connect("bob", registry) as bob:
        bob.create("news", "FIFO")
        bob.join("news")
        window = opened("alice", registry)
        wait_until(lambda: window.chat.registry)
        window.join("news", gcom.Definition("news", gcom.Ordering.TOTAL))
        wait_until(lambda: any("could not create the group news" in text for text in texts(window, "news")))


def test_a_name_that_is_taken_is_said_in_the_banner(opened: Opener, registry: str) -> None:
    with gcom.connect("alice", registry) as other:
        other.create("news", "FIFO")
        other.join("news")
        window = opened("alice", registry, "news")
        wait_until(lambda: window.chat.groups["news"].why)
        assert "alice" in window.tabs["news"].banner.text


def test_a_registry_that_nobody_answers_is_tried_again(opened: Opener, places: Places, registry: str) -> None:
    window = opened("alice", "127.0.0.1:1", places=places)
    wait_until(lambda: window._start.trouble.text())
    assert "127.0.0.1:1" in window._start.trouble.text()
    window._start.registry.setText(registry)
    window._start.connect_button.click()
    wait_until(lambda: window.chat.registry == registry)


def test_a_read_only_place_does_not_keep_a_chat_from_talking(opened: Opener, tmp_path: Path, registry: str) -> None:
    (tmp_path / "file").write_text("")
    nowhere = Places(*(tmp_path / "file" / name for name in ("settings", "session", "history")))
    with gcom.connect("bob", registry) as bob:
        bob.create("news", "FIFO")
        bob.join("news")
        window = opened("alice", registry, "news", places=nowhere)
        wait_until(lambda: is_in(window, "news", 2))
        say(window, "news", "still here")
        wait_until(lambda: "still here" in texts(window, "news"))


def test_what_cannot_be_sent_stays_with_what_can_be_done_about_it(opened: Opener) -> None:
    window = opened("", "", "news")
    talk, tab = window.chat.groups["news"].conversation, window.tabs["news"]
    for message, to in (
        (ChatMessage(MessageKind.TEXT, "x" * 100_000, "a"), ""),
        (ChatMessage(MessageKind.ACTION, "waves", "b"), ""),
        (ChatMessage(MessageKind.TEXT, "psst", "c"), "bob"),
        (ChatMessage(MessageKind.TOPIC, "tea", "d"), ""),
    ):
        talk.sending(message, "alice", 1, to)
        window.on_updates([LinesMoved("news", (message.id,), MessageState.LOST, why="nobody is there")])
    shown = [tab.conversation.rows.row(at) for at in range(tab.conversation.rows.rowCount())]
    assert [row.id for row in shown if row.own] == list("abcd")
    assert "Not sent: " in tab.banner.text
    _click(tab, shown.index(talk.own.lines["b"].row), "edit")
    assert tab.input.toPlainText() == "/me waves"
    _click(tab, shown.index(talk.own.lines["c"].row) - 1, "discard")
    assert list(talk.own.lines) == ["a", "d"]
    tab.banner.pressed.emit("discard")
    assert talk.own.lines == {}
    assert "Not sent" not in tab.banner.text


def _click(tab: GroupTab, at: int, action: str) -> None:
    """Click a link below a line that ended badly."""
    view = tab.conversation
    view.doItemsLayout()
    view.scrollToBottom()
    row, rect = view.rows.row(at), view.visualRect(view.rows.index(at))
    (place,) = (place for name, _, place in view.delegate._actions(row, rect) if name == action)
    QTest.mouseClick(
        view.viewport(), Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, place.center().toPoint()
    )


def test_a_group_that_was_left_takes_no_text(opened: Opener, registry: str) -> None:
    """A text that nobody would send must not wait for ever."""
    with gcom.connect("bob", registry) as bob:
        bob.create("news", "FIFO")
        bob.join("news")
        window = opened("alice", registry, "news")
        wait_until(lambda: is_in(window, "news", 2))
        group = window.client.group("news")
        assert group is not None
        threading.Thread(target=group.leave).start()
        wait_until(lambda: window.chat.groups["news"].standing is GroupStanding.LEFT)
        say(window, "news", "anybody?")
        assert window.tabs["news"].input.toPlainText() == "anybody?"
        assert not window.chat.groups["news"].conversation.own.lines


def test_a_nick_that_cannot_be_is_told_to_nobody(opened: Opener, registry: str) -> None:
    with gcom.connect("bob", registry) as bob:
        bob.create("news", "FIFO")
        news = bob.join("news")
        window = opened("alice", registry, "news")
        wait_until(lambda: is_in(window, "news", 2))
        say(window, "news", "/nick a/b")
        assert window.tabs["news"].input.toPlainText() == "/nick a/b"
        assert "not allowed" in texts(window, "news")[-1]
        say(window, "news", "the next")
        wait_until(lambda: any(row.number for row in rows(window, "news")))
        assert next(event for event in iter(news.receive, None) if isinstance(event, gcom.Message)).number == 1
        assert next(row.number for row in rows(window, "news") if row.own) == 1


def test_a_trouble_with_the_disk_stands_in_the_conversation(opened: Opener) -> None:
    """A word in the status bar goes after some seconds, and nobody may have looked."""
    window = opened("", "", "news", "work")
    window.desk.go_to("work")
    window.on_updates([StorageTold("the disk is full")])
    assert texts(window, "work")[-1] == "the disk is full"
    assert window.statusBar().currentMessage() == "the disk is full"
    assert "the disk is full" not in texts(window, "news")


def test_a_topic_of_one_long_word_leaves_the_window_as_it_is(opened: Opener) -> None:
    window = opened("", "", "news")
    width = window.minimumSizeHint().width()
    window.chat.groups["news"].conversation.topic = "<b>T" * 3_000
    window.refresh()
    line = window.tabs["news"]._topic
    assert line.isVisible()
    assert "…" in line.text()
    assert line.toolTip().startswith("<qt>&lt;b&gt;T")
    assert window.minimumSizeHint().width() == width
