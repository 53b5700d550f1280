"""Trimming: the oldest messages of a topic are deleted; what their producers sent stays known as sent.

A topic that has bounds of its own (`keep`) is trimmed by those that append to it: a small step for each STEP messages,
in the transaction of the append. A step deletes more than came, so a topic is back within its bounds after a while.
"""

from __future__ import annotations

from typing import cast

from gcom.topics.storage import topics
from gcom.topics.storage.topics import place
from gcom.topics.storage.transaction import Transaction
from gcom.topics.values import Keep

CHUNK = 10_000  # messages in one transaction, so that producers wait for some milliseconds only
STEP = 256  # messages that are appended for each step
STEP_MAX = 4 * STEP  # messages that a step deletes at most


def _wanted(tx: Transaction, topic: int, name: str, keep: Keep, limit: int) -> tuple[int, int]:
    """Return the first offset that is kept now, and the one that is to be; they differ by `limit` at most."""
    first, following = topics.bounds(tx, topic, name)
    upto = min(following, first + limit, following if keep.unread_too else max(first, _unread(tx, topic, following)))
    wanted = [first, keep.before or 0]
    if keep.count is not None:
        wanted.append(following - keep.count)
    if keep.age_ms is not None:
        wanted.append(topics.first_since(tx, topic, tx.now_ms() - keep.age_ms, (first, upto)))
    if keep.size_bytes is not None:
        wanted.append(_by_size(tx, topic, (first, upto), keep.size_bytes))
    return first, min(max(wanted), upto)


def _by_size(tx: Transaction, topic: int, ends: tuple[int, int], size_bytes: int) -> int:
    """Return the first offset between two with which, and all behind it, a topic has no more than a size."""
    first, upto = ends
    found = tx.row("SELECT bytes FROM gcom_topic WHERE id = ?", topic)
    over = cast(int, found[0]) - size_bytes if found else 0
    if over <= 0:
        return first
    sizes = tx.rows(
        "SELECT LENGTH(body) FROM gcom_message WHERE place >= ? AND place < ? ORDER BY place",
        *(place(topic, first), place(topic, upto)),
    )
    for offset, (size,) in enumerate(cast(list[tuple[int]], sizes), start=first):
        if over <= 0:
            return offset
        over -= size
    return upto


def _unread(tx: Transaction, topic: int, following: int) -> int:
    """Return the first offset that some subscription has not done."""
    of_topic = "WHERE sub IN (SELECT id FROM gcom_sub WHERE topic = ?)"
    looked = tx.row(f"SELECT MIN(high) + 1 FROM gcom_shard {of_topic}", topic)
    handed = tx.row(f"SELECT MIN(off) FROM gcom_inflight {of_topic}", topic)
    return min([following, *(cast(int, row[0]) for row in (looked, handed) if row and row[0] is not None)])


def trim(tx: Transaction, topic: int, name: str, keep: Keep) -> tuple[int, bool]:
    """Delete the oldest messages, up to a bound; return how many went, and whether there may be more to go."""
    return _trim(tx, topic, name, keep, CHUNK)


def step(tx: Transaction, topic: int, name: str, keep: str) -> int:
    """Delete a few messages that a topic is not to keep; return how many went."""
    return _trim(tx, topic, name, topics.read_keep(keep), STEP_MAX)[0]


def _trim(tx: Transaction, topic: int, name: str, keep: Keep, limit: int) -> tuple[int, bool]:
    tx.row(f"SELECT id FROM gcom_topic WHERE id = ?{tx.lock}", topic)
    first, upto = _wanted(tx, topic, name, keep, limit)
    if upto <= first:
        return 0, False
    ends = place(topic, first), place(topic, upto)
    in_range = "FROM gcom_message WHERE place >= ? AND place < ?"
    by_producer = f"SELECT producer, MAX(seq) {in_range} AND producer IS NOT NULL GROUP BY producer"
    for producer, last in tx.rows(by_producer, *ends):
        tx.change("UPDATE gcom_producer SET trimmed = ? WHERE id = ? AND trimmed < ?", last, producer, last)
        tx.change("DELETE FROM gcom_receipt WHERE producer = ? AND last <= ?", producer, last)
    size = tx.row(f"SELECT CAST(COALESCE(SUM(LENGTH(body)), 0) AS BIGINT) {in_range}", *ends)
    gone = tx.change("DELETE FROM gcom_message WHERE place >= ? AND place < ?", *ends)
    tx.change("UPDATE gcom_topic SET first = ?, bytes = bytes - ? WHERE id = ?", upto, size[0] if size else 0, topic)
    return gone, upto == first + limit
