"""The sequencer against a twin that keeps, for each view that is open, the plain list of who has which serial."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcom.core.messages.orders import Orders
from gcom.core.messages.sequencer import Close, Open, Opened, SequencerAnswer, SequencerRequest, Unknown, Want
from gcom.core.ordering import sequencer
from gcom.core.ordering.sequencer import Sequencer
from gcom.values import limits
from gcom.values.names import Process
from tests.core.making import A, B, C

Message = tuple[Process, int]


def opening(view: int = 1, serial: int = 0, instance: str = "i", **settled: int) -> Open:
    return Open("g", instance, view, serial, {A: 0, B: 0, C: 0} | {f"{name}#1": n for name, n in settled.items()})


def want(who: Process, upto: int, after: int = 0, view: int = 1, stable: int = 0, instance: str = "i") -> Want:
    return Want("g", instance, view, who, upto, after, stable)


@dataclass
class Kept:
    view: int
    base: int
    settled: dict[Process, int]
    line: list[Message]


class Twin:
    """Answers every question from plain lists, and forgets nothing."""

    def __init__(self) -> None:
        self.kept: dict[str, Kept] = {}

    def agrees(self, request: SequencerRequest, answer: SequencerAnswer) -> None:
        kept = self.kept.get(request.instance)
        match request:
            case Open(_, instance, view, serial, settled):
                if kept is None or view > kept.view:
                    self.kept[instance] = Kept(view, serial, dict(settled), [])
                    assert answer == Opened()
                else:
                    assert answer == (Opened() if view == kept.view else Unknown())
            case Want() if kept is None or kept.view != request.view or request.process not in kept.settled:
                assert answer == Unknown()
            case Want(_, _, view, process, upto, after):
                assert kept is not None
                kept.line += [(process, number) for number in range(kept.settled[process] + 1, upto + 1)]
                kept.settled[process] = max(upto, kept.settled[process])
                assert isinstance(answer, Orders)
                assert answer.view == view
                assert answer.end == kept.base + len(kept.line)
                said = [(who, n) for who, first, last in answer.spans for n in range(first, last + 1)]
                assert said == kept.line[answer.after - kept.base :]
                assert answer.after <= max(after, kept.base)
            case Close(_, instance):
                self.kept.pop(instance, None)


instances = st.sampled_from(["i", "j"])
views = st.integers(1, 3)
openings = st.builds(opening, views, st.integers(0, 9), instances, a=st.integers(0, 2), b=st.integers(0, 2))
wants = st.builds(
    want, st.sampled_from([A, B, C, "x#1"]), st.integers(0, 9), st.integers(0, 30), views, instance=instances
)
closes = st.builds(Close, st.just("g"), instances)
requests = st.lists(st.one_of(openings, wants, wants, wants, wants, closes), max_size=30)


@given(requests)
def test_every_question_is_answered_as_its_twin_would(script: list[SequencerRequest]) -> None:
    machine, twin = Sequencer(), Twin()
    for request in script:
        twin.agrees(request, machine.ask(request))


@given(requests, st.data())
def test_a_question_asked_again_changes_nothing(script: list[SequencerRequest], data: st.DataObject) -> None:
    once, often = Sequencer(), Sequencer()
    for request in script:
        answer = once.ask(request)
        for _ in range(data.draw(st.integers(1, 3))):
            again = often.ask(request)
        assert again == answer or isinstance(request, Close)


@given(requests)
def test_groups_do_not_disturb_each_other(script: list[SequencerRequest]) -> None:
    both, alone = Sequencer(), Sequencer()
    for request in script:
        answer = both.ask(request)
        if request.instance == "i":
            assert answer == alone.ask(request)


def test_serials_follow_one_another_whoever_asks() -> None:
    machine = Sequencer()
    machine.ask(opening(serial=4, b=2))
    assert machine.ask(want(A, 2, 4)) == Orders(1, 4, ((A, 1, 2),))
    assert machine.ask(want(B, 3, 6)) == Orders(1, 6, ((B, 3, 3),))
    assert machine.ask(want(A, 5, 4)) == Orders(1, 4, ((A, 1, 2), (B, 3, 3), (A, 3, 5)))
    assert machine.ask(want(C, 0, 7)) == Orders(1, 7, ((A, 3, 5),))


def test_a_sequencer_that_starts_again_knows_no_view_and_serves_the_next_one() -> None:
    machine = Sequencer()
    machine.ask(opening(view=3))
    machine.ask(want(A, 2, view=3))
    again = Sequencer()
    assert again.ask(want(A, 2, view=3)) == Unknown()
    assert again.ask(opening(view=4, serial=2, a=2)) == Opened()
    assert again.ask(want(A, 3, 2, view=4)) == Orders(4, 2, ((A, 3, 3),))
    assert again.ask(want(A, 9, 2, view=3)) == Unknown()


def test_an_older_view_is_served_no_more_and_cannot_be_opened_again() -> None:
    machine = Sequencer()
    machine.ask(opening(view=5))
    machine.ask(want(A, 1, view=5))
    assert machine.ask(opening(view=4)) == Unknown()
    assert machine.ask(opening(view=5, serial=99)) == Opened()  # the same leader again: it changes nothing
    assert machine.ask(want(A, 2, view=5)) == Orders(5, 0, ((A, 1, 1), (A, 2, 2)))
    assert machine.ask(opening(view=6, serial=2, a=2)) == Opened()
    assert machine.ask(want(A, 3, view=5)) == Unknown()


def test_a_stranger_gets_no_serials_is_told_none_and_has_none_forgotten() -> None:
    machine = Sequencer()
    machine.ask(opening())
    machine.ask(want(A, 2))
    assert machine.ask(want("x#1", 5, stable=2)) == Unknown()
    assert machine.ask(want(B, 0)) == Orders(1, 0, ((A, 1, 2),))


def test_what_all_hold_is_forgotten_and_the_rest_still_served() -> None:
    machine = Sequencer()
    machine.ask(opening())
    for upto in range(1, 6):
        machine.ask(want(A, upto, upto - 1, stable=max(0, upto - 2)))
    assert machine.ask(want(B, 1, 3, stable=3)) == Orders(1, 3, ((A, 4, 4), (A, 5, 5), (B, 1, 1)))
    assert machine.ask(want(B, 1, 0)) == Orders(1, 3, ((A, 4, 4), (A, 5, 5), (B, 1, 1)))  # a gap: the peers have it


def test_a_claim_that_all_hold_more_than_there_is_changes_nothing() -> None:
    machine = Sequencer()
    machine.ask(opening())
    assert machine.ask(want(A, 1, 0, stable=10**6)) == Orders(1, 0, ((A, 1, 1),))
    assert machine.ask(want(A, 2, 1, stable=10**6)) == Orders(1, 1, ((A, 2, 2),))


def test_an_answer_has_a_bound_and_the_next_one_goes_on() -> None:
    machine = Sequencer()
    machine.ask(opening())
    for number in range(1, limits.ORDERS_MAX + 10):
        answer = machine.ask(want(A, number, number - 1))
    answer = machine.ask(want(B, 1, 0))
    assert isinstance(answer, Orders)
    assert (len(answer.spans), answer.end) == (limits.ORDERS_MAX, limits.ORDERS_MAX)
    answer = machine.ask(want(B, 1, answer.end))
    assert isinstance(answer, Orders)
    assert answer.end == limits.ORDERS_MAX + 10


def test_while_members_do_not_catch_up_nothing_more_is_ordered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sequencer, "SPANS_MAX", 3)
    machine = Sequencer()
    machine.ask(opening())
    for number in (1, 2, 3, 4):
        answer = machine.ask(want(A, number, number - 1))
    assert answer == Orders(1, 3, ())
    assert machine.ask(want(A, 4, 3, stable=1)) == Orders(1, 3, ((A, 4, 4),))


def test_when_there_are_too_many_groups_the_one_opened_first_must_go_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sequencer, "GROUPS_MAX", 2)
    machine = Sequencer()
    for instance in ("i", "j", "k"):
        machine.ask(opening(instance=instance))
    machine.ask(opening(view=2, instance="j"))  # it is there already: nobody has to go
    answers = [machine.ask(want(A, 1, view=view, instance=name)) for name, view in (("i", 1), ("j", 2), ("k", 1))]
    assert [isinstance(answer, Orders) for answer in answers] == [False, True, True]


def test_a_group_that_is_over_is_forgotten() -> None:
    machine = Sequencer()
    machine.ask(opening(view=7))
    machine.ask(Close("g", "i"))
    assert machine.ask(want(A, 1, view=7)) == Unknown()
    assert machine.ask(opening(view=1)) == Opened()


def test_nobody_can_ask_for_more_serials_than_there_are_numbers() -> None:
    machine = Sequencer()
    machine.ask(opening(serial=limits.NUMBER_MAX - 1))
    assert machine.ask(want(A, limits.NUMBER_MAX)) == Orders(1, limits.NUMBER_MAX - 1, ())
    assert machine.ask(want(B, 1)) == Orders(1, limits.NUMBER_MAX - 1, ((B, 1, 1),))
