"""A replica's folder: its log in SQLite, a lock that keeps other processes out, and what was damaged, kept aside.

A write is one transaction, synced (WAL, synchronous=FULL) before `commit` returns. A commit that fails is not "nothing
happened": it is never tried again, and the folder takes no more writes.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
import struct
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from zlib import crc32

import msgpack
from loguru import logger

from gcom.errors import BadValue, VersionMismatch
from gcom.replicated.durable.agreement import AppendEntry, WriteLog, WritePromise, WriteSnapshot
from gcom.replicated.durable.rounds import Configuration, DiskFacts, LogEntry
from gcom.replicated.errors import StorageFailed

DiskPlace = tuple[int, int, int]  # of a disk: promised, term and index of the last entry; it only rises
FORMAT = 1
LOG_FILE = "log.sqlite"
ASIDE_MAX = 100  # damaged logs that are kept aside; at the bound the folder is refused
_SCHEMA = """
CREATE TABLE IF NOT EXISTS meta(key TEXT PRIMARY KEY, value BLOB) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS snapshot(
    one INTEGER PRIMARY KEY CHECK(one = 1), idx INTEGER, term INTEGER, data BLOB, crc INTEGER);
CREATE TABLE IF NOT EXISTS entry(idx INTEGER PRIMARY KEY, term INTEGER, process TEXT, payload BLOB, crc INTEGER);
"""


@dataclass(frozen=True, slots=True)
class StoredLog:
    """A log as it was found on disk."""

    snapshot: bytes  # empty: the state as the machine begins
    index: int
    term: int  # of the last entry in the snapshot
    entries: list[LogEntry]
    committed: int  # this much was known to be synced by a majority
    facts: DiskFacts


class Damaged(Exception):
    """A log that is not as it was written."""


class LogStorage:
    """The folder of one replica. Not safe for threads: the writer's alone, once it is open."""

    def __init__(self, folder: Path, state: str, name: str, names: tuple[str, ...]) -> None:
        self.folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._lock = _locked(folder)
        except OSError as error:
            raise BadValue(f"data must be a folder that this process may write into; got {folder}: {error}") from error
        self._owner = {"state": state, "name": name}
        self._names = names
        with ExitStack() as stack:
            stack.callback(os.close, self._lock)
            self._high_water = HighWater(folder / "synced")
            stack.callback(lambda: self._high_water.close())
            try:
                self.log = self._open()
            except Damaged as damage:
                self._set_aside(damage)
                self.log = self._open()
            stack.pop_all()
        self.facts = self.log.facts

    # reading

    def _open(self) -> StoredLog:
        self._database = self._connect()
        try:
            log, known = self._read(), self._high_water.read()
            if log.facts.place < known:
                raise Damaged(f"it is cut: it has promise, term and index {log.facts.place}, and had {known}")
        except BaseException:  # outermost: nothing is handled, the file is only let go
            self._database.close()
            raise
        return log

    def _connect(self) -> sqlite3.Connection:
        path = self.folder / LOG_FILE
        database = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        try:
            database.execute("PRAGMA journal_mode=WAL")
            database.execute("PRAGMA synchronous=FULL")
            database.executescript(_SCHEMA)
            if database.execute("PRAGMA quick_check").fetchone() != ("ok",):
                raise Damaged("SQLite finds it corrupt")
        except (sqlite3.DatabaseError, Damaged) as error:
            database.close()
            raise error if isinstance(error, Damaged) else Damaged(str(error)) from error
        return database

    def _read(self) -> StoredLog:
        try:
            meta = {key: msgpack.unpackb(it) for key, it in self._database.execute("SELECT key, value FROM meta")}
            snapshots = self._database.execute("SELECT idx, term, data, crc FROM snapshot").fetchall()
            rows = self._database.execute("SELECT term, idx, process, payload, crc FROM entry ORDER BY idx").fetchall()
        except (sqlite3.DatabaseError, ValueError, msgpack.exceptions.UnpackException) as error:
            raise Damaged(str(error)) from error
        self._check_owner(meta)
        index, term, snapshot, crc = snapshots[0] if snapshots else (0, 0, b"", 0)
        if crc32(snapshot) != crc:
            raise Damaged("the snapshot's checksum is wrong")
        entries = [LogEntry(*row[:4]) for row in rows]
        for place, (entry, row) in enumerate(zip(entries, rows, strict=True), index + 1):
            if entry.index != place or _crc(entry) != row[4]:
                raise Damaged(f"entry {place} is missing, or its checksum is wrong")
        last = entries[-1] if entries else LogEntry(term, index, "", b"")
        if (last.term, last.index) != tuple(meta.get("last", (0, 0))):
            raise Damaged(f"it ends at {last.term}/{last.index}, and should end at {meta.get('last')}")
        version, names = meta.get("configuration", (0, self._names))
        configuration = Configuration(version, tuple(names))
        facts = DiskFacts(meta.get("promised", 0), last.term, last.index, configuration, meta.get("lost", False))
        return StoredLog(snapshot, index, term, entries, meta.get("committed", 0), facts)

    def _check_owner(self, meta: dict[str, object]) -> None:
        written = meta.get("format", FORMAT)
        if written != FORMAT:
            raise VersionMismatch(f"{self.folder} has format {written}: this version of GCom reads format {FORMAT}")
        for what, mine in self._owner.items():
            if meta.get(what, mine) != mine:
                raise BadValue(f"{self.folder} is of {what} {meta[what]!r}, not {mine!r}: give each its own folder")

    def _set_aside(self, damage: Damaged) -> None:
        aside = next((it for it in (self.folder / f"damaged-{n}" for n in range(ASIDE_MAX)) if not it.exists()), None)
        if aside is None:
            raise StorageFailed(f"{self.folder} holds {ASIDE_MAX} damaged logs: look at them, and take them away")
        aside.mkdir()
        for name in (LOG_FILE, f"{LOG_FILE}-wal", f"{LOG_FILE}-shm", "synced"):
            with suppress(FileNotFoundError):
                os.rename(self.folder / name, aside / name)
        self._high_water.close()
        self._high_water = HighWater(self.folder / "synced")
        logger.error(
            "the log in {} is damaged ({}): it is kept in {}, and fetched anew", self.folder, damage, aside.name
        )

    # writing

    def write(self, writes: Iterable[AppendEntry | WritePromise | WriteLog | WriteSnapshot], committed: int) -> None:
        """Carry out writes, in one transaction that is synced; raises StorageFailed, after which nothing is written."""
        facts, appended = self.facts, list[LogEntry]()
        with self._transaction() as run:
            for write in writes:
                if not isinstance(write, AppendEntry):
                    self._put_entries(run, appended)
                    appended = []
                facts = self._write(run, write, facts, appended)
            self._put_entries(run, appended)
            self._put(
                run, committed=committed, last=[facts.term, facts.index], promised=facts.promised, lost=facts.lost
            )
        self.facts = facts
        self._high_water.write(facts.place)

    def _write(
        self,
        run: sqlite3.Cursor,
        write: AppendEntry | WritePromise | WriteLog | WriteSnapshot,
        facts: DiskFacts,
        appended: list[LogEntry],
    ) -> DiskFacts:
        match write:
            case WritePromise(term, lost):
                return replace(facts, promised=term, lost=lost)
            case WriteSnapshot(snapshot, index, term):
                self._put_snapshot(run, snapshot, index, term)
                run.execute("DELETE FROM entry WHERE idx <= ?", (index,))
                return facts
            case AppendEntry(entry, configuration):
                appended.append(entry)  # written together: alone each would cost as much as ten
            case WriteLog(promised, snapshot, index, term, entries, configuration):
                run.execute("DELETE FROM entry")
                self._put_snapshot(run, snapshot, index, term)
                self._put_entries(run, entries)
                entry = entries[-1] if entries else LogEntry(term, index, "", b"")
                facts = DiskFacts(promised, 0, 0, facts.configuration)
        if configuration != facts.configuration:
            self._put(run, configuration=[configuration.version, list(configuration.names)])
        return DiskFacts(facts.promised, entry.term, entry.index, configuration)

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Cursor]:
        try:
            run = self._database.cursor()
            run.execute("BEGIN IMMEDIATE")
            yield run
            run.execute("COMMIT")
        except sqlite3.Error as error:
            raise StorageFailed(f"{self.folder} takes no more writes: {error}") from error

    def _put(self, run: sqlite3.Cursor, **values: object) -> None:
        known: dict[str, object] = {}
        if self.facts.promised == 0:  # the first time
            known = {"format": FORMAT, **self._owner, "configuration": [0, list(self._names)]}
        rows = [(key, msgpack.packb(value)) for key, value in (known | values).items()]
        run.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", rows)

    def _put_snapshot(self, run: sqlite3.Cursor, data: bytes, index: int, term: int) -> None:
        run.execute("INSERT OR REPLACE INTO snapshot VALUES (1, ?, ?, ?, ?)", (index, term, data, crc32(data)))

    def _put_entries(self, run: sqlite3.Cursor, entries: Iterable[LogEntry]) -> None:
        rows = [(it.index, it.term, it.process, it.payload, _crc(it)) for it in entries]
        run.executemany("INSERT INTO entry VALUES (?, ?, ?, ?, ?)", rows)

    def give_up(self, names: Iterable[str]) -> tuple[str, ...]:
        """Take names off the configuration, as an operator says; return those that are left."""
        version, before = self.facts.configuration
        left = tuple(it for it in before if it not in set(names))
        with self._transaction() as run:
            self._put(run, configuration=[version + 1, list(left)])
        return left

    def close(self) -> None:
        """Close the log, and let the folder go."""
        self._database.close()
        self._high_water.close()
        os.close(self._lock)


def look_into(folder: Path) -> dict[str, object]:
    """Return what a folder's log says, also while a process uses it; raises BadValue where there is none."""
    path = folder / LOG_FILE
    if not path.is_file():
        raise BadValue(f"{folder} has no {LOG_FILE}: give the folder `data` of a durable replica")
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as database:
            meta = {key: msgpack.unpackb(it) for key, it in database.execute("SELECT key, value FROM meta")}
            snapshot = database.execute("SELECT idx FROM snapshot").fetchone()
            entries, size = database.execute("SELECT count(*), coalesce(sum(length(payload)), 0) FROM entry").fetchone()
    except (sqlite3.DatabaseError, ValueError) as error:
        raise BadValue(f"{path} cannot be read: {error}; a replica that is started keeps it aside") from error
    if not meta:
        raise BadValue(f"{folder} has a log without any content: its replica has never been ready")
    term, index = meta["last"]
    return {
        "state": meta["state"],
        "name": meta["name"],
        "replicas": meta.get("configuration", [0, []])[1],
        "term": term,
        "index": index,
        "confirmed": meta["committed"],
        "promised": meta["promised"],
        "snapshot": snapshot[0] if snapshot else 0,
        "entries": entries,
        "bytes": size,
        "damaged": sorted(it.name for it in folder.glob("damaged-*")),
    }


class HighWater:
    """The place up to which a log was synced, in a file of its own: SQLite takes a cut log for one that ended there."""

    _SHAPE = struct.Struct(">QQQI")

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def read(self) -> DiskPlace:
        """Return the place; of a file that says nothing sensible the lowest."""
        data = os.pread(self._file, self._SHAPE.size, 0)
        if len(data) != self._SHAPE.size or crc32(data[:-4]) != int.from_bytes(data[-4:], "big"):
            return 0, 0, 0
        promised, term, index, _ = self._SHAPE.unpack(data)
        return promised, term, index

    def write(self, place: DiskPlace) -> None:
        """Note a place. It is not synced: after a loss of power it may name an earlier one."""
        data = self._SHAPE.pack(*place, 0)[:-4]
        os.pwrite(self._file, data + crc32(data).to_bytes(4, "big"), 0)

    def close(self) -> None:
        """Let the file go."""
        os.close(self._file)


def _crc(entry: LogEntry) -> int:
    return crc32(entry.payload, crc32(f"{entry.term} {entry.index} {entry.process}".encode()))


def _locked(folder: Path) -> int:
    found = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(found, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(found)
        raise BadValue(f"another process uses the folder {folder}: give each replica its own") from None
    return found
