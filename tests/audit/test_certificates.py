"""Logs that would have a certificate if it asked for less: each is one that the oracle fails."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gcom.audit.rules.judgement import verdict_of
from tests.audit.here import audit
from tests.oracle import judge
from tests.oracle.build import A, B, C, Ending, Logs, Record, deliver, send, skip, view, write, write_segments

LOOSE = {"ordering": "NONORDERED", "multicast": "BASIC"}


def _sends(in_view: int, *numbers: int) -> list[Record]:
    return [send(in_view, number, {}) for number in numbers]


def _skipped_with_another_serial() -> Logs:
    return {A: [view(1, A), *_sends(1, 1), deliver(1, A, 1, serial=1), skip(1, sender=A, number=1, serial=2)]}


def _two_serials_in_two_buckets() -> Logs:
    """Neither knows the bucket in which the other has them, and both rise."""
    return {
        A: [view(1, A, B), *_sends(1, 1, 2), deliver(1, A, 1, serial=1), deliver(1, A, 2, serial=2)],
        B: [view(1, A, B), skip(1, serial=1, count=4), deliver(1, A, 2, serial=5), deliver(1, A, 1, serial=6)],
    }


def _entered_past_what_the_others_had() -> Logs:
    """C says that it entered after serial 3, which is its own message to come, after one that it had delivered."""
    twice = [deliver(2, C, 1, serial=3), deliver(2, A, 2, serial=4), view(3, A, B)]
    return {
        A: [
            view(1, A, B),
            *_sends(1, 1),
            deliver(1, A, 1, serial=1),
            deliver(1, B, 1, serial=2),
            view(2, A, B, C),
            twice[0],
            send(2, 2, {B: 1, C: 1}),
            *twice[1:],
        ],
        B: [
            view(1, A, B),
            deliver(1, A, 1, serial=1),
            send(1, 1, {A: 1}),
            deliver(1, B, 1, serial=2),
            view(2, A, B, C),
            *twice,
        ],
        C: [
            view(2, A, B, C, base={A: 1, B: 1}, base_serial=3),
            deliver(2, A, 2, serial=4),
            send(2, 1, {A: 2, B: 1}),
        ],
    }


def _twice_in_another_order() -> Logs:
    """The second deliveries have one place."""

    def of(*numbers: int) -> list[Record]:
        return [deliver(1, A, number) for number in numbers]

    return {
        A: [view(1, A, B, **LOOSE), *_sends(1, 1, 2), *of(1, 2, 1, 2)],
        B: [view(1, A, B, **LOOSE), *of(1, 2, 2, 1)],
    }


def _in_two_views_beside_two_in_none() -> Logs:
    """C's 1 and 2 are delivered in view 1 by A and in view 2 by B, and its 3 and 4 in none that they were sent in."""
    stray = [{**deliver(3, C, number), "sent_view": 2} for number in (3, 4)]
    first = [view(1, A, B, C, **LOOSE), deliver(1, A, 1), deliver(1, A, 2)]
    second = [view(2, A, B, C, **LOOSE), deliver(2, A, 3), deliver(2, A, 4)]
    hole, theirs = skip(1, sender=B, number=1, count=2), [1, 2]
    return {
        A: [
            *[first[0], *_sends(1, 1, 2), *first[1:], *(deliver(1, C, number) for number in theirs)],
            *[second[0], *_sends(2, 3, 4), *second[1:], {**hole, "view": 2}],
            *[view(3, A, B, C, **LOOSE), *stray],
        ],
        B: [*first, hole, *second, *(deliver(2, C, number) for number in theirs)],
        C: [view(1, A, B, C, **LOOSE), *_sends(1, 1, 2, 3, 4)],
    }


def _two_serials_beside_a_message_without() -> Logs:
    """As many messages as there are messages with their serials, but not the same ones."""
    return {
        A: [view(1, A, B), *_sends(1, 1, 2), deliver(1, A, 1), deliver(1, A, 2, serial=1)],
        B: [view(1, A, B), deliver(1, A, 1), skip(1, serial=1, count=4), deliver(1, A, 2, serial=5)],
    }


def _twice_with_two_digests() -> Logs:
    """Sent twice and delivered twice: all digests that one has the other has."""
    of = [{**send(1, 1, {}), "digests": [digest]} for digest in (7, 8)]
    heard = [{**deliver(1, A, 1), "digests": [digest]} for digest in (7, 8)]
    return {A: [view(1, A, **LOOSE), *of, *heard]}


CASES: list[tuple[Callable[[], Logs], int, dict[str, Ending], set[str]]] = [
    (_skipped_with_another_serial, 4, {}, {"SERIAL_UNIQUE"}),
    (_two_serials_in_two_buckets, 4, {A: "crash"}, {"SERIAL_UNIQUE", "TOTAL"}),
    (_entered_past_what_the_others_had, 4, {C: "crash"}, {"CAUSAL"}),
    (_twice_in_another_order, 4, {}, {"TOTAL_GAP_FREE"}),
    (_two_serials_beside_a_message_without, 4, {A: "crash"}, {"SERIAL_UNIQUE"}),
    (_twice_with_two_digests, 4, {}, {"INTEGRITY"}),
    (_in_two_views_beside_two_in_none, 2, {A: "crash", B: "crash", C: "crash"}, {"TOTAL"}),
]


def _of_buckets(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    for name, module in list(sys.modules.items()):
        if name.startswith("gcom.audit.") and hasattr(module, "BUCKET"):
            monkeypatch.setattr(module, "BUCKET", size)


def _verdicts(folder: Path) -> dict[str, str]:
    (judgement,) = audit(folder).judgements
    return {rule: verdict_of(tally) for rule, tally in judgement.tallies.items()}


@pytest.mark.parametrize(("logs", "bucket", "endings", "broken"), CASES, ids=lambda each: getattr(each, "__name__", ""))
def test_what_breaks_a_rule_has_no_certificate(
    logs: Callable[[], Logs],
    bucket: int,
    endings: dict[str, Ending],
    broken: set[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _of_buckets(monkeypatch, bucket)
    write(tmp_path, logs(), endings)
    verdicts = dict(judge(tmp_path).group("g").verdicts())
    assert {verdicts[rule] for rule in broken} == {"FAIL"}
    assert _verdicts(tmp_path) == verdicts


def test_a_second_delivery_is_not_taken_for_the_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A's second delivery of 3 is after 5 and its first before."""
    _of_buckets(monkeypatch, 2)
    start = [deliver(1, A, 1), deliver(1, A, 2)]
    a = [view(1, A, B, **LOOSE), *_sends(1, 1, 2, 3, 4), *start, deliver(1, A, 3), deliver(1, A, 4)]
    a += [view(2, A, B, **LOOSE), *_sends(2, 5), deliver(2, A, 5), deliver(2, A, 3)]
    b = [view(1, A, B, **LOOSE), *start, skip(1, sender=B, number=1, count=2)]
    b += [view(2, A, B, **LOOSE), deliver(2, A, 3), deliver(2, A, 5)]
    write(tmp_path, {A: a, B: b})
    assert judge(tmp_path).group("g").verdicts()["TOTAL"] == "PASS"
    assert _verdicts(tmp_path)["TOTAL"] == "PASS"


def _heard(*numbers: int) -> list[Record]:
    """Deliveries of A's messages, each with the serial and the digest that it has."""
    return [{**deliver(1, A, number, serial=number), "digests": [number]} for number in numbers]


def test_one_second_delivery_does_not_leave_the_rest_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _of_buckets(monkeypatch, 4)
    many = range(1, 21)
    sent = [{**send(1, number, {}), "digests": [number]} for number in many]
    write(tmp_path, {A: [view(1, A, B), *sent, *_heard(*many)], B: [view(1, A, B), *_heard(*many, 19)]})
    verdicts, ours = judge(tmp_path).group("g").verdicts(), _verdicts(tmp_path)
    assert verdicts["NO_DUPLICATION"] == "FAIL"
    for rule in ("INTEGRITY", "SERIAL_UNIQUE"):
        assert ours[rule] == verdicts[rule] == "PASS"


def _with_a_skip(after: int) -> list[Record]:
    """A's messages 1 to 19, and B's 1, which is given up after so many of them."""
    heard = [deliver(1, A, number) for number in range(1, 20)]
    return [view(1, A, B, **LOOSE), *heard[:after], skip(1, sender=B, number=1), *heard[after:]]


@pytest.mark.parametrize("after", [17, 2])
def test_an_order_at_other_places_is_the_same(after: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both skip the same, at different times; between, what they deliver has other places."""
    _of_buckets(monkeypatch, 4)
    a, b = _with_a_skip(19), _with_a_skip(after)
    write(tmp_path, {A: [a[0], *_sends(1, *range(1, 20)), *a[1:]], B: b})
    assert judge(tmp_path).group("g").verdicts()["TOTAL_GAP_FREE"] == "PASS"
    assert _verdicts(tmp_path)["TOTAL_GAP_FREE"] == "PASS"


@pytest.mark.parametrize(("swapped", "place"), [((), 0), ((6,), 7), ((13, 17), 14)])
def test_sequences_are_compared_across_segments(
    swapped: tuple[int, ...], place: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each segment is read by itself; where two sequences differ first is told, also if buckets behind it differ."""
    _of_buckets(monkeypatch, 4)
    a, b = _with_a_skip(19), _with_a_skip(2)
    for index in swapped:
        at = b.index(deliver(1, A, index + 1))
        b[at], b[at + 1] = b[at + 1], b[at]
    half = b.index(deliver(1, A, 10)) + 1
    write(tmp_path, {A: [a[0], *_sends(1, *range(1, 20)), *a[1:]]})
    passed = {"delivered": {A: 10, B: 1}, "beyond": {}, "clock": {A: 10}, "number": 0, "serial": 0}
    states = {1: {"g": {"instance": "i", "view": 1, **passed}}}
    write_segments(tmp_path, B, [b[:half], b[half:]], "exit", states)
    verdict = judge(tmp_path).group("g").verdicts()["TOTAL_GAP_FREE"]
    (judgement,) = audit(tmp_path, chain_bytes=1).judgements
    tally = judgement.tallies["TOTAL_GAP_FREE"]
    assert verdict_of(tally) == verdict == ("FAIL" if swapped else "PASS")
    assert [example["place"] for example in tally.examples] == ([place] if swapped else [])
    assert judgement.starts.keys() == {0, 1, 2}, "each segment was a chain of its own"


def test_a_base_may_be_as_large_as_a_number(tmp_path: Path) -> None:
    """No place is made for each number in it."""
    many = 1 << 62
    of = {"ordering": "CAUSAL", "multicast": "BASIC"}
    a = [view(1, A, B, base={B: many}, **of), send(1, 1, {B: many}), deliver(1, A, 1)]
    write(tmp_path, {A: a, B: [view(1, A, B, **of)]})
    assert _verdicts(tmp_path)["CLOCK"] == "PASS"
