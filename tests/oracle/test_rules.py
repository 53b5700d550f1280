"""The oracle finds what it is for: each rule holds on a good life, and fails when that life is damaged against it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.oracle import judge
from tests.oracle.build import A, B, C, Ending, Logs, deliver, life, send, skip, view, write
from tests.oracle.rules import RULES

Damage = Callable[[Logs], object]


def _verdicts(folder: Path, logs: Logs, endings: dict[str, Ending] | None = None) -> dict[str, str]:
    report = judge(write(folder, logs, endings))
    assert report.notes == []
    return dict(report.group("g").verdicts())


def _swap(logs: Logs, process: str, one: int, other: int) -> None:
    records = logs[process]
    records[one], records[other] = records[other], records[one]


def _drop(logs: Logs, process: str, index: int) -> None:
    del logs[process][index]


def _change(logs: Logs, process: str, index: int, **fields: object) -> None:
    logs[process][index] |= fields


def _everywhere(logs: Logs, kind: str, number: int, **fields: object) -> None:
    for records in logs.values():
        for record in records:
            if record["type"] == kind and record["view"] == number:
                record |= fields


def _deliver_late(logs: Logs) -> None:
    _change(logs, B, 4, view=2)
    _swap(logs, B, 4, 5)


def _label(logs: Logs, number: int) -> None:
    _everywhere(logs, "deliver", 2, view=number, sent_view=number)
    _everywhere(logs, "send", 2, view=number)


DAMAGES: list[tuple[str, str, Damage]] = [
    ("NO_CREATION", "forged number of a closed sender", lambda it: it[B].insert(-1, deliver(2, C, 2, serial=6))),
    ("NO_CREATION", "numbers begin at two", lambda it: _change(it, C, 1, number=2)),
    ("NO_CREATION", "a number is left out", lambda it: _change(it, A, 6, number=4)),
    ("NO_CREATION", "own message before its send", lambda it: _swap(it, A, 1, 2)),
    ("NO_DUPLICATION", "delivered twice", lambda it: it[B].insert(2, deliver(1, A, 1))),
    ("NO_DUPLICATION", "a run that overlaps", lambda it: it[B].insert(3, deliver(1, A, 1, count=2))),
    ("NO_DUPLICATION", "delivered although in base", lambda it: it[C].insert(1, deliver(2, B, 1))),
    ("NO_DUPLICATION", "delivered although skipped", lambda it: it[B].insert(1, skip(1, sender=A, number=1))),
    ("INTEGRITY", "another payload", lambda it: _change(it, B, 2, digests=[99])),
    ("INTEGRITY", "another payload inside a run", lambda it: _change(it, A, 2, digests=[11, 99])),
    ("SELF_DELIVERY", "one's own is never delivered", lambda it: _drop(it, C, 2)),
    ("SELF_DELIVERY", "by one that stays to its exit", lambda it: it[C].append(send(3, 2, {A: 3}))),
    ("AGREEMENT", "the leaver misses one", lambda it: _drop(it, B, 7)),
    ("AGREEMENT", "one that goes on misses one", lambda it: _drop(it, A, 3)),
    (
        "AGREEMENT",
        "at exit one misses what another has",
        lambda it: it[A].extend([send(3, 4, {}), deliver(3, A, 4, serial=6)]),
    ),
    ("FIFO", "two of one sender change places", lambda it: _swap(it, B, 1, 2)),
    ("FIFO", "one is left out", lambda it: _drop(it, B, 1)),
    ("CAUSAL", "an answer before its question", lambda it: _swap(it, B, 6, 7)),
    ("CAUSAL", "an answer without its question", lambda it: _drop(it, B, 6)),
    ("CAUSAL", "an answer before one's own question", lambda it: _swap(it, C, 2, 3)),
    ("CLOCK", "an entry one too high", lambda it: _change(it, B, 3, clock={A: 3})),
    ("CLOCK", "an entry one too low", lambda it: _change(it, B, 3, clock={A: 1})),
    ("CLOCK", "an entry is missing", lambda it: _change(it, A, 6, clock={C: 1})),
    ("CLOCK", "the base is missing", lambda it: _change(it, C, 1, clock={})),
    ("TOTAL", "two change places at one member", lambda it: _swap(it, B, 6, 7)),
    ("TOTAL_GAP_FREE", "two change places at one member", lambda it: _swap(it, B, 6, 7)),
    ("TOTAL_GAP_FREE", "one is left out", lambda it: _drop(it, B, 6)),
    ("SERIAL_UNIQUE", "two serials for a message", lambda it: _change(it, B, 7, serial=6)),
    ("SERIAL_UNIQUE", "two messages for a serial", lambda it: _change(it, B, 7, serial=4)),
    ("SERIAL_UNIQUE", "a skipped one, too", lambda it: it[C].append(skip(3, sender=B, number=2, serial=5))),
    ("SERIAL_CONTIGUOUS", "a serial is left out", lambda it: _drop(it, B, 6)),
    ("SERIAL_CONTIGUOUS", "not from the base on", lambda it: _change(it, C, 0, base_serial=2)),
    ("SERIAL_CONTIGUOUS", "not from one on", lambda it: _drop(it, A, 2)),
    ("SENDING_VIEW", "delivered one view late", lambda it: _swap(it, B, 4, 5)),
    ("SENDING_VIEW", "delivered and labelled one view late", _deliver_late),
    ("SENDING_VIEW", "another view of the sender", lambda it: _change(it, B, 7, sent_view=1)),
    ("SENDING_VIEW", "the send says another view", lambda it: _change(it, A, 6, view=1)),
    ("SENDING_VIEW", "all agree, but another is in force", lambda it: _label(it, 3)),
    ("SENDING_VIEW", "delivered after leaving", lambda it: _swap(it, B, 7, 8)),
    ("VIEW_AGREEMENT", "other members", lambda it: _change(it, B, 5, members=[A, B])),
    ("VIEW_AGREEMENT", "another ordering", lambda it: _change(it, B, 5, ordering="TOTAL")),
    ("VIEW_AGREEMENT", "another multicast", lambda it: _change(it, B, 5, multicast="BASIC")),
    ("VIEW_AGREEMENT", "another promise of safety", lambda it: _change(it, B, 5, safe=True)),
    ("VIEW_AGREEMENT", "another rule for netsplits", lambda it: _change(it, B, 5, netsplit="PARTITIONABLE")),
    ("VIEW_AGREEMENT", "a leader from outside", lambda it: _everywhere(it, "view", 3, leader=B)),
    ("VIEW_AGREEMENT", "one that is no member", lambda it: _everywhere(it, "view", 1, members=[A])),
    ("VIEW_AGREEMENT", "a view is left out", lambda it: _drop(it, A, 4)),
    ("VIEW_AGREEMENT", "a view twice", lambda it: it[C].append(view(3, A, C))),
    ("VIRTUAL_SYNCHRONY", "delivered after the view", lambda it: _swap(it, A, 3, 4)),
    ("VIRTUAL_SYNCHRONY", "one delivered more", lambda it: _drop(it, B, 6)),
    ("VIRTUAL_SYNCHRONY", "another base", lambda it: _change(it, C, 0, base={A: 1, B: 1})),
    ("VIRTUAL_SYNCHRONY", "no base", lambda it: it[C][0].pop("base")),
    ("ONE_LEADER", "two leaders", lambda it: _change(it, B, 5, leader=B)),
    (
        "ONE_LEADER",
        "another was elected",
        lambda it: it[C].insert(1, {"type": "elect", "view": 2, "leader": C, "reason": "rank"}),
    ),
]


def test_every_rule_holds_on_a_good_life(tmp_path: Path) -> None:
    report = judge(write(tmp_path, life()))
    assert report.notes == []
    assert report.coverage == {A: "closed", B: "closed", C: "closed"}
    assert report.group("g").verdicts() == {**dict.fromkeys(RULES, "PASS"), "CONTINUITY": "VACUOUS"}
    assert report.group("g").verdict == "PASS"
    assert report.group("g").expected == {*RULES, "CONTINUITY"}


@pytest.mark.parametrize(("rule", "what", "damage"), DAMAGES, ids=[f"{rule}: {what}" for rule, what, _ in DAMAGES])
def test_damage_fails_its_rule(tmp_path: Path, rule: str, what: str, damage: Damage) -> None:
    logs = life()
    damage(logs)
    assert _verdicts(tmp_path, logs)[rule] == "FAIL", what


def test_each_rule_has_a_damage() -> None:
    assert {rule for rule, _, _ in DAMAGES} == set(RULES)


def test_three_orders_that_rotate_contradict_each_other(tmp_path: Path) -> None:
    """No two processes share two messages, so no pair can tell; the union of the orders can."""
    members = view(1, A, B, C, ordering="TOTAL", multicast="BASIC")
    sends = send(1, 1, {})
    logs = {
        A: [members, sends, deliver(1, A, 1), deliver(1, B, 1)],
        B: [members, sends, deliver(1, B, 1), deliver(1, C, 1)],
        C: [members, sends, deliver(1, C, 1), deliver(1, A, 1)],
    }
    assert _verdicts(tmp_path, logs)["TOTAL"] == "FAIL"


def test_safe_binds_survivors_to_what_a_crashed_process_delivered(tmp_path: Path) -> None:
    def logs(safe: bool) -> Logs:
        both = view(1, A, B, ordering="FIFO", safe=safe)
        return {A: [both, send(1, 1, {}), deliver(1, A, 1)], B: [both, view(2, B, ordering="FIFO", safe=safe)]}

    assert _verdicts(tmp_path / "plain", logs(False), {A: "crash"})["AGREEMENT"] == "VACUOUS"
    assert _verdicts(tmp_path / "safe", logs(True), {A: "crash"})["AGREEMENT"] == "FAIL"


@pytest.mark.parametrize("ending", ["crash", "torn"])
@pytest.mark.parametrize("process", [A, B, C])
def test_a_lost_tail_is_no_violation(tmp_path: Path, process: str, ending: Ending) -> None:
    for length in range(len(life()[process])):
        logs = life()
        logs[process] = logs[process][:length]
        assert "FAIL" not in _verdicts(tmp_path / str(length), logs, {process: ending}).values()


def test_a_delivery_beyond_the_torn_log_of_its_sender_is_unknown(tmp_path: Path) -> None:
    logs = life()
    logs[A] = logs[A][:6]
    verdicts = _verdicts(tmp_path, logs, {A: "torn"})
    beyond = {"NO_CREATION", "INTEGRITY", "CAUSAL", "SENDING_VIEW"}
    assert {rule for rule, verdict in verdicts.items() if verdict == "UNKNOWN"} == beyond


@pytest.mark.parametrize("process", [A, B, C])
def test_a_member_without_a_log_is_unknown(tmp_path: Path, process: str) -> None:
    logs = life()
    del logs[process]
    verdicts = _verdicts(tmp_path, logs)
    assert set(verdicts.values()) == {"UNKNOWN"}


def test_skips_settle(tmp_path: Path) -> None:
    basic = view(1, A, B, ordering="TOTAL", multicast="BASIC")
    logs = {
        A: [basic, send(1, 1, {}, count=3), deliver(1, A, 1, count=3, serial=1), skip(1, serial=4, count=2)],
        B: [
            basic,
            skip(1, sender=A, number=1, count=2, serial=1),
            deliver(1, A, 3, serial=3),
            skip(1, serial=4, count=2),
            send(1, 1, {A: 3}),
        ],
    }
    verdicts = _verdicts(tmp_path, logs)
    assert [verdicts[rule] for rule in ("FIFO", "CLOCK", "SERIAL_UNIQUE", "SERIAL_CONTIGUOUS")] == ["PASS"] * 4


def test_a_group_without_deliveries_decides_nothing(tmp_path: Path) -> None:
    report = judge(write(tmp_path, {A: [view(1, A, ordering="FIFO")]})).group("g")
    assert report.tallies["FIFO"].verdict == "VACUOUS"
    assert report.verdict == "VACUOUS"


def test_a_total_order_without_serials_decides_nothing(tmp_path: Path) -> None:
    alone = [view(1, A, ordering="TOTAL"), send(1, 1, {}), deliver(1, A, 1)]
    assert judge(write(tmp_path, {A: alone})).group("g").verdict == "VACUOUS"


@pytest.mark.parametrize(
    ("ordering", "multicast", "more"),
    [
        ("NONORDERED", "BASIC", set()),
        ("FIFO", "BASIC", {"FIFO"}),
        ("CAUSAL", "RELIABLE", {"FIFO", "CAUSAL", "SELF_DELIVERY", "AGREEMENT", "VIRTUAL_SYNCHRONY"}),
        ("TOTAL", "BASIC", {"TOTAL", "SERIAL_UNIQUE", "SERIAL_CONTIGUOUS"}),
    ],
)
def test_expected_rules(tmp_path: Path, ordering: str, multicast: str, more: set[str]) -> None:
    logs = {A: [view(1, A, ordering=ordering, multicast=multicast)]}
    always = {"NO_CREATION", "NO_DUPLICATION", "SENDING_VIEW", "CLOCK", "VIEW_AGREEMENT", "ONE_LEADER", "CONTINUITY"}
    assert judge(write(tmp_path, logs)).group("g").expected == always | more
