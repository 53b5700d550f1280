"""The ordering duel on real groups, and its window offscreen."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from gcom_chat.client.duel import run_duel
from gcom_chat.model.insight.duel import ORDERINGS, SCRIPT, DuelRun, DuelScreen, score
from gcom_chat.view.dock.duel_dialog import DuelDialog
from gcom_chat.view.dock.duel_file import write_duel
from gcom_chat.view.dock.duel_picture import HEADLINE, PANEL, DuelPicture, render_duel
from PySide6.QtCore import Qt
from PySide6.QtGui import QImage
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

IN_TURN = tuple(range(len(SCRIPT)))
MADE = {
    ordering: DuelRun(ordering, (DuelScreen("carol", IN_TURN), DuelScreen("dave", IN_TURN)), 9)
    for ordering in ORDERINGS
}


@pytest.mark.slow
def test_each_ordering_keeps_its_word_and_no_order_keeps_none(expect_log: Callable[[str], None]) -> None:
    expect_log("have faults, on purpose")
    runs: list[DuelRun] = []
    run_duel(runs.append)
    scores = {run.ordering: score(run) for run in runs}
    assert set(scores) == set(ORDERINGS)
    assert scores["NONORDERED"].wrong > len(scores["NONORDERED"].missing)
    assert not scores["FIFO"].swapped
    assert not scores["CAUSAL"].early
    assert not scores["CAUSAL"].swapped
    assert not scores["TOTAL"].moved
    strict = scores["CAUSALTOTAL"]  # on a machine that stands still for half a second, BASIC may lose a line
    assert (strict.early, strict.swapped, strict.moved) == ((), (), ())


def test_a_picture_is_made_without_a_window(qtbot: QtBot, tmp_path: Path) -> None:
    picture = DuelPicture()
    qtbot.addWidget(picture)
    image = render_duel(MADE, picture.palette(), picture.font(), 1.0)
    assert image.save(str(tmp_path / "duel.png"))
    assert (image.width(), image.height()) == (3 * PANEL.width(), 2 * PANEL.height())
    colours = {image.pixelColor(x, y).name() for x in range(0, image.width(), 7) for y in range(0, image.height(), 7)}
    assert len(colours) > 5


def test_the_picture_says_its_runs_as_text(qtbot: QtBot) -> None:
    picture = DuelPicture()
    qtbot.addWidget(picture)
    picture.show_runs(MADE)
    assert "CAUSALTOTAL: nothing wrong" in picture.accessibleDescription()


def test_panels_stand_in_as_many_columns_as_there_is_room(qtbot: QtBot) -> None:
    picture = DuelPicture()
    qtbot.addWidget(picture)
    assert picture.heightForWidth(3 * PANEL.width()) == 2 * PANEL.height()
    assert picture.heightForWidth(6 * PANEL.width()) == PANEL.height()
    assert picture.heightForWidth(10) == 6 * PANEL.height()


@pytest.mark.slow
def test_the_window_runs_the_duel_whatever_faults_the_chat_has(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GCOM_FAULTS", "drop=1.0")
    dialog = DuelDialog(begin=False)
    qtbot.addWidget(dialog)
    with qtbot.waitSignal(dialog.finished_run, timeout=120_000) as told:
        dialog.run()
    assert told.args == [True]
    assert set(dialog.runs) == set(ORDERINGS)


@pytest.mark.slow
def test_two_panels_below_a_headline_are_written_without_a_window(qtbot: QtBot, tmp_path: Path) -> None:
    some = DuelPicture()
    qtbot.addWidget(some)
    path = tmp_path / "pair.png"
    assert write_duel(str(path), some.palette(), some.font(), pair=True, scale=1.0)
    image, paper = QImage(str(path)), some.palette().base().color().name()
    assert (image.width(), image.height()) == (2 * PANEL.width(), PANEL.height() + HEADLINE)
    inked = {y for y in range(image.height()) for x in range(image.width()) if image.pixelColor(x, y).name() != paper}
    assert min(inked) < HEADLINE / 2, "the headline"
    assert max(inked) > image.height() - 10, "the panels' frames are whole"


def test_a_window_that_is_closed_ends_the_duel(qtbot: QtBot) -> None:
    dialog = DuelDialog(begin=False)
    qtbot.addWidget(dialog)
    with qtbot.waitSignal(dialog.finished_run, timeout=120_000) as told:
        dialog.run()
        dialog.close()
    assert told.args == [False]


@pytest.mark.slow
def test_what_one_says_goes_through_all_orderings_and_is_answered(qtbot: QtBot) -> None:
    dialog = DuelDialog(begin=False)
    qtbot.addWidget(dialog)
    dialog.show()
    for text in ("Lunch?", "At noon?"):
        QTest.keyClicks(dialog.field, text)
        QTest.keyClick(dialog.field, Qt.Key.Key_Return)
    assert dialog.field.text() == ""

    def complete() -> bool:
        lines = [screen.lines for run in dialog.runs.values() for screen in run.screens]
        return len(lines) == 2 * len(ORDERINGS) and all(len(each) == 6 for each in lines)

    qtbot.waitUntil(complete, timeout=120_000)
    assert [line.text for line in dialog.runs["FIFO"].script[:2]] == ["Lunch?", "Yes: Lunch?"]
    for strict in ("CAUSAL", "CAUSALTOTAL"):
        assert score(dialog.runs[strict]).early == ()
    assert score(dialog.runs["TOTAL"]).moved == ()
    with qtbot.waitSignal(dialog.finished_run, timeout=120_000):
        dialog.close()
