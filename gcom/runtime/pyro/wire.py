"""Pyro5's messages on a socket, for both sides: written by us, and read by us with every bound checked first.

A message is a 40 byte header, annotations, and a body in the serializer that the header names. `Pyro5.protocol` has
the layout. Ours carry no annotations and no correlation id, and their bodies are msgpack.
"""

from __future__ import annotations

import contextlib
import socket
import struct
from time import monotonic
from typing import Any, NamedTuple, Protocol

import msgpack
from Pyro5 import protocol, serializers

from gcom.errors import PeerError
from gcom.values.run import Encoded

CALL_BYTES_MAX = 1024 * 1024  # one Pyro5 message: two frames, so our bound is met before Pyro5's
ANNOTATION_BYTES_MAX = 1024  # read and dropped: GCom uses none, a stock proxy's few are harmless
MSGPACK = serializers.MsgpackSerializer.serializer_id
POOL_FULL = "no free worker: too many connections"  # a full server's answer instead of a welcome

NODE = "gcom.node"  # the object that every node serves
NOT_TRUSTED = "not trusted: "  # how a refusal begins that is about who the caller is

FRAME_CALL_END = b"\x80"  # no named arguments

_HEADER = struct.Struct("!4sHBBHHII16sHH")
HEADER_BYTES = _HEADER.size
_ANSWERS_BYTES = 64 * 1024  # do not wait for more: the caller is woken once for all that came together
_AHEAD_BYTES = 4096  # read at once: some twenty heartbeats, and no large copy of what a load begins with
_TAG, _VERSION, _MAGIC = b"PYRO", protocol.PROTOCOL_VERSION, 0x4DC5
# Compression may turn a few bytes into gigabytes; KEEPSERIALIZED leaves objects for a worker to build.
_REFUSED_FLAGS = protocol.FLAGS_COMPRESSED | protocol.FLAGS_KEEPSERIALIZED
_NO_CORRELATION = bytes(16)


class Stream(Protocol):
    """A socket, or one with TLS around it."""

    def settimeout(self, timeout_s: float | None, /) -> None: ...

    def sendall(self, data: bytes, /) -> None: ...

    def recv(self, size: int, /) -> bytes: ...

    def recv_into(self, buffer: memoryview, size: int, flags: int, /) -> int: ...

    def shutdown(self, how: int, /) -> None: ...


class RefusedMessage(Exception):
    """The refusal of a message, malformed or not allowed. `reason` is counted, `text` may be told to the peer."""

    def __init__(self, reason: str, text: str = "") -> None:
        super().__init__(text or reason)
        self.reason = reason


class WireMessage(NamedTuple):
    kind: int
    serializer: int
    flags: int
    seq: int
    # A view, no bytes: a frame of 512 KiB is not copied to be checked.
    body: memoryview


def write(sock: Stream, kind: int, flags: int, seq: int, body: bytes, serializer: int = MSGPACK) -> None:
    sock.sendall(message(kind, flags, seq, body, serializer))


def message(kind: int, flags: int, seq: int, body: bytes, serializer: int = MSGPACK) -> bytes:
    """Return a message as it travels."""
    return header(kind, flags, seq, len(body), serializer) + body


def header(kind: int, flags: int, seq: int, size: int, serializer: int = MSGPACK) -> bytes:
    """Return the header of a body of `size` bytes."""
    return _HEADER.pack(_TAG, _VERSION, kind, serializer, flags, seq, size, 0, _NO_CORRELATION, 0, _MAGIC)


def frame_call(object_id: str) -> bytes:
    """Return the body of a call of `receive` with a frame, up to the frame's length in 4 bytes; FRAME_CALL_END ends it.

    It is the msgpack of (object_id, "receive", (frame,), {}).
    """
    return b"\x94" + pack(object_id) + pack("receive") + b"\x91\xc6"


def frame_of(body: memoryview, call: bytes) -> memoryview | None:
    """Return the frame of a body that begins with `call`, uncopied; None: it is another call, or written otherwise."""
    begin = len(call) + 4
    # By both ends and the length between them: then all of the rest is the frame, and none of it is unpacked or copied.
    whole = body[: len(call)] == call and body[-1:] == FRAME_CALL_END
    whole = whole and int.from_bytes(body[len(call) : begin]) == len(body) - begin - len(FRAME_CALL_END)
    return body[begin : -len(FRAME_CALL_END)] if whole else None


def read(sock: Stream, deadline: float | None = None) -> WireMessage:
    """Return one message, its header checked first. Raises RefusedMessage, EOFError, TimeoutError or OSError."""
    kind, serializer, flags, seq, annotations, size = _checked_header(_read_exactly(sock, HEADER_BYTES, deadline))
    body = _read_exactly(sock, annotations + size, deadline)
    return WireMessage(kind, serializer, flags, seq, memoryview(body)[annotations:])


class Requests:
    """The requests of a connection, in order. Those that come together are read together, and answered together."""

    def __init__(self, sock: Stream) -> None:
        self._sock = sock
        self._answers: list[bytes] = []  # are not written yet
        self._answer_bytes = 0
        self._ahead = memoryview(b"")  # was read, and belongs to the messages that are next

    def take(self) -> WireMessage:
        """Wait for the next message and return it. Raises RefusedMessage, EOFError or OSError."""
        ahead = self._ahead
        while len(ahead) < HEADER_BYTES:
            if not (data := self._sock.recv(_AHEAD_BYTES)):
                raise EOFError("the connection was closed")
            ahead = memoryview(b"".join((ahead, data)) if ahead else data)
        kind, serializer, flags, seq, annotations, size = _checked_header(ahead)
        end = HEADER_BYTES + annotations + size
        body, self._ahead = ahead[HEADER_BYTES:end], ahead[end:]
        if len(ahead) < end:
            body = memoryview(_read_exactly(self._sock, end - HEADER_BYTES, None, body))
        return WireMessage(kind, serializer, flags, seq, body[annotations:])

    def answer(self, answer: bytes) -> None:
        """Answer the request that was taken last, at once or with those that follow. Raises OSError."""
        self._answers.append(answer)
        self._answer_bytes += len(answer)
        if not self._ahead or not self.has_next or self._answer_bytes >= _ANSWERS_BYTES:
            self.flush()

    def flush(self) -> None:
        """Write the answers that wait for others. Raises OSError."""
        answers, self._answers, self._answer_bytes = self._answers, [], 0
        self._sock.sendall(b"".join(answers))

    @property
    def has_next(self) -> bool:
        """Whether `take` returns without a wait."""
        ahead = self._ahead
        if len(ahead) < HEADER_BYTES:
            return False
        *_, size, annotations, _, _, _ = _HEADER.unpack_from(ahead)
        return bool(len(ahead) >= HEADER_BYTES + size + annotations)


def parse(received: bytearray) -> WireMessage | None:
    """Take one message off the bytes received, a header at least; None: it is incomplete. Raises RefusedMessage."""
    kind, serializer, flags, seq, annotations, size = _checked_header(received)
    end = HEADER_BYTES + annotations + size
    if len(received) < end:
        return None
    # Copied: the buffer goes on to be filled, and a view of it would keep it from growing.
    body = bytes(received[HEADER_BYTES + annotations : end])
    del received[:end]
    return WireMessage(kind, serializer, flags, seq, memoryview(body))


def _checked_header(data: bytearray | memoryview) -> tuple[int, int, int, int, int, int]:
    """Return kind, serializer, flags, seq, and the bytes of annotations and body, which may be read.

    Raises RefusedMessage.
    """
    tag, version, kind, serializer, flags, seq, size, annotations, _, _, magic = _HEADER.unpack_from(data)
    if tag != _TAG or version != _VERSION or magic != _MAGIC:
        raise RefusedMessage("not Pyro5")
    if annotations > ANNOTATION_BYTES_MAX:
        raise RefusedMessage("annotations")
    if size > CALL_BYTES_MAX:
        raise RefusedMessage("too large")
    if flags & _REFUSED_FLAGS:
        raise RefusedMessage("compressed" if flags & protocol.FLAGS_COMPRESSED else "blob")
    return kind, serializer, flags, seq, annotations, size


def _read_exactly(sock: Stream, size: int, deadline: float | None, begin: Encoded = b"") -> bytearray:
    """Read `size` bytes, of which some are there; `deadline` bounds the whole: no peer can stretch it byte by byte."""
    data = bytearray(size)
    got, rest = len(begin), memoryview(data)
    rest[:got] = begin
    while got < size:
        if deadline is not None:
            # Before each read: what is left of the whole, not the same time again for each byte.
            sock.settimeout(remaining(deadline))
        # One call of the kernel for a whole body, as a rule. A signal may cut it short, hence the loop.
        count = sock.recv_into(rest[got:], size - got, socket.MSG_WAITALL)
        if not count:
            raise EOFError("the connection was closed")
        got += count
    return data


def remaining(deadline: float) -> float:
    left = deadline - monotonic()
    if left <= 0:
        raise TimeoutError("out of time")
    return left


def plain(body: memoryview) -> Any:
    """Return msgpack as plain values. Containers have small bounds: a nest of large empty ones would cost gigabytes."""
    try:
        return msgpack.unpackb(body, object_hook=plain_map, max_array_len=1024, max_map_len=64, max_ext_len=0)
    except (ValueError, msgpack.exceptions.UnpackException) as error:
        raise RefusedMessage("not msgpack") from error


def unpack(data: bytes) -> Any:
    """Return what `pack` made, as plain values; raises PeerError for anything else."""
    try:
        return plain(memoryview(data))
    except RefusedMessage as refused:
        raise PeerError(f"{len(data)} bytes are {refused}") from refused


def plain_map(value: dict[Any, Any]) -> Any:
    """Turn a URI, the one class that a stock client of the name server sends, into text; others stay maps."""
    match value:
        case {"__class__": "Pyro5.core.URI", "state": [protocol_name, name, None, host, int() as port]}:
            return f"{protocol_name}:{name}@{host}:{port}"
    return value


def pack(value: object) -> bytes:
    packed: bytes = msgpack.Packer().pack(value)  # as `packb` does, which is one more call
    return packed


def shut(sock: Stream) -> None:
    """Wake all that wait on the socket; closing alone would not."""
    with contextlib.suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)
