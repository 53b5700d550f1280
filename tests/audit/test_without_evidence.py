"""Logs that prove less than they seem to: what is not shown is never PASS, and what is wrong is not passed over.

Each is judged by the oracle, and by the audit in one pass and segment by segment.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from gcom.audit.explain.result import result_of
from gcom.audit.input.catalogue import catalogue
from gcom.audit.input.reading import list_segments
from gcom.audit.plan.run import run
from gcom.audit.rules.judgement import verdict_of
from tests.audit.here import audit
from tests.oracle import Report, judge
from tests.oracle.build import A, B, C, Ending, Record, deliver, leave, life, send, view, write, write_segments

Make = Callable[[Path], object]
Verdicts = dict[str, str]
CASES: dict[str, tuple[Make, str, Verdicts]] = {}
DETACH: Record = {"type": "detach", "view": 1, "reason": "expelled"}
PAIR = view(1, A, B, ordering="FIFO", multicast="BASIC")


def _case(verdict: str, **rules: str) -> Callable[[Make], Make]:
    """A case, whose logs the function makes; `verdict` is the whole audit's, `rules` are verdicts of the group "g"."""

    def add(make: Make) -> Make:
        CASES[make.__name__.strip("_")] = (make, verdict, rules)
        return make

    return add


def _segment(folder: Path, process: str, number: int = 0) -> Path:
    (path,) = (folder / process.replace("#", "/")).glob(f"*{number:06}.jsonl")
    return path


def _lines(folder: Path, process: str, number: int = 0) -> list[bytes]:
    return _segment(folder, process, number).read_bytes().splitlines(keepends=True)


def _rewrite(folder: Path, process: str, lines: list[bytes], number: int = 0) -> None:
    _segment(folder, process, number).write_bytes(b"".join(lines))


def _good(folder: Path, *groups: str) -> None:
    """A group that keeps its promises, beside what the case is about."""
    logs = {f"{who[0]}{group}#1": records for group in groups for who, records in life().items()}
    named = json.dumps(logs)
    for group in groups:
        for who in (A, B, C):
            named = named.replace(f'"{who}"', f'"{who[0]}{group}#1"')
    write(
        folder, {who: [{**each, "group": groups[0]} for each in records] for who, records in json.loads(named).items()}
    )


# Logs that cannot be read


@_case("UNKNOWN")
def _a_group_of_which_no_log_has_a_first_line(folder: Path) -> None:
    _good(folder, "other")
    write(folder, life())
    for who in (A, B, C):
        _rewrite(folder, who, [b"{}\n", *_lines(folder, who)[1:]])


@_case("UNKNOWN")
def _a_group_of_which_no_checksum_fits(folder: Path) -> None:
    _good(folder, "other")
    write(folder, life())
    for who in (A, B, C):
        _rewrite(folder, who, [line.replace(b'"crc32": ', b'"crc32": 1') for line in _lines(folder, who)])


@_case("UNKNOWN")
def _a_group_of_which_all_logs_are_of_another_version(folder: Path) -> None:
    _good(folder, "other")
    write(folder, life())
    for who in (A, B, C):
        _rewrite(folder, who, [line.replace(b'"version": 1', b'"version": 2') for line in _lines(folder, who)])


@_case("UNKNOWN")
def _a_log_of_which_nothing_was_written(folder: Path) -> None:
    write(folder, life())
    (folder / "d" / "1").mkdir(parents=True)
    (folder / "d" / "1" / ".000000.jsonl").write_bytes(b'{"type":"op')


@_case("UNKNOWN")
def _a_group_that_was_entered_where_the_logs_were_cut(folder: Path) -> None:
    """All leave g; then they enter h, in a segment that is gone."""
    first = {who: [view(1, A, B, ordering="FIFO", multicast="BASIC"), leave(1, 2)] for who in (A, B)}
    for who, records in first.items():
        write_segments(folder, who, [records, [{**view(1, A, B), "group": "h"}]], "exit", {1: {}})
        _segment(folder, who, 1).unlink()


@_case("PASS")
def _messages_that_the_writer_dropped_hide_no_group(folder: Path) -> None:
    """A `lost` record never stands for a view; the process had left its only group."""
    alone = [view(1, A, ordering="FIFO", multicast="BASIC"), send(1, 1, {}), deliver(1, A, 1), leave(1, 2)]
    write(folder, {A: [*alone, {"type": "lost", "count": 3, "state": {}}]})


# Logs that were cut


def _fails_in_its_last_segment(folder: Path) -> None:
    """b delivers a's second message twice, in its second segment."""
    write(folder, {A: [PAIR, send(1, 1, {}, count=2), deliver(1, A, 1, count=2), leave(1, 2)]})
    state = {"instance": "i", "view": 1, "number": 0, "delivered": {A: 2}, "beyond": {}, "clock": {A: 2}, "serial": 0}
    parts = [[PAIR, deliver(1, A, 1, count=2)], [deliver(1, A, 2), leave(1, 2)]]
    write_segments(folder, B, parts, "exit", {1: {"g": state}})


@_case("FAIL", NO_DUPLICATION="FAIL")
def _what_fails_in_its_last_segment(folder: Path) -> None:
    _fails_in_its_last_segment(folder)


@_case("UNKNOWN", NO_DUPLICATION="UNKNOWN")
def _the_last_segment_missing_behind_a_rotation(folder: Path) -> None:
    _fails_in_its_last_segment(folder)
    _segment(folder, B, 1).unlink()


@_case("UNKNOWN", NO_DUPLICATION="UNKNOWN")
def _a_last_segment_without_its_first_line(folder: Path) -> None:
    _fails_in_its_last_segment(folder)
    _rewrite(folder, B, _lines(folder, B, 1)[1:], 1)


@_case("UNKNOWN", NO_DUPLICATION="UNKNOWN")
def _a_sealed_segment_that_was_cut(folder: Path) -> None:
    _fails_in_its_last_segment(folder)
    _rewrite(folder, B, _lines(folder, B, 1)[:1], 1)


@_case("UNKNOWN", NO_DUPLICATION="UNKNOWN")
def _a_sealed_segment_that_was_cut_and_goes_on_in_the_next(folder: Path) -> None:
    """The positions fit: only the close is missing."""
    _fails_in_its_last_segment(folder)
    _rewrite(folder, B, _lines(folder, B)[:-1])
    lines = [line for line in _lines(folder, B, 1)[:-1] if b'"deliver"' not in line]
    lines[-1] = lines[-1].replace(b'"at": 5', b'"at": 4')
    _segment(folder, B, 1).unlink()
    (folder / "b" / "1" / ".000001.jsonl").write_bytes(b"".join(lines))


# One bad line in a sealed segment


def _worn(folder: Path, change: Callable[[list[bytes]], object]) -> None:
    """b delivers a's first twice, first of all; `change` damages what stands behind that in its segment."""
    write(folder, {A: [PAIR, send(1, 1, {}, count=3), deliver(1, A, 1, count=3), leave(1, 2)]})
    write(folder, {B: [PAIR, deliver(1, A, 1), deliver(1, A, 1), deliver(1, A, 2), deliver(1, A, 3), leave(1, 2)]})
    lines = _lines(folder, B)
    change(lines)
    _rewrite(folder, B, lines)


@_case("FAIL", NO_DUPLICATION="FAIL", FIFO="UNKNOWN")
def _what_stands_before_a_line_that_is_no_record(folder: Path) -> None:
    _worn(folder, lambda lines: lines.__setitem__(5, b"\0\0\0\n"))


@_case("FAIL", NO_DUPLICATION="FAIL", FIFO="UNKNOWN")
def _what_stands_before_a_line_that_is_gone(folder: Path) -> None:
    _worn(folder, lambda lines: lines.pop(5))


@_case("FAIL", NO_DUPLICATION="FAIL", FIFO="PASS")
def _what_stands_before_a_piece_behind_the_close(folder: Path) -> None:
    """b had left before, so nothing of g can be missing."""
    _worn(folder, lambda lines: lines.append(b'{"type":'))


@_case("UNKNOWN", NO_DUPLICATION="UNKNOWN")
def _a_change_that_no_line_shows(folder: Path) -> None:
    """Nobody knows where it is: the line that was changed may be any."""
    _worn(folder, lambda lines: lines.__setitem__(4, lines[4].replace(b'"number": 2', b'"number": 3')))


@_case("UNKNOWN", NO_DUPLICATION="UNKNOWN")
def _what_stands_behind_a_line_that_is_no_record(folder: Path) -> None:
    _worn(folder, lambda lines: lines.__setitem__(2, b"\0\0\0\n"))


# Rules that found no case


def _alone(*records: Record, instance: str) -> list[Record]:
    begins = view(1, B, ordering="FIFO", multicast="BASIC", succeeds=[{"instance": "i", "view": 1, "by": "ended"}])
    return [{**each, "instance": instance} for each in (begins, *records)]


@_case("VACUOUS")
def _an_instance_with_sends_and_no_delivery_beside_another(folder: Path) -> None:
    logs = {A: [view(1, A, ordering="FIFO", multicast="BASIC"), send(1, 1, {}), deliver(1, A, 1), leave(1, 2)]}
    write(folder, {**logs, B: _alone(send(1, 1, {}, count=10), leave(1, 2), instance="j")})


@_case("PASS")
def _an_instance_without_any_message_beside_another(folder: Path) -> None:
    logs = {A: [view(1, A, ordering="FIFO", multicast="BASIC"), send(1, 1, {}), deliver(1, A, 1), leave(1, 2)]}
    write(folder, {**logs, B: _alone(leave(1, 2), instance="j")})


def _with_digests(folder: Path, sent: list[int], heard: list[int]) -> None:
    one = [
        PAIR,
        send(1, 1, {}, count=2, **({"digests": sent} if sent else {})),
        deliver(1, A, 1, count=2, digests=[1, 2]),
    ]
    write(folder, {A: one, B: [PAIR, deliver(1, A, 1, count=2, **({"digests": heard} if heard else {}))]})


@_case("PASS", INTEGRITY="PASS")
def _digests_on_both_sides(folder: Path) -> None:
    _with_digests(folder, [1, 2], [1, 2])


@_case("VACUOUS", INTEGRITY="VACUOUS")
def _digests_at_deliveries_only(folder: Path) -> None:
    _with_digests(folder, [], [1, 2])


@_case("VACUOUS", INTEGRITY="PASS")
def _digests_of_sends_that_one_does_not_have(folder: Path) -> None:
    _with_digests(folder, [1, 2], [])


@_case("VACUOUS", INTEGRITY="PASS")
def _digests_of_half_a_run(folder: Path) -> None:
    _with_digests(folder, [1, 2], [1])


def _reliable(folder: Path, endings: dict[str, Ending]) -> None:
    both = view(1, A, B, ordering="FIFO")
    logs = {A: [both, send(1, 1, {}, count=1000), deliver(1, A, 1, count=1000)], B: [both, deliver(1, A, 1)]}
    write(folder, logs, endings)


@_case("VACUOUS", AGREEMENT="VACUOUS", FIFO="PASS")
def _logs_without_end_of_which_one_has_a_thousandth(folder: Path) -> None:
    _reliable(folder, {A: "crash", B: "crash"})


@_case("PASS", AGREEMENT="VACUOUS", SELF_DELIVERY="PASS")
def _one_that_crashed_beside_one_that_stayed(folder: Path) -> None:
    """The missing tail of a crashed process is no case, and so there is none."""
    _reliable(folder, {B: "crash"})


@_case("VACUOUS", SELF_DELIVERY="VACUOUS")
def _one_alone_that_crashed(folder: Path) -> None:
    write(folder, {A: [view(1, A, ordering="FIFO"), send(1, 1, {}), deliver(1, A, 1)]}, {A: "crash"})


@_case("PASS", AGREEMENT="VACUOUS")
def _one_alone_to_its_end(folder: Path) -> None:
    write(folder, {A: [view(1, A, ordering="FIFO"), send(1, 1, {}), deliver(1, A, 1)]})


# Outside of a session


def _stays(folder: Path, mine: list[Record], heard: list[Record], *, cut: int = 0) -> None:
    """a's records, in two segments if they are cut; b hears of them."""
    write(folder, {B: [PAIR, *heard]})
    write_segments(folder, A, [mine[:cut], mine[cut:]] if cut else [mine], "exit", {1: {}})


@_case("FAIL", SENDING_VIEW="FAIL")
def _sends_without_any_view_that_all_deliver(folder: Path) -> None:
    _stays(folder, [send(1, 1, {})], [deliver(1, A, 1)])


@_case("FAIL", SENDING_VIEW="FAIL")
def _a_send_after_leave(folder: Path) -> None:
    _stays(folder, [PAIR, send(1, 1, {}), leave(1, 2), send(1, 2, {})], [deliver(1, A, 1)])


@_case("FAIL", SENDING_VIEW="FAIL")
def _a_send_after_leave_in_the_next_segment(folder: Path) -> None:
    _stays(folder, [PAIR, send(1, 1, {}), leave(1, 2), send(1, 2, {})], [deliver(1, A, 1)], cut=3)


def _enter_after_detach(folder: Path, cut: int) -> None:
    two = view(2, A, B, ordering="FIFO", multicast="BASIC")
    _stays(folder, [PAIR, DETACH, two, send(2, 1, {}), deliver(2, A, 1)], [], cut=cut)


@_case("FAIL", SENDING_VIEW="FAIL", VIEW_AGREEMENT="FAIL")
def _an_entry_after_detach(folder: Path) -> None:
    _enter_after_detach(folder, 0)


@_case("FAIL", SENDING_VIEW="FAIL", VIEW_AGREEMENT="FAIL")
def _an_entry_after_detach_in_the_next_segment(folder: Path) -> None:
    _enter_after_detach(folder, 2)


@_case("FAIL", VIEW_AGREEMENT="FAIL")
def _an_entry_after_leave_in_which_nothing_happens(folder: Path) -> None:
    two = view(2, A, B, ordering="FIFO", multicast="BASIC")
    _stays(folder, [PAIR, send(1, 1, {}), leave(1, 2), two], [deliver(1, A, 1)])


@_case("FAIL", SENDING_VIEW="FAIL")
def _a_send_that_names_a_view_to_come(folder: Path) -> None:
    two = view(2, A, B, ordering="FIFO", multicast="BASIC")
    _stays(folder, [PAIR, send(2, 1, {}), two], [two, deliver(2, A, 1)])


@_case("FAIL", SERIAL_CONTIGUOUS="FAIL")
def _entrants_that_begin_after_unlike_serials(folder: Path) -> None:
    """Nothing is delivered in view 2 by c, whose base begins at another serial."""
    one, two = (view(n, *who, ordering="TOTAL", multicast="BASIC") for n, who in ((1, (A, B)), (2, (A, B, C))))
    logs = {A: [one, send(1, 1, {}), deliver(1, A, 1, serial=1), two], B: [one, deliver(1, A, 1, serial=1), two]}
    write(folder, {**logs, C: [{**two, "base": {A: 1}, "base_serial": 4}]})


@_case("FAIL", NO_CREATION="FAIL", NO_DUPLICATION="FAIL", SENDING_VIEW="FAIL")
def _a_number_before_the_first_view_and_again_in_the_next_segment(folder: Path) -> None:
    early = [send(1, 1, {}), deliver(1, A, 1)]
    _stays(folder, [*early, PAIR, *early], [deliver(1, A, 1)], cut=2)


# Orders


@_case("FAIL", TOTAL="FAIL", SENDING_VIEW="FAIL")
def _deliveries_under_a_wrong_view_that_another_has_under_the_right_one(folder: Path) -> None:
    """b has both in view 2, the other way round, and says that it is view 1."""
    basic = {"ordering": "TOTAL", "multicast": "BASIC"}
    one, two = view(1, A, B, C, **basic), view(2, A, B, C, **basic)
    late = [deliver(1, C, 1), deliver(1, A, 1)]
    logs = {
        A: [one, send(1, 1, {}), deliver(1, A, 1), deliver(1, C, 1), two],
        B: [one, two, *late],
        C: [one, send(1, 1, {}), two],
    }
    write(folder, logs)


# A clock behind a gap that hides a view


def _behind_a_hidden_view(folder: Path, second: bool, clock: dict[str, int], *more: Record) -> None:
    """b hears c's first; c goes; the segment in which b installs view 2 is lost. Its state still names c."""
    one = view(1, A, B, C, ordering="FIFO", multicast="BASIC")
    two = view(2, A, B, ordering="FIFO", multicast="BASIC")
    state = {"view": 2, "number": 0, "delivered": {C: 1}, "beyond": {}, "clock": {C: 1}, "serial": 0}
    write(folder, {A: [one, *([two] if second else [])], C: [one, send(1, 1, {}), leave(1, 2)]})
    states = {number: {"g": {"instance": "i", **state}} for number in (1, 2)}
    write_segments(folder, B, [[one, deliver(1, C, 1)], [two], [send(2, 1, clock), *more]], "exit", states)
    _segment(folder, B, 1).unlink()


@_case("UNKNOWN", CLOCK="PASS")
def _one_that_left_in_the_gap_is_in_no_clock(folder: Path) -> None:
    _behind_a_hidden_view(folder, True, {})


@_case("FAIL", CLOCK="FAIL")
def _one_that_is_in_the_view_is_in_the_clock(folder: Path) -> None:
    _behind_a_hidden_view(folder, True, {A: 1})


@_case("UNKNOWN", CLOCK="UNKNOWN")
def _a_view_of_which_no_log_tells_who_is_in_it(folder: Path) -> None:
    _behind_a_hidden_view(folder, False, {})


@_case("PASS", CLOCK="PASS")
def _one_that_left_before_a_whole_segment_is_in_its_state(folder: Path) -> None:
    one = view(1, A, B, C, ordering="FIFO", multicast="BASIC")
    two = view(2, A, B, ordering="FIFO", multicast="BASIC")
    state = {"view": 2, "number": 0, "delivered": {C: 1}, "beyond": {}, "clock": {C: 1}, "serial": 0}
    write(folder, {A: [one, two], C: [one, send(1, 1, {}), leave(1, 2)]})
    parts = [[one, deliver(1, C, 1), two], [send(2, 1, {})]]
    write_segments(folder, B, parts, "exit", {1: {"g": {"instance": "i", **state}}})


def _is_all_shown(report: Report) -> bool:
    """A name with one instance has nothing between instances to show."""
    names = Counter(name for name, _ in report.groups)
    judged = {
        key: group.expected - ({"CONTINUITY"} if names[key[0]] == 1 else set()) for key, group in report.groups.items()
    }
    verdicts = [group.tallies[rule].verdict for key, group in report.groups.items() for rule in judged[key]]
    return report.verdict == "PASS" and set(verdicts) == {"PASS"}


def test_messages_are_not_looked_at_for_what_is_not_promised(tmp_path: Path) -> None:
    """In a FIFO group CAUSAL, which no serials certify, takes all of them."""
    three = view(1, A, B, C, ordering="FIFO", multicast="BASIC")
    logs = {
        A: [three, send(1, 1, {}), deliver(1, A, 1)],
        B: [three, deliver(1, A, 1), send(1, 1, {A: 1}), deliver(1, B, 1)],
        C: [three, deliver(1, B, 1), deliver(1, A, 1)],
    }
    found = catalogue(list_segments([str(write(tmp_path, logs))]))
    quiet, asked = (run(found, all_rules=all_rules).judgements[0] for all_rules in (False, True))
    assert [request.rule for request in quiet.requests] == []
    assert (verdict_of(quiet.tallies["CAUSAL"]), verdict_of(asked.tallies["CAUSAL"])) == ("UNKNOWN", "FAIL")
    assert "--all-rules" in quiet.tallies["CAUSAL"].reason


@pytest.mark.parametrize("name", CASES)
def test_what_is_not_shown(name: str, tmp_path: Path) -> None:
    make, verdict, rules = CASES[name]
    make(tmp_path)
    oracle = judge(tmp_path)
    assert oracle.verdict == verdict
    for chain_bytes in (1 << 20, 1):
        outcome = audit(tmp_path, chain_bytes)
        assert outcome.coverage == oracle.coverage
        result = result_of(outcome)
        assert (result.verdict, result.headline().partition(":")[0]) == (verdict, verdict)
        assert {each.key for each in outcome.judgements} == oracle.groups.keys()
        for each in outcome.judgements:
            ours = {rule: verdict_of(tally) for rule, tally in each.tallies.items()}
            assert ours == oracle.groups[each.key].verdicts(), each.key
        assert ("every promise held" in result.headline()) == _is_all_shown(oracle)
    if rules:
        found = oracle.groups["g", "i"].verdicts()
        assert {rule: found[rule] for rule in rules} == rules
