"""The effect of a message of protocol Z at a store, and the STATUS that is its answer.

Whatever arrives twice is done once, by whatever gateway. A PUT's counter is the sequence of the producer SENDER. A
GET's last id says what is done. SUBSCRIBE and UNSUBSCRIBE say how it is to be. So a gateway keeps nothing in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import assert_never

from loguru import logger

from gcom.errors import GComError, GComTimeout, MalformedFrame, PeerError, Unavailable
from gcom.topics.errors import StoreClosed, StoreFull, UnknownSubscription, UnknownTopic
from gcom.topics.gateway.messages import (
    ZGet,
    ZMerge,
    ZPeriodic,
    ZPut,
    ZRequest,
    ZStatus,
    ZSubscribe,
    ZTransfer,
    ZUnsubscribe,
    checked_field,
    decode,
    encode,
)
from gcom.topics.storage import appends, handover
from gcom.topics.storage.transaction import job
from gcom.topics.store import TopicStore
from gcom.topics.values import Entry

# The words of the authors' program: its clients know no others.
OK, NO_MESSAGES, NOT_SUBSCRIBED = "OK", "NO_MESSAGES", "NOT_SUBSCRIBED"
SERVER_UNAVAILABLE, INTERNAL_ERROR, TRANSFER_TOPIC_ERROR = (
    "SERVER_UNAVAILABLE",
    "INTERNAL_ERROR",
    "TRANSFER_TOPIC_ERROR",
)

OnPeriodic = Callable[[ZPeriodic], object]


class ZGateway:
    """The answers of a gateway to a store. Any thread may ask it."""

    def __init__(self, store: TopicStore, name: str, servers: Collection[str] = (), tell: OnPeriodic = print) -> None:
        """`servers` are those of protocol Z whose topics are taken over; `tell` hears of their topics."""
        self.name = checked_field(name)
        self._store, self._servers, self._tell = store, frozenset(servers), tell

    def answer(self, data: bytes) -> bytes:
        """Return the STATUS for a message, whatever it is."""
        return encode(self._answered(data))

    def refusal(self, why: str) -> bytes:
        """Return the STATUS for a message that nobody read to its end."""
        return encode(self._status(INTERNAL_ERROR, why))

    def _answered(self, data: bytes) -> ZStatus:
        transfers = data.startswith(b"TRANSFER ")
        try:
            return self._done(decode(data))
        except UnknownSubscription as error:
            return self._status(NOT_SUBSCRIBED, str(error))
        except (StoreFull, MalformedFrame) as error:
            return self._status(TRANSFER_TOPIC_ERROR if transfers else INTERNAL_ERROR, str(error))
        except (Unavailable, StoreClosed, GComTimeout, PeerError) as error:
            return self._status(SERVER_UNAVAILABLE, str(error))
        except GComError as error:
            return self._status(TRANSFER_TOPIC_ERROR if transfers else INTERNAL_ERROR, str(error))
        except Exception:  # outermost: of what a client asked for; the gateway goes on
            logger.opt(exception=True).error("a message of protocol Z failed by a fault of this gateway")
            return self._status(INTERNAL_ERROR, "the gateway failed: its log says how")

    def _status(self, status: str, why: str) -> ZStatus:
        return ZStatus(self.name, status, "", why.encode("utf-8", "replace"))

    def _done(self, message: ZRequest | ZStatus) -> ZStatus:
        match message:
            case ZPut():
                return self._put(message)
            case ZGet():
                return self._get(message)
            case ZSubscribe():
                self._store.topic(message.topic).subscribe(message.sender)
            case ZUnsubscribe():
                self._unsubscribe(message)
            case ZPeriodic():
                if message.sender in self._servers:
                    self._tell(message)
            case ZTransfer():
                self._take_over(message)
            case ZMerge():
                raise MalformedFrame("a gateway merges nothing: each of its topics has one owner")
            case ZStatus():
                raise MalformedFrame("a STATUS is an answer: nothing was asked")
            case _:
                assert_never(message)
        return ZStatus(self.name, OK)

    def _put(self, put: ZPut) -> ZStatus:
        topic = self._store.topic(put.topic)
        entry = Entry(put.counter, put.body)
        topic.access.call(job(appends.open_and_append, topic.target, put.sender, [entry]))
        return ZStatus(self.name, OK)

    def _get(self, get: ZGet) -> ZStatus:
        try:
            topic = self._store.existing(get.topic)
        except UnknownTopic as error:
            raise UnknownSubscription(str(error)) from error
        number = topic.target.topic
        found = topic.access.call(job(handover.next_after, number, topic.name, get.sender, get.last))
        if found is None:
            return ZStatus(self.name, NO_MESSAGES)
        return ZStatus(self.name, OK, handover.id_of(number, found), found.body)

    def _unsubscribe(self, message: ZUnsubscribe) -> None:
        """End a subscription. Where there is none it is as it should be: an answer may have been lost."""
        try:
            self._store.existing(message.topic).unsubscribe(message.sender)
        except UnknownTopic:
            return

    def _take_over(self, transfer: ZTransfer) -> None:
        if transfer.sender not in self._servers:
            raise MalformedFrame(f"{transfer.sender!r} is no server whose topics are taken over here (--take)")
        topic = self._store.topic(transfer.topic)
        pending = [(name, list(ids)) for name, ids in transfer.pending]
        call = job(handover.take_over, topic.target, transfer.sender, pending, list(_in_order(transfer.messages)))
        count = topic.access.call(call)
        logger.info("{} messages of topic {!r} were taken over from {}", count, topic.name, transfer.sender)


def _in_order(messages: tuple[tuple[str, bytes], ...]) -> tuple[tuple[str, bytes], ...]:
    """Return messages in the order of their ids, where those are numbers: the authors' program sends them in none."""
    if all(id.isdecimal() for id, _ in messages):
        return tuple(sorted(messages, key=lambda it: int(it[0])))
    return messages
