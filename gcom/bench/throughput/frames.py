"""The baseline: bare Pyro5 frames without any protocol.

The same payload in the same mesh: frames of CHUNK messages, packed once, one two-way call each to every peer from one
sender thread per peer, an object made and a callback called for each message. GCom's cost is its difference to this.
"""

from __future__ import annotations

import threading
from queue import Queue

import msgpack
from Pyro5 import api, config

from gcom.bench.frame import JsonRow
from gcom.bench.throughput.turn import CALL_S, Judge, QueueingMember, deliver_all


class _Receiver:
    """The object that peers call."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge

    @api.expose  # type: ignore[untyped-decorator]
    def receive(self, frame: bytes) -> bytes:
        # Packed by the sender, once for all peers: Pyro5's own serializer would pack the list for each call.
        sender, first, payloads = msgpack.unpackb(frame)
        deliver_all(self._judge.deliver, sender, first, payloads)
        # Two-way, as a frame of GCom's is: its sender hears that it was taken in.
        return b""


class BareFrames(QueueingMember):
    """A daemon, and a queue, a thread and a proxy per peer."""

    def __init__(self, name: str, setup: JsonRow) -> None:
        super().__init__(name, setup)
        daemon = bare_daemon()
        self.address = str(daemon.register(_Receiver(self.judge), "frames"))
        threading.Thread(target=daemon.requestLoop, name="daemon", daemon=True).start()

    def send(self, first: int, payloads: list[bytes]) -> None:
        self.put(msgpack.packb((self.name, first, payloads)), first, payloads)

    def send_all(self, address: str, waiting: Queue[bytes]) -> None:
        with api.Proxy(address) as peer:
            peer._pyroTimeout = CALL_S
            while True:
                peer.receive(waiting.get())
                waiting.task_done()  # answered: `flush` waits for that


def bare_daemon() -> api.Daemon:
    """Return a daemon of Pyro5 on loopback and any free port, as GCom's members have it."""
    configure()
    return api.Daemon(host="127.0.0.1", port=0)


def configure() -> None:
    """Set what Pyro5 takes from its environment: the baseline is the same one everywhere."""
    config.reset(use_environment=False)
    config.SERIALIZER = "msgpack"
    # As GCom's connections have it: else the kernel's delay of small packets would be what is measured.
    config.SOCK_NODELAY = True
