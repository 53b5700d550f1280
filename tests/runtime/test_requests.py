"""Messages of a connection that is served: the same ones, however the bytes come."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from Pyro5 import protocol

from gcom.runtime.pyro import wire
from tests.runtime.mutations import BytesStream

SIZES = st.sampled_from([0, 1, 500, 4000, 4056, 4057, 9000, 70_000])


class PieceStream(BytesStream):
    """A connection whose bytes come in pieces of these sizes, and then as they are asked for."""

    def __init__(self, data: bytes, pieces: list[int]) -> None:
        super().__init__(data)
        self._pieces = pieces
        self.reads = 0

    def recv(self, size: int, /) -> bytes:
        self.reads += 1
        return super().recv(min(size, self._pieces.pop(0)) if self._pieces else size)

    def recv_into(self, buffer: memoryview, size: int, flags: int, /) -> int:
        self.reads += 1
        return super().recv_into(buffer, min(size, self._pieces.pop(0)) if self._pieces else size, flags)


@given(st.lists(SIZES, max_size=8), st.lists(st.integers(1, 5000), max_size=20))
@example([0] * 8, [wire.HEADER_BYTES - 1, 1])
def test_the_same_messages_come_however_their_bytes_do(sizes: list[int], pieces: list[int]) -> None:
    bodies = [bytes([number]) * size for number, size in enumerate(sizes)]
    whole = b"".join(wire.message(protocol.MSG_INVOKE, 0, at, body) for at, body in enumerate(bodies))
    stream = PieceStream(whole, list(pieces))
    requests = wire.Requests(stream)
    for number, body in enumerate(bodies):
        before, was_there = stream.reads, requests.has_next
        found = requests.take()
        assert (found.seq, bytes(found.body)) == (number, body)
        assert (stream.reads == before) == was_there, "it is there where no more is to be read, and only there"
    assert not requests.has_next
    with pytest.raises(EOFError):
        requests.take()


def test_heartbeats_that_come_together_are_read_at_once() -> None:
    stream = PieceStream(b"".join(wire.message(protocol.MSG_INVOKE, 0, at, bytes(80)) for at in range(20)), [])
    requests = wire.Requests(stream)
    assert [requests.take().seq for _ in range(20)] == list(range(20))
    assert stream.reads == 1


def test_annotations_are_read_and_dropped() -> None:
    head = bytearray(wire.message(protocol.MSG_INVOKE, 0, 1, b"")[: wire.HEADER_BYTES])
    fields = list(wire._HEADER.unpack(head))
    fields[6], fields[7] = 4, 3
    requests = wire.Requests(BytesStream(wire._HEADER.pack(*fields) + b"...body" + b"next"))
    assert bytes(requests.take().body) == b"body"
    assert not requests.has_next


class WrittenStream(BytesStream):
    """A connection that keeps what is written."""

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self.written: list[bytes] = []

    def sendall(self, data: bytes, /) -> None:
        self.written.append(bytes(data))


def test_what_was_asked_together_is_answered_together() -> None:
    stream = WrittenStream(b"".join(wire.message(protocol.MSG_INVOKE, 0, at, b"") for at in range(3)))
    requests = wire.Requests(stream)
    for answer in (b"a", b"b", b"c"):
        requests.take()
        requests.answer(answer)
    assert stream.written == [b"abc"]


def test_many_bytes_of_answers_wait_for_no_more() -> None:
    stream = WrittenStream(b"".join(wire.message(protocol.MSG_INVOKE, 0, at, b"") for at in range(4)))
    requests = wire.Requests(stream)
    for size in (100, wire._ANSWERS_BYTES, 1, 1):
        requests.take()
        requests.answer(bytes(size))
    assert list(map(len, stream.written)) == [100 + wire._ANSWERS_BYTES, 2]
