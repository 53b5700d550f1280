"""Appends: a producer's request is judged and stored in one transaction, together with the producer's row.

Offsets come from the topic's row, which the transaction has locked: so they are dense, and in the order of commits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from gcom.errors import GComError
from gcom.topics import judge
from gcom.topics.crash_points import CRASH_POINTS
from gcom.topics.errors import Fenced, QuotaExceeded
from gcom.topics.storage import topics, trimming
from gcom.topics.storage.schema import OFFSETS, count
from gcom.topics.storage.topics import place
from gcom.topics.storage.transaction import Transaction
from gcom.topics.values import NEXT_SEQ, NONE_SENT, Draft, Entry, TopicReceipt, slot_of

BURST_US = 1_000_000
_INSERT = """INSERT INTO gcom_message (place, producer, seq, at_ms, slot, key, head, body, digest)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"""


@dataclass(frozen=True, slots=True)
class ProducerClaim:
    """A producer's opening: its row's number, its epoch, and the last sequence when it was opened."""

    id: int
    epoch: int
    seq: int


@dataclass(frozen=True, slots=True)
class Target:
    """The topic of an append, and what its receipts say of durability."""

    topic: int
    name: str
    durable: str


def claim(tx: Transaction, topic: int, name: str) -> ProducerClaim:
    """Open a producer: its earlier openings are fenced from now on."""
    if (found := _claim_again(tx, topic, name)) is not None:
        return found
    opened = ProducerClaim(count(tx, "producers"), 1, NONE_SENT)
    if (found := _claim_again(tx, topic, name)) is not None:  # another process made it before this one counted
        return found
    tx.change(
        "INSERT INTO gcom_producer (id, topic, name, epoch, seq, trimmed) VALUES (?, ?, ?, ?, ?, ?)",
        opened.id,
        topic,
        name,
        opened.epoch,
        opened.seq,
        NONE_SENT,
    )
    return opened


def _claim_again(tx: Transaction, topic: int, name: str) -> ProducerClaim | None:
    found = tx.changed(
        "UPDATE gcom_producer SET epoch = epoch + 1 WHERE topic = ? AND name = ? RETURNING id, epoch, seq", topic, name
    )
    return None if found is None else ProducerClaim(*cast(tuple[int, int, int], found))


def last_seq(tx: Transaction, opened: ProducerClaim) -> int:
    """Return the last stored sequence of a producer; raise Fenced if it was opened anew."""
    found = tx.row("SELECT seq FROM gcom_producer WHERE id = ? AND epoch = ?", opened.id, opened.epoch)
    if found is None:
        raise Fenced("a newer producer of this name is open, or this one was retired: open it again to go on")
    return cast(int, found[0])


def append(
    tx: Transaction, target: Target, opened: ProducerClaim, previous: int, entries: Sequence[Entry]
) -> list[TopicReceipt]:
    """Store what is new of a producer's request; return a receipt for each entry. Raise what `judge` raises."""
    found = tx.row(f"SELECT epoch, seq, trimmed FROM gcom_producer WHERE id = ?{tx.lock}", opened.id)
    if found is None:
        raise Fenced(f"the producer was retired, or topic {target.name!r} was deleted: open it again to go on")
    standing = judge.ProducerStanding(*cast(tuple[int, int, int], found))
    if judge.is_next(standing, opened.epoch, previous, entries):
        CRASH_POINTS.passed("append.judged")
        first = _store_next(tx, target, opened.id, entries)
        return [
            TopicReceipt(target.name, offset, entry.seq, False, target.durable)
            for offset, entry in enumerate(entries, start=first)
        ]
    past = _past(tx, opened.id, standing, entries)
    fresh, answers = judge.judge(standing, opened.epoch, previous, entries, past)
    CRASH_POINTS.passed("append.judged")
    if len(fresh) < len(entries):
        tx.duplicates[target.name] += len(entries) - len(fresh)
    first = _store_next(tx, target, opened.id, fresh) if fresh else 0
    receipts = []
    for entry, answer in zip(entries, answers, strict=True):
        offset = answer.offset if answer.fresh is None else first + answer.fresh
        receipts.append(TopicReceipt(target.name, offset, entry.seq, answer.duplicate, target.durable))
    return receipts


def _store_next(tx: Transaction, target: Target, producer: int, fresh: Sequence[Entry]) -> int:
    """Store a producer's new messages, and note them in its rows; return the offset of the first."""
    first = _store(tx, target, producer, fresh)
    tx.change("UPDATE gcom_producer SET seq = ? WHERE id = ?", fresh[-1].seq, producer)
    tx.change(
        "INSERT INTO gcom_receipt (producer, last, first, place, n) VALUES (?, ?, ?, ?, ?)",
        *(producer, fresh[-1].seq, fresh[0].seq, place(target.topic, first), len(fresh)),
    )
    return first


def append_next(tx: Transaction, target: Target, opened: ProducerClaim, drafts: Sequence[Draft]) -> list[TopicReceipt]:
    """Append behind whatever is stored of the producer; drafts without a sequence get the next ones."""
    last = last_seq(tx, opened)
    return append(tx, target, opened, last, numbered(drafts, last))


def open_and_append(
    tx: Transaction, target: Target, name: str, drafts: Sequence[Entry]
) -> tuple[ProducerClaim, int, list[TopicReceipt]]:
    """Open a producer and append; return the opening, the last sequence, and the receipts."""
    opened = claim(tx, target.topic, name)
    entries = numbered(drafts, opened.seq)
    receipts = append(tx, target, opened, opened.seq, entries)
    return opened, highest(opened.seq, entries), receipts


def highest(last: int, entries: Sequence[Entry]) -> int:
    """Return the last sequence of a producer behind a request, whose duplicates may come in any order."""
    return max(last, max([entry.seq for entry in entries]))


def numbered(drafts: Sequence[Draft], last: int) -> list[Entry]:
    """Return entries with sequences: their own, else those that follow the last one."""
    entries = []
    for seq, body, key, head in drafts:
        last = last + 1 if seq == NEXT_SEQ else seq
        entries.append(tuple.__new__(Entry, (last, body, key, head)))  # in half the time of Entry(...)
    return entries


def add(tx: Transaction, target: Target, entries: Sequence[Entry]) -> list[TopicReceipt]:
    """Store messages without a producer: nothing tells duplicates of them."""
    first = _store(tx, target, None, entries)
    return [
        TopicReceipt(target.name, offset, None, False, target.durable) for offset, _ in enumerate(entries, start=first)
    ]


def _store(tx: Transaction, target: Target, producer: int | None, entries: Sequence[Entry]) -> int:
    """Store messages; return the offset of the first."""
    following, at_ms, keep = _taken(tx, target, len(entries), sum(len(it.body) for it in entries))
    first = following - len(entries)
    tx.many(_INSERT, [_row(target, producer, offset, at_ms, it) for offset, it in enumerate(entries, start=first)])
    if keep and first // trimming.STEP != following // trimming.STEP:
        trimming.step(tx, target.topic, target.name, keep)
    return first


def _taken(tx: Transaction, target: Target, count: int, size: int) -> tuple[int, int, str]:
    """Take offsets, and what they cost of the topic's limits; return the next offset, the time, and what is kept.

    A rate is kept by one number: the time at which all that was appended would have come at that rate. It may be
    BURST_US ahead of the clock.
    """
    now = tx.now_ms()
    found = tx.changed(
        """UPDATE gcom_topic SET next = next + ?, at_ms = CASE WHEN at_ms > ? THEN at_ms ELSE ? END, bytes = bytes + ?,
            due_us = CASE WHEN rate = 0 THEN 0 WHEN due_us < ? THEN ? + ? / rate ELSE due_us + ? / rate END
            WHERE id = ? AND bytes + ? <= bytes_most AND due_us <= ? RETURNING next, at_ms, keep""",
        *(count, now, now, size, now * 1000, now * 1000, count * 10**6, count * 10**6),
        *(target.topic, size, now * 1000 + BURST_US),
    )
    if found is None:
        tx.writes -= 1  # it changed nothing: neighbours in this transaction go on
        raise _refusal(tx, target, size)
    return cast(tuple[int, int, str], found)


def _refusal(tx: Transaction, target: Target, size: int) -> GComError:
    limits = "SELECT bytes, bytes_most, rate FROM gcom_topic WHERE id = ?"
    found = tx.row(limits, target.topic)
    if found is None:
        return topics.deleted(target.name)
    kept, most, rate = cast(tuple[int, int, int], found)
    if kept + size > most:
        return QuotaExceeded(
            f"topic {target.name!r} keeps {kept} bytes of at most {most}, and {size} more were sent: nothing was "
            "stored; trim it, or give it more"
        )
    return QuotaExceeded(
        f"topic {target.name!r} takes at most {rate} messages a second: nothing was stored; send it again later"
    )


def _row(target: Target, producer: int | None, offset: int, at_ms: int, entry: Entry) -> tuple[int | bytes | None, ...]:
    seq = None if producer is None else entry.seq
    slot = slot_of(entry.key, offset)
    at = place(target.topic, offset)
    return at, producer, seq, at_ms, slot, entry.key, entry.head or None, entry.body, entry.digest


def _past(
    tx: Transaction, producer: int, standing: judge.ProducerStanding, entries: Sequence[Entry]
) -> dict[int, judge.Known]:
    """Return what is stored of the sequences of a request; without a query where all of them are new."""
    old = [entry.seq for entry in entries if entry.seq <= standing.seq]
    if not old:
        return {}
    batches = tx.rows(
        "SELECT place, n FROM gcom_receipt WHERE producer = ? AND last >= ? AND first <= ?",
        producer,
        min(old),
        max(old),
    )
    messages = {}
    for at, many in cast(list[tuple[int, int]], batches):
        for seq, there, digest in cast(
            list[tuple[int, int, int]],
            tx.rows(
                "SELECT seq, place, digest FROM gcom_message WHERE place >= ? AND place < ? AND seq >= ? AND seq <= ?",
                at,
                at + many,
                min(old),
                max(old),
            ),
        ):
            messages[seq] = judge.Known(there % OFFSETS, digest)
    return messages
