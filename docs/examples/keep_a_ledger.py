"""Write each message of a topic into a table of one's own, and a copy of it to another topic: each exactly once."""

import sqlite3
import sys
from collections.abc import Sequence
from contextlib import closing

from gcom import topics


def handle(tx: sqlite3.Connection, messages: Sequence[topics.TopicMessage], out: topics.OutboxSender) -> None:
    for message in messages:
        tx.execute("INSERT INTO entry (text) VALUES (?)", (message.text,))
        out.send("copies", message.body)


def main() -> None:
    store_path, ledger_path = sys.argv[1:]
    with closing(sqlite3.connect(ledger_path)) as ledger, topics.open(store_path) as store:
        ledger.execute("CREATE TABLE IF NOT EXISTS entry (text TEXT NOT NULL)")
        ledger.commit()
        subscription = store.topic("lines").subscribe("ledger", after="earliest")
        count = subscription.run(handle, ledger, batch=100, follow=False)
    print(f"{count} new entries")


if __name__ == "__main__":
    main()
