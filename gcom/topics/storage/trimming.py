"""Trimming: the oldest messages of a topic are deleted; what their producers sent stays known as sent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from gcom.topics.storage import topics
from gcom.topics.storage.topics import place
from gcom.topics.storage.transaction import Transaction

CHUNK = 10_000  # messages in one transaction, so that producers wait for some milliseconds only


@dataclass(frozen=True, slots=True)
class Keep:
    """The bounds of a topic: a message goes as soon as one of these says so."""

    before: int | None = None  # messages below this offset go
    count: int | None = None
    age_ms: int | None = None
    size_bytes: int | None = None
    unread_too: bool = False  # also what a subscription has not acknowledged


def first_to_keep(tx: Transaction, topic: int, name: str, keep: Keep) -> int:
    """Return the first offset that is to be kept."""
    first, following = topics.bounds(tx, topic, name)
    wanted = [first]
    if keep.before is not None:
        wanted.append(keep.before)
    if keep.count is not None:
        wanted.append(following - keep.count)
    if keep.age_ms is not None:
        wanted.append(topics.offset_at(tx, topic, name, tx.now_ms() - keep.age_ms))
    if keep.size_bytes is not None:
        wanted.append(_by_size(tx, topic, following, keep.size_bytes))
    most = following if keep.unread_too else _unread(tx, topic, following)
    return min(max(wanted), most, following)


def _by_size(tx: Transaction, topic: int, following: int, size_bytes: int) -> int:
    found = tx.row(
        """SELECT MIN(place) FROM (
            SELECT place, SUM(LENGTH(body)) OVER (ORDER BY place DESC) AS total FROM gcom_message
            WHERE place >= ? AND place < ?) newest WHERE total <= ?""",
        *(place(topic, 0), place(topic, following), size_bytes),
    )
    return following if found is None or found[0] is None else cast(int, found[0]) - place(topic, 0)


def _unread(tx: Transaction, topic: int, following: int) -> int:
    """Return the first offset that some subscription has not done."""
    of_topic = "WHERE sub IN (SELECT id FROM gcom_sub WHERE topic = ?)"
    looked = tx.row(f"SELECT MIN(high) + 1 FROM gcom_shard {of_topic}", topic)
    handed = tx.row(f"SELECT MIN(off) FROM gcom_inflight {of_topic}", topic)
    return min([following, *(cast(int, row[0]) for row in (looked, handed) if row and row[0] is not None)])


def trim(tx: Transaction, topic: int, name: str, keep: Keep) -> tuple[int, bool]:
    """Delete the oldest messages, up to a bound; return how many went, and whether there are more to go."""
    tx.row(f"SELECT id FROM gcom_topic WHERE id = ?{tx.lock}", topic)
    first, _ = topics.bounds(tx, topic, name)
    wanted = first_to_keep(tx, topic, name, keep)
    upto = min(wanted, first + CHUNK)
    if upto <= first:
        return 0, False
    ends = place(topic, first), place(topic, upto)
    in_range = "FROM gcom_message WHERE place >= ? AND place < ? AND producer IS NOT NULL GROUP BY producer"
    for producer, last in tx.rows(f"SELECT producer, MAX(seq) {in_range}", *ends):
        tx.change("UPDATE gcom_producer SET trimmed = ? WHERE id = ? AND trimmed < ?", last, producer, last)
        tx.change("DELETE FROM gcom_receipt WHERE producer = ? AND last <= ?", producer, last)
    gone = tx.change("DELETE FROM gcom_message WHERE place >= ? AND place < ?", *ends)
    tx.change("UPDATE gcom_topic SET first = ? WHERE id = ?", upto, topic)
    return gone, upto < wanted
