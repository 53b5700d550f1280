"""The way to a store: jobs are carried out in transactions, here or at a server."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Protocol, TypeVar

from gcom.topics.evidence.records import TopicRecords
from gcom.topics.storage.transaction import StoreCall

T = TypeVar("T")


class StoreAccess(Protocol):
    """The part of a store that topics, producers and consumers need. Any thread may call it."""

    @property
    def name(self) -> str:
        """Return the path of the file, or the address."""
        ...

    @property
    def id(self) -> str:
        """Return the id of the store: no other store has it."""
        ...

    @property
    def durable(self) -> str:
        """Return what a commit survives, for receipts."""
        ...

    @property
    def commits(self) -> int:
        """Return how many commits this process has heard of: it only says whether there were some."""
        ...

    @property
    def root(self) -> object:
        """Return what is the same for all topics of one store."""
        ...

    @property
    def records(self) -> TopicRecords | None:
        """Return the records for the audit, where there are to be some."""
        ...

    def record_with(self, records: TopicRecords, /) -> None:
        """Keep records from now on, until it is closed."""
        ...

    def of(self, topic: str) -> StoreAccess:
        """Return the way to one topic."""
        ...

    def call(self, job: StoreCall[T], /) -> T:
        """Carry out a job in a committed transaction; return its result."""
        ...

    def submit(self, job: StoreCall[T], /) -> Future[T]:
        """Have a job carried out, behind those before it; return the future of its result."""
        ...

    def ask(self, job: StoreCall[T], /) -> T:
        """Return the result of a job that reads."""
        ...

    def wait_for_news(self, seen: int, idle: bool, left_s: float | None, /) -> None:
        """Wait for commits after the first `seen`: as long as said, and no longer than is sensible.

        With `idle` nothing has come for a while, and commits of others are looked for less often.
        """
        ...

    def backup(self, path: Path, tell: Callable[[int, int], object], /) -> None:
        """Copy the store into a new file."""
        ...

    def close(self) -> None:
        """Carry out what was submitted, and let go of the store."""
        ...
