"""The registry as a witness of ties: its table, its memory, and groups that are split in two."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcom.core.codec import registry as directory_codec
from gcom.core.directory.table import Directory
from gcom.core.directory.witness import Witness, WitnessRecord
from gcom.core.messages.effects import Ended
from gcom.core.messages.frames import Ballot
from gcom.core.messages.registry import Create, Refusal
from gcom.core.messages.witness import (
    WitnessAccept,
    WitnessAnswer,
    WitnessDecided,
    WitnessFull,
    WitnessNack,
    WitnessPassed,
    WitnessPrepare,
    WitnessPromised,
    WitnessRequest,
)
from gcom.errors import Unavailable
from gcom.values import limits
from gcom.values.definition import Definition
from tests.core.ids import CountedIds
from tests.core.making import A, B, C, D, decision, view
from tests.core.network import Network

VIEW = view(A, B, C, D)
OURS, THEIRS = decision(VIEW, A, B), decision(VIEW, C, D)
LOW, HIGH = (1, 0), (1, 2)


class Disk:
    """The disk of a witness: what was saved, by instance; `full`: it takes nothing."""

    def __init__(self) -> None:
        self.records: dict[str, WitnessRecord] = {}
        self.full = False

    def save(self, record: WitnessRecord) -> None:
        if self.full:
            raise Unavailable("disk full")
        self.records[record.instance] = record

    def witness(self) -> Witness:
        return Witness(self.records.values(), self.save)


def prepare(ballot: Ballot, number: int = 1, instance: str = "i") -> WitnessPrepare:
    return WitnessPrepare(instance, number, ballot)


def accept(ballot: Ballot, number: int = 1) -> WitnessAccept:
    value = OURS if ballot == LOW else THEIRS
    return WitnessAccept("i", number, ballot, value)


PROMISED, NACK, WON = WitnessPromised(1, LOW), WitnessNack(1, HIGH), WitnessDecided(1, OURS, LOW)


@pytest.mark.parametrize(
    ("before", "request_", "answer"),
    [
        ((), prepare(LOW), PROMISED),
        ((), accept(LOW), WitnessNack(1, LOW)),  # not promised: perhaps forgotten
        ((prepare(LOW),), prepare(LOW), PROMISED),
        ((prepare(LOW),), prepare(HIGH), WitnessPromised(1, HIGH)),
        ((prepare(LOW),), accept(LOW), WON),
        ((prepare(HIGH),), prepare(LOW), NACK),
        ((prepare(LOW), prepare(HIGH)), accept(LOW), NACK),
        ((prepare(LOW),), accept(HIGH), WitnessNack(1, LOW)),  # stricter than Paxos, as members are
        ((prepare(LOW), accept(LOW)), accept(LOW), WON),
        ((prepare(LOW), accept(LOW)), prepare(HIGH), WON),
        ((prepare(LOW), accept(LOW)), accept(HIGH), WON),
        ((prepare(LOW), accept(LOW)), prepare((1, 0), 2), WitnessPromised(2, LOW)),
        ((prepare(HIGH, 5),), prepare((9, 0), 4), WitnessPassed(5)),
        ((prepare(HIGH, 5),), accept(LOW, 4), WitnessPassed(5)),
        ((prepare(HIGH, 5),), prepare(LOW, 1, "j"), PROMISED),
    ],
)
def test_what_it_answers_and_again_after_a_restart(
    before: tuple[WitnessRequest, ...], request_: WitnessRequest, answer: WitnessAnswer
) -> None:
    for restarts in (False, True):
        disk = Disk()
        witness = disk.witness()
        for earlier in before:
            witness.ask(earlier)
        if restarts:
            witness = disk.witness()
        assert witness.ask(request_) == answer


def test_what_could_not_be_saved_was_not_said() -> None:
    disk = Disk()
    witness = disk.witness()
    witness.ask(prepare(LOW))
    disk.full = True
    for request in (prepare(HIGH), accept(LOW)):
        with pytest.raises(Unavailable):
            witness.ask(request)
    disk.full = False
    assert witness.ask(accept(LOW)) == WON


def test_it_keeps_so_many_records_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "WITNESS_RECORDS_MAX", 2)
    witness = Disk().witness()
    witness.ask(prepare(LOW))
    witness.ask(prepare(LOW, instance="j"))
    assert witness.ask(prepare(LOW, instance="k")) == WitnessFull()
    assert witness.ask(accept(LOW)) == WON


def test_without_a_disk_it_says_so() -> None:
    directory = Directory(CountedIds())
    for request in (Create(Definition.parse("g", tie_breaker="registry")), prepare(LOW), accept(LOW)):
        answer = directory.ask(request, 0)
        assert isinstance(answer, Refusal)
        assert "--data" in answer.text


ballots = st.tuples(st.integers(1, 3), st.integers(0, 3))
asked = st.one_of(
    st.builds(prepare, ballots, st.integers(1, 2)),
    st.builds(lambda ballot: WitnessAccept("i", 1, ballot, OURS), ballots),
)


@given(st.lists(asked, max_size=30), st.sets(st.integers(0, 29)))
def test_it_never_takes_back_a_word(requests: list[WitnessRequest], restarts: set[int]) -> None:
    disk = Disk()
    witness = disk.witness()
    promised: dict[int, Ballot] = {}
    decided: set[int] = set()
    latest = 0
    for index, request in enumerate(requests):
        if index in restarts:
            witness = disk.witness()
        answer = directory_codec.decode_answer(directory_codec.encode_answer(witness.ask(request)))
        assert directory_codec.decode_request(directory_codec.encode_request(request)) == request
        match answer:
            case WitnessPromised(number, ballot):
                assert ballot >= promised.get(number, (0, 0))
                assert number not in decided
                promised[number] = ballot
            case WitnessDecided(number):
                assert isinstance(request, WitnessPrepare) <= (number in decided)
                assert number in decided or promised[number] == request.ballot
                decided.add(number)
            case _:
                continue
        assert number >= latest
        latest = number


# groups


def tied(*names: str, returning: bool = True) -> Network:
    net = Network(Definition.parse("g", tie_breaker="registry"))
    net.returning = returning
    net.form(*names)
    return net


@pytest.mark.parametrize(("victim", "survivor"), [(A, B), (B, A)])
def test_scenario_34_of_two_either_survives_the_other(victim: str, survivor: str) -> None:
    net = tied("a", "b")
    net.kill(victim)
    net.send(survivor, "on")
    net.until_view(survivor)
    net.until(lambda: net.delivered(survivor) == ["on"])
    assert net.number(survivor) == 3


@pytest.mark.parametrize(("with_it", "without"), [("a b", "c d"), ("c d", "a b"), ("a d", "b c")])
def test_scenario_34_of_two_halves_exactly_the_one_with_the_registry_goes_on(with_it: str, without: str) -> None:
    net = tied("a", "b", "c", "d")
    net.split(f"{with_it} registry", without)
    for name in "abcd":
        net.send(f"{name}#1", name)
    winners, losers = ([f"{name}#1" for name in side.split()] for side in (with_it, without))
    net.until_view(*winners)
    net.until(lambda: all(net.machines[who].detached for who in losers))
    assert all(net.members(who) == {A, B, C, D} for who in losers)
    net.heal()
    net.until_view(*winners, *[who.replace("1", "2") for who in losers])
    assert net.instances_alive == 1


def test_scenario_34_when_both_halves_reach_the_registry_it_votes_for_one() -> None:
    net = tied("a", "b", "c", "d")
    net.split("a b", "c d")
    net.until(lambda: net.members(A) == {A, B} or net.members(C) == {C, D})
    net.pass_ms(5_000)
    sides = [who for who in (A, C) if len(net.members(who)) == 2]
    assert len(sides) == 1
    net.heal()
    net.until(lambda: all(len(net.members(net.latest(who))) == 4 for who in (A, B, C, D)))


def test_trace_1_when_neither_half_reaches_the_registry_both_wait() -> None:
    net = tied("a", "b", "c", "d")
    net.split("a b", "c d", "registry")
    net.pass_ms(20_000)
    assert all(net.members(who) == {A, B, C, D} and net.machines[who].detached for who in (A, B, C, D))
    net.heal()
    net.until(lambda: all(len(net.members(net.latest(who))) == 4 for who in (A, B, C, D)), 60_000)
    assert {net.machines[net.latest(who)].instance for who in (A, B, C, D)} == {"i0001"}


def test_trace_1_a_registry_that_restarts_between_two_asks_does_not_vote_twice() -> None:
    """1. The witness decides for A. 2. A is cut off before it hears so. 3. The registry restarts. 4. B asks it."""
    net = tied("a", "b")
    net.split("a registry", "b")
    net.answers_lost = lambda who, request: who == A and isinstance(request, WitnessAccept)
    net.until(lambda: any(record.decided for record in net.votes.values()))
    net.split("b registry", "a")
    net.start_registry()
    net.until(lambda: net.end(B) is not None)
    assert [end.reason for end in net.of(B, Ended)] == ["expelled"]
    net.answers_lost = lambda who, request: False
    net.heal()
    net.until(lambda: len(net.members(net.latest(A))) == len(net.members(net.latest(B))) == 2, 60_000)
    assert net.machines[A].instance == net.machines[net.latest(B)].instance == "i0001"


def test_what_the_witness_decided_outlives_the_proposer_that_did_not_hear_of_it() -> None:
    """The witness has decided for A and B; A dies. B is told, and goes on; nobody else does, until the heal."""
    net = tied("a", "b", "c", "d")
    net.split("a b registry", "c d")
    net.send(B, "kept")
    net.answers_lost = lambda who, request: who == A and isinstance(request, WitnessAccept)
    net.until(lambda: any(record.decided for record in net.votes.values()))
    net.kill(A)
    net.answers_lost = lambda who, request: False
    net.until_view(B)
    assert [installed.view.members for installed in net.views(B)[-2:]] == [(A, B), (B,)]
    net.pass_ms(20_000)
    assert net.members(B) == {B}
    assert net.members(C) == net.members(D) == {A, B, C, D}
    net.heal()
    net.until_view(B, "c#2", "d#2")
    assert net.delivered(B) == ["kept"]


def test_the_other_half_is_told_of_the_decision_and_does_not_go_on() -> None:
    net = tied("a", "b", "c", "d")
    net.split("a b registry", "c d")
    net.until(lambda: any(record.decided for record in net.votes.values()))
    net.split("a b", "c d registry")
    net.until_view(A, B)
    net.until(lambda: net.end(C) is not None and net.end(D) is not None)
    assert net.instances_alive == 1


def test_a_registry_that_is_away_for_a_moment_is_asked_again() -> None:
    net = tied("a", "b")
    net.registry_up = False
    net.kill(A)
    net.until(lambda: any(reason == "dead" for _, reason in net.suspected(B)))
    net.pass_ms(limits.DETACH_MS // 2)
    net.registry_up = True
    net.until_view(B)
    assert net.number(B) == 3


def test_a_registry_that_is_away_for_long_votes_when_it_is_back() -> None:
    net = tied("a", "b")
    net.registry_up = False
    net.kill(A)
    net.until(lambda: net.machines[B].detached)
    net.pass_ms(20_000)
    assert net.members(B) == {A, B}
    net.registry_up = True
    net.until_view(B)
    assert (net.machines[B].instance, net.number(B)) == ("i0001", 3)


def test_without_a_tie_the_witness_is_not_asked() -> None:
    net = tied("a", "b", "c")
    net.registry_up = False
    net.kill(A)
    net.until_view(B, C)
    assert not net.votes
