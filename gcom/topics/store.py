"""A store of topics, and a topic of it, as programs use them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

from gcom.errors import BadValue
from gcom.runtime.user_process.entry import firmly
from gcom.topics import headers as codec
from gcom.topics.access import StoreAccess
from gcom.topics.effects.function import TopicFunction, TopicProcess
from gcom.topics.effects.inbox import Subscription
from gcom.topics.effects.link import TopicLink
from gcom.topics.errors import StoreDamaged
from gcom.topics.evidence.records import TopicRecords
from gcom.topics.producer import Body, Producer
from gcom.topics.reading import After, TopicReader
from gcom.topics.storage import appends, schema, subscriptions, topics, trimming
from gcom.topics.storage.appends import Target
from gcom.topics.storage.commits import Commits
from gcom.topics.storage.database import Database
from gcom.topics.storage.subscriptions import SubscriptionInfo, Terms
from gcom.topics.storage.topics import ProducerInfo, TopicInfo
from gcom.topics.storage.transaction import StoreCall, job, together
from gcom.topics.subscription import TopicDelivery, named
from gcom.topics.values import Entry, Keep, TopicMessage, TopicReceipt, checked_body, checked_name

READ_BATCH = 256
SHARDS_MAX = 256


class Topic:
    """A topic of an open store: a log of messages, each at an offset that counts from 0."""

    def __init__(self, store: TopicStore, access: StoreAccess, number: int, name: str) -> None:
        self.name, self.access = name, access
        self._store, self._number = store, number
        self.target = Target(number, name, access.durable)

    def producer(self, name: str) -> Producer:
        """Return the producer of that name, whose messages are stored once. Another one of the name is fenced."""
        return Producer(self.access, self.target, checked_name(name, "producer"))

    def send(self, body: Body, *, key: Body | None = None, headers: Mapping[str, str] | None = None) -> TopicReceipt:
        """Store a message without a producer, and return its receipt: what is sent again is stored again."""
        entry = Entry(0, checked_body(body), None if key is None else checked_body(key), codec.encode(headers))
        return self.access.call(job(appends.add, self.target, [entry]))[0]

    def send_many(self, bodies: Iterable[Body]) -> list[TopicReceipt]:
        """Store messages without a producer, all or none."""
        entries = [Entry(0, checked_body(body)) for body in bodies]
        return self.access.call(job(appends.add, self.target, entries)) if entries else []

    def read(self, after: After = None, *, follow: bool = False, batch: int = READ_BATCH) -> TopicReader:
        """Return an iterator over the messages behind a place, which keeps no state in the store.

        `after`: None or "earliest" for all that is kept, "latest" for what is to come, an offset, or a datetime for
        what is stored from then on. With `follow` it waits for more at the end. Raises BadValue, UnknownTopic.
        """
        return TopicReader(self.access, (self._number, self.name), after, follow, batch)

    def message(self, offset: int) -> TopicMessage | None:
        """Return the message at an offset; None where there is none, or it was trimmed."""
        found = self.access.ask(job(topics.read, self._number, self.name, offset, 1))
        return found[0] if found and found[0].offset == offset else None

    def producers(self) -> list[ProducerInfo]:
        """Return the producers by name, with the last stored sequence of each."""
        return self.access.ask(job(topics.producers, self._number))

    def subscribe(
        self,
        name: str,
        *,
        after: After = "latest",
        shards: int = 1,
        competing: bool = False,
        tries: int | None = 5,
        ack_wait_s: float = 30.0,
        dead: str | None = None,
        where: Mapping[str, str] | None = None,
    ) -> Subscription:
        """Return a consumer of the subscription of that name, which is made if it is not there.

        A new one begins `after` a place, as `read` does: by default with what comes from now on. Messages of one key
        share a shard, and each shard is served by one consumer at a time; with `competing` by several, at least once.
        A message that is not acknowledged within `ack_wait_s` comes again, and after `tries` (None: for ever) goes to
        the topic `dead`, by default TOPIC/NAME/dead. `where` has headers that a message must have. Raises BadValue.
        """
        checked_name(name, "subscription")
        if not 1 <= shards <= SHARDS_MAX or not 0.1 <= ack_wait_s <= 1e6 or not (tries is None or tries >= 1):
            raise BadValue(
                f"expected 1 to {SHARDS_MAX} shards, ack_wait_s from 0.1 to 1e6, and tries from 1 or None; "
                f"got {shards}, {ack_wait_s}, {tries}"
            )
        start = self.read(after).next_offset
        terms = Terms(competing, tries, int(ack_wait_s * 1000), dead or "", where or {})
        sub = self.access.call(job(subscriptions.ensure, self._number, self.name, name, shards, start))
        return Subscription(self.access, sub, terms, self._store.open_producer)

    def link(self, target: Topic, name: str) -> TopicLink:
        """Return a link that brings each message of this topic to another one, of any store, once; `run` it."""
        producer = target.producer(f"link:{self.access.id}/{self._number}/{name}")
        return TopicLink(lambda after: self.read(after, follow=True), producer)

    def unsubscribe(self, name: str) -> bool:
        """End a subscription: no message of it can be received any more. Return whether there was one."""
        return self.access.call(job(subscriptions.end, self._number, name))

    def subscriptions(self) -> list[SubscriptionInfo]:
        """Return how far each subscription is, by name."""
        return self.access.ask(job(subscriptions.infos, self._number, self.name))

    def trim(
        self,
        *,
        before: int | None = None,
        count: int | None = None,
        age_s: float | None = None,
        size_bytes: int | None = None,
        unread_too: bool = False,
        tell: Callable[[str, int], object] | None = None,
    ) -> int:
        """Delete the oldest messages: those before an offset, beyond a count or a size, or older than an age.

        Messages that a subscription has not acknowledged stay, unless `unread_too`. A producer's duplicates stay known;
        their receipts then have no offset. Returns how many messages went; `tell` gets the topic, and how many went so
        far. Raises BadValue.
        """
        numbers = [it for it in (before, count, age_s, size_bytes) if it is not None]
        if not numbers or min(numbers) < 0:
            raise BadValue(f"trim needs before, count, age_s or size_bytes, each at least 0; got {numbers or 'none'}")
        keep = Keep(before, count, None if age_s is None else int(age_s * 1000), size_bytes, unread_too)
        gone, more = 0, True
        while more:
            part, more = self.access.call(job(trimming.trim, self._number, self.name, keep))
            gone += part
            if tell is not None:
                tell(self.name, gone)
        return gone

    def bound(
        self,
        *,
        count: int | None = None,
        age_s: float | None = None,
        size_bytes: int | None = None,
        unread_too: bool = False,
        bytes_most: int | None = None,
        rate_most: int | None = None,
    ) -> None:
        """Give the topic bounds, in place of those that it had; without any, it keeps and takes everything.

        It keeps the newest `count` messages, those younger than `age_s`, and `size_bytes` of bodies: appends delete
        what is beyond, some for each 256 messages. What a subscription has not acknowledged stays, unless
        `unread_too`. Appends beyond `bytes_most` bytes that are kept, or `rate_most` messages a second, are refused
        with QuotaExceeded. Raises BadValue.
        """
        numbers = [it for it in (count, age_s, size_bytes, bytes_most) if it is not None]
        if (numbers and not 0 <= min(numbers) <= max(numbers) < topics.NO_LIMIT) or not 1 <= (rate_most or 1) <= 10**6:
            raise BadValue(f"bounds must be at least 0, and a rate 1 to 1,000,000; got {numbers}, {rate_most}")
        keep = Keep(None, count, None if age_s is None else int(age_s * 1000), size_bytes, unread_too)
        self.access.call(job(topics.bound, self._number, self.name, keep, bytes_most, rate_most))

    def retire(self, producer: str) -> bool:
        """Forget a producer: its messages stay, and its sequences may be used again. Return whether there was one."""
        return self.access.call(job(topics.retire, self._number, producer))

    @property
    def info(self) -> TopicInfo:
        """Return the topic's first and next offset."""
        return self.access.ask(job(topics.info, self.name))

    def __repr__(self) -> str:
        return f"<gcom.topics.Topic {self.name!r} of {self.access.name!r}>"


class TopicStore:
    """An open store. It may be used by any thread, and opened by several processes at once."""

    def __init__(self, access: StoreAccess) -> None:
        self.access = access

    @classmethod
    def of(cls, database: Database, words: dict[str, str]) -> Self:
        """Return the store in a database, whose tables are made if they are not there."""
        commits = Commits(database, words)
        with ExitStack() as undo:
            undo.callback(firmly, commits.close)
            commits.id = commits.call(job(schema.prepare, words, database.name))
            undo.pop_all()
        return cls(commits)

    @property
    def name(self) -> str:
        """Return the path of the file, or the address."""
        return self.access.name

    def record_into(self, folder: str | Path) -> None:
        """Have what producers ask and are answered recorded for the audit, in a folder of delivery logs."""
        self.access.record_with(TopicRecords(folder, lambda topic: self.access.of(topic).id))

    def topic(self, name: str) -> Topic:
        """Return the topic of that name; it is made if it is not there. Raises BadValue."""
        checked_name(name, "topic")
        access = self.access.of(name)
        number = access.ask(job(topics.find, name))
        if number is None:
            number = access.call(job(topics.ensure, name))
        return Topic(self, access, number, name)

    def existing(self, name: str) -> Topic:
        """Return the topic of that name; raise UnknownTopic if it is not there."""
        access = self.access.of(name)
        return Topic(self, access, access.ask(job(topics.info, name)).id, name)

    def open_producer(self, topic: str, name: str) -> Producer:
        """Return a producer of a topic that is made if it is not there."""
        return self.topic(topic).producer(name)

    def function(
        self, process: TopicProcess, inputs: str | Sequence[str], *, to: str | None = None, name: str | None = None
    ) -> TopicFunction:
        """Return a function from topics to a topic, each input processed once; `run` it.

        `process` gets the text of a message, and returns text, bytes, several of them, or None for no output. Its
        `name` (default: the function's own) is that of its subscriptions, which begin with the first message.
        """
        word = name or str(getattr(process, "__name__", "function"))
        names = [inputs] if isinstance(inputs, str) else list(inputs)
        if not names or to in names:
            raise BadValue(f"a function needs other inputs than its output; got {names} to {to!r}")
        subs = [self.topic(it).subscribe(f"function:{word}", after="earliest") for it in names]
        output = self.topic(to) if to is not None else None
        stores = {it.access.id for it in subs} | ({output.access.id} if output is not None else set())
        if len(stores) > 1:
            raise BadValue(f"topics {', '.join(names)} and {to!r} are not in one store: use run() and its outbox")
        return TopicFunction(process, subs, output.target if output is not None else None, word)

    def transaction(self) -> TopicTransaction:
        """Return a block whose sends and acknowledgements all take place at its end, or none of them."""
        return TopicTransaction(self.access)

    def topics(self) -> list[TopicInfo]:
        """Return what there is, by name."""
        return self.access.ask(job(topics.listed))

    def delete(self, name: str) -> int:
        """Delete a topic with its messages and producers; return how many messages it had. Raises UnknownTopic."""
        return self.access.of(name).call(job(topics.delete, name))

    def check(self, tell: Callable[[str, int], object] | None = None) -> list[str]:
        """Read everything, and return a sentence for each fault.

        That is a message which its checksum does not match, or which is missing, or a page of the file that is not one.
        `tell` gets a topic, and how many of its messages were read.
        """
        faults = list[str]()
        for it in self.topics():
            begin = it.first
            while begin < it.next:
                try:
                    found, begin = self.access.of(it.name).ask(job(topics.check, it, begin, READ_BATCH))
                except StoreDamaged as error:
                    upto = min(begin + READ_BATCH, it.next) - 1
                    found, begin = [f"messages {begin} to {upto} of topic {it.name!r}: {error}"], begin + READ_BATCH
                faults += found
                if tell is not None:
                    tell(it.name, begin - it.first)
        return faults + (self.access.check() if isinstance(self.access, Commits) else [])

    def backup(self, path: str | Path, tell: Callable[[int, int], object] | None = None) -> None:
        """Copy the store into a new file, as it is at one moment, while programs go on. Raises BadValue.

        `tell` gets how many bytes are copied, and of how many.
        """
        self.access.backup(Path(path), tell or (lambda _done, _all: None))

    def close(self) -> None:
        """Store what was submitted, and let go of the file. May be called again."""
        self.access.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<gcom.topics.TopicStore {self.name!r}>"


class TopicTransaction:
    """Sends and acknowledgements of one store that take place together, at the end of the block."""

    def __init__(self, access: StoreAccess) -> None:
        self._access = access
        self._ways: list[StoreAccess] = []  # the first one's topic is where it all takes place
        self._calls: list[StoreCall[list[TopicReceipt] | None]] = []
        self.receipts: list[TopicReceipt] = []  # of the sends, in their order, once the block is over

    def send(
        self,
        topic: Topic,
        body: Body,
        *,
        producer: Producer | None = None,
        seq: int | None = None,
        key: Body | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """Have a message stored, under a producer's sequence if one is given. Raises BadValue for another store."""
        self._check(topic.access, f"topic {topic.name!r}")
        if producer is not None:
            self._check(producer.access, f"producer {producer.name!r}")
            self._calls.append(producer.staged(body, seq=seq, key=key, headers=headers))
            return
        entry = Entry(0, checked_body(body), None if key is None else checked_body(key), codec.encode(headers))
        self._calls.append(job(appends.add, topic.target, [entry]))

    def ack(self, delivery: TopicDelivery) -> None:
        """Have a message acknowledged."""
        consumer = delivery.subscription
        self._check(consumer.access, f"subscription {consumer.name!r}")
        self._calls.append(job(subscriptions.acknowledge, consumer.sub, [named(delivery.handed)]))

    def _check(self, access: StoreAccess, what: str) -> None:
        self._ways.append(access)
        if access.root is not self._access.root or access.id != self._ways[0].id:
            raise BadValue(
                f"{what} is of another store: a transaction has one store; between stores use the outbox of run()"
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None and self._calls:
            results = self._ways[0].call(job(together, self._calls))
            self.receipts = [it for found in results if isinstance(found, list) for it in found]
