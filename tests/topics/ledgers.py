"""Ledgers: tables of an application, for the effects of messages."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from typing import Any

from gcom.topics import OutboxSender, TopicMessage, TopicStore
from tests.running import LIMIT_S


class Ledger:
    """A table of an application: in PostgreSQL, or in the store itself."""

    def __init__(self, kind: str, place: str, store: TopicStore) -> None:
        self.is_file = kind == "store in a file"
        self.place = place
        self.db: Any = place if kind == "postgres" else store
        self.sql = f"INSERT INTO entry VALUES ({'?' if self.is_file else '%s'})"
        self.rows("CREATE TABLE entry (text TEXT NOT NULL)")

    def rows(self, sql: str = "SELECT text FROM entry") -> list[Any]:
        if self.is_file:
            with closing(sqlite3.connect(self.place, timeout=LIMIT_S)) as file, file:
                return [row[0] for row in file.execute(sql)]
        import psycopg

        with psycopg.connect(self.place, autocommit=True) as connection:
            found = connection.execute(sql.encode())
            return [row[0] for row in found] if found.description else []

    def write(self, tx: Any, messages: Sequence[TopicMessage], out: OutboxSender) -> None:
        for message in messages:
            tx.execute(self.sql, (message.text,))
            out.send("copies", message.body)
