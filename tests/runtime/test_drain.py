"""A server that ends in good order: what is in progress is answered, and nothing new begins."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from threading import Event

import pytest

from gcom.runtime import pyro

LIMIT_S = 60.0


class Slow:
    """An endpoint that answers when it is let."""

    def __init__(self) -> None:
        self.began, self.may_end = Event(), Event()
        self.server = pyro.Server("127.0.0.1", 0, {pyro.NODE: pyro.Endpoint(self._answer)})
        self.server.start()

    def _answer(self, frame: bytes) -> bytes:
        self.began.set()
        assert self.may_end.wait(LIMIT_S)
        return frame + b" too"

    def call(self) -> bytes:
        """The answer to one call over a connection of its own."""
        with closing(pyro.Caller(self.server.address, pyro.NODE)) as caller:
            return caller.call(b"one", LIMIT_S)


def test_a_request_in_progress_is_answered_and_a_new_one_refused() -> None:
    slow = Slow()
    with ThreadPoolExecutor() as threads:
        answer = threads.submit(slow.call)
        assert slow.began.wait(LIMIT_S)
        closed = threads.submit(slow.server.close, LIMIT_S)
        while not closed.done():
            with pytest.raises((pyro.ConnectionRefused, pyro.ConnectionLost)):
                slow.call()
            slow.may_end.set()
        assert answer.result(LIMIT_S) == b"one too"
    assert slow.server.connections == 0


def test_idle_connections_end_at_once() -> None:
    slow = Slow()
    slow.may_end.set()
    with closing(pyro.Caller(slow.server.address, pyro.NODE)) as caller:
        assert caller.call(b"one", LIMIT_S) == b"one too"
        slow.server.close(LIMIT_S)
        with pytest.raises((pyro.ConnectionRefused, pyro.ConnectionLost)):
            caller.call(b"two", LIMIT_S)


def test_one_that_never_ends_is_waited_for_no_longer_than_that() -> None:
    slow = Slow()
    with ThreadPoolExecutor() as threads:
        answer = threads.submit(slow.call)
        assert slow.began.wait(LIMIT_S)
        slow.server.close(0.01)
        slow.may_end.set()
        with pytest.raises(pyro.ConnectionLost):
            answer.result(LIMIT_S)
