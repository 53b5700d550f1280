"""Sessions on asyncio, over real replicas."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from threading import Event

import pytest

from gcom.bank.accounts import Bank, Overdrawn
from gcom.errors import BadValue, UnknownGroup
from gcom.sessions import aio
from gcom.sessions.access import SessionAnswer
from tests.runtime.nodes import until
from tests.sessions.stores import Branches, held_back


@pytest.fixture
def branches() -> Iterator[Branches]:
    with ExitStack() as stack:
        yield Branches(stack)


def test_many_tasks_share_a_store_and_each_sees_its_own(branches: Branches) -> None:
    async def customer(store: aio.AsyncStore, account: int) -> int:
        async with store.session() as s:
            for _ in range(3):
                await s.state.deposit(account, 5)
            moved = await store.session(token=s.token)
            with pytest.raises(Overdrawn):
                await moved.state.withdraw(account, 100)
            return int(await moved.state.balance(account))

    async def main() -> list[int]:
        async with aio.open(f"gcom://{branches.registry.address}", "bank", Bank, timeout_s=60.0) as store:
            return await asyncio.gather(*(customer(store, account) for account in range(20)))

    branches.open("a")
    assert asyncio.run(main()) == [15] * 20


def test_a_cancelled_call_goes_on_and_the_session_counts_it(branches: Branches) -> None:
    a, b = branches.open("a"), branches.open("b")

    async def main() -> tuple[int, int, int]:
        async with aio.open(f"gcom://{branches.registry.address}", "bank", Bank, timeout_s=60.0) as store:
            session = await store.session()
            with held_back(a), held_back(b):
                await session.state.deposit(1, 1)  # the last that they apply
                waiting = asyncio.create_task(session.state.deposit(1, 10))
                await asyncio.to_thread(until, lambda: session._session._unknown is not None)
                waiting.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await waiting
            return await session.retry(), await session.state.deposit(1, 100), await session.state.balance(1)

    assert asyncio.run(main()) == (11, 111, 111)


def test_a_session_whose_opening_is_cancelled_is_closed(branches: Branches) -> None:
    a = branches.open("a")

    async def main() -> None:
        async with aio.open(f"gcom://{branches.registry.address}", "bank", Bank, timeout_s=60.0) as store:
            session = await store.session()
            opening_begun = Event()
            real = store._store._replica.begin

            def begin(secret: str, timeout_s: float) -> SessionAnswer:
                opening_begun.set()
                return real(secret, timeout_s)

            store._store._replica.begin = begin  # type: ignore[method-assign]
            opening = asyncio.ensure_future(store.session())
            await asyncio.to_thread(opening_begun.wait, 30.0)
            opening.cancel()
            with suppress(asyncio.CancelledError):
                await (await opening).close()  # its answer was faster
            await asyncio.to_thread(until, lambda: a.sessions == 1)
            await session.state.deposit(1, 1)

    asyncio.run(main())


def test_bad_calls(branches: Branches) -> None:
    async def main() -> None:
        with pytest.raises(UnknownGroup):
            await aio.open(f"gcom://{branches.registry.address}", "bank", Bank)
        branches.open("a")
        async with aio.open(f"gcom://{branches.registry.address}", "bank", Bank) as store, store.session() as s:
            with pytest.raises(AttributeError):
                await s.state.steal(1)
            with pytest.raises(TypeError):
                await s.state.deposit(1)
            with pytest.raises(BadValue):
                await store.session({"XX"})

    asyncio.run(main())
