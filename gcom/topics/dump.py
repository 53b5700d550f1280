"""What a store holds, and what an application's databases have done with it, as records for the audit.

It is taken once producers and consumers have ended: a receipt that is younger than the dump would look like a loss.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from gcom.topics import headers
from gcom.topics.evidence.records import TopicRecords, parts
from gcom.topics.storage.effects import EffectRows, effects_in
from gcom.topics.storage.topics import TopicInfo
from gcom.topics.store import TopicStore
from gcom.topics.values import Entry, TopicMessage, slot_of

READ_BATCH = 256


def record_store(store: TopicStore, folder: str | Path, effects: Sequence[str | Path] = ()) -> int:
    """Write what a store holds into a folder of delivery logs; return how many messages that are.

    `effects` are the SQLite files of `Subscription.run`. Raises BadValue for a file without an inbox.
    """
    rows = [effects_in(Path(path)) for path in effects]
    records = TopicRecords(folder, lambda topic: store.access.of(topic).id)
    try:
        count = sum(_record_topic(store, records, topic) for topic in store.topics())
        for found in rows:
            _record_effects(store, records, found)
    finally:
        records.close()
    return count


def _record_topic(store: TopicStore, records: TopicRecords, topic: TopicInfo) -> int:
    begin, count = topic.first, 0
    while begin < topic.next:
        messages = store.existing(topic.name).read(begin - 1, batch=READ_BATCH).take(READ_BATCH, 0.0)
        messages = [it for it in messages if it.offset < topic.next]
        if not messages:
            break
        for _, run in groupby(enumerate(messages), lambda it: (it[1].producer, it[1].offset - it[0])):
            for part in parts([message for _, message in run]):
                _record_run(records, topic.name, part)
        begin, count = messages[-1].offset + 1, count + len(messages)
    # What was trimmed meanwhile is not missing.
    records.note("bounds", topic.name, first=store.existing(topic.name).info.first, next=topic.next)
    return count


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
