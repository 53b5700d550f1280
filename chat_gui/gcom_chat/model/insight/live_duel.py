"""A live duel's lines: each text of Alice, and the answers of Bob and Carol, who do not wait for each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gcom_chat.model.insight.duel import DuelLine, DuelRun, DuelScreen

PLACES = {"alice": 0, "bob": 1, "carol": 2}  # of each speaker's line in a turn
LINES_A_TURN = len(PLACES)
TURNS_SHOWN = 3  # as many lines as the scripted duel has
TEXT_CHARS_MAX = 40  # a bubble of the picture holds no more


def live_script(said: Sequence[str]) -> tuple[DuelLine, ...]:
    """Return the lines of some turns."""
    lines: list[DuelLine] = []
    for text in said:
        question = len(lines)
        lines.append(DuelLine("alice", text))
        lines.append(DuelLine("bob", f"Yes: {text}", question))
        lines.append(DuelLine("carol", f"No: {text}", question))
    return tuple(lines)


def live_run(run: DuelRun, said: Sequence[str]) -> DuelRun:
    """Return the last turns of a run whose lines are numbered from the first turn on; it goes on."""
    first = max(0, len(said) - TURNS_SHOWN) * LINES_A_TURN
    left, right = (
        DuelScreen(screen.member, tuple(line - first for line in screen.lines if line >= first))
        for screen in run.screens
    )
    return replace(run, screens=(left, right), script=live_script(said[-TURNS_SHOWN:]), goes_on=True)
