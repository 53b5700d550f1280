"""`gcom.aio`: handlers of calls, listeners and the application's state, by coroutines of the loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator

import pytest

import gcom
import gcom.aio
from tests.aio.loops import LIMIT_S, in_loop, members, take, turns, until


@pytest.fixture(scope="module")
def registry() -> Iterator[str]:
    with gcom.embedded() as it:
        yield it.address


@in_loop
async def test_members_that_call_each_other_within_their_handlers(registry: str) -> None:
    async with members(registry, "alice", "bob") as (alice, bob):
        for group, other in ((alice, "bob"), (bob, "alice")):

            @group.on_call
            async def answer(
                payload: bytes | str, _: str, group: gcom.aio.AsyncGroup = group, other: str = other
            ) -> bytes | str:
                assert threading.current_thread() is threading.main_thread()
                depth = int(payload)
                return "done" if not depth else await group.call_to(other, str(depth - 1))

        asked = [alice.call_to("bob", "3") for _ in range(8)]
        assert await asyncio.gather(*asked) == ["done"] * 8
        results = await alice.call("0", wait=gcom.NONE)
        assert {result.name: result.value async for result in results.arriving()} == {"alice": "done", "bob": "done"}
        assert [result.name for result in (await bob.call("0", exclude_self=True)).values()] == ["alice"]


@in_loop
async def test_what_a_handler_raises_is_its_callers_result(registry: str) -> None:
    async with members(registry, "alice", "bob") as (alice, bob):
        with pytest.raises(gcom.HandlerFailed, match="no handler"):
            await alice.call_to("bob", "?")

        async def fails(*_: object) -> bytes | str:
            await turns(1)
            raise LookupError("nothing of that name")

        bob.on_call(fails)
        with pytest.raises(gcom.HandlerFailed, match="LookupError: nothing of that name"):
            await alice.call_to("bob", "?")
        bob.on_call(lambda payload, caller: 5)
        with pytest.raises(gcom.HandlerFailed, match="bytes or str; got int"):
            await alice.call_to("bob", "?")


@in_loop
async def test_a_call_that_is_cancelled_is_withdrawn(registry: str) -> None:
    async with members(registry, "alice", "bob") as (alice, bob):
        asked = asyncio.Event()

        async def never(*_: object) -> object:
            asked.set()
            return await asyncio.get_running_loop().create_future()

        bob.on_call(never)
        calling = asyncio.create_task(alice.call_to("bob", "?", timeout_s=None))
        await asked.wait()
        calling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await calling
        with pytest.raises(gcom.CallTimeout) as late:
            await alice.call("?", timeout_s=0.05, targets=["bob"])
        assert late.value.results.pending == (bob.process,)


@in_loop
async def test_callbacks_come_in_order_and_may_wait(registry: str, expect_log: Callable[[str], None]) -> None:
    expect_log("a callback of group news failed")
    async with members(registry, "alice", "bob") as (alice, bob):
        found: list[str] = []

        async def on_message(message: gcom.Message) -> None:
            await turns(int(message.text) % 3)
            found.append(message.text)
            if message.text == "5":
                raise ZeroDivisionError("of the application")

        private: list[str] = []
        bob.listen(on_message=on_message, on_unicast=lambda it: private.append(it.text))
        with pytest.raises(gcom.AlreadyReceiving):
            await bob.receive()
        await alice.send_many([str(number) for number in range(200)])
        await alice.send_to("bob", "only you")
        await until(lambda: len(found) == 200 and private == ["only you"])
        assert found == [str(number) for number in range(200)]


@in_loop
async def test_the_state_goes_to_who_joins_by_coroutines(registry: str) -> None:
    class Texts:
        def __init__(self) -> None:
            self.texts: list[str] = []

        async def get(self) -> bytes:
            await turns(3)
            assert threading.current_thread() is threading.main_thread()
            return "\n".join(self.texts).encode()

        async def set(self, data: bytes) -> None:
            await turns(3)
            self.texts = data.decode().split("\n")

        def add(self, message: gcom.Message) -> None:
            self.texts.append(message.text)

    texts = {name: Texts() for name in ("alice", "bob", "carol")}
    async with gcom.aio.connect("alice", registry) as one, gcom.aio.connect("bob", registry) as two:
        definition = gcom.Definition("texts", "TOTAL")
        async with one.join(
            "texts", create=definition, get_state=texts["alice"].get, set_state=texts["alice"].set
        ) as a:
            a.listen(on_message=texts["alice"].add)
            await a.send_many(["1", "2", "3"], LIMIT_S)
            async with two.join("texts", get_state=texts["bob"].get, set_state=texts["bob"].set) as b:
                assert await b.wait_for_state(LIMIT_S)
                assert texts["bob"].texts == ["1", "2", "3"]
                await a.send("4")
                assert await take(b, 1) == ["4"]
                blocking = await asyncio.to_thread(gcom.connect, "carol", registry)
                reading = asyncio.create_task(take(b, 1))  # one of them gives the state
                set_ = texts["carol"]
                carol = await asyncio.to_thread(
                    lambda: blocking.join("texts", set_state=lambda data: set_.texts.extend(data.decode().split("\n")))
                )
                assert await asyncio.to_thread(carol.wait_for_state, LIMIT_S)
                assert set_.texts[:3] == ["1", "2", "3"]
                await a.send("5")
                assert await reading == ["5"]
                await asyncio.to_thread(blocking.close)


@in_loop
async def test_a_receive_that_is_cancelled_while_the_state_is_set(registry: str) -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()
    states: list[bytes] = []

    async def set_state(data: bytes) -> None:
        begun.set()
        await go_on.wait()
        states.append(data)

    async with (
        gcom.aio.connect("alice", registry) as one,
        gcom.aio.connect("bob", registry) as two,
        one.join("kept", create=gcom.Definition("kept"), get_state=lambda: b"all") as a,
    ):
        a.listen()
        async with two.join("kept", set_state=set_state) as b:
            receiving = asyncio.create_task(b.receive())
            await begun.wait()
            receiving.cancel()
            with pytest.raises(asyncio.CancelledError):
                await receiving
            await a.send("next")
            go_on.set()
            assert await take(b, 1) == ["next"]
            assert states == [b"all"]


@in_loop
async def test_a_state_callback_that_raises_has_the_group_left(registry: str) -> None:
    async def set_state(_: bytes) -> None:
        raise LookupError("cannot read it")

    async with (
        gcom.aio.connect("alice", registry) as one,
        gcom.aio.connect("bob", registry) as two,
        one.join("bad", create=gcom.Definition("bad"), get_state=lambda: b"all") as a,
    ):
        a.listen()
        b = await two.join("bad", set_state=set_state)
        with pytest.raises(gcom.StateFailed, match="LookupError: cannot read it"):
            await b.wait_for_state(LIMIT_S)
        departure = [event async for event in b.events()][-1]
        assert isinstance(departure, gcom.Departure)
        assert departure.reason == "state"
