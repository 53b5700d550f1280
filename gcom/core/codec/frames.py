"""Codec of frames: one call between two processes, and its reply.

A frame is a msgpack array `[version, runs, group, instance, source, target, status, control, fragments, orders,
envelopes]`; a run is encoded once, by its sender, and travels as a blob, or in fragments of it, to all peers and
through relays. Runs are in front, so that a large one is neither copied into its frame nor out of it: what follows is
read by itself.

Status, runs, orders and envelopes are written by hand, not by a table: each message passes here, and their checks go
through C loops (`map`, `set`), over all payloads of a run or all spans of an order at once.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter, gt
from typing import Any

import msgpack

from gcom.core.codec.control import BOUNDS, decode_control, encode_control
from gcom.core.codec.kinds import (
    COUNTS,
    GROUP,
    INSTANCE,
    NUMBER,
    PROCESS,
    PROCESSES,
    decode_unheard,
    encode_unheard,
    number,
    numbers,
    one_of,
    record,
    text,
)
from gcom.core.codec.schema import NOT_OURS, FieldKind, Record, malformed, not_spoken, optional
from gcom.core.messages.frames import LEAVES_FOR, Frame, Refused, Reply, Status
from gcom.core.messages.orders import Orders
from gcom.errors import MalformedFrame
from gcom.values import limits
from gcom.values.envelope import Envelope, EnvelopeReceipt, Kind, size_of
from gcom.values.names import Process
from gcom.values.run import Encoded, Fragment, Payload, Run, Seal, StateToMerge

_pack: Callable[[tuple[Any, ...]], bytes] = msgpack.packb
# The fields that travel, in the order of the wire; a status is in two rows, so that each is checked at once. `_status`
# takes them in this order, and gives them to `Status` by place, in the order of that class.
_COUNTS = attrgetter(
    *("view", "held", "consumed", "stable", "sent", "safe", "ordered", "agreed", "partial", "state", "arrived")
)
_FLAGS = attrgetter("cut_off", "reaches", "wedged", "needs_donor")
_RECEIPT = attrgetter("held", "read", "served")
_USUAL: tuple[str, list[Process], bytes] = ("", [], b"")  # nobody leaves, is suspected or unheard
_LEAVING = one_of("", *LEAVES_FOR)
_ENCODED = attrgetter("encoded")
_ENVELOPE = attrgetter("number", "kind", "call", "payload")
_BROUGHT = 1  # the extension type of a state that a member brings
_REFUSED = record(
    Refused,
    code=one_of("unknown", "ended", "returning", "entering", "elsewhere", "expelled", "version"),
    # A peer's words go into errors and logs: bounded, but not refused, for the code matters more.
    text=FieldKind(lambda given: str.__getitem__(given, slice(1000))),
    settled=optional(NUMBER),
    life=text(80),
)
# A frame of one large run begins with these and four bytes of its length, and ends with what follows the run. They are
# msgpack's: arrays of 11, 1 and 9, and bytes with a length of 32 bits.
_LARGE_BYTES = 4096
_ONE_RUN = bytes([0x9B, limits.PROTOCOL_VERSION, 0x91, 0xC6])
_REST = b"\x99"
_REFUSED_FIELDS = 5  # a frame has ten: no field needs to say which of the two came
_SEALED_FIELDS = 3  # a run without a seal has five


def _fragment(fragment: Fragment) -> None:
    # Beyond its end it would overwrite nothing, but `partial` would then claim bytes that do not exist.
    if not fragment.data or not fragment.first or not fragment.end <= fragment.total <= limits.LARGE_RUN_BYTES_MAX:
        raise malformed(
            "fragment",
            "bytes of a run from message 1 on, not beyond its end",
            (fragment.at_byte, len(fragment.data), fragment.total),
        )


_FRAGMENT = record(Fragment, _fragment)


def encode_run(sender: Process, view: int, first: int, clock: dict[Process, int], payloads: list[Payload]) -> bytes:
    if type(payloads[0]) is StateToMerge:
        return _pack((sender, view, first, clock, msgpack.ExtType(_BROUGHT, payloads[0])))
    return _pack((sender, view, first, clock, payloads))


def seal_run(encoded: bytes, signature: bytes, credential: bytes) -> tuple[bytes, Seal]:
    """Return an encoded run as it travels in a signed group, and its seal."""
    sealed = _pack((signature, credential, encoded))
    return sealed, Seal(signature, credential, len(sealed) - len(encoded))


def encode(frame: Reply) -> bytes:
    """Return the bytes of a frame or of a refusal."""
    return b"".join(encode_parts(frame))


def encode_parts(frame: Reply) -> tuple[Encoded, ...]:
    """Return the bytes of a frame or of a refusal, in parts: a large run is one of them, as it is."""
    if isinstance(frame, Refused):
        return (_pack((limits.PROTOCOL_VERSION, *_REFUSED.encode(frame))),)
    said = frame.status
    # In a group whose links are whole it is empty, and costs one byte.
    unheard = encode_unheard(said.unheard) if said.unheard else b""
    status = (_COUNTS(said), _FLAGS(said), said.leaving, said.suspects, _RECEIPT(said.receipt), unheard)
    control = tuple(map(encode_control, frame.control))
    fragments, orders = tuple(map(_FRAGMENT.encode, frame.fragments)), frame.orders and _SPANS(frame.orders)
    head = (frame.group, frame.instance, frame.source, frame.target, status, control)
    rest = (*head, fragments, orders, tuple(map(_ENVELOPE, frame.envelopes)))
    runs = tuple(map(_ENCODED, frame.runs))
    if len(runs) != 1 or len(runs[0]) < _LARGE_BYTES:
        return (_pack((limits.PROTOCOL_VERSION, runs, *rest)),)
    return _ONE_RUN + len(runs[0]).to_bytes(4), runs[0], _pack(rest)[len(_REST) :]


def decode(data: Encoded) -> Frame:
    """Return the frame of `data`; raise MalformedFrame or VersionMismatch."""
    reply = decode_reply(data)
    if isinstance(reply, Refused):
        raise malformed("frame", "a call", reply)
    return reply


def decode_reply(data: Encoded) -> Reply:
    """Return the frame or refusal of `data`; raise MalformedFrame or VersionMismatch."""
    # Before unpacking: a peer must not make this process build more than a frame's worth of objects.
    if len(data) > limits.FRAME_BYTES_MAX:
        raise malformed("frame", f"at most {limits.FRAME_BYTES_MAX} bytes", len(data))
    try:
        parts = (len(data) >= _LARGE_BYTES and _with_one_run(data)) or msgpack.unpackb(data, **BOUNDS)
        version, *fields = parts
        if type(parts) is not list or type(version) is not int or version != limits.PROTOCOL_VERSION:
            raise not_spoken(parts)
        # A refusal has other fields than a frame: their number tells them apart, without a tag in every frame.
        if len(fields) == _REFUSED_FIELDS:
            refused: Refused = _REFUSED.decode(fields)
            return refused
        return _frame(fields)
    except NOT_OURS as error:
        raise MalformedFrame(f"malformed frame: {error}") from error


def _with_one_run(data: Encoded) -> list[Any] | None:
    """Return the fields of a frame that begins with one large run, a view of `data`; None: it does not."""
    if data[: len(_ONE_RUN)] != _ONE_RUN:
        return None
    begin = len(_ONE_RUN) + 4
    end = begin + int.from_bytes(data[begin - 4 : begin])
    # A view of a smaller run would keep the whole frame in memory for as long as the run is stored.
    if not len(data) <= 2 * (end - begin) or end > len(data):
        return None
    rest: list[Any] = msgpack.unpackb(_REST + data[end:], **BOUNDS)
    return [limits.PROTOCOL_VERSION, [memoryview(data)[begin:end]], *rest]


def decode_run(encoded: bytes) -> Run:
    """Return the run of one message that came in fragments; raise MalformedFrame."""
    try:
        run = _run(encoded)
    except NOT_OURS as error:
        raise MalformedFrame(f"malformed run: {error}") from error
    # Only a single message can be too large for a frame; several would hide from the bound on whole runs.
    if len(run.payloads) > 1:
        raise malformed("run in fragments", "one message", len(run.payloads))
    return run


def _frame(fields: list[Any]) -> Frame:
    runs, group, instance, source, target, status, control, fragments, orders, envelopes = fields
    if {type(control), type(runs), type(fragments), type(envelopes)} != {list}:
        raise malformed("frame", "lists of control items, runs, fragments and envelopes", type(control))
    # 512 envelopes and 256 items: more in one frame is an attempt to occupy this process.
    if len(control) > limits.CONTROL_ITEMS_MAX or len(envelopes) > limits.ENVELOPES_TAKEN:
        raise malformed("frame", "fewer control items and envelopes", (len(control), len(envelopes)))
    return Frame(
        GROUP.decode(group),
        INSTANCE.decode(instance),
        PROCESS.decode(source),
        PROCESS.decode(target),
        _status(status),
        tuple(map(decode_control, control)),
        tuple(map(_whole_run, runs)),
        tuple(map(_FRAGMENT.decode, fragments)),
        None if orders is None else _orders(orders),
        tuple(map(_envelope, envelopes)),
    )


def _status(fields: list[Any]) -> Status:
    counts, flags, leaving, suspects, receipt, unheard = fields
    view, held, consumed, stable, sent, safe, ordered, agreed, partial, state, arrived = counts
    got, read, served = receipt
    numbers(*counts, *receipt)
    cut_off, reaches, wedged, needs_donor = flags
    if set(map(type, flags)) != {bool}:
        raise malformed("flags", "true or false", flags)
    marks = (view, held, consumed, stable, sent, safe, ordered, agreed)
    # Nearly every status has these three at their defaults; the check of each would cost more than all the rest.
    if (leaving, suspects, unheard) != _USUAL:
        leaving, suspects, unheard = _LEAVING.decode(leaving), PROCESSES.decode(suspects), decode_unheard(unheard)
    told = (tuple(suspects), partial, EnvelopeReceipt(got, read, served), state, needs_donor, unheard or {}, arrived)
    return Status(*marks, cut_off, reaches, wedged, leaving, *told)


def _orders(given: Any) -> Orders:
    view, after, spans = given
    if type(spans) is not list or len(spans) > limits.ORDERS_MAX:
        raise malformed("order", f"a list of at most {limits.ORDERS_MAX} spans", spans)
    # In columns, so that the checks run in C: an order may have 512 spans.
    senders, firsts, lasts = zip(*spans, strict=True) if spans else ((), (), ())
    numbers(view, after, *firsts, *lasts)
    if 0 in firsts or any(map(gt, firsts, lasts)):
        raise malformed("span of an order", "messages from 1, first to last", spans)
    return Orders(view, after, tuple(zip(map(PROCESS.decode, senders), firsts, lasts, strict=True)))


_SPANS = attrgetter("view", "after", "spans")
ORDERS = Record(_orders, _SPANS, Orders)


def _whole_run(encoded: Any) -> Run:
    if type(encoded) not in (bytes, memoryview) or len(encoded) + limits.RUN_HEADER_BYTES > limits.LOAD_BYTES_MAX:
        raise malformed("run", f"at most {limits.LOAD_BYTES_MAX} bytes", encoded)
    return _run(encoded)


def _run(encoded: Encoded) -> Run:
    parts = msgpack.unpackb(encoded, **BOUNDS)
    seal = None
    if len(parts) == _SEALED_FIELDS:
        signature, credential, body = parts
        if {type(signature), type(credential), type(body)} != {bytes} or len(credential) > limits.CREDENTIAL_BYTES_MAX:
            raise malformed("signed run", f"a credential of at most {limits.CREDENTIAL_BYTES_MAX} bytes", credential)
        # The body ends where the whole ends, so the bytes that were signed need not be kept a second time.
        seal = Seal(signature, credential, len(encoded) - len(body))
        parts = msgpack.unpackb(body, **BOUNDS)
    sender, view, first, clock, payloads = parts
    if type(payloads) is msgpack.ExtType and payloads.code == _BROUGHT:
        payloads = [StateToMerge(payloads.data)]
    # Exactly bytes or str: msgpack gives lists and maps too, and an application must never be handed one.
    elif not payloads or type(payloads) is not list or not set(map(type, payloads)) <= {bytes, str}:
        raise malformed("run", "payloads of bytes or text", payloads)
    # Only a message in fragments can be so large; whole ones are bounded by their frame.
    if max(map(len, payloads)) > limits.MESSAGE_BYTES_MAX:
        raise malformed("message", f"at most {limits.MESSAGE_BYTES_MAX} bytes", max(map(len, payloads)))
    numbers(view, first)
    # The audit and every store rely on numbers from 1, dense, and small enough for a 64-bit column.
    if first < 1 or first + len(payloads) - 1 > limits.NUMBER_MAX:
        raise malformed("run", "message numbers 1 to 2^63 - 1", first)
    # With the very bytes that came: a relay passes them on, and a store counts them, without encoding anew.
    return Run(PROCESS.decode(sender), view, first, COUNTS.decode(clock), payloads, encoded, seal)


def _envelope(given: Any) -> Envelope:
    at, kind, call, payload = given
    if type(payload) not in (bytes, str) or size_of(payload) > limits.ENVELOPE_BYTES_MAX:
        raise malformed("envelope", f"bytes or text, at most {limits.ENVELOPE_BYTES_MAX} bytes", type(payload))
    if number(at) < 1 or (number(call) == 0) is not (number(kind) == Kind.UNICAST):
        raise malformed("envelope", "a number from 1, and a call unless it is a unicast", (at, kind, call))
    return Envelope(at, Kind(kind), call, payload)
