"""A naive judge of what stands on groups, written from DELIVERY_LOG.md alone; it shares nothing with the audit."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

from tests.oracle.rules import Verdict

Record = dict[str, Any]
Logs = dict[str, list[Record]]  # process: its records, in order


def judge_states(logs: Logs, coverage: dict[str, str]) -> dict[str, dict[str, Verdict]]:
    """The verdict of each rule, by the state's name."""
    names = {record["of"] for records in logs.values() for record in records if record["type"] in _STATE}
    verdicts = {}
    for name in sorted(names):
        mine = {who: [it for it in records if it.get("of") == name] for who, records in logs.items()}
        mine = {who: records for who, records in mine.items() if records}
        closed = {who for who in mine if coverage[who] == "closed"}
        lost = {who for who in mine if coverage[who] == "lost"}
        durable = [*_commands(mine), *_starts(mine), *_disks(mine, lost), *_majorities(mine, closed)]
        verdicts[name] = {"DURABLE": _verdict(durable, lost), "DETERMINISM": _verdict(_digests(mine), lost)}
    return verdicts


_STATE = ("apply", "start", "digest", "synced", "told")
# The fields that each type must have; all that any has beside these.
APPLICATION_FIELDS: dict[str, tuple[str, ...]] = {
    "apply": ("of", "index", "commands"),
    "start": ("of", "index", "last", "callers"),
    "digest": ("of", "index", "digest"),
    "synced": ("of", "index", "term"),
    "told": ("of", "index", "term"),
}
_TEXTS = ("of", "instance", "digest")
_NUMBERS = ("index", "last", "term", "view", "replicas")
_LISTS = ("commands", "answered")
_MAPS = ("callers", "synced")


def is_application(record: Record) -> bool:
    """Whether the fields are there, each of its kind."""
    if not all(name in record for name in APPLICATION_FIELDS[record["type"]]):
        return False
    return (
        all(type(record[name]) is str for name in _TEXTS if name in record)
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
    if name == "commands":
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
