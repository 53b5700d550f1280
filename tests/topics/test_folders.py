"""Topics as folders: what is exported and imported is the same; folders of the document's servers are read."""

from __future__ import annotations

from pathlib import Path

import pytest

from gcom import topics
from gcom.errors import BadValue
from gcom.topics import Topic, TopicStore
from gcom.topics.folders import export_topics, import_topics

NAME = "orders/of *all* kinds\u00e9"


def fill(store: TopicStore) -> Topic:
    orders = store.topic(NAME)
    orders.subscribe("billing")
    orders.subscribe("a b", shards=3)
    producer = orders.producer("import 1")
    producer.send_many([(seq, f"m{seq}") for seq in range(0, 20, 2)])
    orders.send(b"\x00*/s\r\n\r\n", key=b"\xff", headers={"kind": "x"})
    orders.send("")
    orders.producer("second").send("s", seq=7)
    billing = orders.subscribe("billing")
    first, _, third, *_ = billing.receive_many(6, timeout_s=0)
    billing.ack(first, third)
    billing.close()
    orders.trim(before=4, unread_too=True)
    orders.bound(count=1000, rate_most=50)
    store.topic("empty")
    return orders


def seen(topic: Topic) -> list[object]:
    info = topic.info
    return [
        *(info.first, info.next, info.bytes, info.keep, info.rate_most),
        *(list(topic.read()), topic.producers(), topic.subscriptions()),
    ]


def received(topic: Topic) -> list[list[int]]:
    return [
        sorted(it.offset for it in topic.subscribe(name, shards=shards).receive_many(100, timeout_s=0))
        for name, shards in (("billing", 1), ("a b", 3))
    ]


def test_there_and_back(store: TopicStore, place: str, tmp_path: Path) -> None:
    if place.startswith("gcom://"):
        with pytest.raises(BadValue, match="needs the store itself"):
            export_topics(store, tmp_path, [store.topic("a").name])
        return
    there = fill(store)
    assert export_topics(store, tmp_path / "out") == 9
    assert sorted(it.name for it in (tmp_path / "out").iterdir()) == ["empty", "orders%2Fof %2Aall%2A kinds%C3%A9"]
    with topics.open(tmp_path / "other.db") as other:
        told = list[tuple[str, int]]()
        assert import_topics(other, tmp_path / "out", lambda name, count: told.append((name, count))) == 9
        back = other.topic(NAME)
        assert seen(back) == seen(there)
        producer = back.producer("import 1")
        assert (producer.last_seq, producer.send("m2", seq=2).offset, producer.send("m16", seq=16).offset) == (
            18,
            None,
            8,
        )
        assert received(back) == received(there)
        assert [it.name for it in other.topics()] == ["empty", NAME]
        assert told == [(NAME, 9)]
        with pytest.raises(BadValue, match="is in use"):
            import_topics(other, tmp_path / "out")
    with pytest.raises(BadValue, match="is there already"):
        export_topics(store, tmp_path / "out")


def test_a_folder_of_the_documents_server(file_place: str, tmp_path: Path) -> None:
    """It has no more than a subscribers and a publishers file, and messages."""
    folder = tmp_path / "server" / "news"
    (folder / "messages").mkdir(parents=True)
    for number in range(9, 12):
        (folder / "messages" / str(number)).write_text(f"text {number}")
    (folder / "publishers").write_text("alice 4\nbob 17\n")
    (folder / "subscribers").write_text("carol 9 11\ndave\n")
    with topics.open(file_place) as store:
        assert import_topics(store, tmp_path / "server") == 3
        news = store.topic("news")
        assert [it.text for it in news.read()] == ["text 9", "text 10", "text 11"]
        alice = news.producer("alice")
        assert (alice.last_seq, alice.send("again", seq=4).duplicate, alice.send("new", seq=5).offset) == (4, True, 3)
        got = [[it.text for it in news.subscribe(name).receive_many(9, timeout_s=0)] for name in ("carol", "dave")]
        assert got == [["text 9", "text 11", "new"], ["new"]]


def test_folders_that_are_none(file_place: str, tmp_path: Path) -> None:
    with topics.open(file_place) as store:
        with pytest.raises(BadValue, match="has no topics"):
            import_topics(store, tmp_path / "nowhere")
        fill(store)
        export_topics(store, tmp_path / "out", ["empty"])
        index = tmp_path / "out" / "empty" / "gcom.jsonl"
        index.write_text("nonsense")
        with pytest.raises(BadValue, match="is not a topic's folder"):
            import_topics(store, tmp_path / "out")
        store.delete(NAME)
        export_topics(store, tmp_path / "more")
        with pytest.raises(BadValue, match="is not a topic's folder"):
            import_topics(store, tmp_path / "out")
