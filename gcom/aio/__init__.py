"""GCom for programs on asyncio: the same groups, awaited (docs/asyncio.md).

    import asyncio
    import gcom.aio

    async def main() -> None:
        async with gcom.aio.connect("alice") as node, node.join("news", create=gcom.Definition("news")) as news:
            await news.send("hello")
            async for message in news:
                print(message.name, message.text)

    asyncio.run(main())

`node` and `group` are the two classes, the latter made of `sending`, `receiving`, `calling` and `handle`. `waits`
drives the library's waits in a loop, `tasks` keeps what has to end with a node.
"""

from __future__ import annotations

from gcom.aio.calling import AsyncResults
from gcom.aio.group import AsyncGroup
from gcom.aio.node import AsyncNode, connect
from gcom.aio.sending import CancelledSend, cancelled_send

__all__ = ["AsyncGroup", "AsyncNode", "AsyncResults", "CancelledSend", "cancelled_send", "connect"]
