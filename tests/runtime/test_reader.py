"""The reader's rest: what is measured after it, and what it does not wait for."""

from __future__ import annotations

import selectors
import socket
import time
from collections.abc import Iterator
from contextlib import closing

import pytest

from gcom.runtime import pyro
from gcom.runtime.links.reader import Reader
from gcom.runtime.step_lock import StepLock


class Peer:
    """The other end of a connection, whose answers nobody waits for; its reader's host and only owner at once.

    The reader runs in the test's own thread, and ends with the second answer.
    """

    def __init__(self, in_rest: bool) -> None:
        self.in_rest = in_rest  # the second answer is there when the rest ends; else it comes after
        self.late: list[bool] = []  # of each answer
        self.rests = 0  # thought of
        self.lock = StepLock()
        ours, self.sock = socket.socketpair()
        self.pipeline = pyro.Pipeline(ours, pyro.NODE)
        self.reader = Reader(self, lambda: [self])

    def run(self, half_written: bool = False) -> None:
        selector = Answering(self)
        for key in self.reader._selector.get_map().values():
            selector.register(key.fileobj, key.events, key.data)
        selector.register(self.pipeline, selectors.EVENT_READ, self)
        self.reader._selector.close()
        self.reader._selector = selector
        if half_written:
            self.reader.await_writable(self, self.pipeline)
        self.reader._run()

    def answer(self) -> None:
        self.sock.send(b"\0")

    def close(self) -> None:
        self.pipeline.release()
        self.sock.close()

    # its owner

    def read(self, pipeline: pyro.Pipeline) -> bool:
        pipeline.connection.recv(1)
        self.late.append(self.reader.coalesced)
        if len(self.late) == 2:
            self.reader._closed = True  # within its own loop, as no thread runs it
        return True

    @property
    def is_awaited(self) -> bool:
        self.rests += 1
        if self.in_rest:
            self.answer()
        return False

    def next_ms(self, now_ms: int) -> int | None:
        return None

    def is_overdue(self, now_ms: int) -> bool:
        return False

    def tick(self) -> bool:
        return False

    # its host

    def tick_sessions(self, now_ms: int, together: bool) -> None: ...

    def next_tick_ms(self, by_ms: int) -> int:
        return by_ms

    def give_up(self) -> None: ...

    def prepare_writes(self) -> bool:
        return False

    def write(self) -> None: ...

    # its host

    def now_ms(self) -> int:
        return time.monotonic_ns() // 1_000_000

    def on_defect(self) -> None:
        raise AssertionError("the reader ended by a defect")


class Answering(selectors.DefaultSelector):
    """A selector whose peer answers as soon as somebody waits, and not before."""

    def __init__(self, peer: Peer) -> None:
        super().__init__()
        self._peer = peer

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout:
            self._peer.answer()
        return super().select(timeout)


@pytest.fixture
def peer(in_rest: bool) -> Iterator[Peer]:
    with closing(Peer(in_rest)) as it:
        yield it


@pytest.mark.parametrize("in_rest", [True, False])
def test_only_answers_that_are_there_when_the_rest_ends_are_late(peer: Peer, in_rest: bool) -> None:
    peer.run()
    assert peer.late == [False, in_rest]
    assert peer.rests == 2


@pytest.mark.parametrize("in_rest", [False])
def test_there_is_no_rest_while_a_frame_is_half_written(peer: Peer) -> None:
    while peer.pipeline.put(bytes(100_000)):
        pass
    peer.run(half_written=True)
    assert (peer.late, peer.rests) == ([False, False], 0)
