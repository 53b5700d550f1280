"""The disk of a registry: one SQLite file, `registry.db`, in its data folder.

Names, their instances and lineages, who is noted for a next view, which groups all have left, and its votes as an
acceptor. Whatever it says of these must outlive it, so every write is on the disk (synchronous=EXTRA: journal and
folder too) before the method returns, and in this one file (decision 0012). The file is locked for as long as it is
open: two registries never share one.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from gcom.certificates import private_files
from gcom.certificates.storage import being_read, telling_storage
from gcom.core.codec.control import decode_decision, encode_decision
from gcom.core.codec.registry import decode_row, encode_row
from gcom.core.directory.rows import DissolvedInstance, Row, Store
from gcom.core.directory.witness import WitnessRecord
from gcom.errors import GComError, LocalError, MalformedFrame, StorageUnavailable, VersionMismatch
from gcom.runtime.user_process.process_events import tell_of_forks

FILE, PROBE, COPY = "registry.db", ".probe", ".copy.db"
PROBE_BYTES = 16 * 1024  # as many as a few rows take, with their journal
_APPLICATION = 0x47434F4D  # GCOM
# `dissolved` alone keeps its rowid: it is read back in the order of the burials.
_TABLES = """
CREATE TABLE IF NOT EXISTS votes (
    instance TEXT PRIMARY KEY, view INTEGER NOT NULL,
    attempt INTEGER NOT NULL, rank INTEGER NOT NULL, decided BLOB
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS groups (name TEXT PRIMARY KEY, entry BLOB NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS dissolved (
    name TEXT PRIMARY KEY, instance TEXT NOT NULL, view INTEGER NOT NULL,
    process TEXT NOT NULL DEFAULT '', proof BLOB NOT NULL DEFAULT x''
) STRICT;
CREATE TABLE IF NOT EXISTS creators (name TEXT PRIMARY KEY, creator TEXT NOT NULL) STRICT, WITHOUT ROWID;
"""

_OF_PARENTS: list[sqlite3.Connection] = []  # SQLite's files must not be closed by a process that did not open them


@contextmanager
def _undone(made: Path | None) -> Iterator[None]:
    """Remove a file that was made for the block, if that fails: it would be taken for one that lost what it had."""
    try:
        yield
    except sqlite3.Error:
        if made is not None:
            made.unlink(missing_ok=True)
        raise


def _opened(path: Path) -> sqlite3.Connection:
    """Return the file, locked, with its tables; raises sqlite3.Error."""
    # timeout=0: a folder that another registry has is refused at once, and not after five seconds.
    # Without isolation_level each statement is a transaction, on the disk when it returns. Workers of any
    # thread come here, one at a time by the server's lock: so check_same_thread is off.
    base = sqlite3.connect(path, timeout=0.0, isolation_level=None, check_same_thread=False)
    try:
        for pragma in ("locking_mode = EXCLUSIVE", "journal_mode = DELETE", "synchronous = EXTRA"):
            base.execute(f"PRAGMA {pragma}")
        base.execute("BEGIN EXCLUSIVE")  # with that mode, the lock is kept after the COMMIT
        # One by one: `executescript` begins with a COMMIT, and would end this transaction before anything is made.
        for table in _TABLES.split(";\n"):
            base.execute(table)
        # A file of before has no word of the last member.
        columns = {row[1] for row in base.execute("PRAGMA table_info(dissolved)")}
        for column, kind in (("process", "TEXT NOT NULL DEFAULT ''"), ("proof", "BLOB NOT NULL DEFAULT x''")):
            if column not in columns:
                base.execute(f"ALTER TABLE dissolved ADD COLUMN {column} {kind}")
        base.execute("COMMIT")
    except sqlite3.Error:
        base.close()
        raise
    return base


class Creators:
    """The creators of groups; kept here alone, in memory, where a registry has no disk."""

    def __init__(self) -> None:
        self._found: dict[str, str] = {}

    def of(self, group: str) -> str | None:
        return self._found.get(group)

    def add(self, group: str, creator: str) -> None:
        """Note a group's creator; raises Unavailable if the disk does not take it."""
        self._found[group] = creator


class Disk(Store):
    """The tables, used by one thread at a time; `fresh`: the folder had none before.

    Raises BadValue for a folder that is none, or that others may enter; StorageUnavailable where it is in use, or the
    disk takes nothing now; LocalError for a file that is damaged.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = str(folder)
        self._path = folder / FILE
        self._failure = ""  # why the last write failed, until one does not
        self._no_room = ""  # the same, of a file beside it
        private_files.make_folder(folder)
        # Before anything is opened: what another user may open that one can lock, or replace, at any time.
        private_files.refuse_open_folder(folder, FILE)
        self.fresh = private_files.make_file(self._path)
        # An empty one could be taken for a new one, and would give away names that are in use.
        if not self.fresh and self._path.stat().st_size == 0:
            raise LocalError(
                f"{str(self._path)!r} is empty, and nothing tells which names it had: restore a copy, or remove it if "
                "it never had any (docs/operating.md)"
            )
        with telling_storage(self._path), _undone(self._path if self.fresh else None):
            self._base = _opened(self._path)
        tell_of_forks(self)
        self._identity = self._seen()

    @property
    def trouble(self) -> str:
        """Why it cannot keep what it must; empty if it can."""
        return self._lost or self._failure or self._no_room

    @property
    def _lost(self) -> str:
        # The system goes on writing into a file that nobody can open any more, and says that all is well.
        if self._seen() != self._identity:
            return (
                f"{str(self._path)!r} was removed or replaced while this registry has it, so what it says would be "
                "forgotten at its end: put it back, if there is a copy, and only then start the registry again"
            )
        return ""

    def probe(self) -> None:
        """Find out whether the folder takes a file; any thread may ask."""
        # Beside the database, whose next write may come in hours only, and whose lock requests wait for.
        try:
            private_files.write(Path(self.folder) / PROBE, bytes(PROBE_BYTES))
            self._no_room = ""
        except GComError as error:
            self._no_room = f"the registry's disk takes nothing: {error}"

    def retry(self) -> None:
        """Write anew where the last write failed: what passed is to be noticed before somebody asks for a write."""
        if self._failure:
            with suppress(StorageUnavailable):
                self._write(f"PRAGMA application_id = {_APPLICATION}", ())  # it writes whatever is there

    def _seen(self) -> tuple[int, int] | None:
        try:
            found = self._path.stat()
        except OSError:
            return None
        return found.st_dev, found.st_ino

    # votes

    def votes(self) -> Iterator[WitnessRecord]:
        """Yield the votes; to read them raises LocalError for a record that nothing of ours wrote."""
        with telling_storage(self._path):
            yield from _votes(self._base, self._path)

    def save_vote(self, record: WitnessRecord) -> None:
        """Save a vote; raises Unavailable if the disk does not take it: then nothing was saved."""
        decided = encode_decision(record.decided) if record.decided else None
        values = (record.instance, record.view, *record.promised, decided)
        self._write("INSERT OR REPLACE INTO votes VALUES (?, ?, ?, ?, ?)", values)

    # groups; each write raises Unavailable if the disk does not take it

    def rows(self) -> Iterable[Row]:
        """Yield the groups; to read them raises LocalError for a row that nothing of ours wrote."""
        with telling_storage(self._path):
            yield from _rows(self._base, self._path)

    def dissolved(self) -> Iterable[DissolvedInstance]:
        columns = "name, instance, view, process, proof"
        with telling_storage(self._path):
            for row in self._base.execute(f"SELECT {columns} FROM dissolved ORDER BY rowid"):
                yield DissolvedInstance(*row)

    def save(self, row: Row) -> None:
        self._write("INSERT OR REPLACE INTO groups VALUES (?, ?)", (row.definition.group, encode_row(row)))

    def drop(self, group: str) -> None:
        self._write("DELETE FROM groups WHERE name = ?", (group,))

    def bury(self, gone: DissolvedInstance) -> None:
        row = (gone.group, gone.instance, gone.view, gone.process, gone.proof)
        self._write("INSERT OR REPLACE INTO dissolved VALUES (?, ?, ?, ?, ?)", row)

    def forget(self, group: str) -> None:
        self._write("DELETE FROM dissolved WHERE name = ?", (group,))

    def add_creator(self, group: str, creator: str) -> None:
        self._write("INSERT OR REPLACE INTO creators VALUES (?, ?)", (group, creator))

    def creators(self) -> dict[str, str]:
        """Return the creators of the groups that are there, and forget the others."""
        # A name may be another's by now: who made the group before has no right to remove that one.
        self._write("DELETE FROM creators WHERE name NOT IN (SELECT name FROM groups)", ())
        return dict(self._base.execute("SELECT name, creator FROM creators"))

    def on_forked(self) -> None:
        """Keep the connection for ever, in the child of a fork: to close it there would end the parent's lock."""
        _OF_PARENTS.append(self._base)

    def copy(self) -> None:
        """Write a copy of the file beside it, as `copy_of`."""
        target = Path(self.folder) / COPY
        target.unlink(missing_ok=True)
        with telling_storage(target):
            copy_of(self._base, self._path, target)

    def close(self) -> None:
        self._base.close()

    def _write(self, statement: str, values: tuple[object, ...]) -> None:
        try:
            self._base.execute(statement, values)
            self._failure = ""
        except sqlite3.Error as error:
            self._failure = f"the registry's disk does not take what it must keep: {error}"
        # Not for the probe, which is seconds old: what the database has taken is kept.
        if why := self._lost or self._failure:
            raise StorageUnavailable(why)


def copy_of(base: sqlite3.Connection, path: Path, target: Path) -> None:
    """Write a copy of an open file, for a registry that starts from it later; raises sqlite3.Error, LocalError.

    What was noted of a group after the copy is not in it, so the copy says of each that has members that it is
    forgotten.
    """
    private_files.make_file(target)
    with closing(sqlite3.connect(target)) as copy:
        base.backup(copy)
        marked = [
            (encode_row(replace(row, forgot=True)), row.definition.group) for row in _rows(copy, path) if row.view
        ]
        with copy:
            copy.executemany("UPDATE groups SET entry = ? WHERE name = ?", marked)


def copy_closed(path: Path, target: Path) -> None:
    """Write a copy, as `copy_of`, of a file that no registry has open."""
    with telling_storage(path), being_read(path) as base:
        copy_of(base, path, target)


def inspect(folder: Path) -> tuple[int, int]:
    """Read all of the file in a folder, and change nothing; return the number of its groups, and of its votes.

    Raises LocalError for one that is damaged, StorageUnavailable while a process has it, or the disk fails.
    """
    path = folder / FILE
    # Read and write: what a registry that was killed left half done is taken back first, as the next one would do.
    with telling_storage(path), closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", 0.0, uri=True)) as base:
        found = base.execute("PRAGMA integrity_check").fetchone()[0]
        if found != "ok":
            raise LocalError(f"{str(path)!r} is damaged: {found}; restore a copy (docs/operating.md)")
        return sum(1 for _ in _rows(base, path)), sum(1 for _ in _votes(base, path))


def _votes(base: sqlite3.Connection, path: Path) -> Iterator[WitnessRecord]:
    for instance, view, attempt, rank, decided in base.execute("SELECT * FROM votes ORDER BY instance"):
        try:
            yield WitnessRecord(instance, view, (attempt, rank), decode_decision(decided) if decided else None)
        except MalformedFrame as error:
            raise _damaged(path, f"instance {instance!r}", error) from error


def _rows(base: sqlite3.Connection, path: Path) -> Iterator[Row]:
    for name, entry in base.execute("SELECT * FROM groups ORDER BY name"):
        try:
            yield decode_row(entry)
        except (MalformedFrame, VersionMismatch) as error:
            raise _damaged(path, f"group {name!r}", error) from error


def _damaged(path: Path, what: str, error: GComError) -> LocalError:
    return LocalError(f"{str(path)!r} is damaged at {what}: {error}; restore a copy (docs/operating.md)")


class DurableCreators(Creators):
    """The creators of groups, on the registry's disk as well."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._found = disk.creators()

    def add(self, group: str, creator: str) -> None:
        # The disk first: what it does not take must not count in memory either.
        self._disk.add_creator(group, creator)
        super().add(group, creator)
