"""Checks of fields that a peer sent: each returns what may be relied on, or raises MalformedFrame."""

from __future__ import annotations

import re
from typing import Any

from gcom.core.messages import frames
from gcom.errors import MalformedFrame
from gcom.values import limits, names
from gcom.values.names import Process

MISSED_BYTES = limits.MEMBERS_MAX // 8  # one bit per member
_INSTANCE = re.compile(r"[0-9a-z]{1,32}(?:-[0-9]{1,6}-[0-9a-z]{1,16})?")


def _malformed(what: str, value: object) -> MalformedFrame:
    """Return the error for a value that is no `what`."""
    # Cut to 80 characters: the text is read by people, and a peer may have sent anything.
    return MalformedFrame(f"{str(value)[:80]!r} is no {what}")


def number(value: Any) -> int:
    # `type(...) is`, not isinstance: True is an int to isinstance, and would be encoded as another value.
    if type(value) is not int or not 0 <= value <= limits.NUMBER_MAX:
        raise _malformed("number", value)
    return value


def numbers(*values: Any) -> tuple[int, ...]:
    """Check several numbers at once."""
    # In C loops: every frame has thirteen numbers, and this is on the path of each.
    if set(map(type, values)) != {int} or min(values) < 0 or max(values) > limits.NUMBER_MAX:
        raise _malformed("row of numbers", values)
    return values


def flag(value: Any) -> bool:
    if type(value) is not bool:
        raise _malformed("flag", value)
    return value


def flags(*values: Any) -> tuple[bool, ...]:
    """Check several flags at once."""
    if set(map(type, values)) != {bool}:
        raise _malformed("row of flags", values)
    return values


def leaving(value: Any) -> str:
    """Return a reason to leave, or nothing."""
    if type(value) is not str or value not in ("", *frames.LEAVES_FOR):
        raise _malformed("reason to leave", value)
    return value


def text(value: Any, length_max: int) -> str:
    if type(value) is not str or len(value) > length_max:
        raise MalformedFrame("a text is too long or none")
    return value


def instance(value: Any) -> str:
    if type(value) is not str or not _INSTANCE.fullmatch(value):
        raise _malformed("instance", value)
    return value


def process(value: Any) -> Process:
    if type(value) is not str or not names.PROCESS.fullmatch(value):
        raise _malformed("process", value)
    return value


def processes(values: Any) -> tuple[Process, ...]:
    if type(values) is not list or len(values) > limits.MEMBERS_MAX:
        raise MalformedFrame("too many processes, or no list of them")
    # As for numbers, in C loops: suspects and members are in every frame of a change.
    if not (set(map(type, values)) <= {str} and all(map(names.PROCESS.fullmatch, values))):
        raise _malformed("list of processes", values)
    return tuple(values)


def unheard(rows: Any) -> dict[int, int]:
    """Return the misses that bytes encode: a rank, then the bits of the ranks that it misses, and so on.

    9 bytes per rank, so that those of all 64 members fit a status.
    """
    size = 1 + MISSED_BYTES
    if type(rows) is not bytes or len(rows) % size:
        raise MalformedFrame("who does not hear whom is no ranks, each with whom it misses")
    if not rows:
        return {}
    found = {rows[at]: int.from_bytes(rows[at + 1 : at + size]) for at in range(0, len(rows), size)}
    # A process that misses itself would be in a conflict with itself, and dropped for it.
    if len(found) < len(rows) // size or any(
        one >= limits.MEMBERS_MAX or others >> one & 1 for one, others in found.items()
    ):
        raise MalformedFrame("a rank twice or beyond the largest view, or who does not hear itself")
    return found


def stream(value: Any) -> Process:
    """Return a sender, or the name of the order's log."""
    return frames.ORDER if value == frames.ORDER else process(value)


def streams(values: Any) -> dict[Process, int]:
    # Twice the largest view: a decision may name all of the old view and all of the new one.
    if type(values) is not dict or len(values) > 2 * limits.MEMBERS_MAX:
        raise MalformedFrame("too many streams, or no table of them")
    return {stream(who): number(count) for who, count in values.items()}


def counts(values: Any) -> dict[Process, int]:
    if type(values) is not dict or len(values) > 2 * limits.MEMBERS_MAX:
        raise MalformedFrame("too many counts, or no table of them")
    return dict(zip(map(process, values), map(number, values.values()), strict=True))
