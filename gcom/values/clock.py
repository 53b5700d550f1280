"""Vector clocks: what a process knew of the others, and so which of two events may have caused which.

Fidge 1988 and Mattern 1989, with one number per process instead of a place in a vector, so that processes come and go
("hash vector clocks" in GCom 2009 §5.2); Schwarz and Mattern 1994, §3, for what the comparison means: one event
happened before another exactly if its clock is less.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum

from gcom.errors import BadValue


class Causality(StrEnum):
    """The relation of one event to another."""

    BEFORE = "before"  # it may have caused the other
    AFTER = "after"
    EQUAL = "equal"
    CONCURRENT = "concurrent"  # neither knew of the other


class VectorClock(Mapping[str, int]):
    """An immutable table of processes and numbers, 0 for a process that is not in it.

    >>> ask = VectorClock().tick("alice")
    >>> reply = ask.tick("bob")
    >>> other = VectorClock().tick("carol")
    >>> ask < reply, reply.compare(other).value, reply.merge(other)
    (True, 'concurrent', VectorClock({'alice': 1, 'bob': 1, 'carol': 1}))

    `<=` and `<` are the partial order: of two concurrent clocks neither is less. Raises BadValue for anything but whole
    numbers from 0.
    """

    __slots__ = ("_numbers",)

    def __init__(self, numbers: Mapping[str, int] | None = None) -> None:
        if not isinstance(numbers, Mapping | None):
            raise BadValue(f"a clock is made of a mapping of processes to numbers, not of {type(numbers).__name__}")
        for process, number in (numbers or {}).items():
            if not isinstance(process, str):
                raise BadValue(f"{process!r} is no process: its name is text")
            if type(number) is not int or number < 0:
                raise BadValue(f"{number!r} for {process!r} is no number of a clock: a whole number from 0")
        # Zeros are dropped and keys sorted, so that equal clocks have one form: equality, hash and repr follow.
        self._numbers = {process: number for process, number in sorted((numbers or {}).items()) if number}

    def __getitem__(self, process: str) -> int:
        # 0 for a stranger, so that clocks of processes with unlike members compare as BSS's vectors would.
        return self._numbers.get(process, 0)

    def __contains__(self, process: object) -> bool:
        return process in self._numbers

    def __iter__(self) -> Iterator[str]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)

    def __eq__(self, other: object) -> bool:
        return self._numbers == other._numbers if isinstance(other, VectorClock) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self._numbers.items()))

    def __repr__(self) -> str:
        return f"VectorClock({self._numbers})"

    def __le__(self, other: VectorClock) -> bool:
        if not isinstance(other, VectorClock):
            return NotImplemented
        return all(number <= other[process] for process, number in self._numbers.items())

    def __lt__(self, other: VectorClock) -> bool:
        if not isinstance(other, VectorClock):
            return NotImplemented
        return self != other and self <= other

    def tick(self, process: str) -> VectorClock:
        """Return the clock of the next event at `process`."""
        return VectorClock({**self._numbers, process: self[process] + 1})

    def merge(self, other: VectorClock) -> VectorClock:
        """Return the clock that knows what either knows: per process the higher number. Raise BadValue for no clock."""
        if not isinstance(other, VectorClock):
            raise BadValue(f"a clock is merged with a VectorClock, not with {type(other).__name__}")
        # Only what is higher there replaces what is here: the merge is the maximum, entry by entry.
        return VectorClock({**self._numbers, **other.changed_since(self)})

    def changed_since(self, other: VectorClock) -> VectorClock:
        """Return the entries that are higher than in `other`: enough for a process that has `other` to merge this."""
        return VectorClock({process: number for process, number in self._numbers.items() if number > other[process]})

    def compare(self, other: VectorClock) -> Causality:
        """Return the relation of this clock's event to that of another."""
        if self == other:
            return Causality.EQUAL
        if self <= other:
            return Causality.BEFORE
        return Causality.AFTER if other <= self else Causality.CONCURRENT
