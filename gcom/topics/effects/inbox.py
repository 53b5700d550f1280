"""`Subscription.run`: the effects of each message once, in the application's own database.

For each batch there is one transaction: the inbox moves on by compare-and-set, the handler changes the application's
tables, and its messages go into the outbox. If the process dies before the commit, nothing happened; if after it, the
inbox knows. Two consumers, one of them paused, cannot both commit: the second one finds the inbox changed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from time import monotonic
from typing import Any

from loguru import logger

from gcom.errors import BadValue, Unavailable
from gcom.runtime.user_process.entry import interruptible, uninterrupted
from gcom.topics.access import StoreAccess
from gcom.topics.crash_points import CRASH_POINTS
from gcom.topics.effects.opening import open_effects
from gcom.topics.effects.outbox import Dispatcher, OpenProducer, OutboxSender
from gcom.topics.errors import EffectConflict, InboxAhead, ReceiptUnknown
from gcom.topics.reading import IDLE_S
from gcom.topics.storage import subscriptions
from gcom.topics.storage.effects import EffectDatabase
from gcom.topics.storage.subscriptions import Sub, Terms
from gcom.topics.storage.transaction import job
from gcom.topics.subscription import Consumer, Leases
from gcom.topics.values import TopicMessage

EffectHandler = Callable[[Any, Sequence[TopicMessage], OutboxSender], object]
SLOW_S = 1.0  # a handler that keeps its transaction open for longer is told of
RUN_BATCH = 256
TRIES = 5  # of a batch that other transactions stand in the way of


class Subscription(Consumer):
    """A consumer of a subscription: iterate over it, or have its effects once with `run`."""

    def __init__(self, access: StoreAccess, sub: Sub, terms: Terms, producer: OpenProducer) -> None:
        super().__init__(access, sub, terms)
        self._producer = producer
        self._key = f"{access.id}/{sub.topic}/{sub.name}"  # in an inbox: no other store or topic has it

    @uninterrupted()
    def run(
        self, handler: EffectHandler, db: Any, *, batch: int = RUN_BATCH, follow: bool = True, optimistic: bool = False
    ) -> int:
        """Call `handler(tx, messages, out)` for batches, each once; return how many messages that were.

        `db` is the path of the application's SQLite file, `postgresql://…`, or an open connection of sqlite3 or
        psycopg, which `tx` is; or the store itself, for effects in its own database. What the handler changes there,
        and what it sends by `out.send(topic, body)`, counts if the whole batch does. Two consumers never have one batch
        at the same time; with `optimistic` they may, and the later one is undone. With `follow` it goes on until the
        handler raises, whose exception comes out of here. Raises HandlerCommitted, InboxAhead, BadValue, StoreBusy,
        Fenced, EffectConflict, Unavailable; and ReceiptUnknown, after which `run` may be called again.
        """
        if self.terms.competing:
            raise BadValue("effects once need an exclusive subscription: subscribe without competing=True")
        database = open_effects(db, self.access, self.sub, self.terms.wait_ms)
        try:
            run = _EffectRun(self.access, Leases(self), database, self._key, self._producer)
            return run.go(handler, batch, follow, optimistic)
        finally:
            try:
                database.close()
            finally:
                self.close()


class _EffectRun:
    """A call of `run`."""

    def __init__(
        self, access: StoreAccess, leases: Leases, database: EffectDatabase, key: str, producer: OpenProducer
    ) -> None:
        self._access, self._leases, self._database, self._key = access, leases, database, key
        self._sub, self._terms = leases.sub, leases.terms
        self._dispatchers = [Dispatcher(database, f"out:{key}/{no}", producer) for no in range(self._sub.shards)]

    def go(self, handler: EffectHandler, batch: int, follow: bool, optimistic: bool) -> int:
        # In a store's own database the row of a shard is locked last: others renew their leases there.
        self._late = optimistic or self._database.in_store
        count, idle_since = 0, monotonic()
        while True:
            seen = self._access.commits
            done = sum(self._shard(no, handler, batch) for no in self._leases.mine())
            count += done
            if done:
                idle_since = monotonic()
                continue
            for dispatcher in self._dispatchers:
                dispatcher.clear()
            if not follow:
                return count
            self._access.wait_for_news(seen, monotonic() - idle_since >= IDLE_S, None)

    def _shard(self, no: int, handler: EffectHandler, batch: int) -> int:
        """Carry out one batch of a shard; return how many messages were done."""
        for _ in range(TRIES - 1):
            with suppress(EffectConflict):
                return self._batch(no, handler, batch)
        return self._batch(no, handler, batch)

    def _batch(self, no: int, handler: EffectHandler, batch: int) -> int:
        dispatcher = self._dispatchers[no]
        dispatcher.dispatch()
        floor = self._database.floor(self._key, no)
        begin = self._sub.start - 1 if floor is None else floor
        look = job(subscriptions.look_from, self._sub, no, begin, self._terms.where, batch)
        following, messages, upto = self._access.ask(look)
        if begin >= following:
            raise InboxAhead(
                f"{self._database.name!r} has the effect of message {begin} of topic {self._sub.topic_name!r}, which "
                f"has only {following} messages: one of both is an old copy; restore both to one time"
            )
        if upto == begin or not self._effect(no, (floor, upto), messages, handler):
            return 0
        if not self._database.in_store:
            dispatcher.dispatch()
            self._access.submit(job(subscriptions.reached, self._sub, no, upto))
        return len(messages)

    def _effect(
        self, no: int, floors: tuple[int | None, int], messages: Sequence[TopicMessage], handler: EffectHandler
    ) -> bool:
        """Do the transaction of a batch; False where another consumer was faster."""
        self._database.begin()
        kept = False
        try:
            if self._late or self._database.advance(self._key, no, *floors):
                self._dispatchers[no].take_out()
                if messages:
                    self._handle(no, messages, handler)
                done = not self._late or self._database.advance(self._key, no, *floors)
                CRASH_POINTS.passed("effect.begun")
                kept = done
        finally:
            if not kept:
                self._database.rollback()
        if kept:
            self._commit(no, floors)
            CRASH_POINTS.passed("effect.committed")
        return kept

    def _commit(self, no: int, floors: tuple[int | None, int]) -> None:
        """Commit; where the answer is lost, ask whether it took place. Raises EffectConflict if it did not."""
        try:
            self._database.commit()
        except ReceiptUnknown as error:
            try:
                settled = self._database.is_settled(self._key, no, floors)
            except Unavailable:
                raise error from None
            if settled is None:
                raise
            if not settled:
                raise EffectConflict(f"the connection to {self._database.name!r} was lost, again and again") from error

    def _handle(self, no: int, messages: Sequence[TopicMessage], handler: EffectHandler) -> None:
        began = monotonic()
        out = OutboxSender(self._database, f"out:{self._key}/{no}")
        with self._database.handling():
            interruptible(handler, self._database.connection, messages, out)
        self._database.seal()
        if (took := monotonic() - began) > SLOW_S:
            logger.warning(
                "the handler of subscription {!r} took {:.1f} s for {} messages, and kept its rows in {!r} locked",
                *(self._sub.name, took, len(messages), self._database.name),
            )
