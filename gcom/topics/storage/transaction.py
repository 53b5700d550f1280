"""A transaction, as jobs see it: SQL with `?` for each value, whatever the database."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Concatenate, Generic, ParamSpec, Protocol, TypeVar

SqlValue = int | str | bytes | None
SqlRow = tuple[SqlValue, ...]
T = TypeVar("T")
S = TypeVar("S", covariant=True)
P = ParamSpec("P")


class Transaction(Protocol):
    """The statements of one connection. `writes` counts those that may have changed something."""

    writes: int
    duplicates: Counter[str]  # that appends met, by topic: for figures
    lock: str  # the end of a SELECT whose rows this transaction keeps for itself

    def row(self, sql: str, *values: SqlValue) -> SqlRow | None:
        """Return the first row that a query finds."""
        ...

    def rows(self, sql: str, *values: SqlValue) -> list[SqlRow]:
        """Return all rows that a query finds."""
        ...

    def change(self, sql: str, *values: SqlValue) -> int:
        """Carry out a statement; return how many rows it changed."""
        ...

    def changed(self, sql: str, *values: SqlValue) -> SqlRow | None:
        """Carry out a statement that ends with RETURNING; return its first row."""
        ...

    def many(self, sql: str, values: Sequence[Sequence[SqlValue]]) -> None:
        """Carry out a statement for each row of values."""
        ...

    def now_ms(self) -> int:
        """Return the time of the store's clock, in milliseconds since 1970."""
        ...


StoreJob = Callable[[Transaction], T]


@dataclass(frozen=True, slots=True)
class StoreCall(Generic[S]):
    """A job that has a name: a function of the storage modules, and its arguments. It may be done by a server."""

    function: Callable[..., S]
    arguments: tuple[object, ...]

    def __call__(self, tx: Transaction) -> S:
        return self.function(tx, *self.arguments)


def job(function: Callable[Concatenate[Transaction, P], T], *arguments: P.args, **none: P.kwargs) -> StoreCall[T]:
    """Return the call of a function with these arguments, which are given by position."""
    assert not none, "arguments have places, not names: so they travel"
    return StoreCall(function, arguments)


def together(tx: Transaction, calls: Sequence[StoreCall[object]]) -> list[object]:
    """Carry out several calls in one transaction; return what each returns."""
    return [call(tx) for call in calls]
