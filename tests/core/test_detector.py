"""Suspicions: evidence, redial, own lag, promises, and votes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcom.core.detector.suspicion import CUT_OFF, Detector
from gcom.core.membership.triggers import Triggers
from gcom.core.messages.frames import Decision
from gcom.core.quorum import is_quorum
from gcom.values import limits
from gcom.values.definition import Definition, TieBreaker
from gcom.values.names import Process
from tests.core.making import A, B, C, D, E, view

START = 1_000


def detector(*members: Process) -> Detector:
    """A's, ticked regularly until START."""
    watching = Detector(A)
    watching.install(view(*members), START)
    watching.tick(START)
    return watching


def suspected(watching: Detector, now_ms: int) -> list[Process]:
    """Return the processes that a tick makes suspected."""
    return watching.tick(now_ms)[0]


def run_until(watching: Detector, end_ms: int, heard: tuple[Process, ...] = ()) -> list[tuple[int, Process]]:
    """Tick as a driver does; who became suspected, and when."""
    found: list[tuple[int, Process]] = []
    for now_ms in range(START + 100, end_ms + 1, 100):
        for peer in heard:
            watching.heard(peer, now_ms, ())
        found += [(now_ms, peer) for peer in suspected(watching, now_ms)]
    return found


def test_one_refused_connection_is_redialled_and_the_second_counts() -> None:
    watching = detector(A, B)
    assert not watching.failed(B, refused=True, now_ms=START)
    assert watching.failed(B, refused=True, now_ms=START)
    assert watching.suspects == {B: "refused"}
    assert not watching.failed(B, refused=True, now_ms=START)  # no news


def test_an_answer_between_two_refusals_begins_anew() -> None:
    watching = detector(A, B)
    watching.failed(B, refused=True, now_ms=START)
    watching.heard(B, START, ())
    assert not watching.failed(B, refused=True, now_ms=START)


def test_a_call_that_breaks_or_times_out_is_no_evidence() -> None:
    watching = detector(A, B)
    assert not any(watching.failed(B, refused=False, now_ms=START) for _ in range(9))


def test_who_is_heard_and_answers_no_call_for_long_is_cut_off_until_it_answers() -> None:
    watching = detector(A, B, C)
    for now_ms in range(START, START + limits.SILENCE_MAX_MS, 100):
        watching.heard(B, now_ms, ())
        watching.heard(C, now_ms, ())
        watching.failed(B, refused=False, now_ms=now_ms)
        assert suspected(watching, now_ms) == []
    assert suspected(watching, START + limits.SILENCE_MAX_MS) == [B]
    assert watching.suspects == {B: CUT_OFF}
    watching.heard(B, START + limits.SILENCE_MAX_MS + 100, ())
    assert watching.suspects == {B: CUT_OFF}
    watching.answered(B)
    watching.heard(B, START + limits.SILENCE_MAX_MS + 200, ())
    assert watching.suspects == {}


def test_calls_to_one_that_is_silent_too_or_that_it_answers_now_and_then_say_nothing_of_the_link() -> None:
    watching = detector(A, B, C)
    for now_ms in range(START, START + 3 * limits.SILENCE_MAX_MS, 500):
        watching.failed(B, refused=False, now_ms=now_ms)
        watching.failed(C, refused=False, now_ms=now_ms)
        watching.heard(C, now_ms, ())
        if now_ms % 3_000 == 0:
            watching.answered(C)
        suspected(watching, now_ms)
    assert watching.suspects == {B: "silence"}


def test_silence_makes_suspected_once_and_not_before_its_time() -> None:
    watching = detector(A, B, C)
    assert run_until(watching, START + 3 * limits.SILENCE_MS, heard=(C,)) == [
        (START + limits.SILENCE_MS + limits.PROBE_MS, B)  # c was asked, and said nothing
    ]
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
    assert suspected(watching, START + pause) == []
    assert watching.heard_quorum(START + pause)
    watching.heard(C, START + pause + 100, ())
    assert suspected(watching, START + pause + limits.HEARTBEAT_MS) == []


@given(st.lists(st.integers(1, 5_000), min_size=1, max_size=20))
def test_only_time_in_which_this_process_ran_makes_silence(steps: list[int]) -> None:
    watching, now_ms, ran_ms = detector(A, B), START, 0
    for step in steps:
        now_ms += step
        ran_ms += step if step <= limits.HEARTBEAT_MS + limits.LAG_MS else limits.HEARTBEAT_MS
        assert bool(suspected(watching, now_ms)) <= (ran_ms >= limits.SILENCE_MS)


def test_one_that_is_silent_long_after_the_pause_is_suspected_all_the_same() -> None:
    watching = detector(A, B, C)
    watching.tick(START + 60_000)
    now = START + 60_000
    found: list[Process] = []
    while not found and now < START + 70_000:
        now += 100
        watching.heard(C, now, ())
        found = suspected(watching, now)
    assert found == [B]
    assert now <= START + 60_000 + limits.SILENCE_MAX_MS


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
    assert watching.heard_quorum(START + limits.DETACH_MS - 100)
    assert not watching.heard_quorum(START + limits.DETACH_MS)
    watching.heard(B, START + limits.DETACH_MS, ())
    assert watching.heard_quorum(START + limits.DETACH_MS)


def test_a_stranger_is_nobody_to_suspect() -> None:
    watching = detector(A, B)
    watching.heard("x#1", START, (B,))
    assert not watching.failed("x#1", refused=True, now_ms=START)
    assert not watching.suspect("x#1", "silence")
    assert (watching.suspected("x#1"), watching.suspects) == (False, {})


def test_half_of_the_view_has_more_time_where_the_registry_may_vote_with_it() -> None:
    led_by_other, with_registry = detector(B, A, C, D), Detector(A, TieBreaker.REGISTRY)
    with_registry.install(view(A, B, C, D), START)
    for watching in (led_by_other, with_registry):
        run_until(watching, START + limits.TIE_MS, heard=(C,))
        assert not watching.heard_quorum(START + limits.DETACH_MS)
    assert not led_by_other.heard_quorum(START + limits.DETACH_MS, patient=True)
    assert with_registry.heard_quorum(START + limits.TIE_MS - 1, patient=True)
    assert not with_registry.heard_quorum(START + limits.TIE_MS, patient=True)


# who does not hear whom


def test_who_is_missed_is_told_until_it_is_heard_be_it_suspected_or_not() -> None:
    watching = detector(A, B, C)
    assert watching.unheard(START) == {}
    watching.suspect(B, "silence")
    assert watching.unheard(START) == {0: 0b10}
    watching.sticky = True
    watching.heard(B, START, ())
    assert (watching.suspects, watching.unheard(START)) == ({B: "silence"}, {})
    run_until(watching, START + 2 * limits.SILENCE_MAX_MS, heard=(C,))
    assert watching.unheard(START) == {0: 0b10}  # its link failed again


def test_who_is_stuck_is_missed_until_it_has_caught_up() -> None:
    watching = detector(A, B, C)
    watching.sticky = True
    watching.suspect(B, "stuck")
    watching.heard(B, START, ())
    assert watching.unheard(START) == {0: 0b10}
    watching.caught_up(B)
    assert (watching.suspects, watching.unheard(START)) == ({B: "stuck"}, {})


def test_what_others_miss_is_passed_on_by_who_hears_both_and_once() -> None:
    watching = detector(A, B, C, D, E)
    for peer in (B, C):
        watching.heard(peer, START, ())
    told = {1: 0b10101, 2: 0b01000}  # b misses a, c and e, and knows that c misses d
    watching.heard(B, START, (), told)
    later_ms = START + 3 * limits.HEARTBEAT_MS
    for peer in (B, C):
        watching.heard(peer, later_ms, (), told if peer == B else {})
    assert watching.unheard(later_ms) == {1: 0b101}  # e is not heard, and of c it was b that spoke
    assert watching.contradicted(later_ms) == {1: 0b101, 2: 0b1000}


def test_whom_a_quorum_suspects_is_in_no_conflict() -> None:
    watching = detector(A, B, C, D, E)
    for rank, peer in ((1, B), (2, C), (3, D)):
        watching.heard(peer, START, (E,), {rank: 0b10000} | {1: 0b11000})
    watching.heard(E, START, (), {4: 0b1})
    assert watching.contradicted(START) == {1: 0b1000}


# forks


def test_alone_is_who_has_no_quorum_left_and_no_doubt_about_the_others() -> None:
    watching = detector(A, B, C)
    watching.gone(B, "gone")
    assert not watching.alone  # A and C are a quorum
    watching.suspect(C, "silence")
    assert not watching.alone  # silence is no proof
    watching.gone(C, "gone")
    assert watching.alone
    assert watching.suspects == {B: "gone", C: "silence"}  # what made it suspected first
    watching.heard(C, START, ())
    assert not watching.alone


def test_the_leader_of_two_goes_on_without_a_fork() -> None:
    watching = detector(A, B)
    watching.gone(B, "gone")
    assert not watching.alone


# what is usual, and what others hear


def regular(watching: Detector, gap_ms: int, peers: tuple[Process, ...] = (B, C), for_ms: int = 20_000) -> int:
    """Hear the peers so often for a while, and tick meanwhile; returns the time then."""
    now_ms = START
    while now_ms < START + for_ms:
        now_ms += 50
        if (now_ms - START) % gap_ms < 50:
            for peer in peers:
                watching.heard(peer, now_ms, ())
        assert suspected(watching, now_ms) == []
    for peer in peers:
        watching.heard(peer, now_ms, ())
    return now_ms


def silence_of(watching: Detector, now_ms: int, acknowledged: bool = False) -> int:
    """After how long B is suspected, while C is heard; `acknowledged`: and says that it hears B."""
    began_ms = now_ms
    while True:
        now_ms += 50
        watching.heard(C, now_ms, ())
        found, asked = watching.tick(now_ms)
        if acknowledged and C in asked:
            watching.on_indirect_ack(asked[C], now_ms + 10)
        if found:
            assert found == [B]
            return now_ms - began_ms


@pytest.mark.parametrize("gap_ms", [50, limits.HEARTBEAT_MS])
def test_a_regular_peer_is_given_the_least_time(gap_ms: int) -> None:
    watching = detector(A, B, C)
    now_ms = regular(watching, gap_ms)
    assert silence_of(watching, now_ms) == limits.SILENCE_MIN_MS + limits.PROBE_MS


def test_one_that_has_long_gaps_now_and_then_is_given_more_but_not_for_ever() -> None:
    watching = detector(A, B, C)
    now_ms = regular(watching, 50)
    for _ in range(4):  # a busy link, that hangs for a second each time
        for _ in range(20):
            now_ms += 50
            watching.heard(B, now_ms, ())
            watching.heard(C, now_ms, ())
            watching.tick(now_ms)
        for _ in range(20):
            now_ms += 50
            watching.heard(C, now_ms, ())
            assert suspected(watching, now_ms) == []
        watching.heard(B, now_ms, ())
    usual_ms = limits.SILENCE_MIN_MS + limits.PROBE_MS  # what a regular peer is given
    assert usual_ms < silence_of(watching, now_ms) <= limits.SILENCE_MAX_MS


def test_nobody_is_given_more_than_the_most() -> None:
    watching = detector(A, B)
    watching.heard(B, START + 60_000, ())
    now_ms = START + 60_000
    watching.tick(now_ms)
    found: list[Process] = []
    while not found:
        now_ms += 100
        found = suspected(watching, now_ms)
    assert now_ms - START - 60_000 == limits.SILENCE_MAX_MS


def test_a_process_that_runs_late_itself_is_slower_to_suspect() -> None:
    watching = detector(A, B)
    now_ms = START
    step_ms = limits.HEARTBEAT_MS // 2 + 275  # 275 ms late each time, too little to call it a pause
    for _ in range(40):
        now_ms += step_ms
        watching.heard(B, now_ms, ())
        watching.tick(now_ms)
    began_ms = now_ms
    while not suspected(watching, now_ms):
        now_ms += step_ms
    assert now_ms - began_ms >= limits.SILENCE_MIN_MS + 2 * 275


def test_who_is_acknowledged_indirectly_is_not_suspected_until_the_most() -> None:
    watching = detector(A, B, C)
    now_ms = regular(watching, limits.HEARTBEAT_MS)
    assert silence_of(watching, now_ms, acknowledged=True) == limits.SILENCE_MAX_MS


def test_a_few_who_are_heard_well_are_asked_the_next_in_rank_first() -> None:
    watching = Detector(C)
    watching.install(view(A, B, C, D, E, "f#1", "g#1"), START)
    now_ms = regular(watching, limits.HEARTBEAT_MS, (A, B, D, E, "f#1", "g#1"))
    for _ in range(40):
        now_ms += 50
        for peer in (A, B, E, "g#1"):
            watching.heard(peer, now_ms, ())
        found, asked = watching.tick(now_ms)
        assert found == []
        if asked:
            break
    assert asked == dict.fromkeys((E, "g#1", A), (D, "f#1"))


def test_a_member_hears_whom_it_hears_and_for_nobody_else() -> None:
    watching = detector(A, B, C, D)
    now_ms = regular(watching, limits.HEARTBEAT_MS, (B, C, D))
    watching.suspect(C, "refused")
    assert watching.indirect_ack((B, C, D, "x#1", A), now_ms) == (B, D)
    assert watching.indirect_ack((B,), now_ms + 3 * limits.HEARTBEAT_MS) == ()


# proof


def test_what_a_refused_port_an_unknown_process_or_silence_says_is_no_proof() -> None:
    watching = detector(A, B, C, D)
    for _ in range(2):
        watching.failed(B, refused=True, now_ms=START)
    watching.gone(C, "gone")
    run_until(watching, START + limits.SILENCE_MAX_MS + 1_000)
    assert set(watching.suspects) == {B, C, D}
    assert watching.dead == {}


def test_a_late_call_of_a_dead_process_changes_nothing() -> None:
    """1. B's call is on its way. 2. B is killed, and its kernel says so. 3. The call comes."""
    watching = detector(A, B, C)
    assert watching.proven(B, "dead")
    watching.heard(B, START + 10, ())
    watching.answered(B)
    watching.caught_up(B)
    assert watching.suspects == watching.dead == {B: "dead"}
    assert watching.indirect_ack((B,), START + 10) == ()
    watching.heard(C, START + 10, ())
    watching.proven(C, "ended")
    assert not watching.heard_quorum(START + 20)  # though all were heard just now


def test_a_proof_of_one_that_is_suspected_is_no_news_and_stays_with_the_next_view() -> None:
    watching = detector(A, B, C)
    watching.suspect(B, "silence")
    assert not watching.proven(B, "dead")
    assert not watching.proven(B, "ended")
    watching.sticky = True
    watching.heard(B, START + 10, ())
    watching.install(view(A, B, C, number=2), START + 20)
    watching.heard(B, START + 30, ())
    assert watching.suspects == {B: "silence"}
    assert watching.dead == {B: "dead"}
    assert not watching.proven(D, "dead")  # no member
    assert watching.dead == {B: "dead"}


@pytest.mark.parametrize(
    ("dead", "netsplit", "survivors"),
    [
        ((), "PRIMARY", None),
        ((B,), "PRIMARY", None),
        ((B, C), "PRIMARY", None),
        ((B, C, D), "PRIMARY", {A, E}),
        ((B, C, D, E), "PRIMARY", {A}),
        ((B, C, D), "PARTITIONABLE", None),
    ],
)
def test_only_where_no_quorum_can_be_again_those_who_are_left_succeed(
    dead: tuple[Process, ...], netsplit: str, survivors: set[Process] | None
) -> None:
    triggers = Triggers(A, Definition.parse("g", netsplit=netsplit), "i", view(A, B, C, D, E))
    triggers.install(Decision(view(A, B, C, D, E), (), {}, {}), START)
    for peer in (B, C, D, E):
        triggers.detector.suspect(peer, "silence")
    assert triggers.survivors is None
    for peer in dead:
        triggers.detector.proven(peer, "dead")
    assert triggers.survivors == survivors
    assert triggers.may_decide is (survivors == {A})  # the others are silent, and must agree


def test_what_a_peer_missed_in_the_view_that_is_left_names_nobody_in_the_next() -> None:
    """By rank: of three members it named the second and third of five."""
    watching = detector(A, B, C, D, E)
    watching.heard(B, START + 1, (), {1: 0b11100, 3: 0b10})
    assert watching.contradicted(START + 1)
    watching.install(view(A, B, E, number=2), START + 2)
    assert watching.contradicted(START + 2) == {}


def test_a_sign_of_life_in_another_group_counts_as_one_and_forgives_nothing() -> None:
    watching = detector(A, B, C)
    late_ms = START + limits.SILENCE_MAX_MS
    found: list[Process] = []
    for now_ms in range(START + 100, late_ms + 1, 100):
        assert watching.heard_in_another_group(B, now_ms)
        found += suspected(watching, now_ms)
    assert found == [C]
    assert not watching.heard_in_another_group(C, late_ms)
    assert watching.suspects == {C: "silence"}
    assert not watching.heard_in_another_group(D, late_ms)


def test_signs_of_life_in_another_group_count_while_the_peer_speaks_in_this_one() -> None:
    watching = detector(A, B)
    own_max_ms = limits.OWN_EXCHANGE_MS + 2 * limits.HEARTBEAT_MS
    found: list[tuple[int, Process]] = []
    for now_ms in range(START + 100, START + 2 * own_max_ms, 100):
        assert watching.heard_in_another_group(B, now_ms) == (now_ms <= START + own_max_ms)
        found += [(now_ms, peer) for peer in suspected(watching, now_ms)]
    silence_ms = found[0][0] - START - own_max_ms
    assert [peer for _, peer in found] == [B]
    assert silence_ms <= limits.SILENCE_MS + 100


def test_who_is_heard_in_another_group_and_answers_no_call_in_this_one_is_suspected() -> None:
    watching = detector(A, B)
    found: list[int] = []
    for now_ms in range(START + 100, START + 2 * limits.SILENCE_MAX_MS, 100):
        watching.heard_in_another_group(B, now_ms)
        watching.failed(B, refused=False, now_ms=now_ms)
        found += [now_ms - START for _ in suspected(watching, now_ms)]
    assert len(found) == 1
    assert found[0] <= limits.SILENCE_MAX_MS + 200


def test_a_sign_of_life_in_another_group_hides_no_failing_calls() -> None:
    watching = detector(A, B)
    watching.failed(B, refused=False, now_ms=START)
    assert not watching.heard_in_another_group(B, START + 100)
    watching.answered(B)
    assert watching.heard_in_another_group(B, START + 100)
    watching.failed(B, refused=True, now_ms=START + 100)
    assert not watching.heard_in_another_group(B, START + 200)
