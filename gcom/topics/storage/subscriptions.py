"""Subscriptions: which messages were handed to which consumer, and which are acknowledged.

A shard's `high` is the last offset that was looked at; of what lies at or below it, the rows of `gcom_inflight` are not
acknowledged, and all else is done. Each delivery has a tag of its own: an acknowledgement with an older tag changes
nothing. A lease says which consumer is served; it is a matter of speed, and the tags are what is safe.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, cast

from gcom.errors import BadValue
from gcom.topics import headers
from gcom.topics.crash_points import CRASH_POINTS
from gcom.topics.errors import StaleAck, UnknownSubscription
from gcom.topics.holder import is_gone
from gcom.topics.storage import appends, schema, topics
from gcom.topics.storage.transaction import Transaction
from gcom.topics.values import Entry, TopicMessage

LOOK_ON = 256
LOOK = 1024  # messages that one fetch looks at, at most
LEASES_MAX = 4  # a lease that ends later than so many of its lengths from now is of a clock that was set back


@dataclass(frozen=True, slots=True)
class Terms:
    """How a consumer takes messages: its shards, its patience, and what becomes of those that fail."""

    competing: bool = False
    tries: int | None = 5
    wait_ms: int = 30_000
    dead: str = ""
    where: Mapping[str, str] = field(default_factory=dict)


class Sub(NamedTuple):
    """A subscription's row, with its topic."""

    id: int
    shards: int
    start: int
    topic: int
    topic_name: str
    name: str


class HandedOut(NamedTuple):
    """A message that is handed to a consumer, for the `tries`-th time."""

    message: TopicMessage
    tag: int
    tries: int


@dataclass(frozen=True, slots=True)
class SubscriptionInfo:
    """The place that a subscription has reached: `lag` messages are not yet done, `in_flight` of them handed out."""

    name: str
    shards: int
    lag: int
    in_flight: int
    oldest: int | None  # the first offset that is handed out and not acknowledged
    waiting_since_ms: int | None  # when the oldest message was stored that is not done; None if all are


class SubscriptionPlace(NamedTuple):
    """Where a subscription is: the last offset that each shard looked at, and what was handed out and is not done."""

    name: str
    shards: int
    start: int
    high: Sequence[int]
    handed: Sequence[int]

    def pending(self, slots: Mapping[int, int]) -> list[int]:
        """Return the offsets that are not done, of those whose slots are given."""
        waiting = set(self.handed)
        return [it for it, slot in slots.items() if it in waiting or it > self.high[slot % self.shards]]


def places(tx: Transaction, topic: int, topic_name: str) -> list[SubscriptionPlace]:
    """Return where each subscription of a topic is, by name."""
    found = []
    for it in infos(tx, topic, topic_name):
        row = tx.row("SELECT id, start FROM gcom_sub WHERE topic = ? AND name = ?", topic, it.name)
        number, start = cast(tuple[int, int], row)
        high = tx.rows("SELECT high FROM gcom_shard WHERE sub = ? ORDER BY no", number)
        handed = tx.rows("SELECT off FROM gcom_inflight WHERE sub = ? ORDER BY off", number)
        numbers = [[cast(int, row[0]) for row in rows] for rows in (high, handed)]
        found.append(SubscriptionPlace(it.name, it.shards, start, *numbers))
    return found


def restore(tx: Transaction, topic: int, topic_name: str, found: Sequence[SubscriptionPlace]) -> None:
    """Make subscriptions that are where they are said to be; what was handed out is handed out again."""
    for it in found:
        sub = ensure(tx, topic, topic_name, it.name, it.shards, it.start)
        for no, last in enumerate(it.high):
            tx.change("UPDATE gcom_shard SET high = ? WHERE sub = ? AND no = ?", last, sub.id, no)
        tx.many(
            "INSERT INTO gcom_inflight (sub, off, no, tag, tries, due_ms, why) VALUES (?, ?, ?, 0, 0, 0, '')",
            [(sub.id, off, topics.slot(tx, topic, off) % it.shards) for off in it.handed],
        )


def ensure(tx: Transaction, topic: int, topic_name: str, name: str, shards: int, start: int) -> Sub:
    """Return a subscription, which is made if it is not there. Raise BadValue where it has other shards."""
    known = "SELECT id, shards, start FROM gcom_sub WHERE topic = ? AND name = ?"
    found = tx.row(known, topic, name)
    if found is None:
        number = schema.count(tx, "subs")  # from here on nobody else makes one
        found = tx.row(known, topic, name)
    if found is None:
        tx.change(
            "INSERT INTO gcom_sub (id, topic, name, shards, start, tag) VALUES (?, ?, ?, ?, ?, 0)",
            *(number, topic, name, shards, start),
        )
        for no in range(shards):
            tx.change(
                "INSERT INTO gcom_shard (sub, no, high, holder, until_ms) VALUES (?, ?, ?, '', 0)",
                number,
                no,
                start - 1,
            )
        found = number, shards, start
    kept = Sub(*cast(tuple[int, int, int], found), topic, topic_name, name)
    if kept.shards != shards:
        raise BadValue(
            f"subscription {name!r} has {kept.shards} shards, not {shards}: end it first to have another number"
        )
    return kept


def end(tx: Transaction, topic: int, name: str) -> bool:
    """End a subscription; return whether there was one. Its messages are no longer to be received."""
    found = tx.row("SELECT id FROM gcom_sub WHERE topic = ? AND name = ?", topic, name)
    if found is not None:
        for table, column in (("gcom_inflight", "sub"), ("gcom_shard", "sub"), ("gcom_sub", "id")):
            tx.change(f"DELETE FROM {table} WHERE {column} = ?", found[0])
    return found is not None


def infos(tx: Transaction, topic: int, topic_name: str) -> list[SubscriptionInfo]:
    """Return how far each subscription of a topic is, by name."""
    begin, following = topics.bounds(tx, topic, topic_name)
    found = tx.rows(
        """SELECT s.name, s.shards, (SELECT MIN(high) FROM gcom_shard h WHERE h.sub = s.id),
            (SELECT COUNT(*) FROM gcom_inflight i WHERE i.sub = s.id),
            (SELECT MIN(off) FROM gcom_inflight i WHERE i.sub = s.id)
            FROM gcom_sub s WHERE s.topic = ? ORDER BY s.name""",
        topic,
    )
    rows = cast(list[tuple[str, int, int, int, int | None]], found)
    infos = []
    for name, shards, last, n, oldest in rows:
        first = max(begin, last + 1 if oldest is None else min(oldest, last + 1))
        since = topics.stored_at(tx, topic, first) if first < following else None
        infos.append(SubscriptionInfo(name, shards, following - 1 - last + n, n, oldest, since))
    return infos


def has_news(tx: Transaction, sub: Sub) -> bool:
    """Tell whether a fetch might find something: a query without a lock, for consumers that wait."""
    _, following = topics.bounds(tx, sub.topic, sub.topic_name)
    due = "SELECT 1 FROM gcom_inflight WHERE sub = ? AND due_ms <= ? LIMIT 1"
    news = "SELECT 1 FROM gcom_shard WHERE sub = ? AND high < ? LIMIT 1"
    check(tx, sub)
    return tx.row(news, sub.id, following - 1) is not None or tx.row(due, sub.id, tx.now_ms()) is not None


def lease(tx: Transaction, sub: Sub, no: int, holder: str, wait_ms: int) -> int | None:
    """Take or renew the lease of a shard; return its `high`, None where another consumer has it."""
    found = tx.row(f"SELECT high, holder, until_ms FROM gcom_shard WHERE sub = ? AND no = ?{tx.lock}", sub.id, no)
    if found is None:
        raise ended(sub)
    high, other, until = cast(tuple[int, str, int], found)
    now = tx.now_ms()
    if _is_taken(other, until, now, holder, wait_ms):
        return None
    if other and other != holder:
        tx.change("UPDATE gcom_inflight SET due_ms = 0 WHERE sub = ? AND no = ? AND tag > 0", sub.id, no)
    tx.change(
        "UPDATE gcom_shard SET holder = ?, until_ms = ? WHERE sub = ? AND no = ?", holder, now + wait_ms, sub.id, no
    )
    return high


def _is_taken(other: str, until_ms: int, now_ms: int, holder: str, wait_ms: int) -> bool:
    """Tell whether another consumer has a lease."""
    return other not in ("", holder) and now_ms < until_ms < now_ms + LEASES_MAX * wait_ms and not is_gone(other)


def leases(tx: Transaction, sub: Sub, holder: str, wait_ms: int) -> list[int]:
    """Take or renew the leases of all shards that are free; return the shards that this consumer then has."""
    return [no for no in range(sub.shards) if lease(tx, sub, no, holder, wait_ms) is not None]


def has_free(tx: Transaction, sub: Sub, holder: str, wait_ms: int) -> bool:
    """Tell whether there is a shard that this consumer may have and has not: a query without a lock."""
    found = tx.rows("SELECT holder, until_ms FROM gcom_shard WHERE sub = ? AND holder <> ?", sub.id, holder)
    rows = cast(list[tuple[str, int]], found)
    return any(not _is_taken(other, until, tx.now_ms(), holder, wait_ms) for other, until in rows)


def release(tx: Transaction, sub: Sub, holder: str, seen: Sequence[HandedOut], unseen: Sequence[HandedOut]) -> None:
    """Give back leases and messages; those that the application never saw do not count as tried."""
    for handed, tried in ((seen, 0), (unseen, 1)):
        for it in handed:
            tx.change(
                "UPDATE gcom_inflight SET tag = 0, due_ms = 0, tries = tries - ? WHERE sub = ? AND off = ? AND tag = ?",
                *(tried, sub.id, it.message.offset, it.tag),
            )
    tx.change("UPDATE gcom_shard SET holder = '', until_ms = 0 WHERE sub = ? AND holder = ?", sub.id, holder)


def fetch(tx: Transaction, sub: Sub, holder: str, terms: Terms, count: int) -> list[HandedOut]:
    """Hand out up to `count` messages: first those that are due again, then new ones."""
    found = tx.changed("UPDATE gcom_sub SET tag = tag + 1 WHERE id = ? RETURNING tag", sub.id)
    if found is None:
        raise ended(sub)
    tag, handed = cast(int, found[0]), list[HandedOut]()
    for no in range(sub.shards):
        upto = high(tx, sub, no) if terms.competing else lease(tx, sub, no, holder, terms.wait_ms)
        if upto is not None and len(handed) < count:
            handed += _again(tx, sub, no, tag, terms, count - len(handed))
            handed += _new(tx, sub, no, upto, tag, terms, count - len(handed))
    return handed


def move(tx: Transaction, sub: Sub, no: int, previous: int, upto: int) -> bool:
    """Move the cursor of a shard on by compare-and-set; False if it moved meanwhile."""
    sql = "UPDATE gcom_shard SET high = ? WHERE sub = ? AND no = ? AND high = ?"
    return tx.change(sql, upto, sub.id, no, previous) > 0


def high(tx: Transaction, sub: Sub, no: int) -> int:
    """Return the last offset that was looked at for a shard; raise UnknownSubscription."""
    found = tx.row(f"SELECT high FROM gcom_shard WHERE sub = ? AND no = ?{tx.lock}", sub.id, no)
    if found is None:
        raise ended(sub)
    return cast(int, found[0])


def look_at(tx: Transaction, sub: Sub, no: int) -> int:
    """Return what `high` does, and lock nothing."""
    found = tx.row("SELECT high FROM gcom_shard WHERE sub = ? AND no = ?", sub.id, no)
    if found is None:
        raise ended(sub)
    return cast(int, found[0])


def _again(tx: Transaction, sub: Sub, no: int, tag: int, terms: Terms, count: int) -> list[HandedOut]:
    found = tx.rows(
        "SELECT off, tries, why FROM gcom_inflight WHERE sub = ? AND no = ? AND due_ms <= ? ORDER BY off LIMIT ?",
        *(sub.id, no, tx.now_ms(), count),
    )
    handed = []
    for offset, tries, why in cast(list[tuple[int, int, str]], found):
        messages = topics.read(tx, sub.topic, sub.topic_name, offset, 1)
        if not messages or messages[0].offset != offset:  # trimmed meanwhile
            tx.change("DELETE FROM gcom_inflight WHERE sub = ? AND off = ?", sub.id, offset)
        elif terms.tries is not None and tries >= terms.tries:
            bury(tx, sub, messages[0], tries, why or "never acknowledged", terms.dead)
        else:
            tx.change(
                "UPDATE gcom_inflight SET tag = ?, tries = ?, due_ms = ? WHERE sub = ? AND off = ?",
                *(tag, tries + 1, tx.now_ms() + terms.wait_ms, sub.id, offset),
            )
            handed.append(HandedOut(messages[0], tag, tries + 1))
    return handed


def _new(tx: Transaction, sub: Sub, no: int, last: int, tag: int, terms: Terms, count: int) -> list[HandedOut]:
    if count <= 0:
        return []
    found, upto = look(tx, sub, no, last, terms.where, count)
    due = tx.now_ms() + terms.wait_ms
    tx.many(
        "INSERT INTO gcom_inflight (sub, off, no, tag, tries, due_ms, why) VALUES (?, ?, ?, ?, 1, ?, '')",
        [(sub.id, it.offset, no, tag, due) for it in found],
    )
    if upto != last:
        tx.change("UPDATE gcom_shard SET high = ? WHERE sub = ? AND no = ?", upto, sub.id, no)
    return [HandedOut(it, tag, 1) for it in found]


def look(
    tx: Transaction, sub: Sub, no: int, last: int, where: Mapping[str, str], count: int
) -> tuple[list[TopicMessage], int]:
    """Return messages of a shard behind an offset, and the last offset that was looked at for them."""
    # First the end, then the messages before it: what is committed in between must not be passed over.
    _, following = topics.bounds(tx, sub.topic, sub.topic_name)
    most = LOOK if where else count
    found = topics.read_shard(tx, sub.topic, sub.topic_name, last + 1, (sub.shards, no), most)
    found = [it for it in found if it.offset < following]
    upto = max(following - 1, last) if len(found) < most else found[-1].offset
    wanted = [it for it in found if all(it.headers.get(name) == value for name, value in where.items())]
    if len(wanted) > count:
        wanted, upto = wanted[:count], wanted[count].offset - 1
    return wanted, upto


def look_on(tx: Transaction, sub: Sub, no: int) -> tuple[int, list[TopicMessage], int]:
    """Return how far a shard is, the messages behind that, and the last offset that was looked at for them."""
    last = high(tx, sub, no)
    return last, *look(tx, sub, no, last, {}, LOOK_ON)


def look_from(
    tx: Transaction, sub: Sub, no: int, last: int, where: Mapping[str, str], count: int
) -> tuple[int, list[TopicMessage], int]:
    """Return what `look` does, and before it the next offset to come."""
    _, following = topics.bounds(tx, sub.topic, sub.topic_name)
    return following, *look(tx, sub, no, last, where, count)


def process(
    tx: Transaction,
    sub: Sub,
    ends: tuple[int, int],
    target: appends.Target | None,
    opened: appends.ProducerClaim | None,
    entries: Sequence[Entry],
) -> bool:
    """Take a function's inputs, from one offset to another, and store its outputs; False if they were taken."""
    if not move(tx, sub, 0, *ends):
        return False
    if opened is not None and target is not None and entries:
        appends.append(tx, target, opened, appends.last_seq(tx, opened), entries)
    CRASH_POINTS.passed("effect.begun")
    return True


def reached(tx: Transaction, sub: Sub, no: int, upto: int) -> None:
    """Note how far the effects of a shard are; the application's inbox is what counts."""
    tx.change("UPDATE gcom_shard SET high = ? WHERE sub = ? AND no = ? AND high < ?", upto, sub.id, no, upto)


def acknowledge(tx: Transaction, sub: Sub, handed: Sequence[HandedOut]) -> None:
    """Have messages be done. Raise StaleAck, and change nothing, if one was handed to somebody else."""
    for it in handed:
        key = sub.id, it.message.offset, it.tag
        if tx.change("DELETE FROM gcom_inflight WHERE sub = ? AND off = ? AND tag = ?", *key) == 0:
            raise stale(sub, it)


def refuse(tx: Transaction, sub: Sub, it: HandedOut, delay_ms: int, why: str, terms: Terms) -> None:
    """Have a message handed out again after a delay, or bury it where it was tried often enough."""
    if terms.tries is not None and it.tries >= terms.tries:
        acknowledge(tx, sub, [it])
        bury(tx, sub, it.message, it.tries, why, terms.dead)
    elif not _postpone(tx, sub, it, delay_ms, 0, why):
        raise stale(sub, it)


def extend(tx: Transaction, sub: Sub, handed: Sequence[HandedOut], holder: str, wait_ms: int) -> list[HandedOut]:
    """Give messages, and the leases of their consumer, more time; return those that are still its own."""
    tx.change("UPDATE gcom_shard SET until_ms = ? WHERE sub = ? AND holder = ?", tx.now_ms() + wait_ms, sub.id, holder)
    return [it for it in handed if _postpone(tx, sub, it, wait_ms, it.tag, "")]


def _postpone(tx: Transaction, sub: Sub, it: HandedOut, delay_ms: int, tag: int, why: str) -> bool:
    return (
        tx.change(
            "UPDATE gcom_inflight SET due_ms = ?, tag = ?, why = ? WHERE sub = ? AND off = ? AND tag = ?",
            *(tx.now_ms() + delay_ms, tag, why, sub.id, it.message.offset, it.tag),
        )
        > 0
    )


def check(tx: Transaction, sub: Sub) -> None:
    """Raise UnknownSubscription if the subscription was ended."""
    if tx.row("SELECT 1 FROM gcom_sub WHERE id = ?", sub.id) is None:
        raise ended(sub)


def ended(sub: Sub) -> UnknownSubscription:
    """Return the error of a subscription that was ended."""
    return UnknownSubscription(f"subscription {sub.name!r} of topic {sub.topic_name!r} was ended: subscribe again")


def stale(sub: Sub, it: HandedOut) -> StaleAck:
    """Return the error of an acknowledgement that came too late."""
    return StaleAck(
        f"message {it.message.offset} of topic {sub.topic_name!r} was acknowledged before, or handed to another "
        f"consumer of {sub.name!r} meanwhile: extend it, or use a longer ack_wait_s"
    )


def bury(tx: Transaction, sub: Sub, message: TopicMessage, tries: int, why: str, dead: str) -> None:
    """Move a message into the topic of dead letters, with its history in the headers, in this transaction."""
    tx.change("DELETE FROM gcom_inflight WHERE sub = ? AND off = ?", sub.id, message.offset)
    history = {
        "gcom-topic": message.topic,
        "gcom-offset": str(message.offset),
        "gcom-subscription": sub.name,
        "gcom-tries": str(tries),
        "gcom-why": why,
        "gcom-producer": message.producer or "",
        "gcom-seq": "" if message.seq is None else str(message.seq),
    }
    entry = Entry(0, message.body, message.key, headers.encode({**message.headers, **history}))
    appends.add(tx, appends.Target(topics.ensure(tx, dead), dead, ""), [entry])


def replay(tx: Transaction, sub: Sub, dead: str) -> int:
    """Hand out again, from its own topic, what was buried; return how many messages. Each letter counts once."""
    number = topics.find(tx, dead)
    if number is None:
        return 0
    cursor = ensure(tx, number, dead, f"replay:{sub.name}", 1, 0)
    letters, upto = look(tx, cursor, 0, high(tx, cursor, 0), {"gcom-subscription": sub.name}, LOOK)
    count = 0
    for letter in letters:
        offset = int(letter.headers["gcom-offset"])
        kept = topics.read(tx, sub.topic, sub.topic_name, offset, 1)
        if letter.headers["gcom-topic"] == sub.topic_name and kept and kept[0].offset == offset:
            no = topics.slot(tx, sub.topic, offset) % sub.shards
            count += tx.change(
                "INSERT INTO gcom_inflight (sub, off, no, tag, tries, due_ms, why) "
                "VALUES (?, ?, ?, 0, 0, 0, 'replayed') ON CONFLICT (sub, off) DO NOTHING",
                *(sub.id, offset, no),
            )
    tx.change("UPDATE gcom_shard SET high = ? WHERE sub = ? AND no = 0", upto, cursor.id)
    return count


def with_dead(terms: Terms, topic: str, name: str) -> Terms:
    """Return terms that name the topic of dead letters."""
    return terms if terms.dead else replace(terms, dead=f"{topic}/{name}/dead")
