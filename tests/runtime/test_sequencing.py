"""A host's one connection to the registry's sequencer, where many groups wait for it."""

from __future__ import annotations

import select
import threading
import time

import pytest

from gcom.core.codec import sequencer as codec
from gcom.core.messages.events import SequencerAnswered
from gcom.core.messages.orders import Orders
from gcom.core.messages.sequencer import Open, Unknown, Want
from gcom.core.ordering.sequencer import Sequencer
from gcom.runtime import pyro
from gcom.runtime.links.reader import Reader
from gcom.runtime.registry.sequencer_client import SequencerClient
from gcom.runtime.step_lock import StepLock
from tests.runtime.nodes import LIMIT_S, until

GROUPS = 12


class Waiter:
    """Stands in for a session: keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[SequencerAnswered] = []

    def handle(self, event: SequencerAnswered) -> None:
        self.told.append(event)


class Room:
    """Stands in for a host: a lock, a clock, a reader."""

    has_faults = False

    def __init__(self, address: str, reader: Kept | None = None) -> None:
        self.lock = StepLock()
        self.client = SequencerClient(self, address, pyro.UserSecret())
        self.reader = reader or Reader(self, lambda: [self.client])
        if isinstance(self.reader, Reader):
            self.reader.start()
        self._thread = threading.Thread(target=self.client.serve, daemon=True)
        self._thread.start()

    def now_ms(self) -> int:
        return time.monotonic_ns() // 1_000_000

    def tick_sessions(self, now_ms: int, together: bool) -> None: ...

    def next_tick_ms(self, by_ms: int) -> int:
        return by_ms

    def call_registry(self, caller: pyro.Caller, data: bytes, timeout_s: float) -> bytes:
        return caller.call(data, timeout_s)

    def on_defect(self) -> None:
        raise AssertionError("a thread ended by a defect")

    def close(self) -> None:
        self.client.close()
        self.reader.close()
        self.reader.join(LIMIT_S)
        self._thread.join(LIMIT_S)


def wants() -> list[Want]:
    return [Want(f"g{place}", "i", 1, "a#1", 1, 0, 0) for place in range(GROUPS)]


@pytest.mark.parametrize("has_faults", [False, True], ids=["pipelined", "one by one"])
def test_one_silent_call_is_the_answer_to_all_who_wait_behind_it(has_faults: bool) -> None:
    asked: list[bytes] = []
    over = threading.Event()

    def silent(data: bytes) -> bytes:
        asked.append(data)
        over.wait(LIMIT_S)
        return b""

    server = pyro.Server("127.0.0.1", 0, {pyro.SEQUENCER: pyro.Endpoint(silent)}, credentials=pyro.UserSecret())
    server.start()
    room = Room(server.address)
    room.has_faults = has_faults
    waiters = [Waiter() for _ in range(GROUPS)]
    with room.lock:
        for waiter, want in zip(waiters, wants(), strict=True):
            room.client.ask(want, waiter.handle)
    until(lambda: all(waiter.told for waiter in waiters), "an answer for every group")
    assert [waiter.told for waiter in waiters] == [[SequencerAnswered(want, None)] for want in wants()]
    assert len(asked) == 1, "each group waited for a call of its own"
    over.set()
    room.close()
    server.close()


@pytest.mark.parametrize("has_faults", [False, True], ids=["pipelined", "one by one"])
def test_each_group_is_told_its_own_answer(has_faults: bool) -> None:
    sequencer = Sequencer()
    server = pyro.Server(
        "127.0.0.1",
        0,
        {pyro.SEQUENCER: pyro.Endpoint(lambda data: _served(sequencer, data))},
        credentials=pyro.UserSecret(),
    )
    server.start()
    room = Room(server.address)
    room.has_faults = has_faults
    waiters = [Waiter() for _ in range(GROUPS)]
    for place in range(0, GROUPS, 2):  # every second one is known
        sequencer.ask(Open(f"g{place}", "i", 1, 0, {"a#1": 0}))
    with room.lock:
        for waiter, want in zip(waiters, wants(), strict=True):
            room.client.ask(want, waiter.handle)
    until(lambda: all(waiter.told for waiter in waiters), "an answer for every group")
    assert [type(event.answer) for waiter in waiters for event in waiter.told] == [Orders, Unknown] * (GROUPS // 2)
    room.close()
    server.close()


class Kept:
    """Stands in for a reader: keeps the connections, and reads nothing by itself."""

    def __init__(self) -> None:
        self.pipelines: list[pyro.Pipeline] = []

    def add(self, owner: SequencerClient, pipeline: pyro.Pipeline) -> None:
        self.pipelines.append(pipeline)

    def drop(self, pipeline: pyro.Pipeline) -> None: ...

    def await_writable(self, owner: SequencerClient, pipeline: pyro.Pipeline) -> None: ...

    def end_rest(self) -> None: ...

    def close(self) -> None:
        for pipeline in self.pipelines:
            pipeline.release()

    def join(self, timeout_s: float) -> None: ...


@pytest.mark.parametrize("given_up", [False, True], ids=["in time", "given up just before"])
def test_an_answer_that_comes_as_its_connection_is_given_up_is_nobodys(given_up: bool) -> None:
    sequencer = Sequencer()
    serves: dict[str, object] = {pyro.SEQUENCER: pyro.Endpoint(lambda data: _served(sequencer, data))}
    server = pyro.Server("127.0.0.1", 0, serves, credentials=pyro.UserSecret())
    server.start()
    kept = Kept()
    room = Room(server.address, kept)
    first, second = Waiter(), Waiter()
    want, other = wants()[:2]
    with room.lock:
        room.client.ask(want, first.handle)
    until(lambda: len(kept.pipelines) == 1, "a connection")
    assert select.select([kept.pipelines[0]], [], [], LIMIT_S)[0], "no answer came"
    if given_up:
        room.client.give_up()
        with room.lock:
            room.client.ask(other, second.handle)
        until(lambda: len(kept.pipelines) == 2, "another connection")
    room.client.read(kept.pipelines[0])
    assert first.told == [SequencerAnswered(want, None if given_up else Unknown())]
    assert second.told == []
    room.close()
    server.close()


def _served(sequencer: Sequencer, data: bytes) -> bytes:
    return codec.encode_answer(sequencer.ask(codec.decode_request(data)))


def test_a_sequencer_that_is_gone_is_refused_to_all() -> None:
    server = pyro.Server("127.0.0.1", 0, {}, credentials=pyro.UserSecret())
    server.close()
    room = Room(server.address)
    waiter = Waiter()
    with room.lock:
        room.client.ask(wants()[0], waiter.handle)
    until(lambda: bool(waiter.told), "an answer")
    assert waiter.told == [SequencerAnswered(wants()[0], None, refused=True)]
    room.close()
