"""Topics on asyncio: what is awaited, what a cancelled task leaves, and that nothing stays behind."""

from __future__ import annotations

import asyncio
import sqlite3
import sys
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from gcom import topics
from gcom.errors import BadValue
from gcom.topics import aio
from tests.interrupts import cancel_each_step
from tests.running import LIMIT_S, ROOT, environment


def run(main: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    """Run a program to its end; no thread of topics and no task is left."""

    async def whole() -> Any:
        async with asyncio.timeout(LIMIT_S):
            result = await main()
        assert asyncio.all_tasks() == {asyncio.current_task()}
        return result

    before = set(threading.enumerate())
    result = asyncio.run(whole())
    left = [it.name for it in threading.enumerate() if it not in before and it.name.startswith("gcom topics")]
    assert not left
    return result


async def until(found: Callable[[], Awaitable[object]]) -> None:
    async with asyncio.timeout(LIMIT_S):
        while not await found():
            await asyncio.wait([asyncio.ensure_future(found())])


def test_what_the_page_shows(place: str) -> None:
    async def main() -> None:
        async with aio.open(place) as store:
            orders = await store.topic("orders")
            billing = await orders.subscribe("billing", after="earliest", tries=2)
            async with orders.producer("import") as producer:
                assert await producer.last_seq() is None
                assert (await producer.send("a bicycle", seq=7)).offset == 0
                assert (await producer.send("a bicycle", seq=7)).duplicate
                with pytest.raises(topics.SequenceReused):
                    await producer.send("a bell", seq=7)
                receipts = [await producer.submit(f"{number}", seq=number) for number in range(8, 40)]
                assert [it.seq for it in await asyncio.gather(*receipts)] == list(range(8, 40))
                assert [it.offset for it in await producer.send_many(["x", (41, "y")])] == [33, 34]
            first = await billing.receive()
            assert first is not None
            assert (first.text, first.offset, first.tries, first.headers) == ("a bicycle", 0, 1, {})
            await first.extend()
            await first.nack(why="no money")
            rest = await billing.receive_many(34, timeout_s=0)
            await billing.ack(*rest)
            assert len(rest) == 34
            assert (await anext(billing)).tries == 2
            assert [it.lag for it in await orders.subscriptions()] == [1]
            await billing.close()
            assert [it.text async for it in await orders.read(after=32)] == ["x", "y"]
            assert (await orders.info()).count == 35
            assert [it.name for it in await store.topics()] == ["orders"]
        with pytest.raises(topics.StoreClosed):
            await orders.send("late")

    run(main)


def test_sends_of_one_task_after_the_other_keep_their_order(place: str) -> None:
    """Also where one in between is cancelled: its message is stored, or not, and no other is refused for it."""

    async def main() -> list[int]:
        async with aio.open(place) as store:
            lines = await store.topic("lines")
            producer = lines.producer("file")
            sends = [asyncio.create_task(producer.send(f"{number}", seq=number)) for number in range(200)]
            await sends[3]
            sends[100].cancel()
            done = await asyncio.gather(*sends, return_exceptions=True)
            assert [number for number, it in enumerate(done) if isinstance(it, BaseException)] in ([], [100])
            await producer.send("100", seq=100)
            return [int(it.text) async for it in await lines.read()]

    assert run(main) == list(range(200))


def test_a_cancelled_receive_loses_no_message(place: str) -> None:
    """Receives are cancelled at any moment while messages come; each message is handed over once, in order."""

    async def main() -> list[str]:
        async with aio.open(place) as store:
            lines = await store.topic("lines")
            got = list[str]()
            async with lines.subscribe("all", after="earliest") as all_lines:
                sending = asyncio.create_task(send(lines))
                while len(got) < 50:
                    receiving = asyncio.create_task(all_lines.receive())
                    await asyncio.wait([receiving], timeout=0.0005 * (len(got) % 7))
                    if receiving.done() or not receiving.cancel():
                        found = await receiving
                        assert found is not None
                        got.append(found.text)
                        await found.ack()
                    else:
                        await asyncio.wait([receiving])
                        if not receiving.cancelled():
                            found = receiving.result()
                            assert found is not None
                            got.append(found.text)
                await sending
                assert await all_lines.receive(0.01) is None
            return got

    async def send(lines: aio.AsyncTopic) -> None:
        for number in range(50):
            await lines.send(f"{number}")

    assert run(main) == [f"{number}" for number in range(50)]


def test_a_thousand_tasks_wait_without_a_thread_each(file_place: str) -> None:
    async def main() -> int:
        async with aio.open(file_place) as store:
            lines = await store.topic("lines")
            readers = [await lines.read("latest", follow=True) for _ in range(1000)]
            waiting = [asyncio.create_task(anext(reader)) for reader in readers]
            async with lines.subscribe("s") as subscription:
                taken = asyncio.create_task(subscription.receive())
                other = asyncio.create_task(subscription.receive())
                assert await subscription.receive(0) is None
                await lines.send_many(["news", "more"])
                assert {it.text for it in await asyncio.gather(*waiting)} == {"news"}
                assert sorted(it.text for it in await asyncio.gather(taken, other) if it) == ["more", "news"]
            return threading.active_count()

    before = threading.active_count()
    assert run(main) < before + 50


def test_a_commit_of_another_process_wakes_a_task(file_place: str) -> None:
    async def main() -> str:
        async with aio.open(file_place) as store, (await store.topic("lines")).subscribe("s") as lines:
            waiting = asyncio.create_task(lines.receive())
            code = (
                "import sys; from gcom import topics\nwith topics.open(sys.argv[1]) as s: s.topic('lines').send('hi')"
            )
            other = await asyncio.create_subprocess_exec(
                *(sys.executable, "-c", code, file_place), cwd=ROOT, env=environment()
            )
            assert await other.wait() == 0
            found = await waiting
            assert found is not None
            return found.text

    assert run(main) == "hi"


def test_closing_ends_what_waits(place: str, tmp_path: Path) -> None:
    """Tasks that wait for a message, or run a handler, a function or a link, hear that the store is closed."""

    async def main() -> None:
        store = await aio.open(place)
        lines, copy = await store.topic("lines"), await store.topic("copy")
        subscription = await lines.subscribe("s")
        effects = await lines.subscribe("effects")
        function = await store.function(str.upper, "lines", to="upper", name="upper")
        tasks = [
            asyncio.create_task(subscription.receive()),
            asyncio.create_task(effects.run(lambda tx, messages, out: None, str(tmp_path / "own.db"))),
            asyncio.create_task(function.run()),
            asyncio.create_task(lines.link(copy, "mirror").run()),
            asyncio.create_task(anext(await lines.read(follow=True))),
        ]
        await asyncio.wait(tasks, timeout=0.2)
        assert not [it for it in tasks if it.done()]
        last = asyncio.create_task(lines.producer("p").send("last"))
        await asyncio.wait([last], timeout=0.001)
        await store.close()
        await store.close()
        found = await asyncio.gather(*tasks, return_exceptions=True)
        assert {type(it) for it in found[:2]} <= {topics.StoreClosed, aio.AsyncDelivery, int}
        with pytest.raises(topics.StoreClosed):
            await subscription.receive()
        assert (await last).offset == 0

    run(main)


@pytest.fixture
def own(tmp_path: Path) -> Path:
    path = tmp_path / "ledger.db"
    with sqlite3.connect(path) as ledger:
        ledger.execute("CREATE TABLE entry (text TEXT)")
    ledger.close()
    return path


def entries(path: Path) -> list[str]:
    ledger = sqlite3.connect(path)
    found = [text for (text,) in ledger.execute("SELECT text FROM entry ORDER BY rowid")]
    ledger.close()
    return found


def handle(tx: Any, messages: Sequence[topics.TopicMessage], out: topics.OutboxSender) -> None:
    for message in messages:
        tx.execute("INSERT INTO entry VALUES (?)", (message.text,))
        out.send("copies", message.body)


def test_effects_once_with_a_task_that_is_cancelled(place: str, own: Path) -> None:
    """The runs are cancelled again and again while messages come; each has its effect once, and its copy once."""

    async def main() -> list[str]:
        async with aio.open(place) as store:
            lines = await store.topic("lines")
            subscription = await lines.subscribe("ledger", after="earliest")
            sending = asyncio.create_task(send(lines.producer("file")))
            for number in range(5):
                running = asyncio.create_task(subscription.run(handle, str(own), batch=3))
                await asyncio.wait([running], timeout=0.02 * number)
                running.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await running
            await sending
            await subscription.run(handle, str(own), follow=False)
            return [it.text async for it in await (await store.topic("copies")).read()]

    async def send(producer: aio.AsyncProducer) -> None:
        for number in range(60):
            await producer.send(f"{number}")

    assert run(main) == entries(own) == [f"{number}" for number in range(60)]


def test_effects_in_the_stores_own_database(file_place: str) -> None:
    async def main() -> tuple[int, list[str]]:
        async with aio.open(file_place) as store:
            lines = await store.topic("lines")
            await lines.bound(count=100)
            await lines.send_many(["a", "b"])
            with closing(sqlite3.connect(file_place)) as file:
                file.execute("CREATE TABLE entry (text TEXT)")
            subscription = await lines.subscribe("ledger", after="earliest")
            count = await subscription.run(handle, store, follow=False)
            return count, [it.text async for it in await (await store.topic("copies")).read()]

    assert run(main) == (2, ["a", "b"])
    assert entries(Path(file_place)) == ["a", "b"]


def test_run_follows_until_it_is_cancelled(place: str, own: Path) -> None:
    async def main() -> None:
        async with aio.open(place) as store:
            lines = await store.topic("lines")
            async with lines.subscribe("ledger", after="earliest") as subscription:
                running = asyncio.create_task(subscription.run(handle, str(own)))
                for number in range(3):
                    await lines.send(f"{number}")
                    await until(lambda: asyncio.to_thread(lambda: len(entries(own)) > number))  # noqa: B023
                running.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await running

    run(main)
    assert entries(own) == ["0", "1", "2"]


def test_what_run_refuses(file_place: str, own: Path) -> None:
    async def coroutine(*_: Any) -> None:
        pass

    def failing(*_: Any) -> None:
        raise LookupError("no such account")

    async def main() -> None:
        async with aio.open(file_place) as store:
            lines = await store.topic("lines")
            await lines.send("x")
            subscription = await lines.subscribe("s", after="earliest")
            with pytest.raises(BadValue, match="plain function"):
                await subscription.run(coroutine, str(own))
            ledger = sqlite3.connect(own)
            with pytest.raises(BadValue, match="must be a place"):
                await subscription.run(handle, ledger)
            ledger.close()
            with pytest.raises(LookupError, match="no such account"):
                await subscription.run(failing, str(own))
            assert await subscription.run(handle, str(own), follow=False) == 1

    async def damaged() -> None:
        other = own.with_suffix(".txt")
        other.write_text("no database\n" * 500)
        with pytest.raises(topics.StoreDamaged):
            await aio.open(other)

    run(main)
    run(damaged)


def test_functions_links_sources_and_transactions(place: str, new_place: Callable[[], str]) -> None:
    class Lines:
        def seek(self, position: int | None) -> None:
            self.begin = -1 if position is None else position

        def read(self) -> Iterator[tuple[int, str]]:
            yield from ((number, f"{number}") for number in range(self.begin + 1, 10))

    async def main() -> None:
        async with aio.open(place) as store, aio.open(new_place()) as other:
            lines, copy = await store.topic("lines"), await other.topic("copy")
            assert await lines.producer("file").run(Lines()) == 10
            assert await lines.producer("file").run(Lines()) == 0
            function = await store.function(lambda text: text + "!", "lines", to="out", name="shout")
            assert await function.run(follow=False) == 10
            assert await lines.link(copy, "mirror").run(follow=False) == 10
            assert await lines.link(copy, "mirror").run(follow=False) == 0
            assert [it.text async for it in await (await store.topic("out")).read(after=7)] == ["8!", "9!"]
            async with lines.subscribe("s", after=8) as subscription, store.transaction() as tx:
                tx.send(lines, "bill", producer=lines.producer("bills"), seq=4)
                tx.ack(await anext(subscription))
            assert [(it.offset, it.seq) for it in tx.receipts] == [(10, 4)]
            with pytest.raises(BadValue, match="of another store"):
                async with store.transaction() as tx:
                    tx.send(copy, "x")
            assert [it.text async for it in await copy.read()] == [f"{number}" for number in range(10)]

    run(main)


def test_messages_taken_together_are_not_lost_by_a_cancellation(place: str) -> None:
    """1. A task has two messages of four. 2. It is cancelled. 3. The next task has all four, in their order."""

    async def main() -> None:
        async with aio.open(place) as store:
            orders = await store.topic("orders")
            sub = await orders.subscribe("s", after="earliest", tries=None)

            async def check(found: list[aio.AsyncDelivery] | None) -> None:
                got = found or []
                while one := await sub.receive(0.0):
                    got.append(one)
                assert [it.text for it in got] == ["0", "1", "2", "3"]
                await sub.ack(*got)
                await orders.send_many("0123")

            await orders.send_many("0123")
            assert await cancel_each_step(lambda: sub.receive_many(4, 30.0), check) > 3
            await sub.close()

    run(main)


def test_a_cancelled_close_is_completed(file_place: str) -> None:
    async def main() -> None:
        async def work() -> bool:
            async with aio.open(file_place) as store:
                await store.topic("orders")
            return True

        async def check(_: bool | None) -> None:
            await until(ended)

        async def ended() -> bool:
            return not [it for it in threading.enumerate() if it.name.startswith("gcom")]

        assert await cancel_each_step(work, check) > 3

    run(main)
