"""The outbox of a handler: messages that become visible with its effects, and are sent once.

A message gets its sequence in the transaction of the effect. Sent again after a crash, it has the same one, so the
topic stores it once. At the end the outbox is empty.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gcom.runtime.user_process.entry import uninterrupted
from gcom.topics import headers as codec
from gcom.topics.crash_points import CRASH_POINTS
from gcom.topics.producer import Body, Producer
from gcom.topics.storage.effects import EffectDatabase
from gcom.topics.values import Entry, checked_body, checked_name

DISPATCH = 1024  # messages at a time
OpenProducer = Callable[[str, str], Producer]  # of a topic, under a name


class OutboxSender:
    """The sender that a handler gets."""

    def __init__(self, file: EffectDatabase, producer: str) -> None:
        self._file, self._producer = file, producer
        self.count = 0

    @uninterrupted()  # its statement would stay open, and the file with it, while anybody has the exception
    def send(
        self, topic: str, body: Body, *, key: Body | None = None, headers: Mapping[str, str] | None = None
    ) -> None:
        """Have a message sent to a topic once the handler's transaction is committed."""
        entry = Entry(0, checked_body(body), None if key is None else checked_body(key), codec.encode(headers))
        self._file.put(self._producer, checked_name(topic, "topic"), entry)
        self.count += 1


class Dispatcher:
    """Sends what is in an outbox. Its producers fence those of an earlier consumer."""

    def __init__(self, file: EffectDatabase, name: str, producer: OpenProducer) -> None:
        self._open, self._file, self._name = producer, file, name
        self._producers: dict[str, Producer] = {}
        self._sent: list[tuple[str, int]] = []

    def dispatch(self) -> None:
        """Send all that waits. It is taken out with the next transaction, or by `clear`."""
        while found := self._file.waiting(self._name, DISPATCH):
            for topic, entries in found.items():
                self._producer(topic).send_entries(entries)
                CRASH_POINTS.passed("outbox.sent")
                self._sent.append((topic, entries[-1].seq))
            if sum(map(len, found.values())) < DISPATCH:
                return
            self.clear()

    def take_out(self) -> None:
        """Take what was sent out of the outbox, in a transaction that is open."""
        self._file.sent(self._name, self._sent)
        self._sent.clear()

    def clear(self) -> None:
        """Take what was sent out of the outbox, in a transaction of its own."""
        if self._sent:
            self._file.begin()
            self.take_out()
            self._file.commit()
            CRASH_POINTS.passed("outbox.receipted")

    def _producer(self, topic: str) -> Producer:
        if topic not in self._producers:
            self._producers[topic] = self._open(topic, self._name)
        return self._producers[topic]
