"""Records of what stands on groups: their types and fields, and why one is invalid (DELIVERY_LOG.md, Applications)."""

from __future__ import annotations

from typing import Any

Record = dict[str, Any]
NUMBER_MAX = 1 << 62
STATE, TOPIC = "replicated state", "topic"  # what a record is about
_WORDS = {str: "a text", int: "a number from 0 on", list: "a list", dict: "a map of numbers"}
_OF_TOPIC: dict[str, type] = {"store": str, "topic": str}
_OF_PRODUCER: dict[str, type] = {**_OF_TOPIC, "producer": str, "seqs": list}
_OF_SHARD: dict[str, type] = {**_OF_TOPIC, "sub": str, "shard": int, "shards": int, "last": int}
_OF_SESSION: dict[str, type] = {"of": str, "session": int, "seen": int, "index": int, "guarantees": list}
_PLACE: dict[str, type] = {"instance": str, "view": int, "term": int}
# By type: what it is about, the fields that it must have, and those that it may have.
_TYPES: dict[str, tuple[str, dict[str, type], dict[str, type]]] = {
    "apply": (
        STATE,
        {"of": str, "index": int, "commands": list},
        {**_PLACE, "answered": list, "repeated": list, "synced": dict, "replicas": int},
    ),
    "start": (STATE, {"of": str, "index": int, "last": int, "callers": dict}, _PLACE),
    "digest": (STATE, {"of": str, "index": int, "digest": str}, _PLACE),
    "synced": (STATE, {"of": str, "index": int, "term": int}, _PLACE),
    "told": (STATE, {"of": str, "index": int, "term": int}, _PLACE),
    "write": (STATE, {**_OF_SESSION, "number": int}, _PLACE),
    "read": (STATE, {**_OF_SESSION, "written": int}, _PLACE),
    "invariant": (STATE, {"of": str, "index": int, "value": int}, _PLACE),
    "put": (TOPIC, {**_OF_PRODUCER, "digests": list}, {}),
    "abort": (TOPIC, {**_OF_PRODUCER, "digests": list}, {}),
    "receipt": (TOPIC, {**_OF_PRODUCER, "offsets": list}, {}),
    "stored": (TOPIC, {**_OF_PRODUCER, "digests": list, "offset": int, "slots": list}, {}),
    "bounds": (TOPIC, {**_OF_TOPIC, "first": int, "next": int}, {}),
    "effect": (TOPIC, {**_OF_SHARD, "first": int}, {}),
    "floor": (TOPIC, _OF_SHARD, {}),
}
# The content of lists: the types of an entry, or of the parts that each entry has.
_ENTRIES: dict[str, tuple[type, ...]] = {"answered": (int, str, int), "guarantees": (str,)}  # of others a number
APPLICATION_TYPES = frozenset(_TYPES)


def key_of(record: Record) -> tuple[str, str]:
    """Return what a record is about, and its name."""
    about = _TYPES[record["type"]][0]
    return about, record["of"] if about == STATE else f"{record['topic']} of {record['store']}"


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
        return _is_number(abs(value) if name == "value" else value)
    if isinstance(value, dict):
        return all(map(_is_number, value.values()))
    return not isinstance(value, list) or all(_is_entry(each, _ENTRIES.get(name, (int,))) for each in value)


def _is_entry(entry: object, parts: tuple[type, ...]) -> bool:
    found = entry if isinstance(entry, list) else [entry]
    if isinstance(entry, list) != (len(parts) > 1) or len(found) != len(parts):
        return False
    return all(
        type(part) is kind and (kind is not int or _is_number(part)) for part, kind in zip(found, parts, strict=True)
    )


def _is_number(value: object) -> bool:
    return type(value) is int and 0 <= value <= NUMBER_MAX
