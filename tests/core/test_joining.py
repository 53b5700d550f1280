"""Promises of a process on its way in: by which word it does not enter any more."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gcom.core.machine import GroupMachine, Stage
from gcom.core.messages import frames
from gcom.core.messages.effects import AskRegistry
from gcom.core.messages.events import CallFailed, RegistryAnswered, Replied, Start, Tick
from gcom.core.messages.frames import NO_BALLOT, Ballot, Decision, Frame, Install, Prepare, Promise, Refused, Status
from gcom.core.messages.registry import Claim, Create, GroupInfo, Lookup
from gcom.values import limits
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


@pytest.mark.parametrize("decided", [LOW, HIGH, HIGHEST])
@pytest.mark.parametrize("number", [2, 3])
def test_it_enters_neither_the_view_that_it_was_asked_about_nor_the_next(number: int, decided: Ballot) -> None:
    """Whatever the ballot: who asks may have slept through all but the last of those who decided the next view."""
    machine = entering()
    assert answer(machine, Prepare(2, HIGH, True)) == (Promise(2, HIGH, {}),)
    reply = put(machine, install(decided, number))
    assert isinstance(reply, Refused)
    assert (reply.code, machine.stage) == ("ended", Stage.ENTERING)


def test_it_promises_to_all_who_ask_in_any_order() -> None:
    """1. D vows to one that looks that it is in no later view. 2. A survivor asks: the vow says all that it wants."""
    machine = entering()
    for ballot, succession in [(NO_BALLOT, False), (HIGHEST, True), (LOW, True), (HIGHEST, True)]:
        assert answer(machine, Prepare(2, ballot, succession)) == (Promise(2, ballot, {}),)
    put(machine, install(HIGHEST))
    assert machine.stage is Stage.ENTERING


@pytest.mark.parametrize("number", [4, 5])
def test_its_word_does_not_keep_it_out_of_a_later_view(number: int) -> None:
    machine = entering()
    answer(machine, Prepare(2, HIGH, True))
    put(machine, install(LOW, number))
    assert machine.stage is Stage.MEMBER


def test_a_promise_that_was_made_in_another_instance_keeps_it_out_of_none() -> None:
    machine = entering()
    assert answer(machine, Prepare(2, HIGH, True), "k") == (Promise(2, HIGH, {}),)
    put(machine, install(LOW))
    assert machine.stage is Stage.MEMBER


@pytest.mark.parametrize("number", [2, 3])
def test_who_asks_for_a_vow_gives_it_too(number: int) -> None:
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
    put(machine, install(HIGHEST, number), source=A)
    assert machine.stage is Stage.ENTERING


@pytest.mark.parametrize(("view", "stage"), [(1, Stage.ENTERING), (3, Stage.MEMBER)])
def test_a_granted_view_of_which_it_gave_its_word_is_not_begun(view: int, stage: Stage) -> None:
    """1. C claims the name, and is asked for its word before it has the answer. 2. It is granted view 1."""
    machine = GroupMachine("g", C, address(C), NEWS)
    machine.handle(Start(), 0)
    machine.handle(RegistryAnswered(Create(NEWS), GroupInfo(NEWS, "i", 0, (), (), alive=False)), 0)
    assert answer(machine, Prepare(view, NO_BALLOT)) == (Promise(view, NO_BALLOT, {}),)
    granted = GroupInfo(NEWS, "i", 1, (C,), (address(C),), alive=True)
    claim = Claim("g", "i", 0, C, address(C))
    machine.handle(RegistryAnswered(claim, granted), 0)
    assert machine.stage is stage
    # Once its own lease is over it claims what comes after that view, of which it gave no word.
    if stage is Stage.ENTERING:
        assert AskRegistry(Lookup("g")) in machine.handle(Tick(), limits.JOIN_RETRY_MS)
        over = replace(granted, alive=False)
        machine.handle(RegistryAnswered(Lookup("g"), over), limits.JOIN_RETRY_MS)
        assert machine.handle(Tick(), 5_000) == [AskRegistry(Claim("g", "i", 1, C, address(C), (C,)))]
