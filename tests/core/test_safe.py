"""SAFE delivery: nothing goes up before a majority of the view holds it, at its own sender neither."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given

from gcom.core.messages.frames import Status
from gcom.core.multicast.safe import Safe
from gcom.core.quorum import is_quorum
from gcom.values import limits
from gcom.values.definition import Definition, Ordering
from gcom.values.names import Process
from gcom.values.view import View
from tests.core.making import A, B, C, D, E, numbers, run, view
from tests.core.three import FIRST, WINDOW, Schedule, Three, of, play, schedules

FIVE = view(A, B, C, D, E)


@pytest.fixture(scope="module", autouse=True)
def _small_window() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limits, "WINDOW_MESSAGES_MAX", WINDOW)
        yield


@pytest.mark.parametrize("ordering", list(Ordering))
def test_what_went_up_somewhere_is_held_by_a_majority(ordering: Ordering) -> None:
    @given(schedules)
    def check(schedule: Schedule) -> None:
        three = Three(Definition("g", ordering, safe=True))
        for _ in play(three, schedule):
            for sender in FIRST.members:
                most = max(max(of(sender, seen.delivered), default=0) for seen in three.seen.values())
                held = {who: streams.multicast.holdings()[sender] for who, streams in three.streams.items()}
                assert is_quorum(FIRST, {who for who, number in held.items() if number >= most})
        three.heal()
        for seen in three.seen.values():
            for sender in FIRST.members:
                assert sorted(of(sender, seen.delivered)) == list(range(1, three.sent[sender] + 1))

    check()


def safe(process: Process = A, first: View = FIVE) -> Safe:
    made = Safe(process)
    made.install(first, {})
    for peer in first.members:
        if peer != process:
            made.on_status(peer, Status(first.number))
    return made


def test_a_sender_waits_for_two_of_four_others() -> None:
    made = safe()
    assert made.submit(run(A, 1, 2)) == []
    assert made.submit(run(A, 3, 1)) == []
    made.on_status(B, Status(1, held=3))
    assert (made.release_safe(), made.safe) == ([], 0)
    made.on_status(D, Status(1, held=2))
    assert (numbers(made.release_safe()), made.safe) == ([1, 2], 2)
    made.on_status(E, Status(1, held=3))
    assert numbers(made.release_safe()) == [3]
    assert made.release_safe() == []


def test_a_receiver_waits_for_the_senders_word() -> None:
    made = safe()
    assert made.receive(run(B, 1, 2), 0) == []
    assert made.receive(run(B, 3, 1), 0) == []
    made.on_status(B, Status(1, safe=2))
    assert numbers(made.release_safe()) == [1, 2]
    made.on_status(B, Status(1, safe=9))
    assert numbers(made.release_safe()) == [3]
    assert numbers(made.receive(run(B, 4, 1), 0)) == [4]  # the sender has said so before


def test_what_is_safe_before_it_is_here_waits_for_itself_only() -> None:
    made = safe()
    made.on_status(B, Status(1, safe=2))
    assert made.release_safe() == []
    assert numbers(made.receive(run(B, 1, 2), 0)) == [1, 2]


def test_half_a_run_that_is_safe_does_not_go_up() -> None:
    made = safe()
    made.receive(run(B, 1, 4), 0)
    made.on_status(B, Status(1, safe=3))
    assert made.release_safe() == []


@pytest.mark.parametrize(
    ("first", "process", "sender", "waits"),
    [
        (view(A, B), B, A, False),  # the two are all
        (view(A, B), A, B, False),
        (view(A, B, C), C, B, False),  # two of three
        (view(A, B, C, D), A, B, True),  # half of four, be it with the leader
        (view(A, B, C, D), B, C, True),
        (FIVE, B, A, True),
    ],
)
def test_where_sender_and_receiver_are_a_majority_the_receiver_knows_by_itself(
    first: View, process: Process, sender: Process, waits: bool
) -> None:
    made = safe(process, first)
    assert (made.receive(run(sender, 1, 1), 0) == []) == waits


def test_one_of_two_is_no_majority_be_it_the_leader() -> None:
    assert safe(A, view(A, B)).submit(run(A, 1, 1)) == []
    assert safe(B, view(A, B)).submit(run(B, 1, 1)) == []
    assert numbers(safe(A, view(A)).submit(run(A, 1, 1))) == [1]


def test_an_ack_is_made_by_the_step_that_stored_and_not_by_one_that_waits() -> None:
    made = safe()
    made.receive(run(B, 1, 2), 0)
    assert made.held(B) == 2  # stored, though not delivered
    made.receive(run(B, 5, 1), 0)
    assert made.held(B) == 2


def test_after_a_promise_nothing_becomes_safe_and_the_cut_delivers_it() -> None:
    made = safe(first=view(A, B, C))
    made.submit(run(A, 1, 2))
    made.receive(run(B, 1, 1), 0)
    made.wedge()
    made.on_status(B, Status(1, held=2, safe=1))
    assert made.release_safe() == []
    cut = {A: 2, B: 2, C: 0}
    made.missing(cut, 0)
    assert made.receive(run(B, 2, 1), 0) == []
    runs, lost = made.close(cut)
    assert lost == []
    assert [(each.sender, each.first) for each in runs] == [(A, 1), (B, 2)]


def test_what_waits_to_be_safe_is_kept_though_all_hold_it() -> None:
    made = safe(B, view(A, B, C, D, E))
    made.receive(run(A, 1, 2), 0)
    made.on_status(A, Status(1, stable=2))
    assert numbers(made.fetched(1, A, 0, 0, 10**6).runs) == [1, 2]
    made.on_status(A, Status(1, stable=2, safe=2))
    assert numbers(made.release_safe()) == [1, 2]


def test_the_next_view_counts_anew() -> None:
    made = safe(first=view(A, B, C))
    made.submit(run(A, 1, 2))
    made.on_status(B, Status(1, held=2))
    assert numbers(made.release_safe()) == [1, 2]
    made.close({A: 2, B: 0, C: 0})
    made.install(view(A, B, C, D, E, number=2), {A: 2, B: 0, C: 0})
    assert made.submit(run(A, 3, 1, view=2)) == []
    made.on_status(B, Status(1, held=3))  # of the last view
    assert made.release_safe() == []
    for peer in (B, E):
        made.on_status(peer, Status(2, held=3))
    assert numbers(made.release_safe()) == [3]
