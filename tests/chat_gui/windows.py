"""Waits with Qt's loop running, and the hands of a user."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

from gcom_chat.model.rows import ChatRow
from gcom_chat.view.window import ChatWindow
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

LIMIT_S = 120.0


def wait_until(done: Callable[[], object], what: str = "it") -> None:
    """Run Qt's loop until a condition holds."""
    deadline = monotonic() + LIMIT_S
    while not done():
        if monotonic() > deadline:
            raise AssertionError(f"no {what} in {LIMIT_S:g} s")
        QTest.qWait(10)
    QApplication.processEvents()


def say(window: ChatWindow, group: str, text: str) -> None:
    """Type a text, and press Enter."""
    tab = window.tabs[group]
    tab.input.setPlainText(text)
    QTest.keyClick(tab.input, Qt.Key.Key_Return)


def is_in(window: ChatWindow, group: str, members: int = 1) -> bool:
    """Return whether a window is in a group of so many members."""
    state = window.chat.groups.get(group)
    view = state.members.view if state else None
    return bool(group in window.tabs and view and len(view.members) == members)


def rows(window: ChatWindow, group: str) -> list[ChatRow]:
    """Return the rows that a tab shows."""
    return window.tabs[group].conversation.rows.rows


def texts(window: ChatWindow, group: str) -> list[str]:
    """Return the texts that a tab shows."""
    return [row.text for row in rows(window, group)]
