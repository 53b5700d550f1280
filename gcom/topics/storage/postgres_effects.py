"""Effects in a PostgreSQL database: the application's own, or the store's.

PostgreSQL cannot be told to refuse a COMMIT. So each batch adds a row that breaks a foreign key, which is checked at
the commit, and takes it away after the handler. A handler that commits is refused by the key, with all that it did;
one that rolls back has taken the row with it, and is found by that.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, cast

import psycopg
from psycopg.pq import TransactionStatus

from gcom.errors import BadValue, Forked, GComError, Unavailable
from gcom.runtime.user_process.entry import interruptible
from gcom.topics.errors import EffectConflict, ReceiptUnknown
from gcom.topics.storage.effects import EffectDatabase, EffectRows, handler_ended
from gcom.topics.storage.postgres import (
    CONNECT_S,
    WORDS,
    PostgresConnection,
    PostgresTransaction,
    durability,
    name_of,
    refused,
)
from gcom.topics.storage.store_effects import InStore
from gcom.topics.storage.transaction import SqlRow, SqlValue, Transaction

_HANDLER = """CREATE TABLE IF NOT EXISTS gcom_handler (id BIGINT PRIMARY KEY, of BIGINT NOT NULL
    CONSTRAINT gcom_handler_must_not_commit REFERENCES gcom_handler (id) DEFERRABLE INITIALLY DEFERRED)"""
_MARKED = "gcom_handler_must_not_commit"
_ORDERED = ", at BIGSERIAL"
_ALONE = "SELECT pg_advisory_xact_lock(7412)"
_OF_HANDLERS = (psycopg.errors.InFailedSqlTransaction, psycopg.errors.IdleInTransactionSessionTimeout)
_CONFLICTS = (psycopg.errors.SerializationFailure, psycopg.errors.DeadlockDetected)


def effects_in_postgres(place: str) -> EffectRows:
    """Return what a database says of effects. Raises BadValue for one that says nothing, Unavailable."""
    name = name_of(place)
    try:
        with psycopg.connect(place, connect_timeout=CONNECT_S) as connection:
            tx = PostgresTransaction(connection)
            floors = tx.rows("SELECT sub, shard, floor FROM gcom_inbox ORDER BY sub, shard")
            known = tx.row("SELECT to_regclass('gcom_effect') IS NOT NULL")
            found = tx.rows("SELECT sub, shard, first, last FROM gcom_effect ORDER BY at") if known == (True,) else []
            return EffectRows(cast(list[Any], found), cast(list[Any], floors))
    except psycopg.errors.UndefinedTable as error:
        raise BadValue(f"{name!r} has no effects of messages: expected a database that run() got") from error
    except psycopg.Error as error:
        raise refused(name, error) from error


class _Statements(PostgresTransaction):
    """The statements of run() itself, whose errors are in words."""

    def __init__(self, connection: PostgresConnection, worded: Callable[[psycopg.Error], GComError]) -> None:
        super().__init__(connection)
        self._worded = worded

    def _execute(self, sql: str, values: Sequence[SqlValue]) -> psycopg.Cursor[SqlRow]:
        try:
            return super()._execute(sql, values)
        except psycopg.Error as error:
            raise self._worded(error) from error


class PostgresEffects(EffectDatabase):
    """A database at an address, or an open connection of psycopg, for effects.

    `wait_ms` is how long a transaction may be idle: then PostgreSQL ends it, and another consumer goes on.
    """

    connection: PostgresConnection

    def __init__(self, place: str | PostgresConnection, wait_ms: int, *, audited: bool = False) -> None:
        self._place = place if isinstance(place, str) else None
        self.name = name_of(place if isinstance(place, str) else place.info.dsn)
        self._process = os.getpid()
        self._audited = audited
        self._wait_ms = wait_ms
        self.connection = self._connect(place) if isinstance(place, str) else place
        if self.connection.info.transaction_status != TransactionStatus.IDLE:
            raise BadValue("the connection is closed, or in a transaction: commit it before run()")
        self._autocommit = self.connection.autocommit
        with ExitStack() as on_failure:
            on_failure.callback(self.close)
            self._prepare()
            on_failure.pop_all()

    def _connect(self, place: str) -> PostgresConnection:
        try:
            return interruptible(psycopg.connect, place, autocommit=True, connect_timeout=CONNECT_S)
        except psycopg.Error as error:
            raise self._worded(error) from error

    def _prepare(self) -> None:
        self._tx = _Statements(self.connection, self._worded)
        self._mark = 0
        self.connection.autocommit = True
        durability(self.name, self._tx)
        weak = self._tx.row("SELECT current_setting('synchronous_commit') IN ('off', 'local')")
        self._settings = f"SET LOCAL idle_in_transaction_session_timeout = {self._wait_ms};"
        self._settings += "SET LOCAL synchronous_commit = on;" if weak == (True,) else ""
        try:
            self._make_tables()
        except psycopg.Error as error:
            raise self._worded(error) from error

    def _make_tables(self) -> None:
        """Make the tables that are missing: a user who may make none can use those that are there."""
        wanted = (*self.tables(), _HANDLER)
        names = [it.split()[5] for it in wanted]
        missing = "SELECT count(*) FROM unnest(?::text[]) AS it WHERE to_regclass(it) IS NULL"
        if self._tx.row(missing, "{" + ",".join(names) + "}") == (0,):
            return
        with self.connection.transaction():
            self._tx.row(_ALONE)  # else two consumers would make them at once, and one of them fail
            for table in wanted:
                self.connection.execute(table.format(**WORDS, ordered=_ORDERED))

    @property
    def tx(self) -> Transaction:
        """Return the statements of the connection."""
        return self._tx

    def close(self) -> None:
        """Let go of the connection. The child of a fork does not: its socket is the parent's."""
        if os.getpid() != self._process:
            return
        self.rollback()
        if self._place is not None:
            self.connection.close()
        elif not self.connection.closed:
            self.connection.autocommit = self._autocommit

    def begin(self) -> None:
        try:
            self.connection.autocommit = False  # a handler that rolls back must not go on without a transaction
            self._mark = secrets.randbits(62) + 1
            # One way to the server and back for all of it.
            mark = f"{self._settings} INSERT INTO gcom_handler VALUES ({self._mark}, 0)"
            interruptible(self.connection.execute, mark.encode(), prepare=False)
        except psycopg.Error as error:
            self.rollback()
            raise self._worded(error) from error

    def commit(self) -> None:
        self._check_process()
        if self._mark:
            self._unmark()
        try:
            interruptible(self.connection.commit)
            self.connection.autocommit = True
        except psycopg.Error as error:
            lost = self.connection.closed
            self.rollback()
            if not lost:
                raise self._worded(error) from error
            raise ReceiptUnknown(
                f"the connection to PostgreSQL at {self.name!r} was lost at a commit: its inbox knows whether the "
                "batch is kept; call run() again with a new connection"
            ) from error

    def rollback(self) -> None:
        if os.getpid() == self._process and not self.connection.closed:
            with suppress(psycopg.Error):  # then the server has undone it
                self.connection.rollback()
                self.connection.autocommit = True

    @contextmanager
    def handling(self) -> Iterator[None]:
        try:
            yield
        except psycopg.Error as error:
            raise self._told(error) from error
        self._check_process()
        if self.connection.closed and not self.connection.broken:
            raise handler_ended("close the connection of")
        self._unmark()

    def _check_process(self) -> None:
        if os.getpid() != self._process:
            raise Forked(
                "the handler forked, and its child came back: only the parent goes on; end the child in the handler"
            )

    def _unmark(self) -> None:
        """Take the row away that keeps a handler from committing. Raises HandlerCommitted where it is not there."""
        mark, self._mark = self._mark, 0
        if self._tx.change("DELETE FROM gcom_handler WHERE id = ?", mark) != 1:
            raise handler_ended("commit or roll back")

    def _told(self, error: psycopg.Error) -> psycopg.Error | GComError:
        """Return what is to be raised where a handler met an error: its own one, unless it says something to run()."""
        words = self.connection.closed or isinstance(error, _CONFLICTS + _OF_HANDLERS)
        return self._worded(error) if words or error.diag.constraint_name == _MARKED else error

    def _worded(self, error: psycopg.Error) -> GComError:
        if error.diag.constraint_name == _MARKED:
            return handler_ended("commit")
        if isinstance(error, psycopg.errors.InFailedSqlTransaction):
            return BadValue(
                "the handler went on after a statement that failed, so PostgreSQL keeps nothing of its transaction: "
                "let the exception out of it, or use a savepoint (with tx.transaction():)"
            )
        if isinstance(error, _CONFLICTS):
            return EffectConflict(
                f"other transactions of {self.name!r} stood in the way of a batch: {error}; try again"
            )
        if isinstance(error, psycopg.errors.IdleInTransactionSessionTimeout) or "idle-in-transaction" in str(error):
            return Unavailable(
                f"the handler kept its transaction at {self.name!r} idle for longer than the ack_wait_s of "
                f"{self._wait_ms / 1000:g} s, so PostgreSQL ended it, and nothing of the batch was kept: "
                "take smaller batches, or a longer ack_wait_s"
            )
        return refused(self.name, error)

    def is_settled(self, sub: str, shard: int, ends: tuple[int | None, int]) -> bool | None:
        """Connect anew, and wait until the transaction whose answer was lost is over: it has locked its inbox."""
        if self._place is None:
            return None
        self.connection.close()
        self.connection = self._connect(self._place)
        self._prepare()
        self.begin()
        try:
            return not self.advance(sub, shard, *ends)
        finally:
            self.rollback()


class StorePostgresEffects(InStore, PostgresEffects):
    """The PostgreSQL database of a store, for effects."""
