"""Requests and answers of any size over calls of half a megabyte: in parts, each side bounded in what it keeps."""

from __future__ import annotations

import secrets
from collections import OrderedDict
from collections.abc import Callable
from threading import Lock

from gcom.errors import MalformedFrame, MessageTooLarge, Unavailable
from gcom.topics.served import codec

PART_BYTES = 384 * 1024
WHOLE_BYTES_MAX = 64 * 1024 * 1024  # of a request or an answer
KEPT_BYTES_MAX = 256 * 1024 * 1024  # of all parts at a server; then the oldest go, and their clients begin anew
_WHOLE, _PART, _MORE, _TAKEN = b"\0", b"\1", b"\2", b"\3"
_ID_BYTES = 8

PartCall = Callable[[bytes], bytes]


class PartsLost(Unavailable):
    """The server does not have the parts of a request or an answer any more."""


def exchanged(request: bytes, call: PartCall) -> bytes:
    """Return the answer to a request, both in as many calls as they need. Raises what `call` raises, PartsLost."""
    check_size(request, "request")
    answer = call(_WHOLE + request) if len(request) <= PART_BYTES else _in_parts(request, call)
    kind, rest = answer[:1], answer[1:]
    if kind == _WHOLE:
        return rest
    if kind != _MORE or len(rest) < _ID_BYTES + 4:
        raise PartsLost("the server has not all parts of a request: it is sent again")
    id, total = rest[:_ID_BYTES], int.from_bytes(rest[_ID_BYTES : _ID_BYTES + 4], "big")
    got = [rest[_ID_BYTES + 4 :]]
    while (have := sum(map(len, got))) < total:
        more = call(_MORE + id + have.to_bytes(4, "big"))
        if more[:1] != _WHOLE or len(more) == 1:
            raise PartsLost("the server has not all parts of an answer: it is asked again")
        got.append(more[1:])
    return b"".join(got)


def check_size(data: bytes, what: str) -> None:
    """Raise MessageTooLarge for a request or an answer beyond the limit."""
    if len(data) > WHOLE_BYTES_MAX:
        raise MessageTooLarge(f"a {what} has at most {WHOLE_BYTES_MAX} bytes; got {len(data)}: take fewer at a time")


def _in_parts(request: bytes, call: PartCall) -> bytes:
    id, answer = secrets.token_bytes(_ID_BYTES), b""
    for begin in range(0, len(request), PART_BYTES):
        head = _PART + id + begin.to_bytes(4, "big") + len(request).to_bytes(4, "big")
        answer = call(head + request[begin : begin + PART_BYTES])
        if answer[:1] != _TAKEN and begin + PART_BYTES < len(request):
            raise PartsLost("the server has not all parts of a request: it is sent again")
    return answer


class PartsServer:
    """The parts that a server keeps, of requests that come and of answers that go."""

    def __init__(self, handler: Callable[[bytes], bytes]) -> None:
        self._handler = handler
        self._kept: OrderedDict[bytes, bytearray | bytes] = OrderedDict()
        self._lock = Lock()

    def receive(self, frame: bytes) -> bytes:
        """Take a call; return its answer."""
        frame = bytes(frame)
        kind, rest = frame[:1], frame[1:]
        if kind == _WHOLE:
            return self._answer(rest)
        if kind == _PART and len(rest) > _ID_BYTES + 8:
            return self._part(rest[:_ID_BYTES], rest[_ID_BYTES:])
        if kind == _MORE and len(rest) == _ID_BYTES + 4:
            return self._more(rest[:_ID_BYTES], int.from_bytes(rest[_ID_BYTES:], "big"))
        raise MalformedFrame("neither a request of topics nor a part of one")

    def _part(self, id: bytes, rest: bytes) -> bytes:
        begin, total, data = int.from_bytes(rest[:4], "big"), int.from_bytes(rest[4:8], "big"), rest[8:]
        if total > WHOLE_BYTES_MAX:
            raise MalformedFrame(f"a request has at most {WHOLE_BYTES_MAX} bytes")
        with self._lock:
            found = self._kept.get(id)
            if begin == 0:
                self._kept[id] = found = bytearray()
            if not isinstance(found, bytearray) or len(found) != begin:
                return _PART
            found += data
            if len(found) < total:
                self._shrink()
                return _TAKEN
            del self._kept[id]
        return self._answer(bytes(found))

    def _answer(self, request: bytes) -> bytes:
        answer = self._handler(request)
        if len(answer) <= 2 * PART_BYTES:
            return _WHOLE + answer
        id = secrets.token_bytes(_ID_BYTES)
        with self._lock:
            self._kept[id] = answer
            self._shrink()
        return _MORE + id + len(answer).to_bytes(4, "big") + answer[:PART_BYTES]

    def _more(self, id: bytes, begin: int) -> bytes:
        with self._lock:
            found = self._kept.get(id)
            if not isinstance(found, bytes) or begin >= len(found):
                return _PART
            if begin + PART_BYTES >= len(found):
                del self._kept[id]
            return _WHOLE + found[begin : begin + PART_BYTES]

    def _shrink(self) -> None:
        while sum(map(len, self._kept.values())) > KEPT_BYTES_MAX:
            self._kept.popitem(last=False)


def packed_answer(answer: object) -> bytes:
    """Return an answer as bytes; raise MessageTooLarge where it has too many."""
    data = codec.pack(answer)
    check_size(data, "answer")
    return data
