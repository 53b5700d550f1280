"""Codec of requests to the directory and of its answers.

A message is a msgpack list: protocol version, kind, then that kind's fields in the order of its class. The version is
first and judged first, so that two versions can always tell each other so. Everything else is checked here, once: what
`decode_*` returns is as good as a value made by us.
"""

from __future__ import annotations

import re
from typing import Any, assert_never

import msgpack

from gcom.core.codec import checked
from gcom.core.codec.frames import decode_decision, encode_decision
from gcom.core.codec.versions import mismatch
from gcom.core.directory.rows import Row
from gcom.core.messages.frames import Decision
from gcom.core.messages.registry import (
    Answer,
    Claim,
    Create,
    Done,
    Entries,
    Fork,
    GroupInfo,
    ListGroups,
    Lookup,
    Note,
    Refusal,
    Register,
    Remove,
    Request,
    Unregister,
)
from gcom.core.messages.witness import (
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

_TEXT_MAX = 4096  # characters of a refusal; longer ones are cut
_CODE = re.compile(r"[A-Za-z]{1,32}")


def encode_request(request: Request) -> bytes:
    match request:
        case Create(definition):
            return _pack("create", _plain_definition(definition))
        case Lookup(group, former):
            return _pack("lookup", group, former)
        case ListGroups(after):
            return _pack("list", after)
        case Claim(group, instance, view, process, address, gone):
            return _pack("claim", group, instance, view, process, address, gone)
        case Register(definition, instance, view, process, detached, away):
            plain = (_plain_definition(definition), instance, _plain_view(view))
            return _pack("register", *plain, process, detached, away)
        case Note(group, instance, view, joiners):
            return _pack("note", group, instance, view, joiners)
        case Unregister(group, instance, view):
            return _pack("unregister", group, instance, view)
        case Remove(group):
            return _pack("remove", group)
        case Fork(group, instance):
            return _pack("fork", group, instance)
        case WitnessPrepare(instance, view, ballot, group):
            return _pack("prepare", instance, view, ballot, group)
        case WitnessAccept(instance, view, ballot, decision, group):
            return _pack("accept", instance, view, ballot, encode_decision(decision), group)
        case _:
            assert_never(request)


def decode_request(data: bytes) -> Request:
    """Return the request of `data`; raise MalformedFrame or VersionMismatch."""
    match _unpack(data):
        case ["create", definition]:
            return Create(_definition(definition))
        case ["lookup", group, former]:
            # Empty only, where no name is given: a text of length 0, not just anything false.
            return Lookup(_group(group), checked.instance(former) if former else _text(former, 0))
        case ["list", after]:
            return ListGroups(_group(after) if after else _text(after, 0))
        case ["claim", group, instance, view, process, address, [*gone]]:
            where = (_group(group), checked.instance(instance), checked.number(view))
            return Claim(*where, checked.process(process), _address(address), _processes(gone))
        case ["register", definition, instance, view, process, detached, [*away]]:
            return _register(definition, instance, view, process, detached, away)
        case ["note", group, instance, view, [*joiners]]:
            return Note(_group(group), checked.instance(instance), checked.number(view), _known(joiners))
        case ["unregister", group, instance, view]:
            return Unregister(_group(group), checked.instance(instance), checked.number(view))
        case ["remove", group]:
            return Remove(_group(group))
        case ["fork", group, instance]:
            return Fork(_group(group), checked.instance(instance))
        case ["prepare", instance, view, ballot, group]:
            # With a group it is a vote on a succession, without one on a tie.
            for_group = _group(group) if group else _text(group, 0)
            return WitnessPrepare(checked.instance(instance), checked.number(view), _ballot(ballot), for_group)
        case ["accept", instance, view, ballot, decision, group]:
            of, by = _group(group) if group else _text(group, 0), _ballot(ballot)
            return WitnessAccept(checked.instance(instance), checked.number(view), by, _decision(view, decision), of)
        case other:
            raise _malformed("request", other[:1])


def encode_answer(answer: Answer) -> bytes:
    match answer:
        case GroupInfo():
            return _pack("entry", _plain_entry(answer))
        case Entries(groups, more):
            return _pack("entries", [_plain_entry(entry) for entry in groups], more)
        case Done():
            return _pack("done")
        case Refusal(code, text):
            return _pack("refusal", code, text[:_TEXT_MAX])
        case WitnessPromised(view, ballot, noted):
            return _pack("promised", view, ballot, noted)
        case WitnessDecided(view, decision, ballot):
            return _pack("decided", view, encode_decision(decision), ballot)
        case WitnessNack(view, promised):
            return _pack("nack", view, promised)
        case WitnessPassed(view):
            return _pack("passed", view)
        case WitnessFull():
            return _pack("full")
        case _:
            assert_never(answer)


def decode_answer(data: bytes) -> Answer:
    """Return the answer of `data`; raise MalformedFrame or VersionMismatch."""
    match _unpack(data):
        case ["entry", entry]:
            return _entry(entry)
        case ["entries", [*groups], more]:
            return Entries(tuple(map(_entry, groups)), checked.flag(more))
        case ["done"]:
            return Done()
        # Its name selects an exception class: letters only, so that nothing else of that module can be named.
        case ["refusal", str() as code, text] if _CODE.fullmatch(code):
            return Refusal(code, _text(text, _TEXT_MAX))
        case ["promised", view, ballot, [*noted]]:
            return WitnessPromised(checked.number(view), _ballot(ballot), _known(noted))
        case ["decided", view, decision, ballot]:
            return WitnessDecided(checked.number(view), _decision(view, decision), _ballot(ballot))
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
    """Return the kind and its fields."""
    # Maps and extensions are nothing of ours, and the only bytes are a decision's.
    bounds = {"max_array_len": limits.DIRECTORY_GROUPS_MAX, "max_map_len": 0, "max_ext_len": 0}
    try:
        parts = msgpack.unpackb(data, max_bin_len=limits.FRAME_HEADER_BYTES, **bounds)
    except (ValueError, msgpack.exceptions.UnpackException) as error:
        raise MalformedFrame(f"not a message of the directory: {type(error).__name__}") from error
    if not isinstance(parts, list) or len(parts) < 2 or type(parts[0]) is not int:
        raise _malformed("message", parts)
    if parts[0] != limits.PROTOCOL_VERSION:
        raise mismatch(parts[0])
    return parts[1:]


def _plain_definition(it: Definition) -> list[object]:
    split = [it.netsplit.value, it.tie_breaker.value]
    return [it.group, it.ordering.value, it.multicast.value, it.static, it.safe, *split]


def _plain_entry(it: GroupInfo) -> list[object]:
    seats = [it.members, it.addresses, it.others]
    return [_plain_definition(it.definition), it.instance, it.view, *seats, it.alive, it.forked, it.detached, it.after]


def _plain_view(view: View) -> list[object]:
    return [view.number, view.members, view.addresses, view.started]


def encode_row(row: Row) -> bytes:
    """Return a row as a registry keeps it on its disk."""
    # No leases: a registry that starts again knows nothing of who lives, and waits for members to register.
    view = row.view and _plain_view(row.view)
    notes = [row.noted, row.noted_view, row.older]
    return _pack("row", _plain_definition(row.definition), row.instance, view, row.after, *notes, row.forgot)


def decode_row(data: bytes) -> Row:
    """Return the row of `data`; raise MalformedFrame."""
    match _unpack(data):
        case ["row", definition, instance, view, after, [*noted], noted_view, [*older], bool() as forgot]:
            return Row(
                _definition(definition),
                checked.instance(instance),
                None if view is None else _view(view),
                after=_after(after),
                noted=_known(noted),
                noted_view=checked.number(noted_view),
                older=_known(older),
                forgot=forgot,
            )
        case other:
            raise _malformed("row", other[:1])


def _after(value: Any) -> tuple[str, int]:
    match value:
        case ["", 0]:
            return "", 0
        case [instance, view]:
            return checked.instance(instance), checked.number(view)
    raise _malformed("predecessor", value)


def _register(definition: Any, instance: Any, view: Any, process: Any, detached: Any, away: list[Any]) -> Register:
    """Return a registration whose process is in the view that it registers."""
    # Only a member registers a view: else a stranger could renew a lease, or name members that are none.
    seen, who = _view(view), checked.process(process)
    if who not in seen.members:
        raise _malformed("member of the view", process)
    where = (_definition(definition), checked.instance(instance), seen, who)
    return Register(*where, checked.flag(detached), _known(away))


def _known(seats: list[Any]) -> tuple[tuple[str, str], ...]:
    """Return processes and their addresses."""
    # As many as a registry itself may know of one group, and no more.
    if len(seats) > 2 * limits.SEATS_MAX + limits.MEMBERS_MAX:
        raise _malformed("list of processes: it is too long", len(seats))
    return tuple((checked.process(who), _address(at)) for who, at in map(_pair, seats))


def _pair(value: Any) -> tuple[Any, Any]:
    match value:
        case [one, other]:
            return one, other
    raise _malformed("pair", value)


def _processes(values: list[Any]) -> tuple[str, ...]:
    if len(values) > 2 * limits.SEATS_MAX + limits.MEMBERS_MAX:
        raise _malformed("list of processes: it is too long", len(values))
    return tuple(map(checked.process, values))


def _ballot(value: Any) -> tuple[int, int]:
    match value:
        case [attempt, rank] if (
            checked.number(attempt) <= limits.ATTEMPT_MAX and checked.number(rank) < limits.MEMBERS_MAX
        ):
            return attempt, rank
    raise _malformed("ballot", value)


def _decision(view: Any, value: Any) -> Decision:
    """Return the decision that leads out of a view."""
    if not isinstance(value, bytes):
        raise _malformed("decision", value)
    decision = decode_decision(value)
    # An answer for another view would be installed as the next one.
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


def _entry(value: Any) -> GroupInfo:
    match value:
        case [definition, instance, view, [*members], [*addresses], [*others], alive, forked, detached, after]:
            number = checked.number(view)
            # Without a view nobody is in it, and with one somebody is: machines tell an empty group by either.
            if bool(number) == bool(members):
                seats = _seats(members, addresses)
                return GroupInfo(
                    _definition(definition),
                    checked.instance(instance),
                    number,
                    *seats,
                    checked.flag(alive),
                    checked.flag(forked),
                    _known(others),
                    checked.flag(detached),
                    _after(after),
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
