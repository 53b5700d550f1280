"""Links: what is owed to a peer goes at least once, in order, a few calls at a time, and never more than the kinds."""

from __future__ import annotations

import pytest

from gcom.core.links import Links
from gcom.core.messages.frames import (
    Control,
    CutOk,
    Fetch,
    Frame,
    Install,
    Nack,
    Prepare,
    Promise,
    Refused,
    Reply,
    Status,
    supersedes,
)
from gcom.values import limits
from tests.core.making import A, B, C, D, decision, view

NOW = 1_000
FIRST, SECOND = Prepare(1, (1, 0)), Prepare(1, (2, 0))
NACK, OK = Nack(1, (1, 0)), CutOk(1, (1, 0))


def links() -> Links:
    made = Links(A)
    made.open(B, "b-1:1", NOW)
    made.woken()
    return made


def test_nothing_is_due_until_the_heartbeat() -> None:
    made = links()
    assert made[B].callable(NOW)
    assert not made[B].due(NOW + limits.HEARTBEAT_MS - 1)
    assert made[B].due(NOW + limits.HEARTBEAT_MS)


def test_a_call_of_the_peer_puts_the_heartbeat_off() -> None:
    made = links()
    made.heard(B, NOW + 100)
    assert not made[B].due(NOW + limits.HEARTBEAT_MS)
    assert made[B].due(
        NOW + 100 + limits.HEARTBEAT_MS
    )  # the peer has fallen silent: as soon as after a call of one's own
    made.say(B, FIRST)
    made.heard(B, NOW + 200)
    assert made[B].due(NOW + 200)


def test_a_call_of_the_peer_puts_off_no_redial_nor_what_goes_with_the_heartbeat() -> None:
    made = links()
    made.begin(B, NOW)
    made.failed(B, NOW)
    made.heard(B, NOW)
    assert made[B].callable(NOW)
    assert made[B].due(NOW)
    made = links()
    made.say_later(B, FIRST)
    made.heard(B, NOW + 100)
    assert made[B].due(NOW + limits.HEARTBEAT_MS)


def test_of_two_the_greater_calls_first() -> None:
    dues = []
    for process, peer in ((A, B), (B, A)):
        made = Links(process)
        made.open(peer, "x-1:1", NOW)
        made.begin(peer, NOW)
        made.replied(peer, NOW)
        dues.append(made[peer].due_ms - NOW)
    assert dues == [limits.HEARTBEAT_MS, limits.HEARTBEAT_MS - limits.HEARTBEAT_LEAD_MS]


def test_a_heartbeat_that_is_due_soon_is_brought_forward_and_no_other_nor_a_redial() -> None:
    soon = NOW + limits.HEARTBEAT_MS - limits.HEARTBEATS_TOGETHER_MS
    made = links()
    made.bring_forward(B, soon - 1)
    assert not made[B].due(soon - 1)
    made.bring_forward(B, soon)
    assert made[B].due(soon)
    made.bring_forward(C, soon)  # a peer no more
    made.begin(B, NOW)
    made.failed(B, NOW)
    made.begin(B, NOW)
    made.failed(B, NOW)  # the redial at once has failed, too: the next waits
    made.bring_forward(B, NOW + limits.REDIAL_MS - 1)
    assert not made[B].callable(NOW + limits.REDIAL_MS - 1)


def test_an_item_wakes_the_link_and_goes_once() -> None:
    made = links()
    made.say(B, FIRST)
    assert made.woken() == [B]
    assert made.woken() == []
    assert made[B].due(NOW)
    assert made.begin(B, NOW) == (FIRST,)
    assert not made[B].callable(NOW + 10_000)
    assert not made.idle
    made.replied(B, NOW)
    assert made.idle
    assert made.begin(B, NOW) == ()


def test_a_reply_takes_the_answers_of_a_change_along_and_nothing_else() -> None:
    made = links()
    install = Install(decision(view(A, B), A, B, C))
    for item in (FIRST, NACK, install, OK):
        made.say(B, item)
    assert made.answers(B) == (NACK, OK)
    assert made.answers(B) == ()
    assert made.answers(C) == ()
    assert made.begin(B, NOW) == (FIRST, install)


def test_what_a_failed_call_carried_goes_again_before_what_came_later() -> None:
    made = links()
    made.say(B, FIRST)
    made.begin(B, NOW)
    made.say(B, NACK)
    made.failed(B, NOW)
    assert made.begin(B, NOW) == (FIRST, NACK)


def test_a_newer_item_takes_the_place_of_an_older_one_even_of_a_failed_call() -> None:
    made = links()
    made.say(B, FIRST)
    made.say(B, NACK)
    made.say(B, SECOND)
    assert made.begin(B, NOW) == (NACK, SECOND)
    made.say(B, FIRST)
    made.failed(B, NOW)
    assert made.begin(B, NOW) == (NACK, FIRST)


def test_fetches_replace_each_other_by_sender() -> None:
    made = links()
    for item in (Fetch(1, A, 1, 2), Fetch(1, C, 1, 2), Fetch(1, A, 2, 2)):
        made.say(B, item)
    assert made.begin(B, NOW) == (Fetch(1, C, 1, 2), Fetch(1, A, 2, 2))


def test_one_frame_takes_a_bounded_number_of_items_in_order() -> None:
    made = links()
    items: list[Control] = [Fetch(1, f"m{index}#1", 1, 2) for index in range(limits.CONTROL_ITEMS_TAKEN + 3)]
    for item in items:
        made.say(B, item)
    assert list(made.begin(B, NOW)) == items[: limits.CONTROL_ITEMS_TAKEN]
    made.replied(B, NOW)
    assert made[B].due(NOW)
    assert list(made.begin(B, NOW)) == items[limits.CONTROL_ITEMS_TAKEN :]


def test_a_failed_call_is_redialled_at_once_and_then_after_a_while() -> None:
    made = links()
    made.begin(B, NOW)
    made.failed(B, NOW)
    assert made[B].callable(NOW)
    assert made[B].due(NOW)
    made.begin(B, NOW)
    made.failed(B, NOW)
    made.say(B, FIRST)
    assert not made[B].callable(NOW + limits.REDIAL_MS - 1)  # whatever is owed
    assert made[B].callable(NOW + limits.REDIAL_MS)
    made.begin(B, NOW)
    made.replied(B, NOW)
    assert made[B].failures == 0


def test_what_goes_with_the_next_heartbeat_makes_nothing_due() -> None:
    made = links()
    made.say_later(B, FIRST)
    assert not made[B].due(NOW)
    assert made.begin(B, NOW) == (FIRST,)
    made.replied(B, NOW)
    assert made.begin(B, NOW) == ()


def test_an_owed_status_makes_a_frame_due_once() -> None:
    made = links()
    made.owe_status([B, "x#1"])
    assert made[B].due(NOW)
    made.begin(B, NOW)
    made.replied(B, NOW)
    assert not made[B].due(NOW)


def test_nothing_is_owed_to_a_stranger() -> None:
    made = links()
    made.say(C, FIRST)
    made.relay(C, Fetch(1, A, 1, 2))
    made.replied(C, NOW)
    made.failed(C, NOW)
    assert (made.peers, C in made, made.idle) == ([B], False, True)


def test_what_belongs_to_a_view_that_is_over_is_forgotten_in_flight_too() -> None:
    made = links()
    install = Install(decision(view(A, B), A, B))
    made.say(B, FIRST)
    made.begin(B, NOW)
    made.say(B, OK)
    made.say(B, install)
    made.rewire({B: "b-1:1"}, (), NOW)
    made.failed(B, NOW)
    assert made.begin(B, NOW) == (install,)


def test_a_new_view_calls_its_members_and_who_is_kept_and_nobody_else() -> None:
    made = links()
    made.open(C, "c-1:1", NOW)
    made.rewire({D: "d-1:1"}, {C}, NOW)
    assert sorted(made.peers) == [C, D]
    assert (made[C].due(NOW), made[D].due(NOW)) == (False, False)  # the view says who hears of it at once


def test_only_one_kind_is_kept() -> None:
    made = links()
    install = Install(decision(view(A, B), A, B))
    for item in (FIRST, install, NACK):
        made.say(B, item)
    made.keep_only(Install)
    assert made.begin(B, NOW) == (install,)


def test_a_failed_call_ends_what_was_being_relayed() -> None:
    made = links()
    made.relay(B, Fetch(1, A, 3, 9))
    assert (made[B].relays[A].after, made[B].relays[A].last) == (2, 9)
    made.begin(B, NOW)
    made.failed(B, NOW)
    assert made[B].relays == {}  # who still misses it asks again


def test_opening_twice_keeps_what_is_owed_and_closing_forgets_it() -> None:
    made = links()
    made.say(B, FIRST)
    made.open(B, "b-1:1", NOW)
    assert not made.idle
    made.close(B)
    assert (made.peers, made.idle) == ([], True)
    made.open(B, "b-1:1", NOW)
    assert made.begin(B, NOW) == ()


def test_only_members_are_called_again_before_they_have_answered() -> None:
    made = links()
    made.begin(B, NOW)
    assert not made[B].callable(NOW)
    assert made[B].callable(NOW, pipelined=True)
    assert not made[B].due(NOW + limits.HEARTBEAT_MS), "a heartbeat is under way already"


@pytest.mark.parametrize(
    ("load", "waits"),
    [(limits.SMALL_LOAD_BYTES - 1, False), (limits.SMALL_LOAD_BYTES, True), (limits.LARGE_LOAD_BYTES - 1, True)],
)
def test_after_a_load_that_is_not_large_the_next_waits_for_the_answer(load: int, waits: bool) -> None:
    made = links()
    made.begin(B, NOW, load)
    assert not made[B].takes_load(False, NOW)
    assert made[B].takes_load(True, NOW), "the sequencer's answers say when"
    assert made[B].takes_load(False, NOW + 1) != waits, "a small one for a millisecond: answers may be taken late"
    assert made[B].takes_load(False, NOW + limits.HEARTBEAT_MS) != waits
    made.begin(B, NOW)
    made.replied(B, NOW)
    assert made[B].takes_load(False, NOW)


def test_behind_a_few_single_messages_the_next_goes_at_once() -> None:
    made = links()
    for _ in range(limits.TINY_LOADS_IN_FLIGHT_MAX):
        assert made[B].takes_load(False, NOW)
        made.begin(B, NOW, limits.TINY_LOAD_BYTES - 1)
    assert not made[B].takes_load(False, NOW), "what waits becomes one load"
    assert made[B].takes_load(False, NOW + 1), "after a millisecond it waits no longer"
    made.replied(B, NOW)
    assert made[B].takes_load(False, NOW)
    made.begin(B, NOW, limits.TINY_LOAD_BYTES)
    made.replied(B, NOW)
    assert not made[B].takes_load(False, NOW), "many came: it collects again"


def test_small_loads_that_wait_for_no_answer_leave_room_for_what_must_not_wait() -> None:
    made = links()
    for loads in range(limits.SMALL_LOADS_IN_FLIGHT_MAX):
        assert made[B].takes_load(False, NOW + loads)
        made.begin(B, NOW + loads, load=limits.SMALL_LOAD_BYTES - 1)
    assert not made[B].takes_load(False, NOW + limits.HEARTBEAT_MS)
    assert made[B].callable(NOW, pipelined=True)


def test_frames_in_flight_have_a_bound_and_those_with_data_a_smaller_one() -> None:
    made = links()
    for loads in range(limits.FRAMES_IN_FLIGHT_MAX):
        assert made[B].callable(NOW, pipelined=True)
        assert made[B].takes_load(False, NOW) == (loads < limits.LOADS_IN_FLIGHT_MAX)
        made.begin(B, NOW, load=limits.LOAD_BYTES_MAX if made[B].takes_load(False, NOW) else 0)
    assert not made[B].callable(NOW, pipelined=True)
    made.replied(B, NOW)
    assert made[B].callable(NOW, pipelined=True)
    assert made[B].takes_load(False, NOW)


def test_what_all_unanswered_frames_carried_goes_again_in_order() -> None:
    made = links()
    for item in (FIRST, NACK, SECOND, OK):
        made.say(B, item)
        made.begin(B, NOW, load=limits.LOAD_BYTES_MAX)
    made.replied(B, NOW)  # of FIRST
    made.failed(B, NOW)
    assert made.begin(B, NOW) == (NACK, SECOND, OK)
    assert made[B].loads == 0


def test_of_two_items_of_a_kind_in_flight_only_the_newer_goes_again() -> None:
    made = links()
    for item in (FIRST, NACK, SECOND):
        made.say(B, item)
        made.begin(B, NOW)
    made.failed(B, NOW)
    assert made.begin(B, NOW) == (NACK, SECOND)


def test_after_a_failure_one_frame_goes_alone() -> None:
    made = links()
    made.begin(B, NOW)
    made.failed(B, NOW)
    made.begin(B, NOW)
    assert not made[B].callable(NOW, pipelined=True)
    made.replied(B, NOW)
    made.begin(B, NOW)
    assert made[B].callable(NOW, pipelined=True)


def test_an_answer_to_a_link_that_was_opened_anew_ends_nothing() -> None:
    made = links()
    made.begin(B, NOW, load=limits.LOAD_BYTES_MAX)
    made.close(B)
    made.open(B, "b-1:1", NOW)
    made.replied(B, NOW)
    assert made.settled(B)
    assert made[B].loads == 0


def test_what_may_be_large_in_a_full_group_travels_without_runs() -> None:
    made = links()
    made.open(D, "d-1:1", NOW)
    made.say(B, Install(decision(view(A, B), A, B)))
    assert not made[B].fills_frame
    made.say(B, Promise(1, (1, 0), {}))
    assert made[B].fills_frame
    assert not made[D].fills_frame


def test_answers_that_came_together_end_as_many_calls() -> None:
    made = links()
    for _ in range(3):
        made.begin(B, NOW, load=10)
    made.replied(B, NOW, calls=2)
    assert (len(made[B].unanswered), made[B].loads) == (1, 1)
    assert not made.settled(B)
    made.replied(B, NOW, calls=2)  # more than there are: a peer's answer is no reason to fail
    assert (len(made[B].unanswered), made[B].loads) == (0, 0)
    assert made[B].callable(NOW)


def answer(held: int, *control: Control, source: str = B, instance: str = "i1") -> Frame:
    return Frame("g", instance, source, A, Status(1, held), control)


@pytest.mark.parametrize(
    ("later", "earlier", "does"),
    [
        (answer(2), answer(1), True),
        (answer(2, NACK), answer(1), True),
        (answer(2), answer(1, NACK), False),
        (answer(2), Refused("unknown", ""), False),
        (Refused("unknown", ""), answer(1), False),
        (answer(2, source=C), answer(1), False),
        (answer(2, instance="i2"), answer(1), False),
    ],
)
def test_an_answer_supersedes_an_earlier_one_that_has_only_state(later: Reply, earlier: Reply, does: bool) -> None:
    assert supersedes(later, earlier) == does
