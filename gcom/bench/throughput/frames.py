"""`python -m gcom.bench.throughput.frames PLAN...`: the baseline, bare Pyro5 frames without any protocol.

The same payload in the same mesh: frames of CHUNK messages, packed once, one two-way call each to every peer from one
sender thread per peer, an object made and a callback called for each message. GCom's cost is its difference to this.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from functools import partial
from queue import Queue

import msgpack
from Pyro5 import api, config

from gcom.bench.throughput.turn import CALL_S, FrameMessage, Judge, PeerQueues, TurnPlan, deliver_all, run


class _Receiver:
    """The object that peers call."""

    def __init__(self, deliver: Callable[[FrameMessage], None]) -> None:
        self._deliver = deliver

    @api.expose  # type: ignore[untyped-decorator]
    def receive(self, frame: bytes) -> bytes:
        # Packed by the sender, once for all peers: Pyro5's own serializer would pack the list for each call.
        sender, first, payloads = msgpack.unpackb(frame)
        deliver_all(self._deliver, sender, first, payloads)
        # Two-way, as a frame of GCom's is: its sender hears that it was taken in.
        return b""


class BareFrames:
    """A daemon, and a queue, a thread and a proxy per peer."""

    def __init__(self, name: str, deliver: Callable[[FrameMessage], None]) -> None:
        self._name = name
        self._deliver = deliver
        # Loopback and any free port, as GCom's members have it: both sides must take the same way through the kernel.
        self._daemon = api.Daemon(host="127.0.0.1", port=0)
        self.address = str(self._daemon.register(_Receiver(deliver), "frames"))
        self._peers = PeerQueues()
        self.flush = self._peers.flush
        threading.Thread(target=self._daemon.requestLoop, name="daemon", daemon=True).start()

    def open(self, peers: dict[str, str]) -> None:
        for name, address in peers.items():
            if name != self._name:
                self._peers.open(name, partial(_send_all, address))

    def send(self, first: int, payloads: list[bytes]) -> None:
        self._peers.put(msgpack.packb((self._name, first, payloads)))
        deliver_all(self._deliver, self._name, first, payloads)

    def close(self) -> None:
        """Do nothing: the end of the process closes all that it has open."""


def _send_all(address: str, waiting: Queue[bytes]) -> None:
    with api.Proxy(address) as peer:
        peer._pyroTimeout = CALL_S
        while True:
            peer.receive(waiting.get())
            waiting.task_done()  # answered: `flush` waits for that


def main() -> None:
    # Pyro5's defaults are read from the environment; the baseline must be the same on every machine.
    config.reset(use_environment=False)
    config.SERIALIZER = "msgpack"
    # As GCom's connections have it: else the kernel's delay of small packets would be what is measured.
    config.SOCK_NODELAY = True
    plan = TurnPlan.of(sys.argv[1:])
    judge = Judge(plan)
    run(plan, judge, BareFrames(plan.name, judge.deliver))


if __name__ == "__main__":
    main()
