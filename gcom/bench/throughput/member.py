"""GCom's side of the benchmark: `python -m gcom.bench.throughput.member REGISTRY GROUP ORDERING ... PLAN...`."""

from __future__ import annotations

import sys
import threading

import gcom
from gcom.bench.benchmark import parse
from gcom.bench.throughput.turn import Judge, TurnPlan, run

JOIN_S = 30.0  # a limit for what hangs, not a figure


class GroupMesh:
    """A member of a group, and the thread in which its deliveries are judged."""

    address = ""

    def __init__(self, name: str, registry: str, definition: gcom.Definition, logs: str, judge: Judge) -> None:
        self._definition = definition
        self._judge = judge
        self._node = gcom.connect(name, registry, log_dir=logs or None)
        self._group: gcom.Group | None = None

    def open(self, peers: dict[str, str]) -> None:
        group = self._node.join(self._definition.group, create=self._definition, timeout_s=JOIN_S)
        self._group = group
        threading.Thread(target=self._receive, args=(group,), name="receives", daemon=True).start()
        group.wait_for_members(len(peers), JOIN_S)

    def _receive(self, group: gcom.Group) -> None:
        deliver = self._judge.deliver
        for event in group.events():
            # `type` and not isinstance: this is the path of every message, and what the judge costs is measured as
            # GCom's.
            if type(event) is gcom.Message:
                deliver(event)
            elif type(event) is gcom.Lost:
                self._judge.lose(event.sender, event.first, event.count)

    def send(self, first: int, payloads: list[bytes]) -> None:
        """Send a chunk; the group numbers messages itself, so `first` goes unused."""
        assert self._group is not None
        self._group.send_many(payloads)

    def flush(self) -> None:
        assert self._group is not None
        self._group.flush(JOIN_S)

    def close(self) -> None:
        self._node.close()


def main() -> None:
    registry, definition, (logs, *words) = parse(sys.argv[1:])
    plan = TurnPlan.of(words)
    judge = Judge(plan)
    run(plan, judge, GroupMesh(plan.name, registry, definition, logs, judge))


if __name__ == "__main__":
    main()
