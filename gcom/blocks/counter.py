"""`Counter`: a number that several processes add to."""

from __future__ import annotations

from gcom.blocks.block import Block, BlockView
from gcom.replicated.machine import Machine, command, query


class CounterTable(Machine):
    """A number."""

    def __init__(self) -> None:
        self.value = 0

    @command
    def add(self, amount: int) -> int:
        """Add, and return the sum."""
        self.value += amount
        return self.value

    @query
    def get(self) -> int:
        """Return the number."""
        return self.value


class CounterView(BlockView[CounterTable]):
    """A counter as it is read."""

    kind = CounterTable
    prefix = "counter"

    @property
    def value(self) -> int:
        """The number as this process knows it."""
        found: int = self._machine.get()
        return found


class Counter(CounterView, Block[CounterTable]):
    """A whole number of any size, 0 at first.

    Consistency: each addition is applied once, in one order for all, and returns its own sum. `value` is what this
    process knows; `fresh()` has all that was added before the call.
    """

    def add(self, amount: int = 1) -> int:
        """Add, and return the sum."""
        found: int = self._machine.add(amount)
        return found

    def fresh(self) -> int:
        """Return the number with all that was added anywhere before this call."""
        found: int = self._machine.fresh().get()
        return found
