"""GCom's side of the throughput benchmark: a member of a group."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import gcom
from gcom.bench.frame import JsonRow
from gcom.bench.processes.child import JOIN_S
from gcom.bench.throughput.turn import FloodingMember


class GroupMesh(FloodingMember):
    """A member of a group, and the thread in which its deliveries are judged."""

    def __init__(self, name: str, setup: JsonRow, node: gcom.Node) -> None:
        super().__init__(name, setup)
        self._node = node
        self._group: gcom.Group | None = None

    def open(self, peers: dict[str, str]) -> None:
        definition = self.setup.definition
        self._group = group = self._node.join(definition.group, create=definition, timeout_s=JOIN_S)
        threading.Thread(target=self._receive, args=(group,), name="receives", daemon=True).start()
        group.wait_for_members(len(peers), JOIN_S)

    def _receive(self, group: gcom.Group) -> None:
        deliver = self.judge.deliver
        for event in group.events():
            # `type` and not isinstance: this is the path of every message, and what the judge costs is measured as
            # GCom's.
            if type(event) is gcom.Message:
                deliver(event)
            elif type(event) is gcom.Lost:
                self.judge.lose(event.sender, event.first, event.count)

    def send(self, first: int, payloads: list[bytes]) -> None:
        """Send a chunk; the group numbers messages itself, so `first` goes unused."""
        assert self._group is not None
        self._group.send_many(payloads)

    def flush(self) -> None:
        assert self._group is not None
        self._group.flush(JOIN_S)


@contextmanager
def member(name: str, setup: JsonRow, registry: str, logs: str) -> Iterator[GroupMesh]:
    with gcom.connect(name, registry, log_dir=logs or None) as node:
        yield GroupMesh(name, setup, node)
