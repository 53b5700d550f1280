"""The desk around the tabs: search, preferences that apply at once, ways between tabs, copies, notifications."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from gcom_chat.model.chat import Notice
from gcom_chat.model.settings import settings_of
from gcom_chat.model.updates import HeldBackNow
from gcom_chat.model.wire import ChatMessage, MessageKind
from gcom_chat.storage.places import Places
from gcom_chat.storage.toml_files import read_table
from gcom_chat.view.dialogs.preferences import PreferencesDialog
from gcom_chat.view.dialogs.shortcuts import ShortcutSheet, Switcher
from gcom_chat.view.window import ChatWindow
from PySide6.QtCore import QItemSelectionModel, Qt
from PySide6.QtGui import QAction, QFont, QGuiApplication, QPalette
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

import gcom
from tests.chat_gui.windows import say, texts, wait_until

Opener = Callable[..., ChatWindow]


@pytest.fixture(autouse=True)
def _look(request: pytest.FixtureRequest) -> Iterator[None]:
    """Leave the application's look to the next test as it was."""
    request.getfixturevalue("qapp")
    font = QFont(QApplication.font())
    yield
    QApplication.setFont(font)
    QApplication.setPalette(QPalette())
    QGuiApplication.styleHints().setColorScheme(Qt.ColorScheme.Unknown)


@pytest.fixture
def window(opened: Opener) -> ChatWindow:
    """A window with two tabs and no registry."""
    window = opened("", "", "news", "work")
    for group, said in (("news", ["tea?", "coffee", "tea!"]), ("work", ["teatime"])):
        fill(window, group, *said)
    return window


def fill(window: ChatWindow, group: str, *texts: str) -> None:
    talk = window.chat.groups[group].conversation
    for text in texts:
        talk.on_message("bob#1", 1, 1, ChatMessage(MessageKind.TEXT, text), 1_000, False, frozenset({"alice"}))
    window.refresh()


def current(window: ChatWindow) -> str:
    tab = window._tabs.current
    return tab.state.name if tab else ""


def test_search_in_a_tab_and_in_all(window: ChatWindow) -> None:
    window.desk.go_to("news")
    bar = window.desk.search
    bar.open()
    QTest.keyClicks(bar.field, "tea")
    assert bar.count.text() == "2 found"
    QTest.keyClick(bar.field, Qt.Key.Key_Return)
    index = window.tabs["news"].conversation.currentIndex()
    assert index.data() == "bob: tea!"
    bar.everywhere.setChecked(True)
    assert bar.count.text() == "3 found"
    bar.next()
    assert bar.count.text() == "1 of 3"
    bar.previous()
    assert current(window) == "work"
    assert window.tabs["work"].conversation.delegate.marked.text == "tea"
    QTest.keyClick(bar.field, Qt.Key.Key_Escape)
    assert not bar.isVisible()
    assert window.tabs["work"].conversation.delegate.marked.text == ""


def test_a_search_may_match_the_case(window: ChatWindow) -> None:
    fill(window, "news", "TEA, at last")
    window.desk.go_to("news")
    bar = window.desk.search
    bar.open()
    QTest.keyClicks(bar.field, "TEA")
    assert bar.count.text() == "3 found"
    bar.match_case.setChecked(True)
    assert bar.count.text() == "1 found"
    marked = window.tabs["news"].conversation.delegate.marked
    assert [list(marked.places(text)) for text in ("tea?", "no TEA")] == [[], [(3, 6)]]
    bar.field.clear()
    assert bar.count.text() == ""


def test_ctrl_tab_goes_from_tab_to_tab_while_one_writes(window: ChatWindow) -> None:
    window.desk.go_to("news")
    tab = window.tabs["news"].input
    tab.setFocus()
    QTest.keyClick(tab, Qt.Key.Key_Tab, Qt.KeyboardModifier.ControlModifier)
    assert current(window) == "work"
    both = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier
    QTest.keyClick(window.tabs["work"].input, Qt.Key.Key_Backtab, both)
    assert current(window) == "news"
    assert tab.toPlainText() == ""


def test_the_unread_line_is_gone_to_and_taken_away(window: ChatWindow) -> None:
    window.desk.go_to("work")
    fill(window, "news", *[f"line {n}" for n in range(200)])
    talk = window.chat.groups["news"].conversation
    first = talk.marker
    assert first
    window.desk.go_to("news")
    window.desk.go_to_marker()
    view = window.tabs["news"].conversation
    assert view.visualRect(view.rows.index_of(first)).intersects(view.viewport().rect())
    window.desk.settle()
    assert talk.marker is None
    assert view.follows


def test_ways_between_tabs(window: ChatWindow) -> None:
    window.desk.go_to("news")
    talk = window.chat.groups["work"].conversation
    talk.unread, talk.mentioned = 1, 1
    window.desk.go_to_unread()
    assert current(window) == "work"
    window.desk._turn_to(0)
    assert current(window) == "news"
    switcher = Switcher(list(window.tabs), window)
    QTest.keyClicks(switcher.field, "OR")
    assert switcher.chosen() == "work"
    switcher.field.clear()
    QTest.keyClick(switcher.field, Qt.Key.Key_Down)
    assert switcher.chosen() == "work"
    QTest.keyClicks(switcher.field, "nothing like that")
    assert switcher.chosen() == ""


def test_the_middle_button_closes_a_tab(window: ChatWindow) -> None:
    bar = window._tabs.tabBar()
    at = list(window.tabs).index("work")
    QTest.mouseClick(bar, Qt.MouseButton.MiddleButton, pos=bar.tabRect(at).center())
    assert list(window.tabs) == ["news"]


def test_a_tab_says_by_sign_colour_and_words_what_waits(window: ChatWindow) -> None:
    window.on_updates([HeldBackNow("work", 3)])
    tab = window.tabs["work"]
    assert "◷3" in window._tabs.tabText(window._tabs.indexOf(tab))
    assert "3" in window._tabs.tabToolTip(window._tabs.indexOf(tab))
    plain = tab.colour
    tab.state.conversation.mentioned = 1
    assert tab.colour != plain


def test_order_tells_the_promise(window: ChatWindow) -> None:
    window.desk.go_to("news")
    window.chat.groups["news"].definition = gcom.Definition("news", "CAUSAL")
    say(window, "news", "/order")
    assert texts(window, "news")[-1].startswith("CAUSAL, RELIABLE: An answer never stands before")


def test_three_forms_of_a_copy(window: ChatWindow) -> None:
    window.desk.go_to("news")
    view = window.tabs["news"].conversation
    for at in (1, 2):
        view.selectionModel().select(view.rows.index(at), QItemSelectionModel.SelectionFlag.Select)
    clipboard = QGuiApplication.clipboard()
    window.desk._copy("text")
    assert clipboard.text() == "tea?\ncoffee"
    window.desk._copy("header")
    assert clipboard.text().splitlines()[1].endswith("] bob: coffee")
    window.desk._copy("json")
    assert '"sender": "bob#1"' in clipboard.text()


def test_the_menu_of_a_row_offers_its_link(window: ChatWindow) -> None:
    view = window.tabs["news"].conversation
    menu = view.menu_for(view.rows.row(1), "https://example.org/")
    assert any("example.org" in action.text() for action in menu.actions())
    menu.deleteLater()


def test_zoom_reaches_every_text_and_comes_back(window: ChatWindow) -> None:
    tab = window.tabs["news"]
    before, height = tab.conversation.font().pointSizeF(), tab.input.height()
    for _ in range(4):
        window.desk.zoom(1)
    wait_until(lambda: tab.conversation.font().pointSizeF() > before * 1.5)
    assert tab.input.height() > height
    assert tab.conversation.delegate._metrics.height() > 1.3 * height / 2
    window.desk.zoom(0)
    wait_until(lambda: tab.conversation.font().pointSizeF() == before)


def test_settings_that_cannot_be_read_are_not_replaced(opened: Opener, places: Places) -> None:
    places.settings.parent.mkdir(parents=True, exist_ok=True)
    places.settings.symlink_to(places.settings)  # which even root cannot read
    window = opened(places=places)
    assert any("leaves the file as it is" in trouble for trouble in window.keeper.troubles)
    window.keeper.change(theme="dark")
    window.keeper.change(zoom=150)
    window.close()  # all that was to be written is
    assert places.settings.is_symlink()


def test_preferences_apply_at_once_and_are_kept(opened: Opener, places: Places) -> None:
    window = opened(places=places)
    dialog = PreferencesDialog(window.keeper, "", window.desk.actions, window)
    dialog.theme.setCurrentIndex(dialog.theme.findData("dark"))
    wait_until(lambda: window.palette().color(QPalette.ColorRole.Base).lightness() < 128)
    dialog.zoom.setCurrentIndex(dialog.zoom.findData(150))
    dialog.quiet.setChecked(True)
    dialog.history.setValue(500)
    dialog.words.setText("lunch, tea")
    dialog.words.editingFinished.emit()
    assert window.chat.words == {"lunch", "tea"}
    window.close()
    kept = settings_of(read_table(places.settings).values)
    assert (kept.theme, kept.zoom, kept.do_not_disturb, kept.history_max) == ("dark", 150, True, 500)
    assert kept.words == ("lunch", "tea")
    dialog.reset()
    assert window.keeper.settings.theme == "system"
    assert window.keeper.settings.words == ()
    assert dialog.zoom.currentData() == 100


def test_a_name_that_cannot_be_is_said_in_the_preferences(window: ChatWindow) -> None:
    dialog = PreferencesDialog(window.keeper, "alice", window.desk.actions, window)
    names: list[str] = []
    dialog.renamed.connect(names.append)
    for nick in ("", "x" * 200, "a  b"):
        dialog.nick.setText(nick)
        dialog.nick.editingFinished.emit()
        assert dialog.problem.text()
    dialog.nick.setText("carol")
    dialog.nick.editingFinished.emit()
    assert names == ["carol"]
    assert dialog.problem.text() == ""


def test_the_sheet_lists_every_action_with_a_key(window: ChatWindow) -> None:
    sheet = ShortcutSheet(window.desk.shortcuts(), window)
    table = sheet.table.model()
    rows = {table.index(row, 0).data(): table.index(row, 1).data() for row in range(table.rowCount())}
    assert rows["Ctrl+K"] == "Go to a group"
    assert rows["Ctrl+F"] == "Find"
    assert rows["F12"] == "Inside the group"
    assert rows["Enter"] == "Send the message"
    assert set(rows) > {"Writing", "Connection", "Group", "Edit", "View", "Help"}
    assert len(rows) > 20


def test_no_two_actions_share_a_key(window: ChatWindow) -> None:
    keys = [key.toString() for action in window.findChildren(QAction) for key in action.shortcuts()]
    assert sorted(keys) == sorted(set(keys))


def test_a_mention_in_a_tab_that_is_not_in_front_notifies_once(window: ChatWindow) -> None:
    told: list[tuple[str, str]] = []
    window.desk.notifier.told.connect(lambda title, text: told.append((title, text)))
    notice = Notice("bob: alice?", "work")
    for now in range(0, 900, 100):
        window.desk.notify(notice, now)
    assert told == [("work", "bob: alice?")]
    window.desk.notify(Notice("could not join", "work", error=True), 99_999)
    assert len(told) == 1
    window.keeper.change(do_not_disturb=True)
    window.desk.notify(notice, 200_000)
    assert len(told) == 1
