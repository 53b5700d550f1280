"""Search: the rows of one conversation or of all that hold a text, and the walk through them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from gcom_chat.model.conversation import Conversation


class SearchHit(NamedTuple):
    """A row that holds what is searched for."""

    group: str
    key: int


class Search:
    """A search: the text, the places where it was found, and the one that is looked at."""

    def __init__(self) -> None:
        self.text = ""
        self.hits: list[SearchHit] = []
        self._at = -1

    def begin(self, text: str, talks: Iterable[Conversation]) -> None:
        """Search for a text, in any case; the walk begins at the newest."""
        self.text = text
        self.hits = [SearchHit(talk.group, key) for talk in talks for key in talk.find(text)] if text else []
        # Behind the newest: the first step goes up to it, since people look for what was said last.
        self._at = len(self.hits)

    @property
    def place(self) -> int:
        """The number of the hit that is looked at, from 1; 0: none."""
        return self._at + 1 if 0 <= self._at < len(self.hits) else 0

    def step(self, by: int) -> SearchHit | None:
        """Go to the next hit, or the one before; the ends meet."""
        if not self.hits:
            return None
        self._at = (self._at + by) % len(self.hits) if self.place else (0 if by > 0 else len(self.hits) - 1)
        return self.hits[self._at]
