"""The score of the ordering duel, against cases made by hand."""

from __future__ import annotations

from itertools import permutations

import pytest
from gcom_chat.model.insight.duel import DuelLine, DuelRun, DuelScreen, as_text, findings, moved, score
from gcom_chat.model.insight.live_duel import live_run

TALK = (DuelLine("alice", "?"), DuelLine("bob", "!", 0), DuelLine("alice", "so"), DuelLine("bob", "yes", 2))


def run(left: tuple[int, ...], right: tuple[int, ...]) -> DuelRun:
    return DuelRun("FIFO", (DuelScreen("carol", left), DuelScreen("dave", right)), 5, TALK)


def test_equal_screens_in_the_order_of_speaking_have_nothing_wrong() -> None:
    found = score(run((0, 1, 2, 3), (0, 1, 2, 3)))
    assert found.wrong == 0
    assert findings(found) == []


def test_an_answer_before_its_question_is_one_for_each_screen_that_shows_it() -> None:
    found = score(run((1, 0, 2, 3), (1, 0, 2, 3)))
    assert found.early == ((0, 1, 0), (1, 1, 0))
    assert found.moved == ()
    assert findings(found) == ["2 answers before their question"]


def test_a_speakers_own_lines_that_change_places_are_no_answers() -> None:
    found = score(run((0, 2, 3, 1), (0, 2, 1, 3)))
    assert found.swapped == ((0, 3, 1),)
    assert found.early == ()
    assert findings(found) == ["1 own line out of turn", "1 line where they disagree"]


def test_lines_that_never_came_are_wrong() -> None:
    found = score(run((0, 1), (0, 1, 2, 3)))
    assert found.missing == ((0, 2), (0, 3))
    assert findings(found) == ["2 lines that never came"]


def test_text_tells_both_screens_and_the_score() -> None:
    text = as_text(run((1, 0, 2, 3), (0, 1, 2, 3)))
    assert "1 answer before its question, 1 line where they disagree" in text
    assert "carol sees  bob: !  |  alice: ?" in text


@pytest.mark.parametrize("left", list(permutations(range(4))))
def test_moved_is_the_fewest_lines(left: tuple[int, ...]) -> None:
    """Against a dumb twin: the largest subset that both screens show in one order."""
    right = (0, 1, 2, 3)
    subsets = [{at for at in right if bits >> at & 1} for bits in range(16)]
    in_order = [kept for kept in subsets if [x for x in left if x in kept] == sorted(kept)]
    found = moved(left, right)
    assert len(right) - len(found) == max(map(len, in_order))
    assert set(right) - set(found) in in_order


def test_a_live_run_shows_the_last_turns_and_misses_nothing_that_is_under_way() -> None:
    said = ["one", "two", "three", "four"]
    whole = DuelRun("FIFO", (DuelScreen("carol", (0, 2, 1, 3, 4, 9, 11)), DuelScreen("dave", (0, 4, 3, 9))), 5)
    shown = live_run(whole, said)
    assert [line.text for line in shown.script[:3]] == ["two", "Yes: two", "No: two"]
    assert [screen.lines for screen in shown.screens] == [(0, 1, 6, 8), (1, 0, 6)]
    found = score(shown)
    assert found.missing == ()
    assert found.early == ((1, 1, 0),)
    assert "dave sees  bob: Yes: two  |  alice: two" in as_text(shown)
