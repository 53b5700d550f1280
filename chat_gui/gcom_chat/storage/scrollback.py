"""The scrollback on disk: one SQLite file, its rows numbered per talk as the conversation numbers them.

A talk is a group at a registry, as `talk_of` names it. Files of version 1 knew groups alone: what they hold goes to the
registry at which the chat was last.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from gcom_chat.model.outbox import OwnLine, own_line
from gcom_chat.model.query import Query
from gcom_chat.model.rows import ChatRow, MessageState, MessageTimes, RowKind
from gcom_chat.model.text import SHOWN_CHARS_MAX, in_full, shown
from gcom_chat.model.wire import ChatMessage, MessageKind

VERSION = 3
LONG_CHARS_MAX = 256 << 20  # of the texts of one talk that are longer than is shown
BUSY_S = 5.0  # another window of the user's may be writing its batch
STOP_EVERY = 500  # rows of a search between two looks whether it is still wanted
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_COLUMNS = "key, kind, at_ms, name, text, process, number, view, id, sent_ms, peer, own, mention"
_TIMES = "received_ms, delivered_ms, taken_ms, ordered_ms, serial, clock"
_ALL = f"{_COLUMNS}, {_TIMES}"
_KINDS = {kind.value: kind for kind in RowKind}
# WITHOUT ROWID: rows lie on disk by talk and key, as all of them are read.
# IF NOT EXISTS: two chats of one user may begin the same new file at once.
_TABLE = """
CREATE TABLE IF NOT EXISTS said (
    talk TEXT NOT NULL, key INTEGER NOT NULL, kind TEXT NOT NULL, at_ms INTEGER NOT NULL, name TEXT NOT NULL,
    text TEXT NOT NULL, process TEXT NOT NULL, number INTEGER NOT NULL, view INTEGER NOT NULL, id TEXT NOT NULL,
    sent_ms INTEGER NOT NULL, peer TEXT NOT NULL, own INTEGER NOT NULL, mention INTEGER NOT NULL,
    received_ms REAL, delivered_ms REAL, taken_ms REAL, ordered_ms REAL, serial INTEGER, clock TEXT,
    PRIMARY KEY (talk, key)
) WITHOUT ROWID
"""
# From version 2 to 3: the own lines that have not ended.
_OWN = """
CREATE TABLE IF NOT EXISTS own (
    talk TEXT NOT NULL, id TEXT NOT NULL, place INTEGER NOT NULL, kind TEXT NOT NULL, text TEXT NOT NULL,
    at_ms INTEGER NOT NULL, peer TEXT NOT NULL, name TEXT NOT NULL, state INTEGER NOT NULL, why TEXT NOT NULL,
    PRIMARY KEY (talk, id)
) WITHOUT ROWID
"""
# From version 1 to 2: the times of messages, and talks that are named with their registry.
_NEW_COLUMNS = (
    "received_ms REAL",
    "delivered_ms REAL",
    "taken_ms REAL",
    "ordered_ms REAL",
    "serial INTEGER",
    "clock TEXT",
)


def talk_of(registry: str, group: str) -> str:
    """Return the name of a group at a registry; a group's name has no slash."""
    return f"{registry}/{group}"


def is_damage(error: sqlite3.Error) -> bool:
    """Return whether an error says that the file is broken, rather than that it cannot be reached or written."""
    code = getattr(error, "sqlite_errorcode", None)
    # An extended code has the kind of error in its low byte.
    return code is not None and code & 0xFF in _DAMAGED


class Scrollback:
    """An open scrollback; for one thread. Its methods raise sqlite3.Error.

    `home`: the registry to which what a file of version 1 holds belongs.
    """

    def __init__(self, path: Path, home: str = "") -> None:
        # Two chats of one user write one file: each waits for the other's batch instead of failing.
        self._file = sqlite3.connect(path, timeout=BUSY_S, isolation_level=None)
        try:
            self._prepare(home)
        except sqlite3.Error:
            self._file.close()
            raise

    def _prepare(self, home: str) -> None:
        (version,) = self._file.execute("PRAGMA user_version").fetchone()
        # Refused and left as it is: a chat that does not know what is in there could only spoil it.
        if version > VERSION:
            raise sqlite3.NotSupportedError(f"it is of version {version}, of a later chat")
        if version == 0:
            self._file.execute("PRAGMA journal_mode = WAL")  # a reader never waits; a kill loses nothing committed
            self._file.execute(_TABLE)
            self._file.execute(_OWN)
            self._file.execute(f"PRAGMA user_version = {VERSION}")
        elif version < VERSION:
            self._migrate(version, home)
        # With WAL a crash of the system may take the last
        # batch, and never the file: a scrollback needs no more.
        self._file.execute("PRAGMA synchronous = NORMAL")

    def _migrate(self, version: int, home: str) -> None:
        with self._transaction():
            if version == 1:
                for column in _NEW_COLUMNS:
                    self._file.execute(f"ALTER TABLE said ADD COLUMN {column}")
                self._file.execute("UPDATE said SET talk = ? || talk", (talk_of(home, ""),))
            self._file.execute(_OWN)
            self._file.execute(f"PRAGMA user_version = {VERSION}")

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        # With the write lock from the start: one that is got later may be refused in the middle of a batch.
        self._file.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._file.execute("COMMIT")
        except sqlite3.Error:
            # At some errors, a full disk say, SQLite rolls back itself: another ROLLBACK would hide the cause.
            if self._file.in_transaction:
                self._file.execute("ROLLBACK")
            raise

    def add(self, batch: Iterable[tuple[str, ChatRow]]) -> None:
        """Keep rows, all or none; one that is there already is replaced."""
        # Not one whose whole text is in no memory any more: what stands on the disk is longer.
        values = [(group, *_fields(row)) for group, row in batch if row.whole or not row.cut]
        places = ", ".join("?" * (1 + len(_ALL.split())))
        with self._transaction():
            self._file.executemany(f"INSERT OR REPLACE INTO said (talk, {_ALL}) VALUES ({places})", values)

    def keep(self, batch: Iterable[tuple[str, str, OwnLine | None]]) -> None:
        """Keep own lines by talk and id, all or none; None: it has ended."""
        with self._transaction():
            for talk, identity, line in batch:
                if line is None:
                    self._file.execute("DELETE FROM own WHERE talk = ? AND id = ?", (talk, identity))
                    continue
                message, row = line.message, line.row
                head = talk, identity, message.kind.value, message.text, message.at_ms
                self._file.execute(
                    "INSERT INTO own (talk, id, kind, text, at_ms, peer, name, state, why, place) VALUES "
                    "(?, ?, ?, ?, ?, ?, ?, ?, ?, (SELECT COALESCE(MAX(place), 0) + 1 FROM own)) "
                    "ON CONFLICT (talk, id) DO UPDATE SET state = excluded.state, why = excluded.why",
                    (*head, line.to, row.name, int(line.state), line.why),
                )

    def lines(self, talk: str) -> list[OwnLine]:
        """Return the own lines of a talk that had not ended, in the order of typing."""
        select = "SELECT id, kind, text, at_ms, peer, name, state, why FROM own WHERE talk = ? ORDER BY place"
        return [line for values in self._file.execute(select, (talk,)) if (line := _line(*values))]

    def before(self, group: str, key: int, count: int) -> list[ChatRow]:
        """Return the last rows of a group before a key, oldest first."""
        query = f"SELECT {_ALL} FROM said WHERE talk = ? AND key < ? ORDER BY key DESC LIMIT ?"
        return [_row(values) for values in reversed(self._file.execute(query, (group, key, count)).fetchall())]

    def older(self, group: str, key: int) -> Iterator[ChatRow]:
        """Return all rows of a group before a key, oldest first, one by one: there may be a million."""
        select = f"SELECT {_ALL} FROM said WHERE talk = ? AND key < ? ORDER BY key"
        return map(_row, self._file.execute(select, (group, key)))

    def find(
        self, group: str, query: Query, before: int, most: int, stopped: Callable[[], bool]
    ) -> tuple[list[ChatRow], bool]:
        """Return the last rows before a key for which a query holds, oldest first, and whether there may be more."""
        others = [self._named(group, value) for value in query.concurrent_with]
        found: list[ChatRow] = []
        select = f"SELECT {_ALL} FROM said WHERE talk = ? AND key < ? ORDER BY key DESC"
        # Row by row, in Python: a query in SQL could compare
        # neither letters of any language nor vector clocks.
        for at, values in enumerate(self._file.execute(select, (group, before))):
            if len(found) == most or (at % STOP_EVERY == 0 and stopped()):
                return found[::-1], True
            row = _row(values)
            if query.holds(row, others):
                found.append(row)
        return found[::-1], False

    def _named(self, group: str, message: str) -> ChatRow | None:
        """Return the newest row of "bob#17"; names are compared in any case."""
        name, _, number = message.rpartition("#")
        select = f"SELECT {_ALL} FROM said WHERE talk = ? AND number = ? ORDER BY key DESC"
        # As text, which the column's type makes a number: an int of more than 64 bits would raise OverflowError.
        rows = map(_row, self._file.execute(select, (group, number if number.isdecimal() else -1)))
        return next((row for row in rows if row.number and row.name.casefold() == name), None)

    def around(self, group: str, key: int, each: int) -> list[ChatRow]:
        """Return a row with so many before and after it, oldest first."""
        select = f"SELECT {_ALL} FROM said WHERE talk = ? AND key >= ? ORDER BY key LIMIT ?"
        after = [_row(values) for values in self._file.execute(select, (group, key, each + 1))]
        return self.before(group, key, each) + after

    def trim(self, group: str, keep: int) -> None:
        """Forget all but the last rows of a group."""
        last = "SELECT key FROM said WHERE talk = ? ORDER BY key DESC LIMIT 1 OFFSET ?"
        self._file.execute(f"DELETE FROM said WHERE talk = ? AND key <= ({last})", (group, group, keep))
        # Of texts that are shown in part, the oldest are kept as far as they are shown, once all are too many.
        too_long = "SELECT key FROM (SELECT key, SUM(length(text)) OVER (ORDER BY key DESC) AS so_far FROM said "
        too_long += "WHERE talk = ? AND length(text) > ?) WHERE so_far > ?"
        self._file.execute(
            f"UPDATE said SET text = substr(text, 1, ?) || '…' WHERE talk = ? AND key IN ({too_long})",
            (SHOWN_CHARS_MAX - 1, group, group, SHOWN_CHARS_MAX, LONG_CHARS_MAX),
        )

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _fields(row: ChatRow) -> tuple[object, ...]:
    head = row.key, row.kind.value, row.at_ms, row.name, row.said, row.process, row.number, row.view
    tail = row.id, row.sent_ms, row.peer, int(row.own), int(row.mention)
    if (times := row.times) is None:
        return *head, *tail, *[None] * len(_TIMES.split())
    clock = None if times.clock is None else json.dumps(times.clock, separators=(",", ":"))
    return *head, *tail, times.received_ms, times.delivered_ms, times.sent_ms, times.ordered_ms, times.serial, clock


def _row(values: tuple[object, ...]) -> ChatRow:
    key, kind, at_ms, name, text, process, number, view, identity, sent_ms, peer, own, mention, *times = values
    row = ChatRow(_whole(key), _KINDS.get(str(kind), RowKind.NOTICE), _whole(at_ms), str(name), str(text))
    row.whole = in_full(str(text))
    if row.whole:
        row.cut, row.text = True, shown(row.whole)
    row.process, row.number, row.view, row.id = str(process), _whole(number), _whole(view), str(identity)
    row.sent_ms, row.peer, row.own, row.mention = _whole(sent_ms), str(peer), bool(own), bool(mention)
    row.earlier, row.times = True, _times(*times)
    return row


def _line(
    identity: object, kind: object, text: object, at_ms: object, peer: object, name: object, state: object, why: object
) -> OwnLine | None:
    if kind not in list(MessageKind) or state not in list(MessageState):
        return None
    message = ChatMessage(MessageKind(str(kind)), str(text), str(identity), _whole(at_ms))
    return own_line(message, str(peer), str(name), message.at_ms, MessageState(_whole(state)), str(why))


def _whole(value: object) -> int:
    # SQLite keeps a text in a column of numbers, if somebody puts one there.
    return value if isinstance(value, int) else 0


def _times(
    received_ms: object, delivered_ms: object, sent_ms: object, ordered_ms: object, serial: object, clock: object
) -> MessageTimes | None:
    stamps = [each if isinstance(each, float) else None for each in (received_ms, delivered_ms, sent_ms, ordered_ms)]
    if stamps[0] is None or stamps[1] is None:
        return None
    # What stands in the file may be anything: a row without its clock is better than no scrollback.
    found: Any = None
    with suppress(ValueError, RecursionError):
        found = json.loads(str(clock)) if clock else None
    known = isinstance(found, dict) and all(type(number) is int for number in found.values())
    number = serial if isinstance(serial, int) else 0
    return MessageTimes(stamps[0], stamps[1], stamps[2], stamps[3], number, found if known else None)
