"""The start: the first page, the one window per user, what is missing of the system, and what failed."""

from __future__ import annotations

import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from gcom_chat import display
from gcom_chat.model.group_state import GroupStanding
from gcom_chat.model.updates import WishFailed
from gcom_chat.storage.places import Places, user_places
from gcom_chat.view.desktop.connector import QUIET_POLLS
from gcom_chat.view.desktop.instance import SingleInstance
from gcom_chat.view.dialogs.groups import CreateDialog, JoinDialog
from gcom_chat.view.dialogs.trouble import TroubleDialog
from gcom_chat.view.window import ChatWindow
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtNetwork import QLocalServer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QPushButton

import gcom
from tests.chat_gui.windows import is_in, wait_until
from tests.running import Child, environment

Opener = Callable[..., ChatWindow]


def test_the_first_page_connects_and_is_remembered(opened: Opener, places: Places, registry: str) -> None:
    window = opened(places=places)
    page = window._start
    assert not page.connect_button.isEnabled()  # there is no nick yet
    page.nick.setText("no/name")
    assert page.hint.text()
    page.nick.setText("alice")
    page.registry.setText("nowhere")
    assert "HOST:PORT" in page.hint.text()
    page.registry.setText(registry)
    page.connect_button.click()
    wait_until(lambda: window.chat.registry == registry)
    assert page._create.isVisible()
    window.close()
    second = opened(places=places)
    assert (second._start.nick.text(), second._start.registry.text()) == ("alice", registry)
    wait_until(lambda: second.chat.registry == registry)


def test_a_registry_that_is_there_is_found(opened: Opener, registry: str) -> None:
    window = opened()
    # At the usual place, as it starts: another test may have one there, for a moment.
    wait_until(lambda: window._start._looked[0])
    window._start.registry.clear()
    window.client.find_registry(registry)
    wait_until(lambda: registry in window._start.hint.text())
    assert window._start.registry.text() == registry


def test_that_no_registry_is_there_is_said(opened: Opener) -> None:
    window = opened()
    wait_until(lambda: window._start._looked[0])
    window._start.registry.setText("127.0.0.1:1")
    window.client.find_registry("127.0.0.1:1")
    wait_until(lambda: "No registry answers at 127.0.0.1:1" in window._start.hint.text())
    window._start.registry.setText("127.0.0.1:2")
    assert window._start.hint.text() == ""


def test_a_nick_and_a_group_are_enough_on_a_fresh_profile(
    opened: Opener, places: Places, registry: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GCOM_REGISTRY", registry)
    with gcom.connect("bob", registry) as bob:
        bob.create("news", "FIFO")
        bob.join("news")
        window = opened("alice", "", "news", places=places)
        wait_until(lambda: is_in(window, "news", 2))
        assert window.keeper.settings.registry == registry


def test_where_no_registry_answers_the_tab_says_so(opened: Opener, places: Places) -> None:
    window = opened("alice", "127.0.0.1:1", "news", places=places)
    wait_until(lambda: "No registry answers" in window.tabs["news"].banner.text)


def test_a_registry_is_started_here(opened: Opener, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GCOM_SERVE_DATA", str(tmp_path / "registry"))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        window = opened()
        page = window._start
        page.nick.setText("alice")
        page.registry.setText("192.0.2.1:7411")
        assert not page.start_button.isEnabled(), "it would be another machine's"
        page.registry.setText(address)
        page.start_button.click()
        assert page.hint.text() == f"A registry starts at {address}…"
        wait_until(lambda: "did not start" in page.trouble.text())
    page.start_button.click()
    wait_until(lambda: page.hint.text() == f"A registry answers at {address}.")
    assert not page.start_button.isEnabled()
    page.connect_button.click()
    wait_until(lambda: window.chat.registry == address)
    assert window.connector.begun is not None
    window.connector.begun.terminate()
    assert window.connector.begun.wait(60) == 0


def test_a_registry_that_dies_is_noticed_though_nobody_asks(opened: Opener) -> None:
    with gcom.embedded() as embedded:
        window = opened("alice", embedded.address)
        wait_until(lambda: window.chat.registry)
    for _ in range(QUIET_POLLS):
        window.connector._on_poll()
    wait_until(lambda: window.chat.registry_away, "word that the registry is away")
    assert window.statusBar().currentMessage() == "", "nobody wished for anything"


@pytest.mark.slow
def test_sigterm_ends_a_chat_as_its_window_does(tmp_path: Path, registry: str) -> None:
    with gcom.connect("bob", registry) as bob:
        bob.create("news", "FIFO")
        news = bob.join("news")
        program = [sys.executable, "-m", "gcom_chat", "--nick", "alice", "--registry", registry, "--group", "news"]
        with Child(program, environment(QT_QPA_PLATFORM="offscreen", HOME=str(tmp_path))) as chat:
            news.wait_for_members(2, 60)
            for _ in range(20):  # it is in the view before its own window has joined
                news.send("are you there?", held_by="all", timeout_s=60)
            chat.signal(signal.SIGTERM)
            assert chat.end() == 0
        left = [event.left for event in iter(lambda: news.receive(0), None) if isinstance(event, gcom.ViewChange)]
        assert [*left[-1].values()] == ["request"]


def test_the_tour_can_be_closed_and_taken_again(opened: Opener) -> None:
    window = opened()
    for press in ("End the tour", *["Next"] * 6, "Done"):
        if window._tour is None or window._tour.isHidden():
            window.show_tour()
        assert window._tour is not None
        buttons = window._tour.findChildren(QPushButton)
        next(button for button in buttons if button.text() == press).click()
        assert window._tour.isHidden() == (press in ("End the tour", "Done"))


def test_what_is_wrong_has_room_in_a_dialog(opened: Opener) -> None:
    dialog = CreateDialog("alice", certified=False, parent=opened())
    dialog.show()
    for name in ("n" * 200, "two words of a name that is not one"):
        dialog.name.setText(name)
        label = dialog._problem
        assert label.height() >= label.heightForWidth(label.width())
        assert dialog.about.height() >= dialog.about.heightForWidth(dialog.about.width())
    dialog.close()


def test_what_failed_stands_on_the_page_with_its_reason(opened: Opener) -> None:
    window = opened()
    window._start.nick.setText("alice")
    window.on_updates([WishFailed("connect", "nobody answers", "")])
    assert "nobody answers" in window._start.trouble.text()
    window._start.copy.click()
    assert "nobody answers" in QGuiApplication.clipboard().text()


def test_a_dialog_of_trouble_has_what_why_and_what_to_do(opened: Opener) -> None:
    window = opened()
    dialog = TroubleDialog("Could not connect", "nobody answers", "start one", window)
    dialog.copy.click()
    text = QGuiApplication.clipboard().text()
    assert text.splitlines()[1:] == ["Could not connect", "nobody answers", "start one"]
    dialog.close()


def test_a_second_start_hands_its_groups_over(qapp: object, tmp_path: Path) -> None:
    assert qapp
    first, second = (SingleInstance(tmp_path / "session.toml") for _ in range(2))
    other = SingleInstance(tmp_path / "of another profile")
    asked: list[list[str]] = []
    first.asked.connect(asked.append)
    assert first.claim(())
    assert not second.claim(("news", "work"))
    wait_until(lambda: asked)
    assert asked == [["news", "work"]]
    assert other.claim(())
    for each in (first, other):
        each.close()


def test_a_socket_that_a_killed_chat_left_is_no_obstacle(qapp: object, tmp_path: Path) -> None:
    assert qapp
    single = SingleInstance(tmp_path / "session.toml")
    program = (
        "import os, sys; from PySide6.QtCore import QCoreApplication; from PySide6.QtNetwork import QLocalServer; "
        "qt = QCoreApplication([]); server = QLocalServer(); print(server.listen(sys.argv[1]), flush=True); os._exit(9)"
    )
    with Child([sys.executable, "-c", program, single._name], environment()) as killed:
        killed.end()
        assert killed.out == ["True"]
    taken = QLocalServer()
    assert not taken.listen(single._name)  # the socket is still in its place
    assert single.claim(())
    single.close()


def test_a_second_start_brings_the_window_forward(opened: Opener) -> None:
    window = opened()
    window.hide()
    window.come_forward(["news"])
    assert window.isVisible()
    assert "news" in window.chat.groups


def test_a_profile_has_files_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("CONFIG", "STATE", "DATA"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name))
    plain, bob = user_places(), user_places("bob")
    assert plain.settings == tmp_path / "CONFIG" / "gcom-chat" / "settings.toml"
    assert bob.history == tmp_path / "DATA" / "gcom-chat" / "bob" / "history.db"


@pytest.mark.slow
@pytest.mark.parametrize(("shown", "word"), [("", "xvfb"), (":94321", "does not answer")])
def test_without_a_display_it_says_what_to_install(shown: str, word: str, tmp_path: Path) -> None:
    hidden = ("WAYLAND_DISPLAY", "QT_QPA_PLATFORM", "DISPLAY")
    env = {name: value for name, value in environment().items() if name not in hidden}
    env |= {"DISPLAY": shown, "HOME": str(tmp_path)}
    with Child([sys.executable, "-c", "from gcom_chat.cli import main; main()"], env) as child:
        assert child.end() == 1
    assert len(child.errors) == 1
    assert word in child.errors[0] or "libxcb" in child.errors[0]


def test_a_library_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    error = ImportError("libEGL.so.1: cannot open shared object file")
    assert "apt-get install libegl1" in display.import_advice(error)
    assert "gcom[gui]" in display.import_advice(ImportError("No module named 'PySide6'"))
    monkeypatch.setenv("QT_QPA_PLATFORM", "offscreen")
    assert display.advice() == ""


@pytest.mark.usefixtures("qapp")
def test_all_promises_can_be_chosen_and_are_shown() -> None:
    dialog = CreateDialog("alice", certified=True)
    dialog.name.setText("ward")
    dialog.ordering.setCurrentText("TOTAL")
    dialog.detection.setCurrentIndex(1)
    dialog.signed.setChecked(True)
    wanted = gcom.Definition("ward", "TOTAL", detection="wan", signed=True)
    assert dialog.definition() == wanted
    dialog.static.setText("not/a/name")
    assert "not allowed" in dialog.problem()
    dialog.static.setText("bob, Jörg Müller")
    assert "You are alice" in dialog.problem()
    dialog.static.setText("bob, alice")
    assert dialog.problem() == ""
    assert not CreateDialog("alice", certified=False).signed.isEnabled()
    dialog.show()
    assert dialog.name.hasFocus() or dialog.focusWidget() is dialog.name
    QTest.keyClick(dialog.name, Qt.Key.Key_Return)
    assert dialog.result() == CreateDialog.DialogCode.Accepted
    known = gcom.GroupInfo(wanted, "i1", 1, ("a#1",), ("127.0.0.1:1",), True)
    table = JoinDialog([known]).table
    assert table.model().index(0, 1).data() == "TOTAL, signed"
    assert table.model().index(0, 3).data() == "in service"
    assert JoinDialog([known], {"ward"}).table.model().index(0, 3).data() == "you are in it"


def test_a_group_that_is_not_there_is_offered_to_be_created(
    opened: Opener, registry: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    window = opened("alice", registry, "nowhere")
    wait_until(lambda: window.chat.groups["nowhere"].missing)
    assert "there is no group nowhere yet" in window.tabs["nowhere"].banner.text
    asked: list[str] = []

    def fill_in(dialog: CreateDialog) -> bool:
        asked.append(dialog.name.text())
        return True

    monkeypatch.setattr(CreateDialog, "exec", fill_in)
    window._on_banner("nowhere", "ask")
    assert asked == ["nowhere"]
    wait_until(lambda: window.chat.groups["nowhere"].standing is GroupStanding.IN)


def test_a_group_that_could_not_be_created_is_created_by_the_banners_button(
    opened: Opener, registry: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    window = opened("alice", registry)
    wait_until(lambda: window.chat.registry)

    def fill_in(dialog: CreateDialog) -> bool:
        dialog.name.setText("fresh")
        dialog.ordering.setCurrentText("FIFO")
        return True

    monkeypatch.setattr(CreateDialog, "exec", fill_in)
    joins: list[gcom.Definition | None] = []
    monkeypatch.setattr(window.client, "create", joins.append)  # a registry that is away: nothing comes of it
    window.asking.create()
    window.on_updates([WishFailed("create the group fresh", "no registry", "fresh")])
    window._on_banner("fresh", "ask")
    assert joins == [gcom.Definition("fresh", "FIFO")] * 2


@pytest.mark.slow
def test_a_registry_that_dies_while_a_dialog_is_open(opened: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    with gcom.embedded() as embedded:
        window = opened("alice", embedded.address, "news")
        wait_until(lambda: window.chat.registry)
        monkeypatch.setattr(
            "gcom_chat.view.dialogs.asking.JoinDialog.exec", lambda dialog: wait_for_end(window, dialog)
        )

        def wait_for_end(window: ChatWindow, dialog: object) -> int:
            assert window.asking._list is dialog
            embedded.close()
            wait_until(lambda: window.chat.registry_away, "word that the registry is away")
            return 0

        window.asking.join()
    assert window.chat.registry_away
