"""Logs of replicated states, made by hand: sound ones, and each damage that a rule is there to find."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from tests.oracle.build import A, B, C, Logs, Record

A2, B2 = "a#2", "b#2"  # after a restart
Damage = Callable[[Logs], None]


def apply(index: int, *commands: int, **more: Any) -> Record:
    return {"type": "apply", "of": "s", "index": index, "commands": list(commands), **more}


def start(index: int, last: int, callers: dict[str, int], **more: Any) -> Record:
    return {"type": "start", "of": "s", "index": index, "last": last, "callers": callers, **more}


def durable() -> Logs:
    """Three replicas, of which two go on after a restart of all."""
    answered = {"answered": [[2, "x", 1], [3, "x", 2]], "synced": {"a": 3, "b": 3}, "replicas": 3}
    disk = [
        {"type": "synced", "of": "s", "term": 1, "index": 3},
        {"type": "told", "of": "s", "term": 1, "index": 3},
    ]
    began = start(0, 0, {}, term=1)
    again = {"answered": [[6, "x", 2]], "repeated": [6], "synced": {"a": 6, "b": 6}, "replicas": 3}
    later = [
        start(3, 3, {"x": 2}, term=2),
        {"type": "synced", "of": "s", "term": 2, "index": 6},
        {"type": "told", "of": "s", "term": 2, "index": 6},
    ]
    return {
        A: [began, *disk, apply(2, 12, 13, term=1, **answered), apply(4, 14, term=1)],
        B: [began, *disk, apply(2, 12, 13, term=1)],
        C: [began, apply(2, 12, 13, term=1)],
        A2: [*later, apply(5, 25, 26, term=2, **again), _digest(6, "d1", term=2)],
        B2: [*later, apply(5, 25, 26, term=2), _digest(6, "d1", term=2)],
    }


def _digest(index: int, digest: str, **more: Any) -> Record:
    return {"type": "digest", "of": "s", "index": index, "digest": digest, **more}


def in_memory() -> Logs:
    """A joiner is given the state; then all who have it are gone, and it begins anew in the same instance."""
    at = {"instance": "i", "view": 1}
    later = {"instance": "i", "view": 4}
    return {
        A: [apply(1, 11, 12, **at, answered=[[2, "x", 1]]), _digest(2, "d1", **at)],
        B: [start(2, 2, {"x": 1}, instance="i", view=2), apply(3, 13, instance="i", view=2)],
        C: [start(0, 0, {}, **later), apply(1, 91, 92, **later), _digest(2, "d9", **later)],
    }


def sessions() -> Logs:
    """A session that goes from one replica to another, and back; a bank that loses nothing."""
    at = {"of": "s", "instance": "i", "view": 1, "session": 1, "guarantees": ["RYW", "MR", "MW", "WFR"]}
    value = {"type": "invariant", "of": "s", "instance": "i", "view": 1, "value": 0}
    return {
        A: [
            {"type": "write", **at, "number": 1, "seen": 0, "index": 5},
            {"type": "read", **at, "written": 1, "seen": 0, "index": 5},
            {"type": "read", **at, "written": 2, "seen": 8, "index": 9},
            {**value, "index": 9},
        ],
        B: [
            {"type": "read", **at, "written": 1, "seen": 5, "index": 7},
            {"type": "write", **at, "number": 2, "seen": 7, "index": 8},
            {"type": "read", **at, "written": 2, "seen": 7, "index": 8},
            {**value, "index": 7},
        ],
    }


def _nth(who: str, nth: int, **fields: Any) -> Damage:
    return lambda logs: logs[who][nth].update(fields)


def _first(logs: Logs, who: str, kind: str) -> Record:
    return next(record for record in logs[who] if record["type"] == kind)


def _changed(who: str, kind: str, **fields: Any) -> Damage:
    return lambda logs: _first(logs, who, kind).update(fields)


# By the rule that finds it, and the words of its sentence.
DAMAGES: dict[str, tuple[str, Callable[[], Logs], Damage]] = {
    "no majority": ("DURABLE", durable, _changed(A, "apply", synced={"a": 3, "b": 2})),
    "applied another one there": ("DURABLE", durable, _changed(B, "apply", commands=[12, 99])),
    "one of the two is gone": ("DURABLE", durable, _changed(B2, "apply", commands=[99, 26])),
    "with a log that ends at 2": ("DURABLE", durable, _changed(B2, "start", last=2, index=2)),
    "does not know it": ("DURABLE", durable, _changed(A2, "start", callers={"x": 1})),
    "when its disk had synced 0": ("DURABLE", durable, lambda logs: logs[A].insert(1, logs[A].pop(2))),
    "which said 3 at most": ("DURABLE", durable, _changed(A, "apply", synced={"a": 3, "b": 4, "c": 3})),
    "had at index 3 already": ("DURABLE", durable, _changed(A2, "apply", repeated=[])),
    "another digest": ("DETERMINISM", durable, _changed(B2, "digest", digest="d2")),
    "took over at index 2 does not know it": ("DURABLE", in_memory, _changed(B, "start", callers={"x": 0})),
    "without its own write at index 5": ("RYW", sessions, _nth(A, 1, index=4)),
    "after it had read one of index 8": ("MR", sessions, _nth(A, 2, seen=8, index=7, written=1)),
    "not behind the one before it at index 5": ("MW", sessions, _nth(B, 1, index=5, seen=0)),
    "though the session had read a state of index 9": ("WFR", sessions, _nth(B, 1, seen=9)),
    "At index 7 the invariant was -3": ("BANK", sessions, _nth(B, 3, value=-3)),
}


def damaged(words: str) -> Logs:
    _, make, damage = DAMAGES[words]
    logs = copy.deepcopy(make())
    damage(logs)
    return logs
