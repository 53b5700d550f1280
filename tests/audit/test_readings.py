"""DELIVERY_LOG.md where it has to be read closely: small logs made by hand, and what the audit says of them.

Each is judged by the oracle, and by the audit in one pass and segment by segment.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from gcom.audit.plan.run import PlanResult
from gcom.audit.rules.judgement import verdict_of
from tests.audit.here import audit
from tests.oracle import judge
from tests.oracle.build import A, B, C, Record, deliver, leave, life, send, skip, view, write, write_segments

Make = Callable[[Path], object]
Verdicts = dict[str, str]

CASES: dict[str, tuple[Make, Verdicts]] = {}


def _case(**verdicts: str) -> Callable[[Make], Make]:
    """A case, whose logs the function makes; `verdicts` are of the rules that it is about."""

    def add(make: Make) -> Make:
        CASES[make.__name__.strip("_")] = (make, verdicts)
        return make

    return add


def _edit(folder: Path, process: str, change: Callable[[list[bytes]], object], *, sealed: bool = False) -> None:
    """Change the lines of a process's first segment; without its close, or with one that fits."""
    (path,) = (folder / process.replace("#", "/")).glob("*000000.jsonl")
    lines = path.read_bytes().splitlines(keepends=True)
    closing = json.loads(lines.pop()) if b'"close"' in lines[-1] else None
    change(lines)
    path.unlink()
    name = ".000000.jsonl"
    if sealed and closing is not None:
        closing |= {"records": len(lines), "crc32": zlib.crc32(b"".join(lines))}
        lines.append(json.dumps(closing).encode() + b"\n")
        name = "000000.jsonl"
    path.with_name(name).write_bytes(b"".join(lines))


def _pair(ordering: str = "FIFO", multicast: str = "BASIC") -> tuple[Record, Record]:
    both = view(1, A, B, ordering=ordering, multicast=multicast)
    return both, view(1, A, B, ordering=ordering, multicast=multicast)


# Who is known to have sent what


@_case(NO_CREATION="FAIL", SENDING_VIEW="PASS", CAUSAL="VACUOUS")
def _a_complete_log_that_says_nothing_of_the_group(folder: Path) -> None:
    """Coverage is a process's, not a group's: c's log is complete, so it has sent nothing here."""
    one, two = _pair()
    write(folder, {A: [one, deliver(1, C, 1)], B: [two], C: [{**view(1, C), "group": "other"}]})


@_case(NO_CREATION="UNKNOWN", SENDING_VIEW="UNKNOWN")
def _a_sender_without_a_log(folder: Path) -> None:
    one, two = _pair()
    write(folder, {A: [one, deliver(1, C, 1)], B: [two]})


@_case(NO_CREATION="FAIL")
def _a_state_that_does_not_fit_proves_no_send(folder: Path) -> None:
    """A state is trusted only across a gap; here b's says five sends where one precedes it."""
    one, two = _pair()
    state = {"g": {"instance": "i", "view": 1, "number": 5, "delivered": {B: 1}, "beyond": {}, "clock": {}}}
    write(folder, {A: [one, deliver(1, B, 1, count=5)]})
    write_segments(
        folder, B, [[two, send(1, 1, {}), deliver(1, B, 1)], [skip(1, sender=A, number=1)]], "exit", {1: state}
    )


@_case(NO_CREATION="UNKNOWN", NO_DUPLICATION="UNKNOWN")
def _a_state_across_a_gap_proves_sends(folder: Path) -> None:
    one, two = _pair()
    state = {"g": {"instance": "i", "view": 1, "number": 5, "delivered": {B: 5}, "beyond": {}, "clock": {}}}
    write(folder, {A: [one, deliver(1, B, 1, count=5)]})
    parts = [[two, send(1, 1, {})], [send(1, 2, {}, count=4), deliver(1, B, 1, count=5)], [skip(1, sender=A, number=1)]]
    write_segments(folder, B, parts, "exit", {1: state, 2: state})
    (folder / "b" / "1" / "000001.jsonl").unlink()


@_case(NO_CREATION="FAIL", NO_DUPLICATION="VACUOUS")
def _sends_that_do_not_begin_at_one_without_any_delivery(folder: Path) -> None:
    one, two = _pair()
    write(folder, {A: [one, send(1, 2, {})], B: [two]})


# A view that a gap hides


def _behind_a_hidden_view(folder: Path, clock: dict[str, int], *more: Record) -> None:
    """b hears a's and c's first; then c goes, in a segment that is lost; then b goes on with what its state says."""
    three = view(1, A, B, C, ordering="CAUSAL", multicast="BASIC")
    two = view(2, A, B, ordering="CAUSAL", multicast="BASIC")
    first = [three, deliver(1, A, 1), deliver(1, C, 1), send(1, 1, {A: 1, C: 1})]
    state = {"view": 2, "number": 1, "delivered": {A: 1, C: 1}, "beyond": {}, "clock": clock, "serial": 0}
    logs = [three, send(1, 1, {}), deliver(1, C, 1, count=2), two, send(2, 2, {C: 2})]
    write(folder, {A: logs, C: [three, send(1, 1, {}, count=2), leave(1, 2)]})
    states = {1: {"g": {"instance": "i", **state}}, 2: {"g": {"instance": "i", **state}}}
    write_segments(folder, B, [first, [two], list(more)], "exit", states)
    (folder / "b" / "1" / "000001.jsonl").unlink()


@_case(CLOCK="PASS", CAUSAL="UNKNOWN")
def _who_went_in_a_gap_is_in_no_clock(folder: Path) -> None:
    _behind_a_hidden_view(folder, {A: 1}, send(2, 2, {A: 1}))


@_case(CLOCK="FAIL")
def _a_clock_behind_a_gap_is_held_against_the_state(folder: Path) -> None:
    _behind_a_hidden_view(folder, {A: 1}, send(2, 2, {}))


@_case(CAUSAL="UNKNOWN")
def _who_went_in_a_gap_is_no_dependency(folder: Path) -> None:
    """a had c's second when it sent its own; b never has it, but c is not in view 2."""
    _behind_a_hidden_view(folder, {A: 1}, deliver(2, A, 2))


@_case(CAUSAL="FAIL")
def _who_is_in_a_view_that_a_gap_hides_is_known_from_others(folder: Path) -> None:
    """c stays in view 2, as a's log tells; a had heard its second, and b has not."""
    three = view(1, A, B, C, ordering="CAUSAL", multicast="BASIC")
    again = view(2, A, B, C, ordering="CAUSAL", multicast="BASIC")
    state = {"view": 2, "number": 0, "delivered": {}, "beyond": {}, "clock": {}, "serial": 0}
    states = {number: {"g": {"instance": "i", **state}} for number in (1, 2)}
    logs = [three, again, deliver(2, C, 1), send(2, 1, {C: 1})]
    write(folder, {A: logs, C: [three, again, send(2, 1, {})]})
    write_segments(folder, B, [[three], [again], [deliver(2, A, 1)]], "exit", states)
    (folder / "b" / "1" / "000001.jsonl").unlink()


# Two writers


@_case(NO_DUPLICATION="UNKNOWN", NO_CREATION="UNKNOWN")
def _a_line_twice_is_not_delivered_twice(folder: Path) -> None:
    write(folder, life())
    _edit(folder, B, lambda lines: lines.insert(3, lines[2]))


@_case(NO_DUPLICATION="FAIL")
def _a_delivery_twice_at_two_positions_is(folder: Path) -> None:
    logs = life()
    logs[B].insert(2, deliver(1, A, 1))
    write(folder, logs)


@_case(TOTAL="UNKNOWN", FIFO="UNKNOWN", CAUSAL="UNKNOWN", TOTAL_GAP_FREE="UNKNOWN")
def _lines_out_of_the_order_of_positions_prove_no_order(folder: Path) -> None:
    write(folder, life())

    def swap(lines: list[bytes]) -> None:
        lines[7], lines[8] = lines[8], lines[7]

    _edit(folder, B, swap)


@_case(NO_DUPLICATION="UNKNOWN", VIEW_AGREEMENT="UNKNOWN")
def _a_segment_that_goes_back_is_another_writers(folder: Path) -> None:
    logs = life()
    write(folder, {A: logs[A], C: logs[C]})
    write_segments(folder, B, [logs[B][:5], logs[B][2:]], "exit")
    path = folder / "b" / "1" / "000001.jsonl"
    lines = [json.loads(line) for line in path.read_bytes().splitlines()]
    for line in lines:
        line["at"] -= 3
    data = b"".join(json.dumps(line).encode() + b"\n" for line in lines[:-1])
    path.write_bytes(data + json.dumps({**lines[-1], "crc32": zlib.crc32(data)}).encode() + b"\n")


@_case(NO_CREATION="PASS", AGREEMENT="PASS")
def _an_earlier_copy_beside_its_sealed_segment(folder: Path) -> None:
    write(folder, life())
    path = folder / "b" / "1" / "000000.jsonl"
    path.with_name(".000000.jsonl").write_bytes(path.read_bytes()[:300])


# Lines that are no record


@_case(NO_CREATION="PASS", FIFO="PASS", CLOCK="PASS")
def _a_type_of_the_future_is_only_counted(folder: Path) -> None:
    """Its fields are its own: nobody knows what its `number` means, or its `view`."""
    logs = life()
    logs[A].insert(3, {"type": "dream", "count": 3, "number": "many", "view": 0})
    write(folder, logs)


@_case(NO_CREATION="PASS", FIFO="PASS", CLOCK="PASS", SERIAL_CONTIGUOUS="PASS", VIRTUAL_SYNCHRONY="PASS")
def _a_field_that_only_another_type_has_is_ignored(folder: Path) -> None:
    """Whatever it holds: that a `deliver` has no `cut` is said as little as that it has no `hue`."""
    logs = life()
    logs[A][0] |= {"number": "many", "serial": 0, "cut": [], "settled": "x"}
    logs[A][1] |= {"sender": 5, "serial": -1, "held": "long", "sent_view": 0}
    logs[A][2] |= {"cut": 5, "by": 5, "clock": {B: "x"}, "succeeds": [1], "state": 1}
    logs[B][-1] |= {"number": 0, "digests": 3, "members": {}, "cut": 5}
    write(folder, logs)


@_case(NO_CREATION="UNKNOWN", CLOCK="UNKNOWN")
def _a_field_that_is_null_is_none(folder: Path) -> None:
    logs = life()
    logs[A][3]["serial"] = None
    write(folder, logs)


@_case(NO_DUPLICATION="FAIL", AGREEMENT="UNKNOWN", NO_CREATION="UNKNOWN")
def _a_close_without_its_checksum_vouches_for_nothing_and_hides_nothing(folder: Path) -> None:
    logs = life()
    logs[C].insert(3, deliver(2, C, 1, serial=4))
    write(folder, logs)
    path = folder / "c" / "1" / "000000.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"crc32"', b'"crc33"'))


@_case(NO_DUPLICATION="UNKNOWN")
def _a_close_with_another_checksum_hides_its_segment(folder: Path) -> None:
    logs = life()
    logs[C].insert(3, deliver(2, C, 1, serial=4))
    write(folder, logs)
    path = folder / "c" / "1" / "000000.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"crc32": ', b'"crc32": 1'))


@_case(NO_CREATION="UNKNOWN", FIFO="UNKNOWN")
def _a_close_in_the_middle_is_a_gap(folder: Path) -> None:
    write(folder, life())
    closing = b'{"type":"close","at":4,"records":3,"crc32":0,"reason":"exit"}\n'
    _edit(folder, A, lambda lines: lines.insert(3, closing))


@_case(INTEGRITY="FAIL")
def _digests_that_are_too_few_speak_of_the_first(folder: Path) -> None:
    one, two = _pair()
    logs = [one, send(1, 1, {}, count=2, digests=[1])]
    write(folder, {A: logs, B: [two, deliver(1, A, 1, count=2, digests=[2, 2])]})


@_case(INTEGRITY="PASS")
def _digests_that_are_too_few_do_not_speak_of_the_rest(folder: Path) -> None:
    one, two = _pair()
    logs = [one, send(1, 1, {}, count=2, digests=[1])]
    write(folder, {A: logs, B: [two, deliver(1, A, 1, count=2, digests=[1, 2])]})


# What the rules say


@_case(VIRTUAL_SYNCHRONY="PASS", VIEW_AGREEMENT="FAIL")
def _beginnings_are_compared_of_those_that_both_have_as_members(folder: Path) -> None:
    basic = {"ordering": "FIFO", "multicast": "RELIABLE"}
    logs = [view(1, A, B, **basic), send(1, 1, {}), deliver(1, A, 1), view(2, A, B, C, **basic)]
    entered = [view(2, A, B, C, base={A: 1}, **basic)]
    write(folder, {A: logs, B: [view(1, A, B, **basic), deliver(1, A, 1), view(2, A, B, **basic)], C: entered})


@_case(AGREEMENT="VACUOUS", VIRTUAL_SYNCHRONY="PASS", SELF_DELIVERY="PASS")
def _a_member_that_crashes_is_in_no_class(folder: Path) -> None:
    reliable = view(1, A, B, ordering="FIFO")
    write(folder, {A: [reliable, send(1, 1, {}), deliver(1, A, 1)], B: [reliable]}, {B: "crash"})


@_case(AGREEMENT="FAIL", VIRTUAL_SYNCHRONY="FAIL")
def _a_leaver_that_missed_some_of_the_cut(folder: Path) -> None:
    both = view(1, A, B, ordering="FIFO")
    write(folder, {A: [both, send(1, 1, {}), deliver(1, A, 1), view(2, A, ordering="FIFO")], B: [both, leave(1, 2)]})


@_case(AGREEMENT="VACUOUS", VIRTUAL_SYNCHRONY="PASS")
def _a_leaver_that_was_put_out_owes_nothing(folder: Path) -> None:
    both = view(1, A, B, ordering="FIFO")
    out = {"type": "detach", "view": 1, "reason": "expelled"}
    write(folder, {A: [both, send(1, 1, {}), deliver(1, A, 1), view(2, A, ordering="FIFO")], B: [both, out]})


def _put_out_and_alone(folder: Path, *others: Record) -> None:
    """1. b is put out of view 1, and a, in view 2, dies. 2. b delivers its own last message as a successor begins."""
    both = view(1, A, B, C, ordering="FIFO", safe=True)
    begins = view(1, B, ordering="FIFO", safe=True, instance="j")
    begins["succeeds"] = [{"instance": "i", "view": 1, "cut": {B: 1}, "by": "proof", "gone": {A: "lock", C: "lock"}}]
    over = {"type": "leave", "view": 1, "into": "j", "reason": "succession"}
    logs = {
        A: [both, view(2, A, C, ordering="FIFO", safe=True)],
        B: [both, send(1, 1, {}), deliver(1, B, 1), over, begins],
        C: [both, *others],
    }
    write(folder, logs, {A: "crash", C: "crash"})


@_case(AGREEMENT="PASS", SELF_DELIVERY="PASS")
def _what_a_successor_begins_with_binds_no_later_view_that_died(folder: Path) -> None:
    _put_out_and_alone(folder)


@_case(AGREEMENT="FAIL")
def _what_another_delivered_before_a_successor_began_binds_all(folder: Path) -> None:
    _put_out_and_alone(folder, deliver(1, B, 1))


@_case(CAUSAL="FAIL", SERIAL_UNIQUE="FAIL", SERIAL_CONTIGUOUS="PASS", FIFO="PASS")
def _the_sender_gave_up_the_serial_of_its_own_message(folder: Path) -> None:
    """1. b gives up serial 1, delivers a's first under 2, sends its own. 2. c has b's as serial 1, before a's."""
    basic = view(1, A, B, C, ordering="CAUSALTOTAL", multicast="BASIC")
    logs = {
        A: [basic, send(1, 1, {})],
        B: [basic, skip(1, serial=1), deliver(1, A, 1, serial=2), send(1, 1, {A: 1})],
        C: [basic, deliver(1, B, 1, serial=1), deliver(1, A, 1, serial=2)],
    }
    write(folder, logs)


@_case(TOTAL="FAIL")
def _an_order_across_views_where_one_view_differs_as_well(folder: Path) -> None:
    """b has 1 in view 1 and 2 in view 2; c has 2 and then 1, both in view 2: no view by itself shows it."""
    basic = {"ordering": "TOTAL", "multicast": "BASIC"}
    one, two = view(1, A, B, C, **basic), view(2, A, B, C, **basic)
    logs = {
        A: [one, send(1, 1, {}, count=2), two],
        B: [one, deliver(1, A, 1), two, deliver(2, A, 2)],
        C: [one, two, deliver(2, A, 2), deliver(2, A, 1)],
    }
    write(folder, logs)


@_case(TOTAL="FAIL", VIEW_AGREEMENT="FAIL")
def _an_order_across_views_that_go_back(folder: Path) -> None:
    basic = {"ordering": "TOTAL", "multicast": "BASIC"}
    one, two = view(1, A, B, C, **basic), view(2, A, B, C, **basic)
    logs = {
        A: [one, send(1, 1, {}), two, send(2, 2, {})],
        B: [one, deliver(1, A, 1), two, deliver(2, A, 2)],
        C: [two, deliver(2, A, 2), one, deliver(1, A, 1)],
    }
    write(folder, logs)


@_case(TOTAL="FAIL")
def _three_orders_that_rotate_where_no_two_share_two_messages(folder: Path) -> None:
    members = view(1, A, B, C, ordering="TOTAL", multicast="BASIC")
    orders = {A: (A, B), B: (B, C), C: (C, A)}
    write(folder, {who: [members, send(1, 1, {}), *(deliver(1, of, 1) for of in each)] for who, each in orders.items()})


@_case(SENDING_VIEW="FAIL")
def _a_delivery_before_any_view(folder: Path) -> None:
    one, two = _pair()
    write(folder, {A: [one, send(1, 1, {})], B: [deliver(1, A, 1), two]})


@_case(FIFO="UNKNOWN")
def _a_hole_behind_a_gap_may_be_filled_in_it(folder: Path) -> None:
    one, two = _pair()
    write(folder, {A: [one, send(1, 1, {}, count=9)]})
    write_segments(folder, B, [[two, deliver(1, A, 1)], [deliver(1, A, 2, count=3)], [deliver(1, A, 6)]], "exit")
    (folder / "b" / "1" / "000001.jsonl").unlink()


@_case(FIFO="FAIL")
def _a_second_hole_behind_a_gap_is_none_of_it(folder: Path) -> None:
    one, two = _pair()
    write(folder, {A: [one, send(1, 1, {}, count=9)]})
    parts = [[two, deliver(1, A, 1)], [deliver(1, A, 2, count=3)], [deliver(1, A, 6), deliver(1, A, 8)]]
    write_segments(folder, B, parts, "exit")
    (folder / "b" / "1" / "000001.jsonl").unlink()


@_case(SERIAL_CONTIGUOUS="FAIL", SERIAL_UNIQUE="FAIL")
def _a_serial_that_is_given_up_is_passed_only_once(folder: Path) -> None:
    one, two = _pair(ordering="TOTAL")
    write(folder, {A: [one, send(1, 1, {}), skip(1, serial=1), deliver(1, A, 1, serial=1)], B: [two]})


@_case(CLOCK="PASS")
def _who_is_not_in_the_view_may_be_in_a_clock(folder: Path) -> None:
    one, two = _pair()
    write(folder, {A: [one, send(1, 1, {C: 7})], B: [two]})


@_case(ONE_LEADER="FAIL", VIEW_AGREEMENT="PASS")
def _an_election_of_a_view_that_nobody_else_tells_of(folder: Path) -> None:
    one, two = _pair()
    votes = [{"type": "elect", "view": 9, "leader": who, "reason": "rank"} for who in (A, B)]
    write(folder, {A: [one, votes[0]], B: [two, votes[1]]})


def _of_audit(outcome: PlanResult) -> dict[tuple[str, str], Verdicts]:
    return {each.key: {rule: verdict_of(tally) for rule, tally in each.tallies.items()} for each in outcome.judgements}


@pytest.mark.parametrize("name", CASES)
def test_a_reading(name: str, tmp_path: Path) -> None:
    make, expected = CASES[name]
    make(tmp_path)
    key = ("g", "i")
    oracle = judge(tmp_path)
    assert {rule: oracle.groups[key].verdicts()[rule] for rule in expected} == expected
    for chain_bytes in (1 << 20, 1):
        outcome = audit(tmp_path, chain_bytes)
        assert outcome.coverage == oracle.coverage
        assert _of_audit(outcome)[key] == oracle.groups[key].verdicts()
        found = next(each for each in outcome.judgements if each.key == key)
        for rule, tally in oracle.groups[key].tallies.items():
            ours = found.tallies[rule]
            assert (bool(ours.violations), ours.unknown > 0) == (bool(tally.violations), bool(tally.unknowns)), rule
            if rule != "TOTAL":  # the oracle counts pairs there, the plans processes
                assert ours.evaluated == tally.evaluated, rule


def test_one_gap_is_one_unknown_case(tmp_path: Path) -> None:
    """However many signs of it there are: a line that is no record, the positions behind it, a segment that is gone."""
    write(tmp_path / "line", life())
    _edit(tmp_path / "line", A, lambda lines: lines.__setitem__(3, b"{}\n"))
    records = life()[A]
    write(tmp_path / "segment", {who: of for who, of in life().items() if who != A})
    write_segments(tmp_path / "segment", A, [records[:3], records[3:6], records[6:]])
    (tmp_path / "segment" / "a" / "1" / "000001.jsonl").unlink()
    for folder in (tmp_path / "line", tmp_path / "segment"):
        tallies = judge(folder).groups["g", "i"].tallies
        (judgement,) = audit(folder).judgements
        for rule in ("SERIAL_UNIQUE", "VIEW_AGREEMENT", "SELF_DELIVERY"):
            assert judgement.tallies[rule].unknown == len(tallies[rule].unknowns) == 1, (folder, rule)
