"""The tables of a store, their version and their checksum.

Names begin with `gcom_`, so that topics may live in a file beside an application's own tables. A message's place is
its topic's number times 2**40, plus its offset: one tree holds it, and its key.
"""

from __future__ import annotations

import secrets
import zlib
from typing import cast

from gcom.topics.errors import NewerSchema, StoreDamaged
from gcom.topics.storage.transaction import Transaction

VERSION = 1
OFFSETS = 2**40  # of one topic
TABLES = (
    """CREATE TABLE gcom_topic (
        id {id}, name TEXT NOT NULL UNIQUE, first BIGINT NOT NULL, next BIGINT NOT NULL, at_ms BIGINT NOT NULL,
        bytes BIGINT NOT NULL, keep TEXT NOT NULL, bytes_most BIGINT NOT NULL, rate BIGINT NOT NULL,
        due_us BIGINT NOT NULL)""",
    """CREATE TABLE gcom_producer (
        id {id}, topic BIGINT NOT NULL, name TEXT NOT NULL, epoch BIGINT NOT NULL, seq BIGINT NOT NULL,
        trimmed BIGINT NOT NULL, UNIQUE (topic, name))""",
    """CREATE TABLE gcom_receipt (
        producer BIGINT NOT NULL, last BIGINT NOT NULL, first BIGINT NOT NULL, place BIGINT NOT NULL, n BIGINT NOT NULL,
        PRIMARY KEY (producer, last)){plain}""",
    """CREATE TABLE gcom_message (
        place {id}, producer BIGINT, seq BIGINT, at_ms BIGINT NOT NULL, slot BIGINT NOT NULL, key {bytes}, head {bytes},
        body {bytes} NOT NULL, digest BIGINT NOT NULL)""",
    """CREATE TABLE gcom_sub (
        id {id}, topic BIGINT NOT NULL, name TEXT NOT NULL, shards BIGINT NOT NULL, start BIGINT NOT NULL,
        tag BIGINT NOT NULL, UNIQUE (topic, name))""",
    """CREATE TABLE gcom_shard (
        sub BIGINT NOT NULL, no BIGINT NOT NULL, high BIGINT NOT NULL, holder TEXT NOT NULL, until_ms BIGINT NOT NULL,
        PRIMARY KEY (sub, no)){plain}""",
    """CREATE TABLE gcom_inflight (
        sub BIGINT NOT NULL, off BIGINT NOT NULL, no BIGINT NOT NULL, tag BIGINT NOT NULL, tries BIGINT NOT NULL,
        due_ms BIGINT NOT NULL, why TEXT NOT NULL, PRIMARY KEY (sub, off)){plain}""",
)
_STORE = "CREATE TABLE IF NOT EXISTS gcom_store (name TEXT PRIMARY KEY, value TEXT NOT NULL)"


def checksum() -> str:
    """Return the checksum of the tables of this version."""
    return f"{zlib.crc32(''.join(TABLES).encode()):08x}"


def prepare(tx: Transaction, words: dict[str, str], name: str) -> str:
    """Make the tables where there are none; return the store's own id. Raise NewerSchema, StoreDamaged."""
    tx.row(words["alone"])
    tx.change(_STORE)
    known = {str(key): str(value) for key, value in tx.rows("SELECT name, value FROM gcom_store")}
    if not known:
        known = {"version": str(VERSION), "checksum": checksum(), "id": secrets.token_hex(8)}
        for table in TABLES:
            tx.change(table.format(**words))
        for key, value in {**known, "topics": "0", "producers": "0", "subs": "0"}.items():
            tx.change("INSERT INTO gcom_store (name, value) VALUES (?, ?)", key, value)
    if int(known["version"]) > VERSION:
        raise NewerSchema(
            f"{name!r} has version {known['version']} of a store's tables, made by a newer GCom; this one knows up to "
            f"version {VERSION}: update GCom"
        )
    if known["checksum"] != checksum():
        raise StoreDamaged(
            f"the tables of {name!r} are not those of version {known['version']}: expected a store of it"
        )
    return known["id"]


def count(tx: Transaction, what: str) -> int:
    """Return the next number for a topic, a producer or a subscription: none is used twice."""
    found = tx.changed(
        "UPDATE gcom_store SET value = CAST(CAST(value AS BIGINT) + 1 AS TEXT) WHERE name = ? RETURNING value", what
    )
    assert found is not None, f"the store counts no {what}"
    return int(cast(str, found[0]))
