"""The authority's records: certificates issued and revoked, and invitations; one SQLite file beside its key.

A registry and commands use it at the same time, so each method is one transaction, on the disk before it returns.
"""

from __future__ import annotations

import hashlib
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from gcom.certificates import private_files
from gcom.errors import GComError, LocalError, StorageUnavailable

# A serial is text, since it has up to 160 bits and SQLite's integers have 64. No WITHOUT ROWID: `issued` lists by
# rowid, which is the order of issuing.
_TABLES = """
CREATE TABLE IF NOT EXISTS issued (
    serial TEXT PRIMARY KEY, uris TEXT NOT NULL, begins INTEGER NOT NULL, ends INTEGER NOT NULL, revoked INTEGER
) STRICT;
CREATE TABLE IF NOT EXISTS invitations (
    secret BLOB PRIMARY KEY, uris TEXT NOT NULL, ends INTEGER NOT NULL, key BLOB, certificate BLOB
) STRICT;
"""
_COUNT = "SELECT count(*) FROM sqlite_schema WHERE name IN ('issued', 'invitations')"
BUSY_S = 5.0  # `gcom certs` and a registry write one file: each waits for the other


@dataclass(frozen=True, slots=True)
class Issued:
    """A certificate that was issued. Times are seconds since 1970; `revoked` is when, or None."""

    serial: int
    uris: tuple[str, ...]
    begins: int
    ends: int
    revoked: int | None = None


@dataclass(frozen=True, slots=True)
class Invited:
    """An invitation, and what it was used for: the id of the key, and the certificate in PEM."""

    uris: tuple[str, ...]
    ends: int
    key: bytes | None = None
    certificate: bytes | None = None


class Records:
    """The file; any thread and any process may call.

    Raises LocalError for a file that is lost or damaged, StorageUnavailable for one that is locked, or a disk that
    takes nothing now. `unwritten` says why the last write failed, and is empty if it did not.
    """

    def __init__(self, path: Path) -> None:
        self.unwritten = ""
        self._path = path
        self._lock = threading.Lock()
        self._refuse_lost()

    @classmethod
    def make(cls, path: Path) -> Records:
        """Return empty records, made in the place of lost ones; what is in a file that is whole stays."""
        # Whoever may read it knows who was invited and when; whoever
        # may write it could give an invitation to a key of their own.
        private_files.make_file(path)
        with telling_storage(path), closing(_connected(path)) as base, base:
            for table in _TABLES.split(";\n"):
                base.execute(table)
        return cls(path)

    def _refuse_lost(self) -> None:
        # Empty records in their place would forget who is revoked, and nobody would notice.
        with self._reading() as base:
            if base.execute(_COUNT).fetchone() != (2,):
                raise _lost(self._path)

    def add(self, issued: Issued) -> None:
        with self._writing() as base:
            row = (f"{issued.serial:x}", " ".join(issued.uris), issued.begins, issued.ends)
            base.execute("INSERT INTO issued VALUES (?, ?, ?, ?, NULL)", row)

    def issued(self) -> list[Issued]:
        """Return all certificates, the oldest first."""
        with self._reading() as base:
            rows = base.execute("SELECT serial, uris, begins, ends, revoked FROM issued ORDER BY rowid").fetchall()
        return [Issued(int(serial, 16), tuple(uris.split()), *times) for serial, uris, *times in rows]

    def revoke(self, serial: int, now: int) -> None:
        """Mark a certificate; one that was revoked before keeps its time."""
        with self._writing() as base:
            base.execute("UPDATE issued SET revoked = ? WHERE serial = ? AND revoked IS NULL", (now, f"{serial:x}"))

    def revoked(self, now: int) -> frozenset[int]:
        """Return the serial numbers that were revoked, of certificates that would be valid still."""
        with self._reading() as base:
            # A certificate that has ended is refused by its own date: with
            # it the list would grow for ever, and each peer fetches it.
            query = "SELECT serial FROM issued WHERE revoked IS NOT NULL AND ends >= ?"
            return frozenset(int(serial, 16) for (serial,) in base.execute(query, (now,)))

    def invite(self, secret: bytes, invited: Invited) -> None:
        with self._writing() as base:
            row = (_digest(secret), " ".join(invited.uris), invited.ends)
            base.execute("INSERT INTO invitations VALUES (?, ?, ?, NULL, NULL)", row)

    def cancel(self, uri: str) -> None:
        """Forget the invitations of an identity that were not used."""
        with self._writing() as base:
            # A used one stays: its holder may ask again for the certificate whose answer was lost.
            rows = base.execute("SELECT secret, uris FROM invitations WHERE key IS NULL").fetchall()
            doomed = [(secret,) for secret, uris in rows if uri in uris.split()]
            base.executemany("DELETE FROM invitations WHERE secret = ?", doomed)

    def invitation(self, secret: bytes) -> Invited | None:
        """Return the invitation with that secret, used or not."""
        with self._reading() as base:
            query = "SELECT uris, ends, key, certificate FROM invitations WHERE secret = ?"
            row = base.execute(query, (_digest(secret),)).fetchone()
        return Invited(tuple(row[0].split()), *row[1:]) if row else None

    def use(self, secret: bytes, key: bytes) -> bool:
        """Give an invitation to a key; tell whether it is that key's now. The first one has it."""
        with self._writing() as base:
            # One statement, so that two processes cannot both find it unused.
            update = "UPDATE invitations SET key = ? WHERE secret = ? AND (key IS NULL OR key = ?)"
            return base.execute(update, (key, _digest(secret), key)).rowcount == 1

    def keep(self, secret: bytes, certificate: bytes) -> None:
        """Keep the certificate that an invitation was used for, for an asker whose answer was lost."""
        with self._writing() as base:
            update = "UPDATE invitations SET certificate = ? WHERE secret = ?"
            base.execute(update, (certificate, _digest(secret)))

    def copy(self, target: Path) -> None:
        """Write a copy of the file, for this user alone."""
        private_files.make_file(target)
        with telling_storage(self._path), being_read(self._path) as base, closing(sqlite3.connect(target)) as copy:
            base.backup(copy)

    def damage(self) -> str:
        """Return what is wrong with the file, in SQLite's words; empty if it is whole."""
        with self._reading() as base:
            found = str(base.execute("PRAGMA integrity_check").fetchone()[0])
        return "" if found == "ok" else found

    def retry(self) -> None:
        """Write anew where the last write failed; raises as that did."""
        if self.unwritten:
            with self._writing() as base:
                base.execute("PRAGMA application_id = 0")  # it writes whatever is there

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        try:
            with self._reading() as base:
                yield base
            self.unwritten = ""
        except GComError as error:
            self.unwritten = str(error)
            raise

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        """A transaction, on a connection of its own: calls are rare, and come from any thread."""
        if not self._path.exists():
            raise _lost(self._path)
        with self._lock, telling_storage(self._path), closing(_connected(self._path)) as base, base:
            yield base


def _lost(path: Path) -> LocalError:
    return LocalError(
        f"the authority's records {str(path)!r} are lost, and its key is there: nobody can tell which certificates are "
        "revoked. Restore a copy (docs/operating.md); without one, begin them anew: gcom certs begin-records "
        f"--authority {path.parent}"
    )


def _connected(path: Path) -> sqlite3.Connection:
    """Return a connection to a file that is there; raises sqlite3.Error."""
    # mode=rw: else a file that was removed would be made anew, and be empty.
    base = sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", timeout=BUSY_S, uri=True)
    try:
        # So that a command which lists certificates does not wait for a registry that is writing one.
        base.execute("PRAGMA journal_mode = WAL")
        # On the disk when it returns: a revocation that a crash forgets would have been believed in.
        base.execute("PRAGMA synchronous = FULL")
    except sqlite3.Error:
        base.close()
        raise
    return base


@contextmanager
def being_read(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a file that is there, in a transaction that reads it; raises sqlite3.Error."""
    uri = f"{path.absolute().as_uri()}?mode=rw"
    with closing(sqlite3.connect(uri, timeout=BUSY_S, uri=True, isolation_level=None)) as base:
        # Before a copy is made of it, which would wait without end for a file that another process has locked.
        base.execute("BEGIN")
        base.execute("SELECT count(*) FROM sqlite_schema")
        yield base


@contextmanager
def telling_storage(path: Path) -> Iterator[None]:
    """Raise errors of SQLite in the block as GCom's: StorageUnavailable for what passes, LocalError for damage."""
    try:
        yield
    except sqlite3.Error as error:
        raise _failure(path, error) from error


def _failure(path: Path, error: sqlite3.Error) -> GComError:
    # The low byte is the kind of the error, whatever its particulars.
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return StorageUnavailable(f"{str(path)!r} is locked by another process, such as a registry that runs already")
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB) or not isinstance(error, sqlite3.OperationalError):
        return LocalError(f"{str(path)!r} is damaged ({error}): restore a copy (docs/operating.md)")
    return StorageUnavailable(f"{str(path)!r} cannot be used now: {error}")


def _digest(secret: bytes) -> bytes:
    # The secret itself is nowhere: who reads a copy of the records gets no certificate by it.
    return hashlib.sha256(secret).digest()
