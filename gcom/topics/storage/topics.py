"""Topics in a store: created, found, listed, deleted, and read."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import cast

from gcom.topics import headers
from gcom.topics.errors import StoreDamaged, UnknownTopic
from gcom.topics.storage import schema
from gcom.topics.storage.schema import OFFSETS
from gcom.topics.storage.transaction import SqlRow, Transaction
from gcom.topics.values import NONE_SENT, Entry, Keep, TopicMessage

NO_LIMIT = 2**62
_INFO = "SELECT id, name, first, next, bytes, keep, bytes_most, rate FROM gcom_topic"

_MESSAGES = """SELECT m.place, m.body, m.head, m.key, p.name, m.seq, m.at_ms, m.digest
    FROM gcom_message m LEFT JOIN gcom_producer p ON p.id = m.producer"""


@dataclass(frozen=True, slots=True)
class TopicInfo:
    """A topic as its row says: offsets from `first` up to, and without, `next` are kept.

    `bytes` are those of their bodies. `keep` has the bounds of what it keeps. Appends beyond `bytes_most` bytes, or
    beyond `rate_most` messages a second, are refused; None is no limit.
    """

    id: int
    name: str
    first: int
    next: int
    bytes: int
    keep: Keep
    bytes_most: int | None
    rate_most: int | None

    @property
    def count(self) -> int:
        """Return the number of messages that are kept."""
        return self.next - self.first


@dataclass(frozen=True, slots=True)
class ProducerInfo:
    """A producer of a topic, and its last stored sequence; None if it has stored nothing."""

    name: str
    last_seq: int | None


def producers(tx: Transaction, topic: int) -> list[ProducerInfo]:
    """Return the producers of a topic, by name."""
    found = tx.rows("SELECT name, seq FROM gcom_producer WHERE topic = ? ORDER BY name", topic)
    rows = cast(list[tuple[str, int]], found)
    return [ProducerInfo(name, None if seq == NONE_SENT else seq) for name, seq in rows]


def retire(tx: Transaction, topic: int, name: str) -> bool:
    """Forget a producer; its messages stay. Return whether there was one."""
    found = tx.row("SELECT id FROM gcom_producer WHERE topic = ? AND name = ?", topic, name)
    if found is None:
        return False
    tx.change("DELETE FROM gcom_receipt WHERE producer = ?", found[0])
    tx.change("DELETE FROM gcom_producer WHERE id = ?", found[0])
    return True


def trimmed(tx: Transaction, topic: int) -> dict[str, int]:
    """Return the producers of a topic, with the last sequence of each whose message is not kept."""
    rows = tx.rows("SELECT name, trimmed FROM gcom_producer WHERE topic = ? ORDER BY name", topic)
    return dict(cast(list[tuple[str, int]], rows))


def begin_at(tx: Transaction, topic: int, first: int, producers: Mapping[str, int]) -> None:
    """Have a new topic begin at an offset, with producers whose messages up to a sequence are not kept."""
    tx.change("UPDATE gcom_topic SET first = ?, next = ? WHERE id = ?", first, first, topic)
    for name, last in producers.items():
        number = schema.count(tx, "producers")
        tx.change(
            "INSERT INTO gcom_producer (id, topic, name, epoch, seq, trimmed) VALUES (?, ?, ?, 1, ?, ?)",
            *(number, topic, name, last, last),
        )


def set_times(tx: Transaction, topic: int, first: int, times: Sequence[int | None]) -> None:
    """Have messages from an offset on be stored at times; None is now."""
    known = [(at, place(topic, offset)) for offset, at in enumerate(times, start=first) if at is not None]
    if known:
        tx.many("UPDATE gcom_message SET at_ms = ? WHERE place = ?", known)
        tx.change("UPDATE gcom_topic SET at_ms = ? WHERE id = ?", known[-1][0], topic)


def place(topic: int, offset: int) -> int:
    """Return where a message is in its table."""
    return topic * OFFSETS + offset


def find(tx: Transaction, name: str) -> int | None:
    """Return the number of a topic; None if it is not there."""
    found = tx.row("SELECT id FROM gcom_topic WHERE name = ?", name)
    return cast(int, found[0]) if found else None


def ensure(tx: Transaction, name: str) -> int:
    """Return the number of a topic, which is made if it is not there. Numbers are never used again."""
    if (found := find(tx, name)) is not None:
        return found
    number = schema.count(tx, "topics")  # from here on nobody else makes one
    if (found := find(tx, name)) is not None:
        return found
    tx.change(
        "INSERT INTO gcom_topic (id, name, first, next, at_ms, bytes, keep, bytes_most, rate, due_us) "
        "VALUES (?, ?, 0, 0, 0, 0, '', ?, 0, 0)",
        *(number, name, NO_LIMIT),
    )
    return number


def info(tx: Transaction, name: str) -> TopicInfo:
    """Return a topic's row; raise UnknownTopic."""
    if found := tx.row(f"{_INFO} WHERE name = ?", name):
        return _info_of(found)
    raise UnknownTopic(f"the store has no topic {name!r}: make it with store.topic({name!r}), or gcom topics create")


def listed(tx: Transaction) -> list[TopicInfo]:
    """Return all topics, by name."""
    return [_info_of(row) for row in tx.rows(f"{_INFO} ORDER BY name")]


def _info_of(row: SqlRow) -> TopicInfo:
    *begin, keep, most, rate = row
    known = cast(tuple[int, str, int, int, int], begin)
    return TopicInfo(
        *known, read_keep(cast(str, keep)), None if most == NO_LIMIT else cast(int, most), cast(int, rate) or None
    )


def bound(tx: Transaction, topic: int, name: str, keep: Keep, bytes_most: int | None, rate_most: int | None) -> None:
    """Give a topic bounds for what it keeps, and limits for what is appended; raise UnknownTopic."""
    kept = {key: value for key, value in asdict(keep).items() if value is not None and value is not False}
    done = tx.change(
        "UPDATE gcom_topic SET keep = ?, bytes_most = ?, rate = ?, due_us = 0 WHERE id = ?",
        *(json.dumps(kept) if keep.is_bounded else "", NO_LIMIT if bytes_most is None else bytes_most),
        *(rate_most or 0, topic),
    )
    if not done:
        raise deleted(name)


def read_keep(text: str) -> Keep:
    """Return the bounds that a topic's row has."""
    return Keep(**json.loads(text)) if text else Keep()


def deleted(name: str) -> UnknownTopic:
    """Return the error of a topic that is not there any more."""
    return UnknownTopic(f"the topic {name!r} was deleted: open it again to make a new one")


def delete(tx: Transaction, name: str) -> int:
    """Delete a topic with its messages, and forget its producers; return how many messages it had."""
    found = info(tx, name)
    tx.row(f"SELECT id FROM gcom_topic WHERE id = ?{tx.lock}", found.id)
    begin, end = place(found.id, 0), place(found.id + 1, 0)
    tx.change("DELETE FROM gcom_receipt WHERE producer IN (SELECT id FROM gcom_producer WHERE topic = ?)", found.id)
    tx.change("DELETE FROM gcom_producer WHERE topic = ?", found.id)
    gone = tx.change("DELETE FROM gcom_message WHERE place >= ? AND place < ?", begin, end)
    for table in ("gcom_inflight", "gcom_shard"):
        tx.change(f"DELETE FROM {table} WHERE sub IN (SELECT id FROM gcom_sub WHERE topic = ?)", found.id)
    tx.change("DELETE FROM gcom_sub WHERE topic = ?", found.id)
    tx.change("DELETE FROM gcom_topic WHERE id = ?", found.id)
    return gone


def bounds(tx: Transaction, topic: int, name: str) -> tuple[int, int]:
    """Return the first offset that is kept, and the next one to come; raise UnknownTopic."""
    if found := tx.row("SELECT first, next FROM gcom_topic WHERE id = ?", topic):
        return cast(tuple[int, int], found)
    raise deleted(name)


def offset_at(tx: Transaction, topic: int, name: str, at_ms: int) -> int:
    """Return the first offset whose message is not older than a time; the times of a topic never fall."""
    return first_since(tx, topic, at_ms, bounds(tx, topic, name))


def first_since(tx: Transaction, topic: int, at_ms: int, ends: tuple[int, int]) -> int:
    """Return the first offset between two whose message is not older than a time."""
    low, high = ends
    while low < high:
        middle = (low + high) // 2
        found = tx.row("SELECT at_ms FROM gcom_message WHERE place = ?", place(topic, middle))
        if found is None or cast(int, found[0]) < at_ms:
            low = middle + 1
        else:
            high = middle
    return low


def place_after(tx: Transaction, topic: int, name: str, after: int | str | None, at_ms: int | None) -> int:
    """Return the offset at which a reader begins: behind an offset, at an end of the topic, or at a time."""
    first, following = bounds(tx, topic, name)
    if at_ms is not None:
        return offset_at(tx, topic, name, at_ms)
    if isinstance(after, int):
        return after + 1
    return following if after == "latest" else first


def read(tx: Transaction, topic: int, name: str, begin: int, count: int) -> list[TopicMessage]:
    """Return up to `count` messages from an offset on. Raise StoreDamaged for one that its checksum does not match."""
    found = tx.rows(
        f"{_MESSAGES} WHERE m.place >= ? AND m.place < ? ORDER BY m.place LIMIT ?",
        place(topic, begin),
        place(topic + 1, 0),
        count,
    )
    messages = [message_of(row, topic, name) for row in found]
    if messages and messages[-1].offset - messages[0].offset >= len(messages):
        there = {it.offset for it in messages}
        missing = next(it for it in range(messages[0].offset, messages[-1].offset) if it not in there)
        raise StoreDamaged(f"message {missing} of topic {name!r} is missing: keep the file, use a backup")
    return messages


def read_shard(
    tx: Transaction, topic: int, name: str, begin: int, shard: tuple[int, int], count: int
) -> list[TopicMessage]:
    """Return up to `count` messages of one shard, given as (number of shards, its own), from an offset on."""
    if shard[0] == 1:
        return read(tx, topic, name, begin, count)
    found = tx.rows(
        f"{_MESSAGES} WHERE m.place >= ? AND m.place < ? AND m.slot % ? = ? ORDER BY m.place LIMIT ?",
        *(place(topic, begin), place(topic + 1, 0), *shard, count),
    )
    return [message_of(row, topic, name) for row in found]


def stored_at(tx: Transaction, topic: int, offset: int) -> int | None:
    """Return when a message was stored; None if it is not there."""
    found = tx.row("SELECT at_ms FROM gcom_message WHERE place = ?", place(topic, offset))
    return cast(int, found[0]) if found else None


def slot(tx: Transaction, topic: int, offset: int) -> int:
    """Return the slot of a stored message."""
    found = tx.row("SELECT slot FROM gcom_message WHERE place = ?", place(topic, offset))
    return cast(int, found[0]) if found else 0


def check(tx: Transaction, topic: TopicInfo, begin: int, count: int) -> tuple[list[str], int]:
    """Return what is wrong with up to `count` messages from an offset on, and the offset to go on with."""
    upto = min(begin + count, topic.next)
    found = tx.rows(
        f"{_MESSAGES} WHERE m.place >= ? AND m.place < ? ORDER BY m.place",
        place(topic.id, begin),
        place(topic.id, upto),
    )
    rows = {cast(int, row[0]) - place(topic.id, 0): row for row in found}
    first, _ = bounds(tx, topic.id, topic.name)  # behind the messages: what was trimmed meanwhile is not missing
    faults = []
    for offset in range(max(begin, first), upto):
        if offset not in rows:
            faults.append(f"message {offset} of topic {topic.name!r} is missing")
        elif not _is_whole(rows[offset]):
            faults.append(f"message {offset} of topic {topic.name!r} does not match its checksum")
    return faults, upto


def _is_whole(row: SqlRow) -> bool:
    _, body, head, key, _, _, _, digest = cast(
        tuple[int, bytes, bytes | None, bytes | None, str | None, int | None, int, int], row
    )
    return Entry(0, bytes(body), key, head or b"").digest == digest


def message_of(row: SqlRow, topic: int, name: str) -> TopicMessage:
    """Return the message in a row, checked against its digest."""
    at, body, head, key, producer, seq, at_ms, _ = cast(
        tuple[int, bytes, bytes | None, bytes | None, str | None, int | None, int, int], row
    )
    offset = at - place(topic, 0)
    body = bytes(body)
    if not _is_whole(row):
        raise StoreDamaged(
            f"message {offset} of topic {name!r} does not match its checksum: keep the file, use a backup"
        )
    return TopicMessage(name, offset, body, headers.decode(head or b""), key, producer, seq, at_ms)
