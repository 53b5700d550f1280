"""Where a registry keeps its votes as a witness: one SQLite file, `witness.db`, in the folder given with --data.

A vote must outlive the registry that gave it, so every record is on the disk (synchronous=EXTRA: journal and folder
too) before `save` returns. The file is locked for as long as it is open: two registries never vote out of one folder.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

from gcom.core.codec import decode_decision, encode_decision
from gcom.core.witness import Record
from gcom.errors import BadValue, MalformedFrame, Unavailable

FILE = "witness.db"
_TABLE = """
CREATE TABLE IF NOT EXISTS votes (
    instance TEXT PRIMARY KEY, view INTEGER NOT NULL,
    attempt INTEGER NOT NULL, rank INTEGER NOT NULL, decided BLOB
) STRICT, WITHOUT ROWID
"""


class Votes:
    """The records of a witness. Used by one thread at a time.

    Raises BadValue for a folder that cannot be used, or is in use, or has a file that is not of this kind.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._base = sqlite3.connect(self._path, timeout=0.0, isolation_level=None, check_same_thread=False)
        except (OSError, sqlite3.Error) as error:
            raise BadValue(f"data folder {str(folder)!r} cannot be used: {error}") from error
        try:
            for pragma in ("locking_mode = EXCLUSIVE", "journal_mode = DELETE", "synchronous = EXTRA"):
                self._base.execute(f"PRAGMA {pragma}")
            self._base.execute("BEGIN EXCLUSIVE")  # with that mode, the lock is kept after the COMMIT
            self._base.execute(_TABLE)
            self._base.execute("COMMIT")
        except sqlite3.OperationalError as error:
            self._base.close()
            raise BadValue(
                f"data folder {str(folder)!r} cannot be used, perhaps as another registry does: {error}"
            ) from error
        except sqlite3.Error as error:
            self._base.close()
            raise BadValue(f"{str(self._path)!r} is not what a registry keeps: {error}") from error

    def __iter__(self) -> Iterator[Record]:
        """Raises BadValue for a record that nothing of ours wrote."""
        for instance, view, attempt, rank, decided in self._base.execute("SELECT * FROM votes ORDER BY instance"):
            try:
                yield Record(instance, view, (attempt, rank), decode_decision(decided) if decided else None)
            except MalformedFrame as error:
                raise BadValue(f"{str(self._path)!r} is damaged at instance {instance!r}: {error}") from error

    def save(self, record: Record) -> None:
        """Raises Unavailable if the disk does not take it: then nothing was saved."""
        decided = encode_decision(record.decided) if record.decided else None
        values = (record.instance, record.view, *record.promised, decided)
        try:
            self._base.execute("INSERT OR REPLACE INTO votes VALUES (?, ?, ?, ?, ?)", values)
        except sqlite3.Error as error:
            raise Unavailable(f"the registry's disk does not take its votes: {error}") from error

    def close(self) -> None:
        self._base.close()
