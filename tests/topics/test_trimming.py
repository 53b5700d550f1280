"""Trimming and copies: the oldest messages go, and what was sent stays known."""

from __future__ import annotations

from pathlib import Path

import pytest

from gcom import topics
from gcom.errors import BadValue
from gcom.topics import QuotaExceeded, TopicStore


def test_a_duplicate_of_what_was_trimmed_is_known(store: TopicStore) -> None:
    orders = store.topic("orders")
    producer = orders.producer("import")
    producer.send_many([(seq, f"m{seq}") for seq in range(10)])
    assert orders.trim(before=4) == 4
    again = producer.send_many([(seq, f"m{seq}") for seq in range(10)])
    assert [it.offset for it in again] == [None] * 4 + list(range(4, 10))
    assert all(it.duplicate for it in again)
    assert orders.trim(count=0) == 6
    assert producer.send("m9", seq=9).duplicate
    assert producer.send("m10", seq=10).offset == 10
    assert [it.offset for it in orders.read()] == [10]


def test_by_count_age_and_size(store: TopicStore) -> None:
    orders = store.topic("orders")
    orders.send_many([bytes(100)] * 50)
    assert orders.trim(count=40) == 10
    assert orders.trim(age_s=3600) == 0
    assert orders.trim(size_bytes=2050) == 20
    assert (orders.info.first, orders.info.next) == (30, 50)
    assert orders.trim(age_s=0, before=35) >= 5
    with pytest.raises(BadValue, match="trim needs"):
        orders.trim()


def test_what_is_not_acknowledged_stays(store: TopicStore) -> None:
    orders = store.topic("orders")
    billing = orders.subscribe("billing")
    orders.send_many([str(number) for number in range(10)])
    first, *_ = billing.receive_many(10, timeout_s=0)
    assert orders.trim(count=0) == 0
    first.ack()
    assert orders.trim(count=0) == 1
    assert orders.trim(count=0, unread_too=True) == 9
    billing.close()
    assert billing.receive(timeout_s=0) is None
    assert orders.subscriptions()[0].lag == 0


def test_a_copy_is_a_store_of_one_moment(file_place: str, tmp_path: Path) -> None:
    copy, told = tmp_path / "copy.db", list[tuple[int, int]]()

    def tell(done: int, every: int) -> None:
        told.append((done, every))
        producer.send("b", seq=2)  # while it is copied

    with topics.open(file_place) as store:
        producer = store.topic("orders").producer("import")
        producer.send("a", seq=1)
        store.topic("large").send(bytes(10_000_000))
        store.backup(copy, tell)
        with pytest.raises(BadValue, match="is there already"):
            store.backup(copy)
        with pytest.raises(BadValue, match=r"cannot (write|open)"):
            store.backup(tmp_path / "nowhere" / "copy.db")
    assert [done < every for done, every in told] == [True, True, False]
    assert not copy.with_name("copy.db.part").exists()
    with topics.open(copy) as other:
        assert [it.text for it in other.topic("orders").read()] == ["a"]
        assert other.topic("orders").producer("import").send("a", seq=1).duplicate


def test_a_topic_keeps_what_it_is_bounded_to(store: TopicStore) -> None:
    """Those that append delete: a step for each 256 messages."""
    orders = store.topic("orders")
    producer = orders.producer("import")
    orders.bound(count=300)
    for first in range(0, 2560, 128):
        producer.send_many([(seq, f"m{seq}") for seq in range(first, first + 128)])
    assert (orders.info.first, orders.info.next, orders.info.keep.count) == (2260, 2560, 300)
    assert producer.send("m0", seq=0).duplicate
    orders.bound(size_bytes=1000)
    orders.send_many([bytes(10)] * 256)
    assert (orders.info.bytes, orders.info.count) == (1000, 100)
    orders.bound(age_s=0)
    orders.send_many([bytes(10)] * 512)
    assert orders.info.first >= 2816
    orders.bound()
    assert not orders.info.keep.is_bounded
    orders.send_many([bytes(10)] * 512)
    assert orders.info.count >= 512
    orders.trim(count=0)
    assert orders.info.bytes == 0
    with pytest.raises(BadValue, match="bounds must be at least 0"):
        orders.bound(count=-1)


@pytest.mark.parametrize("unread_too", [False, True])
def test_bounds_and_what_is_not_acknowledged(store: TopicStore, unread_too: bool) -> None:
    orders = store.topic("orders")
    orders.subscribe("billing")
    orders.bound(count=10, unread_too=unread_too)
    orders.send_many(["x"] * 512)
    assert orders.info.count == (10 if unread_too else 512)


def test_quotas(store: TopicStore) -> None:
    orders, other = store.topic("orders"), store.topic("other")
    orders.bound(bytes_most=100)
    producer = orders.producer("import")
    producer.send(bytes(90), seq=1)
    with pytest.raises(QuotaExceeded, match="keeps 90 bytes of at most 100, and 11 more were sent"):
        producer.send(bytes(11), seq=2)
    other.send("a")
    assert producer.send(bytes(10), seq=2).offset == 1
    orders.trim(count=1)
    assert producer.send(bytes(11), seq=3).offset == 2
    orders.bound(rate_most=5)
    assert orders.info.rate_most == 5
    orders.send_many(["x"] * 10)
    with pytest.raises(QuotaExceeded, match="at most 5 messages a second"):
        producer.send("y", seq=4)
    orders.bound(rate_most=1_000_000)
    assert producer.send("y", seq=4).offset == 13
