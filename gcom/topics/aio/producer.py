"""Producers, awaited."""

from __future__ import annotations

from asyncio import Future
from collections.abc import Callable, Iterable, Iterator, Mapping
from threading import Event
from types import TracebackType
from typing import Self

from gcom.topics.aio.threads import CallOrder, Interruption, StoreThreads, Threaded, awaitable
from gcom.topics.producer import RUN_BATCH, Body, Producer, TopicSource
from gcom.topics.values import TopicReceipt


class AsyncProducer(Threaded[Producer]):
    """A named producer: its messages are stored once, in the order in which they were sent, by whatever task.

    A send that is cancelled may be stored, or not: sent again under its `seq` it is there once.
    """

    def __init__(self, threads: StoreThreads, sync: Producer) -> None:
        super().__init__(threads, sync)
        self._order = CallOrder(threads)

    @property
    def name(self) -> str:
        """Return the producer's name."""
        return self.sync.name

    async def last_seq(self) -> int | None:
        """Return the last sequence that the store has of this producer; None if it has none."""
        return await self._order.run(lambda: self.sync.last_seq)

    async def send(
        self,
        body: Body,
        *,
        seq: int | None = None,
        key: Body | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> TopicReceipt:
        """Store a message, and return its receipt once it is durable. Raises what `Producer.send` raises."""
        return await (await self.submit(body, seq=seq, key=key, headers=headers))

    async def submit(
        self,
        body: Body,
        *,
        seq: int | None = None,
        key: Body | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Future[TopicReceipt]:
        """Send a message, and return a future of its receipt: many may be under way. It waits while too many are."""
        return awaitable(await self._order.run(lambda: self.sync.submit(body, seq=seq, key=key, headers=headers)))

    async def send_many(self, bodies: Iterable[Body | tuple[int, Body]]) -> list[TopicReceipt]:
        """Store messages together, all or none, each a body or (seq, body)."""
        pairs = list(bodies)
        return await self._order.run(lambda: self.sync.send_many(pairs))

    async def run(
        self, source: TopicSource, *, batch: int = RUN_BATCH, tell: Callable[[int], object] | None = None
    ) -> int:
        """Store everything that a source has behind `last_seq`, as `Producer.run` does. The source is read in a thread.

        Cancelled, it ends behind the message that it reads, and stores those before.
        """
        return await self.threads.until_stopped(
            lambda stop: self.sync.run(_StoppedSource(source, stop), batch=batch, tell=tell)
        )

    async def close(self) -> None:
        """Wait until everything that was submitted is stored or refused."""
        await self._order.run(self.sync.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


class _StoppedSource:
    """A source that is read until an event."""

    def __init__(self, source: TopicSource, stop: Event) -> None:
        self._source, self._stop = source, stop

    def seek(self, position: int | None) -> object:
        return self._source.seek(position)

    def read(self) -> Iterator[tuple[int, Body]]:
        for found in self._source.read():
            if self._stop.is_set():
                raise Interruption("the task that read the source was cancelled")
            yield found
