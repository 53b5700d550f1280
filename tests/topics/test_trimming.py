"""Trimming and copies: the oldest messages go, and what was sent stays known."""

from __future__ import annotations

from pathlib import Path

import pytest

from gcom import topics
from gcom.errors import BadValue
from gcom.topics import TopicStore


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


def test_a_copy_is_a_store(file_place: str, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    with topics.open(file_place) as store:
        producer = store.topic("orders").producer("import")
        producer.send("a", seq=1)
        store.backup(copy)
        producer.send("b", seq=2)
        with pytest.raises(BadValue, match="is there already"):
            store.backup(copy)
        with pytest.raises(BadValue, match=r"cannot (write|open)"):
            store.backup(tmp_path / "nowhere" / "copy.db")
    with topics.open(copy) as other:
        assert [it.text for it in other.topic("orders").read()] == ["a"]
        assert other.topic("orders").producer("import").send("a", seq=1).duplicate
