"""Calls of an event loop that are cancelled at each of their pauses in turn: nothing is left open."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import gcom
import gcom.aio
import gcom.aio.replicated
from tests.aio.loops import in_loop
from tests.interrupts import cancel_each_step
from tests.replicated.machines import Stock


@pytest.fixture(scope="module")
def registry() -> Iterator[str]:
    with gcom.embedded() as it:
        yield it.address


@in_loop
async def test_a_state_can_be_opened_after_its_end_was_cancelled(registry: str) -> None:
    """1. The end of a state is cancelled: it goes on in a thread. 2. The state is opened again, once that is over."""
    async with gcom.aio.connect("alice", registry) as node:

        async def work() -> bool:
            async with gcom.aio.replicated.open(node, "stock", Stock, timeout_s=30.0) as stock:
                await stock.put("nails", 1)
            return True

        async def check(_: bool | None) -> None:
            assert await work()

        assert await cancel_each_step(work, check) > 3


@in_loop
async def test_a_node_whose_close_was_cancelled_is_closed_by_the_next(registry: str) -> None:
    nodes = list[gcom.aio.AsyncNode]()

    async def work() -> bool:
        nodes.append(await gcom.aio.connect("bob", registry))
        await nodes[-1].join("news", create=gcom.Definition("news"))
        await nodes[-1].close()
        return True

    async def check(_: bool | None) -> None:
        while nodes:
            node = nodes.pop()
            await node.close()
            await node.close()

    assert await cancel_each_step(work, check) > 3
