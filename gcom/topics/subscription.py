"""A subscription: messages that are handed to a consumer, and acknowledged by it.

A consumer that iterates gets each message at least once: after a crash, those that it had not acknowledged come again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from time import monotonic
from types import TracebackType
from typing import Self

from gcom.errors import BadValue, GComError
from gcom.runtime.user_process.entry import uninterrupted
from gcom.runtime.user_process.uninterrupted import await_end, result_of
from gcom.topics.access import StoreAccess
from gcom.topics.holder import new_holder
from gcom.topics.reading import IDLE_S
from gcom.topics.storage import subscriptions
from gcom.topics.storage.subscriptions import HandedOut, Sub, Terms
from gcom.topics.storage.transaction import job
from gcom.topics.values import TopicMessage

FETCH = 64  # messages at a time, while one after the other is handed on


@dataclass(frozen=True, slots=True)
class TopicDelivery:
    """A message that was handed to this consumer for the `tries`-th time. It waits for `ack`, `nack` or `extend`."""

    message: TopicMessage
    tries: int
    handed: HandedOut
    subscription: Consumer

    @property
    def offset(self) -> int:
        """Return the message's place in its topic."""
        return self.message.offset

    @property
    def body(self) -> bytes:
        """Return the message's body."""
        return self.message.body

    @property
    def text(self) -> str:
        """Return the message's body as text."""
        return self.message.text

    @property
    def headers(self) -> Mapping[str, str]:
        """Return the message's headers."""
        return self.message.headers

    def ack(self) -> None:
        """Say that the message is done. Raises StaleAck where it was handed to another consumer meanwhile."""
        self.subscription.ack(self)

    def nack(self, delay_s: float = 0.0, why: str = "") -> None:
        """Say that the message failed: it comes again after a delay, or goes to the dead letters. Raises StaleAck."""
        self.subscription.nack(self, delay_s, why)

    def extend(self) -> None:
        """Ask for another `ack_wait_s` for this message. Raises StaleAck."""
        self.subscription.extend(self)


def named(handed: HandedOut) -> HandedOut:
    """Return a delivery with its message's name alone: the store has the body."""
    it = handed.message
    return handed._replace(message=TopicMessage(it.topic, it.offset, b""))


class Leases:
    """The shards that a consumer has; leases are renewed well before they end."""

    def __init__(self, consumer: Consumer) -> None:
        self.sub, self.terms = consumer.sub, consumer.terms
        self._holder = consumer.holder
        self._access = consumer.access
        self._mine: list[int] = []
        self._renewed = monotonic() - 1e6

    def mine(self) -> list[int]:
        """Return the shards that are this consumer's for now; others are taken where they are free."""
        age = monotonic() - self._renewed
        if age > self.terms.wait_ms / 3000 or (len(self._mine) < self.sub.shards and self._has_free()):
            self._renewed = monotonic()
            self._mine = self._access.call(job(subscriptions.leases, self.sub, self._holder, self.terms.wait_ms))
        return self._mine

    def _has_free(self) -> bool:
        return self._access.ask(job(subscriptions.has_free, self.sub, self._holder, self.terms.wait_ms))


class Consumer:
    """An iterator over the deliveries of a subscription, for one thread at a time."""

    def __init__(self, access: StoreAccess, sub: Sub, terms: Terms) -> None:
        self.sub, self.terms = sub, subscriptions.with_dead(terms, sub.topic_name, sub.name)
        self.holder = new_holder()
        self.access = access
        self._ready: deque[HandedOut] = deque()
        self._fetching: Future[list[HandedOut]] | None = None  # also of a call that was interrupted
        self._kept: deque[TopicDelivery | None] = deque()  # whose call was interrupted as it returned
        self._keep, self._keep_all = self._kept.append, self._kept.extend
        self._seen: dict[int, HandedOut] = {}  # by offset: handed to the application, and not acknowledged by it
        self._fetched = monotonic()

    @property
    def name(self) -> str:
        """Return the subscription's name."""
        return self.sub.name

    @property
    def dead_letters(self) -> str:
        """Return the name of the topic that gets messages which failed too often."""
        return self.terms.dead

    def __iter__(self) -> Iterator[TopicDelivery]:
        return self

    def __next__(self) -> TopicDelivery:
        found = self.receive()
        assert found is not None, "it waits without a limit"
        return found

    @uninterrupted(kept_by="_keep")
    def receive(self, timeout_s: float | None = None) -> TopicDelivery | None:
        """Return the next message, waiting for it as long as said; None if there was none.

        Raises UnknownSubscription once it is ended, StoreClosed.
        """
        if kept := self._take_kept(1):
            return kept[0]
        self._renew()
        if not self._ready and not self._wait(timeout_s):
            return None
        return self._delivery(self._ready.popleft())

    @uninterrupted(kept_by="_keep_all")
    def receive_many(self, count: int, timeout_s: float | None = None) -> list[TopicDelivery]:
        """Return up to `count` messages, waiting for the first one as long as said."""
        if kept := self._take_kept(count):
            return kept
        first = self.receive(timeout_s)
        if first is None:
            return []
        if len(self._ready) < count - 1:
            self._ready.extend(self._fetch(count - 1 - len(self._ready)))
        return [first, *(self._delivery(self._ready.popleft()) for _ in range(min(count - 1, len(self._ready))))]

    @uninterrupted()
    def ack(self, *deliveries: TopicDelivery) -> None:
        """Say that messages are done, all or none. Raises StaleAck."""
        result_of(self.submit_ack(*deliveries))
        self._forget([it.handed for it in deliveries])

    @uninterrupted()
    def submit_ack(self, *deliveries: TopicDelivery) -> Future[None]:
        """Do as `ack` does, but return a future."""
        handed = [it.handed for it in deliveries]
        future = self.access.submit(job(subscriptions.acknowledge, self.sub, [named(it) for it in handed]))
        future.add_done_callback(lambda done: None if done.exception() else self._forget(handed))
        return future

    @uninterrupted()
    def nack(self, delivery: TopicDelivery, delay_s: float = 0.0, why: str = "") -> None:
        """Say that a message failed: it comes again after a delay, or goes to the dead letters. Raises StaleAck."""
        if not 0 <= delay_s <= 1e9:
            raise BadValue(f"delay_s must be 0 to 1e9 seconds; got {delay_s!r}")
        handed, delay_ms = delivery.handed, int(delay_s * 1000)
        self.access.call(job(subscriptions.refuse, self.sub, handed, delay_ms, why, self.terms))
        self._forget([handed])

    def _forget(self, handed: Sequence[HandedOut]) -> None:
        for it in handed:
            if self._seen.get(it.message.offset) is it:
                del self._seen[it.message.offset]

    def extend(self, delivery: TopicDelivery) -> None:
        """Ask for another `ack_wait_s` for a message. Raises StaleAck."""
        if not self._extended([delivery.handed]):
            raise subscriptions.stale(self.sub, delivery.handed)

    def replay(self) -> int:
        """Have the dead letters of this subscription handed out again; return how many."""
        return self.access.call(job(subscriptions.replay, self.sub, self.terms.dead))

    @uninterrupted()
    def close(self) -> None:
        """Give back what is not acknowledged, and let another consumer go on at once."""
        seen, self._seen = list(self._seen.values()), {}
        if self._fetching is not None:
            self._ready.extend(self._fetch(0))
        unseen, self._ready = list(self._ready), deque()
        self._kept.clear()
        self.access.call(
            job(subscriptions.release, self.sub, self.holder, list(map(named, seen)), list(map(named, unseen)))
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.close()
        except GComError:  # the store is closed, or stopped: the leases end with their time
            if error is None and kind is None:
                raise

    def _take_kept(self, count: int) -> list[TopicDelivery]:
        found = list[TopicDelivery]()
        while self._kept and len(found) < count:
            if kept := self._kept.popleft():
                found.append(kept)
        return found

    def _delivery(self, handed: HandedOut) -> TopicDelivery:
        self._seen[handed.message.offset] = handed
        return TopicDelivery(handed.message, handed.tries, handed, self)

    def _renew(self) -> None:
        """Ask for more time for what was fetched a while ago and not handed on; drop what another consumer got.

        Raises UnknownSubscription: once a subscription is ended, nothing of it is received.
        """
        if self._ready:
            self.access.ask(job(subscriptions.check, self.sub))
        if self._ready and monotonic() - self._fetched > self.terms.wait_ms / 3000:
            self._ready = deque(self._extended(list(self._ready)))
            self._fetched = monotonic()

    def _extended(self, handed: Sequence[HandedOut]) -> list[HandedOut]:
        mine = job(subscriptions.extend, self.sub, list(map(named, handed)), self.holder, self.terms.wait_ms)
        kept = {it.message.offset for it in self.access.call(mine)}
        return [it for it in handed if it.message.offset in kept]

    def _fetch(self, count: int) -> list[HandedOut]:
        # 1. A fetch is on its way. 2. Its caller is interrupted. 3. The next one has what comes of it.
        if self._fetching is None:
            self._fetched = monotonic()
            self._fetching = self.access.submit(job(subscriptions.fetch, self.sub, self.holder, self.terms, count))
        await_end(self._fetching)
        fetching, self._fetching = self._fetching, None
        return result_of(fetching)

    def _wait(self, timeout_s: float | None) -> bool:
        began, tries = monotonic(), 0
        while True:
            seen = self.access.commits
            if self._fetching is not None or self.access.ask(job(subscriptions.has_news, self.sub)):
                tries += 1
                self._ready.extend(self._fetch(FETCH))
                if self._ready:
                    return True
            waited = monotonic() - began
            if timeout_s is not None and waited >= timeout_s:
                return False
            # Where another consumer has the lease there is news for it alone: then this one asks less often.
            idle = waited >= IDLE_S or tries >= 2
            self.access.wait_for_news(seen, idle, None if timeout_s is None else timeout_s - waited)
