"""`gcom.aio.blocks`: each block with two members in one loop, and waits that are cancelled."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeVar

import pytest

import gcom
import gcom.aio
import gcom.aio.blocks
import gcom.blocks
from gcom.aio.blocks.block import AsyncBlock
from gcom.errors import BadValue, GComTimeout, LocalError, NotAMember
from tests.aio.loops import LIMIT_S, in_loop, turns, until

B = TypeVar("B", bound=AsyncBlock[Any])


@pytest.fixture(scope="module")
def registry() -> Iterator[str]:
    with gcom.embedded() as it:
        yield it.address


@asynccontextmanager
async def two(registry: str) -> AsyncIterator[tuple[gcom.aio.AsyncNode, gcom.aio.AsyncNode]]:
    async with gcom.aio.connect("a", registry) as a, gcom.aio.connect("b", registry) as b:
        yield a, b


@asynccontextmanager
async def both(kind: Callable[..., B], registry: str) -> AsyncIterator[tuple[B, B]]:
    """A block that both of two nodes have open; the nodes alone are closed."""
    async with two(registry) as nodes:
        one, other = kind(nodes[0], "it", timeout_s=30.0), kind(nodes[1], "it", timeout_s=30.0)
        await asyncio.gather(one, other)
        yield one, other


@in_loop
async def test_a_lock_goes_on_in_order_and_a_cancelled_wait_gives_up_its_place(registry: str) -> None:
    async with both(gcom.aio.blocks.Lock, registry) as (a, b), gcom.aio.connect("c", registry) as node:
        first = await a.acquire()
        with pytest.raises(LocalError, match="holds 'it' already"):
            await a.acquire()
        async with gcom.aio.blocks.Lock(node, "it", timeout_s=30.0) as c:
            gone = asyncio.create_task(b.acquire())
            await until(lambda: len(a._machine.waiting_tickets()) == 1)
            second = asyncio.create_task(c.acquire())
            await until(lambda: len(a._machine.waiting_tickets()) == 2)
            gone.cancel()
            with pytest.raises(asyncio.CancelledError):
                await gone
            await a.release()
            assert await second > first
            with pytest.raises(GComTimeout, match="no turn, behind c#"):
                await b.acquire(0.2)
        async with b.hold(30) as token:  # the holder closed the lock
            assert token > first
            assert not b.lost.is_set()
        await until(lambda: b.holder == "")


@in_loop
async def test_a_lock_that_was_asked_for_by_a_cancelled_task_is_free(registry: str) -> None:
    async with both(gcom.aio.blocks.Lock, registry) as (a, b):
        for given in range(12):  # the cancellation comes at each point of the way
            asking = asyncio.create_task(a.acquire())
            await turns(given)
            asking.cancel()
            with suppress(asyncio.CancelledError):
                await asking
                await a.release()
            async with b.hold(30):
                assert b.holder.startswith("b#")


@in_loop
async def test_a_holder_that_loses_contact_is_told(registry: str, expect_log: Callable[[str], None]) -> None:
    expect_log("on purpose")
    async with both(gcom.aio.blocks.Lock, registry) as locks:
        await until(lambda: len(locks[0].members) == 2)
        # The older one breaks the tie, so it is the younger one that hears no quorum.
        younger = next(it for it in locks if it.members[1].startswith(it._node.name))
        await younger.acquire()
        for lock in locks:
            lock._node.inject("cut=a<>b")
        await younger.lost.wait()
        for lock in locks:
            lock._node.inject("")
        await younger.release()  # once it is heard again


@in_loop
async def test_a_dict_is_watched(registry: str) -> None:
    async with both(gcom.aio.blocks.Dict, registry) as (a, b):
        seen = b.watch()
        version = await a.set("colour", "green")
        assert await b.fresh("colour") == b["colour"] == "green"
        with pytest.raises(gcom.blocks.VersionConflict):
            await b.set("colour", "red", expected=version + 1)
        await b.set("colour", "blue", expected=version)
        await b.set("here", 1, held=True)
        assert await b.delete("colour")
        keys: list[str] = []
        while len(keys) < 4:
            keys.extend([key] if (key := await anext(seen)) else [])
        assert keys == ["colour", "colour", "here", "colour"]
        await a.fresh("")
        assert list(a) == ["here"]
        await b.close()
        await until(lambda: len(a) == 0)
    assert [key async for key in seen if key] == []


@in_loop
async def test_counters_barriers_and_presence(registry: str) -> None:
    async with both(gcom.aio.blocks.Counter, registry) as (a, b):
        assert sorted(await asyncio.gather(*[it.add() for it in (a, b) * 20])) == [*range(1, 41)]
        assert await b.fresh() == b.value == 40
    async with both(gcom.aio.blocks.Presence, registry) as (one, other):
        await one.say({"load": 0.5})
        await until(lambda: {"load": 0.5} in other.present().values())
    async with both(gcom.aio.blocks.Barrier, registry) as (here, there):
        waits = asyncio.create_task(here.wait(2))

        def arrived() -> int:
            return len(there._state.replicas._log.replica.machine.arrived)  # type: ignore[attr-defined]

        await until(lambda: arrived() == 1)
        waits.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waits
        await until(lambda: arrived() == 0)
        with pytest.raises(GComTimeout, match="no meeting of 2"):
            await there.wait(2, 0.3)
        assert set(await asyncio.gather(here.wait(2), there.wait(2))) == {0}
        with pytest.raises(BadValue):
            await here.wait(0)


@in_loop
async def test_each_task_of_a_queue_is_done_though_takes_are_cancelled(registry: str) -> None:
    async with both(gcom.aio.blocks.WorkQueue, registry) as (a, b):
        numbers = await asyncio.gather(*[a.put(place) for place in range(30)])

        async def work() -> None:
            async for task in b.tasks():
                await task.done(task.payload * 2)

        for given in range(1, 13):  # the cancellation comes at each point of the way
            taking = asyncio.create_task(a.take())
            await turns(given)
            taking.cancel()
            with suppress(asyncio.CancelledError):
                await (await taking).fail("taken just before")
        working = asyncio.create_task(work())
        assert [await a.result(number, 30) for number in numbers] == [place * 2 for place in range(30)]
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
        b.tries_max = 1
        bad = await a.put("bad")
        assert await (await b.take(30)).fail("it is bad")
        with pytest.raises(gcom.blocks.TaskDead, match="it is bad"):
            await a.result(bad, 30)
        assert await a.revive(bad)
        assert (await b.take(30)).payload == "bad"


@in_loop
async def test_another_leads_when_the_leader_closes(registry: str) -> None:
    told: list[str] = []

    async def gain(token: int) -> None:
        told.append(f"gain {token}")

    async with two(registry) as (one, other):
        first = await gcom.aio.blocks.Election(one, "boss", on_gain=gain, on_loss=lambda: told.append("loss"))
        await until(lambda: first.token > 0)
        token = first.token
        async with gcom.aio.blocks.Election(other, "boss", timeout_s=30.0) as second:
            await until(lambda: second.leader.startswith("a#"))
            await first.close()
            await until(lambda: second.token > token)
        assert told == [f"gain {token}", "loss"]


@in_loop
async def test_a_leader_may_close_its_election_as_it_gains_it(registry: str) -> None:
    async with gcom.aio.connect("a", registry) as node:
        told: list[str] = []

        async def gain(_: int) -> None:
            await election.close()
            told.append("gain")

        election = gcom.aio.blocks.Election(node, "short", on_gain=gain, on_loss=lambda: told.append("loss"))
        await election
        await until(lambda: told == ["gain", "loss"])


@in_loop
async def test_nothing_is_left_when_a_node_is_closed(registry: str) -> None:
    await asyncio.to_thread(lambda: None)  # the loop's own thread
    before = set(threading.enumerate())
    async with two(registry) as (one, _):
        lock = gcom.aio.blocks.Lock(one, "left")
        with pytest.raises(LocalError, match="not open"):
            await lock.acquire()
        assert repr(lock) == "<AsyncLock 'left', not open>"
        await lock
        await lock.acquire()
        election = await gcom.aio.blocks.Election(one, "left")
        await until(lambda: election.token > 0)
        queue = await gcom.aio.blocks.WorkQueue(one, "left")
        waits = asyncio.create_task(queue.take())
    with pytest.raises(NotAMember):
        await waits
    own = [it.name for it in set(threading.enumerate()) - before if not it.name.startswith("Pyro-Worker")]
    assert own == []


def test_uvloop_works(registry: str) -> None:
    uvloop = pytest.importorskip("uvloop", reason="uvloop is not installed; after `pip install uvloop` this test runs")

    async def main() -> None:
        async with asyncio.timeout(LIMIT_S), both(gcom.aio.blocks.Lock, registry) as (a, b):
            async with a.hold() as first:
                waits = asyncio.create_task(b.acquire())
                await until(lambda: len(a._machine.waiting_tickets()) == 1)
            assert await waits > first
            async with b._node.join("news", create=gcom.Definition("news")) as news:
                await news.send("hello")
                assert (await anext(aiter(news))).text == "hello"

    uvloop.run(main())
