"""The application's own database: its tables, an inbox and an outbox, changed in one transaction.

The inbox is one number for each shard of a subscription: the last offset whose effect is in this database. It is
changed by compare-and-set, so a consumer that comes too late changes nothing. The outbox has messages that go to
topics once the transaction is committed, each with the sequence under which it is sent, however often.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, ClassVar, NamedTuple, cast

from gcom.topics.errors import HandlerCommitted
from gcom.topics.storage.transaction import Transaction
from gcom.topics.values import Entry

TABLES = (
    "CREATE TABLE IF NOT EXISTS gcom_inbox (sub TEXT, shard BIGINT, floor BIGINT NOT NULL, PRIMARY KEY (sub, shard))",
    """CREATE TABLE IF NOT EXISTS gcom_outseq (
        producer TEXT, topic TEXT, seq BIGINT NOT NULL, PRIMARY KEY (producer, topic))""",
    """CREATE TABLE IF NOT EXISTS gcom_outbox (
        producer TEXT, topic TEXT, seq BIGINT, key {bytes}, head {bytes}, body {bytes} NOT NULL,
        PRIMARY KEY (producer, topic, seq))""",
)
# One row a batch, for the audit, in the order of commits: only where the store's client keeps records.
EFFECTS = "CREATE TABLE IF NOT EXISTS gcom_effect (sub TEXT, shard BIGINT, first BIGINT, last BIGINT{ordered})"


class EffectRows(NamedTuple):
    """An application's rows for the audit: (sub, shard, first, last) as committed, and (sub, shard, floor)."""

    effects: list[tuple[str | int, ...]]
    floors: list[tuple[str | int, ...]]


def handler_ended(what: str) -> HandlerCommitted:
    """Return the error of a handler that ended the transaction that it was given."""
    return HandlerCommitted(
        f"the handler tried to {what} the transaction that it was given, so nothing of its batch was kept: "
        "leave that to run(), and raise an exception to undo"
    )


class EffectDatabase(ABC):
    """A database with effects, for one thread. `connection` is what a handler gets as `tx`."""

    name: str
    connection: Any
    in_store: ClassVar[bool] = False  # the store's own database: acknowledgements are in the same transaction
    _audited = False

    @property
    @abstractmethod
    def tx(self) -> Transaction:
        """Return the statements of the connection."""

    @abstractmethod
    def begin(self) -> None:
        """Begin the transaction of one batch. Raises StoreBusy where another program keeps the file locked."""

    @abstractmethod
    def commit(self) -> None:
        """Commit. Raises Forked in the child of a fork, ReceiptUnknown where it is not known whether it is kept."""

    @abstractmethod
    def rollback(self) -> None:
        """Undo the transaction, whatever state it is in."""

    @abstractmethod
    def handling(self) -> AbstractContextManager[object]:
        """Return a block for the handler. Raises HandlerCommitted where it ended the transaction."""

    @abstractmethod
    def close(self) -> None:
        """Let go of the database, and give a connection back as it was."""

    def tables(self) -> Sequence[str]:
        """Return the statements that make what is missing."""
        return (*TABLES, EFFECTS) if self._audited else TABLES

    def seal(self) -> None:  # noqa: B027 an inbox and an outbox need nothing more
        """Do the last that belongs to a handler, in its transaction."""

    def is_settled(self, _sub: str, _shard: int, _ends: tuple[int | None, int]) -> bool | None:
        """Tell whether a commit whose answer was lost took place; None where that cannot be asked from here."""
        return None

    def floor(self, sub: str, shard: int) -> int | None:
        """Return the last offset whose effect is here; None before the first."""
        row = self.tx.row("SELECT floor FROM gcom_inbox WHERE sub = ? AND shard = ?", sub, shard)
        return None if row is None else cast(int, row[0])

    def advance(self, sub: str, shard: int, previous: int | None, floor: int) -> bool:
        """Move the inbox on, in the transaction; False if another consumer did."""
        if previous is None:
            sql = "INSERT INTO gcom_inbox (floor, sub, shard) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
            moved = self.tx.change(sql, floor, sub, shard) > 0
        else:
            sql = "UPDATE gcom_inbox SET floor = ? WHERE sub = ? AND shard = ? AND floor = ?"
            moved = self.tx.change(sql, floor, sub, shard, previous) > 0
        if moved and self._audited:
            begin = 0 if previous is None else previous + 1
            insert = "INSERT INTO gcom_effect (sub, shard, first, last) VALUES (?, ?, ?, ?)"
            self.tx.change(insert, sub, shard, begin, floor)
        return moved

    def put(self, producer: str, topic: str, entry: Entry) -> None:
        """Add a message to the outbox, in the transaction, under the next sequence of its producer."""
        found = self.tx.changed(
            "INSERT INTO gcom_outseq (producer, topic, seq) VALUES (?, ?, 0) "
            "ON CONFLICT (producer, topic) DO UPDATE SET seq = gcom_outseq.seq + 1 RETURNING seq",
            *(producer, topic),
        )
        assert found is not None, "it has one row"
        self.tx.change(
            "INSERT INTO gcom_outbox (producer, topic, seq, key, head, body) VALUES (?, ?, ?, ?, ?, ?)",
            *(producer, topic, found[0], entry.key, entry.head, entry.body),
        )

    def waiting(self, producer: str, count: int) -> dict[str, list[Entry]]:
        """Return messages of the outbox by topic, in order of their sequences."""
        rows = self.tx.rows(
            "SELECT topic, seq, body, key, head FROM gcom_outbox WHERE producer = ? ORDER BY topic, seq LIMIT ?",
            *(producer, count),
        )
        found: dict[str, list[Entry]] = {}
        for topic, *entry in rows:
            name = topic.decode() if isinstance(topic, bytes) else cast(str, topic)  # as the connection reads text
            found.setdefault(name, []).append(Entry(*cast(tuple[int, bytes, bytes, bytes], entry)))
        return found

    def sent(self, producer: str, upto: Sequence[tuple[str, int]]) -> None:
        """Take messages out of the outbox that have their receipts, in a transaction."""
        for topic, seq in upto:
            sql = "DELETE FROM gcom_outbox WHERE producer = ? AND topic = ? AND seq <= ?"
            self.tx.change(sql, producer, topic, seq)
