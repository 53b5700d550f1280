"""Records of producers for the audit: what was asked of a store, and what it answered (docs/DELIVERY_LOG.md).

A `put` is with the operating system before the store is asked, a `receipt` before the caller has it. They go into a
delivery log of this process; `open(place, log_dir=...)` turns them on. One record has at most `BATCH` messages.
"""

from __future__ import annotations

import json
import os
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from loguru import logger

from gcom.errors import GComError
from gcom.topics.errors import Fenced, SequenceGap, SequenceReused, StoreBusy, StoreFull
from gcom.topics.values import Entry, TopicReceipt
from gcom.trace.writer import DeliveryLog
from gcom.values.names import process

BATCH = 256
_REFUSED = (Fenced, SequenceGap, SequenceReused, StoreBusy, StoreFull)  # with these nothing was stored


class TopicRecords:
    """The records of one open store. Any thread may use it."""

    def __init__(self, folder: str | Path, store_of: Callable[[str], str]) -> None:
        self._store_of = store_of  # the id of the store that has a topic
        self._process = os.getpid()
        self._log = DeliveryLog(
            Path(folder),
            process("topics", secrets.token_hex(4)),
            wall_ns=time.time_ns(),
            clock_us=lambda: time.monotonic_ns() // 1000,
            on_trouble=lambda text: logger.warning("{}", text),
        )

    def submit(
        self,
        topic: str,
        producer: str,
        entries: Sequence[Entry],
        send: Callable[[], Future[list[TopicReceipt]]],
    ) -> Future[list[TopicReceipt]]:
        """Record a request, send it, and record the answer before the future that is returned has it."""
        self.put(topic, producer, entries)
        answered: Future[list[TopicReceipt]] = Future()
        answered.set_running_or_notify_cancel()

        def on_answer(found: Future[list[TopicReceipt]]) -> None:
            error = found.exception()
            if error is not None:
                if isinstance(error, _REFUSED):
                    self._write("abort", topic, producer, entries)
                answered.set_exception(error)
            else:
                self.receipt(topic, producer, found.result())
                answered.set_result(found.result())

        try:
            send().add_done_callback(on_answer)
        except GComError:  # it was not asked: nothing is under way
            self._write("abort", topic, producer, entries)
            raise
        return answered

    def put(self, topic: str, producer: str, entries: Sequence[Entry]) -> None:
        """Record that the store is about to be asked."""
        self._write("put", topic, producer, entries)

    def receipt(self, topic: str, producer: str, receipts: Sequence[TopicReceipt]) -> None:
        """Record what the store answered; of trimmed messages it has no offset, and they are left out."""
        there = [(it.seq, it.offset) for it in receipts if it.offset is not None]
        for part in parts(there):
            seqs, offsets = zip(*part, strict=True)
            self.note("receipt", topic, producer=producer, seqs=seqs, offsets=offsets)
        self.flush()

    def note(self, kind: str, topic: str, **fields: Any) -> None:
        """Record something about a topic."""
        text = json.dumps({"store": self._store_of(topic), "topic": topic, **fields}, separators=(",", ":"))
        self._log.note(kind, text[1:-1])

    def flush(self) -> None:
        """Return once all that was recorded is with the operating system."""
        self._log.flush()

    def close(self) -> None:
        """End the log; in the child of a fork only let go of it."""
        if os.getpid() == self._process:
            self._log.close()
        else:
            self._log.let_go()

    def _write(self, kind: str, topic: str, producer: str, entries: Sequence[Entry]) -> None:
        for part in parts(entries):
            digests = [it.digest for it in part]
            self.note(kind, topic, producer=producer, seqs=[it.seq for it in part], digests=digests)
        self.flush()


def parts(found: Sequence[Any]) -> Iterator[Sequence[Any]]:
    """Yield pieces that fit into one record."""
    return (found[begin : begin + BATCH] for begin in range(0, len(found), BATCH))
