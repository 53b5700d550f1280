"""`python -m gcom.bench.throughput.pysyncobj PLAN...`: a replicated log of PySyncObj, for comparison.

The same payloads as commands of its log, one for each message, with its own batching and no journal; an object made and
a callback called for each at every member, as it is applied. https://github.com/bakwc/PySyncObj (Raft)
"""

from __future__ import annotations

import socket
import sys
import threading
from collections.abc import Callable

from pysyncobj import FAIL_REASON, SyncObj, SyncObjConf, replicated

from gcom.bench.throughput.turn import FrameMessage, Judge, TurnPlan, run
from gcom.errors import GComTimeout, Unavailable

LEADER_S = 30.0  # an election takes one to two seconds
CALL_S = 30.0
WAITING_MAX = 5_000  # a sender's commands that are not applied yet: at a tenth of its queue none is refused


class Log(SyncObj):  # type: ignore[misc] # it has no types
    """A log that hands over what is applied."""

    def __init__(self, own: str, others: list[str], deliver: Callable[[FrameMessage], None]) -> None:
        self._hand_over = deliver
        self.ready = threading.Event()
        # Its snapshots would be of nothing, in a process of its own every few thousand commands.
        never = 2**60
        super().__init__(
            own, others, SyncObjConf(logCompactionMinEntries=never, logCompactionMinTime=never, onReady=self.ready.set)
        )

    @replicated  # type: ignore[untyped-decorator]
    def put(self, sender: str, number: int, payload: bytes) -> None:
        self._hand_over(FrameMessage(sender, number, 0, payload))


class LogMesh:
    """A member of the log."""

    def __init__(self, plan: TurnPlan, deliver: Callable[[FrameMessage], None]) -> None:
        self._name = plan.name
        self._deliver = deliver
        # It binds its port itself, later: this one keeps it from others meanwhile.
        self._holder = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._holder.getsockname()[1]}"
        self._free = threading.Semaphore(WAITING_MAX)
        self._failed = ""

    def open(self, peers: dict[str, str]) -> None:
        self._holder.close()
        others = [address for name, address in peers.items() if name != self._name]
        self._log = Log(self.address, others, self._deliver)
        if not self._log.ready.wait(LEADER_S):
            raise GComTimeout(f"PySyncObj has no leader after {LEADER_S:g} s")

    def send(self, first: int, payloads: list[bytes]) -> None:
        for number, payload in enumerate(payloads, first):
            self._take()
            self._log.put(self._name, number, payload, callback=self._on_applied)

    def _take(self) -> None:
        if not self._free.acquire(timeout=CALL_S):
            raise GComTimeout(f"PySyncObj has applied nothing for {CALL_S:g} s")
        if self._failed:
            raise Unavailable(f"PySyncObj refused a command: {self._failed}")

    def _on_applied(self, _: object, error: int) -> None:
        if error != FAIL_REASON.SUCCESS:
            self._failed = f"reason {error}"
        self._free.release()

    def flush(self) -> None:
        # Each command that is applied frees a place: when all can be had, nothing is under way.
        for _ in range(WAITING_MAX):
            self._take()

    def close(self) -> None:
        """Do nothing: the end of the process closes all that it has open."""


def main() -> None:
    plan = TurnPlan.of(sys.argv[1:])
    judge = Judge(plan)
    run(plan, judge, LogMesh(plan, judge.deliver))


if __name__ == "__main__":
    main()
