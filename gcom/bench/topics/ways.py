"""The cost of each way of processing a message: commits, and processor time, one by one and in batches.

Each way has a subscription of its own to one topic, and has the same effect: one row in a table, or one message.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

from gcom import topics
from gcom.topics.storage.sqlite_effects import EffectFile

TURNS = 3
_TABLE = "CREATE TABLE IF NOT EXISTS entry (body BLOB)"
_INSERT = "INSERT INTO entry VALUES (?)"


class WayCost(NamedTuple):
    """The cost of one message on one way, in batches of `batch`."""

    way: str
    batch: int
    commits: float
    cpu_us: float

    def row(self) -> dict[str, object]:
        """Return the cost as one JSON object."""
        return {**self._asdict(), "commits": round(self.commits, 3), "cpu_us": round(self.cpu_us, 1)}


class _Consumers:
    """A topic and its consumers, one for each way. `commits` counts those of the application's database."""

    def __init__(self, store: topics.TopicStore, own: EffectFile, batch: int) -> None:
        self._store, self._own, self._batch = store, own, batch
        self._orders, self._copies = store.topic(f"orders {batch}"), store.topic(f"copies {batch}")
        self.commits = 0
        self.counting = False
        self.ways: dict[str, Callable[[topics.Subscription], object]] = {
            "at most once": self._acknowledge_first,
            "at least once": self._acknowledge_last,
            "effects once, in an own database": lambda it: it.run(
                self._handle, own.connection, batch=batch, follow=False
            ),
            "effects once, in the store": lambda it: it.run(self._handle, store, batch=batch, follow=False),
            "a transaction: message and acknowledgement": self._transact,
        }

    def publish(self, body: bytes, count: int) -> None:
        for begin in range(0, count, 256):
            self._orders.send_many([body] * min(256, count - begin))

    def subscribed(self, way: str) -> topics.Subscription:
        return self._orders.subscribe(way, after="earliest")

    def _received(self, consumer: topics.Subscription) -> Iterator[list[topics.TopicDelivery]]:
        with consumer:
            while found := consumer.receive_many(self._batch, timeout_s=0):
                yield found

    def _acknowledge_first(self, consumer: topics.Subscription) -> None:
        for found in self._received(consumer):
            consumer.ack(*found)
            self._insert(found)

    def _acknowledge_last(self, consumer: topics.Subscription) -> None:
        for found in self._received(consumer):
            self._insert(found)
            consumer.ack(*found)

    def _insert(self, found: Sequence[topics.TopicDelivery]) -> None:
        self._own.begin()
        self._handle(self._own.connection, [it.message for it in found], None)
        self._own.commit()

    def _transact(self, consumer: topics.Subscription) -> None:
        for found in self._received(consumer):
            with self._store.transaction() as tx:
                for delivery in found:
                    tx.send(self._copies, delivery.body)
                    tx.ack(delivery)

    def _handle(self, tx: Any, messages: Sequence[topics.TopicMessage], _out: object) -> None:
        if self.counting:
            tx.set_trace_callback(self._count)
        tx.execute(_TABLE)
        tx.executemany(_INSERT, [(it.body,) for it in messages])

    def _count(self, statement: str) -> None:
        self.commits += statement == "COMMIT"


def way_costs(store: topics.TopicStore, folder: Path, body: bytes, count: int, batch: int) -> list[WayCost]:
    """Process `count` messages on each way, in turns; of all turns the least processor time counts."""
    with closing(EffectFile(folder / f"own-{batch}.db")) as own:
        consumers = _Consumers(store, own, batch)
        consumers.counting = True  # which takes time: so nothing is timed in this turn
        consumers.publish(body, count)
        commits = {way: _commits(store, consumers, way) / count for way in consumers.ways}
        own.connection.set_trace_callback(None)
        consumers.counting = False
        took_s: dict[str, list[float]] = {way: [] for way in commits}
        for _ in range(TURNS):
            consumers.publish(body, count)
            for way, spent_s in took_s.items():
                began = process_time()
                consumers.ways[way](consumers.subscribed(way))
                spent_s.append(process_time() - began)
    return [WayCost(way, batch, commits[way], min(took_s[way]) / count * 1e6) for way in commits]


def _commits(store: topics.TopicStore, consumers: _Consumers, way: str) -> int:
    """Return the commits of one way, of both databases, without those of subscribing."""
    consumer = consumers.subscribed(way)
    before = store.access.commits + consumers.commits
    consumers.ways[way](consumer)
    return store.access.commits + consumers.commits - before
