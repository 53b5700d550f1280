"""Effects in the application's own SQLite file."""

from __future__ import annotations

import os
import sqlite3
from contextlib import ExitStack, closing
from pathlib import Path
from types import TracebackType
from typing import Self, cast

from gcom.errors import BadValue, Forked
from gcom.topics.storage.effects import EffectDatabase, EffectRows, handler_ended
from gcom.topics.storage.sqlite import BUSY_S, WORDS, FileLock, SqliteTransaction, keep_open, worded
from gcom.topics.storage.transaction import Transaction

SqlitePlace = str | Path | sqlite3.Connection


def effects_in_file(path: Path) -> EffectRows:
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
            raise handler_ended(self._tried) from error

    def _judge(self, action: int, word: str | None, *_: object) -> int:
        if action != sqlite3.SQLITE_TRANSACTION:
            return sqlite3.SQLITE_OK
        self._tried = str(word)
        return sqlite3.SQLITE_DENY


def path_of(place: SqlitePlace) -> Path | None:
    """Return the file of a place or a connection; None for a database in memory."""
    if isinstance(place, sqlite3.Connection):
        found = SqliteTransaction(place).row("PRAGMA database_list")
        return Path(os.fsdecode(cast(str | bytes, found[2]))).resolve() if found and found[2] else None
    return Path(place).resolve()


class EffectFile(EffectDatabase):
    """An application's SQLite file, or its open connection, for effects."""

    connection: sqlite3.Connection

    def __init__(self, place: SqlitePlace, *, audited: bool = False) -> None:
        self._own = not isinstance(place, sqlite3.Connection)
        self.connection = place if isinstance(place, sqlite3.Connection) else self._open(Path(place))
        if self.connection.in_transaction:
            raise BadValue("the connection is in a transaction: commit it before run()")
        self._tx = SqliteTransaction(self.connection)
        path = path_of(self.connection)
        self.name = str(path or "memory")
        # In WAL mode two programs must not write and checkpoint at once (gcom/topics/storage/sqlite.py).
        self._lock = FileLock(Path(f"{path}.lock")) if path else None
        self._process = os.getpid()
        self._level, self.connection.isolation_level = self.connection.isolation_level, None
        self._audited = audited
        with ExitStack() as on_failure:
            on_failure.callback(self.close)
            self.begin()
            try:
                for table in self.tables():
                    self.connection.execute(table.format(**WORDS, ordered=""))
            except sqlite3.Error as error:
                self.rollback()
                raise worded(self.name, error) from error
            self.commit()
            on_failure.pop_all()

    @property
    def tx(self) -> Transaction:
        """Return the statements of the connection."""
        return self._tx

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
        with ExitStack() as undo:  # all of it, though `take` is interrupted
            if self._lock is not None:
                undo.callback(self._lock.close)
            if self._own:
                undo.callback(self.connection.close)
            self.connection.isolation_level = self._level
            if self._lock is not None:
                self._lock.take()

    def begin(self) -> None:
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

    def handling(self) -> Guard:
        return Guard(self.connection)

    def _unlock(self) -> None:
        if self._lock is not None:
            self._lock.give()
