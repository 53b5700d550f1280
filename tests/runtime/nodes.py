"""Nodes in one process for the tests of the library: every wait is on a condition and has a limit."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import monotonic
from typing import TypeVar
from weakref import WeakKeyDictionary

import gcom
from gcom.values.names import Address

LIMIT_S = 120.0  # for what takes seconds at most, also where others use the machine
T = TypeVar("T")
_NODES: WeakKeyDictionary[object, gcom.Node] = WeakKeyDictionary()  # by host; those of clusters


def until(condition: Callable[[], bool], what: str = "it", limit_s: float = LIMIT_S) -> None:
    """Wait for what another thread is about to do."""
    deadline, pause = monotonic() + limit_s, threading.Event()
    while not condition():
        assert monotonic() < deadline, f"{what} never happened"
        pause.wait(0.002)


def at_once(works: Sequence[Callable[[], T]]) -> list[T | gcom.GComError]:
    """Run each in a thread of its own, all starting at one instant; what each returned or raised, in order."""
    barrier = threading.Barrier(len(works))
    results: dict[int, T | gcom.GComError] = {}

    def run(index: int, work: Callable[[], T]) -> None:
        barrier.wait(LIMIT_S)
        try:
            results[index] = work()
        except gcom.GComError as error:
            results[index] = error

    threads = [threading.Thread(target=run, args=item, daemon=True) for item in enumerate(works)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LIMIT_S * 2)
    assert len(results) == len(works), "some thread did not end"
    return [results[index] for index in range(len(works))]


def take(group: gcom.Group, count: int) -> list[gcom.Message]:
    """The next `count` messages; other events are passed over."""
    found: list[gcom.Message] = []
    while len(found) < count:
        event = group.receive(LIMIT_S)
        assert event is not None, f"{group.process} received {len(found)} of {count} messages, and then nothing"
        if isinstance(event, gcom.Message):
            found.append(event)
    return found


def next_of(group: gcom.Group, kind: type[T]) -> T:
    """The next event of that kind; others are passed over."""
    while True:
        event = group.receive(LIMIT_S)
        assert event is not None, f"{group.process} saw no {kind.__name__}"
        if isinstance(event, kind):
            return event


def end_of(group: gcom.Group) -> tuple[str, tuple[int, int] | None, bool]:
    """Why its session ended, what it leaves in doubt, and whether it tries to come back."""
    departure = next_of(group, gcom.Departure)
    return departure.reason, departure.unconfirmed, departure.returning


def fill(group: gcom.Group, payload: bytes | str, timeout_s: float = 0.2) -> tuple[int, str]:
    """Send until there is no room for so long: how many went, and what the refusal says."""
    sent = 0
    while True:
        try:
            group.send(payload, timeout_s)
        except gcom.GComTimeout as error:
            return sent, str(error)
        sent += 1


def node_of(group: gcom.Group) -> gcom.Node:
    """The node of a member that a cluster made."""
    return _NODES[group._host]


class Cluster:
    """Nodes at one registry, closed together."""

    def __init__(self, registry: Address, log_dir: Path | None = None) -> None:
        self.registry = registry
        self._log_dir = log_dir
        self._stack = ExitStack()
        self._nodes: list[gcom.Node] = []

    def node(self, name: str) -> gcom.Node:
        node = self._stack.enter_context(gcom.connect(name, self.registry, log_dir=self._log_dir))
        _NODES[node._host] = node
        self._nodes.append(node)
        return node

    def members(
        self,
        *members: str,
        group: str = "news",
        ordering: str = "FIFO",
        multicast: str = "RELIABLE",
        rejoin: bool = True,
    ) -> list[gcom.Group]:
        """A group with these members, in this order of age; each has seen the last view."""
        definition = gcom.Definition.parse(group, ordering, multicast)
        found = [self.node(name).join(group, create=definition, rejoin=rejoin, timeout_s=LIMIT_S) for name in members]
        for member in found:
            member.wait_for_members(len(members), LIMIT_S)
        return found

    def close(self) -> None:
        for node in self._nodes:
            if node._host._faults is not None:
                node.inject("")  # who is still cut off would wait in its `leave` for what nobody says
        self._stack.close()


@contextmanager
def cluster(log_dir: Path | None = None) -> Iterator[Cluster]:
    """A registry in this process, and a cluster at it."""
    with gcom.embedded() as registry:
        found = Cluster(registry.address, log_dir)
        try:
            yield found
        finally:
            found.close()
