"""Requests and answers of the directory as bytes.

A message is a msgpack list: protocol version, kind, then that kind's fields in the order of its class. The version is
first and judged first, so that two versions can always tell each other so. Everything else is checked here, once:
what `decode_*` returns is as good as a value made by us.
"""

from __future__ import annotations

import re
from typing import Any, assert_never

import msgpack

from gcom.core import checked
from gcom.core.codec import decode_decision, encode_decision
from gcom.core.frames import Decision
from gcom.core.requests import (
    Answer,
    Claim,
    Create,
    Done,
    Entries,
    Entry,
    Fork,
    ListGroups,
    Lookup,
    Refusal,
    Register,
    Remove,
    Request,
    Unregister,
)
from gcom.core.versions import check_version
from gcom.core.witness import (
    WitnessAccept,
    WitnessDecided,
    WitnessFull,
    WitnessNack,
    WitnessPassed,
    WitnessPrepare,
    WitnessPromised,
)
from gcom.errors import BadValue, MalformedFrame
from gcom.values import limits, names
from gcom.values.definition import Definition
from gcom.values.view import View

_TEXT_MAX = 4096  # of a refusal, in characters; longer ones are cut
_CODE = re.compile(r"[A-Za-z]{1,32}")


def encode_request(request: Request) -> bytes:
    match request:
        case Create(definition):
            return _pack("create", _plain_definition(definition))
        case Lookup(group):
            return _pack("lookup", group)
        case ListGroups(after):
            return _pack("list", after)
        case Claim(group, instance, view, process, address, dead, former):
            return _pack("claim", group, instance, view, process, address, dead, former)
        case Register(definition, instance, view):
            fields = [view.number, view.members, view.addresses, view.started]
            return _pack("register", _plain_definition(definition), instance, fields)
        case Unregister(group, instance, view):
            return _pack("unregister", group, instance, view)
        case Remove(group):
            return _pack("remove", group)
        case Fork(group, instance):
            return _pack("fork", group, instance)
        case WitnessPrepare(instance, view, ballot):
            return _pack("prepare", instance, view, ballot)
        case WitnessAccept(instance, view, ballot, decision):
            return _pack("accept", instance, view, ballot, encode_decision(decision))
        case _:
            assert_never(request)


def decode_request(data: bytes) -> Request:
    """Raises MalformedFrame or VersionMismatch."""
    match _unpack(data):
        case ["create", definition]:
            return Create(_definition(definition))
        case ["lookup", group]:
            return Lookup(_group(group))
        case ["list", after]:
            return ListGroups(_group(after) if after else _text(after, 0))
        case ["claim", group, instance, view, process, address, dead, former]:
            where = (_group(group), checked.instance(instance), checked.number(view))
            was = checked.process(former) if former else _text(former, 0)
            return Claim(*where, checked.process(process), _address(address), checked.flag(dead), was)
        case ["register", definition, instance, view]:
            return Register(_definition(definition), checked.instance(instance), _view(view))
        case ["unregister", group, instance, view]:
            return Unregister(_group(group), checked.instance(instance), checked.number(view))
        case ["remove", group]:
            return Remove(_group(group))
        case ["fork", group, instance]:
            return Fork(_group(group), checked.instance(instance))
        case ["prepare", instance, view, ballot]:
            return WitnessPrepare(checked.instance(instance), checked.number(view), _ballot(ballot))
        case ["accept", instance, view, ballot, decision]:
            decided = _decision(view, decision)
            return WitnessAccept(checked.instance(instance), checked.number(view), _ballot(ballot), decided)
        case other:
            raise _malformed("request", other[:1])


def encode_answer(answer: Answer) -> bytes:
    match answer:
        case Entry():
            return _pack("entry", _plain_entry(answer))
        case Entries(groups, more):
            return _pack("entries", [_plain_entry(entry) for entry in groups], more)
        case Done():
            return _pack("done")
        case Refusal(code, text):
            return _pack("refusal", code, text[:_TEXT_MAX])
        case WitnessPromised(view, ballot):
            return _pack("promised", view, ballot)
        case WitnessDecided(view, decision):
            return _pack("decided", view, encode_decision(decision))
        case WitnessNack(view, promised):
            return _pack("nack", view, promised)
        case WitnessPassed(view):
            return _pack("passed", view)
        case WitnessFull():
            return _pack("full")
        case _:
            assert_never(answer)


def decode_answer(data: bytes) -> Answer:
    """Raises MalformedFrame or VersionMismatch."""
    match _unpack(data):
        case ["entry", entry]:
            return _entry(entry)
        case ["entries", [*groups], more]:
            return Entries(tuple(map(_entry, groups)), checked.flag(more))
        case ["done"]:
            return Done()
        case ["refusal", str() as code, text] if _CODE.fullmatch(code):
            return Refusal(code, _text(text, _TEXT_MAX))
        case ["promised", view, ballot]:
            return WitnessPromised(checked.number(view), _ballot(ballot))
        case ["decided", view, decision]:
            return WitnessDecided(checked.number(view), _decision(view, decision))
        case ["nack", view, ballot]:
            return WitnessNack(checked.number(view), _ballot(ballot))
        case ["passed", view]:
            return WitnessPassed(checked.number(view))
        case ["full"]:
            return WitnessFull()
        case other:
            raise _malformed("answer", other[:1])


def _pack(kind: str, *fields: object) -> bytes:
    packed: bytes = msgpack.packb([limits.PROTOCOL_VERSION, kind, *fields])
    return packed


def _unpack(data: bytes) -> list[Any]:
    """The kind and its fields; maps and extensions are nothing of ours, and the only bytes are a decision's."""
    bounds = {"max_array_len": limits.DIRECTORY_GROUPS_MAX, "max_map_len": 0, "max_ext_len": 0}
    try:
        parts = msgpack.unpackb(data, max_bin_len=limits.FRAME_HEADER_BYTES, **bounds)
    except (ValueError, msgpack.exceptions.UnpackException) as error:
        raise MalformedFrame(f"not a message of the directory: {type(error).__name__}") from error
    if not isinstance(parts, list) or len(parts) < 2 or type(parts[0]) is not int:
        raise _malformed("message", parts)
    check_version(parts[0])
    return parts[1:]


def _plain_definition(it: Definition) -> list[object]:
    split = [it.netsplit.value, it.tie_breaker.value]
    return [it.group, it.ordering.value, it.multicast.value, it.static, it.safe, *split]


def _plain_entry(it: Entry) -> list[object]:
    return [_plain_definition(it.definition), it.instance, it.view, it.members, it.addresses, it.alive, it.forked]


def _ballot(value: Any) -> tuple[int, int]:
    match value:
        case [attempt, rank] if (
            checked.number(attempt) <= limits.ATTEMPT_MAX and checked.number(rank) < limits.MEMBERS_MAX
        ):
            return attempt, rank
    raise _malformed("ballot", value)


def _decision(view: Any, value: Any) -> Decision:
    """The decision that leads out of a view."""
    if not isinstance(value, bytes):
        raise _malformed("decision", value)
    decision = decode_decision(value)
    if decision.view.number != checked.number(view) + 1:
        raise _malformed("decision out of that view", view)
    return decision


def _definition(value: Any) -> Definition:
    match value:
        case [str(), str() as ordering, str() as multicast, [*static], bool(), str() as netsplit, str() as tie_breaker]:
            try:
                definition = Definition.parse(value[0], ordering, multicast, static, value[4], netsplit, tie_breaker)
            except BadValue as error:
                raise MalformedFrame(str(error)) from error
            # One definition has one form, so that equal ones compare equal wherever they come from.
            if _plain_definition(definition) == [*value[:3], tuple(static), *value[4:]]:
                return definition
    raise _malformed("definition", value)


def _entry(value: Any) -> Entry:
    match value:
        case [definition, instance, view, [*members], [*addresses], alive, forked]:
            number = checked.number(view)
            if bool(number) == bool(members):
                seats = _seats(members, addresses)
                return Entry(
                    _definition(definition),
                    checked.instance(instance),
                    number,
                    *seats,
                    checked.flag(alive),
                    checked.flag(forked),
                )
    raise _malformed("entry", value)


def _view(value: Any) -> View:
    match value:
        case [int() as number, [_, *_] as members, [*addresses], started] if checked.number(number):
            return View(number, *_seats(members, addresses), checked.flag(started))
    raise _malformed("view", value)


def _seats(members: list[Any], addresses: list[Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if len(members) > limits.MEMBERS_MAX or len(members) != len(addresses):
        raise MalformedFrame(f"{len(members)} members with {len(addresses)} addresses: at most {limits.MEMBERS_MAX}")
    seated = tuple(map(checked.process, members))
    if len(set(seated)) != len(seated):
        raise _malformed("view with a member twice", members)
    return seated, tuple(map(_address, addresses))


def _group(value: Any) -> str:
    try:
        return names.group_name(value)
    except BadValue as error:
        raise MalformedFrame(str(error)) from error


def _address(value: Any) -> str:
    try:
        return names.address(value)
    except BadValue as error:
        raise MalformedFrame(str(error)) from error


def _text(value: Any, longest: int) -> str:
    if not isinstance(value, str) or len(value) > longest:
        raise _malformed(f"text of at most {longest}", value)
    return value


def _malformed(what: str, value: object) -> MalformedFrame:
    return MalformedFrame(f"not a valid {what}: {str(value)[:80]!r}")
