"""Texts that are shown in part are opened, searched, copied and exported whole; part of any text can be selected."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from gcom_chat.model import conversation
from gcom_chat.model.conversation import Conversation
from gcom_chat.model.rows import ChatRow, RowKind
from gcom_chat.model.text import SHOWN_CHARS_MAX, WHOLE_CHARS_MAX, in_full, shown
from gcom_chat.model.updates import Arrived, Joined
from gcom_chat.model.wire import ChatMessage, MessageKind
from gcom_chat.storage import scrollback
from gcom_chat.storage.places import Places
from gcom_chat.storage.scrollback import Scrollback, talk_of
from gcom_chat.view.dialogs.whole_text import WholeText
from gcom_chat.view.rows.conversation_view import ConversationView
from gcom_chat.view.rows.row_delegate import OPEN
from gcom_chat.view.window import ChatWindow
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QGuiApplication, QMouseEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

import gcom
from tests.chat_gui.windows import rows, say, texts, wait_until

Opener = Callable[..., ChatWindow]
LINES = "\n".join(f"line {number}" for number in range(1_000))
VIEW = gcom.View(1, ("alice#1", "bob#1"), ("", ""))


def window_with(opened: Opener, text: str, places: Places | None = None) -> ChatWindow:
    """A window in whose group bob has said a text."""
    window = opened("", "", "news", places=places)
    wait_until(lambda: window.keeper.is_loaded("news"))
    window.on_updates([Joined("news", "alice#1", gcom.Definition("news"), VIEW)])
    window.on_updates([Arrived("news", 1_700_000_000_000, (gcom.Message("bob#1", 1, 1, text),))])
    return window


def dialog_of(window: ChatWindow) -> WholeText:
    wait_until(lambda: window.findChildren(WholeText))
    return window.findChildren(WholeText)[-1]


def click(window: ChatWindow, action: str) -> None:
    """Click a link below the last row."""
    view = window.tabs["news"].conversation
    view.doItemsLayout()
    view.scrollToBottom()
    at = len(view.rows.rows) - 1
    (place,) = (
        place
        for name, _, place in view.delegate._actions(view.rows.row(at), view.visualRect(view.rows.index(at)))
        if name == action
    )
    QTest.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=place.center().toPoint())


def test_what_is_cut_is_kept_whole_and_what_is_not_costs_nothing() -> None:
    for text in ("", "short", "\n" * 99, "x" * SHOWN_CHARS_MAX):
        assert (in_full(text), shown(text)) == ("", text)
    for text in ("\n" * 100, "x" * (SHOWN_CHARS_MAX + 1), LINES):
        assert in_full(text) == text
        assert shown(text).endswith("more characters)")
    assert len(in_full("x" * 10_000_000)) < WHOLE_CHARS_MAX + 100


def test_a_long_text_is_opened_searched_and_copied_whole(opened: Opener) -> None:
    window = window_with(opened, LINES)
    tab = window.tabs["news"]
    assert "line 999" not in texts(window, "news")[-1]
    click(window, OPEN)
    assert dialog_of(window).text.toPlainText() == LINES
    assert tab.talk.find("line 999")
    tab.conversation.setCurrentIndex(tab.conversation.rows.index(len(rows(window, "news")) - 1))
    tab.conversation.copy("text")
    assert QGuiApplication.clipboard().text() == LINES


def test_what_no_memory_holds_any_more_comes_from_disk(
    opened: Opener, places: Places, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversation, "LONG_CHARS_MAX", 10)
    window = window_with(opened, LINES, places)
    window.refresh()
    row = rows(window, "news")[-1]
    assert (row.cut, row.whole) == (True, "")
    click(window, OPEN)
    assert dialog_of(window).text.toPlainText() == LINES
    say(window, "news", f"/export {tmp_path / 'all.txt'}")
    wait_until(lambda: any("rows are written" in text for text in texts(window, "news")))
    assert f"bob: {LINES}\n" in (tmp_path / "all.txt").read_text("utf-8")


def test_without_a_disk_it_is_said_that_the_rest_is_gone(opened: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conversation, "LONG_CHARS_MAX", 10)
    window = window_with(opened, LINES)
    window.refresh()
    click(window, OPEN)
    assert dialog_of(window).text.toPlainText() == shown(LINES)


def test_the_oldest_long_texts_on_disk_are_shortened_once_all_are_too_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scrollback, "LONG_CHARS_MAX", 3 * SHOWN_CHARS_MAX)
    history = Scrollback(tmp_path / "history.db")
    talk, long = talk_of("here", "news"), "x" * (SHOWN_CHARS_MAX + 7)
    for key in range(1, 6):
        row = ChatRow(key, RowKind.MESSAGE, 1, "bob", shown(long), cut=True, whole=long)
        history.add([(talk, row), (talk_of("here", "work"), row)])
    for _ in range(2):
        history.trim(talk, 100)
    kept = history.before(talk, 100, 100)
    assert [len(row.said) for row in kept] == [SHOWN_CHARS_MAX] * 3 + [len(long)] * 2
    assert kept[0].text.endswith("x…")
    assert all(row.whole for row in history.before(talk_of("here", "work"), 100, 100))
    history.close()


def test_memory_for_whole_texts_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conversation, "LONG_CHARS_MAX", 3 * len(LINES))
    talk = Conversation("news")
    for number in range(1, 6):
        talk.on_message("bob#1", number, 1, ChatMessage(MessageKind.TEXT, LINES), number, False, frozenset())
    assert [bool(row.whole) for row in talk.news() if row.cut] == [True] * 5, "nobody has kept them yet"
    talk.news()
    assert [bool(row.whole) for row in talk.rows if row.cut] == [False, False, True, True, True]


def test_part_of_a_text_is_selected_with_the_mouse_and_copied(opened: Opener) -> None:
    window = window_with(opened, "see https://example.org/path now\nand a second line")
    view = window.tabs["news"].conversation
    at = len(view.rows.rows) - 1
    row, rect = view.rows.row(at), view.visualRect(view.rows.index(at))

    def point(place: int) -> QPoint:
        """The point before a letter."""
        points = (QPoint(x, y) for y in range(rect.top(), rect.bottom(), 4) for x in range(rect.left(), rect.right()))
        return next(each for each in points if view.delegate.place_at(row, rect, each) == place)

    first, last = row.text.index("now"), row.text.index("second")
    QTest.mousePress(view.viewport(), Qt.MouseButton.LeftButton, pos=point(first))
    drag(view, point(last))
    QTest.mouseRelease(view.viewport(), Qt.MouseButton.LeftButton, pos=point(last))
    assert view.part == "now\nand a "
    window.desk._copy("text")
    assert QGuiApplication.clipboard().text() == "now\nand a "
    view.grab()
    QTest.mouseDClick(view.viewport(), Qt.MouseButton.LeftButton, pos=point(last + 2))
    assert view.part == "second"
    window.desk.settle()
    assert view.part == ""


def drag(view: ConversationView, point: QPoint) -> None:
    """Move the mouse with its left button down, which QTest does not."""
    left, none = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    where = QPointF(point)
    event = QMouseEvent(QEvent.Type.MouseMove, where, view.viewport().mapToGlobal(where), left, left, none)
    QApplication.sendEvent(view.viewport(), event)
