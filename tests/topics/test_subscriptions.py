"""Subscriptions: handed out, acknowledged, refused, buried and replayed; one consumer at a time, or several."""

from __future__ import annotations

import threading
from collections import Counter

import pytest

from gcom import topics
from gcom.errors import BadValue
from gcom.topics import StaleAck, Subscription, Topic, TopicStore, UnknownSubscription
from tests.running import LIMIT_S


@pytest.fixture
def orders(store: TopicStore) -> Topic:
    return store.topic("orders")


def texts(subscription: Subscription, ack: bool = True) -> list[str]:
    """Return the messages that there are for it by now."""
    found = []
    while (delivery := subscription.receive(timeout_s=0)) is not None:
        found.append(delivery.text)
        if ack:
            delivery.ack()
    return found


def test_what_comes_after_it(orders: Topic) -> None:
    orders.send("before")
    billing = orders.subscribe("billing")
    orders.send("after")
    assert texts(billing) == ["after"]
    assert texts(orders.subscribe("all", after="earliest")) == ["before", "after"]
    orders.send("later")
    assert texts(billing) == ["later"]


def test_every_subscription_gets_all(orders: Topic) -> None:
    subscriptions = [orders.subscribe(f"s{number}") for number in range(5)]
    orders.send_many([str(number) for number in range(300)])
    assert all(texts(it) == [str(number) for number in range(300)] for it in subscriptions)


def test_what_is_not_acknowledged_comes_again(orders: Topic) -> None:
    with orders.subscribe("billing") as billing:
        orders.send_many(["a", "b", "c"])
        first, second = next(billing), next(billing)
        second.ack()
        assert (first.text, first.tries) == ("a", 1)
    again = orders.subscribe("billing", ack_wait_s=0.1)
    info = orders.subscriptions()[0]
    assert (info.lag, info.in_flight, info.oldest) == (2, 2, 0)
    with pytest.raises(StaleAck, match="acknowledged before"):
        second.ack()
    found = [again.receive(timeout_s=LIMIT_S) for _ in range(2)]
    assert [(it.text, it.tries) for it in found if it is not None] == [("a", 2), ("c", 1)]


def test_a_nack_comes_again_after_its_delay_and_is_buried_in_the_end(store: TopicStore, orders: Topic) -> None:
    billing = orders.subscribe("billing", tries=3)
    orders.producer("import").send("bad", seq=7, key="k", headers={"kind": "x"})
    for tries in (1, 2, 3):
        delivery = billing.receive(timeout_s=LIMIT_S)
        assert delivery is not None
        assert delivery.tries == tries
        delivery.nack(why=f"try {tries}")
        with pytest.raises(StaleAck):
            delivery.ack()
    assert texts(billing) == []
    (letter,) = store.topic(billing.dead_letters).read()
    assert (letter.text, letter.key, letter.headers["kind"]) == ("bad", b"k", "x")
    history = {name: letter.headers[f"gcom-{name}"] for name in ("topic", "offset", "tries", "why", "producer", "seq")}
    assert history == {
        "topic": "orders", "offset": "0", "tries": "3", "why": "try 3", "producer": "import", "seq": "7",
    }  # fmt: skip
    assert billing.replay() == 1
    assert billing.replay() == 0
    assert texts(billing) == ["bad"]


def test_a_delay_is_kept(orders: Topic) -> None:
    billing = orders.subscribe("billing")
    orders.send("a")
    next(billing).nack(delay_s=3600)
    assert billing.receive(timeout_s=0.05) is None
    with pytest.raises(BadValue, match="delay_s"):
        next(orders.subscribe("other", after="earliest")).nack(delay_s=-1)


def test_a_message_that_is_never_acknowledged_is_buried(store: TopicStore, orders: Topic) -> None:
    """A poison message kills its consumer each time: nobody says nack."""
    orders.send("poison")
    for _ in range(2):
        billing = orders.subscribe("billing", after="earliest", tries=2, ack_wait_s=0.1)
        assert billing.receive(timeout_s=LIMIT_S) is not None
    orders.send("good")
    delivery = orders.subscribe("billing", tries=2, ack_wait_s=0.1).receive(timeout_s=LIMIT_S)
    assert delivery is not None
    assert delivery.text == "good"
    assert [it.headers["gcom-why"] for it in store.topic("orders/billing/dead").read()] == ["never acknowledged"]


def test_a_consumer_that_was_too_late_is_told(orders: Topic) -> None:
    """1. It is paused past its time. 2. Another one gets the message. 3. It goes on: its words change nothing."""
    slow = orders.subscribe("billing", ack_wait_s=0.1)
    orders.send("a")
    late = next(slow)
    successor = orders.subscribe("billing")
    delivery = successor.receive(timeout_s=LIMIT_S)
    assert delivery is not None
    for call in (late.ack, late.nack, late.extend):
        with pytest.raises(StaleAck):
            call()
    delivery.extend()
    delivery.ack()
    assert orders.subscriptions()[0].lag == 0


def test_exclusive_by_default_and_the_next_one_goes_on_at_a_close(orders: Topic, place: str) -> None:
    first = orders.subscribe("billing")
    orders.send_many(["a", "b"])
    next(first).ack()
    with topics.open(place) as other:
        waiting = other.topic("orders").subscribe("billing")
        assert waiting.receive(timeout_s=0.05) is None
        first.close()
        delivery = waiting.receive(timeout_s=LIMIT_S)
        assert delivery is not None
        assert (delivery.text, delivery.tries) == ("b", 1)


def test_competing_consumers_share(orders: Topic, place: str) -> None:
    count, lock, found = 300, threading.Lock(), list[str]()
    orders.subscribe("jobs")
    orders.send_many([str(number) for number in range(count)])

    def work() -> None:
        with topics.open(place) as own:
            jobs = own.topic("orders").subscribe("jobs", competing=True)
            while deliveries := jobs.receive_many(10, timeout_s=0.05):
                jobs.ack(*deliveries)
                with lock:
                    found.extend(it.text for it in deliveries)

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(LIMIT_S)
    assert Counter(found) == Counter(str(number) for number in range(count))


def test_a_key_has_one_shard(orders: Topic) -> None:
    one, two = (orders.subscribe("s", shards=4) for _ in range(2))
    for number in range(80):
        orders.send(str(number), key=f"k{number % 8}")
    found = one.receive_many(100, timeout_s=0)
    assert sorted(int(it.text) for it in found) == list(range(80))
    for key in range(8):
        own = [int(it.text) for it in found if it.message.key == f"k{key}".encode()]
        assert own == sorted(own)
    assert two.receive(timeout_s=0) is None
    with pytest.raises(BadValue, match="has 4 shards, not 2"):
        orders.subscribe("s", shards=2)


def test_a_filter_by_headers(orders: Topic) -> None:
    wanted = orders.subscribe("wanted", where={"kind": "x"})
    for number in range(50):
        orders.send(str(number), headers={"kind": "x" if number % 10 == 0 else "y"})
    assert texts(wanted) == ["0", "10", "20", "30", "40"]
    assert orders.subscriptions()[0].lag == 0


def test_an_end_is_an_end(orders: Topic) -> None:
    billing = orders.subscribe("billing")
    orders.send_many(["a", "b"])
    held = next(billing)
    assert orders.unsubscribe("billing")
    assert not orders.unsubscribe("billing")
    with pytest.raises(StaleAck):
        held.ack()
    with pytest.raises(UnknownSubscription):
        billing.receive(timeout_s=0)
    assert texts(orders.subscribe("billing")) == []


def test_a_transaction_is_all_or_nothing(store: TopicStore, orders: Topic, tmp_path: object) -> None:
    billing, bills = orders.subscribe("billing"), store.topic("bills")
    producer = bills.producer("billing")
    orders.send("a")
    delivery = next(billing)
    with store.transaction() as tx:
        tx.send(bills, "bill of a", producer=producer, seq=0)
        tx.send(store.topic("log"), "billed")
        tx.ack(delivery)
    assert [(it.topic, it.offset) for it in tx.receipts] == [("bills", 0), ("log", 0)]
    again = store.transaction()
    again.send(bills, "bill of b", producer=producer, seq=1)
    again.ack(delivery)
    with pytest.raises(StaleAck), again:
        pass
    assert [it.text for it in bills.read()] == ["bill of a"]
    assert producer.send("bill of b", seq=1).offset == 1
    with (
        topics.open(f"{tmp_path}/other.db") as other,
        pytest.raises(BadValue, match="outbox"),
        store.transaction() as tx,
    ):
        tx.send(other.topic("x"), "y")


@pytest.mark.parametrize("given", [{"shards": 0}, {"tries": 0}, {"ack_wait_s": 0}])
def test_terms_that_cannot_be(orders: Topic, given: dict[str, int]) -> None:
    with pytest.raises(BadValue, match="expected 1 to 256 shards"):
        orders.subscribe("s", **given)  # type: ignore[arg-type]
