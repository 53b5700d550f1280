"""Every mutation that research knows of delivery logs yields its rule, and names who and what; a sound log yields none.

The logs are a group's that keeps every promise: three views, in which dave comes and carol goes. A mutation changes
what one member logged.
"""

from __future__ import annotations

import json
import shutil
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from gcom.audit.explain.incidents import Incident
from gcom.audit.explain.result import AuditResult, GroupResult, result_of
from tests.audit.damage import Record, write
from tests.audit.here import audit
from tests.audit.lives import VIEWS, Group, Life, live, write_lives
from tests.oracle import judge
from tests.oracle.build import deliver, send, view
from tests.oracle.build import write as write_logs

Lives = dict[str, Life]
Message = tuple[str, int]
A, B, C, D = "alice#1", "bob#1", "carol#1", "dave#1"


@dataclass(frozen=True, slots=True)
class Blame:
    """Which rule breaks, who must be named, beside one other at most, and with which messages."""

    rule: str
    process: str
    messages: set[Message] = field(default_factory=set)


Mutate = Callable[[Lives], Blame]
MUTATIONS: dict[str, tuple[str, Mutate]] = {}


def _mutation(name: str, ordering: str = "CAUSALTOTAL") -> Callable[[Mutate], Mutate]:
    def add(mutate: Mutate) -> Mutate:
        MUTATIONS[name] = (ordering, mutate)
        return mutate

    return add


def healthy(ordering: str = "CAUSALTOTAL") -> Lives:
    """The lives, with digests; in an order that is not total without serials."""
    lives = live(Group(VIEWS))
    for life in lives.values():
        for record in life.records:
            if record["type"] == "view":
                record["ordering"] = ordering
            if record["type"] in ("send", "deliver"):
                record["digests"] = [zlib.crc32(f"{record.get('sender', life.process)} {record['number']}".encode())]
            if "TOTAL" not in ordering:
                record.pop("serial", None)
                record.pop("base_serial", None)
    return lives


def _places(records: list[Record], kind: str, of_view: int = 2, **fields: Any) -> list[int]:
    return [
        place
        for place, record in enumerate(records)
        if record["type"] == kind and record["view"] == of_view and all(record[name] == fields[name] for name in fields)
    ]


def _middle(records: list[Record], kind: str, of_view: int = 2, **fields: Any) -> int:
    places = _places(records, kind, of_view, **fields)
    return places[len(places) // 2]


def _message(record: Record) -> Message:
    return record["sender"], record["number"]


def _neighbours(records: list[Record], fit: Callable[[Record, Record], bool]) -> int:
    """A delivery of view 2 that the next record is a delivery after; of these pairs the first that fits."""
    return next(
        place
        for place, (one, other) in enumerate(pairwise(records))
        if one["type"] == other["type"] == "deliver" and one["view"] == 2 and fit(one, other)
    )


# Swap


@_mutation("swap, of one sender", "FIFO")
def _swap_of_one_sender(lives: Lives) -> Blame:
    records = lives["bob"].records
    at = _neighbours(records, lambda one, other: one["sender"] == other["sender"])
    records[at], records[at + 1] = records[at + 1], records[at]
    return Blame("FIFO", B, {_message(records[at])})


@_mutation("swap, a message and its cause", "CAUSAL")
def _swap_a_message_and_its_cause(lives: Lives) -> Blame:
    """Of another sender, whose last message before it is the cause."""
    records = lives["dave"].records
    clocks = _clocks(lives)
    at = _neighbours(
        records,
        lambda one, other: (
            one["sender"] != other["sender"] and clocks[_message(other)].get(one["sender"]) == one["number"]
        ),
    )
    cause, message = _message(records[at]), _message(records[at + 1])
    records[at], records[at + 1] = records[at + 1], records[at]
    return Blame("CAUSAL", D, {cause, message})


def _clocks(lives: Lives) -> dict[Message, dict[str, int]]:
    """The deliveries of each message's sender before it sent."""
    found = {}
    for life in lives.values():
        clock: dict[str, int] = {}
        for record in life.records:
            if record["type"] == "send":
                clock.update(record["clock"])
                found[life.process, record["number"]] = dict(clock)
    return found


@_mutation("swap, with their serials")
def _swap_with_their_serials(lives: Lives) -> Blame:
    records = lives["bob"].records
    at = _neighbours(records, lambda one, other: one["sender"] != other["sender"])
    records[at], records[at + 1] = records[at + 1], records[at]
    return Blame("SERIAL_CONTIGUOUS", B, {_message(records[at])})


@_mutation("swap, without their serials: the same numbers in another order")
def _swap_without_their_serials(lives: Lives) -> Blame:
    records = lives["bob"].records
    at = _neighbours(records, lambda one, other: one["sender"] != other["sender"])
    one, other = records[at], records[at + 1]
    one["serial"], other["serial"] = other["serial"], one["serial"]
    records[at], records[at + 1] = other, one
    return Blame("SERIAL_UNIQUE", B, {_message(one), _message(other)})


@_mutation("swap, in a total order without serials", "TOTAL")
def _swap_without_serials(lives: Lives) -> Blame:
    for life in lives.values():
        for record in life.records:
            record.pop("serial", None)
            record.pop("base_serial", None)
    records = lives["bob"].records
    at = _neighbours(records, lambda one, other: one["sender"] != other["sender"])
    records[at], records[at + 1] = records[at + 1], records[at]
    return Blame("TOTAL", B, {_message(records[at]), _message(records[at + 1])})


# Drop


@_mutation("drop, a delivery")
def _drop_a_delivery(lives: Lives) -> Blame:
    records = lives["bob"].records
    lost = records.pop(_places(records, "deliver", 3, sender=D)[-1])
    return Blame("AGREEMENT", B, {_message(lost)})


@_mutation("drop, a delivery of one's own", "NONORDERED")
def _drop_a_delivery_of_ones_own(lives: Lives) -> Blame:
    records = lives["bob"].records
    lost = records.pop(_middle(records, "deliver", sender=B))
    for name in "acd":
        others = next(life.records for who, life in lives.items() if who[0] == name)
        del others[
            next(i for i, each in enumerate(others) if each["type"] == "deliver" and _message(each) == _message(lost))
        ]
    return Blame("SELF_DELIVERY", B, {_message(lost)})


@_mutation("drop, a send")
def _drop_a_send(lives: Lives) -> Blame:
    records = lives["bob"].records
    at = _middle(records, "send")
    lost = records.pop(at)
    return Blame("NO_CREATION", B, {(B, lost["number"])})


@_mutation("drop, the last send")
def _drop_the_last_send(lives: Lives) -> Blame:
    """Drop a send: its receivers deliver what nobody sent, and the first of them is blamed."""
    records = lives["carol"].records
    lost = records.pop(_places(records, "send")[-1])
    return Blame("NO_CREATION", A, {(C, lost["number"])})


@_mutation("drop, a view")
def _drop_a_view(lives: Lives) -> Blame:
    records = lives["alice"].records
    del records[_places(records, "view", 2)[0]]
    return Blame("VIEW_AGREEMENT", A)


# Duplicate


@_mutation("duplicate, a delivery")
def _duplicate_a_delivery(lives: Lives) -> Blame:
    records = lives["bob"].records
    at = _middle(records, "deliver")
    records.insert(at + 3, dict(records[at]))
    return Blame("NO_DUPLICATION", B, {_message(records[at])})


@_mutation("duplicate, a send")
def _duplicate_a_send(lives: Lives) -> Blame:
    records = lives["bob"].records
    at = _middle(records, "send")
    records.insert(at + 1, dict(records[at]))
    return Blame("NO_CREATION", B, {(B, records[at]["number"])})


@_mutation("duplicate and drop, in one bucket: as many as before")
def _duplicate_and_drop(lives: Lives) -> Blame:
    """Replace a delivery by its neighbour: the count of deliveries stays what it was."""
    records = lives["bob"].records
    at = _neighbours(records, lambda *_: True)
    records[at + 1] |= {name: records[at][name] for name in ("sender", "number", "digests")}
    return Blame("NO_DUPLICATION", B, {_message(records[at])})


@_mutation("duplicate and drop, what is dropped")
def _duplicate_and_drop_what_is_dropped(lives: Lives) -> Blame:
    records = lives["bob"].records
    lost = _message(records[_neighbours(records, lambda *_: True) + 1])
    _duplicate_and_drop(lives)
    return Blame("AGREEMENT", B, {lost})


# Forge


@_mutation("forge, a number that was never sent")
def _forge_a_number(lives: Lives) -> Blame:
    records = lives["bob"].records
    at = _places(records, "deliver", 3)[-1]
    records[at]["number"] += 1_000
    return Blame("NO_CREATION", B, {_message(records[at])})


@_mutation("forge, a sender that never was in the group")
def _forge_a_sender(lives: Lives) -> Blame:
    """Its log is complete, and about another group."""
    lives["eve"] = Life(
        "eve", [dict(record) for record in lives["carol"].records if record["type"] in ("open", "close")]
    )
    lives["eve"].records[0] |= {"member": "eve", "process": "eve#1"}
    records = lives["bob"].records
    at = _places(records, "deliver", 3)[-1]
    records[at] |= {"sender": "eve#1", "number": 1}
    return Blame("NO_CREATION", B, {("eve#1", 1)})


@_mutation("forge, a payload")
def _forge_a_payload(lives: Lives) -> Blame:
    records = lives["bob"].records
    at = _middle(records, "deliver", sender=A)
    records[at]["digests"] = [1]
    return Blame("INTEGRITY", B, {_message(records[at])})


# Re-view


@_mutation("re-view, the sender's view at a delivery")
def _review_the_senders_view(lives: Lives) -> Blame:
    records = lives["bob"].records
    at = _middle(records, "deliver")
    records[at]["sent_view"] = 1
    return Blame("SENDING_VIEW", B, {_message(records[at])})


@_mutation("re-view, a delivery behind the next view", "NONORDERED")
def _review_a_delivery_behind_the_next_view(lives: Lives) -> Blame:
    records = lives["bob"].records
    late = records.pop(_places(records, "deliver", 2)[-1])
    records.insert(_places(records, "view", 3)[0] + 1, late)
    return Blame("SENDING_VIEW", B, {_message(late)})


@_mutation("re-view, a send")
def _review_a_send(lives: Lives) -> Blame:
    """It is said to be of another view than all deliver it in; the first of them is blamed."""
    records = lives["carol"].records
    at = _middle(records, "send")
    records[at]["view"] = 1
    return Blame("SENDING_VIEW", A, {(C, records[at]["number"])})


@_mutation("re-view, the members")
def _review_the_members(lives: Lives) -> Blame:
    records = lives["bob"].records
    at = _places(records, "view", 2)[0]
    records[at]["members"] = [A, B, D]
    return Blame("VIEW_AGREEMENT", B)


@_mutation("re-view, the leader")
def _review_the_leader(lives: Lives) -> Blame:
    records = lives["bob"].records
    records[_places(records, "view", 2)[0]]["leader"] = B
    return Blame("ONE_LEADER", B)


@_mutation("re-view, its number")
def _review_its_number(lives: Lives) -> Blame:
    records = lives["bob"].records
    for record in records:
        if record.get("view") == 3:
            record["view"] = 4
    return Blame("VIEW_AGREEMENT", B)


# Re-number


@_mutation("re-number, a send")
def _renumber_a_send(lives: Lives) -> Blame:
    records = lives["bob"].records
    at = _middle(records, "send")
    records[at]["number"] += 1
    return Blame("NO_CREATION", B, {(B, records[at]["number"])})


@_mutation("re-number, a delivery", "FIFO")
def _renumber_a_delivery(lives: Lives) -> Blame:
    records = lives["bob"].records
    at = _middle(records, "deliver", sender=A)
    records[at]["number"] += 1
    return Blame("FIFO", B, {_message(records[at])})


@_mutation("re-number, one's own before its send")
def _renumber_ones_own(lives: Lives) -> Blame:
    records = lives["bob"].records
    at = _middle(records, "deliver", sender=B)
    early = records.pop(at)
    sent = next(i for i, each in enumerate(records) if each["type"] == "send" and each["number"] == early["number"])
    records.insert(sent, early)
    return Blame("NO_CREATION", B, {_message(early)})


@_mutation("re-number, the serials: the same order with wrong numbers")
def _renumber_the_serials(lives: Lives) -> Blame:
    records = lives["bob"].records
    at = _middle(records, "deliver")
    for record in records[at:]:
        if "serial" in record:
            record["serial"] += 1
    return Blame("SERIAL_CONTIGUOUS", B, {_message(records[at])})


@_mutation("re-number, a serial that a new sequencer gave again")
def _renumber_a_serial_again(lives: Lives) -> Blame:
    """1. The serials of view 3 begin again with the last of view 2. 2. Everybody passes them so."""
    last = max(record["serial"] for record in lives["alice"].records if record.get("view") == 2 and "serial" in record)
    again = next(each for each in lives["alice"].records if each.get("serial") == last)
    first = next(each for each in lives["alice"].records if each.get("serial") == last + 1)
    for life in lives.values():
        for record in life.records:
            if record.get("serial", 0) > last:
                record["serial"] -= 1
    return Blame("SERIAL_UNIQUE", A, {_message(again), _message(first)})


@_mutation("re-number, what a joiner begins with")
def _renumber_a_base(lives: Lives) -> Blame:
    records = lives["dave"].records
    at = _places(records, "view", 2)[0]
    records[at]["base"][B] -= 1
    return Blame("VIRTUAL_SYNCHRONY", D)


@_mutation("re-number, the serial that a joiner begins behind")
def _renumber_a_base_serial(lives: Lives) -> Blame:
    records = lives["dave"].records
    records[_places(records, "view", 2)[0]]["base_serial"] -= 1
    return Blame("SERIAL_CONTIGUOUS", D, {_message(records[_places(records, "deliver")[0]])})


# Clock


def _shift_clock(lives: Lives, step: int) -> Blame:
    records = lives["bob"].records
    at = next(place for place in _places(records, "send") if A in records[place]["clock"])
    records[at]["clock"][A] += step
    return Blame("CLOCK", B, {(B, records[at]["number"])})


@_mutation("clock, an entry one more", "CAUSAL")
def _clock_one_more(lives: Lives) -> Blame:
    return _shift_clock(lives, 1)


@_mutation("clock, an entry one less", "CAUSAL")
def _clock_one_less(lives: Lives) -> Blame:
    return _shift_clock(lives, -1)


@_mutation("clock, an entry is missing", "CAUSAL")
def _clock_without_an_entry(lives: Lives) -> Blame:
    records = lives["dave"].records
    at = _places(records, "send")[0]
    assert records[at]["clock"].pop(A)
    return Blame("CLOCK", D, {(D, records[at]["number"])})


# Truncate


@_mutation("truncate, a log that says it is complete")
def _truncate_a_complete_log(lives: Lives) -> Blame:
    """Its last deliveries are gone, and it left in peace."""
    records = lives["bob"].records
    lost = _places(records, "deliver", 3)[-1]
    message = _message(records[lost])
    del records[lost]
    return Blame("AGREEMENT", B, {message})


# What is sound


def _rotated(folder: Path) -> Path:
    """Three members, no two of which share two messages: p has ab, q bc, r ca."""
    members = view(1, A, B, C, ordering="TOTAL", multicast="BASIC")
    orders = {A: (A, B), B: (B, C), C: (C, A)}
    logs = {who: [members, send(1, 1, {}), *(deliver(1, each, 1) for each in of)] for who, of in orders.items()}
    return write_logs(folder, logs)


def _crashed(folder: Path) -> None:
    """bob's log ends in the middle of view 2; and with half a line."""
    path = folder / "bob" / "1" / "000000.jsonl"
    data = path.read_bytes()
    path.unlink()
    path.with_name(".000000.jsonl").write_bytes(data[: len(data) // 2])


def _skewed(folder: Path) -> None:
    path = folder / "bob" / "1" / "000000.jsonl"
    lines = [json.loads(line) for line in path.read_bytes().splitlines()]
    lines[0]["wall_ns"] += 3_600_000_000_000
    write(path, lines)


def _uploaded_twice(folder: Path) -> None:
    shutil.copytree(folder / "bob", folder / "copy")


def _without_a_line(folder: Path) -> None:
    path = folder / "bob" / "1" / "000000.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)[:-1]
    del lines[len(lines) // 2]
    path.unlink()
    path.with_name(".000000.jsonl").write_bytes(b"".join(lines))


def _two_incarnations(folder: Path) -> None:
    """bob, who was there to the end, comes back to its group's other instance: the same numbers, another process."""
    for name in ("alice", "bob"):
        path = folder / name / "1" / "000000.jsonl"
        text = path.read_text().replace('"k1"', '"k2"')
        for who in ("alice", "bob", "carol", "dave"):
            text = text.replace(f"{who}#1", f"{who}#2")
        lines = [json.loads(line) for line in text.splitlines()]
        lines[0]["incarnation"] = "2"
        (folder / name / "2").mkdir()
        write(folder / name / "2" / "000000.jsonl", lines)


SOUND: dict[str, Callable[[Path], None]] = {
    "nothing": lambda _: None,
    "a crash tail, torn": _crashed,
    "a wall clock an hour ahead": _skewed,
    "a segment uploaded twice": _uploaded_twice,
    "one line gone": _without_a_line,
    "two incarnations with the same numbers": _two_incarnations,
}


def _result(folder: Path) -> AuditResult:
    return result_of(audit(folder))


def _mutated(name: str, folder: Path) -> Blame:
    ordering, mutate = MUTATIONS[name]
    lives = healthy(ordering)
    blame = mutate(lives)
    write_lives(folder, lives)
    return blame


def _blamed(incidents: list[Incident], blame: Blame) -> list[Incident]:
    return [
        each
        for each in incidents
        if blame.rule in (each.rule, *each.caused)
        and blame.process in each.processes[:2]
        and len(each.processes) <= (3 if blame.rule == "TOTAL" else 2)
        and blame.messages <= set(each.messages)
    ]


def _told(group: GroupResult) -> list[tuple[str, list[str], str, list[str]]]:
    return [(each.rule, each.processes, each.sentence, each.caused) for each in group.incidents]


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutation_yields_its_rule_and_its_pair(name: str, tmp_path: Path) -> None:
    blame = _mutated(name, tmp_path)
    (group,) = _result(tmp_path).groups
    assert {each.rule: each.verdict for each in group.rules}[blame.rule] == "FAIL"
    assert judge(tmp_path).group("news").verdicts()[blame.rule] == "FAIL"
    assert _blamed(group.incidents, blame), _told(group)
    for each in group.incidents:  # and nobody is blamed for what has nothing to do with it
        concerned = {*each.processes, *(sender for sender, _ in each.messages)}
        assert concerned & {blame.process, *(sender for sender, _ in blame.messages)}, _told(group)


@pytest.mark.parametrize("ordering", ["NONORDERED", "FIFO", "CAUSAL", "CAUSALTOTAL"])
def test_without_a_mutation_there_is_nothing(ordering: str, tmp_path: Path) -> None:
    write_lives(tmp_path, healthy(ordering))
    (group,) = _result(tmp_path).groups
    assert group.incidents == []
    assert group.verdict == "PASS"


@pytest.mark.parametrize("name", SOUND)
def test_what_is_sound_yields_nothing(name: str, tmp_path: Path) -> None:
    write_lives(tmp_path, healthy())
    SOUND[name](tmp_path)
    result = _result(tmp_path)
    assert [each.sentence for each in result.incidents] == []
    whole = name not in ("a crash tail, torn", "one line gone", "two incarnations with the same numbers")
    assert (result.verdict == "PASS") == whole


def test_one_hole_is_one_violation(tmp_path: Path) -> None:
    """The messages after a lost one are in order again."""
    lives = healthy("FIFO")
    records = lives["bob"].records
    del records[_middle(records, "deliver", sender=A)]
    write_lives(tmp_path, lives)
    (group,) = _result(tmp_path).groups
    assert {each.rule: each.violations for each in group.rules}["FIFO"] == 1


def test_three_orders_that_rotate_are_told_step_by_step(tmp_path: Path) -> None:
    (group,) = _result(_rotated(tmp_path)).groups
    (cycle,) = [each for each in group.incidents if each.rule == "TOTAL"]
    assert (set(cycle.processes), set(cycle.messages)) == ({A, B, C}, {(A, 1), (B, 1), (C, 1)})
