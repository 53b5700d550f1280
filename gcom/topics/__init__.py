"""Topics: durable logs of messages in a database, in which each message of a producer is stored once.

    from gcom import topics

    with topics.open("app.db") as store, store.topic("orders").producer("import") as producer:
        for position, row in source.read(after=producer.last_seq):
            producer.send(row, seq=position)

docs/topics.md is for users. Files that others use: `storage` has the databases, `values` the nouns, `errors` what is
raised, `dump` the record of a store for the audit.
"""

from __future__ import annotations

from contextlib import ExitStack as _ExitStack
from pathlib import Path as _Path

from gcom.errors import BadValue as _BadValue
from gcom.runtime.user_process.entry import firmly as _firmly
from gcom.runtime.user_process.entry import uninterrupted as _uninterrupted
from gcom.topics.effects.function import TopicFunction
from gcom.topics.effects.inbox import Subscription
from gcom.topics.effects.link import TopicLink
from gcom.topics.effects.outbox import OutboxSender
from gcom.topics.errors import (
    EffectConflict,
    Fenced,
    HandlerCommitted,
    InboxAhead,
    NewerSchema,
    QuotaExceeded,
    ReceiptUnknown,
    SequenceGap,
    SequenceReused,
    StaleAck,
    StoreBusy,
    StoreClosed,
    StoreDamaged,
    StoreFull,
    StoreStopped,
    UnknownSubscription,
    UnknownTopic,
)
from gcom.topics.producer import Producer, TopicSource
from gcom.topics.reading import TopicReader
from gcom.topics.storage.sqlite import WORDS as _WORDS
from gcom.topics.storage.sqlite import SqliteDatabase as _SqliteDatabase
from gcom.topics.storage.subscriptions import SubscriptionInfo
from gcom.topics.storage.topics import ProducerInfo, TopicInfo
from gcom.topics.store import Topic, TopicStore, TopicTransaction
from gcom.topics.subscription import TopicDelivery
from gcom.topics.values import TopicMessage, TopicReceipt


@_uninterrupted(closes=True)
def open(place: str | _Path, *, log_dir: str | _Path | None = None) -> TopicStore:
    """Open a store, which is made if it is not there.

    `place` is the path of a SQLite file on a disk of this machine; or `postgresql://…`, for which GCom is installed as
    gcom[postgres]; or `gcom://HOST:PORT` of a server (`gcom topics serve`), or of several with commas between them.
    `log_dir` is a folder for delivery logs: producers then record what they asked and were answered, and `run` its
    effects, for the audit (docs/topics.md). Raises BadValue for a place that cannot be one, StoreDamaged, NewerSchema,
    StoreBusy, Unavailable.
    """
    with _ExitStack() as undo:
        store = _open(place)
        undo.callback(_firmly, store.close)
        if log_dir is not None:
            store.record_into(log_dir)
        undo.pop_all()
    return store


def _open(place: str | _Path) -> TopicStore:
    if isinstance(place, str) and place.startswith(("postgresql://", "postgres://")):
        return _open_postgres(place)
    if isinstance(place, str) and place.startswith("gcom://"):
        from gcom.topics.served.client import RemoteStore  # a file or a database needs no network

        return TopicStore(RemoteStore(place))
    if isinstance(place, str) and "://" in place:
        raise _BadValue(f"cannot open {place!r}: expected the path of a file, postgresql://… or gcom://HOST:PORT")
    return TopicStore.of(_SqliteDatabase(_Path(place)), _WORDS)


def _open_postgres(place: str) -> TopicStore:
    try:
        from gcom.topics.storage.postgres import WORDS, PostgresDatabase  # needs what is not always installed
    except ImportError as error:
        raise _BadValue(f"PostgreSQL needs the package psycopg ({error}): pip install 'gcom[postgres]'") from error
    return TopicStore.of(PostgresDatabase(place), WORDS)


__all__ = [
    "EffectConflict",
    "Fenced",
    "HandlerCommitted",
    "InboxAhead",
    "NewerSchema",
    "OutboxSender",
    "Producer",
    "ProducerInfo",
    "QuotaExceeded",
    "ReceiptUnknown",
    "SequenceGap",
    "SequenceReused",
    "StaleAck",
    "StoreBusy",
    "StoreClosed",
    "StoreDamaged",
    "StoreFull",
    "StoreStopped",
    "Subscription",
    "SubscriptionInfo",
    "Topic",
    "TopicDelivery",
    "TopicFunction",
    "TopicInfo",
    "TopicLink",
    "TopicMessage",
    "TopicReader",
    "TopicReceipt",
    "TopicSource",
    "TopicStore",
    "TopicTransaction",
    "UnknownSubscription",
    "UnknownTopic",
    "open",
]
