"""Subscriptions and readers, awaited. A message that a thread fetched for a task which was cancelled is not lost."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import suppress
from functools import wraps
from inspect import iscoroutinefunction
from threading import Event
from time import monotonic
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from gcom.errors import BadValue, GComError
from gcom.topics.access import StoreAccess
from gcom.topics.aio.threads import Interruption, StoreThreads, Threaded, awaitable, by_thread
from gcom.topics.effects.inbox import RUN_BATCH, EffectHandler, Subscription
from gcom.topics.effects.outbox import OutboxSender
from gcom.topics.reading import TopicReader
from gcom.topics.subscription import TopicDelivery
from gcom.topics.values import TopicMessage

T = TypeVar("T")


class Looks(Generic[T]):
    """Takes by tasks: a thread looks once, and where it finds nothing the task waits for commits without a thread."""

    def __init__(self, threads: StoreThreads, access: StoreAccess, topic: str, look: Callable[[], T | None]) -> None:
        self._threads, self._access, self._topic, self._look = threads, access, topic, look
        self._turn = asyncio.Lock()
        self._given_back: deque[T] = deque()
        self._looking: asyncio.Task[T | None] | None = None  # what it finds is for the next task that takes

    async def take(self, timeout_s: float | None = None) -> T | None:
        """Return what is found, waiting for it as long as said; None if there was nothing."""
        once = timeout_s is not None and timeout_s <= 0
        if once and self._turn.locked():  # a task waits for what comes: there is nothing
            return None
        try:
            async with asyncio.timeout(None if once else timeout_s), self._turn:
                return await self._taken(once)
        except TimeoutError:
            return None

    async def _taken(self, once: bool) -> T | None:
        began, news = monotonic(), self._threads.news(self._access, self._topic)
        while not self._given_back:
            seen = self._access.commits
            begun = self._looking is None  # else by a task that was cancelled, a while ago
            if self._looking is None:
                self._looking = self._threads.start(self._threads.run(self._look))
            looking = self._looking
            if not looking.done():  # else one that is always cancelled soon would never get it
                await asyncio.wait([looking])
            self._looking = None
            if (found := looking.result()) is not None or (once and begun):
                return found
            if begun:
                await news.wait(seen, began)
        return self._given_back.popleft()

    def give_back(self, found: Sequence[T]) -> None:
        """Have the next tasks take these again, before all others."""
        self._given_back.extendleft(reversed(found))

    async def end(self) -> None:
        """Wait for a look that is under way, and forget what was found and not taken."""
        if self._looking is not None:
            await asyncio.wait([self._looking])
            self._looking = None
        self._given_back.clear()


class AsyncDelivery(Threaded[TopicDelivery]):
    """A message that was handed to this consumer. It waits for `ack`, `nack` or `extend`."""

    @property
    def message(self) -> TopicMessage:
        """Return the message."""
        return self.sync.message

    @property
    def tries(self) -> int:
        """Return how often the message was handed out, with this time."""
        return self.sync.tries

    @property
    def offset(self) -> int:
        """Return the message's place in its topic."""
        return self.sync.offset

    @property
    def body(self) -> bytes:
        """Return the message's body."""
        return self.sync.body

    @property
    def text(self) -> str:
        """Return the message's body as text."""
        return self.sync.text

    @property
    def headers(self) -> Mapping[str, str]:
        """Return the message's headers."""
        return self.sync.headers

    async def ack(self) -> None:
        """Say that the message is done. Raises StaleAck where it was handed to another consumer meanwhile."""
        await acknowledged(self.threads, [self.sync])

    nack = by_thread(TopicDelivery.nack)
    extend = by_thread(TopicDelivery.extend)


async def acknowledged(threads: StoreThreads, deliveries: Sequence[TopicDelivery]) -> None:
    """Have deliveries of one consumer be done, all or none: a thread asks, and none waits."""
    consumer = deliveries[0].subscription
    await awaitable(await threads.run(lambda: consumer.submit_ack(*deliveries)))


class AsyncSubscription(Threaded[Subscription]):
    """A consumer of a subscription: iterate over it, or have its effects once with `run`. Several tasks may take."""

    def __init__(self, threads: StoreThreads, sync: Subscription) -> None:
        super().__init__(threads, sync)
        self._looks = Looks(threads, sync.access, sync.sub.topic_name, lambda: sync.receive(0.0))

    @property
    def name(self) -> str:
        """Return the subscription's name."""
        return self.sync.name

    @property
    def dead_letters(self) -> str:
        """Return the name of the topic that gets messages which failed too often."""
        return self.sync.dead_letters

    def __aiter__(self) -> AsyncIterator[AsyncDelivery]:
        return self

    async def __anext__(self) -> AsyncDelivery:
        found = await self.receive()
        assert found is not None, "it waits without a limit"
        return found

    async def receive(self, timeout_s: float | None = None) -> AsyncDelivery | None:
        """Return the next message, waiting for it as long as said; None if there was none.

        Cancelled, it loses nothing: the next `receive` has the message. Raises UnknownSubscription, StoreClosed.
        """
        found = await self._looks.take(timeout_s)
        return None if found is None else AsyncDelivery(self.threads, found)

    async def receive_many(self, count: int, timeout_s: float | None = None) -> list[AsyncDelivery]:
        """Return up to `count` messages, waiting for the first one as long as said. Cancelled, it loses none."""
        found, done = list[TopicDelivery](), False
        try:
            while len(found) < count and (one := await self._looks.take(0.0 if found else timeout_s)) is not None:
                found.append(one)
            done = True
        finally:
            if not done:
                self._looks.give_back(found)
        return [AsyncDelivery(self.threads, it) for it in found]

    async def ack(self, *deliveries: AsyncDelivery) -> None:
        """Say that messages are done, all or none. Raises StaleAck."""
        if deliveries:
            await acknowledged(self.threads, [it.sync for it in deliveries])

    replay = by_thread(Subscription.replay)

    async def run(
        self, handler: EffectHandler, db: Any, *, batch: int = RUN_BATCH, follow: bool = True, optimistic: bool = False
    ) -> int:
        """Call `handler(tx, messages, out)` for batches, each once, as `Subscription.run` does; return how many.

        The handler is a plain function, and runs in a thread, for a transaction stays in one. `db` is a place or the
        store, not an open connection. Cancelled, it ends before the next batch; one whose handler runs is completed.
        """
        if iscoroutinefunction(handler):
            raise BadValue("a handler is a plain function: it runs in a thread, and its transaction waits for nothing")
        if type(db).__module__.partition(".")[0] in ("sqlite3", "psycopg"):
            raise BadValue(
                "db must be a place on asyncio, as 'ledger.db': a connection stays in the thread that has it"
            )

        def once(stop: Event) -> int:
            given = db.sync if isinstance(db, Threaded) else db
            return self.sync.run(_stopped(handler, stop), given, batch=batch, follow=False, optimistic=optimistic)

        return await repeated(self.threads, self.sync.access, self.sync.sub.topic_name, once, follow)

    async def close(self) -> None:
        """Give back what is not acknowledged, and let another consumer go on at once."""
        await self._looks.end()
        await self.threads.run(self.sync.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(*[GComError] if error is not None else []):  # the block's own error is the one to tell
            await self.close()


class AsyncReader(Threaded[TopicReader]):
    """An iterator over a topic. Without `follow` it ends at the last message; with it, it waits for more."""

    def __init__(self, threads: StoreThreads, access: StoreAccess, topic: str, sync: TopicReader, follow: bool) -> None:
        super().__init__(threads, sync)
        self._follow = follow
        self._looks = Looks(threads, access, topic, lambda: sync.receive(0.0))

    def __aiter__(self) -> AsyncIterator[TopicMessage]:
        return self

    async def __anext__(self) -> TopicMessage:
        found = await self.receive(None if self._follow else 0.0)
        if found is None:
            raise StopAsyncIteration
        return found

    async def receive(self, timeout_s: float | None = None) -> TopicMessage | None:
        """Return the next message, waiting for it as long as said; None if there was none."""
        return await self._looks.take(timeout_s)


async def repeated(
    threads: StoreThreads, access: StoreAccess, topic: str, once: Callable[[Event], int], follow: bool
) -> int:
    """Do a work until nothing is left of it, and with `follow` again with each commit; return what it counts in all."""
    count, idle_since, news = 0, monotonic(), threads.news(access, topic)
    while True:
        seen = access.commits
        done = await threads.until_stopped(once)
        count += done
        if not follow:
            return count
        idle_since = monotonic() if done else idle_since
        await news.wait(seen, idle_since)


def _stopped(handler: EffectHandler, stop: Event) -> EffectHandler:
    """Return a handler that ends the run once an event is set."""

    @wraps(handler)
    def handle(tx: Any, messages: Sequence[TopicMessage], out: OutboxSender) -> object:
        if stop.is_set():
            raise Interruption("the task that handled messages was cancelled")
        return handler(tx, messages, out)

    return handle
