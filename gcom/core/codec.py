"""Bytes to frames and back: the only place where something from a peer becomes a value, so all of it is checked here.

A frame is a msgpack array `[version, group, instance, source, target, status, control, runs]`; a run is encoded once,
by its sender, and travels as a blob to all peers and through relays. Payload checks go through C loops (`map`, `set`):
this is the one place that touches each message on the way in.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgpack

from gcom.core import frames
from gcom.core.frames import Ballot, Control, Decision, Frame, Refused, Reply, Status
from gcom.errors import MalformedFrame, VersionMismatch
from gcom.values import limits, names
from gcom.values.names import Process
from gcom.values.run import Payload, Run
from gcom.values.view import View

_CODES = ("unknown", "expelled", "version")
_BOUNDS = {
    "max_str_len": limits.MESSAGE_BYTES_MAX,
    "max_bin_len": limits.FRAME_BYTES_MAX,
    "max_array_len": limits.RUN_MESSAGES_MAX,
    "max_map_len": limits.RUN_MESSAGES_MAX,
    "max_ext_len": 0,
}


def encode_run(sender: Process, view: int, first: int, clock: dict[Process, int], payloads: list[Payload]) -> bytes:
    return _pack((sender, view, first, clock, payloads))


def encode(frame: Reply) -> bytes:
    """The bytes of a frame or of a refusal."""
    if isinstance(frame, Refused):
        return _pack((limits.PROTOCOL_VERSION, frame.code, frame.text))
    s = frame.status
    status = (s.view, s.held, s.consumed, s.stable, s.sent, s.frozen, s.leaving, s.suspects)
    control = [_encode_control(item) for item in frame.control]
    runs = [run.encoded for run in frame.runs]
    return _pack(
        (limits.PROTOCOL_VERSION, frame.group, frame.instance, frame.source, frame.target, status, control, runs)
    )


def decode(data: bytes) -> Frame:
    """The frame of `data`; raises MalformedFrame or VersionMismatch."""
    reply = decode_reply(data)
    if isinstance(reply, Refused):
        raise MalformedFrame("a refusal is no frame")
    return reply


def decode_reply(data: bytes) -> Reply:
    """The frame or refusal of `data`; raises MalformedFrame or VersionMismatch."""
    if len(data) > limits.FRAME_BYTES_MAX:
        raise MalformedFrame(f"{len(data)} bytes are more than a frame of {limits.FRAME_BYTES_MAX}")
    try:
        fields = msgpack.unpackb(data, **_BOUNDS)
        if not isinstance(fields, list) or not fields or type(fields[0]) is not int:
            raise MalformedFrame("no version")
        if fields[0] != limits.PROTOCOL_VERSION:
            raise VersionMismatch(f"a peer speaks protocol {fields[0]}, this process {limits.PROTOCOL_VERSION}")
        return _refused(fields) if len(fields) == 3 else _frame(fields)
    except (
        ValueError,
        TypeError,
        KeyError,
        IndexError,
        RecursionError,
        OverflowError,
        msgpack.UnpackException,
    ) as error:
        raise MalformedFrame(f"not a frame: {error}") from error


def _refused(fields: list[Any]) -> Refused:
    _, code, text = fields
    if code not in _CODES or not isinstance(text, str):
        raise MalformedFrame(f"refusal {code!r}")
    return Refused(code, text[:1000])


def _frame(fields: list[Any]) -> Frame:
    _, group, instance, source, target, status, control, runs = fields
    if type(control) is not list or type(runs) is not list or len(control) > limits.CONTROL_ITEMS_MAX:
        raise MalformedFrame("control items or runs are too many, or no lists of them")
    return Frame(
        names.group_name(group),
        _instance(instance),
        _process(source),
        _process(target),
        _status(status),
        tuple(map(_decode_control, control)),
        tuple(map(_run, runs)),
    )


def _status(fields: list[Any]) -> Status:
    view, held, consumed, stable, sent, frozen, leaving, suspects = fields
    return Status(
        _number(view),
        _number(held),
        _number(consumed),
        _number(stable),
        _number(sent),
        _flag(frozen),
        _flag(leaving),
        _processes(suspects),
    )


def _run(encoded: Any) -> Run:
    if type(encoded) is not bytes:
        raise MalformedFrame("a run is not bytes")
    sender, view, first, clock, payloads = msgpack.unpackb(encoded, **_BOUNDS)
    if not payloads or type(payloads) is not list or not set(map(type, payloads)) <= {bytes, str}:
        raise MalformedFrame("a run's payloads are not bytes or text")
    if max(map(len, payloads)) > limits.MESSAGE_BYTES_MAX:
        raise MalformedFrame("a message over the limit")
    if _number(first) < 1 or first + len(payloads) - 1 > limits.NUMBER_MAX:
        raise MalformedFrame("message numbers begin with 1 and end with the largest number")
    return Run(_process(sender), _number(view), first, _counts(clock), payloads, encoded)


def _encode_view(view: View) -> tuple[Any, ...]:
    return (view.number, view.members, view.addresses, view.started)


def _view(fields: list[Any]) -> View:
    number, members, addresses, started = fields
    view = View(_number(number), _processes(members), tuple(map(names.address, addresses)), _flag(started))
    if not 0 < len(view.members) == len(view.addresses) or len(set(view.members)) != len(view.members):
        raise MalformedFrame("a view's members are empty, twice, or without addresses")
    return view


def _encode_decision(decision: Decision | None) -> tuple[Any, ...] | None:
    if decision is None:
        return None
    return (_encode_view(decision.view), decision.joined, decision.left, decision.cut)


def _decision(fields: list[Any]) -> Decision:
    view, joined, left, cut = fields
    if (
        type(left) is not dict
        or len(left) > limits.MEMBERS_MAX
        or not all(isinstance(reason, str) and len(reason) <= 40 for reason in left.values())
    ):
        raise MalformedFrame("reasons")
    decision = Decision(
        _view(view), _processes(joined), {_process(who): why for who, why in left.items()}, _counts(cut)
    )
    if not set(decision.joined) <= set(decision.view.members) or not left.keys().isdisjoint(decision.view.members):
        raise MalformedFrame("a decision's view lacks who joined, or has who left")
    return decision


def _holders(fields: Any) -> dict[Process, tuple[Process, ...]]:
    if type(fields) is not dict or len(fields) > limits.MEMBERS_MAX:
        raise MalformedFrame("holders")
    return {_process(sender): _processes(who) for sender, who in fields.items()}


def _ballot(fields: Any) -> Ballot:
    attempt, rank = fields
    if _number(attempt) > limits.ATTEMPT_MAX or _number(rank) >= limits.MEMBERS_MAX:
        raise MalformedFrame(f"{fields!r} is no ballot")
    return attempt, rank


def _prepare(f: list[Any]) -> Control:
    return frames.Prepare(_number(f[0]), _ballot(f[1]))


def _promise(f: list[Any]) -> Control:
    accepted = None if f[4] is None else _decision(f[4])
    return frames.Promise(_number(f[0]), _ballot(f[1]), _counts(f[2]), _ballot(f[3]), accepted)


def _cut(f: list[Any]) -> Control:
    return frames.Cut(_number(f[0]), _ballot(f[1]), _decision(f[2]), _holders(f[3]))


def _fetch(f: list[Any]) -> Control:
    return frames.Fetch(_number(f[0]), _process(f[1]), _number(f[2]), _number(f[3]))


def _refusal(f: list[Any]) -> Control:
    return frames.JoinRefused(_text(f[0], 40), _text(f[1], 1000))


# The wire's number of each control item; a number is never given to another.
_DECODERS: dict[int, Callable[[list[Any]], Control]] = {
    1: lambda f: frames.Join(names.address(f[0])),
    2: lambda f: frames.Redirect(_process(f[0]), names.address(f[1])),
    3: _refusal,
    4: _prepare,
    5: _promise,
    6: lambda f: frames.Nack(_number(f[0]), _ballot(f[1])),
    7: _cut,
    8: lambda f: frames.CutOk(_number(f[0]), _ballot(f[1])),
    9: lambda f: frames.Install(_decision(f[0])),
    10: _fetch,
}


def _decode_control(fields: Any) -> Control:
    if type(fields) is not list or type(fields[0]) is not int:
        raise MalformedFrame("a control item is no list that begins with its number")
    return _DECODERS[fields[0]](fields[1:])


def _encode_control(item: Control) -> tuple[Any, ...]:
    match item:
        case frames.Join(address):
            return (1, address)
        case frames.Redirect(process, address):
            return (2, process, address)
        case frames.JoinRefused(code, text):
            return (3, code, text)
        case frames.Prepare(view, ballot):
            return (4, view, ballot)
        case frames.Promise(view, ballot, held, accepted_ballot, accepted):
            return (5, view, ballot, held, accepted_ballot, _encode_decision(accepted))
        case frames.Nack(view, promised):
            return (6, view, promised)
        case frames.Cut(view, ballot, decision, holders):
            return (7, view, ballot, _encode_decision(decision), holders)
        case frames.CutOk(view, ballot):
            return (8, view, ballot)
        case frames.Install(decision):
            return (9, _encode_decision(decision))
        case frames.Fetch(view, sender, first, last):
            return (10, view, sender, first, last)


def _number(value: Any) -> int:
    if type(value) is not int or not 0 <= value <= limits.NUMBER_MAX:
        raise MalformedFrame(f"{value!r} is no number")
    return value


def _flag(value: Any) -> bool:
    if type(value) is not bool:
        raise MalformedFrame(f"{value!r} is no flag")
    return value


def _text(value: Any, length_max: int) -> str:
    if type(value) is not str or len(value) > length_max:
        raise MalformedFrame("a text is too long or none")
    return value


def _instance(value: Any) -> str:
    if not _text(value, 32).isalnum():
        raise MalformedFrame(f"{value!r} is no instance")
    return str(value)


def _process(value: Any) -> Process:
    if not names.is_process(value):
        raise MalformedFrame(f"{value!r} is no process")
    return str(value)


def _processes(values: Any) -> tuple[Process, ...]:
    if type(values) is not list or len(values) > limits.MEMBERS_MAX:
        raise MalformedFrame("too many processes, or no list of them")
    return tuple(map(_process, values))


def _counts(values: Any) -> dict[Process, int]:
    if type(values) is not dict or len(values) > 2 * limits.MEMBERS_MAX:
        raise MalformedFrame("too many counts, or no table of them")
    return {_process(who): _number(count) for who, count in values.items()}


def _pack(fields: tuple[Any, ...]) -> bytes:
    packed: bytes = msgpack.packb(fields)
    return packed
