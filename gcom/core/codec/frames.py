"""Codec of frames: the only place where something from a peer becomes a value, so all of it is checked here.

A frame is a msgpack array `[version, group, instance, source, target, status, control, runs, pieces, orders, letters]`;
a run is encoded once, by its sender, and travels as a blob, or in pieces of it, to all peers and through relays.
Payload checks go through C loops (`map`, `set`): this is the one place that touches each message on the way in.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from operator import attrgetter, gt
from typing import Any

import msgpack

from gcom.core.codec import checked
from gcom.core.codec.decisions import decision_of, plain_decision
from gcom.core.codec.versions import mismatch
from gcom.core.messages import frames
from gcom.core.messages.frames import Ballot, Control, Decision, Frame, Keeping, Refused, Reply, Standing, Status
from gcom.core.messages.orders import Orders
from gcom.errors import MalformedFrame
from gcom.values import limits, names
from gcom.values.letter import Kind, Letter, LetterReceipt, size_of
from gcom.values.names import Process
from gcom.values.run import Brought, Payload, Piece, Run

_pack: Callable[[tuple[Any, ...]], bytes] = msgpack.packb
_CODES = ("unknown", "ended", "returning", "elsewhere", "expelled", "version")
_REFUSAL_FIELDS = 5
# The fields that travel, in the order of the wire; a status is in two rows, so that each is checked at once.
_COUNTS = attrgetter("view", "held", "consumed", "stable", "sent", "safe", "ordered", "agreed", "partial", "state")
_FLAGS = attrgetter("cut_off", "reaches", "wedged", "seeking")
_RECEIPT = attrgetter("held", "read", "served")
_USUAL: tuple[str, list[Process], bytes] = ("", [], b"")  # nobody leaves, is suspected or unheard
_ENCODED = attrgetter("encoded")
_PIECE = attrgetter("sender", "view", "first", "at_byte", "total", "data")
_LETTER = attrgetter("number", "kind", "call", "payload")
_BOUNDS = {
    "max_str_len": limits.MESSAGE_BYTES_MAX,
    "max_bin_len": limits.MESSAGE_BYTES_MAX,
    "max_array_len": limits.RUN_MESSAGES_MAX,
    "max_map_len": limits.RUN_MESSAGES_MAX,
    "max_ext_len": limits.MESSAGE_BYTES_MAX,
}
_BROUGHT = 1  # the extension type of a state that a member brings
# Whatever bytes can raise below; a decoder must never end the thread that reads from a peer.
_NOT_OURS = (
    ValueError,
    TypeError,
    KeyError,
    IndexError,
    RecursionError,
    OverflowError,
    msgpack.UnpackException,
)


def encode_run(sender: Process, view: int, first: int, clock: dict[Process, int], payloads: list[Payload]) -> bytes:
    if type(payloads[0]) is Brought:
        return _pack((sender, view, first, clock, msgpack.ExtType(_BROUGHT, payloads[0])))
    return _pack((sender, view, first, clock, payloads))


def encode(frame: Reply) -> bytes:
    """Return the bytes of a frame or of a refusal."""
    if isinstance(frame, Refused):
        return _pack((limits.PROTOCOL_VERSION, frame.code, frame.text, frame.settled, frame.life))
    said = frame.status
    unheard = b"".join(map(_encode_missed, said.unheard.items()))
    status = (_COUNTS(said), _FLAGS(said), said.leaving, said.suspects, _RECEIPT(said.receipt), unheard)
    control = tuple(map(_encode_control, frame.control))
    load = tuple(map(_ENCODED, frame.runs)), tuple(map(_PIECE, frame.pieces))
    orders = frame.orders and (frame.orders.view, frame.orders.after, frame.orders.spans)
    head = (limits.PROTOCOL_VERSION, frame.group, frame.instance, frame.source, frame.target)
    return _pack((*head, status, control, *load, orders, tuple(map(_LETTER, frame.letters))))


def _encode_missed(row: tuple[int, int]) -> bytes:
    one, others = row
    return bytes([one]) + others.to_bytes(checked.MISSED_BYTES)


def decode(data: bytes) -> Frame:
    """Return the frame of `data`; raise MalformedFrame or VersionMismatch."""
    reply = decode_reply(data)
    if isinstance(reply, Refused):
        raise MalformedFrame("a refusal is no frame")
    return reply


def decode_reply(data: bytes) -> Reply:
    """Return the frame or refusal of `data`; raise MalformedFrame or VersionMismatch."""
    # Before unpacking: a peer must not make this process build more than a frame's worth of objects.
    if len(data) > limits.FRAME_BYTES_MAX:
        raise MalformedFrame(f"{len(data)} bytes are more than a frame of {limits.FRAME_BYTES_MAX}")
    try:
        fields = msgpack.unpackb(data, **_BOUNDS)
        if not isinstance(fields, list) or not fields or type(fields[0]) is not int:
            raise MalformedFrame("no version")
        if fields[0] != limits.PROTOCOL_VERSION:
            raise mismatch(fields[0])
        return _refused(fields) if len(fields) == _REFUSAL_FIELDS else _frame(fields)
    except _NOT_OURS as error:
        raise MalformedFrame(f"not a frame: {error}") from error


def decode_run(encoded: bytes) -> Run:
    """Return the run of one message that came in pieces; raise MalformedFrame."""
    try:
        run = _run(encoded)
    except _NOT_OURS as error:
        raise MalformedFrame(f"not a run: {error}") from error
    # Only a single message can be too large for a frame; several would hide from the bound on whole runs.
    if len(run.payloads) > 1:
        raise MalformedFrame("a run of several messages does not travel in pieces")
    return run


def _refused(fields: list[Any]) -> Refused:
    _, code, text, settled, life = fields
    if code not in _CODES or not isinstance(text, str):
        raise MalformedFrame(f"refusal {code!r}")
    upto = None if settled is None else checked.number(settled)
    # A peer's words go into errors and logs: bounded.
    return Refused(code, text[:1000], upto, checked.text(life, 80))


def _frame(fields: list[Any]) -> Frame:
    _, group, instance, source, target, status, control, runs, pieces, orders, letters = fields
    if {type(control), type(runs), type(pieces), type(letters)} != {list}:
        raise MalformedFrame("control items, runs, pieces or letters are no lists of them")
    # 512 letters and 256 items: more in one frame is an attempt to occupy this process.
    if len(control) > limits.CONTROL_ITEMS_MAX or len(letters) > limits.LETTERS_TAKEN:
        raise MalformedFrame("control items or letters are too many")
    _check_head(group, instance, source, target)
    return Frame(
        group,
        instance,
        source,
        target,
        _status(status),
        tuple(map(_decode_control, control)),
        tuple(map(_whole_run, runs)),
        tuple(map(_piece, pieces)),
        None if orders is None else _orders(orders),
        tuple(map(_letter, letters)),
    )


@lru_cache(maxsize=1024)
def _check_head(group: Any, instance: Any, source: Any, target: Any) -> None:
    """Raise for what is no head; all frames of a link have the same, so one that was checked is remembered."""
    names.group_name(group)
    checked.instance(instance)
    checked.processes([source, target])


def _status(fields: list[Any]) -> Status:
    counts, flags, leaving, suspects, receipt, unheard = fields
    view, held, consumed, stable, sent, safe, ordered, agreed, partial, state = counts
    got, read, served = receipt
    checked.numbers(*counts, *receipt)
    cut_off, reaches, wedged, seeking = checked.flags(*flags)
    marks = (view, held, consumed, stable, sent, safe, ordered, agreed)
    # Nearly every status has these three at their defaults; the check of each would cost more than all the rest.
    if (leaving, suspects, unheard) != _USUAL:
        leaving, suspects, unheard = checked.leaving(leaving), checked.processes(suspects), checked.unheard(unheard)
    told = (tuple(suspects), partial, LetterReceipt(got, read, served), state, seeking, unheard or {})
    return Status(*marks, cut_off, reaches, wedged, leaving, *told)


def decode_orders(fields: Any) -> Orders:
    """Return the piece of an order in a sequencer's answer; raise MalformedFrame."""
    try:
        return _orders(fields)
    except _NOT_OURS as error:
        raise MalformedFrame(f"not an order: {error}") from error


def _orders(fields: Any) -> Orders:
    view, after, spans = fields
    if type(spans) is not list or len(spans) > limits.ORDERS_MAX:
        raise MalformedFrame("spans of an order are too many, or no list of them")
    # In columns, so that the checks run in C: an order may have 512 spans.
    senders, firsts, lasts = zip(*spans, strict=True) if spans else ((), (), ())
    checked.numbers(view, after, *firsts, *lasts)
    checked.processes([*set(senders)])
    if 0 in firsts or any(map(gt, firsts, lasts)):
        raise MalformedFrame("a span orders no messages")
    return Orders(view, after, tuple(zip(senders, firsts, lasts, strict=True)))


def _whole_run(encoded: Any) -> Run:
    if type(encoded) is not bytes or len(encoded) + limits.RUN_HEADER_BYTES > limits.LOAD_BYTES_MAX:
        raise MalformedFrame("a run is not bytes, or too many to travel whole")
    return _run(encoded)


def _piece(fields: list[Any]) -> Piece:
    sender, view, first, at_byte, total, data = fields
    if type(data) is not bytes or not data:
        raise MalformedFrame("a piece without bytes")
    # Beyond its end it would overwrite nothing, but `partial` would then claim bytes that do not exist.
    if checked.number(total) > limits.LARGE_RUN_BYTES_MAX or checked.number(at_byte) + len(data) > total:
        raise MalformedFrame("a piece of more than a run may be, or beyond its end")
    if checked.number(first) < 1:
        raise MalformedFrame("message numbers begin with 1")
    return Piece(checked.process(sender), checked.number(view), first, at_byte, total, data)


def _run(encoded: bytes) -> Run:
    sender, view, first, clock, payloads = msgpack.unpackb(encoded, **_BOUNDS)
    if type(payloads) is msgpack.ExtType and payloads.code == _BROUGHT:
        payloads = [Brought(payloads.data)]
    # Exactly bytes or str: msgpack gives lists and maps too, and an application must never be handed one.
    elif not payloads or type(payloads) is not list or not set(map(type, payloads)) <= {bytes, str}:
        raise MalformedFrame("a run's payloads are not bytes or text")
    if max(map(len, payloads)) > limits.MESSAGE_BYTES_MAX:
        raise MalformedFrame("a message over the limit")
    checked.numbers(view, first)
    # The audit and every store rely on numbers from 1, dense, and small enough for a 64-bit column.
    if first < 1 or first + len(payloads) - 1 > limits.NUMBER_MAX:
        raise MalformedFrame("message numbers begin with 1 and end with the largest number")
    return Run(checked.process(sender), view, first, checked.counts(clock), payloads, encoded)


def _letter(fields: Any) -> Letter:
    number, kind, call, payload = fields
    if type(payload) not in (bytes, str) or size_of(payload) > limits.LETTER_BYTES_MAX:
        raise MalformedFrame("a letter's payload is not bytes or text, or over the limit")
    if checked.number(number) < 1 or (checked.number(call) == 0) is not (checked.number(kind) == Kind.UNICAST):
        raise MalformedFrame("letters are numbered from 1, and all but unicasts are of a call")
    return Letter(number, Kind(kind), call, payload)


def _standing(fields: list[Any]) -> Standing:
    keeping, source, failed = fields
    given_by = None if source is None else (checked.process(source[0]), checked.number(source[1]))
    return Standing(Keeping(checked.number(keeping)), given_by, checked.processes(failed))


def _chunk(f: list[Any]) -> Control:
    view, index, count, data = f
    if not 1 <= checked.number(index) <= checked.number(count) <= limits.STATE_CHUNKS_MAX:
        raise MalformedFrame(f"{index!r} of {count!r} is no chunk of a state")
    if type(data) is not bytes or len(data) > limits.STATE_CHUNK_BYTES:
        raise MalformedFrame("a chunk of state is too long, or no bytes")
    return frames.StateChunk(checked.number(view), index, count, data)


def encode_decision(decision: Decision) -> bytes:
    """Return the bytes of a decision by itself, as the witness keeps it."""
    return _pack(plain_decision(decision) or ())


def decode_decision(data: bytes) -> Decision:
    """Return the decision of `data`; raise MalformedFrame."""
    try:
        return decision_of(msgpack.unpackb(data, **_BOUNDS))
    except _NOT_OURS as error:
        raise MalformedFrame(f"not a decision: {error}") from error


def _holders(fields: Any) -> dict[Process, tuple[Process, ...]]:
    # A full group's senders, and the order.
    if type(fields) is not dict or len(fields) > limits.MEMBERS_MAX + 1:
        raise MalformedFrame("holders")
    return {checked.stream(sender): checked.processes(who) for sender, who in fields.items()}


def _ballot(fields: Any) -> Ballot:
    attempt, rank = fields
    # A ballot above every honest one would stop all later proposers of the view.
    if checked.number(attempt) > limits.ATTEMPT_MAX or checked.number(rank) >= limits.MEMBERS_MAX:
        raise MalformedFrame(f"{fields!r} is no ballot")
    return attempt, rank


def _prepare(f: list[Any]) -> Control:
    return frames.Prepare(checked.number(f[0]), _ballot(f[1]), checked.flag(f[2]))


def _promise(f: list[Any]) -> Control:
    accepted = None if f[4] is None else decision_of(f[4])
    state = _standing(f[5])
    held, agreed = checked.streams(f[2]), checked.number(f[6])
    return frames.Promise(checked.number(f[0]), _ballot(f[1]), held, _ballot(f[3]), accepted, state, agreed)


def _cut(f: list[Any]) -> Control:
    return frames.Cut(checked.number(f[0]), _ballot(f[1]), decision_of(f[2]), _holders(f[3]))


def _fetch(f: list[Any]) -> Control:
    return frames.Fetch(
        checked.number(f[0]), checked.stream(f[1]), checked.number(f[2]), checked.number(f[3]), checked.number(f[4])
    )


def _refusal(f: list[Any]) -> Control:
    return frames.JoinRefused(checked.text(f[0], 40), checked.text(f[1], 1000))


def _reach(f: list[Any]) -> Control:
    seats = dict(f[0])
    return frames.Reach(checked.processes(list(seats)), tuple(map(names.address, seats.values())))


# The wire's number of each control item. A number is never given to another item: an old peer would misread it.
_DECODERS: dict[int, Callable[[list[Any]], Control]] = {
    1: lambda f: frames.Join(names.address(f[0]), checked.flag(f[1]), checked.processes(f[2])),
    2: lambda f: frames.Redirect(checked.process(f[0]), names.address(f[1])),
    3: _refusal,
    4: _prepare,
    5: _promise,
    6: lambda f: frames.Nack(checked.number(f[0]), _ballot(f[1])),
    7: _cut,
    8: lambda f: frames.CutOk(checked.number(f[0]), _ballot(f[1])),
    9: lambda f: frames.Install(decision_of(f[0]), checked.number(f[1]), _ballot(f[2])),
    10: _fetch,
    11: _chunk,
    12: lambda f: frames.StateRefused(checked.number(f[0]), checked.text(f[1], 1000)),
    13: _reach,
    20: lambda f: frames.GiveWay(checked.process(f[0]), names.address(f[1])),
    21: lambda f: frames.Probe(checked.number(f[0]), checked.processes(f[1])),
    22: lambda f: frames.IndirectAck(checked.number(f[0]), checked.processes(f[1])),
    23: lambda f: frames.DiscoverRequest(checked.number(f[0]), checked.number(f[1]), names.address(f[2])),
    24: lambda f: frames.DiscoverReply(
        checked.number(f[0]), checked.number(f[1]), checked.process(f[2]), names.address(f[3])
    ),
}


def _decode_control(fields: Any) -> Control:
    if type(fields) is not list or type(fields[0]) is not int:
        raise MalformedFrame("a control item is no list that begins with its number")
    return _DECODERS[fields[0]](fields[1:])


def _encode_control(item: Control) -> tuple[Any, ...]:
    match item:
        case frames.Join(address, takes_state, reached):
            return (1, address, takes_state, reached)
        case frames.Redirect(process, address):
            return (2, process, address)
        case frames.JoinRefused(code, text):
            return (3, code, text)
        case frames.Reach(members, addresses):
            return (13, dict(zip(members, addresses, strict=True)))
        case frames.Prepare(view, ballot, succession):
            return (4, view, ballot, succession)
        case frames.Promise(view, ballot, held, accepted_ballot, accepted, standing, agreed):
            state = (standing.keeping, standing.source, standing.failed)
            return (5, view, ballot, held, accepted_ballot, plain_decision(accepted), state, agreed)
        case frames.Nack(view, promised):
            return (6, view, promised)
        case frames.Cut(view, ballot, decision, holders):
            return (7, view, ballot, plain_decision(decision), holders)
        case frames.CutOk(view, ballot):
            return (8, view, ballot)
        case frames.Install(decision, serial, ballot):
            return (9, plain_decision(decision), serial, ballot)
        case frames.Fetch(view, sender, first, last, at_byte):
            return (10, view, sender, first, last, at_byte)
        case frames.StateChunk(view, index, count, data):
            return (11, view, index, count, data)
        case frames.StateRefused(view, text):
            return (12, view, text[:1000])
        case frames.GiveWay(process, address):
            return (20, process, address)
        case frames.DiscoverRequest(view, rank, address):
            return (23, view, rank, address)
        case frames.DiscoverReply(view, members, process, address):
            return (24, view, members, process, address)
        case frames.Probe(view, silent):
            return (21, view, silent)
        case frames.IndirectAck(view, heard):
            return (22, view, heard)
