"""`gcom.aio.replicated`: commands and queries awaited, what a cancellation leaves, and what is left after the end."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

import gcom
import gcom.aio
import gcom.aio.replicated
from gcom.aio.replicated.wakes import LoopWakes
from gcom.aio.replicated.watching import CHANGES_MAX, WatchedChanges
from gcom.errors import BadValue, GComTimeout, LocalError, NotAMember, WouldBlock
from gcom.replicated import CommandApplied, OutcomeUnknown
from tests.aio.loops import in_loop, turns, until
from tests.replicated.machines import SoldOut, Stock

States = list[gcom.aio.replicated.AsyncState[Stock]]


@pytest.fixture(scope="module")
def registry() -> Iterator[str]:
    with gcom.embedded() as it:
        yield it.address


@asynccontextmanager
async def opened(registry: str, name: str, *members: str, **options: Any) -> AsyncIterator[States]:
    """A stock of that name, opened by each member; its nodes are closed, and nothing else."""
    async with AsyncExitStack() as stack:
        nodes = [await stack.enter_async_context(gcom.aio.connect(it, registry, timeout_s=30.0)) for it in members]
        options = {"timeout_s": 30.0, **options}
        yield await asyncio.gather(*[opening(node, name, **options) for node in nodes])


async def opening(node: gcom.aio.AsyncNode, name: str, **options: Any) -> gcom.aio.replicated.AsyncState[Stock]:
    if "data" in options:
        options["data"] = options["data"] / node.name
    return await gcom.aio.replicated.open(node, name, Stock, **options)


@in_loop
async def test_commands_and_queries_of_two_replicas(registry: str) -> None:
    async with opened(registry, "two", "alice", "bob") as (alice, bob):
        assert await alice.put("nails", 10) == 10
        left: int = await bob.call(Stock.take, "nails", 3)  # typed: mypy refuses the call below that lacks an argument
        assert left == bob.here.of("nails") == 7
        seen: int = await alice.fresh().call(Stock.of, "nails")
        assert seen == 7
        with pytest.raises(TypeError):
            await bob.call(Stock.take, "nails")  # type: ignore[call-arg]
        with pytest.raises(SoldOut):
            await bob.take("nails", 100)
        with pytest.raises(BadValue, match="cannot travel"):
            await bob.put("nails", object())
        with pytest.raises(LocalError, match=r"here\.of"):
            await bob.of("nails")
        with pytest.raises(WouldBlock, match="await it"):
            bob.here.take("nails", 1)
        with pytest.raises(AttributeError, match="no command or query 'tkae'"):
            await bob.tkae("nails", 1)


@in_loop
async def test_commands_keep_their_order_though_more_wait_than_the_window_has(registry: str) -> None:
    async with opened(registry, "many", "alice", "bob") as (alice, bob):
        assert await asyncio.gather(*[alice.put("nails", 1) for _ in range(3_000)]) == [*range(1, 3_001)]
        assert await bob.fresh().of("nails") == 3_000


@in_loop
async def test_nothing_is_left_when_a_node_is_closed(registry: str) -> None:
    await asyncio.to_thread(lambda: None)  # the loop's own thread
    before = set(threading.enumerate())
    async with opened(registry, "left", "alice", "bob") as (alice, _):
        changes = alice.changes()
        await asyncio.gather(*[alice.put("nails", 1) for _ in range(1_500)])
    assert len([change async for change in changes if isinstance(change, CommandApplied)]) == 1_500
    own = [it.name for it in set(threading.enumerate()) - before if not it.name.startswith("Pyro-Worker")]
    assert own == []
    with pytest.raises(NotAMember, match="was closed"):
        await alice.put("nails", 1)


@in_loop
async def test_a_cancelled_command_says_what_is_unknown(registry: str) -> None:
    async with opened(registry, "cancelled", "alice") as (alice,):
        answered = 0
        while True:
            task = asyncio.create_task(alice.put("nails", 2))
            await turns(1)
            if task.cancel():
                break
            answered = await task  # the command was faster
        with pytest.raises(asyncio.CancelledError) as raised:
            await task
        found = gcom.aio.replicated.cancelled_command(raised.value)
        assert found is not None
        before = answered + (2 if found.sent else 0)  # else it had to wait for its turn, and is withdrawn
        if found.sent:
            assert await alice.retry(found) == before
        assert await alice.put("nails", 1) == before + 1
        assert gcom.aio.replicated.cancelled_command(ValueError("another")) is None


@in_loop
async def test_a_command_that_waits_for_a_quorum_stops_nobody_and_can_be_withdrawn(
    registry: str, expect_log: Callable[[str], None]
) -> None:
    expect_log("on purpose")
    async with AsyncExitStack() as stack:
        nodes = [await stack.enter_async_context(gcom.aio.connect(it, registry, timeout_s=30.0)) for it in "abc"]
        a, _, _ = await asyncio.gather(*[opening(node, "cut", timeout_s=60.0) for node in nodes])
        await until(lambda: len(a.replicas.members) == 3)
        for node in nodes:
            node.inject(gcom.Faults(seed=1, cuts=_apart("a", "b", "c")))
        unknown = asyncio.create_task(a.within(1).put("nails", 1))
        with pytest.raises(OutcomeUnknown, match=r"await state\.retry") as raised:
            await unknown
        await until(lambda: a.replicas.group.snapshot().detached)
        waits = asyncio.create_task(a.put("nails", 10))
        behind = asyncio.create_task(a.put("nails", 100))
        await turns(2)
        with pytest.raises(GComTimeout, match="waits behind"):
            await a.within(0.2).put("nails", 1_000)
        behind.cancel()
        with pytest.raises(asyncio.CancelledError) as cancelled:
            await behind
        assert str(gcom.aio.replicated.cancelled_command(cancelled.value)) == "put was not sent"
        for node in nodes:
            node.inject("")
        assert await a.retry(raised.value) == 1
        assert await waits == 11


def _apart(one: str, *others: str) -> frozenset[tuple[str, str]]:
    return frozenset(pair for other in others for pair in ((one, other), (other, one)))


@in_loop
async def test_a_durable_state_is_there_again(registry: str, tmp_path: Path) -> None:
    durable = {"data": tmp_path, "replicas": ("a", "b", "c")}
    async with opened(registry, "durable", *"abc", **durable) as (a, _, _):
        assert await a.put("nails", 5) == 5
    async with opened(registry, "durable", *"ab", **durable) as (_, b):
        assert await b.fresh().of("nails") == 5


@in_loop
async def test_a_cancelled_opening_leaves_the_group(registry: str) -> None:
    async with gcom.aio.connect("alice", registry) as node:
        opening = asyncio.ensure_future(_open(node))
        await turns(2)
        opening.cancel()
        with suppress(asyncio.CancelledError):
            await (await opening).close()  # opened sooner
        async with gcom.aio.replicated.open(node, "never", Stock, timeout_s=30.0) as stock:
            assert await stock.put("nails", 1) == 1


async def _open(node: gcom.aio.AsyncNode) -> Any:
    return await gcom.aio.replicated.open(node, "never", Stock)


@in_loop
async def test_a_reader_that_is_too_slow_is_told_to_read_all_anew() -> None:
    told: list[Callable[[int], object]] = []

    def watch(tell: Callable[[int], object]) -> Callable[[], None]:
        told.append(tell)
        return told.clear

    changes = WatchedChanges(watch, lambda: -1, lambda: None, LoopWakes())
    for number in range(CHANGES_MAX + 3):
        told[0](number)
    assert [await anext(changes) for _ in range(3)] == [-1, CHANGES_MAX + 1, CHANGES_MAX + 2]
    waits = asyncio.ensure_future(anext(changes))
    await turns(2)
    waits.cancel()
    await turns(4)
    told[0](7)
    assert await anext(changes) == 7
    changes.close()
    assert [it async for it in changes] == []
    assert not told
