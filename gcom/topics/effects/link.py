"""Links: every message of a topic into one of another store, once, with key and headers.

The cursor is at the target: it is the last sequence of the link's producer there, which is the offset in the source.
So transfer, acceptance and settlement are one commit, and nothing is left at either end that could be forgotten.
"""

from __future__ import annotations

from collections.abc import Callable

from gcom.topics import headers as codec
from gcom.topics.crash_points import CRASH_POINTS
from gcom.topics.producer import Producer
from gcom.topics.reading import TopicReader
from gcom.topics.values import Entry

BATCH = 256
ReadAfter = Callable[[int | None], TopicReader]


class TopicLink:
    """A link between two topics; one that is opened anew fences the one before."""

    def __init__(self, read: ReadAfter, producer: Producer) -> None:
        self._read, self._producer = read, producer

    def run(self, *, follow: bool = True, stopped: Callable[[], bool] = lambda: False) -> int:
        """Transfer what there is, and with `follow` what comes; return how many messages that were.

        Between two batches it asks whether it is stopped.
        """
        reader, count = self._read(self._producer.last_seq), 0
        while not stopped() and (messages := reader.take(BATCH, None if follow else 0.0)):
            entries = [Entry(it.offset, it.body, it.key, codec.encode(it.headers)) for it in messages]
            self._producer.send_entries(entries)
            CRASH_POINTS.passed("link.sent")
            count += len(entries)
        return count
