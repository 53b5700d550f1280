"""Names that are written from the right, drawn without turning round the text beside them (Unicode's UAX 9: isolates).

The model, the disk and JSON keep a name as it is; isolates are put in where a text is composed or drawn.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable

import gcom

_ISOLATES = re.compile("[\u2066-\u2069]")
_PASTED = re.compile("[\u200e\u200f\u061c\u2066-\u2069]")  # copied with a name, and never part of one


def apart(text: str) -> str:
    """Return a name or a text to be put beside others: if it has letters from the right, each line is isolated."""
    if gcom.isolated(text) == text:
        return text
    return "\n".join(f"\u2068{line}\u2069" if line else line for line in text.split("\n"))


def bare(text: str) -> str:
    """Return a text without isolates and marks of direction."""
    return text if text.isascii() else _PASTED.sub("", text)


def pattern_of(names: Iterable[str]) -> re.Pattern[str] | None:
    """Return a pattern that finds names from the right as whole words; None: there are none."""
    # The longest first: a name may be the beginning of another.
    found = sorted({name for name in names if gcom.isolated(name) != name}, key=len, reverse=True)
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, found))})(?!\w)") if found else None


class ShownText:
    """A text as it is drawn, and the places of its characters there.

    Names of members are isolated; in a line of the chat's own (`noted`), so is all else from the right.
    """

    def __init__(self, text: str, names: re.Pattern[str] | None = None, noted: bool = False) -> None:
        self.text = text
        self._added: list[int] = []  # the places in the original before which a sign was put in
        if text.isascii():
            return
        if names is not None:
            self.text = names.sub(lambda found: f"\u2068{found[0]}\u2069", self.text)
        if noted:
            self.text = gcom.isolated(self.text)
        for found in _ISOLATES.finditer(self.text):
            at = found.start() - len(self._added)
            if text[at : at + 1] != found[0]:
                self._added.append(at)

    def place(self, at: int) -> int:
        """Return where a place of the original stands in the text that is drawn."""
        return at + bisect_right(self._added, at)

    def original(self, place: int) -> int:
        """Return the place in the original that stands at a place of the text that is drawn."""
        return place - bisect_left([at + count for count, at in enumerate(self._added)], place)
