"""A producer: a name under which messages are stored once, whatever is sent again."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from types import TracebackType
from typing import NamedTuple, Protocol, Self

from gcom.errors import GComError
from gcom.runtime.user_process.entry import uninterrupted
from gcom.runtime.user_process.uninterrupted import WholeFuture, WholeLock, await_end, result_of
from gcom.topics import headers as codec
from gcom.topics.access import StoreAccess
from gcom.topics.errors import SequenceGap
from gcom.topics.evidence.records import TopicRecords
from gcom.topics.storage import appends
from gcom.topics.storage.appends import ProducerClaim, Target
from gcom.topics.storage.transaction import StoreCall, Transaction, job
from gcom.topics.values import NEXT_SEQ, NONE_SENT, Draft, Entry, TopicReceipt, checked_body, checked_seq

RUN_BATCH = 256
RUN_BATCHES = 4  # on their way at a time
Body = bytes | str


class TopicSource(Protocol):
    """A source that can be read again from a position: what `Producer.run` takes."""

    def seek(self, position: int | None, /) -> object:
        """Go behind a position; None is the beginning."""
        ...

    def read(self) -> Iterable[tuple[int, Body]]:
        """Yield positions, which rise, and bodies."""
        ...


class _UnderWay(NamedTuple):
    """Entries on their way. `told`: the caller waits, and hears of a refusal by itself."""

    entries: list[Entry]
    future: Future[list[TopicReceipt]]
    told: bool


class Producer:
    """A named producer of one topic. Its methods may be called from any thread.

    Each message has a sequence, which rises and may have holes. A message that is sent again under its sequence is
    stored once, and gets the receipt of the first time. Opening a producer of the same name fences this one, from the
    moment at which the new one first asks for `last_seq` or sends.
    """

    def __init__(self, access: StoreAccess, target: Target, name: str) -> None:
        self.name = name
        self.access = access
        self._target = target
        self._lock = WholeLock()
        self._claim: ProducerClaim | None = None  # until it first asks or sends
        self._last: int | None = None  # the sequence that was sent last; None: the store must be asked
        self._under_way: deque[_UnderWay] = deque()
        self._failed: set[int] = set()  # sequences whose future was refused, and which are not stored

    @property
    @uninterrupted()
    def last_seq(self) -> int | None:
        """Return the last sequence that the store has of this producer; None if it has none."""
        with self._lock:
            last = self._resume()
        return None if last == NONE_SENT else last

    @uninterrupted()
    def send(
        self,
        body: Body,
        *,
        seq: int | None = None,
        key: Body | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> TopicReceipt:
        """Store a message, and return its receipt once it is durable. Without `seq` it gets the next number.

        Raises BadValue, MessageTooLarge, Fenced, SequenceReused, SequenceGap, StoreBusy, StoreFull, StoreStopped; and
        ReceiptUnknown, after which sending it again with the same `seq` settles whether it is stored.
        """
        return result_of(self._submit([(body, seq)], key, headers, told=True))[0]

    @uninterrupted()
    def submit(
        self,
        body: Body,
        *,
        seq: int | None = None,
        key: Body | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Future[TopicReceipt]:
        """Do as `send` does, but return a future of the receipt. Many may be under way; they are stored in order."""
        batch = self._submit([(body, seq)], key, headers, told=False)
        one: Future[TopicReceipt] = WholeFuture()
        batch.add_done_callback(lambda done: _pass_on(done, one))
        return one

    def send_many(self, bodies: Iterable[Body | tuple[int, Body]]) -> list[TopicReceipt]:
        """Store messages together, all or none, each a body or (seq, body). Raises what `send` raises."""
        drafts: list[Draft] = [
            (checked_seq(it[0]), checked_body(it[1]), None, b"")
            if isinstance(it, tuple)
            else (NEXT_SEQ, checked_body(it), None, b"")
            for it in bodies
        ]
        return self._stored(drafts) if drafts else []

    def send_entries(self, entries: Sequence[Entry]) -> list[TopicReceipt]:
        """Store messages that have their sequences, keys and headers already, all or none."""
        return self._stored(entries)

    @uninterrupted()
    def staged(
        self, body: Body, *, seq: int | None, key: Body | None, headers: Mapping[str, str] | None
    ) -> StoreCall[list[TopicReceipt]]:
        """Return the job that stores a message in somebody's transaction, behind all that was sent before."""
        head, key = codec.encode(headers), None if key is None else checked_body(key)
        draft = Entry(NEXT_SEQ if seq is None else checked_seq(seq), checked_body(body), key, head)
        with self._lock:
            self._resume()
            self._last, opened = None, self._claim
        assert opened is not None, "it was opened to ask"
        if self.access.records is not None:
            return job(_append_recorded, self.access.records, self._target, self.name, opened, draft)
        return job(appends.append_next, self._target, opened, [draft])

    def run(self, source: TopicSource, *, batch: int = RUN_BATCH, tell: Callable[[int], object] | None = None) -> int:
        """Store everything that a source has behind `last_seq`; return how many messages that were.

        Killed at any point and run again, it stores each position once. `tell` gets each last stored position.
        """
        source.seek(self.last_seq)
        count, under_way, pairs = 0, list[Future[list[TopicReceipt]]](), list[tuple[Body, int | None]]()
        for position, body in source.read():
            pairs.append((body, position))
            if len(pairs) >= batch:
                under_way.append(self._submit(pairs, None, None, told=False))
                pairs = []
                if len(under_way) >= RUN_BATCHES:
                    count += _stored(under_way.pop(0).result(), tell)
        if pairs:
            under_way.append(self._submit(pairs, None, None, told=False))
        return count + sum(_stored(future.result(), tell) for future in under_way)

    @uninterrupted()
    def close(self) -> None:
        """Wait until everything that was submitted is stored or refused."""
        with self._lock:
            self._await_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _await_all(self) -> None:
        for it in self._under_way:
            await_end(it.future)

    @uninterrupted()
    def _stored(self, drafts: Sequence[Draft]) -> list[TopicReceipt]:
        return result_of(self._enqueue(drafts, told=True))

    @uninterrupted()
    def _submit(
        self, pairs: Sequence[tuple[Body, int | None]], key: Body | None, headers: Mapping[str, str] | None, told: bool
    ) -> Future[list[TopicReceipt]]:
        head, key = codec.encode(headers), None if key is None else checked_body(key)
        drafts = [(NEXT_SEQ if seq is None else checked_seq(seq), checked_body(body), key, head) for body, seq in pairs]
        return self._enqueue(drafts, told)

    def _enqueue(self, drafts: Sequence[Draft], told: bool) -> Future[list[TopicReceipt]]:
        with self._lock:
            records = self.access.records
            if self._claim is None and records is None:  # else its sequences must be known before the store is asked
                return self._first([Entry(*it) for it in drafts])
            last = self._resume() if self._has_failed() or self._last is None else self._last
            entries = appends.numbered(drafts, last)
            self._check_skipped(drafts, entries)
            opened = self._claim
            assert opened is not None, "it was opened to ask"
            append = job(appends.append, self._target, opened, last, entries)

            def send() -> Future[list[TopicReceipt]]:
                return self.access.submit(append)

            future = send() if records is None else records.submit(self._target.name, self.name, entries, send)
            self._last = appends.highest(last, entries)
            self._under_way.append(_UnderWay(entries, future, told))
            return future

    def _first(self, drafts: Sequence[Entry]) -> Future[list[TopicReceipt]]:
        """Open the producer and store its first messages in one transaction; return a future that is done."""

        done: Future[list[TopicReceipt]] = Future()
        try:
            self._claim, self._last, receipts = self.access.call(
                job(appends.open_and_append, self._target, self.name, drafts)
            )
        except GComError as error:
            done.set_exception(error)
        else:
            done.set_result(receipts)
        return done

    def _has_failed(self) -> bool:
        """Forget requests that are stored; tell whether the oldest of the others was refused."""
        while self._under_way and self._under_way[0].future.done():
            if self._under_way[0].future.exception() is not None:
                return True
            self._under_way.popleft()
        return False

    def _resume(self) -> int:
        """Wait for all requests, and return the last sequence that the store has: it is never kept past an error."""
        self._await_all()
        for it in self._under_way:
            if it.future.exception() is not None and not it.told:
                self._failed.update(entry.seq for entry in it.entries)
        self._under_way.clear()
        if self._claim is None:
            self._claim = self.access.call(job(appends.claim, self._target.topic, self.name))
            self._last = self._claim.seq
        else:
            opened = self._claim
            self._last = self.access.call(job(appends.last_seq, opened))
        self._failed = {seq for seq in self._failed if seq > self._last}
        return self._last

    def _check_skipped(self, drafts: Sequence[Draft], entries: Sequence[Entry]) -> None:
        """Raise SequenceGap where the user's sequences go past one that was refused: it could never be stored then."""
        if drafts[0][0] == NEXT_SEQ:
            self._failed.clear()
        if not self._failed:
            return
        missing = self._failed - {entry.seq for entry in entries}
        if missing and min(missing) < (upto := appends.highest(NONE_SENT, entries)):
            raise SequenceGap(
                f"sequence {min(missing)} was refused and not sent again, and {upto} is after it: "
                f"send {min(missing)} first"
            )
        self._failed = missing


def _stored(receipts: Sequence[TopicReceipt], tell: Callable[[int], object] | None) -> int:
    last = receipts[-1].seq
    if tell is not None and last is not None:
        tell(last)
    return len(receipts)


def _pass_on(batch: Future[list[TopicReceipt]], one: Future[TopicReceipt]) -> None:
    if error := batch.exception():
        one.set_exception(error)
    else:
        one.set_result(batch.result()[0])


def _append_recorded(
    tx: Transaction, records: TopicRecords, target: Target, name: str, opened: ProducerClaim, draft: Entry
) -> list[TopicReceipt]:
    """Append as `append_next` does, and record the request before. A server does not know this job, and refuses it."""
    last = appends.last_seq(tx, opened)
    entries = appends.numbered([draft], last)
    records.put(target.name, name, entries)
    return appends.append(tx, target, opened, last, entries)
