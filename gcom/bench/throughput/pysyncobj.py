"""A replicated log of PySyncObj, for comparison: beside floods of a group, and beside a replicated state.

Each message is a command of its log, with its own batching and no journal. https://github.com/bakwc/PySyncObj (Raft)
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from statistics import median

from pysyncobj import FAIL_REASON, SyncObj, SyncObjConf, replicated

from gcom.bench.frame import JsonRow, rate, times_ms
from gcom.bench.throughput.turn import FloodingMember, FrameMessage
from gcom.errors import GComTimeout, Unavailable

LEADER_S = 30.0  # an election takes one to two seconds
CALL_S = 30.0
WAITING_MAX = 5_000  # a sender's commands that are not applied yet: at a tenth of its queue none is refused


class Log(SyncObj):  # type: ignore[misc] # it has no types
    """A log that hands over what is applied, with `under_way` commands of this member at most."""

    def __init__(
        self, own: str, others: list[str], deliver: Callable[[FrameMessage], None], under_way: int = WAITING_MAX
    ) -> None:
        self._hand_over = deliver
        self._under_way = under_way
        self._free = threading.Semaphore(under_way)
        self._failed = ""
        ready = threading.Event()
        # Its snapshots would be of nothing, in a process of its own every few thousand commands.
        never = 2**60
        super().__init__(
            own, others, SyncObjConf(logCompactionMinEntries=never, logCompactionMinTime=never, onReady=ready.set)
        )
        if not ready.wait(LEADER_S):
            raise GComTimeout(f"PySyncObj has no leader after {LEADER_S:g} s")

    @replicated  # type: ignore[untyped-decorator]
    def put(self, sender: str, number: int, payload: bytes) -> None:
        self._hand_over(FrameMessage(sender, number, 0, payload))

    def submit(self, sender: str, number: int, payload: bytes) -> None:
        """Put a command under way; blocks while too many are."""
        self._take()
        self.put(sender, number, payload, callback=self._on_applied)

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
        """Return when nothing is under way."""
        for _ in range(self._under_way):
            self._take()
        self._free.release(self._under_way)


class LogMesh(FloodingMember):
    """A member of the log."""

    def __init__(self, name: str, setup: JsonRow) -> None:
        super().__init__(name, setup)
        # The log binds its port itself, later: this one keeps it from others meanwhile.
        self._holder = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._holder.getsockname()[1]}"

    def open(self, peers: dict[str, str]) -> None:
        self._holder.close()
        others = [address for name, address in peers.items() if name != self.name]
        self._log = Log(self.address, others, self.judge.deliver)

    def send(self, first: int, payloads: list[bytes]) -> None:
        for number, payload in enumerate(payloads, first):
            self._log.submit(self.name, number, payload)

    def flush(self) -> None:
        self._log.flush()


class MeasuredLog:
    """A replica of a table, which measures commands of `size` bytes when told."""

    def __init__(self, own: str, others: list[str], under_way: int) -> None:
        self._values: dict[int, bytes] = {}
        self._log = Log(own, others, self._apply, under_way)

    def _apply(self, message: FrameMessage) -> None:
        self._values[message.number] = message.payload

    def measure(self, commands: int, size: int) -> JsonRow:
        value, numbers = bytes(size), iter(range(commands))
        # One takes about as long as its clock's tick of 50 ms.
        single_ms = times_ms(max(10, commands // 100), lambda: self._log.put("", 1, value, sync=True))

        def put_all() -> None:
            for number in numbers:
                self._log.submit("", number % 1_000, value)
            self._log.flush()

        return {"single_ms": median(single_ms), "many_per_s": rate(1, put_all, commands)}
