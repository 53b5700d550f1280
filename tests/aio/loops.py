"""Groups in an event loop, for the tests of `gcom.aio`: every wait has a limit."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from functools import wraps
from typing import Any, TypeVar

import gcom
import gcom.aio

LIMIT_S = 120.0  # for what takes seconds at most, also where others use the machine
T = TypeVar("T")


def in_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Run a test in an event loop of its own, within the limit, and see that no task is left."""

    async def run(*args: Any, **kwargs: Any) -> None:
        async with asyncio.timeout(LIMIT_S):
            await test(*args, **kwargs)
        left = asyncio.all_tasks() - {asyncio.current_task()}
        assert not left, f"left behind: {left}"

    @wraps(test)
    def ran(*args: Any, **kwargs: Any) -> None:
        asyncio.run(run(*args, **kwargs))

    return ran


@asynccontextmanager
async def members(registry: str, *names: str, **definition: Any) -> AsyncIterator[list[gcom.aio.AsyncGroup]]:
    """Members of a group "news", each on a node of its own."""
    async with AsyncExitStack() as stack:
        groups = []
        for name in names:
            node = await stack.enter_async_context(gcom.aio.connect(name, registry))
            joining = node.join("news", create=gcom.Definition("news", **definition))
            groups.append(await stack.enter_async_context(joining))
        for group in groups:
            await group.wait_for_members(len(names), LIMIT_S)
        yield groups


async def take(group: gcom.aio.AsyncGroup, count: int) -> list[str]:
    """The texts of the next `count` messages."""
    found: list[str] = []
    async for message in group:
        found.append(message.text)
        if len(found) == count:
            break
    return found


async def take_all(groups: list[gcom.aio.AsyncGroup], count: int) -> list[str]:
    """The texts of the next `count` messages at each member, which are the same."""
    first, *others = await asyncio.gather(*[take(group, count) for group in groups])
    assert all(other == first for other in others)
    return first


async def turns(count: int) -> None:
    """Give the loop's other tasks so many turns."""
    loop = asyncio.get_running_loop()
    for _ in range(count):
        turn = loop.create_future()
        loop.call_soon(turn.set_result, None)
        await turn


async def until(condition: Callable[[], bool]) -> None:
    """Give the loop's other tasks turns until something is so."""
    while not condition():
        await asyncio.wait([asyncio.get_running_loop().create_future()], timeout=0.002)
