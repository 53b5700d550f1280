"""Topics for programs on asyncio: the same stores, awaited (docs/topics.md).

    from gcom.topics import aio

    async with aio.open("app.db") as store:
        orders = await store.topic("orders")
        async with orders.producer("import") as producer:
            await producer.send("a bicycle", seq=7)
        async with orders.subscribe("billing", after="earliest") as billing:
            async for delivery in billing:
                await delivery.ack()

`threads` is the engine: a few threads for all calls, and futures for all that wait. `store`, `producer` and `receiving`
have the classes.
"""

from __future__ import annotations

from gcom.topics.aio.producer import AsyncProducer
from gcom.topics.aio.receiving import AsyncDelivery, AsyncReader, AsyncSubscription
from gcom.topics.aio.store import AsyncFunction, AsyncLink, AsyncTopic, AsyncTopicStore, AsyncTransaction, open

__all__ = [
    "AsyncDelivery",
    "AsyncFunction",
    "AsyncLink",
    "AsyncProducer",
    "AsyncReader",
    "AsyncSubscription",
    "AsyncTopic",
    "AsyncTopicStore",
    "AsyncTransaction",
    "open",
]
