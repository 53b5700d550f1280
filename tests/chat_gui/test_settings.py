"""Settings and session survive a write and a read, and a file that somebody spoilt never keeps a chat from starting."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from gcom_chat.model.settings import SavedSession, SavedTab, Settings, next_zoom, session_of, settings_of
from gcom_chat.storage.toml_files import read_table, session_text, settings_text, write_text
from hypothesis import given
from hypothesis import strategies as st

TEXTS = st.text(st.characters(blacklist_categories=["Cs"]))
TABS = st.builds(SavedTab, TEXTS.filter(bool), TEXTS, st.integers(0, 1 << 40), st.integers(0, 99), st.integers(0, 99))


@given(st.lists(TABS, unique_by=lambda tab: tab.group), TEXTS)
def test_a_session_is_read_as_it_was_written(tabs: list[SavedTab], current: str) -> None:
    session = SavedSession(tuple(tabs), current, "AAEC")
    assert session_of(tomllib.loads(session_text(session))) == session


@given(TEXTS, st.lists(TEXTS))
def test_settings_are_read_as_they_were_written(nick: str, words: list[str]) -> None:
    settings = Settings(
        nick, "127.0.0.1:7411", "dark", "Sans", 12, 150, "de", 500, False, False, True, True, tuple(words)
    )
    assert settings_of(tomllib.loads(settings_text(settings))) == settings


@pytest.mark.parametrize(
    "text",
    ["zoom = 'big'", "zoom = true", "theme = 'pink'", "words = 3", "history_max = -1\nzoom = 9_999", "nick = ['x']"],
)
def test_what_makes_no_sense_has_its_default(text: str) -> None:
    settings = settings_of(tomllib.loads(text))
    assert settings.nick == ""
    assert settings.theme == "system"
    assert 50 <= settings.zoom <= 300
    assert settings.history_max >= 100


@pytest.mark.parametrize("text", ["tabs = 3", "tabs = [3]", "[[tabs]]\ndraft = 'no group'", "[[tabs]]\ngroup = 7"])
def test_a_tab_that_makes_no_sense_is_left_out(text: str) -> None:
    assert session_of(tomllib.loads(text)) == SavedSession()


def test_a_file_that_is_no_toml_is_kept_aside_and_said(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    path.write_text("nick = ")
    read = read_table(path)
    assert read.values == {}
    assert "damaged" in read.trouble
    assert (tmp_path / "settings.toml.damaged").read_text() == "nick = "
    assert read_table(path) == ({}, "", True)  # and is not said again


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "session.toml"
    write_text(path, "one")
    write_text(path, "two")
    assert path.read_text() == "two"
    assert [each.name for each in path.parent.iterdir()] == ["session.toml"]


def test_zoom_goes_by_steps_and_stays_in_its_bounds() -> None:
    assert (next_zoom(100, 1), next_zoom(100, -1), next_zoom(130, 1), next_zoom(175, 0)) == (110, 90, 150, 100)
    assert (next_zoom(300, 1), next_zoom(50, -1)) == (300, 50)
