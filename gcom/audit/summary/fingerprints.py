"""Fingerprints of sequences that do not depend on how messages are cut into runs.

A message `number` of a sender at place `i` of a sequence (or with serial `i`) has the offset `number - i`, which is the
same for all messages of a run. Its contribution is H(sender, offset, i + 1) - H(sender, offset, i), so a run of c
messages contributes H(sender, offset, i + c) - H(sender, offset, i), whatever its length: two evaluations a run, and
the sum over a stretch is the same however it is cut. Sums wrap modulo 2^64; two seeds drawn for each audit make an
accidental equality as good as impossible (about 2^-128 a bucket), and an equality is all that is trusted: what
differs is looked at message by message.

Source: Hübschle-Schneider and Sanders, "Communication Efficient Checking of Big Data Operations" (2018), for sums of
random hashes as checkers; telescoping over runs is ours.
"""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

from gcom.audit.input.rows import Ints

Words = NDArray[np.uint64]

# A print is three numbers, so the order of 20 million messages is 306 prints, and where one differs 65,536 places are
# read again. A smaller bucket would make all summaries longer, a larger one the tasks that judge it.
BUCKET = 1 << 16  # places of a sequence that share one fingerprint

# Splitmix64's two multipliers, and two odd numbers that spread offsets and places over all bits
# before they are mixed.
_A = np.uint64(0xBF58476D1CE4E5B9)
_B = np.uint64(0x94D049BB133111EB)
_OFFSET = np.uint64(0x9E3779B97F4A7C15)
_PLACE = np.uint64(0xD6E8FEB86659FD93)


def word_of(text: str) -> int:
    """Return a process's name as 64 bits, the same in every process of the job."""
    # Not hash(): it differs between the tasks' interpreters, and their sums are compared.
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def _mix(x: Words) -> Words:
    """Apply Splitmix64's finalizer (Steele, Lea, Flood 2014) in place."""
    x ^= x >> np.uint64(30)
    x *= _A
    x ^= x >> np.uint64(27)
    x *= _B
    x ^= x >> np.uint64(31)
    return x


def contributions(words: Words, number: Ints, place: Ints, count: Ints, seed: int) -> Words:
    """Return each run's contribution to the fingerprint of its bucket; `words` are the senders' words."""
    # All of unsigned 64 bits, so that additions and products wrap and no sum can overflow.
    offset = (number - place).view(np.uint64)
    stream = _mix((words ^ np.uint64(seed)) + offset * _OFFSET)
    before = place.view(np.uint64) * _PLACE
    after = (place + count).view(np.uint64) * _PLACE
    return _mix(stream + after) - _mix(stream + before)


def split_at_buckets(place: Ints, count: Ints) -> tuple[Ints, Ints, Ints]:
    """Cut runs at bucket borders; return per part its row, its offset into the run, and its length."""
    first = place // BUCKET
    parts = (place + count - 1) // BUCKET - first + 1
    row = np.repeat(np.arange(len(place)), parts)
    # Nearly always no run crosses a border: nothing is cut, and no arrays are made for it.
    if len(row) == len(place):
        return row, np.zeros(len(row), np.int64), count
    # Counts the parts of each run from 0, without a loop over runs.
    nth = np.arange(len(row)) - np.repeat(np.cumsum(parts) - parts, parts)
    begin = np.maximum((first[row] + nth) * BUCKET, place[row])
    end = np.minimum((first[row] + nth + 1) * BUCKET, place[row] + count[row])
    return row, begin - place[row], end - begin


def fingerprints(
    words: Words, number: Ints, place: Ints, count: Ints, seeds: tuple[int, int]
) -> dict[int, tuple[int, int, int]]:
    """Return, per bucket of places that the runs touch, the number of messages and two sums."""
    if not len(place):
        return {}
    row, into, length = split_at_buckets(place, count)
    number, place, words = number[row] + into, place[row] + into, words[row]
    bucket = place // BUCKET
    one, other = (contributions(words, number, place, length, seed) for seed in seeds)
    found: dict[int, tuple[int, int, int]] = {}
    borders = np.flatnonzero(np.diff(bucket)) + 1
    starts = np.concatenate(([0], borders))
    sums = (np.add.reduceat(each, starts) for each in (length, one, other))
    for at, n, s1, s2 in zip(bucket[starts].tolist(), *(each.tolist() for each in sums), strict=True):
        # A bucket comes again where places go back, as when a message is delivered twice.
        m, t1, t2 = found.get(at, (0, 0, 0))
        found[at] = (m + n, (t1 + s1) % 2**64, (t2 + s2) % 2**64)
    return found
