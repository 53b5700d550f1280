"""The ordering duel: one conversation under the five orderings, and what is wrong on two members' screens.

A line is wrong in one of three ways, each of them what an ordering promises to prevent: an answer stands before its
question (causal order), a speaker's own lines have changed places (FIFO), or two members disagree where a line stands
(total order). The last is counted as the fewest lines that would have to move for both screens to be equal, which is
what the longest common subsequence leaves out.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from gcom_chat.model.texts.words import QT_TRANSLATE_NOOP, translate

ORDERINGS = ("NONORDERED", "FIFO", "CAUSAL", "TOTAL", "CAUSALTOTAL")


@dataclass(frozen=True, slots=True)
class DuelLine:
    """A line of the script. `answers`: the line that its speaker must have seen before; None: it begins a topic."""

    speaker: str
    text: str
    answers: int | None = None


# Two conversations at a time. Each speaker says its lines in this order, each as soon as it has seen what it answers.
SCRIPT = (
    DuelLine("alice", "Lunch?"),
    DuelLine("alice", "At Luigi’s?"),
    DuelLine("bob", "Yes!", 0),
    DuelLine("carol", "My keys?"),
    DuelLine("bob", "I do", 3),
    DuelLine("alice", "At noon?", 2),
    DuelLine("bob", "Noon it is", 5),
    DuelLine("carol", "Thanks!", 4),
    DuelLine("alice", "See you", 6),
)


@dataclass(frozen=True, slots=True)
class DuelScreen:
    """The lines as one member saw them, first to last."""

    member: str
    lines: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class DuelRun:
    """A run of a script, under one ordering; `wait_ms`: from sending to showing, on average.

    `goes_on`: what is missing on a screen is under way.
    """

    ordering: str
    screens: tuple[DuelScreen, DuelScreen]
    wait_ms: int
    script: tuple[DuelLine, ...] = SCRIPT
    goes_on: bool = False


@dataclass(frozen=True, slots=True)
class DuelScore:
    """The count of wrong places on two screens.

    `early`: (screen, answer, question) where the answer stands first. `swapped`: (screen, line, earlier line of the
    same speaker). `moved`: the lines where the two disagree. `missing`: (screen, line) that never came.
    """

    early: tuple[tuple[int, int, int], ...]
    swapped: tuple[tuple[int, int, int], ...]
    moved: tuple[int, ...]
    missing: tuple[tuple[int, int], ...]

    @property
    def wrong(self) -> int:
        """The number of wrong places."""
        return len(self.early) + len(self.swapped) + len(self.moved) + len(self.missing)


def score(run: DuelRun) -> DuelScore:
    """Return what is wrong in a run."""
    script = run.script
    answers = [(at, line.answers) for at, line in enumerate(script) if line.answers is not None]
    return DuelScore(
        _turned(run, answers),
        _turned(run, _successors(script)),
        moved(run.screens[0].lines, run.screens[1].lines),
        tuple(
            (number, line)
            for number, screen in enumerate(run.screens)
            for line in range(len(script))
            if line not in screen.lines and not run.goes_on
        ),
    )


def _successors(script: Sequence[DuelLine]) -> list[tuple[int, int]]:
    """Return each line with its speaker's line before, unless it answers that one."""
    pairs = []
    for speaker in dict.fromkeys(line.speaker for line in script):
        own = [at for at, line in enumerate(script) if line.speaker == speaker]
        # An answer to one's own line is counted as an answer, and not a second time as a line out of turn.
        pairs += [(later, earlier) for earlier, later in pairwise(own) if script[later].answers != earlier]
    return pairs


def _turned(run: DuelRun, pairs: Sequence[tuple[int, int]]) -> tuple[tuple[int, int, int], ...]:
    """Return the pairs (later, earlier) whose later line stands first, by the number of the screen."""
    found = []
    for number, screen in enumerate(run.screens):
        place = {line: at for at, line in enumerate(screen.lines)}
        found += [
            (number, later, earlier)
            for later, earlier in pairs
            if later in place and earlier in place and place[later] < place[earlier]
        ]
    return tuple(found)


def moved(left: Sequence[int], right: Sequence[int]) -> tuple[int, ...]:
    """Return the fewest lines that would have to move for both to be in one order; what only one has is left out."""
    place = {line: at for at, line in enumerate(right)}
    both = [line for line in left if line in place]
    stay = set(_longest_rising([place[line] for line in both]))
    return tuple(line for line in both if place[line] not in stay)


def _longest_rising(numbers: Sequence[int]) -> list[int]:
    """Return a longest rising subsequence of different numbers (patience sorting)."""
    tops: list[int] = []
    before: dict[int, int | None] = {}
    for number in numbers:
        at = bisect_left(tops, number)
        before[number] = tops[at - 1] if at else None
        tops[at : at + 1] = [number]
    found: list[int] = []
    at_end = tops[-1] if tops else None
    while at_end is not None:
        found.append(at_end)
        at_end = before[at_end]
    return found[::-1]


# What may be wrong: once, and several times.
_ANSWERS = (
    QT_TRANSLATE_NOOP("duel", "{} answer before its question"),
    QT_TRANSLATE_NOOP("duel", "{} answers before their question"),
)
_OWN = (
    QT_TRANSLATE_NOOP("duel", "{} own line out of turn"),
    QT_TRANSLATE_NOOP("duel", "{} own lines out of turn"),
)
_DISAGREE = (
    QT_TRANSLATE_NOOP("duel", "{} line where they disagree"),
    QT_TRANSLATE_NOOP("duel", "{} lines where they disagree"),
)
_MISSING = (
    QT_TRANSLATE_NOOP("duel", "{} line that never came"),
    QT_TRANSLATE_NOOP("duel", "{} lines that never came"),
)


def findings(found: DuelScore) -> list[str]:
    """Return what is wrong in words, a line for each kind."""
    counts = (
        (found.early, _ANSWERS),
        (found.swapped, _OWN),
        (found.moved, _DISAGREE),
        (found.missing, _MISSING),
    )
    return [translate("duel", words[len(each) > 1]).format(len(each)) for each, words in counts if each]


def as_text(run: DuelRun) -> str:
    """Return a run as text: the two screens, and what is wrong."""
    wrong = ", ".join(findings(score(run))) or translate("duel", "nothing wrong")
    lines = [f"{run.ordering}: {wrong}; {run.wait_ms} ms"]
    for screen in run.screens:
        said = (f"{run.script[line].speaker}: {run.script[line].text}" for line in screen.lines)
        sees = translate("duel", "{} sees").format(screen.member)
        lines.append(f"  {sees}  " + "  |  ".join(said))
    return "\n".join(lines)
