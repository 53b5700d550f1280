"""Callers: clients whose numbered calls are carried out once, whatever is sent again, by any server of the database.

The number of a call, its result and what it changes are one transaction. A client says which answers it has: then
those results go, and their numbers are refused from then on. A client that is not known is refused, so forgetting one
can double nothing.
"""

from __future__ import annotations

from typing import Any, cast

from gcom.topics.served import codec
from gcom.topics.served.requests import CallForgotten
from gcom.topics.storage import subscriptions, topics
from gcom.topics.storage.subscriptions import HandedOut, Sub
from gcom.topics.storage.transaction import StoreCall, Transaction
from gcom.topics.values import SEQUENCE_MAX

KEPT_MS = 30 * 24 * 3600 * 1000  # of a client, since its last call
_TABLE = """CREATE TABLE IF NOT EXISTS gcom_caller (
    client TEXT NOT NULL, number BIGINT NOT NULL, upto BIGINT NOT NULL, at_ms BIGINT NOT NULL, reply {bytes},
    PRIMARY KEY (client, number))"""
_SEEN = """UPDATE gcom_caller SET at_ms = ?, upto = CASE WHEN upto < ? THEN ? ELSE upto END
    WHERE client = ? AND number = 0 RETURNING upto"""


def prepare(tx: Transaction, words: dict[str, str]) -> None:
    """Make the table where there is none, and forget clients that were killed long ago."""
    tx.row(words["alone"])
    tx.change(_TABLE.format(**words))
    tx.change(
        "DELETE FROM gcom_caller WHERE client IN (SELECT client FROM gcom_caller WHERE number = 0 AND at_ms < ?)",
        tx.now_ms() - KEPT_MS,
    )


def greet(tx: Transaction, client: str) -> None:
    """Know a client from now on."""
    sql = "INSERT INTO gcom_caller (client, number, upto, at_ms) VALUES (?, 0, 0, ?) ON CONFLICT DO NOTHING"
    tx.change(sql, client, tx.now_ms())


def forget(tx: Transaction, client: str) -> None:
    """Refuse whatever arrives of a client, which has all its answers; what is kept of it goes."""
    tx.change("DELETE FROM gcom_caller WHERE client = ? AND number > 0", client)
    tx.change("UPDATE gcom_caller SET upto = ? WHERE client = ?", SEQUENCE_MAX, client)


def once(tx: Transaction, client: str, number: int, upto: int, call: StoreCall[Any]) -> Any:
    """Carry out a client's call, or return the result that it had; the client has the answers `upto` a number."""
    now = tx.now_ms()
    known = tx.changed(_SEEN, now, upto, upto, client)
    if known is None or number <= cast(int, known[0]):
        raise CallForgotten("this call is not known any more: whether it was carried out is not known either")
    found = tx.row("SELECT reply FROM gcom_caller WHERE client = ? AND number = ?", client, number)
    if found is not None:
        return _told(tx, call, codec.unpack(bytes(cast(bytes, found[0]))))
    if upto:
        tx.change("DELETE FROM gcom_caller WHERE client = ? AND number > 0 AND number <= ?", client, upto)
    result = call(tx)
    tx.change(
        "INSERT INTO gcom_caller (client, number, upto, at_ms, reply) VALUES (?, ?, 0, ?, ?)",
        *(client, number, now, codec.pack(_kept(call, result))),
    )
    return result


def _kept(call: StoreCall[Any], result: Any) -> Any:
    """Return what is kept of a result: messages that were handed out are in their topic."""
    if call.function is subscriptions.fetch:
        return [(it.message.offset, it.tag, it.tries) for it in result]
    return result


def _told(tx: Transaction, call: StoreCall[Any], kept: Any) -> Any:
    if call.function is not subscriptions.fetch:
        return kept
    sub = cast(Sub, call.arguments[0])
    found = [(topics.read(tx, sub.topic, sub.topic_name, off, 1), off, tag, tries) for off, tag, tries in kept]
    return [HandedOut(them[0], tag, tries) for them, off, tag, tries in found if them and them[0].offset == off]
