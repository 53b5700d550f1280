"""Records of what stands on groups: their types and fields, and why one is invalid (DELIVERY_LOG.md, Applications)."""

from __future__ import annotations

from typing import Any

Record = dict[str, Any]
NUMBER_MAX = 1 << 62
STATE = "replicated state"  # what a record is about
_WORDS = {str: "a text", int: "a number from 0 on", list: "a list", dict: "a map of numbers"}
_PLACE: dict[str, type] = {"instance": str, "view": int, "term": int}
# By type: what it is about, the fields that it must have, and those that it may have.
_TYPES: dict[str, tuple[str, dict[str, type], dict[str, type]]] = {
    "apply": (
        STATE,
        {"of": str, "index": int, "commands": list},
        {**_PLACE, "answered": list, "synced": dict, "replicas": int},
    ),
    "start": (STATE, {"of": str, "index": int, "last": int, "callers": dict}, _PLACE),
    "digest": (STATE, {"of": str, "index": int, "digest": str}, _PLACE),
    "synced": (STATE, {"of": str, "index": int, "term": int}, _PLACE),
    "told": (STATE, {"of": str, "index": int, "term": int}, _PLACE),
}
# The content of lists: the types of an entry, or of the parts that each entry has.
_ENTRIES: dict[str, tuple[type, ...]] = {"commands": (int,), "answered": (int, str, int)}
APPLICATION_TYPES = frozenset(_TYPES)


def key_of(record: Record) -> tuple[str, str]:
    """Return what a record is about, and its name."""
    return _TYPES[record["type"]][0], record["of"]


def problem_of_application(record: Record) -> str:
    """Return the reason why the record is invalid; empty if it is valid."""
    kind = record["type"]
    _, required, optional = _TYPES[kind]
    for name in required:
        if name not in record:
            return f"{'an' if kind == 'apply' else 'a'} {kind} without {name}"
    for name, wanted in {**required, **optional}.items():
        if name in record and not _is(record[name], wanted, name):
            return f"{name} is not {_WORDS[wanted]}"
    return ""


def _is(value: object, wanted: type, name: str) -> bool:
    if type(value) is not wanted:
        return False
    if isinstance(value, int):
        return _is_number(value)
    if isinstance(value, dict):
        return all(map(_is_number, value.values()))
    return not isinstance(value, list) or all(_is_entry(each, _ENTRIES[name]) for each in value)


def _is_entry(entry: object, parts: tuple[type, ...]) -> bool:
    found = entry if isinstance(entry, list) else [entry]
    if isinstance(entry, list) != (len(parts) > 1) or len(found) != len(parts):
        return False
    return all(
        type(part) is kind and (kind is not int or _is_number(part)) for part, kind in zip(found, parts, strict=True)
    )


def _is_number(value: object) -> bool:
    return type(value) is int and 0 <= value <= NUMBER_MAX
