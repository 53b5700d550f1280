"""The fence: a topic has one owner in its database, by the highest epoch: checked in the transaction that writes."""

from __future__ import annotations

from typing import Any, cast

from gcom.errors import Unavailable
from gcom.topics.storage.transaction import StoreCall, Transaction

_TABLE = """CREATE TABLE IF NOT EXISTS gcom_owner (
    topic TEXT NOT NULL PRIMARY KEY, server TEXT NOT NULL, epoch BIGINT NOT NULL)"""
_CLAIM = """INSERT INTO gcom_owner (topic, server, epoch) VALUES (?, ?, ?)
    ON CONFLICT (topic) DO UPDATE SET server = excluded.server, epoch = excluded.epoch
    WHERE gcom_owner.epoch < excluded.epoch"""


class NotOwner(Unavailable):
    """Another server owns the topic since a later decision; nothing was stored."""

    def __init__(self, topic: str, epoch: int) -> None:
        super().__init__(f"another server owns the topic {topic!r} now: it is asked again")
        self.topic, self.epoch = topic, epoch


def prepare(tx: Transaction, words: dict[str, str]) -> int:
    """Make the table where there is none; return the highest epoch."""
    tx.row(words["alone"])
    tx.change(_TABLE)
    found = tx.row("SELECT COALESCE(MAX(epoch), 0) FROM gcom_owner")
    return cast(int, found[0]) if found else 0


def fenced(tx: Transaction, topic: str, server: str, epoch: int, call: StoreCall[Any]) -> Any:
    """Carry out a call as the owner of a topic. Raise NotOwner where another server is that, by a later decision."""
    known = tx.row(f"SELECT server, epoch FROM gcom_owner WHERE topic = ?{tx.lock}", topic)
    if known is None or cast(int, known[1]) < epoch:
        tx.change(_CLAIM, topic, server, epoch)
        known = tx.row(f"SELECT server, epoch FROM gcom_owner WHERE topic = ?{tx.lock}", topic)
    if known != (server, epoch):
        raise NotOwner(topic, cast(int, known[1]) if known else 0)
    return call(tx)


def owners(tx: Transaction) -> dict[str, str]:
    """Return the servers that own topics, as the database has it."""
    return {str(topic): str(server) for topic, server in tx.rows("SELECT topic, server FROM gcom_owner")}
