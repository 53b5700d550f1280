"""Who is suspected: evidence, redial, own lag, promises, and votes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcom.core.detector import Detector, is_quorum
from gcom.values import limits
from gcom.values.names import Process
from tests.core.making import A, B, C, D, E, view

START = 1_000


def detector(*members: Process) -> Detector:
    """A's, ticked regularly until START."""
    watching = Detector(A)
    watching.install(view(*members), START)
    watching.tick(START)
    return watching


def run_until(watching: Detector, end_ms: int, heard: tuple[Process, ...] = ()) -> list[tuple[int, Process]]:
    """Tick as a driver does; who became suspected, and when."""
    found: list[tuple[int, Process]] = []
    for now_ms in range(START + 100, end_ms + 1, 100):
        for peer in heard:
            watching.heard(peer, now_ms, ())
        found += [(now_ms, peer) for peer in watching.tick(now_ms)]
    return found


def test_one_refused_connection_is_redialled_and_the_second_counts() -> None:
    watching = detector(A, B)
    assert not watching.failed(B, refused=True)
    assert watching.failed(B, refused=True)
    assert watching.suspects == {B: "refused"}
    assert not watching.failed(B, refused=True)  # no news


def test_an_answer_between_two_refusals_begins_anew() -> None:
    watching = detector(A, B)
    watching.failed(B, refused=True)
    watching.heard(B, START, ())
    assert not watching.failed(B, refused=True)


def test_a_call_that_breaks_or_times_out_is_no_evidence() -> None:
    watching = detector(A, B)
    assert not any(watching.failed(B, refused=False) for _ in range(9))


def test_silence_makes_suspected_once_and_not_before_its_time() -> None:
    watching = detector(A, B, C)
    assert run_until(watching, START + 3 * limits.SILENCE_MS, heard=(C,)) == [(START + limits.SILENCE_MS, B)]
    assert watching.suspects == {B: "silence"}


def test_who_is_heard_again_is_not_suspected_any_more() -> None:
    watching = detector(A, B, C)
    watching.suspect(B, "silence")
    watching.heard(B, START, ())
    assert watching.suspects == {}


def test_a_suspicion_stays_once_this_process_has_promised() -> None:
    watching = detector(A, B, C)
    watching.sticky = True
    watching.suspect(B, "silence")
    watching.heard(B, START, ())
    assert watching.suspects == {B: "silence"}
    watching.install(view(A, B, C, number=2), START)  # b got in all the same: from now on it may be heard again
    assert watching.suspects == {B: "silence"}
    watching.heard(B, START, ())
    assert watching.suspects == {}


def test_a_suspicion_yields_even_then_if_too_few_for_a_quorum_are_left() -> None:
    watching = detector(A, B, C)
    watching.sticky = True
    watching.suspect(C, "refused")
    watching.suspect(B, "silence")
    watching.heard(B, START, ())
    assert watching.suspects == {C: "refused"}
    watching.suspect(B, "silence")
    watching.heard(B, START, ())
    watching.heard(C, START, ())
    assert watching.suspects == {C: "refused"}  # with b there are enough


def test_a_pause_of_this_process_counts_against_nobody() -> None:
    watching = detector(A, B, C)
    pause = 10 * limits.SILENCE_MS
    assert watching.tick(START + pause) == []
    assert watching.has_quorum(START + pause)
    watching.heard(C, START + pause + 100, ())
    assert watching.tick(START + pause + limits.HEARTBEAT_MS) == []


@given(st.lists(st.integers(1, 5_000), min_size=1, max_size=20))
def test_only_time_in_which_this_process_ran_makes_silence(steps: list[int]) -> None:
    watching, now_ms, ran_ms = detector(A, B), START, 0
    for step in steps:
        now_ms += step
        ran_ms += step if step <= limits.HEARTBEAT_MS + limits.LAG_MS else limits.HEARTBEAT_MS
        assert bool(watching.tick(now_ms)) <= (ran_ms >= limits.SILENCE_MS)


def test_one_that_is_silent_long_after_the_pause_is_suspected_all_the_same() -> None:
    watching = detector(A, B, C)
    watching.tick(START + 60_000)
    now = START + 60_000
    found: list[Process] = []
    while not found and now < START + 70_000:
        now += 100
        watching.heard(C, now, ())
        found = watching.tick(now)
    assert found == [B]
    assert now <= START + 60_000 + limits.SILENCE_MS


@pytest.mark.parametrize(
    ("members", "present", "enough"),
    [
        ((A,), (A,), True),
        ((A, B), (A,), True),  # half, with the leader
        ((A, B), (B,), False),
        ((A, B, C), (A,), False),
        ((A, B, C), (B, C), True),
        ((A, B, C, D), (A, D), True),
        ((A, B, C, D), (C, D), False),
        ((A, B, C, D), (B, C, D), True),
        ((A, B, C, D, E), (A, B), False),
        ((A, B, C), ("x#1", "y#1", A), False),
    ],
)
def test_a_quorum_is_a_majority_or_the_half_with_the_leader(
    members: tuple[Process, ...], present: tuple[Process, ...], enough: bool
) -> None:
    assert is_quorum(view(*members), set(present)) is enough


@given(st.integers(1, 7), st.data())
def test_two_quorums_always_meet(size: int, data: st.DataObject) -> None:
    group = view(*[f"m{index}#1" for index in range(size)])
    one = data.draw(st.sets(st.sampled_from(group.members)))
    other = data.draw(st.sets(st.sampled_from(group.members)))
    if is_quorum(group, one) and is_quorum(group, other):
        assert one & other


def test_a_quorum_of_accusers_is_counted_with_ones_own_voice() -> None:
    watching = detector(A, B, C, D, E)
    watching.heard(B, START, (E,))
    watching.heard(C, START, (E,))
    assert not watching.by_quorum(E)
    watching.suspect(E, "silence")
    assert watching.by_quorum(E)
    watching.heard(C, START, ())  # it has taken its suspicion back
    assert not watching.by_quorum(E)


def test_contact_is_lost_when_too_few_for_a_quorum_are_heard() -> None:
    watching = detector(A, B, C)
    run_until(watching, START + limits.DETACH_MS - 100)
    assert watching.has_quorum(START + limits.DETACH_MS - 100)
    assert not watching.has_quorum(START + limits.DETACH_MS)
    watching.heard(B, START + limits.DETACH_MS, ())
    assert watching.has_quorum(START + limits.DETACH_MS)


def test_a_stranger_is_nobody_to_suspect() -> None:
    watching = detector(A, B)
    watching.heard("x#1", START, (B,))
    assert not watching.failed("x#1", refused=True)
    assert not watching.suspect("x#1", "silence")
    assert (watching.suspected("x#1"), watching.suspects) == (False, {})
