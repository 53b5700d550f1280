"""Effects once: handlers, outboxes, functions and links, with every mistake that a handler can make."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from gcom import topics
from gcom.errors import BadValue, Forked
from gcom.topics import Fenced, HandlerCommitted, InboxAhead, OutboxSender, Topic, TopicMessage, TopicStore
from gcom.topics.storage import topics as sql

Tx = sqlite3.Connection


@pytest.fixture
def orders(store: TopicStore) -> Topic:
    return store.topic("orders")


@pytest.fixture
def ledger(tmp_path: Path) -> str:
    path = str(tmp_path / "ledger.db")
    with closing(sqlite3.connect(path)) as file, file:
        file.execute("CREATE TABLE entry (text TEXT NOT NULL)")
    return path


def write(tx: Tx, messages: Sequence[TopicMessage], out: OutboxSender) -> None:
    for message in messages:
        tx.execute("INSERT INTO entry VALUES (?)", (message.text,))
        out.send("copies", message.body)


def rows(ledger: str, sql: str = "SELECT text FROM entry ORDER BY rowid") -> list[Any]:
    with closing(sqlite3.connect(ledger)) as file:
        return [row[0] for row in file.execute(sql)]


def test_each_effect_once(store: TopicStore, orders: Topic, ledger: str) -> None:
    given = [str(number) for number in range(1000)]
    orders.subscribe("ledger")
    orders.send_many(given)
    assert orders.subscribe("ledger").run(write, ledger, batch=64, follow=False) == 1000
    assert orders.subscribe("ledger").run(write, ledger, follow=False) == 0
    assert rows(ledger) == given == [it.text for it in store.topic("copies").read()]
    assert rows(ledger, "SELECT count(*) FROM gcom_outbox") == [0]
    assert rows(ledger, "SELECT count(*) FROM gcom_inbox") == [1]
    assert orders.subscriptions()[0].lag == 0


def test_shards_and_filters(orders: Topic, ledger: str) -> None:
    orders.subscribe("ledger", shards=3, where={"kind": "x"})
    for number in range(60):
        orders.send(str(number), key=str(number), headers={"kind": "xy"[number % 2]})
    assert orders.subscribe("ledger", shards=3, where={"kind": "x"}).run(write, ledger, follow=False) == 30
    assert sorted(map(int, rows(ledger))) == list(range(0, 60, 2))


def by_name(cursor: sqlite3.Cursor, row: tuple[Any, ...]) -> dict[str, Any]:
    return {it[0]: value for it, value in zip(cursor.description, row, strict=True)}


@pytest.mark.parametrize(("row_factory", "text_factory"), [(None, str), (sqlite3.Row, str), (by_name, bytes)])
def test_an_open_connection_is_given_back_as_it_was(
    orders: Topic, ledger: str, row_factory: Any, text_factory: Any
) -> None:
    orders.send("a")
    with closing(sqlite3.connect(ledger)) as own:
        own.row_factory, own.text_factory = row_factory, text_factory
        orders.subscribe("ledger", after="earliest").run(write, own, follow=False)
        own.execute("INSERT INTO entry VALUES ('mine')")
        assert own.in_transaction
        with pytest.raises(BadValue, match="in a transaction"):
            orders.subscribe("ledger").run(write, own, follow=False)
        own.commit()
    assert rows(ledger) == ["a", "mine"]


def fails(tx: Tx, messages: Sequence[TopicMessage], out: OutboxSender) -> None:
    write(tx, messages, out)
    raise ZeroDivisionError


def commits(tx: Tx, messages: Sequence[TopicMessage], out: OutboxSender) -> None:
    write(tx, messages, out)
    tx.commit()


def rolls_back(tx: Tx, messages: Sequence[TopicMessage], out: OutboxSender) -> None:
    write(tx, messages, out)
    tx.rollback()


def runs_a_script(tx: Tx, messages: Sequence[TopicMessage], out: OutboxSender) -> None:
    write(tx, messages, out)
    tx.executescript("CREATE TABLE other (a); COMMIT; BEGIN")


def sends_nonsense(tx: Tx, messages: Sequence[TopicMessage], out: OutboxSender) -> None:
    write(tx, messages, out)
    out.send("copies", 7)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("handler", "error"),
    [
        (fails, ZeroDivisionError),
        (commits, HandlerCommitted),
        (rolls_back, HandlerCommitted),
        (runs_a_script, HandlerCommitted),
        (sends_nonsense, BadValue),
    ],
)
def test_a_handler_that_fails_leaves_nothing(
    store: TopicStore, orders: Topic, ledger: str, handler: Callable[..., None], error: type[Exception]
) -> None:
    orders.send("a")
    with pytest.raises(error):
        orders.subscribe("ledger", after="earliest").run(handler, ledger, follow=False)
    assert rows(ledger) == []
    assert rows(ledger, "SELECT count(*) FROM gcom_outbox") == [0]
    assert orders.subscribe("ledger").run(write, ledger, follow=False) == 1
    assert rows(ledger) == ["a"] == [it.text for it in store.topic("copies").read()]


def test_a_handler_that_forks(orders: Topic, ledger: str) -> None:
    def forks(tx: Tx, messages: Sequence[TopicMessage], out: OutboxSender) -> None:
        children.append(os.fork())
        if children[-1]:
            os.waitpid(children[-1], 0)
            write(tx, messages, out)

    children = list[int]()
    orders.send("a")
    try:
        done = orders.subscribe("ledger", after="earliest").run(forks, ledger, follow=False)
    except Forked:
        os._exit(0)
    finally:
        if children[-1] == 0:
            os._exit(1)
    assert (done, rows(ledger)) == (1, ["a"])


def test_a_slow_handler_is_told_of(
    orders: Topic, ledger: str, expect_log: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    from gcom.topics.effects import inbox

    monkeypatch.setattr(inbox, "SLOW_S", 0.0)
    expect_log("handler of subscription 'ledger' took")
    orders.send("a")
    orders.subscribe("ledger", after="earliest").run(write, ledger, follow=False)


def test_two_consumers_of_one_message(orders: Topic, ledger: str, place: str) -> None:
    """1. One is in its handler. 2. Its lease is over, and another one does the batch. 3. One of both is kept."""
    orders.send("a")

    def slowly(tx: Tx, messages: Sequence[TopicMessage], out: OutboxSender) -> None:
        write(tx, messages, out)

    first = orders.subscribe("ledger", after="earliest", ack_wait_s=0.1)
    with topics.open(place) as other:
        second = other.topic("orders").subscribe("ledger", ack_wait_s=0.1)
        found = [first.run(slowly, ledger, follow=False), second.run(slowly, ledger, follow=False)]
    assert sorted(found) == [0, 1]
    assert rows(ledger) == ["a"]


def test_an_old_copy_is_found(orders: Topic, ledger: str) -> None:
    orders.send_many(["a", "b"])
    orders.subscribe("ledger", after="earliest").run(write, ledger, follow=False)
    with closing(sqlite3.connect(ledger)) as file, file:
        file.execute("UPDATE gcom_inbox SET floor = 17")
    with pytest.raises(InboxAhead, match=r"effect of message 17 .* only 2 messages"):
        orders.subscribe("ledger").run(write, ledger, follow=False)


def test_places_that_cannot_be(orders: Topic, ledger: str, file_place: str) -> None:
    with topics.open(file_place) as own, pytest.raises(BadValue, match="store's own file"):
        own.topic("x").subscribe("ledger").run(write, file_place, follow=False)
    with topics.open(file_place) as own, closing(sqlite3.connect(file_place)) as same:
        subscription = own.topic("x").subscribe("ledger")
        with pytest.raises(BadValue, match="store's own file"):
            subscription.run(write, same, follow=False)
    with pytest.raises(BadValue, match="exclusive"):
        orders.subscribe("ledger", competing=True).run(write, ledger, follow=False)


def test_the_literal_function(store: TopicStore) -> None:
    store.topic("in").send_many(["a", "b"])
    assert store.function(lambda x: x + "!", "in", to="out").run(follow=False) == 2
    assert store.function(lambda x: x + "!", "in", to="out").run(follow=False) == 0
    assert [it.text for it in store.topic("out").read()] == ["a!", "b!"]


def test_a_function_of_several_inputs_and_outputs(store: TopicStore) -> None:
    def spread(text: str) -> list[str] | str | None:
        return {"none": None, "one": "1"}.get(text, [f"{text}{place}" for place in range(3)])

    for name in ("a", "b"):
        store.topic(name).send_many(["none", "one", name])
    assert store.function(spread, ["a", "b"], to="out").run(follow=False) == 6
    found = list(store.topic("out").read())
    assert sorted(it.text for it in found) == ["1", "1", "a0", "a1", "a2", "b0", "b1", "b2"]
    assert {it.producer for it in found} == {"function:spread:a", "function:spread:b"}
    with pytest.raises(BadValue, match="other inputs than its output"):
        store.function(spread, "a", to="a")


def test_a_function_that_raises_takes_nothing(store: TopicStore) -> None:
    def fussy(text: str) -> str:
        return str(1 / int(text))

    store.topic("in").send_many(["1", "0"])
    with pytest.raises(ZeroDivisionError) as caught:
        store.function(fussy, "in", to="out").run(follow=False)
    assert caught.value.__notes__ == ["the input was message 1 of topic 'in'"]
    assert list(store.topic("out").read()) == []


def test_a_link_between_stores(orders: Topic, tmp_path: Path) -> None:
    for number in range(600):
        orders.send(str(number), key="k", headers={"kind": "x"})
    with topics.open(tmp_path / "far.db") as far:
        copies = far.topic("copies")
        first = orders.link(copies, "mirror")
        assert first.run(follow=False) == 600
        orders.send("600")
        assert orders.link(copies, "mirror").run(follow=False) == 1
        orders.send("601")
        with pytest.raises(Fenced):
            first.run(follow=False)
        found = list(copies.read())
    assert [it.text for it in found] == [str(number) for number in range(601)]
    assert (found[0].key, found[0].headers, found[0].seq) == (b"k", {"kind": "x"}, 0)


def test_what_is_committed_while_a_consumer_looks_is_not_passed_over(
    orders: Topic, ledger: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """1. It asks how far the topic is. 2. A message is committed. 3. It reads, and must not count that as seen."""
    real, late = sql.bounds, ["b", "c"]

    def bounds(*given: Any) -> tuple[int, int]:
        found = real(*given)
        if late and orders.info.count:
            orders.send(late.pop(0))
        return found

    orders.subscribe("ledger", where={})
    orders.send("a")
    monkeypatch.setattr(sql, "bounds", bounds)
    orders.subscribe("ledger").run(write, ledger, batch=10, follow=False)
    monkeypatch.undo()
    orders.subscribe("ledger").run(write, ledger, follow=False)
    assert rows(ledger) == [it.text for it in orders.read()]
