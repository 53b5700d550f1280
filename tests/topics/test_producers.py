"""Producers on a store: every message once, whatever is sent again, by whom, and in what order."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from gcom import topics
from gcom.errors import BadValue, Forked, MessageTooLarge
from gcom.topics import (
    Fenced,
    SequenceGap,
    SequenceReused,
    StoreClosed,
    StoreFull,
    TopicMessage,
    TopicStore,
    UnknownTopic,
)
from gcom.topics.storage import appends
from tests.interrupts import Interrupts


def bodies(store: TopicStore, topic: str) -> list[str]:
    return [message.text for message in store.topic(topic).read()]


def test_a_duplicate_gets_the_first_receipt(store: TopicStore) -> None:
    orders = store.topic("orders")
    producer = orders.producer("import")
    assert producer.last_seq is None
    first = producer.send("a", seq=7)
    assert (first.offset, first.duplicate, first.seq, first.durable) == (
        0,
        False,
        7,
        "server" if "host=" in store.name else "file",
    )
    for _ in range(100):
        again = producer.send("a", seq=7)
        assert (again.offset, again.duplicate) == (0, True)
    assert producer.send("b").seq == 8
    assert producer.last_seq == 8
    assert bodies(store, "orders") == ["a", "b"]


def test_a_whole_batch_again_and_old_with_new(store: TopicStore) -> None:
    producer = store.topic("orders").producer("import")
    batch = [(seq, f"m{seq}") for seq in range(10, 20)]
    first = producer.send_many(batch)
    again = producer.send_many(batch)
    assert [it.offset for it in again] == [it.offset for it in first] == list(range(10))
    assert all(it.duplicate for it in again)
    mixed = producer.send_many([(18, "m18"), (19, "m19"), (20, "m20"), (20, "m20")])
    assert [(it.offset, it.duplicate) for it in mixed] == [(8, True), (9, True), (10, False), (10, True)]
    assert bodies(store, "orders") == [f"m{seq}" for seq in range(10, 21)]


def test_one_name_two_topics_and_two_names_one_topic(store: TopicStore) -> None:
    for topic in ("a", "b"):
        for name in ("x", "y"):
            assert not store.topic(topic).producer(name).send(name, seq=1).duplicate
    assert bodies(store, "a") == bodies(store, "b") == ["x", "y"]


def test_another_body_under_a_used_sequence_is_refused(store: TopicStore) -> None:
    producer = store.topic("orders").producer("import")
    producer.send("a", seq=1)
    with pytest.raises(SequenceReused, match="sequence 1 was used before"):
        producer.send("b", seq=1)
    producer.send("c", seq=2)
    assert bodies(store, "orders") == ["a", "c"]


def test_a_zombie_is_fenced(store: TopicStore) -> None:
    orders = store.topic("orders")
    zombie = orders.producer("import")
    zombie.send("a", seq=1)
    successor = orders.producer("import")
    assert successor.last_seq == 1
    with pytest.raises(Fenced):
        zombie.send("b", seq=2)
    with pytest.raises(Fenced):
        _ = zombie.last_seq
    successor.send("b", seq=2)
    assert bodies(store, "orders") == ["a", "b"]


def test_many_threads_send_the_same(store: TopicStore) -> None:
    """A request that the network doubles: one append, and the same receipt for both."""
    producer = store.topic("orders").producer("import")
    with ThreadPoolExecutor(8) as pool:
        receipts = list(pool.map(lambda _: producer.send("a", seq=3), range(64)))
    assert {it.offset for it in receipts} == {0}
    assert sum(not it.duplicate for it in receipts) == 1


def test_many_producers_share_commits(store: TopicStore) -> None:
    orders = store.topic("orders")

    def send(name: str) -> list[int | None]:
        producer = orders.producer(name)
        return [producer.send(f"{name} {number}").offset for number in range(20)]

    with ThreadPoolExecutor(16) as pool:
        offsets = [offset for found in pool.map(send, [f"p{number}" for number in range(16)]) for offset in found]
    assert sorted(offset for offset in offsets if offset is not None) == list(range(320))
    for number in range(16):
        own = [it.text for it in orders.read() if it.producer == f"p{number}"]
        assert own == [f"p{number} {place}" for place in range(20)]


def test_futures_are_stored_in_order(store: TopicStore) -> None:
    with store.topic("orders").producer("import") as producer:
        futures = [producer.submit(str(number), seq=2 * number) for number in range(500)]
    assert [future.result().offset for future in futures] == list(range(500))
    assert producer.last_seq == 998


def test_what_was_refused_is_not_passed_over(store: TopicStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """1. Message 2 is refused, for want of room. 2. Its successors are refused, too. 3. Sent again, all are stored."""
    producer = store.topic("orders").producer("import")
    producer.send("1", seq=1)
    refuse_one(monkeypatch)
    futures = [producer.submit(str(seq), seq=seq) for seq in (2, 3, 4)]
    assert {type(future.exception()) for future in futures} <= {StoreFull, SequenceGap}
    with pytest.raises(SequenceGap, match="sequence 2 was refused and not sent again"):
        producer.send("5", seq=5)
    for seq in (2, 3, 4, 5):
        assert not producer.send(str(seq), seq=seq).duplicate
    assert bodies(store, "orders") == ["1", "2", "3", "4", "5"]


def refuse_one(patch: pytest.MonkeyPatch) -> None:
    """Have the next append refused for want of room."""
    real, refused = appends._store, threading.Event()

    def store(*given: Any) -> int:
        if not refused.is_set():
            refused.set()
            raise StoreFull("no room on the disk of this test")
        return real(*given)

    patch.setattr(appends, "_store", store)


def test_run_goes_on_where_it_stopped(store: TopicStore) -> None:
    class Numbers:
        def __init__(self, end: int) -> None:
            self.begin, self.end = 0, end

        def seek(self, position: int | None) -> None:
            self.begin = 0 if position is None else position + 1

        def read(self) -> list[tuple[int, bytes]]:
            return [(number, b"%d" % number) for number in range(self.begin, self.end)]

    orders, told = store.topic("orders"), list[int]()
    assert orders.producer("file").run(Numbers(1000), batch=64, tell=told.append) == 1000
    assert orders.producer("file").run(Numbers(1000)) == 0
    assert orders.producer("file").run(Numbers(1003)) == 3
    assert told[-1] == 999
    assert bodies(store, "orders") == [str(number) for number in range(1003)]


def test_it_is_never_forgotten(store: TopicStore) -> None:
    """Thousands of producers later, the first one's duplicate is known; brokers keep 255, or two minutes."""
    orders = store.topic("orders")
    first = orders.producer("p0").send("a", seq=1)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: orders.producer(f"p{number}").send("a", seq=1), range(1, 2000)))
    again = orders.producer("p0").send("a", seq=1)
    assert (again.offset, again.duplicate) == (first.offset, True)
    assert len(orders.producers()) == 2000


def test_retired_means_forgotten(store: TopicStore) -> None:
    orders = store.topic("orders")
    producer = orders.producer("import")
    producer.send("a", seq=1)
    assert orders.retire("import")
    assert not orders.retire("import")
    with pytest.raises(Fenced, match="retired"):
        producer.send("b", seq=2)
    assert orders.producer("import").last_seq is None
    assert [it.producer for it in orders.read()] == [None]


def test_a_deleted_topic(store: TopicStore) -> None:
    orders = store.topic("orders")
    producer = orders.producer("import")
    producer.send("a")
    assert store.delete("orders") == 1
    for call in (lambda: producer.send("b"), lambda: orders.send("c"), lambda: list(orders.read())):
        with pytest.raises((UnknownTopic, Fenced), match="deleted"):
            call()
    assert bodies(store, "orders") == []
    assert store.topic("orders").producer("import").last_seq is None


NASTY = ["a b", "a*b/c", "x" * 200, "Grüße", "../../etc/passwd", "'; DROP TABLE gcom_message; --"]


@pytest.mark.parametrize("name", NASTY, ids=range(len(NASTY)))
def test_names(store: TopicStore, name: str) -> None:
    store.topic(name).producer(name).send("a", seq=1)
    (message,) = store.topic(name).read()
    assert (message.topic, message.producer) == (name, name)


@pytest.mark.parametrize("name", ["", " a", "a\r\n\r\nb", "x" * 1000, "a\0b", "\ud800", 7, None])
def test_names_that_are_refused(store: TopicStore, name: str) -> None:
    with pytest.raises(BadValue, match=r"topic name .* is not allowed"):
        store.topic(name)
    with pytest.raises(BadValue, match=r"producer name .* is not allowed"):
        store.topic("a").producer(name)


def test_bodies_round_trip(store: TopicStore) -> None:
    orders = store.topic("orders")
    given = [b"", b"*/\r\n\r\n\0", bytes(range(256)) * 40_000, "Grüße".encode()]
    for body in given:
        orders.send(body, key="k", headers={"kind": "täst"})
    found = list(orders.read())
    assert [it.body for it in found] == given
    assert {(it.key, it.headers["kind"]) for it in found} == {(b"k", "täst")}


def test_what_cannot_be_sent(store: TopicStore) -> None:
    producer = store.topic("orders").producer("import")
    with pytest.raises(MessageTooLarge):
        producer.send(bytes(17 * 1024 * 1024))
    with pytest.raises(BadValue, match="body must be bytes or text; got int"):
        producer.send(7)  # type: ignore[arg-type]
    for half in ({"body": "\ud800"}, {"body": "a", "key": "\ud800"}, {"body": "a", "headers": {"a": "\ud800"}}):
        with pytest.raises(BadValue, match="text must have whole characters"):
            producer.send(**half)
    with pytest.raises(BadValue, match="headers must be text"):
        producer.send("a", headers={"a": 7})  # type: ignore[dict-item]
    for seq in (-1, 2**62, True, "7"):
        with pytest.raises(BadValue, match="a sequence must be"):
            producer.send("a", seq=seq)  # type: ignore[arg-type]
    assert producer.send("a").offset == 0


def test_a_closed_store_and_a_fork(place: str) -> None:
    store = topics.open(place)
    orders = store.topic("orders")
    orders.send("a")
    if (child := os.fork()) == 0:
        status = 1
        try:
            orders.send("b")
        except Forked:
            status = 0
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    orders.send("c")
    store.close()
    store.close()
    for call in (lambda: orders.send("d"), lambda: list(orders.read())):
        with pytest.raises(StoreClosed):
            call()
    with topics.open(place) as again:
        assert bodies(again, "orders") == ["a", "c"]


def test_two_stores_in_one_place(place: str, tmp_path: Path) -> None:
    link = tmp_path / "link.db"
    with topics.open(place) as one:
        if "://" not in place:
            link.symlink_to(place)
        with topics.open(place if "://" in place else link) as other, ThreadPoolExecutor(8) as pool:
            stores = [one, other] * 4
            list(
                pool.map(
                    lambda it: [it[1].topic("a").producer(str(it[0])).send("x") for _ in range(50)], enumerate(stores)
                )
            )
            found: list[TopicMessage] = list(one.topic("a").read())
    assert [it.offset for it in found] == list(range(400))


@pytest.mark.parametrize("opened", [False, True])
def test_duplicates_at_the_end_of_a_batch(store: TopicStore, opened: bool) -> None:
    """The next message follows the highest sequence of the batch, whatever its last one is."""
    producer = store.topic("orders").producer("import")
    if opened:
        producer.send("a", seq=0)
    receipts = producer.send_many([(0, "a"), (1, "b"), (0, "a")])
    assert [(it.offset, it.duplicate) for it in receipts] == [(0, opened), (1, False), (0, True)]
    assert producer.send("c", seq=2).offset == 2
    assert producer.send("d").seq == 3


# 1. A client makes a socket. 2. It is interrupted before anything has that. 3. The collector closes it.
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_an_interrupted_program_loses_nothing_and_hangs_nowhere(store: TopicStore) -> None:
    orders = store.topic("orders")
    producer, sub = orders.producer("import"), orders.subscribe("bill", after="earliest")
    texts = [f"{it}" for it in range(60)]
    with Interrupts(1) as interrupts:
        for number, text in enumerate(texts):
            interrupts.attempt(partial(producer.send, text, seq=number))
        got = [interrupts.attempt(lambda: sub.receive(30)) for _ in texts]
    assert interrupts.count
    assert [it and it.text for it in got] == bodies(store, "orders") == texts
