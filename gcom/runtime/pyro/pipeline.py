"""Several calls under way on one connection, none of which waits for another's answer.

A worker of Pyro5's serves a connection in order, so calls can be put one behind the other, and answers come in the
order of the calls. Neither side of this ever waits: what the socket does not take is kept, and written later.
"""

from __future__ import annotations

from collections import deque
from itertools import islice
from threading import Lock

from Pyro5 import protocol

from gcom.errors import PeerError
from gcom.runtime.pyro import tls, wire
from gcom.runtime.pyro.caller import ConnectionLost, answer_of
from gcom.values.run import Encoded

BUFFERS_MAX = 16  # in one call of the kernel, which takes some hundred
LARGE_BYTES = 4096  # a smaller call is written from one buffer
READ_BYTES = 64 * 1024  # a full load in four reads, and no more memory per connection than that


class Pipeline:
    """A connection after its handshake. `put` and `flush` in any thread, `answers` in one."""

    def __init__(self, sock: tls.PeerSocket, object_id: str) -> None:
        self._sock = sock
        if not isinstance(sock, tls.SecureSocket):  # its own never blocks
            sock.setblocking(False)
        self._call = wire.frame_call(object_id)
        self._lock = Lock()
        self._unwritten: deque[memoryview] = deque()  # what the socket did not take
        self._put = 0
        self._answered = 0
        self._received = bytearray()
        self._ended = False

    @property
    def connection(self) -> tls.PeerSocket:
        return self._sock

    def fileno(self) -> int:
        return self._sock.fileno()

    def put(self, *data: Encoded, follows: bool = False) -> bool:
        """Call with `data`, behind the calls before; tell whether the socket has it all: else `flush` later.

        Its parts are written as they are, not copied into one; `follows`: with the call that is put next. Where the
        connection has broken, `answers` says so.
        """
        size = sum(map(len, data))
        call = self._call + size.to_bytes(4)
        body_bytes = len(call) + size + len(wire.FRAME_CALL_END)
        with self._lock:
            # Number and bytes under one lock: a call that overtakes another would be answered as that one.
            self._put = (self._put + 1) & 0xFFFF
            head = wire.header(protocol.MSG_INVOKE, 0, self._put, body_bytes)
            self._append((head, call, *data, wire.FRAME_CALL_END), joined=size < LARGE_BYTES)
            return follows or self._flush()

    def _append(self, parts: tuple[Encoded, ...], joined: bool) -> None:
        try:
            if isinstance(self._sock, tls.SecureSocket):
                parts = (self._sock.seal(b"".join(parts)),)
            elif joined:
                parts = (b"".join(parts),)
        except OSError:  # of TLS: the reader has found the end a moment ago, and OpenSSL encrypts no more
            self._break()
        else:
            self._unwritten += map(memoryview, parts)

    def flush(self) -> bool:
        """Write what is left; tell whether the socket has it all."""
        with self._lock:
            return self._flush()

    def _flush(self) -> bool:
        try:
            while self._unwritten:
                count = self._send()
                while self._unwritten and count >= len(self._unwritten[0]):
                    count -= len(self._unwritten.popleft())
                if count:
                    self._unwritten[0] = self._unwritten[0][count:]
        except BlockingIOError:
            return False
        except OSError:
            self._break()
        return True

    def _break(self) -> None:
        """End the connection, of which whoever reads finds the end: who writes may be a thread of the application."""
        wire.shut(self._sock)
        self._unwritten.clear()

    def _send(self) -> int:
        if isinstance(self._sock, tls.SecureSocket):
            return self._sock.send_sealed(self._unwritten[0])
        if len(self._unwritten) == 1:
            return self._sock.send(self._unwritten[0])
        return self._sock.sendmsg(islice(self._unwritten, BUFFERS_MAX))

    def _recv(self) -> bytes:
        sock = self._sock
        return sock.recv_now(READ_BYTES) if isinstance(sock, tls.SecureSocket) else sock.recv(READ_BYTES)

    def answers(self) -> list[bytes]:
        """Return the answers that have come, in the order of the calls.

        Raises ConnectionLost at the connection's end, PeerError for any answer that is not bytes.
        """
        self._read()
        answers: list[bytes] = []
        try:
            while len(self._received) >= wire.HEADER_BYTES and (found := wire.parse(self._received)) is not None:
                answers.append(self._answer(found))
        except EOFError as error:  # the server is full
            raise ConnectionLost("the connection was ended") from error
        except wire.RefusedMessage as refused:
            raise PeerError(f"no answer of ours came: {refused}") from refused
        # Answers that came before the end are told first: their calls did not fail.
        if self._ended and not answers:
            raise ConnectionLost("the connection broke")
        return answers

    def _read(self) -> None:
        try:
            while data := self._recv():
                self._received += data
                # A short read has emptied the socket: one more call would only say that it would block. TLS is read
                # until it does: it may hold bytes of which no socket tells.
                if len(data) < READ_BYTES and not isinstance(self._sock, tls.SecureSocket):
                    return
            self._ended = True
        except BlockingIOError:
            return
        except OSError:
            self._ended = True

    def _answer(self, found: wire.WireMessage) -> bytes:
        # Counted as in `put`, where the number has 16 bits: an answer out of turn is seen by its number.
        self._answered = (self._answered + 1) & 0xFFFF
        return answer_of(found, self._answered)

    def close(self) -> None:
        """End the connection. Any thread may call this; `answers` then raises ConnectionLost."""
        wire.shut(self._sock)

    def release(self) -> None:
        """Give the socket back, which nobody waits for any more."""
        with self._lock:
            self._unwritten.clear()
            self._sock.close()
