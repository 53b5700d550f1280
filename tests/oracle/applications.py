"""A naive judge of what stands on groups, written from DELIVERY_LOG.md alone; it shares nothing with the audit."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

from tests.oracle.rules import Verdict

Record = dict[str, Any]
Logs = dict[str, list[Record]]  # process: its records, in order


def judge_applications(logs: Logs, coverage: dict[str, str]) -> dict[str, dict[str, Verdict]]:
    """The verdict of each rule, by the name of the state, or of the topic and its store."""
    return judge_states(logs, coverage) | judge_topics(logs, coverage)


def judge_states(logs: Logs, coverage: dict[str, str]) -> dict[str, dict[str, Verdict]]:
    """The verdict of each rule, by the state's name."""
    names = {record["of"] for records in logs.values() for record in records if record["type"] in _STATE}
    verdicts = {}
    for name in sorted(names):
        mine = {who: [it for it in records if it.get("of") == name] for who, records in logs.items()}
        mine = {who: records for who, records in mine.items() if records}
        closed = {who for who in mine if coverage[who] == "closed"}
        lost = {who for who in mine if coverage[who] == "lost"}
        durable = [*_commands(mine), *_repeats(mine), *_starts(mine), *_disks(mine, lost), *_majorities(mine, closed)]
        cases = {"DURABLE": durable, "DETERMINISM": _digests(mine), **_of_sessions(mine)}
        verdicts[name] = {rule: _verdict(found, lost) for rule, found in cases.items()}
    return verdicts


_STATE = ("apply", "start", "digest", "synced", "told", "write", "read", "invariant")
# The fields that each type must have; all that any has beside these.
APPLICATION_FIELDS: dict[str, tuple[str, ...]] = {
    "apply": ("of", "index", "commands"),
    "start": ("of", "index", "last", "callers"),
    "digest": ("of", "index", "digest"),
    "synced": ("of", "index", "term"),
    "told": ("of", "index", "term"),
    "write": ("of", "session", "number", "seen", "index", "guarantees"),
    "read": ("of", "session", "written", "seen", "index", "guarantees"),
    "invariant": ("of", "index", "value"),
    "put": ("store", "topic", "producer", "seqs", "digests"),
    "abort": ("store", "topic", "producer", "seqs", "digests"),
    "receipt": ("store", "topic", "producer", "seqs", "offsets"),
    "stored": ("store", "topic", "producer", "offset", "seqs", "digests", "slots"),
    "bounds": ("store", "topic", "first", "next"),
    "effect": ("store", "topic", "sub", "shard", "shards", "first", "last"),
    "floor": ("store", "topic", "sub", "shard", "shards", "last"),
}
_TEXTS = ("of", "instance", "digest", "store", "topic", "producer", "sub")
_NUMBERS = (
    "session",
    "number",
    "seen",
    "written",
    "index",
    "last",
    "term",
    "view",
    "replicas",
    "offset",
    "first",
    "next",
    "shard",
    "shards",
)
_LISTS = ("commands", "answered", "repeated", "seqs", "offsets", "digests", "slots")
_MAPS = ("callers", "synced")


def is_application(record: Record) -> bool:
    """Whether the fields are there, each of its kind."""
    if not all(name in record for name in APPLICATION_FIELDS[record["type"]]):
        return False
    return (
        all(type(record[name]) is str for name in _TEXTS if name in record)
        and type(record.get("value", 0)) is int
        and all(type(it) is str for it in record.get("guarantees", []))
        and all(_is_number(record[name]) for name in _NUMBERS if name in record)
        and all(_is_list(name, record[name]) for name in _LISTS if name in record)
        and all(
            type(record[name]) is dict and all(map(_is_number, record[name].values()))
            for name in _MAPS
            if name in record
        )
    )


def _is_list(name: str, value: object) -> bool:
    if type(value) is not list:
        return False
    if name != "answered":
        return all(map(_is_number, value))
    return all(
        type(it) is list and len(it) == 3 and _is_number(it[0]) and type(it[1]) is str and _is_number(it[2])
        for it in value
    )


def _is_number(value: object) -> bool:
    return type(value) is int and value >= 0


def _verdict(cases: list[bool], lost: set[str]) -> Verdict:
    if not all(cases):
        return "FAIL"
    return "UNKNOWN" if lost else "PASS" if cases else "VACUOUS"


def _all(logs: Logs, kind: str) -> Iterator[tuple[str, Record]]:
    return ((who, record) for who, records in logs.items() for record in records if record["type"] == kind)


def _life(logs: Logs, record: Record) -> tuple[str, int]:
    """A durable state lives for ever; one in memory within an instance, until all who have it are gone."""
    if record.get("term"):
        return "", 0
    begun = {
        each["view"]
        for _, each in _all(logs, "start")
        if not each.get("term") and each["index"] == 0 and each["instance"] == record["instance"]
    }
    return record["instance"], sum(view <= record["view"] for view in begun)


def _digests(logs: Logs) -> list[bool]:
    found = [(_life(logs, it), it["index"], it["digest"]) for _, it in _all(logs, "digest")]
    return [one[2] == other[2] for one, other in combinations(found, 2) if one[:2] == other[:2]]


def _commands(logs: Logs) -> list[bool]:
    found = [
        (_life(logs, it), it["index"] + nth, command)
        for _, it in _all(logs, "apply")
        for nth, command in enumerate(it["commands"])
    ]
    return [one[2] == other[2] for one, other in combinations(found, 2) if one[:2] == other[:2]]


def _answers(logs: Logs) -> list[tuple[Record, int, str, int]]:
    return [(it, *answer) for _, it in _all(logs, "apply") for answer in it.get("answered", ())]


def _repeats(logs: Logs) -> list[bool]:
    applied = [
        (_life(logs, record), caller, number, index)
        for record, index, caller, number in _answers(logs)
        if index not in record.get("repeated", [index])
    ]
    cases = [one[3] == other[3] for one, other in combinations(applied, 2) if one[:3] == other[:3]]
    for _, start in _all(logs, "start"):
        for life, caller, number, index in applied:
            if life == _life(logs, start) and start["index"] < index and caller in start["callers"]:
                cases.append(start["callers"][caller] < number)
    return cases


def _starts(logs: Logs) -> list[bool]:
    cases = []
    for _, start in _all(logs, "start"):
        for record, index, caller, number in _answers(logs):
            if _life(logs, record) != _life(logs, start):
                continue
            if start.get("term", 0) > record.get("term", 0) and index > start["last"]:
                cases.append(False)
            elif index <= start["index"] and caller in start["callers"]:
                cases.append(start["callers"][caller] >= number)
    return cases


def _disks(logs: Logs, lost: set[str]) -> list[bool]:
    cases = []
    for who, told in _all(logs, "told"):
        if who in lost:
            continue
        place = logs[who].index(told)
        before = [it for it in logs[who][:place] if it["type"] == "synced" and it["term"] == told["term"]]
        cases.append(any(it["index"] >= told["index"] for it in before))
    return cases


def _majorities(logs: Logs, closed: set[str]) -> list[bool]:
    cases = []
    for _, record in _all(logs, "apply"):
        if "replicas" in record and record.get("answered"):
            last = max(index for index, _, _ in record["answered"])
            cases.append(2 * sum(it >= last for it in record["synced"].values()) > record["replicas"])
        for name, index in record.get("synced", {}).items():
            whose = [who for who in logs if who.partition("#")[0] == name]
            if whose and set(whose) <= closed:
                told = [
                    it["index"]
                    for who in whose
                    for it in logs[who]
                    if it["type"] == "told" and it["term"] == record["term"]
                ]
                if max(told, default=0) < index:
                    cases.append(False)
    return cases


# Sessions


def _of_sessions(logs: Logs) -> dict[str, list[bool]]:
    reads = [(who, _life(logs, it), it) for who, it in _all(logs, "read")]
    writes = [(who, _life(logs, it), it) for who, it in _all(logs, "write")]
    found: dict[str, list[bool]] = {"RYW": [], "MR": [], "MW": [], "WFR": [], "BANK": []}
    for place, (who, life, read) in enumerate(reads):
        own = [
            it for _, of, it in writes if (of, it["session"], it["number"]) == (life, read["session"], read["written"])
        ]
        if own and "RYW" in read["guarantees"]:
            found["RYW"].append(read["index"] >= own[0]["index"])
        before = [
            it["index"]
            for one, of, it in reads[:place]
            if (one, of, it["session"]) == (who, life, read["session"]) and "MR" in it["guarantees"]
        ]
        if "MR" in read["guarantees"] and (read["seen"] or before):
            found["MR"].append(read["index"] >= max([read["seen"], *before]))
    for _, life, write in writes:
        mine = [it for _, of, it in writes if (of, it["session"]) == (life, write["session"])]
        if "MW" in write["guarantees"]:
            same = [it["index"] for it in mine if it["number"] == write["number"]]
            earlier = [it["index"] for it in mine if it["number"] == write["number"] - 1]
            found["MW"].append(len(set(same)) == 1 and not any(it >= write["index"] for it in earlier))
        if "WFR" in write["guarantees"] and write["seen"]:
            found["WFR"].append(write["index"] > write["seen"])
    values = [(_life(logs, it), it["value"]) for _, it in _all(logs, "invariant")]
    found["BANK"] = [value == next(other for of, other in values if of == life) for life, value in values]
    return found


# Topics


def judge_topics(logs: Logs, coverage: dict[str, str]) -> dict[str, dict[str, Verdict]]:
    """The verdict of each rule, by topic and store."""
    names = {(it["store"], it["topic"]) for records in logs.values() for it in records if "topic" in it}
    verdicts = {}
    for store, topic in sorted(names):
        mine = {
            who: [it for it in records if (it.get("store"), it.get("topic")) == (store, topic)]
            for who, records in logs.items()
        }
        mine = {who: records for who, records in mine.items() if records}
        lost = {who for who in mine if coverage[who] == "lost"}
        cases = {
            "EO-1": _once(mine),
            "EO-2": _rising(mine),
            "EO-3": _received(mine),
            "EO-4": _asked(mine, lost),
            "EO-5": _one_offset(mine),
            "EO-6": _ordered(mine),
        }
        verdicts[f"{topic} of {store}"] = {rule: _verdict(found, lost) for rule, found in cases.items()}
    return verdicts


def _stored(logs: Logs) -> list[tuple[int, int, str, int, int]]:
    """Offset, slot, producer, sequence (-1: none) and digest of each message."""
    found = set()
    for _, it in _all(logs, "stored"):
        for nth, slot in enumerate(it["slots"]):
            named = nth < len(it["seqs"])
            seq, digest = (it["seqs"][nth], it["digests"][nth]) if named else (-1, 0)
            found.add((it["offset"] + nth, slot, it["producer"], seq, digest))
    return sorted(found)


def _effects(logs: Logs) -> dict[tuple[str, int, int], list[tuple[int, int]]]:
    found: dict[tuple[str, int, int], list[list[tuple[int, int]]]] = {}
    for who in logs:
        mine: dict[tuple[str, int, int], list[tuple[int, int]]] = {}
        for it in logs[who]:
            if it["type"] == "effect":
                mine.setdefault((it["sub"], it["shard"], it["shards"]), []).append((it["first"], it["last"]))
        for shard, ranges in mine.items():
            found.setdefault(shard, []).append(ranges)
    # A dump that another one goes on from tells nothing new.
    return {
        shard: [
            one
            for place, ranges in enumerate(each)
            for one in ranges
            if not any(
                other[: len(ranges)] == ranges and (len(other), -nth) > (len(ranges), -place)
                for nth, other in enumerate(each)
                if nth != place
            )
        ]
        for shard, each in found.items()
    }


def _once(logs: Logs) -> list[bool]:
    cases = []
    for (sub, no, shards), ranges in _effects(logs).items():
        floors = [it["last"] for _, it in _all(logs, "floor") if (it["sub"], it["shard"]) == (sub, no)]
        for offset, slot, *_ in _stored(logs):
            if slot % shards == no and min(first for first, _ in ranges) <= offset <= max(floors, default=-1):
                cases.append(sum(first <= offset <= last for first, last in ranges) == 1)
    return cases


def _ordered(logs: Logs) -> list[bool]:
    cases = []
    for ranges in _effects(logs).values():
        for place, (first, last) in enumerate(ranges):
            cases.append(first <= last and (place == 0 or first > ranges[place - 1][1]))
    return cases


def _rising(logs: Logs) -> list[bool]:
    cases = []
    named = [it for it in _stored(logs) if it[3] >= 0]
    for place, (_, _, producer, seq, _) in enumerate(named):
        before = [it[3] for it in named[:place] if it[2] == producer]
        cases.append(not before or before[-1] < seq)
    return cases


def _received(logs: Logs) -> list[bool]:
    bounds = [it for _, it in _all(logs, "bounds")]
    if not bounds:
        return []
    stored = {(offset, producer, seq): digest for offset, _, producer, seq, digest in _stored(logs)}
    cases = []
    for _, it in _all(logs, "receipt"):
        for seq, offset in zip(it["seqs"], it["offsets"], strict=True):
            digest = stored.get((offset, it["producer"], seq))
            if digest is None:
                cases.append(offset < max(each["first"] for each in bounds))
            else:
                asked = [one for one, who, number in _puts(logs, "put") if (who, number) == (it["producer"], seq)]
                cases.append(not asked or digest in asked)
    return cases


def _puts(logs: Logs, kind: str) -> list[tuple[int, str, int]]:
    return [
        (digest, it["producer"], seq)
        for _, it in _all(logs, kind)
        for seq, digest in zip(it["seqs"], it["digests"], strict=True)
    ]


def _asked(logs: Logs, lost: set[str]) -> list[bool]:
    puts, aborts = _puts(logs, "put"), _puts(logs, "abort")
    cases = []
    for _, _, producer, seq, digest in _stored(logs):
        known = [number for _, who, number in puts if who == producer]
        if known and seq >= min(known):
            one = (digest, producer, seq)
            cases.append(bool(lost) or puts.count(one) > aborts.count(one))
    return cases


def _one_offset(logs: Logs) -> list[bool]:
    found = [(it[2], it[3], it[0]) for it in _stored(logs) if it[3] >= 0]
    for _, it in _all(logs, "receipt"):
        found += [(it["producer"], seq, offset) for seq, offset in zip(it["seqs"], it["offsets"], strict=True)]
    first: dict[tuple[str, int], int] = {}
    return [first.setdefault((producer, seq), offset) == offset for producer, seq, offset in found]
