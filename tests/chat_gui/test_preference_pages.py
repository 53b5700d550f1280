"""The pages of the preferences for the network and for the keys: they apply at once, and are remembered."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from gcom_chat.storage.places import Places
from gcom_chat.view.dialogs.preference_pages import ShortcutsPage
from gcom_chat.view.dialogs.preferences import PreferencesDialog
from gcom_chat.view.window import ChatWindow
from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtTest import QTest

import gcom
from tests.chat_gui.windows import wait_until

Opener = Callable[..., ChatWindow]


def _choose(page: ShortcutsPage, name: str, keys: str) -> None:
    page.table.selectRow(page._names.index(name))
    page.keys.setKeySequence(QKeySequence(keys))
    page.keys.editingFinished.emit()


def _keys(window: ChatWindow, name: str) -> list[str]:
    return [key.toString() for key in window.desk.actions.all[name].shortcuts()]


def test_keys_are_chosen_and_remembered_and_go_back(opened: Opener, places: Places) -> None:
    window = opened(places=places)
    page = PreferencesDialog(window.keeper, "", window.desk.actions, window).shortcuts
    _choose(page, "find", "Ctrl+G")
    _choose(page, "quit", "")
    assert (_keys(window, "find"), _keys(window, "quit")) == (["Ctrl+G"], [])
    item = page.table.item(page._names.index("find"), 1)
    assert item is not None
    assert item.text() == "Ctrl+G"
    window.close()
    second = opened(places=places)
    assert (_keys(second, "find"), _keys(second, "quit")) == (["Ctrl+G"], [])
    dialog = PreferencesDialog(second.keeper, "", second.desk.actions, second)
    dialog.shortcuts.table.selectRow(dialog.shortcuts._names.index("find"))
    dialog.shortcuts.first.click()
    assert _keys(second, "find") == ["Ctrl+F"]
    dialog.reset()
    assert _keys(second, "quit") == ["Ctrl+Q"]


@pytest.mark.parametrize("keys", ["Ctrl+F", "F12", "Alt+1", "a", "Shift+B", "Return", "Tab", "Up"])
def test_keys_that_are_taken_or_write_are_refused_with_the_reason(opened: Opener, keys: str) -> None:
    window = opened()
    page = PreferencesDialog(window.keeper, "", window.desk.actions, window).shortcuts
    _choose(page, "quit", keys)
    assert ("for “" if keys in ("Ctrl+F", "F12", "Alt+1") else "for writing") in page.problem.text()
    assert _keys(window, "quit") == ["Ctrl+Q"]


def test_the_first_keys_do_not_come_back_where_another_has_them_now(opened: Opener) -> None:
    window = opened()
    page = PreferencesDialog(window.keeper, "", window.desk.actions, window).shortcuts
    _choose(page, "find", "Ctrl+G")
    _choose(page, "quit", "Ctrl+F")
    page.table.selectRow(page._names.index("find"))
    page.first.click()
    assert "Quit" in page.problem.text()
    assert _keys(window, "find") == ["Ctrl+G"]


def test_another_registry_is_connected_at_once(opened: Opener, registry: str, places: Places) -> None:
    window = opened("alice", registry, places=places)
    wait_until(lambda: window.chat.registry == registry)
    dialog = PreferencesDialog(window.keeper, "alice", window.desk.actions, window)
    dialog.network.connect_wanted.connect(window.desk.connect_wanted)
    with gcom.embedded() as other:
        dialog.network.registry.setText("nowhere")
        dialog.network.registry.editingFinished.emit()
        assert "HOST:PORT" in dialog.network.problem.text()
        dialog.network.registry.setText(other.address)
        dialog.network.registry.editingFinished.emit()
        wait_until(lambda: window.chat.registry == other.address)
        assert window.keeper.settings.registry == other.address


def test_where_others_reach_the_chat_is_told_to_the_library(opened: Opener, registry: str) -> None:
    window = opened("alice", registry)
    wait_until(lambda: window.chat.registry)
    before = window.client.node
    dialog = PreferencesDialog(window.keeper, "alice", window.desk.actions, window)
    network = dialog.network
    network.connect_wanted.connect(window.desk.connect_wanted)
    network.registry.setText(registry)
    network.listen.setText("127.0.0.2")
    network.listen.editingFinished.emit()
    wait_until(lambda: window.client.node is not before)
    assert window.client.node is not None
    assert window.client.node.address.startswith("127.0.0.2:")


def test_the_page_says_how_calls_are_protected(opened: Opener, registry: str) -> None:
    window = opened("alice", registry)
    wait_until(lambda: window.chat.registry)
    dialog = PreferencesDialog(window.keeper, "alice", window.desk.actions, window)
    window.desk.protection_told.connect(dialog.network.show_protection)
    dialog.network.protection_wanted.connect(window.client.ask_protection)
    dialog.show()
    dialog.pages.setCurrentWidget(dialog.network)
    wait_until(dialog.network.protection.text)
    assert "this machine" in dialog.network.protection.text()
    dialog.close()


def test_enter_in_a_field_resets_nothing(opened: Opener) -> None:
    window = opened()
    window.keeper.change(zoom=150)
    dialog = PreferencesDialog(window.keeper, "", window.desk.actions, window)
    dialog.show()
    dialog.words.setText("deploy")
    QTest.keyClick(dialog.words, Qt.Key.Key_Return)
    assert (window.keeper.settings.zoom, window.keeper.settings.words) == (150, ("deploy",))
    assert dialog.isVisible()
    dialog.close()
