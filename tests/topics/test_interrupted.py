"""Stores of a program that is interrupted at each step in turn: nothing is left behind, halfway, or locked."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from gcom import topics
from gcom.topics import OutboxSender, TopicMessage, TopicStore
from tests.interrupts import interrupt_each_step

# 1. A client makes a socket. 2. It is interrupted before anything has that. 3. The collector closes it.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


def writers() -> list[str]:
    return [it.name for it in threading.enumerate() if it.name.startswith("gcom-topics")]


def test_an_interrupted_open_leaves_nothing(file_place: str) -> None:
    """1. The file's lock is taken. 2. A handler raises. 3. The lock must not stay taken, nor the thread that writes."""
    opened = list[TopicStore]()

    def check(_: bool) -> None:
        while opened:
            opened.pop().close()
        assert writers() == []

    interrupt_each_step(lambda: opened.extend(map(topics.open, [file_place])), check, stride=3)


def test_an_interrupted_transaction_takes_place_as_a_whole(store: TopicStore) -> None:
    given, done = store.topic("given"), store.topic("done")
    producer, sub, answers = given.producer("p"), given.subscribe("s", after="earliest", tries=None), done.producer("p")
    count = 0

    def work() -> None:
        delivery = sub.receive(30)
        assert delivery is not None
        with store.transaction() as tx:
            tx.send(done, delivery.text, producer=answers, seq=delivery.offset)
            tx.ack(delivery)

    def check(_: bool) -> None:
        nonlocal count
        sub.close()  # what is not acknowledged comes again
        texts = [it.text for it in done.read()]
        assert texts == [str(it) for it in range(len(texts))]
        while count < len(texts) + 1:
            producer.send(str(count))
            count += 1

    check(False)
    interrupt_each_step(work, check, stride=17)
    assert done.info.next > 1


def test_an_interrupted_run_keeps_no_statement_open(store: TopicStore, tmp_path: Path) -> None:
    """1. `out.send` reads a row. 2. A handler raises. 3. The exception is kept, and locks no file."""
    database = sqlite3.connect(tmp_path / "app.db", isolation_level=None)
    database.execute("CREATE TABLE done (text)")
    orders = store.topic("orders")
    sub, errors, sent = orders.subscribe("s", after="earliest"), list[BaseException](), list[str]()

    def handler(tx: Any, messages: Sequence[TopicMessage], out: OutboxSender) -> None:
        tx.executemany("INSERT INTO done VALUES (?)", [(it.text,) for it in messages])
        out.send("bills", "b")

    def work() -> None:
        try:
            sub.run(handler, database, follow=False)
        except KeyboardInterrupt as error:
            errors[:] = [error]
            raise

    def check(interrupted: bool) -> None:
        if interrupted:
            sub.run(handler, database, follow=False)
        assert [text for (text,) in database.execute("SELECT text FROM done")] == sent
        sent.append(str(len(sent)))
        orders.send(sent[-1])

    check(False)
    interrupt_each_step(work, check, stride=31)
    assert store.topic("bills").info.next == len(sent) - 1
