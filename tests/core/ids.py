"""Instance ids in the order of their making, for tests that are to be the same each time."""

from __future__ import annotations


class CountedIds:
    """`i0001`, `i0002` and so on."""

    def __init__(self, prefix: str = "i", digits: int = 4) -> None:
        self.count = 0
        self.founded: set[str] = set()  # by this registry as well, before it forgot its groups
        self._prefix, self._digits = prefix, digits

    def new(self, group: str) -> str:
        self.count += 1
        return f"{self._prefix}{self.count:0{self._digits}d}"

    def is_own(self, group: str, origin: str) -> bool:
        number = origin.removeprefix(self._prefix)
        counted = origin.startswith(self._prefix) and number.isdecimal() and 0 < int(number) <= self.count
        return counted or origin in self.founded
