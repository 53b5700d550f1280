"""The process that is killed: `python -m gcom.demo.kills.worker ROLE FOLDER [STORE]`. It waits after each batch."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from gcom import topics
from gcom.topics.served.client import RemoteStore

BATCH = 20
TOPIC, COPIES = "lines", "copies"
PATIENCE_S = 300.0  # for a server that was killed: on a machine with much other work its start takes long
LOGS = "logs"  # a folder beside the store's file, for the audit


class NumberedLines:
    """The lines of a file, by number."""

    def __init__(self, path: Path) -> None:
        self._lines = path.read_bytes().splitlines()
        self._begin = 0

    def seek(self, position: int | None) -> None:
        self._begin = 0 if position is None else position + 1

    def read(self) -> Iterator[tuple[int, bytes]]:
        return iter(list(enumerate(self._lines))[self._begin :])


def produce(store: topics.TopicStore, folder: Path) -> None:
    producer = store.topic(TOPIC).producer("file")
    producer.run(NumberedLines(folder / "lines.txt"), batch=BATCH, tell=lambda _: _progress())


def consume(store: topics.TopicStore, folder: Path) -> None:
    subscription = store.topic(TOPIC).subscribe("ledger", after="earliest")
    subscription.run(_write, str(folder / "ledger.db"), batch=BATCH, follow=False)


def _write(tx: Any, messages: Sequence[topics.TopicMessage], out: topics.OutboxSender) -> None:
    tx.execute("CREATE TABLE IF NOT EXISTS entry (text TEXT NOT NULL)")
    for message in messages:
        tx.execute("INSERT INTO entry VALUES (?)", (message.text,))
        out.send(COPIES, message.body)
    _progress()  # in the middle of the transaction: a kill now finds it open


def _progress() -> None:
    sys.stdout.write(".\n")
    sys.stdout.flush()
    sys.stdin.readline()


def _opened(place: str | Path) -> topics.TopicStore:
    """Open a store; servers are waited for as long as a busy machine takes to start them again."""
    return topics.open(place) if isinstance(place, Path) else topics.TopicStore(RemoteStore(place, PATIENCE_S))


def main() -> None:
    role, folder = sys.argv[1], Path(sys.argv[2])
    with _opened(sys.argv[3] if len(sys.argv) > 3 else folder / "app.db") as store:
        store.record_into(folder / LOGS)
        {"producer": produce, "consumer": consume}[role](store, folder)
    print("done", flush=True)


if __name__ == "__main__":
    main()
