"""The state of own messages, from the input to all members."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from gcom_chat.model.rows import ChatRow, MessageState, MessageTimes, RowKind
from gcom_chat.view.rows.row_words import receipt_text, tooltip
from gcom_chat.view.window import ChatWindow

import gcom
from tests.chat_gui.windows import is_in, rows, say, wait_until


def test_a_receipt_in_words() -> None:
    receipt = gcom.Receipt(4, "ordered", 9, ("alice#1", "bob#2"), ("carol#3",), "alice#1", "i")
    text = receipt_text(receipt)
    assert text == "message 4: ordered; number 9 in the group's order; held by alice, bob; lacking: carol"


def test_the_tooltip_tells_the_way_of_a_message_step_by_step() -> None:
    row = ChatRow(1, RowKind.MESSAGE, 1_700_000_000_400, "bob", "hello", "bob#1", 9, 2, sent_ms=1_700_000_000_000)
    row.times = MessageTimes(1_700_000_000_100, 1_700_000_000_350, None, 1_700_000_000_300, 12, {"bob#1": 9})
    lines = tooltip(row).splitlines()
    assert [line.partition(" ")[0] for line in lines] == [
        "sent",
        "received",
        "ordered",
        "delivered",
        "held",
        "serial",
        "message",
    ]
    assert [line.partition(" (")[2] for line in lines[1:4]] == ["+100 ms)", "+200 ms)", "+50 ms)"]
    assert lines[4] == "held back for 250 ms"
    row.times = MessageTimes(1_700_000_000_100, 1_700_000_000_350, None, 1_700_000_000_050, 12)
    assert [line.partition(" ")[0] for line in tooltip(row).splitlines()][1:4] == ["ordered", "received", "delivered"]


def test_every_message_of_a_group_has_its_times_and_clock(opened: Callable[..., ChatWindow], registry: str) -> None:
    with gcom.connect("bob", registry) as bob:
        bob.create("news", "CAUSALTOTAL")
        news = bob.join("news")
        window = opened("alice", registry, "news")
        wait_until(lambda: is_in(window, "news", 2))
        news.send("question")
        wait_until(lambda: any(row.text == "question" for row in rows(window, "news")))
        say(window, "news", "answer")
        wait_until(lambda: any(row.number and row.own for row in rows(window, "news")))
        question, answer = (row for row in rows(window, "news") if row.number)
        for row in (question, answer):
            assert row.times is not None
            assert row.times.received_ms <= row.times.delivered_ms
            assert row.times.serial
            assert row.times.clock is not None
            assert row.times.clock[row.process] == row.number
        assert answer.times is not None
        assert answer.times.clock is not None
        assert answer.times.clock[question.process] == question.number
        assert answer.times.sent_ms is not None


@pytest.mark.parametrize("ordering", list(gcom.Ordering)[1::3])
def test_the_window_says_that_all_hold_it_and_who(
    opened: Callable[..., ChatWindow], registry: str, ordering: gcom.Ordering
) -> None:
    with gcom.connect("bob", registry) as bob:
        bob.create("news", ordering)
        bob.join("news")
        window = opened("alice", registry, "news")
        wait_until(lambda: is_in(window, "news", 2))
        say(window, "news", "hello")
        wait_until(lambda: any(row.delivery is MessageState.HELD for row in rows(window, "news")), "✓✓")
        row = next(row for row in rows(window, "news") if row.own)
        window.tabs["news"].conversation.ask_receipt(row)
        wait_until(lambda: "held by" in window.statusBar().currentMessage())
        assert "alice" in window.statusBar().currentMessage()
        assert "bob" in window.statusBar().currentMessage()
