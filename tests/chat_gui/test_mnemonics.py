"""No two controls that can be seen at a time answer to the same letter with Alt, in either language."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator

import pytest
from gcom_chat.model.texts import words
from gcom_chat.storage.places import Places
from gcom_chat.view.desktop.languages import install
from gcom_chat.view.dialogs.groups import ConnectDialog, CreateDialog
from gcom_chat.view.dialogs.preferences import PreferencesDialog
from gcom_chat.view.dock.duel_dialog import DuelDialog
from gcom_chat.view.window import ChatWindow
from PySide6.QtWidgets import QAbstractButton, QLabel, QMenu, QTabBar, QWidget

Opener = Callable[..., ChatWindow]


@pytest.fixture(params=["en", "de"])
def window(request: pytest.FixtureRequest, opened: Opener, places: Places) -> Iterator[ChatWindow]:
    """A window in one of the languages."""
    places.settings.parent.mkdir()
    places.settings.write_text(f'language = "{request.param}"')
    yield opened(places=places)
    install("en")
    words.set_translator(lambda _, text: text)


def letters(texts: list[str]) -> list[str]:
    return [found[1].casefold() for text in texts if (found := re.search("&([^&])", text))]


def seen(parent: QWidget) -> list[str]:
    """Return the texts with a letter of what can be seen in a widget."""
    texts = [each.text() for each in parent.findChildren(QAbstractButton) if each.isVisibleTo(parent)]
    texts += [
        each.text() for each in parent.findChildren(QLabel) if each.isVisibleTo(parent) and each.buddy() is not None
    ]
    for bar in parent.findChildren(QTabBar):
        texts += [bar.tabText(at) for at in range(bar.count()) if bar.isVisibleTo(parent)]
    return texts


def twice(texts: list[str]) -> list[str]:
    clashing = {letter for letter, count in Counter(letters(texts)).items() if count > 1}
    return [text for text in texts if letters([text]) and letters([text])[0] in clashing]


def test_the_pages_of_the_window(window: ChatWindow) -> None:
    menus = [action.text() for action in window.menuBar().actions()]
    assert twice(menus) == []
    assert twice(menus + seen(window._start)) == []
    window._start.show_trouble("none")
    window._start.show_connection("alice", True)
    assert twice(menus + seen(window._start)) == []
    window.chat.open("news")
    window.refresh()
    window.desk.search.open()
    window.dock.show()
    for page in window.dock.pages:
        window.dock.tabs.setCurrentWidget(page)
        assert twice(menus + seen(page) + seen(window.desk.search)) == [], type(page).__name__


def test_each_menu(window: ChatWindow) -> None:
    for action in window.menuBar().actions():
        menu = action.menu()
        assert isinstance(menu, QMenu)
        assert twice([each.text() for each in menu.actions()]) == [], action.text()


def test_each_dialog(window: ChatWindow) -> None:
    preferences = PreferencesDialog(window.keeper, "alice", window.desk.actions, window)
    duel = DuelDialog(window, begin=False)
    for dialog in (ConnectDialog("", "", window), CreateDialog("alice", certified=True, parent=window), duel):
        dialog.show()
        assert twice(seen(dialog)) == [], type(dialog).__name__
    preferences.show()
    for at in range(preferences.pages.count()):
        preferences.pages.setCurrentIndex(at)
        assert twice(seen(preferences)) == []
