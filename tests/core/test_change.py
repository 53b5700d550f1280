"""One member's part in a view change: its table of states and events, and the rules of ballots (Lamport 2001, §2.2)."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcom.core.membership.consensus import (
    HOLDERS_TOLD,
    TRANSITIONS,
    AskWitness,
    Consensus,
    ConsensusState,
    Out,
    Say,
    StartFlush,
    Wedge,
)
from gcom.core.messages.frames import NO_BALLOT, Ballot, Cut, CutOk, Decision, Nack, Prepare, Promise
from gcom.core.messages.witness import WitnessPromised
from gcom.values import limits
from gcom.values.names import Process
from tests.core.making import A, B, C, D, E, decision, view

VIEW = view(A, B, C, D, E)
HELD = {A: 1, B: 2}
VALUE = decision(VIEW, A, C, D, E, cut={A: 9, B: 2})
OTHER = decision(VIEW, A, B, C, D, cut={A: 1})
FROM_A: Ballot = (3, 0)
FROM_B: Ballot = (3, 1)  # higher: of equal attempts the younger rank wins
LATER: Ballot = (4, 0)


def member(state: ConsensusState = ConsensusState.NORMAL, who: Process = C) -> Consensus:
    """A member that stands in `state`, in the ballot of A, with VALUE if it has one."""
    change = Consensus(who)
    change.install(VIEW)
    if state is not ConsensusState.NORMAL:
        change.on_prepare(A, FROM_A, True, HELD)
    if state in (ConsensusState.CUTTING, ConsensusState.ACCEPTED):
        change.on_cut(A, cut())
    if state is ConsensusState.ACCEPTED:
        change.complete()
    assert change.state is state
    return change


def cut(ballot: Ballot = FROM_A, value: Decision = VALUE) -> Cut:
    return Cut(1, ballot, value, {})


def promise(ballot: Ballot, accepted: Decision | None = None, at: Ballot = NO_BALLOT) -> Promise:
    return Promise(1, ballot, HELD, at, accepted)


def promised(ballot: Ballot, accepted: Decision | None = None, at: Ballot = NO_BALLOT) -> list[Out]:
    return [Wedge(), Say(VIEW.members[ballot[1]], promise(ballot, accepted, at))]


N, P, K, Q = ConsensusState.NORMAL, ConsensusState.PROMISED, ConsensusState.CUTTING, ConsensusState.ACCEPTED
Event = Callable[[Consensus], list[Out]]
EVENTS: dict[str, Event] = {
    "lower prepare": lambda it: it.on_prepare(A, (1, 0), True, HELD),
    "equal prepare": lambda it: it.on_prepare(A, FROM_A, True, HELD),
    "higher prepare": lambda it: it.on_prepare(B, FROM_B, True, HELD),
    "forbidden prepare": lambda it: it.on_prepare(B, FROM_B, False, HELD),
    "prepare of another's ballot": lambda it: it.on_prepare(D, FROM_B, True, HELD),
    "cut of the ballot": lambda it: it.on_cut(A, cut()),
    "cut of the ballot by another": lambda it: it.on_cut(B, cut()),
    "lower cut": lambda it: it.on_cut(A, cut((1, 0))),
    "cut that was not promised": lambda it: it.on_cut(B, cut(FROM_B)),
}
FLUSH: list[Out] = [StartFlush(VALUE, {})]
REFUSED: list[Out] = [Say(A, Nack(1, FROM_A))]
AGAIN: list[Out] = [Say(A, CutOk(1, FROM_A))]
# (event, state before): state after, what is done. What is not listed changes and does nothing.
TABLE: dict[tuple[str, ConsensusState], tuple[ConsensusState, list[Out]]] = {
    ("lower prepare", N): (P, promised((1, 0))),
    ("lower prepare", P): (P, REFUSED),
    ("lower prepare", K): (K, REFUSED),
    ("lower prepare", Q): (Q, REFUSED),
    ("equal prepare", N): (P, promised(FROM_A)),
    ("equal prepare", P): (P, promised(FROM_A)),
    ("higher prepare", N): (P, promised(FROM_B)),
    ("higher prepare", P): (P, promised(FROM_B)),
    ("higher prepare", K): (P, promised(FROM_B)),
    ("higher prepare", Q): (P, promised(FROM_B, VALUE, FROM_A)),
    ("cut of the ballot", P): (K, FLUSH),
    ("cut of the ballot", K): (K, FLUSH),
    ("cut of the ballot", Q): (Q, AGAIN),
    ("lower cut", P): (P, REFUSED),
    ("lower cut", K): (K, REFUSED),
    ("lower cut", Q): (Q, REFUSED),
}


def test_the_table_of_transitions_lists_every_state() -> None:
    assert set(TRANSITIONS) == set(ConsensusState)
    assert all(
        ConsensusState.NORMAL in following and ConsensusState.PROMISED in following
        for following in TRANSITIONS.values()
    )


@pytest.mark.parametrize("state", list(ConsensusState), ids=lambda state: state.value)
@pytest.mark.parametrize("event", EVENTS)
def test_what_a_member_does(event: str, state: ConsensusState) -> None:
    change = member(state)
    after, outs = TABLE.get((event, state), (state, []))
    assert (EVENTS[event](change), change.state) == (outs, after)


@pytest.mark.parametrize("state", list(ConsensusState), ids=lambda state: state.value)
def test_the_next_view_begins_anew_from_every_state(state: ConsensusState) -> None:
    change = member(state)
    change.install(VALUE.view)
    assert (change.state, change.promised, change.proposing) == (ConsensusState.NORMAL, NO_BALLOT, False)


@pytest.mark.parametrize(("state", "allowed"), [(N, False), (P, False), (K, True), (Q, False)])
def test_only_who_gathers_a_cut_accepts_it(state: ConsensusState, allowed: bool) -> None:
    change = member(state)
    if allowed:
        assert change.complete() == AGAIN
        assert change.state is ConsensusState.ACCEPTED
    else:
        with pytest.raises(AssertionError):
            change.complete()


prepares = st.tuples(st.sampled_from(VIEW.members), st.integers(1, 5), st.booleans())


@given(st.lists(st.tuples(prepares, st.sampled_from(["prepare", "cut", "complete", "propose"])), max_size=40))
def test_a_promise_never_goes_back(steps: list[tuple[tuple[Process, int, bool], str]]) -> None:
    change = member()
    before, accepted = change.promised, NO_BALLOT
    for (source, attempt, permitted), what in steps:
        ballot = (attempt, VIEW.rank(source))
        outs: list[Out] = []
        if what == "prepare" and source != C:
            outs = change.on_prepare(source, ballot, permitted, HELD)
        elif what == "cut" and source != C:
            outs = change.on_cut(source, cut(ballot))
        elif what == "complete" and change.state is ConsensusState.CUTTING and not change.proposing:
            change.complete()
            accepted = change.promised
        elif what == "propose":
            change.propose(HELD, (), 0)
        assert change.promised >= before
        before = change.promised
        for out in outs:
            if isinstance(out, Say) and isinstance(out.item, Promise):
                assert out.item.accepted_ballot == accepted


def proposer(ask: tuple[Process, ...] = (B, C, D, E)) -> tuple[Consensus, Ballot]:
    change = member(who=A)
    change.propose(HELD, ask, 0)
    return change, change.promised


def all_of(*members: Process) -> set[Process]:
    return set(members)


def test_a_proposal_begins_above_every_ballot_seen() -> None:
    change = member()
    change.on_prepare(B, (7, 1), True, HELD)
    outs = change.propose(HELD, (A, B), 0)
    assert outs == [Wedge(), Say(A, Prepare(1, (8, 2))), Say(B, Prepare(1, (8, 2)))]
    assert change.on_nack((11, 4))
    assert not change.proposing
    change.propose(HELD, (), 0)
    assert change.promised == (12, 2)


def test_a_nack_of_something_lower_ends_nothing() -> None:
    change, ballot = proposer()
    assert not change.on_nack((ballot[0], 0))
    assert not change.on_nack(ballot)
    assert change.proposing


def test_a_nack_without_a_proposal_ends_nothing() -> None:
    assert not member().on_nack((11, 4))


def test_a_proposer_waits_for_every_live_member_and_a_quorum() -> None:
    change, ballot = proposer()
    change.on_promise(B, promise(ballot))
    assert change.promises(all_of(A, B)) is None  # no quorum of five
    assert change.promises(all_of(A, B, C)) is None
    change.on_promise(C, promise((ballot[0] + 1, 2)))  # of another attempt
    assert change.promises(all_of(A, B, C)) is None
    change.on_promise(C, promise(ballot))
    assert set(change.promises(all_of(A, B, C)) or ()) == {A, B, C}


def test_who_is_spared_is_heard_but_not_waited_for() -> None:
    change, ballot = proposer()
    change.on_promise(B, promise(ballot))
    assert change.promises(all_of(A, B, C, D), {C, D}) is None  # no quorum of five
    change.on_promise(C, promise(ballot))
    assert change.promises(all_of(A, B, C, D)) is None
    assert set(change.promises(all_of(A, B, C, D), {C, D}) or ()) == {A, B, C}


def test_what_only_a_dead_process_promised_is_in_no_value() -> None:
    change, ballot = proposer()
    for peer in (B, C, D):
        change.on_promise(peer, promise(ballot))
    assert set(change.promises(all_of(A, B, C)) or ()) == {A, B, C}
    outs = change.decide(VALUE)
    assert [out.to for out in outs if isinstance(out, Say)] == [B, C]


def test_a_value_that_somebody_accepted_is_proposed_again_verbatim() -> None:
    change, ballot = proposer()
    change.on_promise(B, promise(ballot, OTHER, (1, 4)))
    change.on_promise(C, promise(ballot, VALUE, (2, 1)))
    change.promises(all_of(A, B, C))
    outs = change.decide(decision(VIEW, A, B, C, cut={A: 1}))
    said = [out.item for out in outs if isinstance(out, Say)]
    assert [item.decision for item in said if isinstance(item, Cut)] == [VALUE, VALUE]


def test_a_proposer_reports_its_own_accepted_value_to_itself() -> None:
    change = member(ConsensusState.ACCEPTED, A)  # its first attempt was decided nowhere else
    change.propose(HELD, (B, C), 0)
    for peer in (B, C):
        change.on_promise(peer, promise(change.promised))
    assert change.promises(all_of(A, B, C))
    outs = change.decide(OTHER)
    assert StartFlush(VALUE, dict.fromkeys(VALUE.cut, ())) not in outs
    assert [out.decision for out in outs if isinstance(out, StartFlush)] == [VALUE]


def deciding(live: set[Process]) -> tuple[Consensus, Ballot]:
    change, ballot = proposer()
    for peer in sorted(live - {A}):
        change.on_promise(peer, promise(ballot))
    assert change.promises(live)
    change.decide(VALUE)
    return change, ballot


def test_a_value_is_decided_by_a_quorum_and_every_live_participant() -> None:
    live = all_of(A, B, C, D)
    change, ballot = deciding(live)
    change.complete()
    change.on_cut_ok(B, CutOk(1, ballot))
    change.on_cut_ok(C, CutOk(1, (ballot[0] - 1, 0)))  # of another attempt
    assert change.decided(all_of(A, B)) is None  # no quorum of five
    change.on_cut_ok(C, CutOk(1, ballot))
    assert change.decided(live) is None  # d lives and has not answered
    assert change.decided(live - {D}) == VALUE
    change.on_cut_ok(D, CutOk(1, ballot))
    assert change.decided(live | {E}) == VALUE  # e takes no part


def test_when_a_participant_dies_the_value_must_be_proposed_again() -> None:
    live = all_of(A, B, C, D)
    change, ballot = deciding(live)
    assert not change.is_stale(live)
    assert change.is_stale(live - {D})
    change.propose(HELD, sorted(live - {A, D}), 10)
    assert change.promised > ballot
    assert not change.is_stale(live - {D})


def test_a_higher_ballot_ends_ones_own_proposal() -> None:
    change, ballot = proposer()
    change.on_prepare(B, (ballot[0], 1), True, HELD)
    assert not change.proposing
    assert change.proposer == B
    change.on_promise(C, promise(ballot))
    assert change.promises(all_of(A, B, C)) is None


def test_who_does_not_answer_is_asked_again_after_a_while() -> None:
    change, ballot = proposer()
    change.on_promise(B, promise(ballot))
    live = [B, C, D]
    assert change.ask_again(live, limits.RESEND_MS - 1) == []
    prepare = Prepare(1, ballot)
    assert change.ask_again(live, limits.RESEND_MS) == [Say(C, prepare), Say(D, prepare)]
    assert change.ask_again(live, limits.RESEND_MS + 1) == []


def test_who_does_not_accept_is_asked_again_after_a_while() -> None:
    change, ballot = deciding(all_of(A, B, C))
    change.on_cut_ok(B, CutOk(1, ballot))
    outs = change.ask_again([B, C], limits.RESEND_MS)
    assert [(out.to, type(out.item)) for out in outs if isinstance(out, Say)] == [(C, Cut)]


def test_a_cut_names_some_holders_of_each_stream_the_sender_first() -> None:
    change, ballot = proposer()
    for peer in (B, C, D, E):
        change.on_promise(peer, Promise(1, ballot, {A: 5, D: 7 if peer != B else 6}))
    change.promises(set(VIEW.members))
    value = decision(VIEW, *VIEW.members, cut={A: 5, D: 7})
    (flush,) = [out for out in change.decide(value) if isinstance(out, StartFlush)]
    assert flush.holders == {A: (B, C, D), D: (D, C, E)}
    assert len(flush.holders[A]) == HOLDERS_TOLD


# a succession: of VIEW, D and E are left

F = "f#1"
LEFT = all_of(D, E)


def succeeding(*survivors: Process) -> tuple[Consensus, Ballot]:
    """D proposes a succession to the other survivors."""
    change = member(who=D)
    change.survivors = frozenset(survivors or LEFT)
    outs = change.propose(HELD, sorted(change.survivors - {D}), 0)
    ballot = change.promised
    prepares: list[Out] = [Say(peer, Prepare(1, ballot, True)) for peer in sorted(change.survivors - {D})]
    assert outs == [Wedge(), *prepares]
    return change, ballot


def test_a_succession_needs_the_promises_of_all_survivors_then_the_registrys_then_of_all_that_it_noted() -> None:
    change, ballot = succeeding()
    assert change.ask_witness(LEFT, 0) == []
    change.on_promise(E, promise(ballot))
    assert change.promises(LEFT) is None
    assert change.ask_witness(LEFT, 0) == [AskWitness(ballot, None, succession=True)]
    change.on_witness(WitnessPromised(1, (ballot[0] + 1, 0)))  # of another attempt
    assert change.promises(LEFT) is None
    change.on_witness(WitnessPromised(1, ballot, ((F, "f:1"), (A, "a:1"), (E, "e:1"), ("x#1", "x:1"))))
    assert change.noted == {F: "f:1", "x#1": "x:1"}  # members are asked, or dead, anyway
    assert change.promises(LEFT) is None
    change.on_promise(F, promise((ballot[0] + 1, 0)))
    change.strike_off("x#1")
    assert change.promises(LEFT) is None
    change.on_promise(F, promise(ballot))
    assert set(change.promises(LEFT) or ()) == LEFT  # f has nothing of this view


def test_a_survivor_that_is_suspected_is_waited_for() -> None:
    change, ballot = succeeding(C, D, E)
    change.on_promise(E, promise(ballot))
    assert change.ask_witness(LEFT, 0) == []
    change.on_witness(WitnessPromised(1, ballot))
    assert change.promises(LEFT) is None
    change.on_promise(C, promise(ballot))
    assert set(change.promises(all_of(C, D, E)) or ()) == {C, D, E}


def accepting() -> tuple[Consensus, Ballot]:
    change, ballot = succeeding()
    change.on_promise(E, promise(ballot, VALUE, (2, 1)))
    change.on_witness(WitnessPromised(1, ballot))
    assert change.promises(LEFT)
    change.decide(OTHER)
    return change, ballot


def test_a_succession_takes_no_value_that_was_accepted_before() -> None:
    change, ballot = succeeding()
    change.on_promise(E, promise(ballot, VALUE, (2, 1)))
    change.on_witness(WitnessPromised(1, ballot))
    assert change.promises(LEFT)
    outs = change.decide(OTHER)
    assert [out.item.decision for out in outs if isinstance(out, Say) and isinstance(out.item, Cut)] == [OTHER]


def test_the_registry_is_asked_to_accept_last_and_nobody_else_decides() -> None:
    change, ballot = accepting()
    assert change.ask_witness(LEFT, 0) == []
    change.on_cut_ok(E, CutOk(1, ballot))
    assert change.ask_witness(LEFT, 0) == []  # d itself does not hold the cut
    change.complete()
    assert change.decided(LEFT) is None
    assert change.ask_witness(LEFT, 0) == [AskWitness(ballot, OTHER, succession=True)]
    assert change.ask_witness(LEFT, limits.WITNESS_RETRY_MS - 1) == []
    assert change.ask_witness(LEFT, limits.WITNESS_RETRY_MS) == [AskWitness(ballot, OTHER, succession=True)]
    assert change.decided(LEFT) is None


def test_a_value_of_before_gives_way_to_a_succession_once_too_many_are_dead() -> None:
    live = all_of(A, D, E)
    change = member(who=D)
    change.propose(HELD, (A, E), 0)
    for peer in (A, E):
        change.on_promise(peer, promise(change.promised))
    assert change.promises(live)
    change.decide(VALUE)
    assert not change.is_stale(live)
    change.survivors = frozenset(LEFT)
    assert change.is_stale(LEFT)
    change.propose(HELD, (E,), 0)
    assert not change.is_stale(LEFT)


def test_only_the_promise_to_a_succession_makes_a_late_install_void() -> None:
    change = member()
    change.on_prepare(A, FROM_A, True, HELD)
    change.on_prepare(B, (9, 1), False, HELD, succession=True)  # not permitted, so not promised
    assert not change.fenced
    change.on_prepare(B, FROM_B, True, HELD, succession=True)
    assert change.fenced
    change.on_prepare(A, LATER, True, HELD)
    assert change.fenced
    change.install(VALUE.view)
    assert not change.fenced


def test_who_proposes_a_succession_has_promised_it_to_itself() -> None:
    change, _ = succeeding()
    assert change.fenced
    assert not proposer()[0].fenced
