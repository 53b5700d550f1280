"""The kinds of field: what a peer may say, each checked for type, size and range. This is the one list of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import fields
from functools import lru_cache
from typing import Any

from gcom.core.codec import schema
from gcom.core.codec.schema import FieldKind, Record, listing, malformed, row, table
from gcom.core.messages import frames
from gcom.values import limits, names
from gcom.values.names import Process
from gcom.values.view import View

MISSED_BYTES = limits.MEMBERS_MAX // 8  # one bit per member
# The same few names come with every message of a group: what was checked is remembered, and no refusal is.
_remembered = lru_cache(maxsize=4096)


def number(given: Any) -> int:
    # `type(...) is`, not isinstance: True is an int to isinstance, and would be encoded as another value.
    if type(given) is not int or not 0 <= given <= limits.NUMBER_MAX:
        raise malformed("number", "0 to 2^63 - 1", given)
    return given


def numbers(*given: Any) -> None:
    """Raise if any of these is no number."""
    # In C loops: every frame has thirteen numbers, and this is on the path of each.
    if set(map(type, given)) != {int} or min(given) < 0 or max(given) > limits.NUMBER_MAX:
        raise malformed("numbers", "each 0 to 2^63 - 1", given)


def flag(given: Any) -> bool:
    if type(given) is not bool:
        raise malformed("flag", "true or false", given)
    return given


def _stream(given: Any) -> Process:
    return frames.ORDER if given == frames.ORDER else str(PROCESS.decode(given))


def _ballot(given: Any) -> frames.Ballot:
    attempt, rank = _PAIR.decode(given)
    # A ballot above every honest one would stop all later proposers of the view.
    if attempt > limits.ATTEMPT_MAX or rank >= limits.MEMBERS_MAX:
        raise malformed("ballot", f"an attempt up to {limits.ATTEMPT_MAX} and a rank", given)
    return attempt, rank


def _blob(given: Any) -> bytes:
    if type(given) is not bytes:
        raise malformed("bytes", "bytes", given)
    return given


def _view(view: View) -> None:
    # A view without members, or with one twice, would make a majority that no quorum meets.
    if not 0 < len(view.members) == len(view.addresses) == len(set(view.members)):
        raise malformed("view", "members, each once and with an address", view)


def decode_unheard(given: Any) -> dict[int, int]:
    """Return the misses that bytes encode: a rank, then the bits of the ranks that it misses, and so on.

    9 bytes per rank, so that those of all 64 members fit a status.
    """
    size = 1 + MISSED_BYTES
    found = {given[at]: int.from_bytes(given[at + 1 : at + size]) for at in range(0, len(_blob(given)), size)}
    # A process that misses itself would be in a conflict with itself, and dropped for it.
    if len(found) * size != len(given) or any(
        one >= limits.MEMBERS_MAX or others >> one & 1 for one, others in found.items()
    ):
        raise malformed("who does not hear whom", "ranks, each once and with the bits of others", given)
    return found


def encode_unheard(misses: frames.Misses) -> bytes:
    """Return the bytes of who does not hear whom."""
    return b"".join(bytes([one]) + others.to_bytes(MISSED_BYTES) for one, others in misses.items())


def text(most: int) -> FieldKind:
    """Return the kind of texts of at most so many characters; longer ones are cut before they travel."""

    def decode(given: Any) -> str:
        if type(given) is not str or len(given) > most:
            raise malformed("text", f"a text of at most {most} characters", given)
        return given

    # Cut where it is sent and refused where it is received: an honest sender never fails at its own words.
    return FieldKind(decode, lambda value: value[:most])


def one_of(*allowed: str) -> FieldKind:
    """Return the kind of these words."""

    def decode(given: Any) -> str:
        # Safety may rest on a word, a proof of death say, so one that is unknown must not pass.
        if type(given) is not str or given not in allowed:
            raise malformed("word", f"one of {allowed}", given)
        return given

    return FieldKind(decode)


def or_empty(kind: FieldKind) -> FieldKind:
    """Return the kind with the empty text as well, where nothing is named."""
    return FieldKind(lambda given: given if type(given) is str and not given else kind.decode(given))


def matching(what: str, expression: str) -> FieldKind:
    """Return the kind of texts that match an expression."""
    # fullmatch: with match, a name with a line break at its end would pass.
    matches = re.compile(expression).fullmatch

    @_remembered
    def decode(given: Any) -> str:
        if type(given) is not str or not matches(given):
            raise malformed(what, expression, given)
        return given

    return FieldKind(decode)


NUMBER = FieldKind(number)
FLAG = FieldKind(flag)
BYTES = FieldKind(_blob)
GROUP = FieldKind(_remembered(names.same_group))
INSTANCE = matching("instance", r"[0-9a-z]{1,32}(?:-[0-9]{1,6}(?:\.[0-9]{1,6})?-[0-9a-z]{1,16})?")
PROCESS = FieldKind(_remembered(names.same_process))
STREAM = FieldKind(_stream)  # a sender, or the name of the order's log
ADDRESS = FieldKind(_remembered(names.address))
PROCESSES = listing(PROCESS, limits.MEMBERS_MAX)
ADDRESSES = listing(ADDRESS, limits.MEMBERS_MAX)
# Twice the largest view: a decision may name all of the old view and all of the new one.
STREAMS = table(STREAM, NUMBER, 2 * limits.MEMBERS_MAX)
COUNTS = table(PROCESS, NUMBER, 2 * limits.MEMBERS_MAX)
# As many as a registry itself may know of one group, and no more.
KNOWN_MAX = 2 * limits.SEATS_MAX + limits.MEMBERS_MAX
SEATS = listing(row(PROCESS, ADDRESS), KNOWN_MAX)
_PAIR = row(NUMBER, NUMBER)
# By annotation. A record names the kind of a field where that says too little.
KINDS = {
    "int": NUMBER,
    "bool": FLAG,
    "bytes": BYTES,
    "GroupName": GROUP,
    "InstanceId": INSTANCE,
    "Process": PROCESS,
    "Address": ADDRESS,
    "Ballot": FieldKind(_ballot),
    "Extent": _PAIR,
    "tuple[Process, ...]": PROCESSES,
    "tuple[Address, ...]": ADDRESSES,
    "tuple[tuple[Process, Address], ...]": SEATS,
}


def record(made: type, rule: Callable[[Any], None] | None = None, /, **named: FieldKind) -> Record:
    """Return the record of a dataclass, all of whose fields travel: each of the kind that is named, or annotated."""
    # By the annotation's text: a field whose type has no kind fails here, when the module is loaded, and not at a
    # peer.
    kinds = {field.name: named.get(field.name) or KINDS[str(field.type)] for field in fields(made)}
    return schema.record(made, kinds, rule)


VIEW = record(View, _view, members=PROCESSES, addresses=ADDRESSES)
