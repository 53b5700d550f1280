"""Stores and topics, awaited."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial, wraps
from pathlib import Path
from threading import Event
from types import TracebackType
from typing import Self

from gcom import topics
from gcom.aio.node import Awaited
from gcom.topics.aio.producer import AsyncProducer
from gcom.topics.aio.receiving import AsyncDelivery, AsyncReader, AsyncSubscription, repeated
from gcom.topics.aio.threads import Interruption, StoreThreads, Threaded, by_thread
from gcom.topics.effects.function import FunctionOutput, TopicFunction, TopicProcess
from gcom.topics.effects.link import TopicLink
from gcom.topics.producer import Body
from gcom.topics.reading import After, TopicReader
from gcom.topics.storage.topics import TopicInfo
from gcom.topics.store import READ_BATCH, Topic, TopicStore, TopicTransaction
from gcom.topics.values import TopicReceipt


def open(place: str | Path, *, log_dir: str | Path | None = None) -> Awaited[AsyncTopicStore]:
    """Open a store, with the places and errors of `gcom.topics.open`: await it, or use it in an `async with` block."""

    async def made() -> AsyncTopicStore:
        threads = StoreThreads()
        return AsyncTopicStore(threads, await threads.opened(lambda: topics.open(place, log_dir=log_dir)))

    return Awaited(made)


class AsyncTopicStore(Threaded[TopicStore]):
    """An open store, for the tasks of one event loop."""

    @property
    def name(self) -> str:
        """Return the path of the file, or the address."""
        return self.sync.name

    async def topic(self, name: str) -> AsyncTopic:
        """Return the topic of that name; it is made if it is not there. Raises BadValue."""
        return AsyncTopic(self.threads, await self.threads.run(lambda: self.sync.topic(name)))

    async def existing(self, name: str) -> AsyncTopic:
        """Return the topic of that name; raise UnknownTopic if it is not there."""
        return AsyncTopic(self.threads, await self.threads.run(lambda: self.sync.existing(name)))

    topics = by_thread(TopicStore.topics)
    delete = by_thread(TopicStore.delete)
    check = by_thread(TopicStore.check)
    backup = by_thread(TopicStore.backup)

    async def function(
        self, process: TopicProcess, inputs: str | Sequence[str], *, to: str | None = None, name: str | None = None
    ) -> AsyncFunction:
        """Return a function from topics to a topic, each input processed once; `run` it. It is called in a thread."""
        stops = _Stops()
        made = partial(self.sync.function, stops.guarded(process), inputs, to=to, name=name)
        first = inputs if isinstance(inputs, str) else [*inputs, ""][0]
        return AsyncFunction(self.threads, await self.threads.run(made), self.sync, first, stops)

    def transaction(self) -> AsyncTransaction:
        """Return a block whose sends and acknowledgements all take place at its end, or none of them."""
        return AsyncTransaction(self.threads, self.sync)

    async def close(self) -> None:
        """Store what was submitted, and end all tasks and threads of the store. May be called again."""
        await self.threads.close(self.sync)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


class AsyncTopic(Threaded[Topic]):
    """A topic of an open store: a log of messages, each at an offset that counts from 0."""

    @property
    def name(self) -> str:
        """Return the topic's name."""
        return self.sync.name

    send = by_thread(Topic.send)
    send_many = by_thread(Topic.send_many)
    message = by_thread(Topic.message)
    producers = by_thread(Topic.producers)
    subscriptions = by_thread(Topic.subscriptions)
    unsubscribe = by_thread(Topic.unsubscribe)
    trim = by_thread(Topic.trim)
    bound = by_thread(Topic.bound)
    retire = by_thread(Topic.retire)

    async def info(self) -> TopicInfo:
        """Return the topic's first and next offset."""
        return await self.threads.run(lambda: self.sync.info)

    def producer(self, name: str) -> AsyncProducer:
        """Return the producer of that name, whose messages are stored once. Another one of the name is fenced."""
        return AsyncProducer(self.threads, self.sync.producer(name))

    async def read(self, after: After = None, *, follow: bool = False, batch: int = READ_BATCH) -> AsyncReader:
        """Return an iterator over the messages behind a place, as `Topic.read` does."""
        made: Callable[[], TopicReader] = partial(self.sync.read, after, batch=batch)
        return AsyncReader(self.threads, self.sync.access, self.name, await self.threads.run(made), follow)

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
    ) -> Awaited[AsyncSubscription]:
        """Return a consumer of the subscription of that name, as `Topic.subscribe` does: await it, or enter it."""
        made = partial(
            self.sync.subscribe,
            name,
            after=after,
            shards=shards,
            competing=competing,
            tries=tries,
            ack_wait_s=ack_wait_s,
            dead=dead,
            where=where,
        )

        async def begun() -> AsyncSubscription:
            return AsyncSubscription(self.threads, await self.threads.run(made))

        return Awaited(begun)

    def link(self, target: AsyncTopic, name: str) -> AsyncLink:
        """Return a link that brings each message of this topic to another one, of any store, once; `run` it."""
        return AsyncLink(self.threads, self.sync.link(target.sync, name), self.sync)


class AsyncLink(Threaded[TopicLink]):
    """A link between two topics."""

    def __init__(self, threads: StoreThreads, sync: TopicLink, source: Topic) -> None:
        super().__init__(threads, sync)
        self._source = source

    async def run(self, *, follow: bool = True) -> int:
        """Transfer what there is, and with `follow` what comes; return how many messages. Cancelled, it ends between
        two batches."""

        def once(stop: Event) -> int:
            return self.sync.run(follow=False, stopped=stop.is_set)

        return await repeated(self.threads, self._source.access, self._source.name, once, follow)


class AsyncFunction(Threaded[TopicFunction]):
    """A function over topics."""

    def __init__(
        self, threads: StoreThreads, sync: TopicFunction, store: TopicStore, topic: str, stops: _Stops
    ) -> None:
        super().__init__(threads, sync)
        self._access, self._topic, self._stops = store.access.of(topic), topic, stops

    async def run(self, *, follow: bool = True) -> int:
        """Process what there is, and with `follow` what comes; return how many inputs. Cancelled, it takes no more."""

        def once(stop: Event) -> int:
            self._stops.stop = stop
            return self.sync.run(follow=False)

        return await repeated(self.threads, self._access, self._topic, once, follow)


class _Stops:
    """Ends a function between two inputs, once an event is set."""

    def __init__(self) -> None:
        self.stop = Event()

    def guarded(self, process: TopicProcess) -> TopicProcess:
        @wraps(process)
        def call(text: str) -> FunctionOutput | Iterable[bytes | str]:
            if self.stop.is_set():
                raise Interruption("the task that ran the function was cancelled")
            return process(text)

        return call


class AsyncTransaction:
    """Sends and acknowledgements of one store that take place together, at the end of the block."""

    def __init__(self, threads: StoreThreads, store: TopicStore) -> None:
        self._threads, self._store = threads, store
        self._steps: list[Callable[[TopicTransaction], None]] = []
        self.receipts: list[TopicReceipt] = []  # of the sends, in their order, once the block is over

    def send(
        self,
        topic: AsyncTopic,
        body: Body,
        *,
        producer: AsyncProducer | None = None,
        seq: int | None = None,
        key: Body | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """Have a message stored, under a producer's sequence if one is given."""
        own = None if producer is None else producer.sync
        self._steps.append(lambda tx: tx.send(topic.sync, body, producer=own, seq=seq, key=key, headers=headers))

    def ack(self, delivery: AsyncDelivery) -> None:
        """Have a message acknowledged."""
        self._steps.append(lambda tx: tx.ack(delivery.sync))

    def _done(self) -> list[TopicReceipt]:
        with self._store.transaction() as tx:
            for step in self._steps:
                step(tx)
        return tx.receipts

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Carry all of it out, or raise what one of its steps raises."""
        if kind is None:
            self.receipts = await self._threads.run(self._done)
