"""Completion of names at the cursor, and the history of what was typed."""

from __future__ import annotations

from collections.abc import Sequence

from gcom_chat.model.input.commands import COMMANDS

LINES_MAX = 200  # nobody walks further up


def candidates(line: str, cursor: int, members: Sequence[str], groups: Sequence[str]) -> tuple[int, list[str]]:
    """Return where the word at the cursor begins, and its completions: commands, groups after /join, else members."""
    start = line.rfind(" ", 0, cursor) + 1
    word = line[start:cursor]
    if start == 0 and word.startswith("/"):
        return start, [f"/{name} " for name in COMMANDS if name.startswith(word[1:].casefold())]
    names = groups if line.startswith("/join ") else members
    # At the beginning of a line a name addresses somebody; within it, it is a word like others.
    suffix = ": " if start == 0 else " "
    return start, [name + suffix for name in names if name.casefold().startswith(word.casefold())]


class InputHistory:
    """The lines that were sent, newest last; walked by Up and Down, with the draft at the end."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._at = 0
        self._draft = ""

    def add(self, line: str) -> None:
        """Add a line that was sent; the walk begins anew."""
        # The same line sent twice is one step of the walk.
        if line and self._lines[-1:] != [line]:
            self._lines = [*self._lines, line][-LINES_MAX:]
        self._at, self._draft = len(self._lines), ""

    def older(self, current: str) -> str | None:
        """Return the line before; None at the oldest."""
        if self._at == 0:
            return None
        # What is being typed is kept at the end of the walk.
        if self._at == len(self._lines):
            self._draft = current
        self._at -= 1
        return self._lines[self._at]

    def newer(self) -> str | None:
        """Return the line after, at last the draft; None there."""
        if self._at >= len(self._lines):
            return None
        self._at += 1
        return self._lines[self._at] if self._at < len(self._lines) else self._draft
