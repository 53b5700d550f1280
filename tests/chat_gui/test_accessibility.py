"""Everything has a name, can be reached by keys, and can be read: 4.5:1 for each text, in light and dark."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from gcom_chat.model.chat import Notice
from gcom_chat.model.members import Members, Pulse
from gcom_chat.model.name_colours import COLOURS
from gcom_chat.model.rows import ChatRow, RowKind
from gcom_chat.view import colours
from gcom_chat.view.desktop.appearance import palette_of
from gcom_chat.view.dialogs.groups import ConnectDialog, CreateDialog, JoinDialog
from gcom_chat.view.dialogs.preferences import PreferencesDialog
from gcom_chat.view.dialogs.shortcuts import Switcher
from gcom_chat.view.members_view import MembersView
from gcom_chat.view.window import ChatWindow
from PySide6.QtCore import QLocale, Qt
from PySide6.QtGui import QColor, QPalette
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QComboBox,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QSpinBox,
    QWidget,
)

import gcom
from gcom.values.spelling import imitated
from tests.chat_gui.windows import wait_until

Opener = Callable[..., ChatWindow]
ROLE = QPalette.ColorRole
CONTRAST_MIN = 4.5  # WCAG 2.2, 1.4.3


def luminance(colour: QColor) -> float:
    """Return the relative luminance of a colour (WCAG 2.2)."""
    linear = (colour.redF(), colour.greenF(), colour.blueF())
    parts = [part / 12.92 if part <= 0.04045 else math.pow((part + 0.055) / 1.055, 2.4) for part in linear]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def contrast(one: QColor, other: QColor) -> float:
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize(
    ("text", "ground"),
    [
        (ROLE.Text, ROLE.Base),
        (ROLE.Text, ROLE.AlternateBase),
        (ROLE.WindowText, ROLE.Window),
        (ROLE.ButtonText, ROLE.Button),
        (ROLE.HighlightedText, ROLE.Highlight),
        (ROLE.ToolTipText, ROLE.ToolTipBase),
        (ROLE.PlaceholderText, ROLE.Base),
        (ROLE.Link, ROLE.Base),
    ],
)
def test_the_palettes_can_be_read(dark: bool, text: ROLE, ground: ROLE) -> None:
    palette = palette_of(dark)
    assert contrast(palette.color(text), palette.color(ground)) >= CONTRAST_MIN


@pytest.mark.parametrize("dark", [False, True])
def test_each_colour_of_ours_can_be_read_where_it_stands(dark: bool) -> None:
    palette = palette_of(dark)
    base = palette.color(ROLE.Base)
    mention = colours.tint(palette, colours.accent(palette))
    chosen = colours.tint(palette, palette.color(ROLE.Highlight), 0.3)
    banner = colours.tint(palette, colours.accent(palette), 0.22)
    names = [colours.of_number(number, palette) for number in range(COLOURS)]
    said = [*names, palette.color(ROLE.Text), colours.faint(palette)]
    signs = [colours.warning(palette), colours.good(palette), colours.accent(palette)]
    pairs = [(text, ground) for text in said for ground in (base, mention)]
    pairs += [(text, base) for text in signs]
    pairs += [(palette.color(ROLE.Text), ground) for ground in (chosen, banner)]
    low = {
        f"{text.name()} on {ground.name()}: {contrast(text, ground):.2f}"
        for text, ground in pairs
        if contrast(text, ground) < CONTRAST_MIN
    }
    assert low == set()
    assert len({name.name() for name in names}) == COLOURS


def nameless(parent: QWidget) -> list[str]:
    """Return what can have the focus, and says nothing to who does not see it."""
    kinds = QAbstractButton, QLineEdit, QComboBox, QSpinBox, QAbstractItemView, QPlainTextEdit
    labelled = {id(label.buddy()) for label in parent.findChildren(QLabel) if label.buddy() is not None}
    found = []
    for widget in parent.findChildren(QWidget):
        inner = widget.objectName().startswith("qt_") or isinstance(widget.parent(), (QComboBox, QSpinBox, QLineEdit))
        takes = isinstance(widget, kinds) and not widget.isHidden() and widget.focusPolicy() != Qt.FocusPolicy.NoFocus
        text = widget.text() if isinstance(widget, QAbstractButton) else ""
        in_popup = widget.window() is not parent.window()
        if takes and not inner and not in_popup and not (widget.accessibleName() or text or id(widget) in labelled):
            found.append(f"{type(widget).__name__} in {type(widget.parent()).__name__}")
    return found


def test_every_control_has_a_name(opened: Opener) -> None:
    window = opened("", "", "news")
    dialogs = [
        ConnectDialog("", "", window),
        CreateDialog("alice", certified=True, parent=window),
        JoinDialog([], (), window),
        PreferencesDialog(window.keeper, "alice", window.desk.actions, window),
        Switcher(["news"], window),
    ]
    for each in (window, *dialogs):
        assert nameless(each) == [], type(each).__name__


def test_tab_reaches_input_conversation_and_members(opened: Opener) -> None:
    window = opened("", "", "news")
    tab = window.tabs["news"]
    tab.input.setFocus()
    seen, widget = set(), tab.input.nextInFocusChain()
    while widget is not None and widget is not tab.input and id(widget) not in seen:
        seen.add(id(widget))
        widget = widget.nextInFocusChain()
    for each in (tab.conversation, tab.members):
        assert id(each) in seen
        assert each.focusPolicy() & Qt.FocusPolicy.TabFocus


@pytest.mark.parametrize(
    ("name", "others", "found"),
    [
        ("Alice", ["alice"], "alice"),
        ("a1ice", ["bob", "alice"], "alice"),
        ("aIice", ["alice"], "alice"),
        ("b0b", ["bob"], "bob"),
        ("rnax", ["max"], "max"),
        ("a-b", ["a_b"], "a_b"),
        ("alice", ["alice"], ""),
        ("alicia", ["alice"], ""),
    ],
)
def test_names_that_look_like_another(name: str, others: list[str], found: str) -> None:
    assert imitated(name, others) == found


def test_what_is_new_is_announced_and_a_flood_in_one_sentence(opened: Opener) -> None:
    window = opened()
    said: list[str] = []
    window.desk.announcer.announced.connect(said.append)
    rows = [ChatRow(key, RowKind.MESSAGE, 0, "bob", f"line {key}") for key in (1, 2, 3)]
    window.desk.announcer.on_rows(rows[:1])
    wait_until(lambda: said)
    rows[2].own = True
    window.desk.announcer.on_rows(rows)
    wait_until(lambda: len(said) == 2)
    assert said == ["bob: line 1", "2 new; the last: bob: line 2"]
    window.desk.notify(Notice("it failed", error=True), 0)
    assert said[2:] == ["it failed"]


def test_the_list_says_how_far_away_a_member_is_and_who_is_silent(qapp: object) -> None:
    assert qapp
    members, view = Members(), MembersView()
    members.on_view(gcom.View(1, ("alice#1", "bob#2", "carol#3"), ("", "", "")), {}, 0)
    pulse = Pulse(100.0, {"bob#2": 0.2, "carol#3": 4.5}, {"bob#2": 0.000412, "carol#3": 0.02})
    view.show_members(members.list("alice#1"))
    view.setCurrentRow(1)
    view.show_members(members.list("alice#1", pulse, 101.0))
    assert view.item(0).text() == "● alice ♛"
    assert view.item(1).text() == f"● bob · {QLocale().toString(0.4, 'f', 1)} ms"
    assert view.item(2).text() == "● carol · silent 5 s"
    assert "last heard 5 second" in view.item(2).toolTip()
    assert view.currentRow() == 1  # what is chosen stays, while the numbers change


def test_who_came_later_is_the_one_that_is_marked(qapp: object) -> None:
    assert qapp
    members = Members()
    members.on_view(gcom.View(1, ("alice#1", "Alice#2", "bob#3"), ("", "", "")), {}, 0)
    lines = members.list("bob#3")
    assert [line.looks_like for line in lines] == ["", "alice", ""]
    view = MembersView()
    view.show_members(lines)
    assert "⚠" in view.item(1).text()
    assert "looks like alice" in view.item(1).toolTip()
    assert "⚠" not in view.item(0).text() + view.item(2).text()
