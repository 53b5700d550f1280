"""Orders and shipping: each order is accepted once and shipped once, though its messages come twice or after a crash.

Orders takes `submitted` and `item` messages, and sends `accepted` when an order has all of its items. Shipping writes
each accepted order into its table. A message that comes late does not move an order back: its sequence is known.
"""

import json
import sqlite3
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from gcom import topics

TABLES = """
CREATE TABLE IF NOT EXISTS ordered (id INTEGER PRIMARY KEY, wanted INTEGER NOT NULL, items INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS shipped (id INTEGER NOT NULL);
"""


def orders(tx: sqlite3.Connection, messages: Sequence[topics.TopicMessage], out: topics.OutboxSender) -> None:
    for message in messages:
        event = json.loads(message.body)
        if message.headers["kind"] == "submitted":
            tx.execute("INSERT INTO ordered VALUES (?, ?, 0)", (event["id"], event["items"]))
            continue
        tx.execute("UPDATE ordered SET items = items + 1 WHERE id = ?", (event["id"],))
        wanted, items = tx.execute("SELECT wanted, items FROM ordered WHERE id = ?", (event["id"],)).fetchone()
        if items == wanted:
            out.send("accepted", json.dumps({"id": event["id"]}))


def shipping(tx: sqlite3.Connection, messages: Sequence[topics.TopicMessage], _out: topics.OutboxSender) -> None:
    tx.executemany("INSERT INTO shipped VALUES (?)", [(json.loads(it.body)["id"],) for it in messages])


def submit(store: topics.TopicStore, count: int) -> None:
    """Send each order with two items, and all of it twice, as a client does that heard no answer."""
    producer = store.topic("events").producer("shop")
    for _ in range(2):
        for number in range(count):
            producer.send(json.dumps({"id": number, "items": 2}), seq=3 * number, headers={"kind": "submitted"})
            for item in (1, 2):
                body = json.dumps({"id": number, "item": item})
                producer.send(body, seq=3 * number + item, headers={"kind": "item"})


def main() -> None:
    folder = Path(sys.argv[1])
    for name in ("orders.db", "shipping.db"):
        with closing(sqlite3.connect(folder / name)) as file:
            file.executescript(TABLES)
    with topics.open(folder / "app.db") as store:
        submit(store, 20)
        events = store.topic("events").subscribe("orders", after="earliest")
        events.run(orders, folder / "orders.db", batch=7, follow=False)
        accepted = store.topic("accepted").subscribe("shipping", after="earliest")
        accepted.run(shipping, folder / "shipping.db", batch=7, follow=False)
    with closing(sqlite3.connect(folder / "shipping.db")) as file:
        print(*file.execute("SELECT count(*), count(DISTINCT id) FROM shipped").fetchone())


if __name__ == "__main__":
    main()
