"""A chat that ends, or is killed, finds its tabs, drafts and scrollback at its next start."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from gcom_chat.model.backlog import Backlog
from gcom_chat.model.group_state import GroupStanding
from gcom_chat.model.rows import ChatRow, RowKind
from gcom_chat.model.settings import definition_of, promises_of
from gcom_chat.model.wire import decode
from gcom_chat.storage.places import Places
from gcom_chat.storage.scrollback import Scrollback, talk_of
from gcom_chat.view.window import ChatWindow

import gcom
from tests.chat_gui.windows import is_in, say, texts, wait_until
from tests.running import ROOT, Child, environment

Opener = Callable[..., ChatWindow]


def test_a_window_finds_what_the_last_one_left(opened: Opener, places: Places, registry: str) -> None:
    with gcom.connect("bob", registry) as bob:
        for group in ("news", "work"):  # which go on without this chat
            bob.create(group, "CAUSALTOTAL")
            bob.join(group)
        first = opened("alice", registry, "news", "work", places=places)
        wait_until(lambda: is_in(first, "news", 2) and is_in(first, "work", 2))
        say(first, "news", "hello")
        wait_until(lambda: "hello" in texts(first, "news"))
        first.tabs["work"].input.setPlainText("half a tho")
        first._tabs.tabBar().moveTab(1, 0)
        first.close()

        second = opened(places=places)  # nothing is said: nick and registry are known
        assert list(second.tabs) == ["work", "news"]
        assert second.tabs["work"].input.toPlainText() == "half a tho"
        wait_until(lambda: is_in(second, "news", 2) and is_in(second, "work", 2))
        assert texts(second, "news").count("hello") == 1
        assert not second.chat.groups["news"].conversation.own.lines, "the first one waited for the end of its lines"
        say(second, "news", "again")
        wait_until(lambda: "again" in texts(second, "news"))
        keys = [row.key for row in second.tabs["news"].conversation.rows.rows]
        assert keys == sorted(set(keys))


def test_what_was_said_long_ago_is_read_as_one_scrolls_up(opened: Opener, places: Places, registry: str) -> None:
    history = Scrollback(places.history)
    talk = talk_of(registry, "news")
    history.add((talk, ChatRow(key, RowKind.MESSAGE, 1_000 * key, "bob", f"m{key}")) for key in range(1, 1_001))
    history.close()
    window = opened("alice", registry, "news", places=places)
    wait_until(lambda: "m1000" in texts(window, "news"))
    assert "m700" not in texts(window, "news")
    view = window.tabs["news"].conversation
    at_top: list[str] = []
    for _ in range(12):
        view.scrollToTop()
        wait_until(lambda: True)
        at_top.append(texts(window, "news")[0])
        if "m1" in texts(window, "news"):
            break
        wait_until(lambda: view.verticalScrollBar().value() > 0, "room above for what came from disk")
    found = [text for text in texts(window, "news") if text.startswith("m")]
    assert found == [f"m{key}" for key in range(1, 1_001)]


@pytest.mark.slow
def test_groups_of_one_name_at_two_registries_have_a_scrollback_each(
    opened: Opener, places: Places, registry: str
) -> None:
    with gcom.embedded() as other, gcom.connect("bob", registry) as bob, gcom.connect("bob", other.address) as twin:
        for node in (bob, twin):
            node.create("news", "TOTAL")
        here, there = bob.join("news"), twin.join("news")
        window = opened("alice", registry, "news", places=places)
        wait_until(lambda: is_in(window, "news", 2))
        here.send("said here")
        wait_until(lambda: "said here" in texts(window, "news"))
        window.tabs["news"].input.setPlainText("half a tho")
        window.connect_to("alice", other.address)
        wait_until(lambda: window.chat.registry == other.address and is_in(window, "news", 2))
        there.send("said there")
        wait_until(lambda: "said there" in texts(window, "news"))
        assert "said here" not in texts(window, "news")
        assert window.tabs["news"].input.toPlainText() == "half a tho"
        window.connect_to("alice", registry)
        wait_until(lambda: window.chat.registry == registry and "said here" in texts(window, "news"))
        assert "said there" not in texts(window, "news")


def test_the_dock_and_the_folder_of_logs_are_as_they_were(opened: Opener, places: Places, tmp_path: Path) -> None:
    first = opened("", "", "news", places=places)
    first.dock.action.trigger()
    first.dock.tabs.setCurrentWidget(first.dock.debug)
    first.dock.audit.folder.setText(str(tmp_path / "logs"))
    first.dock.audit.write.setChecked(True)
    first.close()
    second = opened(places=places)
    assert not second.dock.isHidden()
    assert second.dock.action.isChecked()
    assert second.dock.tabs.currentWidget() is second.dock.debug
    assert second.client.log_dir == str(tmp_path / "logs")
    second.dock.action.trigger()
    assert second.dock.isHidden()


@pytest.mark.slow
@pytest.mark.usefixtures("qapp")
def test_a_chat_that_is_killed_loses_nothing(tmp_path: Path, registry: str) -> None:
    with gcom.connect("bob", registry) as bob:
        bob.create("news", "TOTAL")
        news = bob.join("news")
        program = [sys.executable, "-c", PROGRAM, registry, str(tmp_path)]
        with Child(program, environment(QT_QPA_PLATFORM="offscreen")) as first:
            first.until(lambda: any("in the group" in line for line in first.out))
            news.send("before the kill")
            first.until(lambda: any("seen: before the kill" in line for line in first.out))
            first.until(lambda: "own: left SENT, waits WAITING" in first.out)
            wait_until(lambda: _on_disk(tmp_path, registry))  # by a thread of its own, which prints nothing
            first.signal(signal.SIGKILL)
            first.end()
        with Child(program, environment(QT_QPA_PLATFORM="offscreen")) as second:
            second.until(lambda: any("draft: not sent yet" in line for line in second.out))
            second.until(lambda: any("seen: before the kill" in line for line in second.out))
            second.until(lambda: "own: left UNCONFIRMED, waits LOST" in second.out)
            # Sent again by the banner's button.
            second.until(lambda: "own: left HELD, waits HELD" in second.out)
            said = [event for event in iter(lambda: news.receive(0), None) if isinstance(event, gcom.Message)]
            texts_said = [decode(message.payload).text for message in said if message.name == "alice"]
            assert texts_said == ["left", "waits"]


def _on_disk(folder: Path, registry: str) -> bool:
    history = Scrollback(folder / "h.db")
    rows = history.before(talk_of(registry, "news"), 1 << 60, 100)
    history.close()
    session = folder / "o.toml"
    kept = session.read_text("utf-8") if session.exists() else ""
    return any(row.text == "before the kill" for row in rows) and "not sent yet" in kept


# A window that types a draft, and prints what it shows.
PROGRAM = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from pathlib import Path
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication
from gcom_chat.storage.places import Places
from gcom_chat.view.window import ChatWindow

qt, folder, shown, told = QApplication([]), Path(sys.argv[2]), set(), set()
window = ChatWindow("alice", sys.argv[1], ("news",), Places(folder / "s.toml", folder / "o.toml", folder / "h.db"))
window.show()
draft = window.tabs["news"].input.toPlainText() if "news" in window.tabs else ""
print("draft:", draft, flush=True)

def look():
    if "news" not in window.tabs:
        return
    tab = window.tabs["news"]
    if tab.state.members.view and not shown:
        shown.add("")
        tab.input.setPlainText("not sent yet")
        print("in the group", flush=True)
    model = tab.conversation.rows
    rows = [model.row(at) for at in range(model.rowCount())]
    for row in rows:
        if row.text not in shown:
            shown.add(row.text)
            print("seen:", row.text, flush=True)
            # Cut off from all, it says two lines: one leaves, and nobody has it; the other waits.
            if row.text == "before the kill" and not draft:
                window.client.node.inject("cut=alice<>bob")
                for text in ("left", "waits"):
                    tab.input.setPlainText(text)
                    tab.input.entered.emit(text)
                tab.input.setPlainText("not sent yet")
    own = "own: " + ", ".join(row.text + " " + row.delivery.name for row in rows if row.own)
    if own not in told:
        told.add(own)
        print(own, flush=True)
    if draft and tab.state.members.view and tab.state.conversation.own.unfinished:
        tab.banner.pressed.emit("again")

timer = QTimer(interval=50)
timer.timeout.connect(look)
timer.start()
qt.exec()
"""


def test_who_is_alone_takes_the_group_along_to_another_name_and_start(
    opened: Opener, places: Places, registry: str
) -> None:
    """All members left: the group is no more, until the one with its tab is back and begins it again."""
    first = opened("alice", registry, places=places)
    wait_until(lambda: first.chat.registry)
    first.join("news", gcom.Definition("news", "CAUSAL", safe=True))
    wait_until(lambda: is_in(first, "news"))
    say(first, "news", "/topic tea")
    wait_until(lambda: "alice set the topic: tea" in texts(first, "news"))
    say(first, "news", "/nick carol")
    wait_until(lambda: first.chat.nick == "carol" and first.chat.groups["news"].standing is GroupStanding.IN)
    with gcom.connect("bob", registry) as bob:
        backlog = Backlog()
        news = bob.join("news", get_state=backlog.get_state, set_state=backlog.set_state)
        news.listen()
        wait_until(lambda: backlog.topic)
        assert backlog.topic == "tea"
    first.close()

    second = opened(places=places)
    wait_until(lambda: second.chat.groups["news"].standing is GroupStanding.IN)
    assert second.chat.groups["news"].definition == gcom.Definition("news", "CAUSAL", safe=True)


def test_promises_that_cannot_be_read_are_none() -> None:
    definition = gcom.Definition("x", "TOTAL", "RELIABLE", ("a", "b"), netsplit="PARTITIONABLE", detection="wan")
    assert definition_of("x", promises_of(definition)) == definition
    for text in ("", "{", "[]", "7", '{"ordering": "NONE"}', '{"colour": "red"}', '{"static": 3}'):
        assert definition_of("x", text) is None


def test_an_export_has_what_is_on_disk_only_too(opened: Opener, places: Places, tmp_path: Path) -> None:
    history = Scrollback(places.history)
    talk = talk_of("127.0.0.1:1", "news")
    history.add((talk, ChatRow(key, RowKind.MESSAGE, 1_000 * key, "bob", f"m{key}")) for key in range(1, 1_001))
    history.close()
    window = opened("alice", "127.0.0.1:1", "news", places=places)
    wait_until(lambda: "m1000" in texts(window, "news"))
    say(window, "news", f"/export {tmp_path / 'all.txt'}")
    wait_until(lambda: any("rows are written" in text for text in texts(window, "news")))
    lines = (tmp_path / "all.txt").read_text("utf-8").splitlines()
    assert [line.rpartition(" ")[2] for line in lines if "bob: m" in line] == [f"m{key}" for key in range(1, 1_001)]
    say(window, "news", f"/export {tmp_path / 'no' / 'such.txt'}")
    wait_until(lambda: any("cannot write" in text for text in texts(window, "news")))
