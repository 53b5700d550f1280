"""The authority's records: certificates issued and revoked, and invitations; one SQLite file beside its key.

A registry and commands use it at the same time, so each method is one transaction, on the disk before it returns.
"""

from __future__ import annotations

import hashlib
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from gcom.errors import BadValue

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
    """The file; any thread and any process may call. Raises BadValue for a file that cannot be used."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        with self._changing() as base:
            base.executescript(_TABLES)
        # Whoever may read it knows who was invited and when; whoever
        # may write it could give an invitation to a key of their own.
        path.chmod(0o600)

    def add(self, issued: Issued) -> None:
        with self._changing() as base:
            row = (f"{issued.serial:x}", " ".join(issued.uris), issued.begins, issued.ends)
            base.execute("INSERT INTO issued VALUES (?, ?, ?, ?, NULL)", row)

    def issued(self) -> list[Issued]:
        """Return all certificates, the oldest first."""
        with self._changing() as base:
            rows = base.execute("SELECT serial, uris, begins, ends, revoked FROM issued ORDER BY rowid").fetchall()
        return [Issued(int(serial, 16), tuple(uris.split()), *times) for serial, uris, *times in rows]

    def revoke(self, serial: int, now: int) -> None:
        """Mark a certificate; one that was revoked before keeps its time."""
        with self._changing() as base:
            base.execute("UPDATE issued SET revoked = ? WHERE serial = ? AND revoked IS NULL", (now, f"{serial:x}"))

    def revoked(self, now: int) -> frozenset[int]:
        """Return the serial numbers that were revoked, of certificates that would be valid still."""
        with self._changing() as base:
            # A certificate that has ended is refused by its own date: with
            # it the list would grow for ever, and each peer fetches it.
            query = "SELECT serial FROM issued WHERE revoked IS NOT NULL AND ends >= ?"
            return frozenset(int(serial, 16) for (serial,) in base.execute(query, (now,)))

    def invite(self, secret: bytes, invited: Invited) -> None:
        with self._changing() as base:
            row = (_digest(secret), " ".join(invited.uris), invited.ends)
            base.execute("INSERT INTO invitations VALUES (?, ?, ?, NULL, NULL)", row)

    def cancel(self, uri: str) -> None:
        """Forget the invitations of an identity that were not used."""
        with self._changing() as base:
            # A used one stays: its holder may ask again for the certificate whose answer was lost.
            rows = base.execute("SELECT secret, uris FROM invitations WHERE key IS NULL").fetchall()
            doomed = [(secret,) for secret, uris in rows if uri in uris.split()]
            base.executemany("DELETE FROM invitations WHERE secret = ?", doomed)

    def invitation(self, secret: bytes) -> Invited | None:
        """Return the invitation with that secret, used or not."""
        with self._changing() as base:
            query = "SELECT uris, ends, key, certificate FROM invitations WHERE secret = ?"
            row = base.execute(query, (_digest(secret),)).fetchone()
        return Invited(tuple(row[0].split()), *row[1:]) if row else None

    def use(self, secret: bytes, key: bytes) -> bool:
        """Give an invitation to a key; tell whether it is that key's now. The first one has it."""
        with self._changing() as base:
            # One statement, so that two processes cannot both find it unused.
            update = "UPDATE invitations SET key = ? WHERE secret = ? AND (key IS NULL OR key = ?)"
            return base.execute(update, (key, _digest(secret), key)).rowcount == 1

    def keep(self, secret: bytes, certificate: bytes) -> None:
        """Keep the certificate that an invitation was used for, for an asker whose answer was lost."""
        with self._changing() as base:
            update = "UPDATE invitations SET certificate = ? WHERE secret = ?"
            base.execute(update, (certificate, _digest(secret)))

    def damage(self) -> str:
        """Return what is wrong with the file, in SQLite's words; empty if it is whole."""
        with self._changing() as base:
            found = str(base.execute("PRAGMA integrity_check").fetchone()[0])
        return "" if found == "ok" else found

    @contextmanager
    def _changing(self) -> Iterator[sqlite3.Connection]:
        """One transaction, on a connection of its own: calls are rare, and come from any thread."""
        try:
            with self._lock:
                base = sqlite3.connect(self._path, timeout=BUSY_S)
                try:
                    # So that a command which lists certificates does
                    # not wait for a registry that is writing one.
                    base.execute("PRAGMA journal_mode = WAL")
                    # On the disk when it returns: a revocation that a crash forgets would have been believed in.
                    base.execute("PRAGMA synchronous = FULL")
                    # It ends the transaction, and leaves the connection open, which `finally` closes.
                    with base:
                        yield base
                finally:
                    base.close()
        except sqlite3.Error as error:
            raise BadValue(f"the authority's records in {str(self._path)!r} cannot be used: {error}") from error


def _digest(secret: bytes) -> bytes:
    # The secret itself is nowhere: who reads a copy of the records gets no certificate by it.
    return hashlib.sha256(secret).digest()
