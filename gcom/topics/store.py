"""A store of topics, and a topic of it, as programs use them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Self

from gcom.errors import GComError
from gcom.topics import headers as codec
from gcom.topics.producer import Body, Producer
from gcom.topics.reading import After, TopicReader
from gcom.topics.storage import appends, schema, topics
from gcom.topics.storage.appends import Target
from gcom.topics.storage.commits import Commits
from gcom.topics.storage.database import Database
from gcom.topics.storage.topics import ProducerInfo, TopicInfo
from gcom.topics.values import Entry, TopicMessage, TopicReceipt, checked_body, checked_name

READ_BATCH = 256


class Topic:
    """A topic of an open store: a log of messages, each at an offset that counts from 0."""

    def __init__(self, database: Database, commits: Commits, number: int, name: str) -> None:
        self.name = name
        self._database, self._commits, self._number = database, commits, number
        self._target = Target(number, name, database.durable)

    def producer(self, name: str) -> Producer:
        """Return the producer of that name, whose messages are stored once. Another one of the name is fenced."""
        return Producer(self._commits, self._target, checked_name(name, "producer"))

    def send(self, body: Body, *, key: Body | None = None, headers: Mapping[str, str] | None = None) -> TopicReceipt:
        """Store a message without a producer, and return its receipt: what is sent again is stored again."""
        entry = Entry(0, checked_body(body), None if key is None else checked_body(key), codec.encode(headers))
        return self._commits.call(lambda tx: appends.add(tx, self._target, [entry])[0])

    def send_many(self, bodies: Iterable[Body]) -> list[TopicReceipt]:
        """Store messages without a producer, all or none."""
        entries = [Entry(0, checked_body(body)) for body in bodies]
        return self._commits.call(lambda tx: appends.add(tx, self._target, entries)) if entries else []

    def read(self, after: After = None, *, follow: bool = False, batch: int = READ_BATCH) -> TopicReader:
        """Return an iterator over the messages behind a place, which keeps no state in the store.

        `after`: None or "earliest" for all that is kept, "latest" for what is to come, an offset, or a datetime for
        what is stored from then on. With `follow` it waits for more at the end. Raises BadValue, UnknownTopic.
        """
        return TopicReader(self._database, self._commits, (self._number, self.name), after, follow, batch)

    def message(self, offset: int) -> TopicMessage | None:
        """Return the message at an offset; None where there is none, or it was trimmed."""
        with self._database.reading() as tx:
            found = topics.read(tx, self._number, self.name, offset, 1)
        return found[0] if found and found[0].offset == offset else None

    def producers(self) -> list[ProducerInfo]:
        """Return the producers by name, with the last stored sequence of each."""
        with self._database.reading() as tx:
            return topics.producers(tx, self._number)

    def retire(self, producer: str) -> bool:
        """Forget a producer: its messages stay, and its sequences may be used again. Return whether there was one."""
        return self._commits.call(lambda tx: topics.retire(tx, self._number, producer))

    @property
    def info(self) -> TopicInfo:
        """Return the topic's first and next offset."""
        with self._database.reading() as tx:
            return topics.info(tx, self.name)

    def __repr__(self) -> str:
        return f"<gcom.topics.Topic {self.name!r} of {self._database.name!r}>"


class TopicStore:
    """An open store. It may be used by any thread, and opened by several processes at once."""

    def __init__(self, database: Database, words: dict[str, str]) -> None:
        self._database = database
        self._commits = Commits(database)
        try:
            self.id = self._commits.call(lambda tx: schema.prepare(tx, words, database.name))
        except GComError:
            self.close()
            raise

    @property
    def name(self) -> str:
        """Return the path of the file."""
        return self._database.name

    def topic(self, name: str) -> Topic:
        """Return the topic of that name; it is made if it is not there. Raises BadValue."""
        checked_name(name, "topic")
        with self._database.reading() as tx:
            number = topics.find(tx, name)
        if number is None:
            number = self._commits.call(lambda tx: topics.ensure(tx, name))
        return Topic(self._database, self._commits, number, name)

    def existing(self, name: str) -> Topic:
        """Return the topic of that name; raise UnknownTopic if it is not there."""
        with self._database.reading() as tx:
            return Topic(self._database, self._commits, topics.info(tx, name).id, name)

    def topics(self) -> list[TopicInfo]:
        """Return what there is, by name."""
        with self._database.reading() as tx:
            return topics.listed(tx)

    def delete(self, name: str) -> int:
        """Delete a topic with its messages and producers; return how many messages it had. Raises UnknownTopic."""
        return self._commits.call(lambda tx: topics.delete(tx, name))

    def close(self) -> None:
        """Store what was submitted, and let go of the file. May be called again."""
        self._commits.close()
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<gcom.topics.TopicStore {self.name!r}>"
