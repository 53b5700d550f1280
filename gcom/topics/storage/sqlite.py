"""A database in one SQLite file.

The file is in WAL mode with `synchronous=FULL`: a commit is fsynced before it is answered. SQLite before 3.51.3 can
damage a file in WAL mode when two connections write and checkpoint at the same time. So every write transaction and
every checkpoint of GCom runs under a lock beside the file (`FILE.lock`), one process at a time; SQLite's own
checkpoints are off, and readers open the file read-only, so that they make none.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import cast
from weakref import WeakSet

from gcom.errors import BadValue, Forked, GComError, Unavailable
from gcom.runtime.user_process.entry import interruptible
from gcom.topics.errors import ReceiptUnknown, StoreBusy, StoreClosed, StoreDamaged, StoreFull, StoreStopped
from gcom.topics.storage.transaction import SqlRow, SqlValue, Transaction

BUSY_S = 30.0  # for another process to end its transaction
CHECKPOINT_BYTES = 4 * 1024 * 1024  # of the WAL: 30 ms on the machine of docs/performance.md
READERS_KEPT = 8
COPY_PAGES = 1024  # of a backup between two words of its progress
WORDS = {"id": "INTEGER PRIMARY KEY", "bytes": "BLOB", "plain": " WITHOUT ROWID", "alone": "SELECT 1"}
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_PRIMARY = 0xFF  # an error code without its details
# SQLite's files must not be closed by a process that did not open them: that would drop the parent's locks.
_OF_PARENTS: list[sqlite3.Connection] = []


class SqliteTransaction:
    """The statements of one SQLite connection."""

    lock = ""  # a write transaction has the whole file for itself

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self.writes = 0
        self.duplicates: Counter[str] = Counter()

    def _execute(self, sql: str, values: Sequence[SqlValue]) -> sqlite3.Cursor:
        cursor = self.connection.cursor()
        cursor.row_factory = None  # an application's connection may give rows of another form
        return cursor.execute(sql, values)

    def row(self, sql: str, *values: SqlValue) -> SqlRow | None:
        found: SqlRow | None = self._execute(sql, values).fetchone()
        return found

    def rows(self, sql: str, *values: SqlValue) -> list[SqlRow]:
        return self._execute(sql, values).fetchall()

    def change(self, sql: str, *values: SqlValue) -> int:
        self.writes += 1
        return self._execute(sql, values).rowcount

    def changed(self, sql: str, *values: SqlValue) -> SqlRow | None:
        self.writes += 1
        found = self._execute(sql, values).fetchall()  # all of it: else the statement stays open
        return found[0] if found else None

    def many(self, sql: str, values: Sequence[Sequence[SqlValue]]) -> None:
        self.writes += 1
        self.connection.executemany(sql, values)

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000


class FileLock:
    """The lock of a file between processes: an flock on a file beside it, which the kernel takes from a dead one."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)

    def take(self, limit_s: float = BUSY_S) -> None:
        """Take the lock; raise StoreBusy where another process keeps it for longer than the limit."""
        deadline, pause_s = time.monotonic() + limit_s, 0.0005
        while not self._try():
            if time.monotonic() > deadline:
                raise StoreBusy(f"another process has kept {str(self._path)!r} locked for {limit_s:g} s; try again")
            interruptible(time.sleep, pause_s)
            pause_s = min(0.01, 2 * pause_s)

    def _try(self) -> bool:
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def give(self) -> None:
        """Give the lock back."""
        fcntl.flock(self._descriptor, fcntl.LOCK_UN)

    def close(self) -> None:
        os.close(self._descriptor)


def keep_open(*connections: sqlite3.Connection) -> None:
    """Keep connections of the parent from being closed in the child of a fork."""
    _OF_PARENTS.extend(connections)


def code_of(error: sqlite3.Error) -> int:
    """Return the primary code of SQLite's error."""
    return (getattr(error, "sqlite_errorcode", None) or 0) & _PRIMARY


def worded(name: str, error: sqlite3.Error) -> GComError:
    """Return SQLite's error about a file in words."""
    code = code_of(error)
    if code == sqlite3.SQLITE_FULL:
        return StoreFull(f"no room on the disk of {name!r}: nothing was stored; make room and try again")
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return StoreBusy(f"another program has kept {name!r} locked for {BUSY_S:g} s; nothing was stored")
    if code in _DAMAGED:
        return StoreDamaged(f"{name!r} is no SQLite file, or it is damaged ({error}); keep it, and use a backup")
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
        return BadValue(f"cannot write {name!r} ({error}): expected a file, and a folder to write in")
    return Unavailable(f"the database {name!r} refused: {error}")


class SqliteDatabase:
    """A file, opened by one process. One thread writes; any thread reads."""

    stops = True

    def __init__(self, path: Path) -> None:
        self.path = path = path.absolute().resolve()  # one file, one lock, whatever link leads there
        self.name = self.place = str(path)
        self.durable = "file"
        if path.name == ":memory:":
            raise BadValue("a store in memory would lose what it has: name a file")
        self._process = os.getpid()
        self._wal = f"{path}-wal"
        self._checkpoint_at = CHECKPOINT_BYTES
        self._readers: list[sqlite3.Connection] = []
        self._readers_lock = Lock()
        self._closed = False
        try:
            self._lock = FileLock(path.with_name(path.name + ".lock"))
        except OSError as error:
            raise BadValue(
                f"cannot open {self.name!r}: {error.strerror}; name a file in a folder to write in"
            ) from error
        with ExitStack() as on_failure:
            on_failure.callback(self._lock.close)
            try:
                self._connection = self._connect()
            except sqlite3.Error as error:
                raise self._worded(error) from error
            on_failure.pop_all()
        self.writer: Transaction = SqliteTransaction(self._connection)
        _OPEN.add(self)

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self.path, timeout=BUSY_S, isolation_level=None, check_same_thread=False, cached_statements=256
        )
        with ExitStack() as on_failure:
            on_failure.callback(connection.close)
            self._lock.take()
            on_failure.callback(self._lock.give)
            for setting in ("synchronous=FULL", "fullfsync=1", "wal_autocheckpoint=0", "mmap_size=0"):
                connection.execute(f"PRAGMA {setting}")
            (mode,) = connection.execute("PRAGMA journal_mode=WAL").fetchone()
            if mode != "wal":
                raise BadValue(
                    f"{self.name!r} cannot be in WAL mode (got {mode}): a store needs a disk of this machine"
                )
            on_failure.pop_all()
        self._lock.give()
        return connection

    def begin(self) -> None:
        self._lock.take()
        try:
            self._connection.execute("BEGIN IMMEDIATE")
        except sqlite3.Error as error:
            self._lock.give()
            raise self._worded(error) from error

    def commit(self) -> None:
        try:
            self._connection.execute("COMMIT")
        except sqlite3.Error as error:
            full = code_of(error) == sqlite3.SQLITE_FULL
            self.rollback()
            if full:
                raise worded(self.name, error) from error
            # An error of the disk is never tried again: after a failed fsync the kernel may forget what it could not
            # write, and the next one succeeds (Rebello et al. 2020, "Can Applications Recover from fsync Failures?").
            raise ReceiptUnknown(
                f"the disk of {self.name!r} failed at a commit ({error}): it is stored or not; open the store again"
            ) from error
        self._lock.give()

    def rollback(self) -> None:
        with suppress(sqlite3.Error):
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
        self._lock.give()

    def upkeep(self) -> None:
        """Move the WAL into the file where it has grown; readers are waited for, a little."""
        if self._wal_bytes() < self._checkpoint_at:
            return
        self._lock.take()
        try:
            self._connection.execute("PRAGMA busy_timeout=100")
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            self._connection.execute(f"PRAGMA busy_timeout={int(BUSY_S * 1000)}")
        except sqlite3.OperationalError as error:
            if code_of(error) not in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL):
                raise StoreStopped(f"the disk of {self.name!r} failed ({error}); open the store again") from error
        finally:
            self._lock.give()
            # A reader that is stopped in the middle keeps the WAL as it is: it is not waited for at each commit.
            left = self._wal_bytes()
            self._checkpoint_at = CHECKPOINT_BYTES + (left if left >= CHECKPOINT_BYTES else 0)

    def _wal_bytes(self) -> int:
        try:
            return os.stat(self._wal).st_size
        except OSError as error:
            if error.errno != errno.ENOENT:
                raise Unavailable(f"cannot look at {self._wal!r}: {error.strerror}") from error
            return 0

    @contextmanager
    def reading(self) -> Iterator[SqliteTransaction]:
        connection = self._reader()
        try:
            yield SqliteTransaction(connection)
        except sqlite3.Error as error:
            raise self._worded(error) from error
        finally:
            self._give_back(connection)

    def _give_back(self, connection: sqlite3.Connection) -> None:
        with self._readers_lock:
            if not self._closed and len(self._readers) < READERS_KEPT:
                self._readers.append(connection)
                return
        connection.close()

    def _reader(self) -> sqlite3.Connection:
        if os.getpid() != self._process:
            raise Forked(f"the store {self.name!r} was opened before a fork: open it again in this process")
        with self._readers_lock:
            if self._closed:
                raise StoreClosed(f"the store {self.name!r} is closed")
            if self._readers:
                return self._readers.pop()
        try:
            return sqlite3.connect(
                f"{self.path.as_uri()}?mode=ro", uri=True, timeout=BUSY_S, isolation_level=None, check_same_thread=False
            )
        except sqlite3.Error as error:
            raise worded(self.name, error) from error

    def refusal(self, error: BaseException) -> GComError | None:
        return self._worded(error) if isinstance(error, sqlite3.Error) else None

    def _worded(self, error: sqlite3.Error) -> GComError:
        """Return an error in words; of a damaged file a copy is kept, as it is when the first damage is met."""
        if code_of(error) != sqlite3.SQLITE_CORRUPT:
            return worded(self.name, error)
        copy = self.path.with_name(f"{self.path.name}.damaged")
        try:
            for end in ("", "-wal"):
                there, aside = self.path.with_name(self.path.name + end), copy.with_name(copy.name + end)
                if there.exists() and not aside.exists():
                    shutil.copyfile(there, aside)
            kept = f"a copy is kept in {str(copy)!r}"
        except OSError as trouble:
            kept = f"no copy could be kept ({trouble.strerror})"
        return StoreDamaged(
            f"{self.name!r} is damaged ({error}); {kept}: gcom topics check names what is, use a backup"
        )

    def check(self) -> list[str]:
        """Return what SQLite says of its pages and trees: only its first hundred faults."""
        try:
            with self.reading() as tx:
                found = [str(row[0]) for row in tx.rows("PRAGMA integrity_check(100)")]
        except StoreDamaged as error:
            return [str(error)]
        return [] if found == ["ok"] else [f"the file {self.name!r}: {it}" for it in found]

    def backup(self, path: Path, tell: Callable[[int, int], object]) -> None:
        """Copy the file as it is at one moment. It gets its name only once it is whole."""
        if path.exists():
            raise BadValue(f"{str(path)!r} is there already: name a new file for the copy")
        part = path.with_name(f"{path.name}.part")
        try:
            part.unlink(missing_ok=True)
            with self.reading() as tx, closing(sqlite3.connect(part)) as copy:
                _copy(tx, copy, tell)
            with part.open("rb") as file:
                os.fsync(file.fileno())
            part.rename(path)
        except OSError as error:
            raise BadValue(f"cannot write {str(path)!r}: {error.strerror}") from error
        finally:
            with suppress(OSError):
                part.unlink(missing_ok=True)

    def close(self) -> None:
        """Close the file, which makes SQLite's last checkpoint: under the lock as well."""
        if os.getpid() != self._process:
            return
        with self._readers_lock:
            if self._closed:
                return
            self._closed = True
            readers, self._readers = self._readers, []
        for reader in readers:
            reader.close()
        self._lock.take()
        self._connection.close()
        self._lock.close()

    def on_forked(self) -> None:
        """Be over, in the child of a fork: its copy of the lock would outlive the parent."""
        if not self._closed:
            keep_open(self._connection, *self._readers)
            self._lock.close()


def _copy(tx: SqliteTransaction, copy: sqlite3.Connection, tell: Callable[[int, int], object]) -> None:
    """Copy a file page by page, as it is now: a transaction keeps it so, while programs go on writing."""
    tx.connection.execute("BEGIN")
    try:
        (page_bytes,) = cast(tuple[int], tx.row("PRAGMA page_size"))
        tx.row("SELECT name FROM sqlite_master")  # begins to read: the moment of the copy
        tx.connection.backup(
            copy, pages=COPY_PAGES, progress=lambda _, left, all: tell((all - left) * page_bytes, all * page_bytes)
        )
    finally:
        tx.connection.execute("ROLLBACK")


def _on_forked() -> None:
    for database in list(_OPEN):
        database.on_forked()


_OPEN: WeakSet[SqliteDatabase] = WeakSet()
os.register_at_fork(after_in_child=_on_forked)
