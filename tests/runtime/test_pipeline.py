"""Several calls on one connection: answers in the order of the calls, and nothing else counts as an answer."""

from __future__ import annotations

import select
import socket
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from threading import Event, Thread
from time import monotonic

import pytest
from Pyro5 import protocol

from gcom.errors import PeerError
from gcom.runtime import pyro
from gcom.runtime.pyro import tls, wire
from gcom.runtime.pyro.pipeline import BUFFERS_MAX
from gcom.runtime.step_lock import StepLock
from gcom.values import limits
from tests.runtime.test_pyro import LIMIT_S, message, receive

SIZE = limits.FRAME_BYTES_MAX


@pytest.fixture
def echo() -> Iterator[pyro.Server]:
    server = pyro.Server(
        "127.0.0.1", 0, {pyro.NODE: pyro.Endpoint(lambda frame: frame[:64])}, credentials=pyro.UserSecret()
    )
    server.start()
    with closing(server):
        yield server


@contextmanager
def pipeline_over(sock: tls.PeerSocket) -> Iterator[pyro.Pipeline]:
    pipeline = pyro.Pipeline(sock, pyro.NODE)
    try:
        yield pipeline
    finally:
        pipeline.close()
        pipeline.release()


def dialled(server: pyro.Server) -> tls.PeerSocket:
    return pyro.Caller(server.address, pyro.NODE, pyro.UserSecret()).connect(LIMIT_S)


def answers(pipeline: pyro.Pipeline, count: int) -> list[bytes]:
    """So many answers, and what is left is written meanwhile."""
    found: list[bytes] = []
    deadline = monotonic() + LIMIT_S
    while len(found) < count:
        assert monotonic() < deadline, f"{len(found)} answers of {count}"
        writing = [] if pipeline.flush() else [pipeline]
        select.select([pipeline], writing, [], LIMIT_S)
        found += pipeline.answers()
    return found


def test_answers_come_in_the_order_of_the_calls(echo: pyro.Server) -> None:
    with pipeline_over(dialled(echo)) as pipeline:
        calls = [b"call %d" % number for number in range(200)]
        for call in calls:
            pipeline.put(call)
        assert answers(pipeline, len(calls)) == calls


def test_calls_that_are_put_together_are_answered_together() -> None:
    came: list[bytes] = []
    server = pyro.Server("127.0.0.1", 0, {pyro.NODE: pyro.Endpoint(bytes)}, credentials=pyro.UserSecret())
    server.start()
    # As many as one call of the kernel takes: of more, the server may find the first ones alone.
    calls = [b"call %d" % number for number in range(BUFFERS_MAX)]
    with closing(server), pipeline_over(dialled(server)) as pipeline:
        for call in calls[:-1]:
            assert pipeline.put(call, follows=True)
        readable, _, _ = select.select([pipeline], [], [], 0)
        assert not readable, "what is to be followed by another is not written by itself"
        assert pipeline.put(calls[-1])
        while not came:
            select.select([pipeline], [], [], LIMIT_S)
            came = pipeline.answers()
    assert came == calls


def test_who_sends_what_is_no_message_behind_a_call_has_the_answer_to_that(
    expect_log: Callable[[str], None],
) -> None:
    expect_log("refused from the network")
    server = pyro.Server("127.0.0.1", 0, {pyro.NODE: pyro.Endpoint(bytes)}, credentials=pyro.UserSecret())
    server.start()
    with closing(server), pipeline_over(dialled(server)) as pipeline:
        pipeline.put(b"call", follows=True)
        pipeline._unwritten.append(memoryview(bytes(wire.HEADER_BYTES)))
        pipeline.flush()
        assert answers(pipeline, 1) == [b"call"]
        select.select([pipeline], [], [], LIMIT_S)
        with pytest.raises(pyro.ConnectionLost):
            pipeline.answers()
        assert server.refused["not Pyro5"] == 1


def test_what_the_socket_does_not_take_is_written_later() -> None:
    all_put = Event()

    def serve(frame: bytes) -> bytes:
        assert all_put.wait(LIMIT_S)
        return frame[:3]

    server = pyro.Server("127.0.0.1", 0, {pyro.NODE: pyro.Endpoint(serve)}, credentials=pyro.UserSecret())
    server.start()
    with closing(server), pipeline_over(dialled(server)) as pipeline:
        taken = [pipeline.put(b"%03d" % number + bytes(SIZE - 3)) for number in range(60)]
        all_put.set()
        assert not all(taken), "15 MB fit no socket whose peer reads nothing more than one call"
        assert answers(pipeline, 60) == [b"%03d" % number for number in range(60)]


@pytest.mark.parametrize("sizes", [(0,), (1, 0, 3), (5000,), (7, SIZE - 1000, 40), (100,) * 50])
def test_a_call_in_parts_is_one_call(sizes: tuple[int, ...]) -> None:
    came: list[bytes] = []

    def take(frame: bytes) -> bytes:
        came.append(bytes(frame))
        return b""

    server = pyro.Server("127.0.0.1", 0, {pyro.NODE: pyro.Endpoint(take)}, credentials=pyro.UserSecret())
    server.start()
    parts = [bytes([number]) * size for number, size in enumerate(sizes)]
    with closing(server), pipeline_over(dialled(server)) as pipeline:
        pipeline.put(*[memoryview(part) for part in parts])
        pipeline.put(b"next")
        answers(pipeline, 2)
    assert came == [b"".join(parts), b"next"]


@pytest.mark.parametrize(
    "numbers",
    [(1, 1), (2,), (1, 3), (2, 1)],
    ids=["one answered twice", "the first is missing", "one is missing from the middle", "out of order"],
)
def test_an_answer_out_of_its_place_ends_all(numbers: tuple[int, ...]) -> None:
    """A frame that was taken twice, lost from the middle, or overtaken shows by the number of its answer."""
    ours, theirs = socket.socketpair()
    with theirs, pipeline_over(ours) as pipeline:
        for call in (b"a", b"b", b"c"):
            pipeline.put(call)
            assert receive(theirs)[0] == protocol.MSG_INVOKE
        theirs.sendall(b"".join(message(protocol.MSG_RESULT, b"x", seq=number) for number in numbers))
        with pytest.raises(PeerError, match="out of step"):
            pipeline.answers()


def test_a_broken_connection_is_told_after_the_last_answer() -> None:
    ours, theirs = socket.socketpair()
    with pipeline_over(ours) as pipeline:
        pipeline.put(b"a")
        pipeline.put(b"b")
        theirs.sendall(message(protocol.MSG_RESULT, b"x", seq=1) + message(protocol.MSG_RESULT, b"y", seq=2)[:-1])
        theirs.close()
        assert pipeline.answers() == [b"x"]
        with pytest.raises(pyro.ConnectionLost):
            pipeline.answers()
        assert pipeline.put(b"c"), "nothing waits for a connection that is over"


class _Writer:
    """A link that has something to write once."""

    def __init__(self, lock: StepLock) -> None:
        self._lock = lock
        self.prepared = self.written = 0

    def prepare_writes(self) -> bool:
        self.prepared += 1
        return True

    def write(self) -> None:
        assert self._lock.acquire(blocking=False), "written under the lock"
        self._lock.release()
        self.written += 1


def test_what_a_step_leaves_is_written_after_the_lock_is_let_go() -> None:
    lock = StepLock()
    writer = _Writer(lock)
    with lock:
        lock.write_on_release(writer)
        assert writer.prepared == 0
    assert (writer.prepared, writer.written) == (1, 1)
    with lock:
        pass
    assert writer.prepared == 1


def test_to_wait_for_a_condition_lets_the_lock_go_as_well() -> None:
    lock = StepLock()
    changed, writer, done = lock.condition(), _Writer(lock), Event()

    def wait() -> None:
        with lock:
            lock.write_on_release(writer)
            while not writer.written:
                changed.wait(LIMIT_S)
        done.set()

    thread = Thread(target=wait)
    thread.start()
    while not done.wait(0.001):
        with lock:
            lock.notify_on_release(changed)
    thread.join(LIMIT_S)
    assert writer.written == 1


class _Broken(_Writer):
    def prepare_writes(self) -> bool:
        raise RuntimeError("a defect")


def test_a_defect_does_not_leave_the_lock_taken() -> None:
    lock = StepLock()
    with pytest.raises(RuntimeError), lock:
        lock.write_on_release(_Broken(lock))
    assert lock.acquire(blocking=False)
