"""DURABLE: what was answered is in every later state of the name, of a durable one after any restart."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple

from gcom.audit.applications.rule import ApplicationCase, ApplicationRule, place
from gcom.audit.applications.states.lives import DURABLE, StateLife, StateLives
from gcom.audit.input.applications import STATE, Record
from gcom.audit.rules.rule import Example
from gcom.audit.summary.tally import Tally
from gcom.values.names import name_of


class _Answer(NamedTuple):
    place: int  # the index
    number: int
    caller: str
    process: str
    record: Record

    def where(self) -> Example:
        return place(self.process, self.record)


def _judge(case: ApplicationCase, tally: Tally) -> None:
    lives = StateLives(case)
    answers: dict[StateLife, list[_Answer]] = defaultdict(list)
    for process, record in case.records("apply"):
        for index, caller, number in record.get("answered", ()):
            answers[lives.of(record)].append(_Answer(index, number, caller, process, record))
    _judge_commands(case, lives, answers, tally)
    _judge_repeats(case, lives, answers, tally)
    for process, record in case.records("start"):
        _judge_start(process, record, lives.of(record), answers[lives.of(record)], tally)
    _judge_majorities(case, tally)
    _judge_claims(case, tally)


# One command an index


def _judge_commands(
    case: ApplicationCase, lives: StateLives, answers: dict[StateLife, list[_Answer]], tally: Tally
) -> None:
    """Judge that an index has one command, whoever applied it, and in whatever restart."""
    told = {(life, answer.place): answer for life, each in answers.items() for answer in each}
    first: dict[tuple[StateLife, int], tuple[int, str, Record]] = {}
    for process, record in case.records("apply"):
        life = lives.of(record)
        for index, command in enumerate(record["commands"], record["index"]):
            known = first.setdefault((life, index), (command, process, record))
            if known[2] is record:
                continue
            answer = told.get((life, index))
            tally.evaluated += 1
            if known[0] != command:
                where = answer.where() if answer is not None else place(known[1], known[2])
                kind = "answered" if answer is not None else "applied"
                # Where the answer is of this process, the other one has the wrong command.
                blamed = (known[1], known[2]) if where["process"] == process else (process, record)
                tally.violate(1, **place(*blamed, kind=kind, index=index, other=where))


# One application a command


def _judge_repeats(
    case: ApplicationCase, lives: StateLives, answers: dict[StateLife, list[_Answer]], tally: Tally
) -> None:
    """Judge that a command was applied once, of those whose records tell an application from a repetition."""
    applied = {life: [it for it in each if _was_applied(it)] for life, each in answers.items()}
    once: dict[tuple[StateLife, str, int], _Answer] = {}
    for life, each in applied.items():
        for answer in each:
            known = once.setdefault((life, answer.caller, answer.number), answer)
            if known is not answer:
                tally.evaluated += 1
                if known.place != answer.place:
                    more = {"index": answer.place, "last": known.place, "other": known.where()}
                    tally.violate(1, **place(answer.process, answer.record, kind="twice", **more))
    for process, start in case.records("start"):
        life, callers = lives.of(start), start["callers"]
        for answer in applied.get(life, ()):
            if start["index"] < answer.place and answer.caller in callers:
                tally.evaluated += 1
                if callers[answer.caller] >= answer.number:
                    more = {"index": answer.place, "last": start["index"], "other": place(process, start)}
                    tally.violate(1, **place(answer.process, answer.record, kind="twice", **more))


def _was_applied(answer: _Answer) -> bool:
    return answer.place not in answer.record.get("repeated", [answer.place])


# Later states have what was answered


def _judge_start(process: str, start: Record, life: StateLife, answers: list[_Answer], tally: Tally) -> None:
    """Judge a state that was taken over against the answers before it."""
    callers = start["callers"]
    for answer in answers:
        before = answer.record.get("term", 0) < start.get("term", 0)
        if life == DURABLE and before and answer.place > start["last"]:
            tally.evaluated += 1
            where = {"index": answer.place, "last": start["last"], "other": answer.where()}
            tally.violate(1, **place(process, start, kind="lost", **where))
        elif answer.place <= start["index"] and answer.caller in callers:
            tally.evaluated += 1
            if callers[answer.caller] < answer.number:
                where = {"index": answer.place, "last": start["index"], "other": answer.where()}
                tally.violate(1, **place(process, start, kind="unknown", **where))


# Answers wait for disks


def _judge_majorities(case: ApplicationCase, tally: Tally) -> None:
    """Judge that a majority of the configured replicas had synced what was answered."""
    for process, record in case.records("apply"):
        if record.get("answered") and record.get("replicas"):
            index = max(each[0] for each in record["answered"])
            held = sum(synced >= index for synced in record.get("synced", {}).values())
            tally.evaluated += 1
            if held <= record["replicas"] // 2:
                more: dict[str, Any] = {"index": index, "held": held, "replicas": record["replicas"]}
                tally.violate(1, **place(process, record, kind="minority", **more))


def _judge_claims(case: ApplicationCase, tally: Tally) -> None:
    """Judge that no replica says more than its disk has, and that nobody counts more than it said."""
    said: dict[tuple[str, int], int] = defaultdict(int)
    for process, told, synced in _told(case):
        key = name_of(process), told["term"]
        said[key] = max(said[key], told["index"])
        # What a gap hides may have been synced.
        tally.evaluated += case.coverage[process] != "lost"
        if told["index"] > synced and case.coverage[process] != "lost":
            tally.violate(1, **place(process, told, kind="early", index=told["index"], last=synced))
    open_names = {name_of(who) for who in case.logs if case.coverage.get(who) != "closed"}
    names = {name_of(who) for who in case.logs} - open_names
    for process, record in case.records("apply"):
        for name, index in record.get("synced", {}).items():
            # Only of complete logs it is certain that what is not in them was not said.
            if name in names and index > said[name, record.get("term", 0)]:
                more = {"index": index, "last": said[name, record.get("term", 0)], "name": name}
                tally.violate(1, **place(process, record, kind="claimed", **more))


def _told(case: ApplicationCase) -> Iterator[tuple[str, Record, int]]:
    """Yield what replicas told, each with the index that its disk had synced by then in that term."""
    for process, records in case.logs.items():
        synced: dict[int, int] = {}
        for record in records:
            if record["type"] == "synced":
                synced[record["term"]] = max(synced.get(record["term"], 0), record["index"])
            elif record["type"] == "told":
                yield process, record, synced.get(record["term"], 0)


def _sentence(e: Example) -> str:
    match e["kind"]:
        case "answered":
            return (
                f"{e['other']['process']} answered the command at index {e['index']}, "
                f"and {e['process']} applied another one there."
            )
        case "applied":
            return (
                f"At index {e['index']} {e['process']} applied another command than {e['other']['process']}: "
                "one of the two is gone."
            )
        case "lost":
            return (
                f"{e['other']['process']} answered the command at index {e['index']}, "
                f"and {e['process']} went on later with a log that ends at {e['last']}."
            )
        case "unknown":
            return (
                f"{e['other']['process']} answered the command at index {e['index']}, "
                f"and the state that {e['process']} took over at index {e['last']} does not know it."
            )
        case "twice":
            return (
                f"{e['process']} applied a command at index {e['index']} that {e['other']['process']} had "
                f"at index {e['last']} already: it is applied twice."
            )
        case "minority":
            return (
                f"{e['process']} answered the command at index {e['index']} when {e['held']} of {e['replicas']} "
                "replicas had synced it: no majority."
            )
        case "early":
            return f"{e['process']} told that it had synced index {e['index']}, when its disk had synced {e['last']}."
        case _:
            return (
                f"{e['process']} counted index {e['index']} as synced by {e['name']}, which said {e['last']} at most."
            )


# Blamed for an answer at delivery, a sync that is not awaited, a restart that takes a log that is behind.
RULE = ApplicationRule(
    "DURABLE",
    STATE,
    "Every answered command is in every later state of the name, restarts included.",
    _sentence,
    _judge,
)
