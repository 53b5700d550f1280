"""The tables of requests to directory and witness, of their answers, and of what a registry keeps on its disk."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from gcom.core.codec import schema
from gcom.core.codec.control import decode_decision, encode_decision
from gcom.core.codec.kinds import (
    ADDRESSES,
    FLAG,
    GROUP,
    INSTANCE,
    KNOWN_MAX,
    NUMBER,
    PROCESS,
    PROCESSES,
    SEATS,
    VIEW,
    matching,
    or_empty,
    record,
    text,
)
from gcom.core.codec.schema import FieldKind, Messages, alone, listing, malformed, optional, row
from gcom.core.directory.rows import Row
from gcom.core.messages import registry as directory
from gcom.core.messages import witness
from gcom.values import limits
from gcom.values.definition import Definition
from gcom.values.detection import LAN
from gcom.values.view import View

# Maps and extensions are nothing of ours, and the only bytes are a decision's.
_BOUNDS = {
    "max_bin_len": limits.FRAME_HEADER_BYTES,
    "max_array_len": limits.DIRECTORY_GROUPS_MAX,
    "max_map_len": 0,
    "max_ext_len": 0,
}


def _decode_definition(given: Any) -> Definition:
    group, ordering, multicast, static, *rest = given
    if type(static) is not list:
        raise malformed("definition", "a list of static members", static)
    return _definition(group, ordering, multicast, tuple(static), *rest)


# A registry is told the same few by every renewal. `typed`: 1 and true are one key else, and only one of them is right.
@lru_cache(maxsize=1024, typed=True)
def _definition(*given: Any) -> Definition:
    definition = Definition.parse(*given)
    # One definition has one form, so that equal ones compare equal wherever they come from.
    group, ordering, multicast, static, *rest = _encode_definition(definition)
    if (group, ordering, multicast, tuple(static), *rest) != given:
        raise malformed("definition", f"{_encode_definition(definition)}", given)
    return definition


def _encode_definition(it: Definition) -> list[Any]:
    split = [it.netsplit.value, it.tie_breaker.value]
    # Newer fields only where they are not the default: so a definition has the form that an older GCom wrote to a disk.
    timing = [] if it.detection == LAN and not it.home and not it.signed else [str(it.detection)]
    home = [it.home] if it.home or it.signed else []
    signed = [True] if it.signed else []
    return [it.group, it.ordering.value, it.multicast.value, list(it.static), it.safe, *split, *timing, *home, *signed]


def _decode_proof(given: Any) -> bytes:
    if type(given) is not bytes or len(given) > limits.CREDENTIAL_BYTES_MAX:
        raise malformed("proof", f"at most {limits.CREDENTIAL_BYTES_MAX} bytes", given)
    return given


def _decode_view(given: Any) -> View:
    view: View = VIEW.decode(given)
    if not view.number:
        raise malformed("view", "a number from 1", given)
    return view


def _decode_after(given: Any) -> tuple[str, int]:
    instance, view = row(or_empty(INSTANCE), NUMBER).decode(given)
    if view and not instance:
        raise malformed("predecessor", "an instance and its view", given)
    return instance, view


def _registration(register: directory.Register) -> None:
    # Only a member registers a view: else a stranger could renew a lease, or name members that are none.
    if register.process not in register.view.members:
        raise malformed("registration", "a member of the view", register.process)


def _leads_out(message: witness.WitnessAccept | witness.WitnessDecided) -> None:
    # A decision for another view would be installed as the next one.
    if message.decision.view.number != message.view + 1:
        raise malformed("decision", f"view {message.view + 1}", message.decision.view.number)


def _witness_prepare(prepare: witness.WitnessPrepare) -> None:
    # The registry refuses a succession to a process that a later view has put out, so the process is named. A vote on a
    # tie is for half of the view, and names nobody.
    if bool(prepare.group) != bool(prepare.process):
        raise malformed("vote", "a process if and only if there is a group", prepare)


def _entry(entry: directory.GroupInfo) -> None:
    # Without a view nobody is in it, and with one somebody is: machines tell an empty group by either.
    seats = len(entry.members)
    if bool(entry.view) != bool(seats) or not seats == len(entry.addresses) == len(set(entry.members)):
        raise malformed("entry", "members, each once and with an address, if and only if there is a view", entry)


_DEFINITION = FieldKind(_decode_definition, _encode_definition)
_VIEW = FieldKind(_decode_view, VIEW.encode)
_AFTER = FieldKind(_decode_after)
_DECISION = FieldKind(decode_decision, encode_decision)
_FOR_GROUP = or_empty(GROUP)  # with a group it is a vote on a succession, without one on a tie
_ENTRY = schema.record(
    directory.GroupInfo,
    {"definition": _DEFINITION, "instance": INSTANCE, "view": NUMBER}
    | {"members": PROCESSES, "addresses": ADDRESSES, "others": SEATS}
    | {"alive": FLAG, "forked": FLAG, "detached": FLAG, "after": _AFTER, "forgot": FLAG},
    _entry,
)
# No leases: a registry that starts again knows nothing of who lives, and waits for members to register.
_ROW = schema.record(
    Row,
    {"definition": _DEFINITION, "instance": INSTANCE, "view": optional(_VIEW), "after": _AFTER}
    | {"noted": SEATS, "noted_view": NUMBER, "older": SEATS, "forgot": FLAG},
)
_UNREGISTER = record(directory.Unregister, proof=FieldKind(_decode_proof))
_REQUESTS: Messages[directory.Request] = Messages(
    "request to a directory",
    _BOUNDS,
    {
        "create": record(directory.Create, definition=_DEFINITION),
        "lookup": record(directory.Lookup, former=or_empty(INSTANCE)),
        "list": record(directory.ListGroups, after=or_empty(GROUP)),
        "claim": record(directory.Claim, gone=listing(PROCESS, KNOWN_MAX)),
        "register": record(directory.Register, _registration, definition=_DEFINITION, view=_VIEW),
        "note": record(directory.Note),
        "unregister": alone(_UNREGISTER),
        "remove": record(directory.Remove),
        "fork": record(directory.Fork),
        "prepare": record(witness.WitnessPrepare, _witness_prepare, group=_FOR_GROUP, process=or_empty(PROCESS)),
        "accept": record(witness.WitnessAccept, _leads_out, decision=_DECISION, group=_FOR_GROUP),
    },
)
_ANSWERS: Messages[directory.Answer] = Messages(
    "answer of a directory",
    _BOUNDS,
    {
        "entry": alone(_ENTRY),
        "entries": record(directory.Entries, groups=listing(_ENTRY, limits.DIRECTORY_GROUPS_MAX)),
        "done": record(directory.Done),
        "farewell": record(directory.Farewell, request=_UNREGISTER),
        # Its name selects an exception class: letters only, so that nothing else of that module can be named.
        "refusal": record(directory.Refusal, code=matching("code", "[A-Za-z]{1,32}"), text=text(4096)),
        "promised": record(witness.WitnessPromised),
        "decided": record(witness.WitnessDecided, _leads_out, decision=_DECISION),
        "nack": record(witness.WitnessNack),
        "passed": record(witness.WitnessPassed),
        "full": record(witness.WitnessFull),
    },
)
_ROWS: Messages[Row] = Messages("row of a directory", _BOUNDS, {"row": _ROW})
encode_request, decode_request = _REQUESTS.encode, _REQUESTS.decode
encode_answer, decode_answer = _ANSWERS.encode, _ANSWERS.decode
encode_row, decode_row = _ROWS.encode, _ROWS.decode
