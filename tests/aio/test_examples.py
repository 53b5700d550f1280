"""The programs of docs/examples, as processes of their own, one of which is killed."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import gcom
import gcom.aio
from tests.aio.loops import LIMIT_S, in_loop
from tests.running import Child

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
LINES_MAX = 40


@pytest.fixture(scope="module")
def registry() -> Iterator[str]:
    with gcom.embedded() as it:
        yield it.address


def example(name: str, *given: str) -> Child:
    return Child([sys.executable, str(EXAMPLES / f"{name}.py"), *given])


@pytest.mark.parametrize("name", ["chat_bot", "service", "scheduler", "aio_scheduler", "thumbnails", "stock"])
def test_an_example_is_short(name: str) -> None:
    assert len((EXAMPLES / f"{name}.py").read_text("utf-8").splitlines()) < LINES_MAX


@in_loop
async def test_a_bot_goes_on_where_a_killed_one_ended(registry: str) -> None:
    with example("chat_bot", "bot1", registry) as first:
        first.until(lambda: first.out, "the first bot")
        with example("chat_bot", "bot2", registry) as second:
            second.until(lambda: second.out, "the second bot")
            async with gcom.aio.connect("alice", registry) as node, node.join("lobby") as lobby:
                await lobby.send("four words of hers")
                await lobby.send("!words alice")
                assert await answer(lobby) == ("bot1", "alice: 4")
                first.signal(signal.SIGKILL)
                async for event in lobby.events():
                    if isinstance(event, gcom.ViewChange) and "bot1" not in event.view.names:
                        break
                await lobby.send("two more")
                await lobby.send("!words alice")
                assert await answer(lobby) == ("bot2", "alice: 6")


async def answer(lobby: gcom.aio.AsyncGroup) -> tuple[str, str]:
    """The next unicast: from whom, and its text."""
    async for event in lobby.events():
        if isinstance(event, gcom.Unicast):
            return event.name, event.text
    raise AssertionError("no bot answered")


@in_loop
async def test_a_service_keeps_what_a_killed_instance_was_told(registry: str) -> None:
    async def ask(instance: Child, line: str) -> str:
        reader, writer = await asyncio.open_connection("127.0.0.1", int(instance.out[0]))
        writer.write(f"{line}\n".encode())
        answered = (await asyncio.wait_for(reader.readline(), LIMIT_S)).decode().strip()
        writer.close()
        await writer.wait_closed()
        return answered

    with example("service", "one", registry) as one:
        one.until(lambda: one.out, "the first instance")
        assert await ask(one, "SET colour=blue") == "ok"
        with example("service", "two", registry) as two:
            two.until(lambda: two.out, "the second instance")
            assert await ask(two, "GET colour") == "blue"
            assert await ask(one, "SET shape=round") == "ok"
            one.signal(signal.SIGKILL)
            assert await ask(two, "GET shape") == "round"
            assert await ask(two, "SET size=large") == "ok"
            assert await ask(two, "GET size") == "large"
