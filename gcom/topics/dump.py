"""The content of a store, and its use by an application's databases, as records for the audit.

It is taken once producers and consumers have ended: a receipt that is younger than the dump would look like a loss.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path

from gcom.topics import headers
from gcom.topics.effects.opening import effects_in
from gcom.topics.errors import StoreDamaged
from gcom.topics.evidence.records import TopicRecords, parts
from gcom.topics.storage.effects import EffectRows
from gcom.topics.storage.topics import TopicInfo
from gcom.topics.store import Topic, TopicStore
from gcom.topics.values import Entry, TopicMessage, slot_of

READ_BATCH = 256


def record_store(
    store: TopicStore,
    folder: str | Path,
    effects: Sequence[str | Path] = (),
    tell: Callable[[str, int], object] | None = None,
) -> int:
    """Write what a store holds into a folder of delivery logs; return how many messages that are.

    `effects` are the SQLite files and PostgreSQL addresses of `Subscription.run`. `tell` gets a topic, and how many of
    its messages are written. Raises BadValue for a place without an inbox.
    """
    rows = [effects_in(str(place)) for place in effects]
    records = TopicRecords(folder, lambda topic: store.access.of(topic).id)
    try:
        count = sum(_record_topic(store, records, topic, tell) for topic in store.topics())
        for found in rows:
            _record_effects(store, records, found)
    finally:
        records.close()
    return count


def _record_topic(
    store: TopicStore, records: TopicRecords, topic: TopicInfo, tell: Callable[[str, int], object] | None
) -> int:
    begin, count = topic.first, 0
    while begin < topic.next:
        messages = [it for it in _messages(store.existing(topic.name), begin) if it.offset < topic.next]
        if not messages:
            break
        for _, run in groupby(enumerate(messages), lambda it: (it[1].producer, it[1].offset - it[0])):
            for part in parts([message for _, message in run]):
                _record_run(records, topic.name, part)
        begin, count = messages[-1].offset + 1, count + len(messages)
        if tell is not None:
            tell(topic.name, count)
    # What was trimmed meanwhile is not missing.
    records.note("bounds", topic.name, first=store.existing(topic.name).info.first, next=topic.next)
    return count


def _messages(topic: Topic, begin: int) -> list[TopicMessage]:
    """Return messages from an offset on. Raise StoreDamaged for one that its checksum does not match."""
    try:
        return topic.read(begin - 1, batch=READ_BATCH).take(READ_BATCH, 0.0)
    except StoreDamaged:
        # It may be for a message that is missing, and that is for the audit to tell: alone, none stands behind a gap.
        return topic.read(begin - 1, batch=1).take(1, 0.0)


def _record_run(records: TopicRecords, topic: str, run: Sequence[TopicMessage]) -> None:
    slots = [slot_of(it.key, it.offset) for it in run]
    named = run[0].producer is not None
    digests = [Entry(0, it.body, it.key, headers.encode(it.headers)).digest for it in run] if named else []
    seqs = [it.seq for it in run] if named else []
    records.note(
        "stored",
        topic,
        offset=run[0].offset,
        producer=run[0].producer or "",
        slots=slots,
        seqs=seqs,
        digests=digests,
    )


def _record_effects(store: TopicStore, records: TopicRecords, found: EffectRows) -> None:
    names = {(store.access.of(topic.name).id, str(topic.id)): topic.name for topic in store.topics()}
    for kind, rows in (("effect", found.effects), ("floor", found.floors)):
        for key, shard, *numbers in rows:
            store_id, number, sub = str(key).split("/", 2)
            if (store_id, number) in names:
                topic = names[store_id, number]
                shards = next((it.shards for it in store.existing(topic).subscriptions() if it.name == sub), 0)
                fields = dict(zip(("first", "last") if kind == "effect" else ("last",), numbers, strict=True))
                records.note(kind, topic, sub=sub, shard=shard, shards=shards, **fields)
