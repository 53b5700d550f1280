"""A process that is short of something for a moment: descriptors, threads, or a disk that takes nothing."""

from __future__ import annotations

import errno
import os
import selectors
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest

import gcom
from gcom.runtime.user_process.life import is_dead
from tests.runtime.nodes import until

ExpectLog = Callable[[str], None]
TIMES = 40  # so often a call fails before it works again


class Shortage:
    """Calls that fail for a while in GCom's own threads: `TIMES` of them, chosen by chance, a third of all."""

    def __init__(self, seed: int) -> None:
        self._rng = Random(seed)
        self._lock = threading.Lock()
        self.left = TIMES
        self.on = False

    def strikes(self) -> bool:
        with self._lock:
            strikes = self.on and self.left > 0 and self._rng.random() < 0.33
            self.left -= strikes
            return strikes

    def failing(self, call: Callable[..., Any], error: BaseException) -> Callable[..., Any]:
        def called(*args: Any, **kwargs: Any) -> Any:
            if self.strikes():
                raise error
            return call(*args, **kwargs)

        return called


NONE_LEFT = OSError(errno.EMFILE, os.strerror(errno.EMFILE))
NO_THREAD = RuntimeError("can't start new thread")


@contextmanager
def _short_of(what: str, shortage: Shortage, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patch:
        match what:
            case "sockets":
                patch.setattr(socket, "socket", _FailingSocket)
                _FailingSocket.shortage = shortage
            case "threads":
                patch.setattr(threading.Thread, "start", shortage.failing(threading.Thread.start, NO_THREAD))
            case "watches":
                failing = shortage.failing(selectors.DefaultSelector.register, NONE_LEFT)
                patch.setattr(selectors.DefaultSelector, "register", failing)
            case "files":
                patch.setattr(os, "open", shortage.failing(os.open, NONE_LEFT))
        shortage.on = True
        yield
        shortage.on = False


class _FailingSocket(socket.socket):
    shortage: Shortage

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "fileno" not in kwargs and self.shortage.strikes():
            raise NONE_LEFT
        super().__init__(*args, **kwargs)


@pytest.mark.parametrize("what", ["sockets", "threads", "watches", "files"])
def test_a_short_trouble_of_one_process_stops_nobody_for_good(
    what: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, expect_log: ExpectLog, tolerate_log: ExpectLog
) -> None:
    """Members come and go meanwhile. At worst a member is put out and returns, or its log ends with an event."""
    tolerate_log("accept failed")
    if what == "files":
        expect_log("ends here")
    departures: list[gcom.Departure] = []
    got: list[str] = []
    with ExitStack() as stack:
        registry = stack.enter_context(gcom.embedded())
        alice = stack.enter_context(gcom.connect("alice", registry.address, log_dir=tmp_path))
        bob = stack.enter_context(gcom.connect("bob", registry.address, log_dir=tmp_path))
        hers = alice.join("g", create=gcom.Definition("g", "TOTAL"))
        his = bob.join("g")
        hers.listen(on_event=lambda it: departures.append(it) if isinstance(it, gcom.Departure) else None)
        his.listen(
            on_message=lambda it: got.append(it.text),
            on_event=lambda it: departures.append(it) if isinstance(it, gcom.Departure) else None,
        )
        shortage = Shortage(len(what))
        with _short_of(what, shortage, monkeypatch):
            for turn in range(6):
                with suppress(gcom.GComError):  # said in words; what it had is let go of
                    guest = gcom.connect(f"guest{turn}", registry.address, log_dir=tmp_path)
                    with guest, guest.join("g", timeout_s=5) as group:
                        group.listen()
                        hers.send(f"{turn}", timeout_s=5)
        assert shortage.left < TIMES, "nothing failed"
        assert not [it for it in departures if not it.returning], departures
        hers.wait_for_members(1, 60)
        hers.send("last", timeout_s=60)
        his.wait_for_members(2, 60)
        until(lambda: got[-1:] == ["last"], "the last one")


def test_a_node_that_cannot_be_had_says_why_and_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    texts: list[str] = []
    with gcom.embedded() as registry:
        for nth in range(1, 12):
            with monkeypatch.context() as patch:
                patch.setattr(socket, "socketpair", _failing_at(nth, socket.socketpair))
                patch.setattr(threading.Thread, "start", _failing_at(nth, threading.Thread.start, NO_THREAD))
                try:
                    gcom.connect("alice", registry.address).close()
                except gcom.Exhausted as error:
                    texts.append(str(error))
        until(lambda: not [it for it in threading.enumerate() if it.name == "gcom reader"], "threads ended")
        assert texts
        assert all("ulimit" in text for text in texts)


def _failing_at(nth: int, call: Callable[..., Any], error: BaseException = NONE_LEFT) -> Callable[..., Any]:
    calls = iter(range(1_000_000))

    def called(*args: Any, **kwargs: Any) -> Any:
        if next(calls) == nth:
            raise error
        return call(*args, **kwargs)

    return called


def test_want_of_descriptors_is_no_proof_of_death(monkeypatch: pytest.MonkeyPatch) -> None:
    with gcom.embedded() as registry, gcom.connect("alice", registry.address) as alice:

        def none_left(*_: object) -> socket.socket:
            raise NONE_LEFT

        monkeypatch.setattr(socket, "socket", none_left)
        assert not is_dead(alice.address)
        monkeypatch.undo()


def test_a_boot_id_of_its_own_is_no_proof_of_death() -> None:
    """A container may share the host's network, and have a boot id of its own."""
    with gcom.embedded() as registry, gcom.connect("alice", registry.address) as alice:
        place, _, life = alice.address.partition("@")
        host, _, token = life.partition(".")
        another = f"{place}@{'0' * 12}{host[12:]}.{token}"
        assert not is_dead(another)
    assert is_dead(another)
