"""The table of control items, and the decision that a view change agrees on, alone or inside of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, cast

import msgpack

from gcom.core.codec.kinds import (
    ADDRESS,
    NUMBER,
    PROCESS,
    PROCESSES,
    STREAM,
    STREAMS,
    VIEW,
    number,
    one_of,
    record,
    text,
)
from gcom.core.codec.schema import NOT_OURS, FieldKind, Record, listing, malformed, optional, row, table
from gcom.core.messages import frames
from gcom.core.messages.frames import Control, Decision, Keeping, Standing
from gcom.errors import MalformedFrame
from gcom.values import limits

# A decision is read from a frame, an answer of the witness, and its disk.
BOUNDS = {
    "max_str_len": limits.MESSAGE_BYTES_MAX,
    "max_bin_len": limits.MESSAGE_BYTES_MAX,
    "max_array_len": limits.RUN_MESSAGES_MAX,
    "max_map_len": limits.RUN_MESSAGES_MAX,
    "max_ext_len": limits.MESSAGE_BYTES_MAX,
}


def _decision(decision: Decision) -> None:
    # The machines rely on both: a joiner is installed, and a leaver is not.
    members = set(decision.view.members)
    if not members.issuperset(decision.joined) or not members.isdisjoint(decision.left):
        raise malformed("decision", "a view with those who joined and without those who left", decision)


_SUCCESSION = record(
    frames.Succession,
    by=one_of("proof", "operator"),
    gone=table(PROCESS, one_of(frames.DEAD, frames.ENDED), limits.MEMBERS_MAX),
)
# Ranks instead of names: with names a full group's decision would not fit beside runs in a frame.
_RANKS = listing(row(NUMBER, NUMBER, NUMBER), limits.MEMBERS_MAX)
_PLAIN = record(
    Decision,
    _decision,
    view=VIEW,
    left=table(PROCESS, text(40), limits.MEMBERS_MAX),
    cut=STREAMS,
    sources=_RANKS,
    succession=optional(_SUCCESSION),
)


def _decode_decision(given: Any) -> Decision:
    plain: Decision = _PLAIN.decode(given)
    view, ranks = plain.view, cast("Iterable[tuple[int, int, int]]", plain.sources)
    # A barrier of a later view does not exist yet: the joiner would wait for ever.
    if not all(1 <= at <= view.number for _, _, at in ranks):
        raise malformed("source of state", f"the barrier of view 1 to {view.number}", ranks)
    # Back to names, since the machines speak of processes; a rank outside of the view raises IndexError, which is a
    # malformed decision.
    return replace(plain, sources={view.members[who]: (view.members[of], at) for who, of, at in ranks})


def _encode_decision(decision: Decision) -> Any:
    rank = decision.view.rank
    ranks = [(rank(who), rank(of), at) for who, (of, at) in decision.sources.items()]
    return _PLAIN.encode(replace(decision, sources=ranks))  # type: ignore[arg-type]


DECISION = Record(_decode_decision, _encode_decision, Decision)


def encode_decision(decision: Decision) -> bytes:
    """Return the bytes of a decision by itself, as the witness keeps it."""
    data: bytes = msgpack.packb(_encode_decision(decision))
    return data


def decode_decision(data: bytes) -> Decision:
    """Return the decision of `data`; raise MalformedFrame."""
    try:
        return _decode_decision(msgpack.unpackb(data, **BOUNDS))
    except NOT_OURS as error:
        raise MalformedFrame(f"malformed decision: {error}") from error


def _chunk(chunk: frames.StateChunk) -> None:
    if not 1 <= chunk.index <= chunk.count <= limits.STATE_CHUNKS_MAX or len(chunk.data) > limits.STATE_CHUNK_BYTES:
        most = f"number 1 to {limits.STATE_CHUNKS_MAX}, of at most {limits.STATE_CHUNK_BYTES} bytes"
        raise malformed("chunk of state", most, (chunk.index, chunk.count, len(chunk.data)))


def _decode_reach(given: Any) -> frames.Reach:
    # As a table: two columns could be of unlike length, and a process could stand in them twice.
    (seats,) = given
    found = _SEATS.decode(seats)
    return frames.Reach(tuple(found), tuple(found.values()))


def _encode_reach(reach: frames.Reach) -> Any:
    return [dict(zip(reach.members, reach.addresses, strict=True))]


_SEATS = table(PROCESS, ADDRESS, limits.MEMBERS_MAX)
_KEEPING = FieldKind(lambda given: Keeping(number(given)))
_STANDING = record(Standing, keeping=_KEEPING, source=optional(row(PROCESS, NUMBER)))
_HOLDERS = table(STREAM, PROCESSES, limits.MEMBERS_MAX + 1)  # a full group's senders, and the order

# By the wire's number. A number is never given to another item: an old peer would misread it.
_RECORDS = {
    1: record(frames.Join),
    2: record(frames.Redirect),
    3: record(frames.JoinRefused, code=text(40), text=text(1000)),
    4: record(frames.Prepare),
    5: record(frames.Promise, held=STREAMS, accepted=optional(DECISION), standing=_STANDING),
    6: record(frames.Nack),
    7: record(frames.Cut, decision=DECISION, holders=_HOLDERS),
    8: record(frames.CutOk),
    9: record(frames.Install, decision=DECISION),
    10: record(frames.Fetch, sender=STREAM),
    11: record(frames.StateChunk, _chunk),
    12: record(frames.StateRefused, text=text(1000)),
    13: Record(_decode_reach, _encode_reach, frames.Reach),
    20: record(frames.MergeInto),
    21: record(frames.Probe),
    22: record(frames.IndirectAck),
    23: record(frames.DiscoverRequest),
    24: record(frames.DiscoverReply),
}
_NUMBERS = {kind.made: at for at, kind in _RECORDS.items()}


def decode_control(given: Any) -> Control:
    """Return the control item of its number and fields."""
    # The number's type as well: True and 1.0 are equal to 1, and would name its record.
    if type(given) is not list or type(given[0]) is not int:
        raise malformed("control item", "a list that begins with its number", given)
    item: Control = _RECORDS[given[0]].decode(given[1:])
    return item


def encode_control(item: Control) -> list[Any]:
    """Return the number and the fields of a control item."""
    at = _NUMBERS[type(item)]
    return [at, *_RECORDS[at].encode(item)]
