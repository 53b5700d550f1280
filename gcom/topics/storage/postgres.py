"""A database in PostgreSQL, for programs on several machines.

Rows that a transaction decides by are locked (`FOR UPDATE`), so the isolation level READ COMMITTED is enough. A COMMIT
whose answer is lost is an unknown outcome; the connection is made anew, and the store goes on.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any, LiteralString, cast

import psycopg
from psycopg import conninfo
from psycopg.pq import TransactionStatus
from psycopg.rows import tuple_row

from gcom.errors import BadValue, Forked, GComError, Unavailable
from gcom.runtime.user_process.entry import interruptible
from gcom.topics.errors import ReceiptUnknown, StoreClosed, StoreFull
from gcom.topics.storage.transaction import SqlRow, SqlValue, Transaction

CONNECT_S = 10
READERS_KEPT = 8
IDLE_MS = 2000  # of a process in the middle of a transaction
WORDS = {
    "id": "BIGINT PRIMARY KEY",
    "bytes": "BYTEA",
    "plain": "",
    # Else two programs that open a new store at once would both make its tables, and one of them fail.
    "alone": "SELECT pg_advisory_xact_lock(7411)",
}
_NOW = "SELECT (EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::bigint"
_STANDBYS = "SELECT current_setting('synchronous_standby_names'), current_setting('fsync')"

PostgresConnection = psycopg.Connection[Any]


@lru_cache(512)
def translated(sql: LiteralString) -> LiteralString:
    """Return SQL with psycopg's marks for values."""
    return sql.replace("%", "%%").replace("?", "%s")


class PostgresTransaction:
    """The statements of one PostgreSQL connection."""

    lock = " FOR UPDATE"

    def __init__(self, connection: PostgresConnection) -> None:
        self.connection = connection
        self.writes = 0
        self.duplicates: Counter[str] = Counter()
        self.began_ms: int | None = None  # the server's time, asked once in a transaction

    def _execute(self, sql: str, values: Sequence[SqlValue]) -> psycopg.Cursor[SqlRow]:
        # Not `connection.execute`: an application's connection may give rows of another form.
        cursor = psycopg.Cursor(self.connection, row_factory=tuple_row)
        return interruptible(cursor.execute, translated(sql), values)

    def row(self, sql: str, *values: SqlValue) -> SqlRow | None:
        return self._execute(sql, values).fetchone()

    def rows(self, sql: str, *values: SqlValue) -> list[SqlRow]:
        return self._execute(sql, values).fetchall()

    def change(self, sql: str, *values: SqlValue) -> int:
        self.writes += 1
        return self._execute(sql, values).rowcount

    def changed(self, sql: str, *values: SqlValue) -> SqlRow | None:
        self.writes += 1
        return self.row(sql, *values)

    def many(self, sql: str, values: Sequence[Sequence[SqlValue]]) -> None:
        self.writes += 1
        with self.connection.cursor() as cursor:
            interruptible(cursor.executemany, translated(sql), values)  # one round trip for all of them

    def now_ms(self) -> int:
        if self.began_ms is None:
            (self.began_ms,) = cast(tuple[int], self.row(_NOW))
        return self.began_ms


def name_of(place: str) -> str:
    """Return an address without its password. Raises BadValue."""
    try:
        known = conninfo.conninfo_to_dict(place)
    except psycopg.Error as error:
        raise BadValue(f"the address of PostgreSQL is not one: {error}") from error
    return conninfo.make_conninfo(**{key: str(value) for key, value in known.items() if key != "password"})


def durability(name: str, tx: Transaction) -> str:
    """Return what a commit survives, as the server's settings say. Raises BadValue where it survives nothing."""
    standbys, fsync = cast(tuple[str, str], tx.row(_STANDBYS))
    if fsync != "on":
        raise BadValue(f"PostgreSQL at {name!r} has fsync=off, so no commit is safe there: set it on")
    return "standby" if standbys else "server"


def refused(name: str, error: psycopg.Error) -> GComError:
    """Return PostgreSQL's error in words."""
    words = " ".join(str(error).split())
    if isinstance(error, psycopg.errors.DiskFull):
        return StoreFull(f"no room on the disk of PostgreSQL at {name!r}: nothing was stored; make room")
    if isinstance(error, psycopg.errors.InsufficientPrivilege):
        return BadValue(f"PostgreSQL at {name!r} does not permit it: {words}")
    return Unavailable(f"PostgreSQL at {name!r} refused, and nothing was stored: {words}; try again")


class PostgresDatabase:
    """A schema of a PostgreSQL database. One thread writes, on a connection of its own; any thread reads."""

    stops = False

    def __init__(self, place: str) -> None:
        self.place = place
        self.name = name_of(place)
        self._process = os.getpid()
        self._readers: list[PostgresConnection] = []
        self._readers_lock = Lock()
        self._closed = False
        self._connection = self._connect()
        with ExitStack() as on_failure:
            on_failure.callback(self._connection.close)
            self._transaction = PostgresTransaction(self._connection)
            self.durable = durability(self.name, self._transaction)
            on_failure.pop_all()

    @property
    def writer(self) -> Transaction:
        """Return the statements of the connection that writes."""
        return self._transaction

    def _dial(self) -> PostgresConnection:
        # Statements are prepared at their first use: each of them is used for every message.
        return psycopg.connect(self.place, autocommit=True, connect_timeout=CONNECT_S, prepare_threshold=1)

    def _connect(self) -> PostgresConnection:
        if os.getpid() != self._process:
            raise Forked(f"the store {self.name!r} was opened before a fork: open it again in this process")
        try:
            connection = interruptible(self._dial)
            connection.execute("SET synchronous_commit = on")
            # A process that is stopped in a transaction keeps its rows locked: the server ends it, and others go on.
            connection.execute(f"SET idle_in_transaction_session_timeout = {IDLE_MS}")
            connection.execute("SET client_min_messages = warning")
        except psycopg.Error as error:
            raise self._worded(error) from error
        return connection

    def begin(self) -> None:
        try:
            if not self._connection.closed:
                self._transaction.began_ms = None
                self._connection.execute("BEGIN")
                return
        except psycopg.Error:
            self._connection.close()  # the server ended it meanwhile: nothing is lost, and it is made anew
        self._drop_readers()
        self._connection = self._connect()
        before, self._transaction = self._transaction, PostgresTransaction(self._connection)
        self._transaction.writes, self._transaction.duplicates = before.writes, before.duplicates
        try:
            self._connection.execute("BEGIN")
        except psycopg.Error as error:
            self._connection.close()
            raise self._worded(error) from error

    def commit(self) -> None:
        try:
            self._connection.execute("COMMIT")
        except psycopg.Error as error:
            lost = self._connection.closed or self._connection.broken
            self.rollback()
            if not lost:
                raise self._worded(error) from error
            raise ReceiptUnknown(
                f"the connection to PostgreSQL at {self.name!r} was lost at a commit: it is stored or not; "
                "send it again with its sequence"
            ) from error

    def rollback(self) -> None:
        with suppress(psycopg.Error):
            self._connection.execute("ROLLBACK")
            return
        self._connection.close()  # the server undoes what is not committed

    def upkeep(self) -> None:
        """Do nothing: the server looks after itself."""

    @contextmanager
    def reading(self) -> Iterator[PostgresTransaction]:
        connection = self._reader()
        try:
            yield PostgresTransaction(connection)
        except psycopg.Error as error:
            self._drop_readers()
            raise self._worded(error) from error
        finally:
            self._give_back(connection)

    def _reader(self) -> PostgresConnection:
        with self._readers_lock:
            if self._closed:
                raise StoreClosed(f"the store {self.name!r} is closed")
            if self._readers and os.getpid() == self._process:
                return self._readers.pop()
        return self._connect()

    def _give_back(self, connection: PostgresConnection) -> None:
        with self._readers_lock:
            # A statement that was interrupted may still be under way.
            idle = not connection.closed and connection.pgconn.transaction_status == TransactionStatus.IDLE
            if idle and not self._closed and len(self._readers) < READERS_KEPT:
                self._readers.append(connection)
                return
        connection.close()

    def _drop_readers(self) -> None:
        """Close connections that wait for their next use: the server may have ended meanwhile."""
        with self._readers_lock:
            readers, self._readers = self._readers, []
        for connection in readers:
            connection.close()

    def refusal(self, error: BaseException) -> GComError | None:
        return self._worded(error) if isinstance(error, psycopg.Error) else None

    def _worded(self, error: psycopg.Error) -> GComError:
        return refused(self.name, error)

    def check(self) -> list[str]:
        """Return nothing: the server checks its pages by itself, where it was set up with checksums."""
        return []

    def backup(self, path: Path, _tell: Callable[[int, int], object]) -> None:
        """Refuse: PostgreSQL's own tools do it."""
        raise BadValue(f"cannot copy PostgreSQL at {self.name!r} into {str(path)!r}: use pg_dump")

    def close(self) -> None:
        if os.getpid() != self._process:
            return
        with self._readers_lock:
            self._closed = True
            readers, self._readers = self._readers, []
        for connection in (*readers, self._connection):
            connection.close()
