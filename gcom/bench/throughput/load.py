"""The load of a benchmark, and the judgement of each delivery.

Message n of a sender is payload (n-1) % CHUNK of that sender's pool, except that the first of every chunk is *stamped*:
it carries n and the time of sending. A receiver compares the number and every byte of every payload, so that nothing
lost, repeated, changed or out of order passes, and pays one comparison for it. Where the order is total, the sequence
of the stamped messages is compared between receivers. CLOCK_MONOTONIC is one clock for all processes of a machine, so
a stamp of one process can be compared with the clock of another.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence as Values
from itertools import pairwise
from time import monotonic_ns

from gcom.bench.settings import SIZE_MIN

CHUNK = 200  # messages; also the size of a bare frame
LATENCIES_MAX = 20_000  # kept for each sender; at this bound every second one is dropped, evenly
WRONG_MAX = 5  # told in words

_STAMP = struct.Struct("!BQQ")  # 0, number, time
# Never 0 in front, whichever sender: 0 marks a stamp.
_PLAIN = struct.Struct("!BQQ")  # 1 + sender % 255, place in the pool, 0
_PLACE = struct.Struct("!QQ")


class Pool:
    """The payloads of one sender, `size` bytes each."""

    def __init__(self, sender: int, size: int) -> None:
        assert size >= SIZE_MIN >= _STAMP.size
        # Readable letters, others for each sender, so that bytes of another sender's message do not pass for these.
        self._filler = bytes(33 + (sender * 7 + i) % 94 for i in range(size - _STAMP.size))
        self.plain = [_PLAIN.pack(1 + sender % 255, i, 0) + self._filler for i in range(CHUNK)]
        self._rest = self.plain[1:]

    def chunk(self, first: int) -> list[bytes]:
        """Return messages `first` to `first + CHUNK - 1`, stamped now; `first` begins a chunk."""
        assert first % CHUNK == 1
        return [self.stamped(first), *self._rest]

    def stamped(self, number: int) -> bytes:
        return _STAMP.pack(0, number, monotonic_ns()) + self._filler

    def sent_at(self, payload: bytes, number: int) -> int | None:
        """Return the nanoseconds at which a stamped payload was sent; None if it is not the one with that number."""
        # 0 in front is a stamp, 1 and more the pool's own payloads: nothing else tells them apart.
        if len(payload) != _STAMP.size + len(self._filler) or payload[0] != 0:
            return None
        _, stamped, sent_ns = _STAMP.unpack_from(payload)
        whole = stamped == number and payload[_STAMP.size :] == self._filler
        return int(sent_ns) if whole else None


class Sequence:
    """The order in which one receiver delivered the stamped messages of all senders, as one number to compare."""

    def __init__(self) -> None:
        self.digest = 0

    def add(self, sender: int, number: int) -> None:
        # Chained, so that it depends on the order: two receivers with the same messages in another order differ.
        # A CRC and no hash: it is paid while messages are judged, and nobody tries to forge it.
        self.digest = zlib.crc32(_PLACE.pack(sender, number), self.digest)


class StreamJudge:
    """The judge of one sender's messages at one receiver."""

    def __init__(self, sender: int, size: int, ordered: bool, sequence: Sequence | None = None) -> None:
        self._sender = sender
        self._sequence = sequence or Sequence()
        # The receiver has the sender's pool: it compares bytes and computes nothing, so that judging is cheap.
        self._pool = Pool(sender, size)
        self.plain = self._pool.plain
        self.next = 1  # all before it were delivered
        self._ordered = ordered
        self._beyond: set[int] = set()  # delivered after it; stays empty where order is promised
        self.latencies_ns: list[int] = []
        self._stride = CHUNK
        self.last_ns = 0
        self.lost = 0
        self.wrong: list[str] = []

    def take(self, number: int, payload: bytes | str) -> None:
        """Judge one delivery. The first two lines are what nearly every message costs."""
        if number == self.next and payload == self.plain[(number - 1) % CHUNK]:
            self.next = number + 1
        else:
            self._take_rare(number, payload)

    def lose(self, first: int, count: int) -> None:
        """Count messages that were given up, as BASIC may, as lost."""
        self.lost += count
        for number in range(first, first + count):
            self._settle(number)

    @property
    def count(self) -> int:
        return self.next - 1 + len(self._beyond)

    def _take_rare(self, number: int, payload: bytes | str) -> None:
        sent_ns = self._pool.sent_at(payload, number) if isinstance(payload, bytes) else None
        if sent_ns is not None:
            self._sample(number, sent_ns)
        elif payload != self.plain[(number - 1) % CHUNK]:
            self._blame(f"number {number} is not what was sent")
        if number < self.next or number in self._beyond:
            self._blame(f"number {number} was delivered twice")
        # It counts as arrived from here on: one gap is one fault and not one per message behind it.
        elif number > self.next and self._ordered:
            self._blame(f"number {number} came when {self.next} was due")
            self.next = number + 1
        else:
            self._settle(number)

    def _settle(self, number: int) -> None:
        self._beyond.add(number)
        while self.next in self._beyond:
            self._beyond.discard(self.next)
            self.next += 1

    def _sample(self, number: int, sent_ns: int) -> None:
        self.last_ns = monotonic_ns()
        self._sequence.add(self._sender, number)
        if (number - 1) % self._stride == 0:
            self.latencies_ns.append(self.last_ns - sent_ns)
        if len(self.latencies_ns) >= LATENCIES_MAX:
            # Every second one is dropped, and from now on every second one is taken: the sample stays even
            # over the whole run.
            del self.latencies_ns[1::2]
            self._stride *= 2

    def _blame(self, what: str) -> None:
        if len(self.wrong) < WRONG_MAX:
            self.wrong.append(what)


def percentile(values: Values[float], share: float) -> float:
    """Return the value below which `share` of the sorted values lie; 0 of none."""
    assert all(a <= b for a, b in pairwise(values)), "percentiles are of sorted values"
    # A value that was measured, and none between two: with few values a mixed one would look finer than it is.
    return values[min(len(values) - 1, int(len(values) * share))] if values else 0.0
