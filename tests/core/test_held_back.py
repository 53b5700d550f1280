"""Held-back messages, and what they wait for: each ordering and multicast by itself, and a member's streams."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gcom.core.detector.suspicion import Detector
from gcom.core.hold_back import MARKS_MAX, HoldTimes
from gcom.core.inspection import inspect
from gcom.core.messages.frames import Status
from gcom.core.messages.orders import Orders
from gcom.core.ordering.causal import Causal
from gcom.core.ordering.fifo import Fifo
from gcom.core.ordering.order_log import OrderLog
from gcom.core.ordering.total import Total
from gcom.core.ordering.unordered import NonOrdered
from gcom.core.streams import Streams
from gcom.values.clock import VectorClock
from gcom.values.definition import Definition
from gcom.values.snapshot import HELD_BACK_MAX, MISSING_MAX, Missing
from tests.core.making import A, B, C, data_path, decision, run, view

VIEW = view(A, B, C)


def told(part: NonOrdered | Total | Streams) -> list[tuple[str, int, int, str]]:
    """The runs that a part holds back, and what each waits for, in words."""
    return [(sender, first, last, ", ".join(map(str, waits))) for sender, first, last, waits in part.held_back()]


def streams(**kinds: object) -> Streams:
    return data_path(A, Definition.parse("g", **kinds), VIEW)  # type: ignore[arg-type]


def test_nonordered_holds_nothing_back() -> None:
    ordering = NonOrdered()
    ordering.install(1, (A, B, C), {}, 0)
    ordering.receive(run(B, 3, 2))
    assert told(ordering) == []


def test_fifo_names_each_gap_before_a_run() -> None:
    ordering = Fifo()
    ordering.install(1, (A, B, C), {}, 0)
    for first, count in ((3, 2), (5, 1), (8, 1)):
        ordering.receive(run(B, first, count))
    before = f"{B} 1 to 2"
    assert told(ordering) == [(B, 3, 4, before), (B, 5, 5, before), (B, 8, 8, f"{before}, {B} 6 to 7")]
    ordering.receive(run(B, 1, 2))
    assert told(ordering) == [(B, 8, 8, f"{B} 6 to 7")]
    ordering.pass_over(B, 6, 7)
    assert told(ordering) == []


def test_a_lost_range_is_no_gap() -> None:
    ordering = Fifo()
    ordering.install(1, (A, B, C), {}, 0)
    ordering.pass_over(B, 2, 3)
    ordering.receive(run(B, 4, 1))
    assert told(ordering) == [(B, 4, 4, f"{B} 1")]


def test_of_very_many_gaps_the_first_ones_are_named() -> None:
    ordering = Fifo()
    ordering.install(1, (A, B, C), {}, 0)
    for first in range(2, 100, 2):
        ordering.receive(run(B, first, 1))
    assert [waits[0].last for _, _, _, waits in ordering.held_back()] == [1] * 49
    assert max(len(waits) for _, _, _, waits in ordering.held_back()) == MISSING_MAX


def test_causal_names_the_predecessors_also_of_those_behind() -> None:
    ordering = Causal()
    ordering.install(1, (A, B, C), {A: 1}, 0)
    ordering.receive(run(B, 1, 2, clock={A: 3}))
    ordering.receive(run(B, 3, 1, clock={C: 1}))
    assert told(ordering) == [(B, 1, 2, f"{A} 2 to 3"), (B, 3, 3, f"{A} 2 to 3, {C} 1")]
    ordering.receive(run(A, 2, 2))
    assert told(ordering) == [(B, 3, 3, f"{C} 1")]


@pytest.mark.parametrize("causal", [False, True])
def test_total_waits_for_a_place_or_for_the_message_before_it(causal: bool) -> None:
    ordering = Total(causal)
    ordering.install(1, (A, B, C), {}, 0)
    ordering.receive(run(B, 1, 2))
    assert told(ordering) == [(B, 1, 2, "a place in the total order")]
    ordering.order([(A, 1, 3), (B, 1, 2)])
    ordering.receive(run(C, 1, 1))
    assert told(ordering) == [(B, 1, 2, f"{A} 1 to 3"), (C, 1, 1, "a place in the total order")]
    assert ordering.serial == 0
    ordering.receive(run(A, 1, 1))
    assert told(ordering)[0] == (B, 1, 2, f"{A} 2 to 3")
    ordering.receive(run(A, 2, 2))
    assert told(ordering) == [(C, 1, 1, "a place in the total order")]
    assert ordering.serial == 5


def test_a_place_that_no_majority_holds_is_waited_for() -> None:
    member = streams(ordering="TOTAL")
    member.receive(run(B, 1, 1), 0)
    member.on_orders(Orders(1, 0, ((B, 1, 1),)), fresh=True)
    assert told(member) == [(B, 1, 1, "a majority of the view to hold its place in the total order")]
    member.on_status(B, Status(1, ordered=1))
    assert told(member) == []
    assert member.delivered_serial == 1


def test_a_safe_message_waits_for_a_majority() -> None:
    members = view(A, B, C, "d#1", "e#1")
    member = data_path(A, Definition("g", safe=True), members)
    member.receive(run(B, 1, 2), 0)
    member.submit(["mine"])
    member.form(1000)
    assert told(member) == [(B, 1, 2, str(Missing("stability"))), (A, 1, 1, str(Missing("stability")))]
    member.on_status(B, Status(1, safe=2))
    assert told(member) == [(A, 1, 1, "a majority of the view to hold it")]


@pytest.mark.parametrize("multicast", ["RELIABLE", "BASIC"])
def test_what_comes_during_a_view_change_waits_for_it(multicast: str) -> None:
    member = streams(multicast=multicast)
    member.wedge()
    member.missing({B: 1}, 0)
    member.receive(run(B, 1, 1), 0)
    assert told(member) == [(B, 1, 1, "a view change")]
    made = decision(VIEW, A, B, C, cut={B: 1})
    member.close(made)
    member.install(made, 0)
    assert told(member) == []


def test_what_an_ordering_holds_waits_for_the_view_change_too() -> None:
    member = streams(ordering="CAUSAL")
    member.receive(run(B, 1, 1, clock={C: 1}), 0)
    member.wedge()
    assert told(member) == [(B, 1, 1, f"{C} 1, a view change")]


def test_it_is_told_since_when_to_a_tick() -> None:
    member = streams(ordering="CAUSAL")
    member.receive(run(B, 1, 1, clock={C: 1}), 0)
    member.mark_hold_times(100)
    member.receive(run(B, 2, 3), 150)
    member.mark_hold_times(200)
    since = member.hold_times.since_ms
    assert [since(B, last, 250) for last in (1, 4, 5)] == [100, 200, 250]
    member.receive(run(C, 1, 1), 300)
    member.mark_hold_times(300)
    assert since(B, 1, 400) == 400


def test_marks_are_bounded_and_the_oldest_stays() -> None:
    times = HoldTimes()
    for number in range(1, 5000):
        times.mark({B: number}, {}, number)
    assert times.since_ms(B, 1, 9999) == 1
    assert len(times._marks[B]) <= MARKS_MAX
    assert times.since_ms(B, 4000, 9999) >= 4000


def test_a_snapshot_shows_a_thousand_runs_and_counts_the_rest() -> None:
    member = streams(multicast="BASIC")
    for first in range(2, 2402, 2):
        member.receive(run(B, first, 1), 0)
    detector = Detector(A)
    detector.install(VIEW, 0)
    detector.heard(B, 250, ())
    detector.suspect(C, "silence")
    seen = inspect(VIEW, member, detector, 1000)
    assert (len(seen.held_back), seen.held_back_rest) == (HELD_BACK_MAX, 200)
    assert (seen.heard_s, seen.suspected) == ({B: 0.75}, {C: "silence"})
    assert seen.clocks[C] == VectorClock()


def test_clocks_are_what_the_last_runs_said_and_the_own_row_is_exact() -> None:
    member = streams()
    member.receive(run(B, 1, 2, clock={C: 5}), 0)
    member.receive(run(B, 3, 1, clock={A: 1, "stranger#1": 9}), 0)
    member.submit(["x", "y"])
    member.form(1000)
    clocks = member.clocks()
    assert clocks == {A: {A: 2, B: 3}, B: {A: 1, B: 3, C: 5}, C: {A: 0, B: 0, C: 0}}


def test_a_view_begins_with_all_at_its_cut() -> None:
    member = streams()
    member.receive(run(B, 1, 2, clock={C: 5}), 0)
    member.wedge()
    cut = {B: 2}
    member.missing(cut, 0)
    made = replace(decision(VIEW, A, B, C), cut=cut)
    member.close(made)
    member.install(made, 0)
    assert {sender: clock.get(B) for sender, clock in member.clocks().items()} == {A: 2, B: 2, C: 2}


def test_a_liars_names_are_forgotten() -> None:
    member = streams()
    for first in range(1, 100):
        member.receive(run(B, first, 1, clock={f"x{first}#1": 1}), 0)
    member.mark_hold_times(1)
    assert not member._clock_changes[B]


def test_the_log_knows_the_serial_of_a_message_until_it_is_dropped() -> None:
    log = OrderLog(10, {A: 0, B: 0})
    log.append(A, 3)
    log.append(B, 2)
    assert [log.serial_of(A, 1), log.serial_of(A, 3), log.serial_of(B, 2)] == [11, 13, 15]
    assert log.serial_of(B, 3) is None
    log.drop(13)
    assert (log.serial_of(A, 3), log.serial_of(B, 1)) == (None, 14)
