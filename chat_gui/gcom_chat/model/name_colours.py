"""The colours of names, as numbers: each has its own one, and two members of a small group never share one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from zlib import crc32

COLOURS = 8  # that can be told apart


class NameColours:
    """Gives names their colours, the same in every group and at each start, unless a member has that one already."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._numbers: dict[str, int] = {}
        self._here: tuple[str, ...] = ()
        self.settle(names)

    def settle(self, names: Iterable[str]) -> None:
        """Take the members of a view: the oldest choose first, and a member that is gone lets its colour go."""
        self._here = tuple(names)
        taken: set[int] = set()
        for name in self._here:
            # Kept as long as it can be: a name that changes its colour in the middle of a talk is not known again.
            if self._numbers.get(name) in taken:
                del self._numbers[name]
            taken.add(self.of(name))

    def of(self, name: str) -> int:
        """Return the number of a name's colour, below COLOURS."""
        if name not in self._numbers:
            taken = Counter(self._numbers[other] for other in self._here if other in self._numbers)
            # Not by `hash`, which is another one at each start of Python.
            first = crc32(name.encode())
            order = [(first + step) % COLOURS for step in range(COLOURS)]
            self._numbers[name] = min(order, key=lambda each: (taken[each], order.index(each)))
        return self._numbers[name]
