"""The log's contract: the types of records, the fields that each must have, and why one is invalid.

docs/DELIVERY_LOG.md (Records) is its text. A record is judged by itself; whether it fits those around it is for the
rules to say.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gcom.audit.input.applications import APPLICATION_TYPES, problem_of_application
from gcom.values.definition import Multicast, Netsplit, Ordering

Record = dict[str, Any]

# The order counts: up to SKIP a row is only columns, up to ELECT and above BAD it belongs to a group. Compact
# files hold the codes, so new kinds go to the end.
SEND, DELIVER, SKIP, VIEW, LEAVE, DETACH, ELECT, SUSPECT, LOST, OTHER, BAD, CONFIRM, ADOPT, QUORUM, APPLICATION = range(
    15
)
KINDS = {
    "send": SEND,
    "deliver": DELIVER,
    "skip": SKIP,
    "view": VIEW,
    "leave": LEAVE,
    "detach": DETACH,
    "elect": ELECT,
    "suspect": SUSPECT,
    "lost": LOST,
    "confirm": CONFIRM,
    "adopt": ADOPT,
    "quorum": QUORUM,
    **dict.fromkeys(sorted(APPLICATION_TYPES), APPLICATION),
}
NUMBER_MAX = 1 << 62  # so that a number plus a count is still one of 64 bits
RUN_MAX = 1 << 20  # messages of one record; one that claims more is rejected: a line must not fill the memory
# The fields that each record type must have beside `at`; below, those that it may have, and the type of each field.
_REQUIRED = {
    "send": ("group", "view", "number", "clock"),
    "deliver": ("group", "view", "sent_view", "sender", "number"),
    "skip": ("group", "view"),
    "view": ("group", "view", "members", "leader", "ordering", "multicast"),
    "leave": ("group", "view"),
    "detach": ("group", "view"),
    "elect": ("group", "view", "leader"),
    "suspect": ("group", "view"),
    "confirm": ("group", "view", "number", "by"),
    "adopt": ("group", "view", "from", "cut"),
    "quorum": ("group", "view", "has"),
    "lost": ("count",),
}
_OPTIONAL = {
    "deliver": ("serial", "digests", "held"),
    "send": ("digests",),
    "skip": ("sender", "number", "serial"),
    "view": ("safe", "netsplit", "base", "base_serial", "succeeds", "carries"),
    "leave": ("settled", "into"),
    "detach": ("into",),
    "lost": ("state",),
}
_INTEGERS = ("view", "sent_view", "number", "count", "serial", "t", "held", "base_serial", "settled")
_OF_TYPE: dict[type, tuple[str, ...]] = {
    int: _INTEGERS,
    str: ("group", "instance", "sender", "leader", "ordering", "multicast", "netsplit", "by", "from", "into"),
    bool: ("safe", "has"),
    list: ("members", "digests", "succeeds", "carries"),
    dict: ("clock", "base", "cut", "state"),
}
_TYPE_OF = {name: kind for kind, names in _OF_TYPE.items() for name in names}
_FIELDS = {
    kind: (*required, *_OPTIONAL.get(kind, ()), "instance", "count", "t") for kind, required in _REQUIRED.items()
}
# The values of the fields that have few. What another one promises nobody knows.
_VALUES: dict[str, frozenset[str]] = {
    "ordering": frozenset(Ordering),
    "multicast": frozenset(Multicast),
    "netsplit": frozenset(Netsplit),
    "by": frozenset({"majority", "all"}),
}
_BY = frozenset({"proof", "operator", "merge", "ended"})  # of a succession
_OF_SUCCESSION = {"view": int, "cut": dict, "without": dict, "gone": dict, "gives_up": list, "by": str, "serial": int}
_WORDS = {str: "a text", int: "an integer", bool: "true or false", list: "a list", dict: "a map"}
_FIRST_AND_LAST = ("open", "close")
FROM_ONE = ("at", "count", "number", "view", "sent_view", "serial")
_INT64 = range(-(1 << 63), 1 << 63)


def own_fields(record: Record) -> Record:
    """Return the record without the fields that only other types have, as the `cut` of a `deliver`.

    By DELIVERY_LOG.md a type has the fields of its row, and all others are unknown: whatever they hold is ignored. A
    type that is unknown itself has only a position and a count.
    """
    own = _FIELDS.get(record["type"], ("count",))
    return {name: value for name, value in record.items() if name in own or name not in _TYPE_OF}


def problem_of(record: object) -> str:
    """Return the reason why `record` is invalid (DELIVERY_LOG.md); empty if it is valid, or of an unknown type."""
    if not isinstance(record, dict) or not isinstance(record.get("type"), str):
        return "no JSON object with a type"
    if type(record.get("at")) is not int:
        return "no position `at`"
    # `read_segment` has taken the opening and a whole close away: one in the middle means that two files were
    # joined, or that the last line is damaged.
    if record["type"] in _FIRST_AND_LAST:
        return f"a line that says `{record['type']}` and is not that of its segment, or not whole"
    if record["type"] in APPLICATION_TYPES:
        return problem_of_application(record) or _problem_of_numbers(own_fields(record))
    # Unknown types are counted and passed over (DELIVERY_LOG.md), but their positions must fit, or
    # a gap would follow.
    required, record = _REQUIRED.get(record["type"], ()), own_fields(record)
    for name in _FIELDS.get(record["type"], ()):
        # `type` and not isinstance: True is an int in Python, and no number in the contract.
        if name in record and type(record[name]) is not _TYPE_OF[name]:
            return f"{name} is not {_WORDS[_TYPE_OF[name]]}"
        if name in required and name not in record:
            return f"a {record['type']} without {name}"
        if name in _VALUES and name in record and record[name] not in _VALUES[name]:
            return f"{name} is {record[name]!r}, not one of {', '.join(sorted(_VALUES[name]))}"
    return _problem_of_numbers(record) or _problem_of_lists(record)


def _problem_of_numbers(record: Record) -> str:
    for name in FROM_ONE:
        number = record.get(name, 1)
        if type(number) is not int or not 1 <= number <= NUMBER_MAX:
            return f"{name} is {number!r}, not a number from 1 on"
    for name in ("t", "held", "settled", "base_serial"):
        if record.get(name, 0) not in _INT64:
            return f"{name} is not a number of 64 bits"
    if KINDS.get(record["type"], OTHER) <= SKIP and record.get("count", 1) > RUN_MAX:
        return f"a run of {record['count']:,} messages, more than {RUN_MAX:,}"
    if record["type"] == "skip" and ("sender" in record) != ("number" in record):
        return "a skip with one of sender and number"
    # A skip has a sender and number, a serial, or both; without either it would give up
    # nothing at some position.
    if record["type"] == "skip" and "sender" not in record and "serial" not in record:
        return "a skip of nothing"
    if not all(type(each) is int and each in _INT64 for each in record.get("digests", ())):
        return "digests are not numbers"
    for name in ("clock", "base", "cut"):
        if not all(type(n) is int and 0 <= n <= NUMBER_MAX for n in record.get(name, {}).values()):
            return f"{name} is not a map of numbers"
    return ""


def _problem_of_lists(record: Record) -> str:
    """Return the reason why a list is none of its field, or contradicts the record that it is in."""
    if record["type"] == "view" and not (record["members"] and all(type(who) is str for who in record["members"])):
        return "members is not a list of processes"
    if _has_twice(record.get("members", ())):
        return "members has a process twice"
    if "carries" in record and not (record["carries"] and all(type(rule) is str for rule in record["carries"])):
        return "carries is not a list of rules"
    # A lone digest too many would be of no message; who wrote it did not know how many messages there are.
    if len(record.get("digests", ())) > record.get("count", 1):
        return f"{len(record['digests'])} digests of {record.get('count', 1)} messages"
    entries = record.get("succeeds", ())
    if not all(is_succession(each) for each in entries):
        return "succeeds does not name instances, views and cuts"
    if _has_twice(each["instance"] for each in entries) or any(
        _has_twice(each.get("gives_up", ())) for each in entries
    ):
        return "succeeds has a name twice"
    # An operator gives processes up; what a proof shows is that they are gone.
    if any(each.get("gives_up") and each.get("by") == "proof" for each in entries):
        return "succeeds gives processes up by proof"
    if entries and record["view"] > 1:
        return "succeeds in a view that is not the first of its instance"
    return ""


def _has_twice(names: Iterable[str]) -> bool:
    found = [*names]
    return len(set(found)) < len(found)


def is_succession(entry: object) -> bool:
    """Tell whether `entry` is one of a `succeeds` (DELIVERY_LOG.md, Records)."""
    if not isinstance(entry, dict) or type(entry.get("instance")) is not str:
        return False
    if not all(type(entry[name]) is wanted for name, wanted in _OF_SUCCESSION.items() if name in entry):
        return False
    # Only types and ranges are checked here. Whether the succession's claims are true is for the rules to judge
    # (rules/views/succession.py).
    ranges = entry.get("without", {}).values()
    return (
        1 <= entry.get("view", 1) <= NUMBER_MAX
        and entry.get("by", "proof") in _BY
        and all(type(n) is int and 0 <= n <= NUMBER_MAX for n in entry.get("cut", {}).values())
        and all(type(who) is str for who in entry.get("gives_up", ()))
        and all(type(each) is list and all(map(_is_range, each)) for each in ranges)
    )


def _is_range(pair: object) -> bool:
    return isinstance(pair, list) and len(pair) == 2 and all(type(n) is int and 1 <= n <= NUMBER_MAX for n in pair)
