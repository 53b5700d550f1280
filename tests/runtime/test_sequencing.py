"""A host's one connection to the registry's sequencer, where many groups wait for it."""

from __future__ import annotations

import threading

from gcom.core.messages.events import Event, SequencerAnswered
from gcom.core.messages.sequencer import Want
from gcom.runtime import pyro
from gcom.runtime.registry.sequencer_client import SequencerClient
from tests.runtime.nodes import LIMIT_S, until

GROUPS = 12


class Waiter:
    """Stands in for a session: keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[Event] = []

    def handle(self, event: Event) -> None:
        self.told.append(event)


def test_one_silent_call_is_the_answer_to_all_who_wait_behind_it() -> None:
    asked: list[bytes] = []
    over = threading.Event()

    def silent(data: bytes) -> bytes:
        asked.append(data)
        over.wait(LIMIT_S)
        return b""

    server = pyro.Server("127.0.0.1", 0, {pyro.SEQUENCER: pyro.Endpoint(silent)}, credentials=pyro.UserSecret())
    server.start()
    client = SequencerClient(server.address, credentials=pyro.UserSecret())
    waiters = [Waiter() for _ in range(GROUPS)]
    wants = [Want(f"g{place}", "i", 1, "a#1", 1, 0, 0) for place in range(GROUPS)]
    for waiter, want in zip(waiters, wants, strict=True):
        client.ask(want, waiter.handle)
    thread = threading.Thread(target=client.serve, daemon=True)
    thread.start()
    until(lambda: all(waiter.told for waiter in waiters), "an answer for every group")
    over.set()
    client.close()
    thread.join(LIMIT_S)
    server.close()
    assert [waiter.told for waiter in waiters] == [[SequencerAnswered(want, None)] for want in wants]
    assert len(asked) == 1, "each group waited for a call of its own"
