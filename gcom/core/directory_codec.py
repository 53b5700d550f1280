"""Requests and answers of the directory as bytes.

A message is a msgpack list: protocol version, kind, then that kind's fields in the order of its class. The version is
first and judged first, so that two versions can always tell each other so. Everything else is checked here, once:
what `decode_*` returns is as good as a value made by us.
"""

from __future__ import annotations

import re
from typing import Any, assert_never

import msgpack

from gcom.core.directory import (
    Answer,
    Claim,
    Create,
    Done,
    Entries,
    Entry,
    ListGroups,
    Lookup,
    Refusal,
    Register,
    Remove,
    Request,
    Unregister,
)
from gcom.errors import BadValue, MalformedFrame, VersionMismatch
from gcom.values import limits, names
from gcom.values.definition import Definition
from gcom.values.view import View

_TEXT_MAX = 4096  # of a refusal, in characters; longer ones are cut
_CODE = re.compile(r"[A-Za-z]{1,32}")
_INSTANCE = re.compile(r"[0-9a-z]{1,32}")


def encode_request(request: Request) -> bytes:
    match request:
        case Create(definition):
            return _pack("create", _plain_definition(definition))
        case Lookup(group):
            return _pack("lookup", group)
        case ListGroups(after):
            return _pack("list", after)
        case Claim(group, instance, view, process, address, dead):
            return _pack("claim", group, instance, view, process, address, dead)
        case Register(definition, instance, view):
            fields = [view.number, view.members, view.addresses, view.started]
            return _pack("register", _plain_definition(definition), instance, fields)
        case Unregister(group, instance, view):
            return _pack("unregister", group, instance, view)
        case Remove(group):
            return _pack("remove", group)
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
        case ["claim", group, instance, view, process, address, dead]:
            where = (_group(group), _instance(instance), _number(view))
            return Claim(*where, _process(process), _address(address), _flag(dead))
        case ["register", definition, instance, view]:
            return Register(_definition(definition), _instance(instance), _view(view))
        case ["unregister", group, instance, view]:
            return Unregister(_group(group), _instance(instance), _number(view))
        case ["remove", group]:
            return Remove(_group(group))
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
        case _:
            assert_never(answer)


def decode_answer(data: bytes) -> Answer:
    """Raises MalformedFrame or VersionMismatch."""
    match _unpack(data):
        case ["entry", entry]:
            return _entry(entry)
        case ["entries", [*groups], more]:
            return Entries(tuple(map(_entry, groups)), _flag(more))
        case ["done"]:
            return Done()
        case ["refusal", str() as code, text] if _CODE.fullmatch(code):
            return Refusal(code, _text(text, _TEXT_MAX))
        case other:
            raise _malformed("answer", other[:1])


def _pack(kind: str, *fields: object) -> bytes:
    packed: bytes = msgpack.packb([limits.PROTOCOL_VERSION, kind, *fields])
    return packed


def _unpack(data: bytes) -> list[Any]:
    """The kind and its fields; maps, bytes and extensions are nothing of ours."""
    try:
        parts = msgpack.unpackb(
            data, max_array_len=limits.DIRECTORY_GROUPS_MAX, max_map_len=0, max_bin_len=0, max_ext_len=0
        )
    except (ValueError, msgpack.exceptions.UnpackException) as error:
        raise MalformedFrame(f"not a message of the directory: {type(error).__name__}") from error
    if not isinstance(parts, list) or len(parts) < 2 or type(parts[0]) is not int:
        raise _malformed("message", parts)
    if parts[0] != limits.PROTOCOL_VERSION:
        raise VersionMismatch(
            f"the peer speaks protocol {parts[0]}, this side {limits.PROTOCOL_VERSION}: use the same GCom on both"
        )
    return parts[1:]


def _plain_definition(it: Definition) -> list[object]:
    return [it.group, it.ordering.value, it.multicast.value, it.static, it.safe, it.netsplit.value]


def _plain_entry(it: Entry) -> list[object]:
    return [_plain_definition(it.definition), it.instance, it.view, it.members, it.addresses, it.alive]


def _definition(value: Any) -> Definition:
    match value:
        case [str(), str() as ordering, str() as multicast, [*static], bool(), str() as netsplit]:
            try:
                definition = Definition.parse(value[0], ordering, multicast, static, value[4], netsplit)
            except BadValue as error:
                raise MalformedFrame(str(error)) from error
            # One definition has one form, so that equal ones compare equal wherever they come from.
            if _plain_definition(definition) == [*value[:3], tuple(static), *value[4:]]:
                return definition
    raise _malformed("definition", value)


def _entry(value: Any) -> Entry:
    match value:
        case [definition, instance, view, [*members], [*addresses], alive]:
            number = _number(view)
            if bool(number) == bool(members):
                seats = _seats(members, addresses)
                return Entry(_definition(definition), _instance(instance), number, *seats, _flag(alive))
    raise _malformed("entry", value)


def _view(value: Any) -> View:
    match value:
        case [int() as number, [_, *_] as members, [*addresses], started] if _number(number):
            return View(number, *_seats(members, addresses), _flag(started))
    raise _malformed("view", value)


def _seats(members: list[Any], addresses: list[Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if len(members) > limits.MEMBERS_MAX or len(members) != len(addresses):
        raise MalformedFrame(f"{len(members)} members with {len(addresses)} addresses: at most {limits.MEMBERS_MAX}")
    seated = tuple(map(_process, members))
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


def _process(value: Any) -> str:
    if not names.is_process(value):
        raise _malformed("process", value)
    return str(value)


def _instance(value: Any) -> str:
    if not isinstance(value, str) or not _INSTANCE.fullmatch(value):
        raise _malformed("instance", value)
    return value


def _number(value: Any) -> int:
    if type(value) is not int or not 0 <= value <= limits.NUMBER_MAX:
        raise _malformed("view number", value)
    return value


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise _malformed("yes or no", value)
    return value


def _text(value: Any, longest: int) -> str:
    if not isinstance(value, str) or len(value) > longest:
        raise _malformed(f"text of at most {longest}", value)
    return value


def _malformed(what: str, value: object) -> MalformedFrame:
    return MalformedFrame(f"not a valid {what}: {str(value)[:80]!r}")
