"""Sets of numbers as sorted ranges: the numbers delivered or settled of one sender are nearly always one range."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import TypeVar

Key = TypeVar("Key")

_NO_END = 1 << 62


class Intervals:
    """A set of integers, kept as sorted, disjoint ranges (first, last) that do not touch.

    Use list(iter(it)) for its ranges: list(it) would first make room for as many items as there are numbers.
    """

    __slots__ = ("_firsts", "_lasts")

    def __init__(self, ranges: Iterable[tuple[int, int]] = ()) -> None:
        self._firsts: list[int] = []
        self._lasts: list[int] = []
        for first, last in ranges:
            self.add(first, last)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return zip(self._firsts, self._lasts, strict=True)

    def __len__(self) -> int:
        """Return the number of integers, not of ranges."""
        return sum(self._lasts) - sum(self._firsts) + len(self._firsts)

    def __bool__(self) -> bool:
        return bool(self._firsts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Intervals) and self._firsts == other._firsts and self._lasts == other._lasts

    __hash__ = None  # type: ignore[assignment]  # it changes

    def __repr__(self) -> str:
        return f"Intervals({list(iter(self))})"

    def __contains__(self, number: int) -> bool:
        place = bisect_right(self._firsts, number) - 1
        return place >= 0 and number <= self._lasts[place]

    def copy(self) -> Intervals:
        twin = Intervals()
        twin._firsts, twin._lasts = self._firsts[:], self._lasts[:]
        return twin

    @property
    def prefix(self) -> int:
        """Return n where 1…n are in the set and n+1 is not."""
        return self._lasts[0] if self._firsts and self._firsts[0] == 1 else 0

    @property
    def highest(self) -> int:
        """Return the highest number; 0 if there is none."""
        return self._lasts[-1] if self._lasts else 0

    @property
    def lowest(self) -> int:
        """Return the lowest number; 0 if there is none."""
        return self._firsts[0] if self._firsts else 0

    def lowest_in(self, first: int, last: int) -> int:
        """Return the lowest number from first to last that is in the set; 0 if there is none."""
        place = bisect_right(self._lasts, first - 1)  # the first range that does not end before
        found = max(first, self._firsts[place]) if place < len(self._firsts) else last + 1
        return found if found <= last else 0

    def constant_from(self, number: int) -> tuple[bool, int]:
        """Return whether a number is in the set, and the last one from it on for which the same is true."""
        place = bisect_right(self._firsts, number) - 1
        if place >= 0 and number <= self._lasts[place]:
            return True, self._lasts[place]
        return False, self._firsts[place + 1] - 1 if place + 1 < len(self._firsts) else _NO_END

    def add(self, first: int, last: int) -> int:
        """Add first…last; return the number of these that were in the set before."""
        firsts, lasts = self._firsts, self._lasts
        if lasts and first == lasts[-1] + 1:  # nearly always
            lasts[-1] = last
            return 0
        low = bisect_right(lasts, first - 2)  # the first range that first…last touches
        high = bisect_right(firsts, last + 1)  # after the last such range
        overlap = sum(
            max(0, min(last, b) - max(first, a) + 1) for a, b in zip(firsts[low:high], lasts[low:high], strict=True)
        )
        if low < high:
            first, last = min(first, firsts[low]), max(last, lasts[high - 1])
        firsts[low:high] = [first]
        lasts[low:high] = [last]
        return overlap

    def minus(self, other: Intervals) -> Intervals:
        """Return the numbers of this set that are not in `other`."""
        left = Intervals()
        # Both are sorted, so one walk over both is enough.
        theirs = list(iter(other))
        place = 0
        for first, last in self:
            # It never goes back: a range of theirs that ends before this one ends before all that follow.
            while place < len(theirs) and theirs[place][1] < first:
                place += 1
            at = place
            # It ends: at each turn `first` goes behind a range of theirs, or the rest is taken.
            while first <= last:
                if at == len(theirs) or theirs[at][0] > last:
                    left.add(first, last)
                    break
                a, b = theirs[at]
                if a > first:
                    left.add(first, a - 1)
                first = b + 1
                at += 1
        return left

    def common(self, other: Intervals) -> Intervals:
        # Two walks over a few ranges; a walk of its own would be as long as `minus` again.
        return self.minus(self.minus(other))

    def union(self, other: Intervals) -> Intervals:
        both = self.copy()
        for first, last in other:
            both.add(first, last)
        return both

    def above(self, number: int) -> Intervals:
        """Return the numbers greater than `number`."""
        return Intervals((max(first, number + 1), last) for first, last in self if last > number)


Numbers = dict[str, Intervals]  # of messages, by sender


def add_numbers(mine: dict[Key, Intervals], theirs: dict[Key, Intervals]) -> None:
    """Add the numbers of `theirs` to those that `mine` has under the same key."""
    for key, numbers in theirs.items():
        known = mine.get(key)
        # Processes that go together have equal sets nearly always: comparing them is cheaper than a new set.
        mine[key] = numbers if known is None or known == numbers else known.union(numbers)
