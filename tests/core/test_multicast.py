"""BASIC and RELIABLE between three members, under drawn schedules, against a twin: the list of what was sent.

With them, every order over either: the simulator's checker watches what they promise; that all arrives is seen here.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given

from gcom.core.messages.effects import Deliver, Sent, Skip
from gcom.core.messages.frames import Status
from gcom.core.multicast.basic import Basic
from gcom.core.multicast.reliable import Range, Reliable
from gcom.values import limits
from gcom.values.definition import Definition, Multicast, Ordering
from tests.core.making import A, B, C, data_path, decision, delivered, numbers, run, skipped, view
from tests.core.three import FIRST, FRAGMENT, WINDOW, Schedule, Three, of, play, schedules

RELIABLE = Definition.parse("g", multicast="RELIABLE")
BASIC = Definition.parse("g", multicast="BASIC")


@pytest.fixture(scope="module", autouse=True)
def _small_window() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limits, "WINDOW_MESSAGES_MAX", WINDOW)
        yield


@given(schedules)
def test_reliable_delivers_every_senders_stream_whole_and_in_order(schedule: Schedule) -> None:
    three = Three(RELIABLE)
    for _ in play(three, schedule):
        for who in FIRST.members:
            for sender in FIRST.members:
                delivered = of(sender, three.seen[who].delivered)
                assert delivered == list(range(1, len(delivered) + 1))
                assert len(delivered) <= three.sent[sender]
            assert three.unconsumed(who) <= WINDOW
            assert not three.seen[who].skipped
    three.heal()
    for who, streams in three.streams.items():
        assert streams.unsent == []
        for sender in FIRST.members:
            assert of(sender, three.seen[who].delivered) == list(range(1, three.sent[sender] + 1))


@given(schedules)
def test_reliable_keeps_nothing_once_all_is_stable(schedule: Schedule) -> None:
    three = Three(RELIABLE)
    for _ in play(three, schedule):
        pass
    three.heal()
    for streams in three.streams.values():
        multicast = streams.multicast
        assert isinstance(multicast, Reliable)
        kept = {sender: store.after(store.floor, limits.NUMBER_MAX) for sender, store in multicast._stores.items()}
        assert kept == {sender: [] for sender in kept}
        assert multicast.out.store.floor == multicast.out.number
        assert streams.unconfirmed is None
        assert multicast.assemblies.open == {}


@given(schedules)
def test_basic_settles_every_message_once_and_in_order(schedule: Schedule) -> None:
    three = Three(BASIC)
    for _ in play(three, schedule):
        for who in FIRST.members:
            for sender in FIRST.members:
                delivered = of(sender, three.seen[who].delivered)
                assert delivered == sorted(set(delivered))
            assert three.unconsumed(who) <= WINDOW
    three.heal()
    for who, streams in three.streams.items():
        assert streams.unsent == []
        for sender in FIRST.members:
            settled = of(sender, three.seen[who].delivered) + of(sender, three.seen[who].skipped)
            assert sorted(settled) == list(range(1, three.sent[sender] + 1))
        assert streams.multicast.out.store.floor == streams.multicast.out.number


# Where the sequencer is matters where there is one.
KINDS = [(it, multicast, True) for it in Ordering for multicast in Multicast]
KINDS += [(it, multicast, False) for it in (Ordering.TOTAL, Ordering.CAUSALTOTAL) for multicast in Multicast]


@pytest.mark.parametrize(("ordering", "multicast", "at_registry"), KINDS)
def test_every_message_is_delivered_or_given_up_under_every_order(
    ordering: Ordering, multicast: Multicast, at_registry: bool
) -> None:
    definition = Definition("g", ordering, multicast)

    @given(schedules)
    def check(schedule: Schedule) -> None:
        three = Three(definition, at_registry)
        for _ in play(three, schedule):
            pass
        three.heal()
        for who, member in three.streams.items():
            assert member.unsent == []
            for sender in FIRST.members:
                settled = of(sender, three.seen[who].delivered) + of(sender, three.seen[who].skipped)
                assert sorted(settled) == list(range(1, three.sent[sender] + 1))

    check()


@pytest.mark.parametrize("at_registry", [True, False], ids=["at registry", "at leader"])
@pytest.mark.parametrize("sender", FIRST.members)
def test_the_last_message_of_a_sender_has_its_serial_though_nobody_but_its_sender_has_it(
    sender: str, at_registry: bool
) -> None:
    three = Three(Definition.parse("g", "TOTAL", "BASIC"), at_registry)
    three.submit(sender, ["x", "y"])
    for other in FIRST.members:
        if other != sender:
            three.begin(sender, other)
            three.fail(sender, other)
    three.heal()
    for who, seen in three.seen.items():
        assert (seen.delivered if who == sender else seen.skipped) == [(sender, 1), (sender, 2)]


def test_basic_loses_nothing_where_no_call_fails() -> None:
    three = Three(BASIC)
    three.submit(A, ["x"] * 50 + [bytes(5 * FRAGMENT)] + ["x"] * 50)
    three.heal()
    assert [seen.skipped for seen in three.seen.values()] == [[], [], []]


def test_scenario_02_basic_knows_from_the_senders_count_that_its_last_message_is_lost() -> None:
    three = Three(BASIC)
    three.submit(A, ["x", "y"])
    three.begin(A, B)
    three.fail(A, B)
    three.heal()
    assert three.seen[B].skipped == [(A, 1), (A, 2)]
    assert three.seen[C].delivered == [(A, 1), (A, 2)]


# one Reliable, step by step


def reliable() -> Reliable:
    multicast = Reliable(A)
    multicast.install(FIRST, {})
    return multicast


def test_an_ack_covers_what_is_stored_and_nothing_more() -> None:
    multicast = reliable()
    multicast.receive(run(B, 1, 3), 0)
    multicast.receive(run(B, 5, 1), 0)  # over a gap: not stored
    assert multicast.held(B) == 3


def test_a_run_of_another_view_or_of_a_stranger_is_not_stored() -> None:
    multicast = reliable()
    assert multicast.receive(run(B, 1, 1, view=2), 0) == []
    assert multicast.receive(run("x#1", 1, 1), 0) == []
    assert multicast.receive(run(A, 1, 1), 0) == []
    assert multicast.holdings() == {A: 0, B: 0, C: 0}


def test_after_a_promise_nothing_is_stored_or_acknowledged_but_what_the_cut_has() -> None:
    multicast = reliable()
    multicast.receive(run(B, 1, 2), 0)
    multicast.wedge()
    assert multicast.receive(run(B, 3, 1), 0) == []
    assert multicast.holdings()[B] == 2
    cut = {A: 0, B: 3, C: 0}
    assert multicast.missing(cut, 0) == [Range(B, 3, 3)]
    assert multicast.receive(run(B, 3, 1), 0) == []  # stored, and goes up with the cut
    assert multicast.receive(run(B, 4, 1), 0) == []
    assert (multicast.missing(cut, 0), multicast.held(B), multicast.holdings()[B]) == ([], 2, 3)
    assert numbers(multicast.close(cut)[0]) == [3]


def test_a_promise_to_a_higher_ballot_shuts_what_the_last_cut_had_opened() -> None:
    multicast = reliable()
    multicast.wedge()
    multicast.missing({B: 3}, 0)
    multicast.wedge()
    multicast.receive(run(B, 1, 3), 0)
    assert multicast.holdings()[B] == 0


def test_what_is_held_beyond_the_cut_is_thrown_away() -> None:
    multicast = reliable()
    multicast.wedge()
    multicast.missing({B: 4}, 0)
    multicast.receive(run(B, 1, 2), 0)
    multicast.receive(run(B, 3, 2), 0)
    assert numbers(multicast.close({A: 0, B: 2, C: 0})[0]) == [1, 2]
    assert numbers(multicast.fetched(1, B, 0, 0, 10**6).runs) == [1, 2]


def test_a_cut_that_leaves_out_what_went_up_here_is_not_ours() -> None:
    multicast = reliable()
    multicast.receive(run(B, 1, 2), 0)
    assert multicast.within({A: 0, B: 2, C: 0})
    assert not multicast.within({A: 0, B: 1, C: 0})
    multicast.submit(run(A, 1, 1))
    assert not multicast.within({A: 0, B: 2, C: 0})


def test_the_last_views_payloads_are_served_until_all_have_installed() -> None:
    multicast = reliable()
    multicast.receive(run(B, 1, 2), 0)
    multicast.close({A: 0, B: 2, C: 0})
    multicast.install(view(A, B, C, number=2), {B: 2})
    assert numbers(multicast.fetched(1, B, 0, 0, 10**6).runs) == [1, 2]
    multicast.release_previous()
    assert not multicast.fetched(1, B, 0, 0, 10**6).size


def test_what_was_dropped_as_stable_is_not_served_in_part() -> None:
    multicast = reliable()
    multicast.receive(run(B, 1, 2), 0)
    multicast.receive(run(B, 3, 2), 0)
    multicast.on_status(B, Status(1, stable=2))
    assert not multicast.fetched(1, B, 0, 0, 10**6).size
    assert numbers(multicast.fetched(1, B, 2, 0, 10**6).runs) == [3, 4]


def test_scenario_05_a_sender_goes_back_to_what_the_peer_holds() -> None:
    multicast = reliable()
    for peer in (B, C):
        multicast.on_status(peer, Status(1))
    for first in (1, 3):
        multicast.submit(run(A, first, 2))
    assert numbers(multicast.take(B, 10**6).runs) == [1, 2, 3, 4]
    assert not multicast.has_for(B)
    multicast.on_status(B, Status(1, held=2))
    multicast.on_replied(B)
    assert numbers(multicast.take(B, 10**6).runs) == [3, 4]
    multicast.on_failed(B)
    assert numbers(multicast.take(B, 10**6).runs) == [3, 4]


def test_a_message_is_lacked_by_those_that_did_not_say_to_hold_it_in_this_view() -> None:
    multicast = reliable()
    assert multicast.lacking(1) == [A, B, C]  # it has no number yet
    multicast.submit(run(A, 1, 2))
    assert multicast.lacking(1) == [B, C]
    multicast.on_status(C, Status(1, held=1))
    assert (multicast.lacking(1), multicast.lacking(2)) == ([B], [B, C])
    multicast.on_status(B, Status(1, held=2, wedged=True))
    multicast.wedge()
    multicast.on_status(C, Status(1, held=2))  # what is said of a view that ends does not count any more
    assert multicast.lacking(2) == [C]
    multicast.install(view(A, B, "d#1", number=2), {A: 2})
    assert multicast.lacking(2) == [B, "d#1"]  # B may yet have to fetch what the cut has
    multicast.on_status(B, Status(1, held=2))
    assert multicast.lacking(2) == [B, "d#1"]
    multicast.on_status(B, Status(2, held=2))
    multicast.on_status("d#1", Status(2))
    assert multicast.lacking(2) == []  # who comes begins after it


@pytest.mark.parametrize("status", [Status(0), Status(2), Status(1, wedged=True)])
def test_a_peer_in_another_view_or_promised_to_a_change_gets_no_data(status: Status) -> None:
    multicast = reliable()
    multicast.submit(run(A, 1, 1))
    multicast.on_status(B, status)
    assert not multicast.take(B, 10**6).size


# one Basic, step by step


def basic() -> Basic:
    multicast = Basic(A)
    multicast.install(FIRST, {})
    return multicast


def test_a_gap_is_given_up_after_the_grace_and_not_before() -> None:
    multicast = basic()
    multicast.receive(run(B, 3, 1), 100)
    assert multicast.overdue(99 + limits.GAP_GRACE_MS) == []
    assert multicast.overdue(100 + limits.GAP_GRACE_MS) == [Range(B, 1, 2)]
    assert multicast.receive(run(B, 1, 2), 700) == []  # too late


def test_a_run_may_fill_a_part_of_a_gap() -> None:
    multicast = basic()
    multicast.on_sent(B, 9, 0)
    assert numbers(multicast.receive(run(B, 4, 2), 1)) == [4, 5]
    assert multicast.receive(run(B, 4, 2), 2) == []
    assert multicast.overdue(10**6) == [Range(B, 1, 3), Range(B, 6, 9)]


def test_what_is_given_up_while_a_view_ends_is_told_behind_what_is_here() -> None:
    """Its reader gives credit by the last number that it has read."""
    multicast = basic()
    multicast.wedge()
    assert multicast.missing({B: 3}, 0) == [Range(B, 1, 3)]
    assert multicast.receive(run(B, 1, 1), 1) == multicast.receive(run(B, 3, 1), 1) == []
    assert multicast.overdue(1 + limits.GAP_GRACE_MS) == []
    assert multicast.missing({B: 3}, 10**6) == []
    runs, lost = multicast.close({B: 3})
    assert (numbers(runs), lost) == ([1, 3], [Range(B, 2, 2)])


def test_the_end_of_a_view_gives_up_all_gaps() -> None:
    multicast = basic()
    multicast.receive(run(B, 3, 1), 0)
    multicast.wedge()
    assert multicast.missing({A: 0, B: 5, C: 1}, 1) == [Range(B, 1, 2), Range(B, 4, 5), Range(C, 1, 1)]
    assert multicast.close({A: 0, B: 5, C: 1}) == ([], [Range(B, 1, 2), Range(B, 4, 5), Range(C, 1, 1)])


@pytest.mark.parametrize("when", ["before the cut is known", "after"])
def test_what_comes_after_the_promise_goes_up_with_the_cut_or_never(when: str) -> None:
    multicast = basic()
    multicast.receive(run(B, 3, 1), 0)
    multicast.wedge()
    cut = {A: 0, B: 5, C: 0}
    if when == "after":
        multicast.missing(cut, 1)
    for first in (1, 4, 6):
        assert multicast.receive(run(B, first, 2), 1) == []
    multicast.on_sent(B, 9, 1)
    assert multicast.held(B) == (5 if when == "after" else 3)
    assert multicast.missing(cut, 1) == []
    runs, lost = multicast.close(cut)
    assert (sorted(numbers(runs)), lost) == ([1, 2, 4, 5], [])


def test_what_is_beyond_the_cut_of_a_change_that_failed_may_be_in_the_next_one() -> None:
    multicast = basic()
    multicast.wedge()
    multicast.receive(run(B, 1, 2), 0)
    multicast.receive(run(B, 3, 2), 0)
    assert multicast.missing({B: 2}, 0) == []
    multicast.wedge()
    assert multicast.holdings() == {A: 0, B: 2, C: 0}  # a promise has nothing that came after the last
    assert multicast.missing({B: 4}, 0) == []
    assert numbers(multicast.close({B: 4})[0]) == [1, 2, 3, 4]


# Streams


@pytest.mark.parametrize("ordering", Ordering)
def test_a_dead_senders_late_run_beyond_the_cut_is_neither_delivered_nor_given_up(ordering: Ordering) -> None:
    """The view ends at the cut in every order alike: before it each number is delivered or given up, beyond it none."""
    data = data_path(B, Definition("g", ordering, Multicast.BASIC), FIRST, at_registry=False)
    data.receive(run(A, 1, 1), 0)
    data.wedge()
    change = decision(FIRST, B, C, cut={A: 4, B: 0, C: 0})
    late = [effect for first in (2, 5, 7) for effect in data.receive(run(A, first, 1), 1)]
    late += data.on_sent(A, 9, 1)
    assert late == []
    assert data.missing(change.cut, 1) == [Range(A, 3, 4)]
    late = data.receive(run(A, 6, 1), 2) + data.give_up_overdue(1 + limits.GAP_GRACE_MS)
    effects = [*late, *data.close(change)]
    assert sorted({1, *[number for _, number in delivered(effects)]}) == [1, 2]
    assert skipped(effects) == [(A, 3), (A, 4)]
    if "TOTAL" in ordering:
        serials = [effect.serial for effect in effects if isinstance(effect, Deliver | Skip)]
        assert serials == [1, 2, 3]
    data.install(change, data.serial_after(change))
    assert data.receive(run(A, 5, 1), 3) == []


def test_a_static_group_that_has_not_started_numbers_nothing() -> None:
    waiting = view(A, B)
    waiting = type(waiting)(1, waiting.members, waiting.addresses, started=False)
    data = data_path(A, Definition.parse("g", static=["a", "b", "c"]), waiting)
    data.submit(["x"])
    assert data.form(10**6) == []
    assert "static group" in data.waits_for


def test_the_clock_of_a_run_says_what_was_delivered_since_the_last() -> None:
    data = data_path(A, Definition.parse("g"), FIRST)
    data.receive(run(B, 1, 3), 0)
    data.submit(["x"])
    (sent, _) = data.form(10**6)
    assert isinstance(sent, Sent)
    assert sent.run.clock == {B: 3}
    data.submit(["y"])
    (sent, _) = data.form(10**6)
    assert isinstance(sent, Sent)
    assert sent.run.clock == {}


def test_the_view_ends_with_the_cut_delivered_and_the_next_begins_where_it_ended() -> None:
    data = data_path(A, Definition.parse("g"), FIRST)
    data.multicast.wedge()
    change = decision(FIRST, A, C, "d#1", cut={A: 0, B: 2, C: 0})
    data.multicast.missing(change.cut, 0)
    data.receive(run(B, 1, 2), 0)
    assert data.close(change) == [Deliver(run(B, 1, 2), 1)]
    data.install(change, 0)
    assert data.receive(run("d#1", 1, 1, view=2), 0) == [Deliver(run("d#1", 1, 1, view=2), 2)]
    assert data.receive(run(B, 3, 1, view=2), 0) == []


def test_much_untold_credit_is_told_at_once() -> None:
    data = data_path(A, Definition.parse("g"), FIRST)
    data.receive(run(B, 1, WINDOW), 0)
    assert not data.on_consumed(B, 1, 10)
    assert data.on_consumed(B, 1 + WINDOW // 4, 10)
    data.status(B)  # as a heartbeat that may wait asks for it: it tells nobody
    assert data.on_consumed(B, 1 + WINDOW // 4, 10)
    data.on_told(B, data.status(B).consumed)
    assert not data.on_consumed(B, 2 + WINDOW // 4, 10)
    assert data.on_consumed(B, 3 + WINDOW // 4, limits.WINDOW_BYTES_MAX)
