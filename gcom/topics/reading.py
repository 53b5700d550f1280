"""Readers: messages of a topic from a place on. A reader keeps no state in the store."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from time import monotonic
from typing import Literal

from gcom.errors import BadValue
from gcom.runtime.user_process.entry import uninterrupted
from gcom.topics.access import StoreAccess
from gcom.topics.storage import topics
from gcom.topics.storage.transaction import job
from gcom.topics.values import TopicMessage

After = int | datetime | Literal["earliest", "latest"] | None
IDLE_S = 1.0  # without news; then it is looked for less often


class TopicReader:
    """An iterator over a topic. Without `follow` it ends at the last message; with it, it waits for more."""

    def __init__(self, access: StoreAccess, topic: tuple[int, str], after: After, follow: bool, batch: int) -> None:
        self._access = access
        self._topic, self._name = topic
        self._follow = follow
        self._batch = batch
        self.next_offset = self._place(after)  # to be read from the store
        self._ready: list[TopicMessage] = []
        self._next = 0  # in `_ready`

    def __iter__(self) -> Iterator[TopicMessage]:
        return self

    def __next__(self) -> TopicMessage:
        if self._next >= len(self._ready) and not self._fetch(None if self._follow else 0.0):
            raise StopIteration
        # No call from here on: a signal's handler could raise there, and the message would be lost.
        message = self._ready[self._next]
        self._next += 1
        return message

    def receive(self, timeout_s: float | None = None) -> TopicMessage | None:
        """Return the next message, waiting for it as long as said; None if there was none."""
        if self._next >= len(self._ready) and not self._fetch(timeout_s):
            return None
        message = self._ready[self._next]
        self._next += 1
        return message

    def take(self, count: int, timeout_s: float | None = None) -> list[TopicMessage]:
        """Return up to `count` messages, waiting for the first one as long as said."""
        if self._next >= len(self._ready):
            self._fetch(timeout_s)
        found = self._ready[self._next : self._next + count]
        upto = self._next + len(found)
        self._next = upto
        return found

    @uninterrupted()
    def _fetch(self, timeout_s: float | None) -> bool:
        """Wait for messages; tell whether there are some."""
        began = monotonic()
        while True:
            seen = self._access.commits
            found = self._access.ask(job(topics.read, self._topic, self._name, self.next_offset, self._batch))
            if found:
                self.next_offset = found[-1].offset + 1
                self._ready, self._next = found, 0
                return True
            waited = monotonic() - began
            if timeout_s is not None and waited >= timeout_s:
                return False
            self._access.wait_for_news(seen, waited >= IDLE_S, None if timeout_s is None else timeout_s - waited)

    def _place(self, after: After) -> int:
        ends = isinstance(after, int) and not isinstance(after, bool) and after >= -1
        if not (ends or after in (None, "earliest", "latest") or isinstance(after, datetime)):
            raise BadValue(f"after must be an offset, a datetime, 'earliest' or 'latest'; got {after!r}")
        at_ms = int(after.timestamp() * 1000) if isinstance(after, datetime) else None
        place = None if isinstance(after, datetime) else after
        return self._access.ask(job(topics.place_after, self._topic, self._name, place, at_ms))
