"""The client of the registry's sequencer: one connection, on which the requests of all groups are under way.

A request is written by the thread whose step asks, and its answer taken by the host's reader: a step of the order costs
no thread of its own. A request is put at most once (ARCHITECTURE 7: an OPEN put again, to a registry that has started
anew, would give serials out a second time), so a connection that breaks is an answer that did not come, and the group's
machine decides whether it asks again. A silence is the sequencer's, not a group's: all requests that are under way when
one is not answered in time fail with it at once. Only to dial there is a thread, which also makes the calls one by one
where faults are put into them on purpose.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import cache
from queue import SimpleQueue
from threading import Lock
from typing import NamedTuple, Protocol

from gcom.core.codec import sequencer as sequencer_codec
from gcom.core.messages.events import SequencerAnswered
from gcom.core.messages.sequencer import SequencerRequest
from gcom.errors import GComError
from gcom.runtime import pyro
from gcom.runtime.security.process import Security
from gcom.runtime.step_lock import StepLock
from gcom.values import limits
from gcom.values.detection import LAN, Detection
from gcom.values.names import Address

AnswerHandler = Callable[[SequencerAnswered], None]  # `Session.handle` of the session that asked


class SequencerReader(Protocol):
    """The part of the host's reader that the client uses. Any thread may call it."""

    def add(self, owner: SequencerClient, pipeline: pyro.Pipeline) -> None: ...

    def drop(self, pipeline: pyro.Pipeline) -> None: ...

    def await_writable(self, owner: SequencerClient, pipeline: pyro.Pipeline) -> None: ...

    def end_rest(self) -> None: ...


class SequencerHost(Protocol):
    """The part of the host that the client uses. `call_registry` is called without the lock."""

    lock: StepLock
    has_faults: bool

    @property
    def reader(self) -> SequencerReader: ...

    def now_ms(self) -> int: ...

    def call_registry(self, caller: pyro.Caller, data: bytes, timeout_s: float) -> bytes: ...


class _PendingRequest(NamedTuple):
    """A request, and the handler of its answer, or of the lack of one."""

    on_answer: AnswerHandler
    request: SequencerRequest
    deadline_ms: int
    patience_ms: int


class SequencerClient:
    """The requests to the sequencer, of which each group has one at a time. Guarded by the host's lock."""

    def __init__(self, host: SequencerHost, address: Address, credentials: Security | None = None) -> None:
        self._host = host
        self._caller = pyro.Caller(address, pyro.SEQUENCER, credentials)
        self._pipeline: pyro.Pipeline | None = None
        self._waiting: deque[_PendingRequest] = deque()  # for a connection
        self._to_write: deque[tuple[pyro.Pipeline, _PendingRequest]] = deque()  # each with its connection
        self._unanswered: deque[_PendingRequest] = deque()
        self._writing = Lock()
        self._certified = isinstance(credentials, pyro.Credentials)
        self._thread_busy = False  # dialling, or making calls one by one
        self._work: SimpleQueue[bool] = SimpleQueue()
        self._closed = False

    def ask(self, request: SequencerRequest, on_answer: AnswerHandler, detection: Detection = LAN) -> None:
        """Write a request when the lock is released, and give `on_answer` its answer, or none. Holds the lock."""
        patience_ms = _patience_ms(detection)
        self._waiting.append(_PendingRequest(on_answer, request, self._host.now_ms() + patience_ms, patience_ms))
        self._host.lock.write_on_release(self)

    def close(self) -> None:
        """End `serve`, and a call in progress."""
        self._work.put(False)
        self._caller.close()
        with self._host.lock:
            self._closed, pipeline = True, self._pipeline
        if pipeline is not None:
            pipeline.close()

    # putting

    def prepare_writes(self) -> bool:
        if self._certified and self._pipeline is not None and self._caller.is_revoked(self._pipeline.connection):
            self._pipeline.close()  # the reader finds its end, and the next dial is refused
        if self._waiting and not self._thread_busy and (self._pipeline is None or self._host.has_faults):
            # One dial for all groups: each would wait for the same registry as long.
            self._thread_busy = True
            self._work.put(True)
        if not self._thread_busy and self._pipeline is not None:
            self._unanswered += self._waiting
            self._to_write += [(self._pipeline, pending) for pending in self._waiting]
            self._host.reader.end_rest()
            self._waiting.clear()
        return bool(self._to_write)

    def write(self) -> None:
        while self._to_write and self._writing.acquire(blocking=False):
            try:
                self._write_all()
            finally:
                self._writing.release()

    def _write_all(self) -> None:
        while True:
            try:
                pipeline, pending = self._to_write.popleft()
            except IndexError:  # all is written, or was cleared just now as its connection broke
                return
            try:
                if not pipeline.put(sequencer_codec.encode_request(pending.request)):
                    self._host.reader.await_writable(self, pipeline)
            except BaseException:  # outermost: of one request, in a thread of the application perhaps
                pipeline.close()  # a request is missing on this connection: no answer would be its own
                raise

    def tick(self) -> bool:
        self._host.lock.write_on_release(self)
        return False  # nothing of a sequencer's is due by time

    def next_ms(self, now_ms: int) -> int | None:
        """Return when the oldest request under way is given up. Holds the lock."""
        return self._unanswered[0].deadline_ms if self._unanswered else None

    def is_overdue(self, now_ms: int) -> bool:
        """Return whether the oldest request under way was not answered in time. Holds the lock."""
        return bool(self._unanswered) and self._unanswered[0].deadline_ms <= now_ms

    # the answers, in the reader's thread

    @property
    def is_awaited(self) -> bool:
        """Whether an answer is waited for. Holds the lock."""
        return bool(self._unanswered)

    def read(self, pipeline: pyro.Pipeline) -> bool:
        """Take the answers that have come, or the end of the connection."""
        try:
            # In the order of the questions: the registry answers
            # one connection's requests one after the other.
            for answer in pipeline.answers():
                # 1. An answer is overdue: its connection is given up, and its requests fail. 2. The answer comes before
                # the selector drops the connection. 3. It must not answer a request of the next one.
                if pipeline is not self._pipeline or not self._unanswered:
                    break
                pending = self._unanswered.popleft()
                pending.on_answer(_answered(pending.request, answer))
        except GComError:  # broken, or no answer of a sequencer
            self._fail(pipeline)
        return False

    def give_up(self) -> None:
        """End a connection over which an answer has not come in time."""
        pipeline = self._pipeline
        if pipeline is not None:
            self._fail(pipeline)

    def _fail(self, pipeline: pyro.Pipeline) -> None:
        with self._host.lock:
            # Given up already: its requests have failed, and those of the next connection are none of its business.
            if pipeline is not self._pipeline:
                return
            self._pipeline = None
            self._host.reader.drop(pipeline)
            pipeline.close()
            failed, self._unanswered = self._unanswered, deque()
            self._to_write.clear()
        for pending in failed:
            pending.on_answer(SequencerAnswered(pending.request, None))

    # the thread

    def serve(self) -> None:
        """Dial when there is no connection, until closed."""
        while self._work.get():
            if self._host.has_faults:
                self._call_one_by_one()
            else:
                self._dial()

    def _dial(self) -> None:
        refused = False
        with self._host.lock:
            # As long as the most patient of those that wait: a group made for slow links must not lose its sequencer to
            # one made for fast ones.
            patience_ms = max([limits.SEQUENCER_CALL_MS, *[pending.patience_ms for pending in self._waiting]])
        try:
            pipeline = pyro.Pipeline(self._caller.connect(patience_ms / 1000), pyro.SEQUENCER)
        except GComError as error:
            refused = isinstance(error, pyro.ConnectionRefused)
            with self._host.lock:
                self._thread_busy = False
                failed, self._waiting = self._waiting, deque()
            # Without the lock, which `on_answer` takes: it steps a session of another group each time.
            for pending in failed:
                pending.on_answer(SequencerAnswered(pending.request, None, refused))
            return
        with self._host.lock:
            if self._closed:
                pipeline.release()  # `close` found none to end: this one was made after it
                return
            self._thread_busy, self._pipeline = False, pipeline
            self._host.reader.add(self, pipeline)
            self._host.lock.write_on_release(self)

    def _call_one_by_one(self) -> None:
        while True:
            with self._host.lock:
                if not self._waiting:
                    self._thread_busy = False
                    return
                pending = self._waiting.popleft()
            pending.on_answer(self._call(pending.request, pending.patience_ms))

    def _call(self, request: SequencerRequest, patience_ms: int) -> SequencerAnswered:
        data = sequencer_codec.encode_request(request)
        try:
            return _answered(request, self._host.call_registry(self._caller, data, patience_ms / 1000))
        except pyro.ConnectionRefused:
            return SequencerAnswered(request, None, refused=True)
        except pyro.TimedOut:
            self._give_up_waiting()
            return SequencerAnswered(request, None)
        except GComError:  # broken, or no sequencer at all: it does not order for us
            return SequencerAnswered(request, None)

    def _give_up_waiting(self) -> None:
        """Fail all requests that wait now, after one silence for all; later ones go to the sequencer again."""
        with self._host.lock:
            failed, self._waiting = self._waiting, deque()
        for pending in failed:
            pending.on_answer(SequencerAnswered(pending.request, None))


def _answered(request: SequencerRequest, answer: bytes) -> SequencerAnswered:
    """Return the event for the session; an answer that cannot be decoded is none."""
    try:
        return SequencerAnswered(request, sequencer_codec.decode_answer(answer))
    except GComError:
        return SequencerAnswered(request, None)


@cache
def _patience_ms(detection: Detection) -> int:
    """Return how long an answer may take; a group's detection never changes, and each message of a total order asks."""
    return detection.extended_ms(limits.SEQUENCER_CALL_MS)
