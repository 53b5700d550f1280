"""Hostile connections: `python -m gcom.bench.security.attacker COUNT ADDRESS...`.

It has no certificate, and holds so many connections at once: silent ones, halves of a handshake, handshakes that come a
byte at a time, and garbage. One that is ended is dialled again, each at most once per second.
"""

from __future__ import annotations

import selectors
import socket
import ssl
import sys
from contextlib import suppress
from threading import Event, Thread
from time import monotonic

from gcom.bench.processes import child
from gcom.values import names

REDIAL_S = 1.0  # faster, the kernel's queue would be measured, and not the server
STEP_S = 0.02  # between two steps over all connections; longer, and the attack would be gentle
# The head of a TLS record that announces 65,535 bytes, more than a record may have.
GARBAGE = b"\x16\x03\x01\xff\xff" + b"\xaa" * 500
# Each holds another place: a worker that waits for a first byte, one within a handshake, one that every byte seems to
# keep alive, and the parser.
KINDS = ("silent", "half", "trickle", "garbage")


def client_hello() -> bytes:
    """Return the first bytes of a TLS handshake."""
    received, sent = ssl.MemoryBIO(), ssl.MemoryBIO()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    # It dials by address, and verifies nobody: it only wants the first flight of bytes.
    context.check_hostname = False
    with suppress(ssl.SSLWantReadError):
        # A real one, made without a connection: a server must not be able to tell it from a friend's.
        context.wrap_bio(received, sent).do_handshake()
    return sent.read()


class HostileConnection:
    """One hostile connection, dialled anew each time that the server ends it."""

    def __init__(self, kind: str, address: str, hello: bytes) -> None:
        self._kind = kind
        self._place = names.split_address(address)
        self._hello = hello
        self._at = 0
        self.sock: socket.socket | None = None
        self.due = 0.0  # when it may dial again
        self._next_byte = 0.0

    def dial(self, now: float) -> socket.socket | None:
        """Dial without waiting; return the socket, or None if that failed at once."""
        self.due, self._at = now + REDIAL_S, 0
        sock = socket.socket()
        # One thread holds a thousand connections: none may be waited for.
        sock.setblocking(False)
        with suppress(BlockingIOError):
            try:
                sock.connect(self._place)
            except OSError as error:
                if not isinstance(error, BlockingIOError):
                    sock.close()
                    return None
        self.sock = sock
        return sock

    def speak(self, now: float) -> None:
        """Send the next bytes of this kind of attack; raises OSError where the server has ended the connection."""
        assert self.sock is not None
        said = {"garbage": GARBAGE, "half": self._hello[: len(self._hello) // 2], "silent": b""}.get(self._kind)
        with suppress(BlockingIOError):
            if said is None and now >= self._next_byte:
                # A byte per second: a limit that begins anew with each byte would let it hold a worker for ever.
                self._at += self.sock.send(self._hello[self._at : self._at + 1])
                self._next_byte = now + REDIAL_S
            elif said and self._at == 0:
                self._at += self.sock.send(said)

    def end(self) -> None:
        if self.sock is not None:
            self.sock.close()
            self.sock = None


class Attack:
    """All connections, driven by one thread while the attack is on."""

    def __init__(self, count: int, addresses: list[str]) -> None:
        hello = client_hello()
        # Each kind at each address: first round the kinds, then on to the next address.
        self._all = [
            HostileConnection(KINDS[number % len(KINDS)], addresses[number // len(KINDS) % len(addresses)], hello)
            for number in range(count)
        ]
        self._on = Event()
        self.dialled = self.ended = self.most = 0
        Thread(target=self._run, name="attacks", daemon=True).start()

    def switch(self, on: bool) -> None:
        """Begin to attack, or end all connections."""
        (self._on.set if on else self._on.clear)()

    @property
    def open(self) -> int:
        return sum(1 for it in self._all if it.sock is not None)

    def _run(self) -> None:
        with selectors.DefaultSelector() as selector:
            while True:
                if not self._on.is_set():
                    self._stop(selector)
                    self._on.wait()
                self._step(selector)
                self.most = max(self.most, self.open)

    def _step(self, selector: selectors.BaseSelector) -> None:
        # A little for each connection at each step, and nothing that waits: so one thread holds a thousand of them.
        now = monotonic()
        for it in self._all:
            if it.due <= now and it.sock is None:
                sock = it.dial(now)
                self.dialled += 1
                if sock is not None:
                    selector.register(sock, selectors.EVENT_READ, it)
            elif it.sock is not None:
                self._speak(it, now, selector)
        for key, _ in selector.select(STEP_S):
            self._hear(key.data, selector)

    def _speak(self, it: HostileConnection, now: float, selector: selectors.BaseSelector) -> None:
        try:
            it.speak(now)
        except OSError:
            self._end(it, selector)

    def _hear(self, it: HostileConnection, selector: selectors.BaseSelector) -> None:
        assert it.sock is not None
        try:
            # An answer is no end: a server that speaks still holds a place for this connection.
            if it.sock.recv(4096):
                return
        except BlockingIOError:
            return
        except OSError:
            pass
        self._end(it, selector)

    def _end(self, it: HostileConnection, selector: selectors.BaseSelector) -> None:
        if it.sock is not None:
            selector.unregister(it.sock)
            it.end()
            self.ended += 1

    def _stop(self, selector: selectors.BaseSelector) -> None:
        for it in self._all:
            if it.sock is not None:
                selector.unregister(it.sock)
                it.end()


def main() -> None:
    """Attack while told to, until standard input ends."""
    attack = Attack(int(sys.argv[1]), sys.argv[2:])
    child.say("ready")
    while (order := child.heard()) is not None:
        attack.switch(order["on"])
        child.say("switched", dialled=attack.dialled, ended=attack.ended, most=attack.most)
    child.end()


if __name__ == "__main__":
    main()
