"""The scrollback on disk: one SQLite file, its rows numbered per group as the conversation numbers them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from pathlib import Path

from chat_gui.model.rows import ChatRow, RowKind

VERSION = 1
BUSY_S = 5.0
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_COLUMNS = "key, kind, at_ms, name, text, process, number, view, id, sent_ms, peer, own, mention"
_KINDS = {kind.value: kind for kind in RowKind}
_TABLE = """
CREATE TABLE IF NOT EXISTS said (
    talk TEXT NOT NULL, key INTEGER NOT NULL, kind TEXT NOT NULL, at_ms INTEGER NOT NULL, name TEXT NOT NULL,
    text TEXT NOT NULL, process TEXT NOT NULL, number INTEGER NOT NULL, view INTEGER NOT NULL, id TEXT NOT NULL,
    sent_ms INTEGER NOT NULL, peer TEXT NOT NULL, own INTEGER NOT NULL, mention INTEGER NOT NULL,
    PRIMARY KEY (talk, key)
) WITHOUT ROWID
"""


def is_damage(error: sqlite3.Error) -> bool:
    """Return whether an error says that the file is broken, rather than that it cannot be reached or written."""
    code = getattr(error, "sqlite_errorcode", None)
    return code is not None and code & 0xFF in _DAMAGED


class Scrollback:
    """An open scrollback; for one thread. Its methods raise sqlite3.Error."""

    def __init__(self, path: Path) -> None:
        self._file = sqlite3.connect(path, timeout=BUSY_S, isolation_level=None)
        try:
            self._prepare()
        except sqlite3.Error:
            self._file.close()
            raise

    def _prepare(self) -> None:
        (version,) = self._file.execute("PRAGMA user_version").fetchone()
        if version > VERSION:
            raise sqlite3.NotSupportedError(f"it is of version {version}, of a later chat")
        if version < VERSION:
            self._file.execute("PRAGMA journal_mode = WAL")  # a reader never waits; a kill loses nothing committed
            self._file.execute(_TABLE)
            self._file.execute(f"PRAGMA user_version = {VERSION}")
        self._file.execute("PRAGMA synchronous = NORMAL")

    def add(self, batch: Iterable[tuple[str, ChatRow]]) -> None:
        """Keep rows, all or none; one that is there already is replaced."""
        values = [(group, *_fields(row)) for group, row in batch]
        self._file.execute("BEGIN IMMEDIATE")
        try:
            self._file.executemany(f"INSERT OR REPLACE INTO said VALUES (?{', ?' * len(_COLUMNS.split())})", values)
            self._file.execute("COMMIT")
        except sqlite3.Error:
            if self._file.in_transaction:
                self._file.execute("ROLLBACK")
            raise

    def before(self, group: str, key: int, count: int) -> list[ChatRow]:
        """Return the last rows of a group before a key, oldest first."""
        query = f"SELECT {_COLUMNS} FROM said WHERE talk = ? AND key < ? ORDER BY key DESC LIMIT ?"
        return [_row(values) for values in reversed(self._file.execute(query, (group, key, count)).fetchall())]

    def trim(self, group: str, keep: int) -> None:
        """Forget all but the last rows of a group."""
        last = "SELECT key FROM said WHERE talk = ? ORDER BY key DESC LIMIT 1 OFFSET ?"
        self._file.execute(f"DELETE FROM said WHERE talk = ? AND key <= ({last})", (group, group, keep))

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _fields(row: ChatRow) -> tuple[object, ...]:
    head = row.key, row.kind.value, row.at_ms, row.name, row.text, row.process, row.number, row.view
    return *head, row.id, row.sent_ms, row.peer, int(row.own), int(row.mention)


def _row(values: tuple[object, ...]) -> ChatRow:
    key, kind, at_ms, name, text, process, number, view, identity, sent_ms, peer, own, mention = values
    row = ChatRow(int(str(key)), _KINDS.get(str(kind), RowKind.NOTICE), int(str(at_ms)), str(name), str(text))
    row.process, row.number, row.view, row.id = str(process), int(str(number)), int(str(view)), str(identity)
    row.sent_ms, row.peer, row.own, row.mention = int(str(sent_ms)), str(peer), bool(own), bool(mention)
    row.earlier = True
    return row
