"""`python -m gcom.bench.throughput.tcp PLAN...`: the baseline, raw TCP without any call.

The same payload in the same mesh: chunks behind a fixed header, written one way to every peer by one thread per peer,
cut into messages of one size, an object made and a callback called for each. What TCP in Python can carry at most.
"""

from __future__ import annotations

import socket
import struct
import sys
import threading
from collections.abc import Callable
from functools import partial
from queue import Queue

from gcom.bench.throughput.turn import CALL_S, FrameMessage, Judge, PeerQueues, TurnPlan, deliver_all, run

_HEADER = struct.Struct("!HQI")  # the sender's place, the first number, how many messages

DeliverCallback = Callable[[FrameMessage], None]


# No checks and no answers, on purpose: whatever is added here would make the others look better beside it.
class TcpMesh:
    """A listener, a thread for each connection that came, and a queue and a thread for each peer."""

    def __init__(self, plan: TurnPlan, deliver: DeliverCallback) -> None:
        self._plan = plan
        self._deliver = deliver
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = str(self._listener.getsockname()[1])
        self._peers = PeerQueues()
        # Written, not received: what is still under way the judges at the other ends wait for.
        self.flush = self._peers.flush
        threading.Thread(target=self._accept, name="accepts", daemon=True).start()

    def _accept(self) -> None:
        while True:
            sock, _ = self._listener.accept()
            threading.Thread(target=self._receive, args=(sock,), name="receives", daemon=True).start()

    def _receive(self, sock: socket.socket) -> None:
        size = self._plan.size
        # Many chunks for one call of the kernel: a call for each header would be the slowest part.
        with sock.makefile("rb", buffering=256 * 1024) as stream:
            while len(header := stream.read(_HEADER.size)) == _HEADER.size:
                place, first, messages = _HEADER.unpack(header)
                body = stream.read(messages * size)
                payloads = [body[at : at + size] for at in range(0, len(body), size)]
                deliver_all(self._deliver, f"m{place}", first, payloads)

    def open(self, peers: dict[str, str]) -> None:
        for name, port in peers.items():
            if name != self._plan.name:
                sock = socket.create_connection(("127.0.0.1", int(port)), CALL_S)
                # As the other sides have it: the kernel's delay of small writes is no property of a protocol.
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._peers.open(name, partial(_send_all, sock))

    def send(self, first: int, payloads: list[bytes]) -> None:
        self._peers.put(_HEADER.pack(self._plan.place, first, len(payloads)) + b"".join(payloads))
        deliver_all(self._deliver, self._plan.name, first, payloads)

    def close(self) -> None:
        """Do nothing: the end of the process closes all that it has open."""


def _send_all(sock: socket.socket, waiting: Queue[bytes]) -> None:
    while True:
        sock.sendall(waiting.get())
        waiting.task_done()


def main() -> None:
    plan = TurnPlan.of(sys.argv[1:])
    judge = Judge(plan)
    run(plan, judge, TcpMesh(plan, judge.deliver))


if __name__ == "__main__":
    main()
