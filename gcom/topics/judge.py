"""The judge of appends: a pure function that says which messages of a request are new, and refuses what is wrong.

A producer numbers its messages with rising sequences; holes are allowed, since a sequence may be an offset in the
user's source. So a request names the sequence before its first one too (`previous`): a hole is then never taken for a
message that is missing. A sequence at or below the producer's last one is a duplicate, whatever its age.

Highest-sequence-wins, as in Apache Pulsar and RabbitMQ streams, drops valid messages that arrive late (pulsar #5218).
Here they are refused as a gap, and the sender hears of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from operator import lt
from typing import NamedTuple

from gcom.topics.errors import Fenced, SequenceGap, SequenceReused
from gcom.topics.values import NONE_SENT, Entry


class ProducerStanding(NamedTuple):
    """A producer's row: the epoch of its newest opening, its last stored sequence, and the last trimmed one."""

    epoch: int
    seq: int
    trimmed: int = NONE_SENT


class Known(NamedTuple):
    """A stored message of the producer."""

    offset: int
    digest: int


class EntryAnswer(NamedTuple):
    """The verdict on one entry: its place among the fresh ones, or the offset of the first copy (None: trimmed)."""

    fresh: int | None
    offset: int | None
    duplicate: bool


class Judged(NamedTuple):
    """The verdict on a request: entries to store, and an answer for each entry."""

    fresh: list[Entry]
    answers: list[EntryAnswer]


def is_next(standing: ProducerStanding, epoch: int, previous: int, entries: Sequence[Entry]) -> bool:
    """Tell whether a request has only new messages, which rise and follow the last one: then there is no more to judge.

    Nearly all requests are so, and this costs a tenth of `judge`.
    """
    seqs = [entry.seq for entry in entries]
    follows = epoch == standing.epoch and previous == standing.seq < seqs[0]
    return follows and all(map(lt, seqs, islice(seqs, 1, None)))


def judge(
    standing: ProducerStanding, epoch: int, previous: int, entries: Sequence[Entry], past: Mapping[int, Known]
) -> Judged:
    """Return the verdict on a request; `past` has what is still stored under its sequences.

    Raise Fenced, SequenceGap or SequenceReused: then nothing may be stored.
    """
    if epoch != standing.epoch:
        raise Fenced(
            "a newer producer of this name is open: open it again to go on, and mind that one of both must end"
        )
    judged, placed = Judged([], []), dict[int, int]()
    for entry in entries:
        if entry.seq <= standing.seq:
            judged.answers.append(_of_the_past(entry, standing.trimmed, past))
        elif entry.seq in placed:
            _compare(entry, judged.fresh[placed[entry.seq]].digest)
            judged.answers.append(EntryAnswer(placed[entry.seq], None, True))
        else:
            _chain(judged.fresh[-1].seq if judged.fresh else standing.seq, previous, entry.seq, bool(judged.fresh))
            placed[entry.seq] = len(judged.fresh)
            judged.answers.append(EntryAnswer(len(judged.fresh), None, False))
            judged.fresh.append(entry)
        previous = max(previous, entry.seq)
    return judged


def _chain(last: int, previous: int, seq: int, within: bool) -> None:
    if seq <= last:
        raise SequenceGap(f"sequences must rise: expected more than {last}, got {seq}; nothing of it was stored")
    if not within and previous != last:
        raise SequenceGap(
            f"sequence {seq} follows {previous}, but the last one stored is {last}: send what is after {last} first"
        )


def _of_the_past(entry: Entry, trimmed: int, past: Mapping[int, Known]) -> EntryAnswer:
    known = past.get(entry.seq)
    if known is not None:
        _compare(entry, known.digest)
        return EntryAnswer(None, known.offset, True)
    if entry.seq > trimmed:
        raise SequenceGap(
            f"sequence {entry.seq} was never stored, and later ones were: sequences must rise; nothing of it was stored"
        )
    return EntryAnswer(None, None, True)  # trimmed since, and remembered


def _compare(entry: Entry, digest: int) -> None:
    if entry.digest != digest:
        raise SequenceReused(
            f"sequence {entry.seq} was used before with another body, key or headers: use a new sequence"
        )
