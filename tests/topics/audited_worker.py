"""A producer and a consumer that keep records for the audit, as a program: lines of a number, and their ledger.

python -m tests.topics.audited_worker FOLDER COUNT
"""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Sequence
from pathlib import Path

from gcom import topics
from gcom.topics import OutboxSender, TopicMessage


def handle(_: sqlite3.Connection, messages: Sequence[TopicMessage], out: OutboxSender) -> None:
    for message in messages:
        out.send("copies", message.body)


def work(folder: Path, count: int) -> None:
    """Send what is not stored yet, and have the effects of all; killed at any point, it goes on where it was."""
    with topics.open(folder / "app.db", log_dir=folder / "logs") as store:
        lines = store.topic("lines")
        lines.subscribe("ledger", after="earliest", shards=2)
        with lines.producer("source") as producer:
            last = producer.last_seq
            for begin in range(0 if last is None else last + 1, count, 10):
                producer.send_many([(seq, f"line {seq}") for seq in range(begin, min(begin + 10, count))])
        with lines.subscribe("ledger", shards=2) as ledger:
            ledger.run(handle, folder / "ledger.db", batch=16, follow=False)


if __name__ == "__main__":
    work(Path(sys.argv[1]), int(sys.argv[2]))
