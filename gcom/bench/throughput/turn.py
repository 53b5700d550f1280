"""A turn of the benchmark inside one member process; GCom and its baselines differ in how they send.

The parent orders a member to open, flood and judge all. The member says how many messages it sent, hears how many the
others sent, and waits for all of these, so that a loss at the very end shows too.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from itertools import repeat
from queue import Queue
from time import monotonic, monotonic_ns
from typing import NamedTuple, Protocol

from gcom.bench.frame import JsonRow
from gcom.bench.processes import child, usage
from gcom.bench.settings import ThroughputSetup
from gcom.bench.throughput.load import CHUNK, Pool, Sequence, StreamJudge

EXTRA_S = 0.2  # listening on, for messages that should not come
FRAMES_WAITING_MAX = 8  # for each peer of a baseline; at this bound the producer waits for the slowest
CALL_S = 30.0  # a limit for what hangs, not a figure


class DeliveredMessage(Protocol):
    """A delivered message, as the callback sees it."""

    @property
    def sender(self) -> str: ...
    @property
    def number(self) -> int: ...
    @property
    def payload(self) -> bytes | str: ...


class FrameMessage(NamedTuple):
    """The object that bare frames make of each payload, like the one that GCom's callback gets."""

    sender: str
    number: int
    view: int
    payload: bytes


def deliver_all(deliver: Callable[[FrameMessage], None], sender: str, first: int, payloads: list[bytes]) -> None:
    """Make an object and a call per message; objects are made the cheapest way, so that a baseline is a fair one."""
    numbers = range(first, first + len(payloads))
    for message in map(FrameMessage._make, zip(repeat(sender), numbers, repeat(0), payloads, strict=False)):
        deliver(message)


class FloodingMember(ABC):
    """A member with a way to send to all, itself too. `open`, `flood` and `judge_all` are the parent's orders."""

    address = ""  # for the others; empty if they find this member by themselves

    def __init__(self, name: str, setup: JsonRow) -> None:
        self.name, self.setup = name, ThroughputSetup(**setup)
        self.place = self.setup.names.index(name)
        self.judge = Judge(self.setup)
        self._began_ns, self._began_cpu_s = 0, 0.0

    @abstractmethod
    def open(self, peers: dict[str, str]) -> None:
        """Connect to all of `peers`, a name and an address each, this member among them."""

    @abstractmethod
    def send(self, first: int, payloads: list[bytes]) -> None:
        """Send messages `first` and on; blocks when the others cannot keep up."""

    @abstractmethod
    def flush(self) -> None:
        """Return when all that was sent has left."""

    def flood(self, seconds: float) -> JsonRow:
        """Send for so long, if this member is a sender; return how many messages went."""
        # Not before this order: joining, and the imports before it, are not what is measured.
        self._began_ns, self._began_cpu_s = monotonic_ns(), usage.cpu_s()
        if self.place >= self.setup.senders:
            return {"count": 0}
        pool = Pool(self.place, self.setup.size)
        deadline = monotonic() + seconds
        first = 1
        while monotonic() < deadline:
            self.send(first, pool.chunk(first))
            first += CHUNK
        # One more than whole chunks: `first` begins a chunk, so a stamp is what the judge expects there.
        self.send(first, [pool.stamped(first)])  # tells each receiver when it had everything
        self.flush()
        return {"count": first}

    def judge_all(self, counts: dict[str, int]) -> JsonRow:
        """Wait for all that was sent, by sender; return what came of it."""
        self.judge.wait_for(sum(counts.values()))
        return _result(self.judge, counts, self._began_ns, usage.cpu_s() - self._began_cpu_s)


class QueueingMember(FloodingMember):
    """A member with a queue of frames per peer, and a thread that sends them."""

    def __init__(self, name: str, setup: JsonRow) -> None:
        super().__init__(name, setup)
        self._queues: list[Queue[bytes]] = []

    def open(self, peers: dict[str, str]) -> None:
        for peer, address in peers.items():
            if peer != self.name:
                waiting: Queue[bytes] = Queue(FRAMES_WAITING_MAX)
                self._queues.append(waiting)
                threading.Thread(target=self.send_all, args=(address, waiting), name=f"to {peer}", daemon=True).start()

    @abstractmethod
    def send_all(self, address: str, waiting: Queue[bytes]) -> None:
        """Send all frames to one peer, without end, and call `task_done` for each."""

    def put(self, frame: bytes, first: int, payloads: list[bytes]) -> None:
        """Queue a frame for every peer, and deliver its messages here."""
        for waiting in self._queues:
            # The bound holds the producer back, as GCom's window does: without it the baseline would
            # measure its own memory.
            waiting.put(frame, timeout=CALL_S)
        deliver_all(self.judge.deliver, self.name, first, payloads)

    def flush(self) -> None:
        for waiting in self._queues:
            waiting.join()


class _Takers(dict[str, Callable[[int, bytes | str], None]]):
    """The callables that take messages, by sending process, found by its name at its first message."""

    def __init__(self, tallies: dict[str, StreamJudge]) -> None:
        super().__init__()
        self._tallies = tallies

    def __missing__(self, process: str) -> Callable[[int, bytes | str], None]:
        # Found by one look-up from the second message on: the judge must cost less than what it judges.
        self[process] = taker = self._tallies[process.partition("#")[0]].take
        return taker


class Judge:
    """The judge of every delivery of this member. `deliver` is the callback."""

    def __init__(self, setup: ThroughputSetup) -> None:
        self.sequence = Sequence()
        # In TOTAL all come in one order, but not each sender's in its own: that is FIFO's promise, and CAUSAL's.
        ordered = setup.definition.ordering.is_fifo
        senders = enumerate(setup.names[: setup.senders])
        # By name and not by process: incarnations are not known before the turn begins.
        self.tallies = {name: StreamJudge(i, setup.size, ordered, self.sequence) for i, name in senders}
        self._takers = _Takers(self.tallies)

    def deliver(self, message: DeliveredMessage) -> None:
        self._takers[message.sender](message.number, message.payload)

    def lose(self, process: str, first: int, count: int) -> None:
        self.tallies[process.partition("#")[0]].lose(first, count)

    @property
    def count(self) -> int:
        """Return the number of messages delivered or given up."""
        return sum(tally.count for tally in self.tallies.values())

    def wait_for(self, count: int) -> None:
        """Wait until that many were delivered, or nothing more comes."""
        child.wait_for_deliveries(lambda: self.count, count)
        # What comes after all have come was delivered twice, or made up: it must have its time to show.
        threading.Event().wait(EXTRA_S)

    def wrong(self, expected: dict[str, int]) -> list[str]:
        """Return everything that was not right, in words."""
        found = [f"{name}: {what}" for name, tally in self.tallies.items() for what in tally.wrong]
        for name, count in expected.items():
            if self.tallies[name].count != count:
                found.append(f"{name}: {self.tallies[name].count} delivered of {count} sent")
        return found


def _result(judge: Judge, expected: dict[str, int], began_ns: int, cpu_s: float) -> JsonRow:
    # Until the last stamped delivery, which is the last message of all: what follows is waiting.
    last_ns = max(tally.last_ns for tally in judge.tallies.values())
    seconds = max(1e-9, (last_ns - began_ns) / 1e9)
    latencies = sorted(value for tally in judge.tallies.values() for value in tally.latencies_ns)
    lost = sum(tally.lost for tally in judge.tallies.values())
    return {
        "lost": lost,
        "rate": (judge.count - lost) / seconds,
        # 4,000 at most, evenly from the sorted list: the percentiles stay, and the report is a line of some kilobytes.
        "latencies_ns": latencies[:: max(1, len(latencies) // 2000)],
        "cpu_s": cpu_s,
        "peak_bytes": usage.peak_bytes(),
        "wrong": judge.wrong(expected),
        "sequence": judge.sequence.digest,
    }
