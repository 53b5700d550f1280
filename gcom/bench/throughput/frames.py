"""`python -m gcom.bench.throughput.frames PLAN...`: the baseline, bare Pyro5 frames without any protocol.

The same payload in the same mesh: frames of CHUNK messages, packed once, one two-way call each to every peer from one
sender thread per peer, an object made and a callback called for each message. GCom's cost is its difference to this.
"""

from __future__ import annotations

import queue
import sys
import threading
from collections.abc import Callable
from itertools import count, repeat

import msgpack
from Pyro5 import api, config

from gcom.bench.throughput.turn import FrameMessage, Judge, TurnPlan, run

FRAMES_WAITING_MAX = 8  # for each peer; at this bound the producer waits for the slowest
CALL_S = 30.0  # a limit for what hangs, not a figure


class _Receiver:
    """The object that peers call."""

    def __init__(self, deliver: Callable[[FrameMessage], None]) -> None:
        self._deliver = deliver

    @api.expose  # type: ignore[untyped-decorator]
    def receive(self, frame: bytes) -> bytes:
        # Packed by the sender, once for all peers: Pyro5's own serializer would pack the list for each call.
        sender, first, payloads = msgpack.unpackb(frame)
        _deliver_all(self._deliver, sender, first, payloads)
        # Two-way, as a frame of GCom's is: its sender hears that it was taken in.
        return b""


class FrameMesh:
    """A daemon, and a queue, a thread and a proxy per peer."""

    def __init__(self, name: str, deliver: Callable[[FrameMessage], None]) -> None:
        self._name = name
        self._deliver = deliver
        self._daemon = api.Daemon(host="127.0.0.1", port=0)
        self.address = str(self._daemon.register(_Receiver(deliver), "frames"))
        self._queues: list[queue.Queue[bytes]] = []
        threading.Thread(target=self._daemon.requestLoop, name="daemon", daemon=True).start()

    def open(self, peers: dict[str, str]) -> None:
        for name, address in peers.items():
            if name != self._name:
                waiting: queue.Queue[bytes] = queue.Queue(FRAMES_WAITING_MAX)
                self._queues.append(waiting)
                threading.Thread(target=_send_all, args=(address, waiting), name=f"to {name}", daemon=True).start()

    def send(self, first: int, payloads: list[bytes]) -> None:
        frame = msgpack.packb((self._name, first, payloads))
        for waiting in self._queues:
            # The bound holds the producer back, as GCom's window does: without it the baseline would
            # measure its own memory.
            waiting.put(frame, timeout=CALL_S)
        _deliver_all(self._deliver, self._name, first, payloads)

    def flush(self) -> None:
        for waiting in self._queues:
            waiting.join()

    def close(self) -> None:
        """Do nothing: the end of the process closes all that it has open."""


def _deliver_all(deliver: Callable[[FrameMessage], None], sender: str, first: int, payloads: list[bytes]) -> None:
    """Make an object and a call per message; objects are made the cheapest way, so that the baseline is a fair one."""
    for message in map(FrameMessage._make, zip(repeat(sender), count(first), repeat(0), payloads, strict=False)):
        deliver(message)


def _send_all(address: str, waiting: queue.Queue[bytes]) -> None:
    with api.Proxy(address) as peer:
        peer._pyroTimeout = CALL_S
        while True:
            peer.receive(waiting.get())
            waiting.task_done()  # answered: `flush` waits for that


def main() -> None:
    """Take one turn."""
    # Pyro5's defaults are read from the environment; the baseline must be the same on every machine.
    config.reset(use_environment=False)
    config.SERIALIZER = "msgpack"
    # As GCom's connections have it: else the kernel's delay of small packets would be what is measured.
    config.SOCK_NODELAY = True
    plan = TurnPlan.of(sys.argv[1:])
    judge = Judge(plan)
    run(plan, judge, FrameMesh(plan.name, judge.deliver))


if __name__ == "__main__":
    main()
