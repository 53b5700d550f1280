"""Links: what is owed to a peer goes at least once, in order, one call at a time, and never more than the kinds."""

from __future__ import annotations

import pytest

from gcom.core.links import Links
from gcom.core.messages.frames import Control, CutOk, Fetch, Install, Nack, Prepare, Promise
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
    made.begin(B)
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
        made.begin(peer)
        made.replied(peer, NOW)
        dues.append(made[peer].due_ms - NOW)
    assert dues == [limits.HEARTBEAT_MS, limits.HEARTBEAT_MS - limits.HEARTBEAT_LEAD_MS]


def test_an_item_wakes_the_link_and_goes_once() -> None:
    made = links()
    made.say(B, FIRST)
    assert made.woken() == [B]
    assert made.woken() == []
    assert made[B].due(NOW)
    assert made.begin(B) == (FIRST,)
    assert not made[B].callable(NOW + 10_000)
    assert not made.idle
    made.replied(B, NOW)
    assert made.idle
    assert made.begin(B) == ()


def test_a_reply_takes_the_answers_of_a_change_along_and_nothing_else() -> None:
    made = links()
    install = Install(decision(view(A, B), A, B, C))
    for item in (FIRST, NACK, install, OK):
        made.say(B, item)
    assert made.answers(B) == (NACK, OK)
    assert made.answers(B) == ()
    assert made.answers(C) == ()
    assert made.begin(B) == (FIRST, install)


def test_what_a_failed_call_carried_goes_again_before_what_came_later() -> None:
    made = links()
    made.say(B, FIRST)
    made.begin(B)
    made.say(B, NACK)
    made.failed(B, NOW)
    assert made.begin(B) == (FIRST, NACK)


def test_a_newer_item_takes_the_place_of_an_older_one_even_of_a_failed_call() -> None:
    made = links()
    made.say(B, FIRST)
    made.say(B, NACK)
    made.say(B, SECOND)
    assert made.begin(B) == (NACK, SECOND)
    made.say(B, FIRST)
    made.failed(B, NOW)
    assert made.begin(B) == (NACK, FIRST)


def test_fetches_replace_each_other_by_sender() -> None:
    made = links()
    for item in (Fetch(1, A, 1, 2), Fetch(1, C, 1, 2), Fetch(1, A, 2, 2)):
        made.say(B, item)
    assert made.begin(B) == (Fetch(1, C, 1, 2), Fetch(1, A, 2, 2))


def test_one_frame_takes_a_bounded_number_of_items_in_order() -> None:
    made = links()
    items: list[Control] = [Fetch(1, f"m{index}#1", 1, 2) for index in range(limits.CONTROL_ITEMS_TAKEN + 3)]
    for item in items:
        made.say(B, item)
    assert list(made.begin(B)) == items[: limits.CONTROL_ITEMS_TAKEN]
    made.replied(B, NOW)
    assert made[B].due(NOW)
    assert list(made.begin(B)) == items[limits.CONTROL_ITEMS_TAKEN :]


def test_a_failed_call_is_redialled_at_once_and_then_with_the_heartbeat() -> None:
    made = links()
    made.begin(B)
    made.failed(B, NOW)
    assert made[B].callable(NOW)
    assert made[B].due(NOW)
    made.begin(B)
    made.failed(B, NOW)
    made.say(B, FIRST)
    assert not made[B].callable(NOW + limits.HEARTBEAT_MS - 1)  # whatever is owed
    assert made[B].callable(NOW + limits.HEARTBEAT_MS)
    made.begin(B)
    made.replied(B, NOW)
    assert made[B].failures == 0


def test_what_goes_with_the_next_heartbeat_makes_nothing_due() -> None:
    made = links()
    made.say_later(B, FIRST)
    assert not made[B].due(NOW)
    assert made.begin(B) == (FIRST,)
    made.replied(B, NOW)
    assert made.begin(B) == ()


def test_an_owed_status_makes_a_frame_due_once() -> None:
    made = links()
    made.owe_status([B, "x#1"])
    assert made[B].due(NOW)
    made.begin(B)
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
    made.begin(B)
    made.say(B, OK)
    made.say(B, install)
    made.rewire({B: "b-1:1"}, (), NOW)
    made.failed(B, NOW)
    assert made.begin(B) == (install,)


def test_a_new_view_calls_its_members_and_who_is_kept_and_nobody_else() -> None:
    made = links()
    made.open(C, "c-1:1", NOW)
    made.rewire({D: "d-1:1"}, {C}, NOW)
    assert sorted(made.peers) == [C, D]
    assert (made[C].due(NOW), made[D].due(NOW)) == (False, True)


def test_only_one_kind_is_kept() -> None:
    made = links()
    install = Install(decision(view(A, B), A, B))
    for item in (FIRST, install, NACK):
        made.say(B, item)
    made.keep_only(Install)
    assert made.begin(B) == (install,)


def test_a_failed_call_ends_what_was_being_relayed() -> None:
    made = links()
    made.relay(B, Fetch(1, A, 3, 9))
    assert (made[B].relays[A].after, made[B].relays[A].last) == (2, 9)
    made.begin(B)
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
    assert made.begin(B) == ()


def test_two_calls_at_once_are_a_fault_of_ours() -> None:
    made = links()
    made.begin(B)
    with pytest.raises(AssertionError, match="one call"):
        made.begin(B)


def test_what_may_be_large_in_a_full_group_travels_without_runs() -> None:
    made = links()
    made.open(D, "d-1:1", NOW)
    made.say(B, Install(decision(view(A, B), A, B)))
    assert not made[B].fills_frame
    made.say(B, Promise(1, (1, 0), {}))
    assert made[B].fills_frame
    assert not made[D].fills_frame
