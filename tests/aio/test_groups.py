"""`gcom.aio`: join, send and receive in an event loop; what a cancellation leaves; what is left after the end."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from random import Random

import pytest

import gcom
import gcom.aio
from gcom.values import limits
from tests.aio.loops import LIMIT_S, in_loop, members, take, take_all, turns, until


@pytest.fixture(scope="module")
def registry() -> Iterator[str]:
    with gcom.embedded() as it:
        yield it.address


@in_loop
async def test_members_of_both_kinds_meet_in_one_group(registry: str) -> None:
    async with members(registry, "alice", "bob", ordering="TOTAL") as (alice, bob):
        blocking = await asyncio.to_thread(gcom.connect, "carol", registry)
        carol = await asyncio.to_thread(blocking.join, "news")
        number = await alice.send("from a loop", held_by="all")
        assert alice.receipt(number).state == "held"
        carol.send("from a thread")
        assert await take(alice, 2) == await take(bob, 2) == [next(iter(carol)).text, next(iter(carol)).text]
        await asyncio.to_thread(blocking.close)


@in_loop
async def test_nothing_is_left_when_a_node_is_closed(registry: str) -> None:
    await asyncio.to_thread(lambda: None)  # the loop's own thread
    before = set(threading.enumerate())
    for _ in range(2):
        async with members(registry, "alice", "bob") as (alice, bob):
            bob.listen(on_message=lambda message: None)
            bob.on_call(lambda payload, caller: payload)
            await alice.send("x", held_by="all")
            assert await alice.call_to("bob", "ping") == "ping"
    own = [it.name for it in set(threading.enumerate()) - before if not it.name.startswith("Pyro-Worker")]
    assert own == []


@in_loop
async def test_a_cancelled_receive_loses_no_message(registry: str) -> None:
    count, random = 3_000, Random(48)
    async with members(registry, "alice", "bob") as (alice, bob):

        async def send() -> None:
            for number in range(count):
                await alice.send(str(number))

        sending = asyncio.create_task(send())
        texts: list[str] = []
        messages = aiter(bob)
        cancelled = 0
        while len(texts) < count:
            taking = asyncio.ensure_future(anext(messages))
            await turns(random.randrange(4))
            if taking.cancel():
                cancelled += 1
            with suppress(asyncio.CancelledError):
                texts.append((await taking).text)
        await sending
        assert texts == [str(number) for number in range(count)]
        assert cancelled > 100


async def fill(group: gcom.aio.AsyncGroup) -> int:
    """Send until there is no room; return how many went."""
    sent = 0
    while True:
        try:
            await group.send("x" * 1000, timeout_s=0.2)
        except gcom.GComTimeout:
            return sent
        sent += 1


@in_loop
async def test_a_cancelled_send_says_what_is_unknown(registry: str) -> None:
    async with members(registry, "alice", "bob") as (alice, bob):
        answered = 0
        while True:
            try:
                async with asyncio.timeout(0):
                    await alice.send("held", held_by="all", timeout_s=None)
                answered += 1  # the members were faster
            except TimeoutError as error:
                held = gcom.aio.cancelled_send(error)
                break
        sent = answered + await fill(alice)
        waiting = asyncio.create_task(alice.send("never", timeout_s=None))
        await turns(1)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError) as full:
            await waiting
        never = gcom.aio.cancelled_send(full.value)
        assert never == gcom.aio.CancelledSend(None, alice.process, alice.instance)
        texts = await take_all([alice, bob], sent + (held is not None and held.number is not None))
        assert "never" not in texts
        assert gcom.aio.cancelled_send(ValueError("another")) is None


@in_loop
async def test_a_send_that_is_cancelled_while_members_hold_it_has_its_number(
    registry: str, expect_log: Callable[[str], None]
) -> None:
    expect_log("the calls of alice have faults")
    async with (
        members(registry, "bob") as (bob,),
        gcom.aio.connect("alice", registry) as node,
        node.join("news") as alice,
    ):
        node.inject("cut=alice>bob")
        sending = asyncio.create_task(alice.send("on its way", held_by="all"))
        await turns(3)
        sending.cancel()
        with pytest.raises(asyncio.CancelledError) as cancelled:
            await sending
        found = gcom.aio.cancelled_send(cancelled.value)
        assert found == gcom.aio.CancelledSend(1, alice.process, alice.instance)
        assert str(found) == f"message 1 of {alice.process} was sent, and may arrive: look at its receipt"
        node.inject("")
        assert await take(bob, 1) == ["on its way"]


@in_loop
async def test_senders_wait_for_room_in_their_order_and_the_loop_goes_on(registry: str) -> None:
    async with members(registry, "alice", "bob") as (alice, bob):
        sent = await fill(alice)
        waiting = [asyncio.create_task(alice.send(f"late {i}", timeout_s=None)) for i in range(50)]
        threads = threading.active_count()
        _, pending = await asyncio.wait(waiting, timeout=0.1)
        assert len(pending) == 50
        assert threading.active_count() <= threads
        texts = await take_all([alice, bob], sent + 50)
        assert texts[-50:] == [f"late {i}" for i in range(50)]
        numbers = await asyncio.gather(*waiting)
        assert numbers == sorted(numbers)


@in_loop
async def test_a_join_that_is_cancelled_leaves_nobody_in(registry: str) -> None:
    async with members(registry, "alice") as (alice,), gcom.aio.connect("bob", registry) as bob:
        for count in range(12):
            joining = asyncio.ensure_future(asyncio.wait_for(bob.join("news"), LIMIT_S))
            await turns(count * 3)
            joining.cancel()
            with suppress(asyncio.CancelledError):
                await (await joining).leave()
        await until(lambda: alice.members == ("alice",))


@in_loop
async def test_errors_are_those_of_the_blocking_library(registry: str) -> None:
    async with gcom.aio.connect("alice", registry) as alice:
        with pytest.raises(gcom.UnknownGroup):
            await alice.join("nowhere")
        with pytest.raises(gcom.GComTimeout, match=r"timed out after 0\.05 s: 1 of 2"):
            async with alice.join("news", create=gcom.Definition("news")) as news:
                await news.wait_for_members(2, 0.05)
        with pytest.raises(gcom.NotAMember):
            await news.send("after the end")
        with pytest.raises(gcom.BadValue):
            await news.send("x" * (limits.MESSAGE_BYTES_MAX + 1))
    with pytest.raises(gcom.RegistryUnavailable):
        await gcom.aio.connect("alice", "127.0.0.1:9")
