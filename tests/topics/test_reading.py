"""Readers: from a place on, to the end or on and on, with no state at the store."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta

import pytest

from gcom import topics
from gcom.errors import BadValue
from gcom.topics import StoreClosed, TopicStore
from tests.running import LIMIT_S


def test_from_a_place(store: TopicStore) -> None:
    orders = store.topic("orders")
    orders.send_many([str(number) for number in range(600)])
    assert [it.offset for it in orders.read()] == list(range(600))
    assert [it.text for it in orders.read(597, batch=1)] == ["598", "599"]
    assert next(orders.read("earliest")).offset == 0
    assert list(orders.read("latest")) == list(orders.read(599)) == list(orders.read(10_000)) == []
    message = orders.message(5)
    assert message is not None
    assert message.text == "5"
    assert orders.message(600) is None


def test_from_a_time(store: TopicStore) -> None:
    orders = store.topic("orders")
    receipt = orders.send_many(["a", "b"])[-1]
    first = orders.message(0)
    assert receipt.offset == 1
    assert first is not None
    at = datetime.fromtimestamp(first.at_ms / 1000, UTC)
    assert [it.text for it in orders.read(at)] == ["a", "b"]
    assert list(orders.read(at + timedelta(hours=1))) == []
    assert len(list(orders.read(at - timedelta(hours=1)))) == 2


@pytest.mark.parametrize("after", ["middle", -2, 1.5, True])
def test_places_that_are_none(store: TopicStore, after: str) -> None:
    with pytest.raises(BadValue, match="after must be"):
        store.topic("orders").read(after)  # type: ignore[arg-type]


def test_follow_sees_what_comes_also_from_another_store(store: TopicStore, place: str) -> None:
    orders = store.topic("orders")
    reader = orders.read(follow=True)
    assert reader.receive(timeout_s=0) is None
    with topics.open(place) as other:
        sender = threading.Thread(target=lambda: [other.topic("orders").send(str(number)) for number in range(20)])
        sender.start()
        assert [next(reader).text for _ in range(20)] == [str(number) for number in range(20)]
        sender.join(LIMIT_S)
    assert reader.receive(timeout_s=0.01) is None


def test_a_close_ends_a_follower(place: str) -> None:
    store, errors, waits = topics.open(place), list[BaseException](), threading.Event()

    def follow() -> None:
        try:
            for _ in reader:
                waits.set()
        except StoreClosed as error:
            errors.append(error)

    store.topic("orders").send("the first")
    reader = store.topic("orders").read(follow=True)
    follower = threading.Thread(target=follow)
    follower.start()
    assert waits.wait(LIMIT_S)
    store.close()
    follower.join(LIMIT_S)
    assert len(errors) == 1
