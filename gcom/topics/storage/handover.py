"""Messages for clients that take one at a time, and topics that another system's server hands over.

A client names the message that it received last. If that is the first one that is not done, it is done, and the next
one is the answer. Asked again with the same name, the answer is the same, and nothing more is done: so a client may ask
as often as it likes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from gcom.errors import BadValue
from gcom.topics import headers
from gcom.topics.errors import SequenceReused, UnknownSubscription
from gcom.topics.storage import appends, subscriptions, topics
from gcom.topics.storage.appends import Target
from gcom.topics.storage.subscriptions import Sub
from gcom.topics.storage.transaction import Transaction
from gcom.topics.values import NEXT_SEQ, Entry, TopicMessage

ID_HEADER, SERVER_HEADER = "z-id", "z-server"  # of a message that was handed over: its name and server of before


def id_of(topic: int, message: TopicMessage) -> str:
    """Return the name of a message: the one that it had before it was handed over, else TOPIC.OFFSET by numbers."""
    return message.headers.get(ID_HEADER) or f"{topic}.{message.offset}"


def next_after(tx: Transaction, topic: int, topic_name: str, name: str, last: str) -> TopicMessage | None:
    """Return the next message of a subscription for a client that has the message `last`; None if there is none."""
    sub = _sub(tx, topic, topic_name, name)
    high = subscriptions.high(tx, sub, 0)
    found = _first(tx, sub, high)
    if found is None or id_of(topic, found) != last:
        return found
    if found.offset > high:
        subscriptions.move(tx, sub, 0, high, found.offset)
    else:
        tx.change("DELETE FROM gcom_inflight WHERE sub = ? AND off = ?", sub.id, found.offset)
    return _first(tx, sub, max(high, found.offset))


def _sub(tx: Transaction, topic: int, topic_name: str, name: str) -> Sub:
    found = tx.row("SELECT id, shards, start FROM gcom_sub WHERE topic = ? AND name = ?", topic, name)
    if found is None:
        raise UnknownSubscription(f"{name!r} has not subscribed to topic {topic_name!r}")
    sub = Sub(*cast(tuple[int, int, int], found), topic, topic_name, name)
    if sub.shards != 1:
        raise BadValue(f"subscription {name!r} has {sub.shards} shards: to take one message at a time it needs 1")
    return sub


def _first(tx: Transaction, sub: Sub, high: int) -> TopicMessage | None:
    """Return the first message that is not done."""
    while waiting := tx.row("SELECT MIN(off) FROM gcom_inflight WHERE sub = ?", sub.id):
        if waiting[0] is None:
            break
        offset = cast(int, waiting[0])
        found = topics.read(tx, sub.topic, sub.topic_name, offset, 1)
        if found and found[0].offset == offset:
            return found[0]
        tx.change("DELETE FROM gcom_inflight WHERE sub = ? AND off = ?", sub.id, offset)  # trimmed meanwhile
    found, _ = subscriptions.look(tx, sub, 0, high, {}, 1)
    return found[0] if found else None


def take_over(
    tx: Transaction,
    target: Target,
    server: str,
    pending: Sequence[tuple[str, list[str]]],
    messages: Sequence[tuple[str, bytes]],
) -> int:
    """Store messages of another system's server, and what each of its subscribers has yet to receive.

    Return how many messages were new. The same again changes nothing: also no subscription that ended since comes back.
    Raise SequenceReused, and change nothing, for a name that another message of that server has here.
    """
    opened = appends.claim(tx, target.topic, f"transfer:{server}")
    known = _handed_over(tx, target.topic, opened.id)
    drafts = {id: _draft(target, server, id, body) for id, body in messages}
    for id, draft in drafts.items():
        if known.get(id, draft.digest) != draft.digest:
            raise SequenceReused(f"message {id!r} of topic {target.name!r} was handed over before, with another body")
    fresh = [id for id in drafts if id not in known]
    if known and not fresh:
        return 0
    _, following = topics.bounds(tx, target.topic, target.name)
    if fresh:
        receipts = appends.append_next(tx, target, opened, [drafts[id] for id in fresh])
        following = cast(int, receipts[0].offset)
    offsets = {id: following + number for number, id in enumerate(fresh)}
    for name, ids in pending:
        sub = subscriptions.ensure(tx, target.topic, target.name, name, 1, following)
        _await(tx, sub, (following, following + len(fresh)), sorted(offsets[id] for id in ids if id in offsets))
    return len(fresh)


def _handed_over(tx: Transaction, topic: int, producer: int) -> dict[str, int]:
    """Return the digests of what a server handed over, by name."""
    sql = "SELECT head, digest FROM gcom_message WHERE place >= ? AND place < ? AND producer = ?"
    rows = tx.rows(sql, topics.place(topic, 0), topics.place(topic + 1, 0), producer)
    found = [(headers.decode(head or b""), digest) for head, digest in cast(list[tuple[bytes | None, int]], rows)]
    return {head[ID_HEADER]: digest for head, digest in found if ID_HEADER in head}


def _draft(target: Target, server: str, id: str, body: bytes) -> Entry:
    if id.startswith(f"{target.topic}."):
        raise BadValue(f"message {id!r} has a name as this store gives them: it would be taken for one of its own")
    return Entry(NEXT_SEQ, body, None, headers.encode({ID_HEADER: id, SERVER_HEADER: server}))


def _await(tx: Transaction, sub: Sub, ends: tuple[int, int], pending: Sequence[int]) -> None:
    """Have a subscription receive, of the messages between two offsets, those that are pending."""
    high = subscriptions.high(tx, sub, 0)
    unread = range(high + 1, ends[0])  # of a subscription that was here before
    tx.many(
        "INSERT INTO gcom_inflight (sub, off, no, tag, tries, due_ms, why) VALUES (?, ?, 0, 0, 0, 0, '')",
        [(sub.id, offset) for offset in (*unread, *pending)],
    )
    subscriptions.move(tx, sub, 0, high, ends[1] - 1)
