"""`python -m gcom.bench.replicated.raft OWN OTHER...`: a replica of PySyncObj's log, which measures when told."""

from __future__ import annotations

import sys
from statistics import median
from threading import Event, Semaphore
from time import perf_counter

from pysyncobj import SyncObj, SyncObjConf, replicated

from gcom.bench.processes import child

SIZE = 100
UNDER_WAY = 64
LEADER_S = 30.0


class RaftTable(SyncObj):  # type: ignore[misc] # it has no types
    """The last value of each key."""

    def __init__(self, own: str, others: list[str]) -> None:
        self.ready = Event()
        self.values: dict[int, bytes] = {}
        never = 2**60  # its snapshots would be in a process of their own, every few thousand commands
        super().__init__(
            own, others, SyncObjConf(logCompactionMinEntries=never, logCompactionMinTime=never, onReady=self.ready.set)
        )

    @replicated  # type: ignore[untyped-decorator]
    def put(self, key: int, value: bytes) -> int:
        """Set a value; return how many keys there are."""
        self.values[key] = value
        return len(self.values)


def main() -> None:
    """Measure once told, and serve until released."""
    own, *others = sys.argv[1:]
    table = RaftTable(own, others)
    if not table.ready.wait(LEADER_S):
        raise TimeoutError(f"PySyncObj has no leader after {LEADER_S:g} s")
    child.say("ready")
    while (order := child.heard()) is not None:
        child.say("measured", **_measured(table, int(order["commands"])))
    child.end()


def _measured(table: RaftTable, commands: int) -> dict[str, float]:
    value, times = bytes(SIZE), list[float]()
    for _ in range(max(10, commands // 100)):  # one takes about as long as its clock's tick of 50 ms
        began = perf_counter()
        table.put(1, value, sync=True)
        times.append(perf_counter() - began)
    free = Semaphore(UNDER_WAY)
    began = perf_counter()
    for number in range(commands):
        free.acquire(timeout=LEADER_S)
        table.put(number % 1_000, value, callback=lambda *_: free.release())
    for _ in range(UNDER_WAY):
        free.acquire(timeout=LEADER_S)
    return {"single_ms": median(times) * 1000, "many_per_s": commands / (perf_counter() - began)}


if __name__ == "__main__":
    main()
