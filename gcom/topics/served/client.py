"""The way to a store at a server, or at several that have one database.

Each topic has a lane, which it may share with others. A lane's thread sends all calls that wait in it, in one request;
while that is on its way the next one forms. So a topic that is held up holds up none of another lane. A request whose
answer is lost is sent again, to the next address: a call that changes something has the producer's sequence, or a
number that its client gave it, so it is carried out once. What cannot be settled in time is ReceiptUnknown.
"""

from __future__ import annotations

import os
import secrets
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from threading import Thread
from time import monotonic
from typing import Any, NamedTuple, TypeVar
from zlib import crc32

from gcom.errors import (
    BadValue,
    Forked,
    GComError,
    GComTimeout,
    MalformedFrame,
    MessageTooLarge,
    PeerError,
    Unavailable,
)
from gcom.runtime import pyro
from gcom.runtime.user_process.entry import InterruptibleCondition, interruptible, uninterrupted
from gcom.runtime.user_process.uninterrupted import WholeFuture, WholeLock, result_of
from gcom.topics.errors import ReceiptUnknown, StoreClosed
from gcom.topics.evidence.records import TopicRecords
from gcom.topics.served import operations, requests
from gcom.topics.served.codec import NounRows
from gcom.topics.served.line import ATTEMPT_S, PAUSE_S, PAUSE_S_MAX, ServerLine, addresses_of
from gcom.topics.served.requests import DONE, GONE, LOST
from gcom.topics.storage.transaction import StoreCall
from gcom.topics.values import Entry

TIMEOUT_S = 30.0  # for a call, with all that is tried again
LONG_POLL_S = 0.25  # then it looks again whether others changed the database
REQUEST_BYTES = 4 * 1024 * 1024  # of calls that are sent together
CALLS_MAX = 1024  # that are sent together
WAITING_MAX = 4096  # then `submit` waits
LANES = 8
_UNTRIED = ("StoreStopped", "StoreBusy")  # which say nothing of an earlier try

T = TypeVar("T")


class _Waiting(NamedTuple):
    """A call that waits for its turn, or for its answer."""

    call: StoreCall[Any]
    words: requests.WrittenCall
    future: Future[Any]


class _CallLane:
    """Calls that are sent in their order."""

    __slots__ = ("thread", "waiting")

    def __init__(self) -> None:
        self.waiting: deque[_Waiting] = deque()
        self.thread: Thread | None = None


class StoreFacts(NamedTuple):
    """The facts that a server tells of a topic's store."""

    name: str
    id: str
    durable: str


class RemoteStore:
    """The way to a store at servers, as `StoreAccess` says."""

    def __init__(self, place: str, timeout_s: float = TIMEOUT_S) -> None:
        self.name = place
        self.commits = 0  # how often a server had news
        self._life, self._server_commits = "", 0
        self._line = ServerLine(addresses_of(place), timeout_s)
        self._client = secrets.token_hex(8)
        self._number = 0
        self._open_numbers: set[int] = set()  # of numbered calls without an answer
        self._lanes = [_CallLane() for _ in range(LANES)]
        self._changed = InterruptibleCondition()
        self._process = os.getpid()
        self._closing = False
        self.records: TopicRecords | None = None  # for the audit
        self._greeted: dict[str, StoreFacts] = {}  # by topic: the servers know this client
        self._greeting = WholeLock()
        self.facts("")  # a server that is not there, or does not believe this client, is an error now

    @property
    def root(self) -> object:
        """Return the servers."""
        return self

    @property
    def id(self) -> str:
        """Return the id of a store that a server has."""
        return self.facts("").id

    @property
    def durable(self) -> str:
        """Return what a commit survives there."""
        return self.facts("").durable

    def record_with(self, records: TopicRecords) -> None:
        """Keep records for the audit from now on."""
        self.records = records

    @uninterrupted()
    def facts(self, topic: str, *, writes: bool = False) -> StoreFacts:
        """Return what is told of the store of a topic, which from then on knows this client."""
        with self._greeting:
            found = self._greeted.get(topic)
            if found is None:
                told = self._ask(requests.request(requests.GREET, self._client, topic, writes))
                found = self._greeted[topic] = StoreFacts(*map(str, told))
        return found

    def of(self, topic: str) -> RemoteTopic:
        """Return the way to one topic."""
        return RemoteTopic(self, topic)

    def call(self, job: StoreCall[T]) -> T:
        """Have a job carried out that is of no topic."""
        return self.of("").call(job)

    def submit(self, job: StoreCall[T]) -> Future[T]:
        """Have a job carried out that is of no topic."""
        return self.begin("", job)

    def ask(self, job: StoreCall[T]) -> T:
        """Return the result of a job that reads, of no topic."""
        return self.look("", job)

    def wait_for_news(self, seen: int, idle: bool, left_s: float | None) -> None:
        """Wait for commits anywhere."""
        self.listen("", seen, left_s)

    def backup(self, path: Path, _tell: Callable[[int, int], object]) -> None:
        """Refuse: the file is at the server."""
        raise BadValue(f"cannot copy {self.name!r} into {str(path)!r} from here: run gcom topics backup at its server")

    @uninterrupted()
    def begin(self, topic: str, job: StoreCall[T]) -> Future[T]:
        """Have a job of a topic carried out, behind those before it. Waits while too many wait already."""
        operations.check_named(job)
        name, arguments = operations.written(job)
        if operations.is_numbered(str(name)):
            self.facts(topic, writes=True)
        future: Future[T] = WholeFuture()
        with self._changed:
            self._check_open()
            while sum(len(lane.waiting) for lane in self._lanes) >= WAITING_MAX and not self._closing:
                self._changed.wait()
            self._check_open()
            number = 0
            if operations.is_numbered(str(name)):
                self._number = number = self._number + 1
                self._open_numbers.add(number)
            written = requests.WrittenCall(number, topic, str(name), arguments)
            self._lane_of(topic).waiting.append(_Waiting(job, written, future))
            self._changed.notify_all()
        return future

    def _lane_of(self, topic: str) -> _CallLane:
        lane = self._lanes[crc32(topic.encode()) % LANES]
        if lane.thread is None:
            lane.thread = Thread(target=self._run, args=(lane,), name=f"gcom-topics {self.name}", daemon=True)
            lane.thread.start()
        return lane

    def _upto(self) -> int:
        """Return the number up to which all numbered calls have their answers."""
        with self._changed:
            return min(self._open_numbers) - 1 if self._open_numbers else self._number

    def _check_open(self) -> None:
        if os.getpid() != self._process:
            raise Forked(f"the store {self.name!r} was opened before a fork: open it again in this process")
        if self._closing:
            raise StoreClosed(f"the store {self.name!r} is closed")

    def _ask(self, request: bytes, wait_s: float = 0.0) -> list[Any]:
        """Ask some server; raise StoreClosed where the store is closed in the middle of it."""
        try:
            return self._line.ask(request, wait_s)
        except Unavailable:
            # 1. A follower waits for news. 2. `close` ends its connection. 3. The server is there: the store is closed.
            self._check_open()
            raise

    @uninterrupted()
    def look(self, topic: str, job: StoreCall[T]) -> T:
        """Return the result of a job of a topic that reads."""
        self._check_open()
        operations.check_named(job)
        name, arguments = operations.written(job)
        life, commits, result = self._ask(requests.request(requests.ASK, topic, name, arguments))
        self._heard(life, commits)
        found: T = operations.read_result(job, result)
        return found

    @uninterrupted()
    def listen(self, topic: str, seen: int, left_s: float | None) -> None:
        """Wait for commits at the server of a topic, for a while."""
        self._check_open()
        if self.commits != seen:
            return
        wait_s = LONG_POLL_S if left_s is None else max(0.0, min(LONG_POLL_S, left_s))
        life, at = self._life, self._server_commits
        self._heard(*self._ask(requests.request(requests.NEWS, topic, life, at, wait_s), wait_s))

    def _heard(self, life: Any, commits: Any) -> None:
        """Note how many commits a server has made."""
        with self._changed:
            if (life, commits) != (self._life, self._server_commits):
                self._life, self._server_commits = life, commits
                self.commits += 1

    @uninterrupted()
    def close(self) -> None:
        """Send what waits, for as long as a call may take, and end. May be called again."""
        if os.getpid() != self._process:
            return
        with self._changed:
            self._closing = True  # again: the one before was interrupted, or did all of this
            self._changed.notify_all()
        threads, deadline = (
            [it.thread for it in self._lanes if it.thread],
            monotonic() + self._line.timeout_s + ATTEMPT_S,
        )
        for thread in threads:
            interruptible(thread.join, max(0.0, deadline - monotonic()))
        late = any(thread.is_alive() for thread in threads)
        if not late and not self._line.closing.is_set():
            for topic in {it.id: topic for topic, it in self._greeted.items()}.values():
                with suppress(GComError):  # without it the server forgets this client in a month
                    self._line.once(requests.request(requests.LEAVE, self._client, topic), 1.0)
        self._line.close()
        if self.records is not None:
            self.records.close()
        if late:
            raise GComTimeout(f"timed out after {self._line.timeout_s:g} s: {self.name!r} does not answer")

    def _take(self, waiting: deque[_Waiting]) -> list[_Waiting]:
        with self._changed:
            while not waiting and not self._closing:
                self._changed.wait()
            taken, size = list[_Waiting](), 0
            while waiting and len(taken) < CALLS_MAX and size < REQUEST_BYTES:
                taken.append(waiting.popleft())
                size += size_of(taken[-1].words.arguments)
            self._changed.notify_all()
        return taken

    def _run(self, lane: _CallLane) -> None:
        while taken := self._take(lane.waiting):
            numbers = {it.words.number for it in taken}
            taken = [it for it in taken if it.future.set_running_or_notify_cancel()]
            try:
                self._settle(taken)
            except Exception as error:  # outermost: else nobody would hear of it
                for it in taken:
                    if not it.future.done():
                        it.future.set_exception(error)
            with self._changed:
                self._open_numbers -= numbers

    def _settle(self, taken: list[_Waiting]) -> None:
        """Send calls until each has an answer, or the time is over."""
        deadline, pause_s = monotonic() + self._line.timeout_s, PAUSE_S
        unknown, why = False, GComError("no server was asked")
        while taken:
            try:
                request = requests.request(requests.CALL, self._client, self._upto(), *(it.words for it in taken))
                life, commits, *answers = self._line.once(request, ATTEMPT_S)
                if len(answers) != len(taken):
                    raise MalformedFrame("the server answered another number of calls")
                self._heard(life, commits)
                taken, doubt = _untold(taken, answers, unknown)
                unknown, why = unknown or doubt is not None, doubt or why
            except MessageTooLarge as error:
                why = error
                break
            except (Unavailable, PeerError) as error:
                unknown = unknown or not isinstance(error, pyro.ConnectionRefused)
                why = error
            if taken and monotonic() + pause_s > deadline:
                break
            if taken:
                self._line.closing.wait(pause_s)
                pause_s = min(PAUSE_S_MAX, 2 * pause_s)
        for it in taken:
            it.future.set_exception(_failure(unknown, self.name, why))


class RemoteTopic:
    """The way to one topic of a store at servers."""

    def __init__(self, store: RemoteStore, topic: str) -> None:
        self.root, self.name = store, store.name
        self._topic = topic

    @property
    def id(self) -> str:
        """Return the id of the topic's store."""
        return self.root.facts(self._topic).id

    @property
    def durable(self) -> str:
        """Return what a commit survives there."""
        return self.root.facts(self._topic).durable

    @property
    def commits(self) -> int:
        """Return how often news came."""
        return self.root.commits

    @property
    def records(self) -> TopicRecords | None:
        """Return the store's records for the audit."""
        return self.root.records

    def record_with(self, records: TopicRecords) -> None:
        """Keep records for the audit from now on, of the whole store."""
        self.root.record_with(records)

    def of(self, topic: str) -> RemoteTopic:
        """Return the way to another topic."""
        return self.root.of(topic)

    @uninterrupted()
    def call(self, job: StoreCall[T]) -> T:
        """Have a job carried out; return its result."""
        return result_of(self.submit(job))

    def submit(self, job: StoreCall[T]) -> Future[T]:
        """Have a job carried out, behind those before it; return the future of its result."""
        return self.root.begin(self._topic, job)

    def ask(self, job: StoreCall[T]) -> T:
        """Return the result of a job that reads."""
        return self.root.look(self._topic, job)

    def wait_for_news(self, seen: int, _idle: bool, left_s: float | None) -> None:
        """Wait for commits at the topic's server, by a long poll."""
        self.root.listen(self._topic, seen, left_s)

    def backup(self, path: Path, tell: Callable[[int, int], object]) -> None:
        """Refuse: the file is at the server."""
        self.root.backup(path, tell)

    def close(self) -> None:
        """Close the store."""
        self.root.close()


def _untold(taken: list[_Waiting], answers: list[Any], unknown: bool) -> tuple[list[_Waiting], GComError | None]:
    """Tell answers to calls; return the calls that must be sent again, and a reason if one may be carried out."""
    again, doubt, topics = list[_Waiting](), None, set[str]()
    for it, answer in zip(taken, answers, strict=True):
        match answer:
            case [kind, text] if kind in (GONE, LOST):
                again.append(it)
                topics.add(it.words.topic)
                doubt = Unavailable(str(text)) if kind == LOST else doubt
            # 1. A call is not carried out, for its server has the topic no more. 2. The next one's server has it, and
            # refuses what follows a gap. 3. Both are sent again, in their order.
            case [_, _, _] if it.words.topic in topics:
                again.append(it)
            case _:
                _tell(it, answer, unknown)
    return again, doubt


def _tell(it: _Waiting, answer: Any, unknown: bool) -> None:
    """Tell a call's answer. `unknown`: an earlier answer was lost."""
    match answer:
        case [kind, result] if kind == DONE:
            try:
                it.future.set_result(operations.read_result(it.call, result))
            except MalformedFrame as error:
                it.future.set_exception(error)
        case [_, name, text]:
            told = requests.read_error(name, text)
            it.future.set_exception(_failure(True, "the server", told) if unknown and name in _UNTRIED else told)
        case _:
            it.future.set_exception(MalformedFrame("not an answer to a call"))


def _failure(unknown: bool, name: str, why: GComError) -> GComError:
    if isinstance(why, MessageTooLarge):
        return why
    if not unknown:
        return Unavailable(f"no server of {name!r} answers, and nothing was stored: {why}")
    return ReceiptUnknown(f"an answer of {name!r} was lost: stored or not, send it again with its sequence ({why})")


def size_of(value: Any) -> int:
    """Return about how many bytes a value has on its way."""
    if isinstance(value, bytes | str):
        return len(value) + 8
    if isinstance(value, NounRows):
        if value.kind is Entry:  # of which there are many
            return sum([len(it.body) + len(it.head) + len(it.key or b"") + 16 for it in value.nouns])
        value = value.nouns
    if isinstance(value, list | tuple):
        return 8 + sum(size_of(it) for it in value)
    return 8
