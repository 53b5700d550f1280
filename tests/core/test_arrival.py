"""Promises of a process on its way in: by which word it does not enter any more."""

from __future__ import annotations

import pytest

from gcom.core.machine import GroupMachine, Stage
from gcom.core.messages import frames
from gcom.core.messages.events import CallFailed, RegistryAnswered, Replied, Start
from gcom.core.messages.frames import Ballot, Decision, Frame, Install, Nack, Prepare, Promise, Refused, Status
from gcom.core.messages.registry import Create, GroupInfo
from gcom.values.definition import Definition
from gcom.values.view import View
from tests.core.making import A, B, C, address

NEWS = Definition.parse("g")
LOW, HIGH, HIGHEST = (1, 0), (2, 1), (3, 0)


def entering() -> GroupMachine:
    """C has found A and B in view 2 of `i`, and asks them to admit it."""
    machine = GroupMachine("g", C, address(C), NEWS)
    machine.handle(Start(), 0)
    found = GroupInfo(NEWS, "i", 2, (A, B), (address(A), address(B)), alive=True)
    machine.handle(RegistryAnswered(Create(NEWS), found), 0)
    return machine


def put(machine: GroupMachine, item: frames.Control, instance: str = "i", source: str = B) -> Frame | Refused:
    return machine.receive(Frame("g", instance, source, C, Status(2), (item,)), 0)[0]


def answer(machine: GroupMachine, item: Prepare, instance: str = "i") -> tuple[frames.Control, ...]:
    reply = put(machine, item, instance)
    assert isinstance(reply, Frame)
    assert (reply.instance, reply.target) == (instance, B)
    return reply.control


def install(ballot: Ballot, number: int = 3) -> Install:
    members = (A, B, C)
    return Install(Decision(View(number, members, tuple(map(address, members))), (C,), {}, {}), 0, ballot)


@pytest.mark.parametrize(
    ("promised", "decided", "enters"),
    [(None, LOW, True), (HIGH, LOW, False), (HIGH, HIGH, True), (HIGH, HIGHEST, True)],
)
def test_it_enters_by_no_decision_below_a_ballot_that_it_has_promised(
    promised: Ballot | None, decided: Ballot, enters: bool
) -> None:
    machine = entering()
    if promised:
        assert answer(machine, Prepare(2, promised, True)) == (Promise(2, promised, {}),)
    put(machine, install(decided))
    assert machine.stage is (Stage.MEMBER if enters else Stage.ENTERING)


def test_a_lower_ballot_is_refused_and_an_equal_one_promised_again() -> None:
    machine = entering()
    answer(machine, Prepare(2, HIGH, True))
    assert answer(machine, Prepare(2, LOW, True)) == (Nack(2, HIGH),)
    assert answer(machine, Prepare(2, HIGH, True)) == (Promise(2, HIGH, {}),)
    assert answer(machine, Prepare(2, HIGHEST, True)) == (Promise(2, HIGHEST, {}),)
    put(machine, install(HIGH))
    assert machine.stage is Stage.ENTERING


def test_a_promise_is_of_one_view_of_one_instance() -> None:
    machine = entering()
    answer(machine, Prepare(2, HIGH, True))
    assert answer(machine, Prepare(3, LOW, True)) == (Promise(3, LOW, {}),)
    assert answer(machine, Prepare(2, LOW, True), "k") == (Promise(2, LOW, {}),)
    put(machine, install(LOW))
    assert machine.view is None
    put(machine, install(LOW, number=4))
    assert machine.stage is Stage.MEMBER


def test_a_promise_that_was_made_in_another_instance_keeps_it_out_of_none() -> None:
    machine = entering()
    answer(machine, Prepare(2, HIGH, True), "k")
    put(machine, install(LOW))
    assert machine.stage is Stage.MEMBER


def test_who_vows_promises_above_every_ballot_itself() -> None:
    """1. A is dead, B answers that it is no member: C asks for its word, and gives it. 2. A's INSTALL comes late."""
    machine = GroupMachine("g", C, address(C), NEWS)
    machine.handle(Start(), 0)
    found = GroupInfo(NEWS, "i", 2, (A,), (address(A),), alive=False, others=((B, address(B)),))
    machine.handle(RegistryAnswered(Create(NEWS), found), 0)
    machine.take(A, 0)
    machine.handle(CallFailed(A, refused=True, dead=True), 0)
    machine.take(B, 0)
    machine.handle(Replied(B, Refused("unknown", "no member")), 0)
    frame, _ = machine.take(B, 0)
    assert frame is not None
    (vow,) = [item for item in frame.control if isinstance(item, Prepare)]
    assert vow.view == 2
    put(machine, install(HIGHEST), source=A)
    assert machine.stage is Stage.ENTERING
