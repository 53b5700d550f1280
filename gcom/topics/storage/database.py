"""The contract of a database: one connection that writes, driven by one thread, and short reads from any thread."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from gcom.errors import GComError
from gcom.topics.storage.transaction import Transaction


class Database(Protocol):
    """A database of topics. Methods raise GComError; `refusal` puts the database's own exceptions into words."""

    name: str
    place: str  # to open it again: it may have a password, and is not for messages
    durable: str  # of a receipt: what a commit survives
    stops: bool  # a commit that failed may have left the disk in any state: nothing more is written

    @property
    def writer(self) -> Transaction:
        """Return the statements of the connection that writes."""
        ...

    def begin(self) -> None:
        """Begin the one write transaction. Raise StoreBusy where another process has it for too long."""
        ...

    def commit(self) -> None:
        """Commit. Raise StoreFull where nothing was stored, ReceiptUnknown where the disk failed."""
        ...

    def rollback(self) -> None:
        """Undo the transaction, whatever state it is in."""
        ...

    def upkeep(self) -> None:
        """Do what is due between transactions."""
        ...

    def reading(self) -> AbstractContextManager[Transaction]:
        """Lend a connection for queries; each statement sees what is committed."""
        ...

    def refusal(self, error: BaseException) -> GComError | None:
        """Return the error in words; None for an exception that is not the database's."""
        ...

    def check(self) -> list[str]:
        """Return a sentence for each fault in how the database is stored."""
        ...

    def backup(self, path: Path, tell: Callable[[int, int], object]) -> None:
        """Copy everything into a new file; raise BadValue where the database has tools of its own for that.

        `tell` gets how many bytes are copied, and of how many.
        """
        ...

    def close(self) -> None:
        """Let go of the database."""
        ...


Opener = Callable[[], Database]
