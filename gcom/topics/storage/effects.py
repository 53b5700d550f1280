"""The application's own SQLite database: its tables, an inbox and an outbox, changed in one transaction.

The inbox is one number for each shard of a subscription: the last offset whose effect is in this database. It is
changed by compare-and-set, so a consumer that comes too late changes nothing. The outbox has messages that go to
topics once the transaction is committed, each with the sequence under which it is sent, however often.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self, cast

from gcom.errors import BadValue, Forked, GComError
from gcom.topics.errors import HandlerCommitted
from gcom.topics.storage.sqlite import BUSY_S, FileLock, keep_open, worded
from gcom.topics.values import Entry

_TABLES = (
    "CREATE TABLE IF NOT EXISTS gcom_inbox (sub TEXT, shard INTEGER, floor INTEGER NOT NULL, PRIMARY KEY (sub, shard))",
    """CREATE TABLE IF NOT EXISTS gcom_outseq (
        producer TEXT, topic TEXT, seq INTEGER NOT NULL, PRIMARY KEY (producer, topic))""",
    """CREATE TABLE IF NOT EXISTS gcom_outbox (
        producer TEXT, topic TEXT, seq INTEGER, key BLOB, head BLOB, body BLOB NOT NULL,
        PRIMARY KEY (producer, topic, seq))""",
)
# One row a batch, for the audit: only where the store's client keeps records.
_EFFECTS = "CREATE TABLE IF NOT EXISTS gcom_effect (sub TEXT, shard INTEGER, first INTEGER, last INTEGER)"


class EffectRows(NamedTuple):
    """An application's rows for the audit: (sub, shard, first, last) as committed, and (sub, shard, floor)."""

    effects: list[tuple[str | int, ...]]
    floors: list[tuple[str | int, ...]]


def effects_in(path: Path) -> EffectRows:
    """Return what a file says of effects. Raises BadValue for one that says nothing."""
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as connection:
            floors = connection.execute("SELECT sub, shard, floor FROM gcom_inbox ORDER BY sub, shard").fetchall()
            known = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'gcom_effect'").fetchone()
            sql = "SELECT sub, shard, first, last FROM gcom_effect ORDER BY rowid"
            return EffectRows(connection.execute(sql).fetchall() if known else [], floors)
    except sqlite3.Error as error:
        raise BadValue(f"{str(path)!r} has no effects of messages: expected a file that run() got ({error})") from error


class Guard:
    """Keeps a handler from ending the transaction that it was given; SQLite itself refuses its COMMIT."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._tried = ""

    def __enter__(self) -> Self:
        self._connection.set_authorizer(self._judge)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.set_authorizer(None)
        if self._tried:
            raise HandlerCommitted(
                f"the handler tried to {self._tried} the transaction that it was given, so nothing of its batch was "
                "kept: leave that to run(), and raise an exception to undo"
            ) from error

    def _judge(self, action: int, word: str | None, *_: object) -> int:
        if action != sqlite3.SQLITE_TRANSACTION:
            return sqlite3.SQLITE_OK
        self._tried = str(word)
        return sqlite3.SQLITE_DENY


def path_of(place: str | Path | sqlite3.Connection) -> Path | None:
    """Return the file of a place or a connection; None for a database in memory."""
    if isinstance(place, sqlite3.Connection):
        found = place.execute("PRAGMA database_list").fetchone()
        return Path(found[2]).resolve() if found and found[2] else None
    return Path(place).resolve()


class EffectFile:
    """An application's SQLite file, or its open connection, for effects. One thread uses it."""

    def __init__(self, place: str | Path | sqlite3.Connection, *, audited: bool = False) -> None:
        self._own = not isinstance(place, sqlite3.Connection)
        self.connection = place if isinstance(place, sqlite3.Connection) else self._open(Path(place))
        if self.connection.in_transaction:
            raise BadValue("the connection is in a transaction: commit it before run()")
        path = path_of(self.connection)
        self.name = str(path or "memory")
        # In WAL mode two programs must not write and checkpoint at once (gcom/topics/storage/sqlite.py).
        self._lock = FileLock(Path(f"{path}.lock")) if path else None
        self._process = os.getpid()
        self._level, self.connection.isolation_level = self.connection.isolation_level, None
        self.begin()
        try:
            self._audited = audited
            for table in (*_TABLES, *([_EFFECTS] if audited else [])):
                self.connection.execute(table)
        except sqlite3.Error as error:
            self.rollback()
            raise worded(self.name, error) from error
        self.commit()

    def _open(self, path: Path) -> sqlite3.Connection:
        try:
            connection = sqlite3.connect(path, timeout=BUSY_S, isolation_level=None)
            connection.execute("PRAGMA synchronous=FULL")
        except sqlite3.Error as error:
            raise worded(str(path), error) from error
        return connection

    def close(self) -> None:
        """Let go of the file. The child of a fork does not: closing would undo the parent's transaction."""
        if os.getpid() != self._process:
            keep_open(self.connection)
            return
        self.connection.isolation_level = self._level
        if self._lock is not None:
            self._lock.take()
        if self._own:
            self.connection.close()
        if self._lock is not None:
            self._lock.close()

    def begin(self) -> None:
        """Begin the transaction of one batch. Raises StoreBusy where another program keeps the file locked."""
        if self._lock is not None:
            self._lock.take()
        try:
            self.connection.execute("BEGIN IMMEDIATE")
        except sqlite3.Error as error:
            self._unlock()
            raise worded(self.name, error) from error

    def commit(self) -> None:
        if os.getpid() != self._process:
            raise Forked(
                "the handler forked, and its child came back: only the parent goes on; end the child in the handler"
            )
        try:
            self.connection.execute("COMMIT")
        except sqlite3.Error as error:
            self.rollback()
            raise worded(self.name, error) from error
        self._unlock()

    def rollback(self) -> None:
        if os.getpid() == self._process:
            if self.connection.in_transaction:
                self.connection.execute("ROLLBACK")
            self._unlock()

    def _unlock(self) -> None:
        if self._lock is not None:
            self._lock.give()

    def floor(self, sub: str, shard: int) -> int | None:
        """Return the last offset whose effect is here; None before the first."""
        found = self.connection.execute("SELECT floor FROM gcom_inbox WHERE sub = ? AND shard = ?", (sub, shard))
        row = found.fetchone()
        return None if row is None else cast(int, row[0])

    def advance(self, sub: str, shard: int, previous: int | None, floor: int) -> bool:
        """Move the inbox on, in the transaction; False if another consumer did."""
        if previous is None:
            sql = "INSERT INTO gcom_inbox (floor, sub, shard) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
            moved = self.connection.execute(sql, (floor, sub, shard)).rowcount > 0
        else:
            sql = "UPDATE gcom_inbox SET floor = ? WHERE sub = ? AND shard = ? AND floor = ?"
            moved = self.connection.execute(sql, (floor, sub, shard, previous)).rowcount > 0
        if moved and self._audited:
            begin = 0 if previous is None else previous + 1
            self.connection.execute("INSERT INTO gcom_effect VALUES (?, ?, ?, ?)", (sub, shard, begin, floor))
        return moved

    def put(self, producer: str, topic: str, entry: Entry) -> None:
        """Add a message to the outbox, in the transaction, under the next sequence of its producer."""
        (seq,) = self.connection.execute(
            "INSERT INTO gcom_outseq (producer, topic, seq) VALUES (?, ?, 0) "
            "ON CONFLICT (producer, topic) DO UPDATE SET seq = seq + 1 RETURNING seq",
            (producer, topic),
        ).fetchall()[0]
        self.connection.execute(
            "INSERT INTO gcom_outbox (producer, topic, seq, key, head, body) VALUES (?, ?, ?, ?, ?, ?)",
            (producer, topic, seq, entry.key, entry.head, entry.body),
        )

    def waiting(self, producer: str, count: int) -> dict[str, list[Entry]]:
        """Return messages of the outbox by topic, in order of their sequences."""
        rows = self.connection.execute(
            "SELECT topic, seq, body, key, head FROM gcom_outbox WHERE producer = ? ORDER BY topic, seq LIMIT ?",
            (producer, count),
        ).fetchall()
        found: dict[str, list[Entry]] = {}
        for topic, *entry in rows:
            found.setdefault(topic, []).append(Entry(*entry))
        return found

    def sent(self, producer: str, upto: Sequence[tuple[str, int]]) -> None:
        """Take messages out of the outbox that have their receipts, in a transaction."""
        for topic, seq in upto:
            self.connection.execute(
                "DELETE FROM gcom_outbox WHERE producer = ? AND topic = ? AND seq <= ?", (producer, topic, seq)
            )

    @staticmethod
    def refusal(error: Exception) -> GComError | None:
        """Return an error of SQLite in words; None for another one."""
        return worded("the application's database", error) if isinstance(error, sqlite3.Error) else None
