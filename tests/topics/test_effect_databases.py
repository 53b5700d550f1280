"""Effects once in PostgreSQL, and in the store's own database: the promises of test_effects, and what is special."""

from __future__ import annotations

import select
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from threading import Thread
from time import monotonic
from typing import Any

import pytest

from gcom import topics
from gcom.errors import BadValue, Unavailable
from gcom.topics import EffectConflict, HandlerCommitted, OutboxSender, ReceiptUnknown, Topic, TopicMessage, TopicStore
from gcom.topics.effects import inbox
from tests.running import LIMIT_S
from tests.topics.conftest import Server
from tests.topics.ledgers import Ledger

KINDS = ("postgres", "store in a file", "store in postgres")


Given = tuple[Ledger, TopicStore]


@pytest.fixture(autouse=True)
def a_busy_machine_is_no_news(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inbox, "SLOW_S", LIMIT_S)


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def ledger(kind: str, file_place: str, server: Server) -> Iterator[Given]:
    """A ledger, with the place of a store whose topic "orders" has three messages."""
    store_place = server.new_place() if kind == "store in postgres" else file_place
    with topics.open(store_place) as store:
        store.topic("orders").send_many(["a", "b", "c"])
        made = Ledger(kind, server.new_place() if kind == "postgres" else store_place, store)
        yield made, store


only_postgres = pytest.mark.parametrize("kind", ["postgres"], indirect=True)


def orders_of(store: TopicStore) -> Topic:
    return store.topic("orders")


def subscribed(store: TopicStore, **terms: Any) -> topics.Subscription:
    return orders_of(store).subscribe("ledger", after="earliest", **terms)


def copies(store: TopicStore) -> list[str]:
    return [it.text for it in store.topic("copies").read()]


@pytest.mark.parametrize("optimistic", [False, True])
def test_each_effect_once(ledger: Given, optimistic: bool) -> None:
    made, store = ledger
    given = ["a", "b", "c", *map(str, range(500))]
    orders_of(store).send_many(given[3:])
    run: dict[str, Any] = {"batch": 64, "follow": False, "optimistic": optimistic}
    assert subscribed(store, shards=2).run(made.write, made.db, **run) == len(given)
    assert subscribed(store, shards=2).run(made.write, made.db, **run) == 0
    assert sorted(made.rows()) == sorted(given) == sorted(copies(store))
    if made.db is not store:
        assert made.rows("SELECT count(*) FROM gcom_outbox") == [0]
        assert made.rows("SELECT count(*) FROM gcom_inbox") == [2]
    assert orders_of(store).subscriptions()[0].lag == 0


def fails(_tx: Any, _out: OutboxSender) -> None:
    raise ZeroDivisionError("of the handler")


def commits(tx: Any, _out: OutboxSender) -> None:
    tx.commit()


def commits_and_goes_on(tx: Any, _out: OutboxSender) -> None:
    with suppress(Exception):
        tx.execute("COMMIT")
    tx.execute("INSERT INTO entry VALUES ('behind it')")


def rolls_back(tx: Any, _out: OutboxSender) -> None:
    tx.rollback()
    tx.execute("INSERT INTO entry VALUES ('behind it')")


def sends_nonsense(_tx: Any, out: OutboxSender) -> None:
    out.send("copies", 7)  # type: ignore[arg-type]


def closes(tx: Any, _out: OutboxSender) -> None:
    tx.close()


def goes_on_after_an_error(tx: Any, _out: OutboxSender) -> None:
    with suppress(Exception):
        tx.execute("INSERT INTO nowhere VALUES (1)")


def never(_tx: Any, _messages: Sequence[TopicMessage], _out: OutboxSender) -> None:
    raise AssertionError("nothing was to be given to this handler")


@pytest.mark.parametrize(
    ("mistake", "error", "words"),
    [
        (fails, ZeroDivisionError, "of the handler"),
        (commits, HandlerCommitted, "the handler tried to"),
        (commits_and_goes_on, HandlerCommitted, "the handler tried to"),
        (rolls_back, HandlerCommitted, "the handler tried to"),
        (sends_nonsense, BadValue, "a body must be"),
    ],
)
def test_a_handler_that_fails_leaves_nothing(
    ledger: Given, mistake: Callable[..., None], error: type[Exception], words: str
) -> None:
    leaves_nothing(ledger, mistake, error, words)


def leaves_nothing(ledger: Given, mistake: Callable[..., None], error: type[Exception], words: str) -> None:
    made, store = ledger

    def handler(tx: Any, messages: Sequence[TopicMessage], out: OutboxSender) -> None:
        made.write(tx, messages, out)
        mistake(tx, out)

    with pytest.raises(error, match=words):
        subscribed(store).run(handler, made.db, follow=False)
    assert made.rows() == [] == copies(store)
    assert subscribed(store).run(made.write, made.db, follow=False) == 3
    assert made.rows() == ["a", "b", "c"] == copies(store)


@only_postgres
@pytest.mark.parametrize(
    ("mistake", "error", "words"),
    [(closes, HandlerCommitted, "close the connection"), (goes_on_after_an_error, BadValue, "use a savepoint")],
)
def test_mistakes_with_postgresql(
    ledger: Given, mistake: Callable[..., None], error: type[Exception], words: str
) -> None:
    leaves_nothing(ledger, mistake, error, words)


@only_postgres
def test_a_handler_that_takes_too_long_is_told_of(ledger: Given) -> None:
    """Its transaction would keep rows locked: PostgreSQL ends it after the time for an acknowledgement."""
    made, store = ledger
    subscription = subscribed(store, ack_wait_s=0.1)

    def handler(tx: Any, messages: Sequence[TopicMessage], out: OutboxSender) -> None:
        made.write(tx, messages, out)
        select.select([tx.fileno()], [], [], LIMIT_S)  # until the server has something to say
        tx.execute("SELECT 1")

    with pytest.raises(Unavailable, match=r"longer than the ack_wait_s of 0\.1 s"):
        subscription.run(handler, made.db, follow=False)
    assert made.rows() == []
    assert subscribed(store).run(made.write, made.db, follow=False) == 3


@only_postgres
@pytest.mark.parametrize("autocommit", [True, False])
def test_an_open_connection_is_given_back_as_it_was(ledger: Given, autocommit: bool) -> None:
    import psycopg
    from psycopg.rows import dict_row

    made, store = ledger
    with psycopg.connect(made.place, autocommit=autocommit, row_factory=dict_row) as own:
        assert subscribed(store).run(made.write, own, follow=False) == 3
        assert own.autocommit is autocommit
        with own.transaction():
            own.execute("INSERT INTO entry VALUES ('mine')")
            with pytest.raises(BadValue, match="in a transaction"):
                subscribed(store).run(made.write, own, follow=False)
        own.commit()
    assert made.rows() == ["a", "b", "c", "mine"]


@only_postgres
@pytest.mark.parametrize("committed", [True, False])
@pytest.mark.parametrize("own", [True, False])
def test_a_commit_whose_answer_is_lost(
    ledger: Given, committed: bool, own: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """1. The server is told to commit. 2. The connection ends before the answer. 3. The inbox tells what happened."""
    import psycopg

    made, store = ledger
    real, losses = psycopg.Connection.commit, [1, 1]

    def commit(self: Any) -> None:
        if losses and committed:
            real(self)
        if losses:
            losses.pop()
            self.close()
            raise psycopg.OperationalError("the connection of this test was lost")
        real(self)

    run: dict[str, Any] = {"batch": 2, "follow": False}
    connections = [psycopg.connect(made.place) for _ in range(3 if own else 0)]
    subscription = subscribed(store)
    monkeypatch.setattr(psycopg.Connection, "commit", commit)
    if not own:
        assert subscription.run(made.write, made.db, **run) == 3
    else:
        for connection in connections[:2]:
            with pytest.raises(ReceiptUnknown, match="its inbox knows"):
                subscribed(store).run(made.write, connection, **run)
        assert subscribed(store).run(made.write, connections[2], **run) == (0 if committed else 3)
        connections[2].close()
    assert made.rows() == ["a", "b", "c"] == copies(store)


@only_postgres
def test_a_batch_that_others_stand_in_the_way_of_is_done_again(ledger: Given) -> None:
    import psycopg

    made, store = ledger
    conflicts = [1] * 4

    def handler(tx: Any, messages: Sequence[TopicMessage], out: OutboxSender) -> None:
        made.write(tx, messages, out)
        if conflicts:
            conflicts.pop()
            raise psycopg.errors.SerializationFailure("could not serialize access")

    assert subscribed(store).run(handler, made.db, follow=False) == 3
    assert made.rows() == ["a", "b", "c"] == copies(store)
    orders_of(store).send("d")
    conflicts += [1] * 5
    with pytest.raises(EffectConflict, match="could not serialize"):
        subscribed(store).run(handler, made.db, follow=False)
    assert made.rows() == ["a", "b", "c"]


def until_it_worked(place: str, made: Ledger, handler: Callable[..., object]) -> None:
    """Be another consumer, until it has the lease of the one before, and did the batch."""
    deadline, count = monotonic() + LIMIT_S, 0
    with topics.open(place) as other:
        while not count and monotonic() < deadline:
            consumer = other.topic("orders").subscribe("ledger", ack_wait_s=0.1)
            db = made.db if isinstance(made.db, str) else other
            count = consumer.run(handler, db, follow=False, optimistic=True)
    assert count == 3


@pytest.mark.parametrize("kind", ["postgres", "store in postgres"], indirect=True)
def test_two_consumers_at_once_and_the_later_one_is_undone(ledger: Given) -> None:
    """1. One is in its handler, and its lease is over. 2. Another one does the batch. 3. The first one is undone."""
    made, store = ledger
    place = made.place if made.db is store else store.name

    def handler(tx: Any, messages: Sequence[TopicMessage], out: OutboxSender) -> None:
        until_it_worked(place, made, made.write)
        made.write(tx, messages, out)

    assert subscribed(store).run(handler, made.db, follow=False, optimistic=True) == 0
    assert made.rows() == ["a", "b", "c"] == copies(store)


@only_postgres
def test_one_consumer_waits_for_the_other(ledger: Given) -> None:
    """1. One is in its handler, and its lease is over. 2. Another one waits at the inbox. 3. The batch is done."""
    made, store = ledger
    second, counts = subscribed(store, ack_wait_s=0.1), list[int]()

    def work() -> None:
        counts.append(second.run(never, made.db, follow=False))

    def handler(tx: Any, messages: Sequence[TopicMessage], out: OutboxSender) -> None:
        waiting = Thread(target=work)
        threads.append(waiting)
        waiting.start()
        made.write(tx, messages, out)
        blocked = "SELECT count(*) FROM pg_locks WHERE NOT granted"
        deadline = monotonic() + LIMIT_S
        while made.rows(blocked) == [0] and not counts:
            assert monotonic() < deadline

    threads = list[Thread]()
    first = subscribed(store)
    assert first.run(handler, made.db, follow=False) == 3
    threads[0].join(LIMIT_S)
    assert counts == [0]
    assert made.rows() == ["a", "b", "c"] == copies(store)


def test_places_that_cannot_be(store: TopicStore, file_place: str, server: Server) -> None:
    subscription = store.topic("x").subscribe("ledger")
    with topics.open(f"{file_place}.other") as other, pytest.raises(BadValue, match="another store, or at a server"):
        subscription.run(never, other, follow=False)
    for db, words in ((7, "got int"), ("postgresql://?nonsense=1", "address of PostgreSQL is not one")):
        with pytest.raises(BadValue, match=words):
            subscription.run(never, db, follow=False)
    with pytest.raises(Unavailable, match="refused"):
        subscription.run(never, f"postgresql://gcom@/nowhere?host={server.folder}", follow=False)
