"""The dock, offscreen: its pages from values made by hand, and all of it over a real group."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from gcom_chat.model.insight.group_insight import GroupInsight
from gcom_chat.view.dock.clocks_page import ClocksPage
from gcom_chat.view.dock.latency_page import LatencyPage
from gcom_chat.view.dock.page import InsightPage
from gcom_chat.view.dock.spacetime_page import SpaceTimePage
from gcom_chat.view.dock.tables_pages import HeldPage, OrderPage, ViewsPage
from gcom_chat.view.window import ChatWindow
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QTabWidget
from pytestqt.qtbot import QtBot

import gcom
from tests.chat_gui.insights import VIEW, snapshot, trace, view

LIMIT_MS = 120_000


@pytest.fixture
def insight() -> GroupInsight:
    """Three messages, the last of which follows the first two."""
    made = GroupInsight()
    traces = [trace("alice", 1, serial=1), trace("bob", 1, serial=2), trace("carol", 1, {"alice#1": 1, "bob#1": 1})]
    held = (gcom.HeldBack("bob#1", 2, 2, (gcom.Missing("message", "alice#1", 9, 9),), 1.0),)
    made.on_probed(snapshot(held_back=held), traces, 1)
    made.timeline.on_view(VIEW, 1)
    return made


def shown(qtbot: QtBot, page: InsightPage, insight: GroupInsight) -> None:
    """Show a page with what is known."""
    qtbot.addWidget(page)
    page.resize(900, 260)
    page.show()
    page.show_insight(insight, 1)


def test_the_matrix_has_a_cell_for_each_pair_and_says_it_in_words(qtbot: QtBot, insight: GroupInsight) -> None:
    page = ClocksPage()
    shown(qtbot, page, insight)
    item = page.table.item(2, 1)
    assert item is not None
    assert item.text() == "5"
    assert item.data(Qt.ItemDataRole.AccessibleTextRole) == "carol has delivered of bob: 5"


def test_the_messages_are_written_for_shiviz_or_it_is_said_why_not(
    qtbot: QtBot, insight: GroupInsight, tmp_path: Path
) -> None:
    page = SpaceTimePage()
    shown(qtbot, page, insight)
    page.write(str(tmp_path / "messages.log"))
    assert "deliver 1 of bob#1, serial 2" in (tmp_path / "messages.log").read_text("utf-8")
    assert "Written to" in page.about.text()
    page.write(str(tmp_path / "missing" / "messages.log"))
    assert "choose another place" in page.about.text()


def test_the_queue_is_a_table(qtbot: QtBot, insight: GroupInsight) -> None:
    page = HeldPage()
    shown(qtbot, page, insight)
    texts = [item.text() if (item := page.table.item(0, column)) else None for column in range(3)]
    assert texts == ["bob 2", "alice 9", "1.0 s"]
    insight.on_probed(snapshot(), (), 2)
    page.show_insight(insight, 2)
    assert page.table.rowCount() == 0
    assert page.about.text().startswith("Nothing is held back")


def test_a_serial_leads_to_its_message(qtbot: QtBot, insight: GroupInsight) -> None:
    page = OrderPage()
    shown(qtbot, page, insight)
    item = page.serials.item(2, 1)
    assert item is not None
    with qtbot.waitSignal(page.message_wanted) as told:
        page.serials.itemActivated.emit(item)
    assert told.args == ["alice#1", 1]


def test_views_are_told_newest_first(qtbot: QtBot, insight: GroupInsight) -> None:
    page = ViewsPage()
    insight.timeline.on_events([gcom.ViewChange(view(4, *VIEW.members[1:]), (), {"alice#1": "crash"})], 2)
    shown(qtbot, page, insight)
    first, last = page.table.item(0, 2), page.table.item(1, 2)
    assert first is not None
    assert last is not None
    assert first.text().startswith("♛ −alice (crashed); bob leads now")
    assert last.text() == "● the view at joining"


def test_a_click_on_a_dot_leads_to_its_message(qtbot: QtBot, insight: GroupInsight) -> None:
    page = SpaceTimePage()
    shown(qtbot, page, insight)
    diagram = page.view
    assert diagram.grab().width() > 0
    place = diagram._place(diagram._diagram.dots[1]).toPoint()
    with qtbot.waitSignal(page.message_wanted) as told:
        QTest.mouseClick(diagram, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, place + QPoint(1, 1))
    assert told.args == ["bob#1", 1]
    with qtbot.waitSignal(page.message_wanted) as told:
        QTest.keyClick(diagram, Qt.Key.Key_Right)
    assert told.args == ["carol#1", 1]
    narrow = diagram.minimumWidth()
    QTest.keyClicks(diagram, "++")
    assert diagram.minimumWidth() > narrow


def test_latencies_are_told_in_words(qtbot: QtBot, insight: GroupInsight) -> None:
    page = LatencyPage()
    shown(qtbot, page, insight)
    assert "3 of 3 messages (100%)" in page.about.text()
    assert page.own.accessibleDescription() == "5: 1"
    assert page.grab().width() > 0


@pytest.fixture
def window(qtbot: QtBot) -> Iterator[ChatWindow]:
    """A window in a group of its own and bob's, whose dock is open."""
    with gcom.embedded() as registry, gcom.connect("bob", registry.address) as bob:
        group = bob.join("news", create=gcom.Definition("news", gcom.Ordering.CAUSALTOTAL), receive=False)
        window = ChatWindow("alice", registry.address, ("news",))
        qtbot.addWidget(window)
        window.show()
        qtbot.waitUntil(lambda: window.client.group("news") is not None and "news" in window.tabs, timeout=LIMIT_MS)
        window.dock.show()
        qtbot.waitUntil(lambda: _looks(window) is not None, timeout=LIMIT_MS)
        group.send("hello")
        yield window
        window.close()


def _looks(window: ChatWindow) -> gcom.Snapshot | None:
    found = window.dock.insights.get("news")
    return found.snapshot if found else None


def test_the_dock_shows_a_real_group_and_leads_to_its_messages(qtbot: QtBot, window: ChatWindow) -> None:
    insight = window.dock.insights["news"]
    qtbot.waitUntil(lambda: len(insight.traces) == 1, timeout=LIMIT_MS)
    seen = insight.traces[0]
    assert (seen.sender.partition("#")[0], seen.number, seen.serial) == ("bob", 1, 1)
    tabs = window.dock.tabs
    assert isinstance(tabs, QTabWidget)
    for at in range(tabs.count()):
        tabs.setCurrentIndex(at)
        assert tabs.grab().width() > 0
    window.dock.message_wanted.emit("news", seen.sender, seen.number)
    chosen = window.tabs["news"].conversation.selected()
    assert [row.text for row in chosen] == ["hello"]


def test_a_closed_dock_looks_at_nothing(qtbot: QtBot, window: ChatWindow) -> None:
    probe = window.dock._probe
    assert probe is not None
    window.dock.hide()
    assert window.dock._probe is None
    qtbot.waitUntil(lambda: not probe._thread.is_alive(), timeout=LIMIT_MS)
