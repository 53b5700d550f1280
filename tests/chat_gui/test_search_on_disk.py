"""The search goes on where the memory ends: hits of the scrollback on disk, and what was said around each."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

from gcom_chat.model.query import Query
from gcom_chat.model.rows import ChatRow, MessageTimes, RowKind
from gcom_chat.model.updates import FoundOnDisk, SurroundingsCame
from gcom_chat.storage.places import Places
from gcom_chat.storage.scrollback import Scrollback, talk_of
from gcom_chat.view.window import ChatWindow
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QListView

from tests.chat_gui.windows import wait_until

Opener = Callable[..., ChatWindow]
REGISTRY = "127.0.0.1:1"


def _row(key: int, name: str = "bob", text: str = "", **more: object) -> ChatRow:
    row = ChatRow(key, RowKind.MESSAGE, 1_763_846_400_000 + key, name, text or f"line {key}")
    for field, value in more.items():
        setattr(row, field, value)
    return row


def _fill(path: Path, rows: list[ChatRow], group: str = "news") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(Scrollback(path)) as scrollback:
        scrollback.add((talk_of(REGISTRY, group), row) for row in rows)


def _is_chosen(view: QListView, row: int) -> bool:
    return [index.row() for index in view.selectedIndexes()] == [row]


def _keys(scrollback: Scrollback, text: str, most: int = 100, before: int = 1_000) -> list[int]:
    found, _ = scrollback.find(talk_of(REGISTRY, "news"), Query.parse(text), before, most, lambda: False)
    return [row.key for row in found]


def test_text_and_filters_hold_on_disk_as_in_memory(tmp_path: Path) -> None:
    times = [MessageTimes(1.0, 2.0, clock=clock) for clock in ({"a#1": 1}, {"b#1": 1}, {"a#1": 1, "b#1": 2})]
    rows = [
        _row(1, "Alice", "Straße 100%", process="a#1", number=1, view=3, times=times[0]),
        _row(2, "bob", "where?", process="b#1", number=1, view=3, times=times[1]),
        _row(3, "bob", "there", process="b#1", number=2, view=4, times=times[2]),
    ]
    _fill(tmp_path / "history.db", rows)
    with closing(Scrollback(tmp_path / "history.db")) as scrollback:
        assert _keys(scrollback, "STRASSE") == [1]
        assert _keys(scrollback, "100%") == [1]
        assert _keys(scrollback, "from:bob here") == [2, 3]
        assert _keys(scrollback, "view:3 number:1") == [1, 2]
        assert _keys(scrollback, "concurrent-with:alice#1") == [2]
        assert _keys(scrollback, "concurrent-with:alice#x") == []
        assert _keys(scrollback, "here", most=1) == [3]
        assert _keys(scrollback, "here", before=3) == [2]
        assert [row.key for row in scrollback.around(talk_of(REGISTRY, "news"), 2, 1)] == [1, 2, 3]
        stopped = scrollback.find(talk_of(REGISTRY, "news"), Query.parse("here"), 1_000, 9, lambda: True)
        assert stopped == ([], True)


def test_hits_on_disk_are_offered_and_shown_with_what_was_around(opened: Opener, places: Places) -> None:
    _fill(places.history, [_row(key, text="the needle" if key == 50 else "") for key in range(1, 1_001)])
    _fill(places.history, [_row(key, text="another needle" if key == 7 else "") for key in range(1, 501)], "work")
    window = opened("alice", REGISTRY, "news", "work", places=places)
    search = window.desk.search
    wait_until(lambda: len(window.chat.groups) == 2 and all(s.conversation.rows for s in window.chat.groups.values()))
    window.desk.go_to("news")
    search.open()
    search.field.setText("NEEDLE")
    wait_until(search.older.isVisible)
    assert search.older.text().startswith("1 older")
    assert search.count.text() == "nothing in memory"
    search.everywhere.setChecked(True)
    wait_until(lambda: search.older.isVisible() and search.older.text().startswith("2 older"))
    search.older.click()
    dialog = window.desk._found
    assert dialog is not None
    wait_until(lambda: dialog.around.rows.rows)
    assert [row.kind for row in dialog.hits.rows.rows] == [RowKind.DAY, RowKind.MESSAGE] * 2
    assert "another needle" in dialog.hits.rows.rows[3].text
    assert [row.kind for row in dialog.around.rows.rows[:2]] == [RowKind.DAY, RowKind.MESSAGE]
    assert [row.key for row in dialog.around.rows.rows[1:]] == list(range(1, 48))
    dialog.hits.setCurrentIndex(dialog.hits.rows.index(1))
    wait_until(lambda: dialog.around.rows.rows[-1].key == 90)
    assert dialog.around.currentIndex().row() == 41  # one is the line of the day
    dialog.reject()
    search.field.setText("nowhere at all")
    assert not search.older.isVisible()


def test_what_was_found_for_an_older_text_is_not_shown(opened: Opener) -> None:
    window = opened()
    window.desk.search.open()
    window.desk.search.field.setText("new")
    window.on_updates([FoundOnDisk("old", (("news", _row(1)),), False)])
    assert not window.desk.search.older.isVisible()


def test_hits_of_two_groups_under_one_key_have_heights_of_their_own(opened: Opener) -> None:
    window = opened()
    rows = {"news": _row(7, text="short"), "work": _row(7, text="a long line " * 40)}
    window.desk.show_found(FoundOnDisk("line", tuple(rows.items()), False))
    dialog = window.desk._found
    assert dialog is not None
    heights = {}
    for at, group in ((1, "news"), (3, "work")):
        dialog.hits.setCurrentIndex(dialog.hits.rows.index(at))
        dialog.show_around(SurroundingsCame(group, 7, (rows[group],)))
        heights[group] = dialog.around.sizeHintForRow(1)
        assert dialog.hits.sizeHintForRow(at) >= heights[group]
    assert heights["work"] > 2 * heights["news"]
    dialog.reject()


def test_keys_pass_over_the_headings_of_hits(opened: Opener) -> None:
    window = opened()
    window.desk.show_found(FoundOnDisk("line", (("news", _row(1)), ("work", _row(2))), False))
    dialog = window.desk._found
    assert dialog is not None
    wanted: list[tuple[str, int]] = []
    dialog.around_wanted.connect(lambda group, key: wanted.append((group, key)))
    for key, row in ((Qt.Key.Key_Up, 1), (Qt.Key.Key_Up, 1), (Qt.Key.Key_Down, 3)):
        QTest.keyClick(dialog.hits, key)
        wait_until(partial(_is_chosen, dialog.hits, row))
    assert [key for _, key in wanted] == [1, 1, 2]
    dialog.reject()
