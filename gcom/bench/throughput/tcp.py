"""The baseline: raw TCP without any call.

The same payload in the same mesh: chunks behind a fixed header, written one way to every peer by one thread per peer,
cut into messages of one size, an object made and a callback called for each. What TCP in Python can carry at most.
"""

from __future__ import annotations

import socket
import struct
import threading
from queue import Queue

from gcom.bench.frame import JsonRow
from gcom.bench.throughput.turn import CALL_S, QueueingMember, deliver_all

_HEADER = struct.Struct("!HQI")  # the sender's place, the first number, how many messages


# No checks and no answers, on purpose: whatever is added here would make the others look better beside it.
class TcpMesh(QueueingMember):
    """A listener, a thread for each connection that came, and a queue and a thread for each peer."""

    def __init__(self, name: str, setup: JsonRow) -> None:
        super().__init__(name, setup)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = str(self._listener.getsockname()[1])
        threading.Thread(target=self._accept, name="accepts", daemon=True).start()

    def _accept(self) -> None:
        while True:
            sock, _ = self._listener.accept()
            threading.Thread(target=self._receive, args=(sock,), name="receives", daemon=True).start()

    def _receive(self, sock: socket.socket) -> None:
        size = self.setup.size
        # Many chunks for one call of the kernel: a call for each header would be the slowest part.
        with sock.makefile("rb", buffering=256 * 1024) as stream:
            while len(header := stream.read(_HEADER.size)) == _HEADER.size:
                place, first, messages = _HEADER.unpack(header)
                body = stream.read(messages * size)
                payloads = [body[at : at + size] for at in range(0, len(body), size)]
                deliver_all(self.judge.deliver, self.setup.names[place], first, payloads)

    def send(self, first: int, payloads: list[bytes]) -> None:
        self.put(_HEADER.pack(self.place, first, len(payloads)) + b"".join(payloads), first, payloads)

    # Written, not received: what is still under way the judges at the other ends wait for.
    def send_all(self, address: str, waiting: Queue[bytes]) -> None:
        sock = socket.create_connection(("127.0.0.1", int(address)), CALL_S)
        # As the other sides have it: the kernel's delay of small writes is no property of a protocol.
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while True:
            sock.sendall(waiting.get())
            waiting.task_done()
