"""One member's part in the order of a view: what it asks, what it takes for agreed, and how the view ends."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcom.core.messages.frames import ORDER, Decision, Status
from gcom.core.messages.orders import Orders, Span
from gcom.core.messages.sequencer import Open, Opened, SequencerAnswer, Unknown, Want
from gcom.core.ordering.agreement import PIECE_SPANS, SERVICES, OrderAgreement, Service
from gcom.core.ordering.order_log import OrderLog
from gcom.core.ordering.sequencer import Sequencer
from gcom.values import limits
from gcom.values.names import Process
from gcom.values.view import View
from tests.core.making import A, B, C, D, E, decision, opening, view

FIRST = view(A, B, C)
FIVE = view(A, B, C, D, E)


def serials(process: Process = A, first: View = FIRST, at_registry: bool = True, serial: int = 0) -> OrderAgreement:
    made = OrderAgreement(process, "g", "i")
    made.install(opening(first, at_registry), serial)
    return made


def piece(*spans: Span, after: int = 0, number: int = 1) -> Orders:
    return Orders(number, after, spans)


def holds(ordered: int, agreed: int = 0) -> Status:
    return Status(1, ordered=ordered, agreed=agreed)


def cut(**ends: int) -> dict[Process, int]:
    return {ORDER if name == "order" else f"{name}#1": end for name, end in ends.items()}


# what is asked


def test_the_leader_opens_its_view_before_anybody_is_served() -> None:
    made = serials(serial=7)
    assert made.due(0, 0) == [Open("g", "i", 1, 7, {A: 0, B: 0, C: 0})]
    assert made.due(5, 0) == []  # one question at a time
    assert made.on_answer(Open("g", "i", 1, 7, {}), Opened(), 1) is None
    assert made.due(5, 1) == [Want("g", "i", 1, A, 5, 7, 7)]


@pytest.mark.parametrize("first", [Opened(), None])
def test_a_view_is_opened_once_only_whatever_the_registry_says(first: SequencerAnswer | None) -> None:
    made = serials()
    asked: list[object] = []
    for now_ms, answer in enumerate([first, piece(), None, piece(), Unknown()]):
        (request,) = made.due(5, now_ms * 100)
        asked.append(type(request))
        made.on_answer(request, answer, now_ms * 100)
    assert asked == [Open, Want, Want, Want, Want]
    assert made.cut_off


def test_who_sends_nothing_asks_nothing() -> None:
    made = serials(B)
    assert made.due(0, 0) == []
    assert made.due(2, 0) == [Want("g", "i", 1, B, 2, 0, 0)]


def test_what_has_a_serial_is_not_asked_for_again() -> None:
    made = serials(B)
    (request,) = made.due(2, 0)
    assert made.on_answer(request, piece((B, 1, 2)), 0) == piece((B, 1, 2))
    made.extend(piece((B, 1, 2)))
    assert made.due(2, 1) == []
    assert made.due(3, 1) == [Want("g", "i", 1, B, 3, 2, 0)]


def test_all_that_every_member_holds_the_sequencer_may_forget() -> None:
    made = serials(B)
    made.extend(piece((B, 1, 4)))
    made.on_status(A, holds(3))
    assert made.due(5, 0) == [Want("g", "i", 1, B, 5, 4, 0)]
    made.on_answer(Want("g", "i", 1, B, 5, 4, 0), piece(after=4), 0)
    made.on_status(C, holds(2))
    assert made.due(5, 0) == [Want("g", "i", 1, B, 5, 4, 2)]


def unanswered(made: OrderAgreement, *times_ms: int, refused: bool = False, number: int = 1) -> None:
    """Leave requests at these times without an answer."""
    for now_ms in times_ms:
        (request,) = made.due(number, now_ms)
        made.on_answer(request, None, now_ms, refused)


def test_one_request_without_an_answer_is_put_again_and_nothing_else_happens() -> None:
    made = serials(B)
    unanswered(made, 10)
    assert made.waiting
    assert not made.cut_off
    assert made.due(1, 10) == []  # not at once
    assert made.due(1, 10 + limits.JOIN_GATHER_MS) == [Want("g", "i", 1, B, 1, 0, 0)]
    made.on_answer(Want("g", "i", 1, B, 1, 0, 0), piece((B, 1, 1)), 50)
    assert made.service is Service.SERVED
    assert not made.waiting


def test_a_sequencer_that_answers_nothing_for_its_grace_must_go() -> None:
    made = serials(B)
    unanswered(made, 10, 200, 380)
    assert not made.cut_off
    unanswered(made, 10 + limits.SEQUENCER_GRACE_MS)
    assert made.cut_off
    assert made.due(1, 10**6) == []


def test_the_grace_begins_anew_with_each_answer() -> None:
    made = serials(B)
    for begin_ms in (0, 1_000, 2_000):
        unanswered(made, begin_ms, begin_ms + 300)
        (request,) = made.due(1, begin_ms + 350)
        made.on_answer(request, piece(), begin_ms + 350)
    assert made.service is Service.SERVED


def test_a_sequencer_whose_port_refuses_twice_must_go_at_once() -> None:
    made = serials(B)
    unanswered(made, 0)  # the connection broke
    unanswered(made, 20, refused=True)
    assert not made.cut_off  # it may be starting again
    unanswered(made, 40, refused=True)
    assert made.cut_off


def test_refusals_count_in_a_row() -> None:
    made = serials(B)
    for begin_ms in (0, 1_000):
        unanswered(made, begin_ms, refused=True)
        (request,) = made.due(1, begin_ms + 100)
        made.on_answer(request, piece(), begin_ms + 100)
    assert not made.cut_off


def test_who_was_not_answered_asks_again_though_it_wants_nothing_more() -> None:
    made = serials(B)
    unanswered(made, 0)
    made.extend(piece((B, 1, 1)))  # another member told it
    assert made.due(1, 100) == [Want("g", "i", 1, B, 1, 1, 0)]


def test_an_open_without_an_answer_is_followed_by_a_want() -> None:
    made = serials()
    (request,) = made.due(0, 0)
    assert isinstance(request, Open)
    made.on_answer(request, None, 0)
    assert made.due(0, 100) == [Want("g", "i", 1, A, 0, 0, 0)]


def test_a_sequencer_that_has_served_the_view_and_knows_it_no_more_has_forgotten_it() -> None:
    made = serials(B)
    for now_ms, answer in ((0, piece()), (100, None), (200, Unknown())):
        (request,) = made.due(1, now_ms)
        made.on_answer(request, answer, now_ms)
    assert made.cut_off


def test_a_sequencer_that_knows_nothing_may_not_have_heard_of_the_view_yet() -> None:
    made = serials(B)
    for now_ms in (0, 500, limits.OPEN_GRACE_MS - 1):
        (request,) = made.due(1, now_ms)
        made.on_answer(request, Unknown(), now_ms)
        assert not made.cut_off
        assert made.waiting
        assert made.due(1, now_ms) == []  # not at once
    (request,) = made.due(1, 2_000)
    made.on_answer(request, Unknown(), 2_000)
    assert made.cut_off
    assert not made.waiting


def test_a_leader_whose_view_is_refused_does_not_wait() -> None:
    made = serials()
    (request,) = made.due(0, 0)
    made.on_answer(request, Unknown(), 0)
    assert made.cut_off


def test_an_answer_for_an_older_view_says_nothing_of_this_one() -> None:
    made = serials(B)
    (request,) = made.due(1, 0)
    made.install(decision(FIRST, A, B), 0)
    assert made.on_answer(request, piece((B, 1, 1)), 1) is None
    assert not made.cut_off
    assert made.due(1, 1) == [Want("g", "i", 2, B, 1, 0, 0)]
    assert made.on_answer(request, None, 2) is None
    assert made.due(2, 2) == []  # the question of this view is still on its way


def test_a_member_knows_for_how_long_the_registry_has_answered() -> None:
    made = serials(B, at_registry=False)
    told = []
    for now_ms in range(0, limits.RETURN_MS + 2_000, limits.RENEW_MS):
        (request,) = made.due(0, now_ms)
        made.on_answer(request, Unknown(), now_ms)
        told.append(made.reaches)
        assert made.due(0, now_ms + 1) == []
    assert told == [False] * (limits.RETURN_MS // limits.RENEW_MS) + [True, True]
    assert not made.cut_off
    (request,) = made.due(0, 10**6)
    made.on_answer(request, None, 10**6)
    assert not made.reaches


@pytest.mark.parametrize("service", Service)
@pytest.mark.parametrize("at_registry", [True, False])
def test_a_view_begins_anew_from_every_state(service: Service, at_registry: bool) -> None:
    made = serials(B)
    made.service = service
    made.install(decision(FIRST, A, B, at_registry=at_registry), 0)
    assert made.service is (Service.OPENING if at_registry else Service.AT_LEADER)
    assert set(SERVICES) == set(Service)


# who orders


def test_the_leader_orders_what_it_receives_when_the_registry_does_not() -> None:
    made = serials(at_registry=False)
    assert made.sequence(B, 2)
    assert not made.sequence(B, 2)
    assert made.sequence(A, 1)
    assert made.log.between(0, 9) == [(B, 1, 2), (A, 1, 1)]


@pytest.mark.parametrize(("process", "at_registry"), [(B, False), (A, True), (B, True)])
def test_nobody_else_orders(process: Process, at_registry: bool) -> None:
    made = serials(process, at_registry=at_registry)
    assert not made.sequence(process, 3)
    assert made.log.end == 0


# how far it is agreed


def test_a_serial_is_passed_on_when_a_majority_holds_its_order() -> None:
    made = serials(first=FIVE)
    made.extend(piece((A, 1, 2), (B, 1, 3)))
    assert made.advance() == []
    made.on_status(B, holds(5))
    assert made.advance() == []
    made.on_status(D, holds(3))
    assert made.advance() == [(A, 1, 2), (B, 1, 1)]
    assert made.agreed == 3
    assert made.advance() == []
    made.on_status(C, holds(4))
    assert made.advance() == [(B, 2, 2)]


def test_others_may_know_of_a_majority_that_this_member_does_not_see() -> None:
    made = serials(E, FIVE)
    made.extend(piece((A, 1, 2)))
    made.on_status(A, holds(2, agreed=9))
    assert made.advance() == [(A, 1, 2)]
    assert made.agreed == 2  # what is not here cannot be passed on


def test_a_member_alone_agrees_with_itself() -> None:
    made = serials(first=view(A))
    made.extend(piece((A, 1, 1)))
    assert made.advance() == [(A, 1, 1)]


statuses = st.tuples(st.sampled_from([B, C, D, E]), st.integers(0, 8))


@given(st.lists(st.one_of(statuses, st.integers(0, 8)), max_size=20))
def test_never_before_a_majority(script: list[tuple[Process, int] | int]) -> None:
    whole = OrderLog(0, dict.fromkeys(FIVE.members, 0))
    for number in range(1, 5):
        whole.append(A, number)
        whole.append(B, number)
    made, held, passed = serials(first=FIVE), dict.fromkeys(FIVE.members, 0), 0
    for step in script:
        if isinstance(step, int):
            made.extend(whole.piece(1, step, 2))
            held[A] = made.log.end
        else:
            peer, number = step
            held[peer] = max(held[peer], number)
            made.on_status(peer, holds(number))
        passed += sum(last - first + 1 for _, first, last in made.advance())
        assert sorted(held.values())[2] >= passed  # three of five have it
        assert made.agreed == passed


def test_what_a_stranger_or_an_order_of_another_view_says_counts_for_nothing() -> None:
    made = serials()
    assert not made.extend(piece((A, 1, 1), number=2))
    assert not made.extend(piece(("x#1", 1, 1)))
    made.extend(piece((A, 1, 1)))
    made.on_status("x#1", holds(1))
    assert made.advance() == []


# how it spreads


def test_a_peer_is_put_what_it_says_to_lack() -> None:
    made = serials()
    made.extend(piece((A, 1, 2), (B, 1, 1)))
    assert made.put_to(B) == piece((A, 1, 2), (B, 1, 1))
    made.on_status(B, holds(2))
    assert made.put_to(B) == piece((B, 1, 1), after=2)
    made.on_status(B, holds(3))
    assert made.put_to(B) is None
    assert made.put_to("x#1") is None


def test_a_piece_has_a_bound() -> None:
    made = serials()
    whole = OrderLog(0, {A: 0, B: 0})
    for number in range(1, PIECE_SPANS + 5):
        whole.append(A, number)
    made.extend(whole.piece(1, 0, limits.ORDERS_MAX))
    first = made.put_to(B)
    assert first is not None
    assert len(first.spans) == PIECE_SPANS


def test_what_all_hold_is_kept_no_longer_than_it_is_passed_on() -> None:
    made = serials()
    made.extend(piece((A, 1, 1), (B, 1, 1), (C, 1, 1)))
    made.advance()
    assert made.fetched(1, 0) == piece((A, 1, 1), (B, 1, 1), (C, 1, 1))
    made.on_status(B, holds(3))
    made.on_status(C, holds(2))
    made.advance()
    assert made.fetched(1, 0) is None
    assert made.fetched(1, 2) == piece((C, 1, 1), after=2)


# the end of a view


def test_after_a_promise_nothing_is_held_ordered_asked_or_agreed_that_was_not_before() -> None:
    made = serials(at_registry=False)
    made.extend(piece((A, 1, 2)))
    made.wedge()
    assert not made.extend(piece((B, 1, 1), after=2))
    assert not made.sequence(A, 3)
    made.on_status(B, holds(2))
    assert made.advance() == []
    assert made.put_to(B) is None
    assert made.due(9, 10**6) == []
    assert made.held == 2


def test_only_the_rest_of_the_cut_is_taken_and_promised_to_nobody() -> None:
    made = serials()
    made.extend(piece((A, 1, 1)))
    made.wedge()
    assert made.missing(4) == (2, 4)
    assert made.extend(piece((A, 1, 1), (B, 1, 5)))
    assert made.log.between(0, 99) == [(A, 1, 1), (B, 1, 3)]
    assert made.missing(4) is None
    assert made.held == 1
    assert not made.extend(piece((B, 4, 5), after=4))


def test_what_came_with_the_cut_is_agreed_only_by_the_install() -> None:
    made = serials()
    made.extend(piece((A, 1, 1)))
    made.on_status(B, holds(3))
    assert made.advance() == [(A, 1, 1)]
    made.wedge()
    made.missing(3)
    made.extend(piece((B, 1, 2), after=1))
    assert made.advance() == []  # two hold it now, and one of them promised when it did not


def test_a_promise_to_a_higher_ballot_shuts_what_the_last_cut_had_opened() -> None:
    made = serials()
    made.wedge()
    made.missing(4)
    made.wedge()
    assert not made.extend(piece((A, 1, 4)))


def test_the_view_ends_with_the_log_and_then_the_rest_by_rank() -> None:
    made = serials(serial=10)
    made.extend(piece((B, 1, 2), (A, 1, 1), after=10))
    made.on_status(B, holds(11))
    assert made.advance() == [(B, 1, 1)]
    ending = decision(FIRST, A, B, cut=cut(a=3, b=2, c=1, order=13))
    assert made.serial_after(ending) == 16
    assert made.close(ending) == [(B, 2, 2), (A, 1, 1), (A, 2, 3), (C, 1, 1)]


def test_what_the_cut_leaves_out_of_the_log_is_ordered_by_rank_like_the_rest() -> None:
    made = serials()
    made.extend(piece((C, 1, 1), (B, 1, 2)))
    ending = decision(FIRST, A, B, cut=cut(a=1, b=2, c=1, order=2))
    assert made.serial_after(ending) == 4
    assert made.close(ending) == [(C, 1, 1), (B, 1, 1), (A, 1, 1), (B, 2, 2)]


def test_the_log_may_have_more_of_a_sender_than_anybody_holds() -> None:
    made = serials()
    made.extend(piece((C, 1, 5), (A, 1, 1)))
    ending = decision(FIRST, A, B, cut=cut(a=1, b=0, c=2, order=6))
    assert made.serial_after(ending) == 6
    assert made.close(ending) == [(C, 1, 5), (A, 1, 1)]


def test_a_cut_that_leaves_out_what_was_passed_on_is_not_ours() -> None:
    made = serials()
    made.extend(piece((A, 1, 2)))
    made.on_status(B, holds(2))
    made.advance()
    assert made.within(2)
    assert not made.within(1)


@st.composite
def endings(draw: st.DrawFn) -> tuple[list[OrderAgreement], Decision]:
    """Three members that hold as much of one log as they like, and the union of what they say."""
    whole = OrderLog(5, dict.fromkeys(FIRST.members, 0))
    for who, count in draw(st.lists(st.tuples(st.sampled_from(FIRST.members), st.integers(1, 3)), max_size=8)):
        whole.append(who, whole.ordered[who] + count)
    members = []
    for who in FIRST.members:
        made = serials(who, serial=5)
        made.extend(whole.piece(1, 5, draw(st.integers(0, 8))))
        members.append(made)
    for made in members:
        for other in members:
            if other is not made and draw(st.booleans()):
                made.on_status(other.process, holds(other.log.end))
        made.advance()
        made.wedge()
    ends = {who: draw(st.integers(0, 12)) for who in FIRST.members}
    end = max(made.log.end for made in members)
    return members, decision(FIRST, A, B, C, cut={**ends, ORDER: end})


@given(endings())
def test_all_end_a_view_with_the_same_serials(drawn: tuple[list[OrderAgreement], Decision]) -> None:
    members, ending = drawn
    lines = []
    for made in members:
        assert made.within(ending.cut[ORDER])
        before = made.agreed
        if made.missing(ending.cut[ORDER]):
            for other in members:
                found = other.fetched(1, made.log.end)
                made.extend(found) if found else None
        assert made.missing(ending.cut[ORDER]) is None
        rest = [(who, n) for who, first, last in made.close(ending) for n in range(first, last + 1)]
        assert made.serial_after(ending) == before + len(rest)
        lines.append({before + 1 + place: message for place, message in enumerate(rest)})
    longest = max(lines, key=len)
    assert all(line.items() <= longest.items() for line in lines)
    for who in FIRST.members:  # and each of the cut has exactly one
        numbers = [n for one, n in longest.values() if one == who]
        assert numbers == sorted(set(numbers))


def test_the_next_view_goes_on_where_the_last_one_ended() -> None:
    made = serials()
    made.extend(piece((A, 1, 2)))
    ending = decision(FIRST, A, B, cut=cut(a=2, b=1, order=2), at_registry=False)
    made.close(ending)
    made.install(ending, 3)
    assert (made.log.end, made.agreed, made.held, made.wedged) == (3, 3, 3, False)
    assert made.sequence(B, 2)
    assert made.log.between(3, 9) == [(B, 2, 2)]


def test_the_last_views_order_is_served_until_all_have_installed() -> None:
    made = serials()
    made.extend(piece((A, 1, 2)))
    ending = decision(FIRST, A, B, cut=cut(a=2, order=2))
    made.close(ending)
    made.install(ending, 2)
    assert made.fetched(1, 0) == piece((A, 1, 2))
    made.release_previous()
    assert made.fetched(1, 0) is None
    assert made.fetched(5, 0) is None


def test_a_sequencer_and_three_members_agree_on_one_line() -> None:
    registry = Sequencer()
    members = {who: serials(who) for who in FIRST.members}
    for now_ms in range(0, 100, 20):
        for number, (who, made) in enumerate(members.items(), now_ms // 20):
            for request in made.due(number, now_ms):
                orders = made.on_answer(request, registry.ask(request), now_ms)
                if orders:
                    made.extend(orders)
            for peer in FIRST.members:
                if peer != who and (put := made.put_to(peer)):
                    members[peer].extend(put)
                    made.on_status(peer, holds(members[peer].held))
    logs = {tuple(made.log.between(0, made.log.end)) for made in members.values()}
    assert len(logs) == 1
    assert all(made.log.end > 5 for made in members.values())
