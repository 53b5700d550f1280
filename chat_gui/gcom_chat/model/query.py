"""A search: a text, and filters such as `from:bob number:7 view:3 concurrent-with:bob#17 case:match`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Self

from gcom_chat.model.rows import ChatRow
from gcom_chat.model.text import normal

FILTERS = ("from", "number", "view", "concurrent-with", "case")
_BLANK = re.compile(r' (?=(?:[^"]*"[^"]*")*[^"]*$)')  # outside quotes
QUOTES_MAX = 20  # in a search; with more of them none counts
MATCH_CASE = "case:match"


@dataclass(frozen=True, slots=True)
class Query:
    """A text, and what must hold beside it: `filters` are names and values. In any case, unless one is `case:match`."""

    text: str
    filters: tuple[tuple[str, str], ...]

    @classmethod
    def parse(cls, line: str) -> Self:
        """Return the query of a line; a filter that is not known is text."""
        filters, words = [], []
        # A blank in quotes parts nothing: from:"Jörg Müller".
        for word in _BLANK.split(line) if line.count('"') < QUOTES_MAX else line.split(" "):
            name, colon, value = word.partition(":")
            value = normal(value).strip('"')
            # `https://…` has a colon, too: only the filters' own names make one.
            known = colon and value and name.casefold() in FILTERS
            filters += [(name.casefold(), value.casefold())] if known else []
            words += [] if known else [word]
        # Without a filter the line is taken as it is typed, blanks and all: people search for "a  b" as well.
        return cls(" ".join(words).strip() if filters else line, tuple(filters))

    def find(self, rows: Iterable[ChatRow]) -> list[int]:
        """Return the keys of the rows for which it holds, oldest first."""
        if not self.text and not self.filters:
            return []
        every = list(rows)
        others = [self._named(value, every) for value in self.concurrent_with]
        return [row.key for row in every if self.holds(row, others)]

    @property
    def concurrent_with(self) -> list[str]:
        """The messages, such as "bob#17", with which those that are searched for are concurrent."""
        return [value for name, value in self.filters if name == "concurrent-with"]

    def holds(self, row: ChatRow, others: Sequence[ChatRow | None]) -> bool:
        """Return whether it holds for a row; `others` are the rows of `concurrent_with`, None for one not found."""
        return self._holds(row) and all(other is not None and concurrent(row, other) for other in others)

    def _holds(self, row: ChatRow) -> bool:
        values = {"from": row.name.casefold(), "number": str(row.number), "view": str(row.view)}
        if any(name in values and values[name] != value for name, value in self.filters):
            return False
        if self._cased:
            return self.text in row.said or self.text == row.name
        wanted = self.text.casefold()
        return wanted in row.said.casefold() or wanted == row.name.casefold()

    def places(self, text: str) -> Iterator[tuple[int, int]]:
        """Return where in a text the words begin and end, from the left."""
        # Not in a folded copy, which may be longer or shorter than the text: ß is ss there.
        found = re.finditer(re.escape(self.text), text, 0 if self._cased else re.IGNORECASE)
        return (each.span() for each in found if self.text)

    @property
    def _cased(self) -> bool:
        return ("case", "match") in self.filters

    @staticmethod
    def _named(message: str, rows: list[ChatRow]) -> ChatRow | None:
        """Return the newest row of "bob#17"."""
        name, _, number = message.rpartition("#")
        named = (row for row in reversed(rows) if row.number and row.name.casefold() == name)
        return next((row for row in named if str(row.number) == number), None)


def concurrent(one: ChatRow, other: ChatRow) -> bool:
    """Return whether neither of two messages can have caused the other, by their vector clocks (Mattern 1989)."""
    if one.times is None or other.times is None or one.times.clock is None or other.times.clock is None:
        return False
    before = one.times.clock.get(other.process, 0) >= other.number
    after = other.times.clock.get(one.process, 0) >= one.number
    return not before and not after
