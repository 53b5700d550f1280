"""The way back of one that lost its group, as another process: expelled, cut off, with and without a registry."""

from __future__ import annotations

import pytest

from gcom.core.machine import Stage
from gcom.core.messages import events
from gcom.core.messages.effects import Ended, EntryFailed
from gcom.core.messages.frames import Install, Refused
from gcom.errors import Detached, NameTaken
from gcom.values import limits
from gcom.values.definition import Definition
from gcom.values.names import name_of
from tests.core.making import A, B, C, D
from tests.core.network import Network

A2, B2, C2 = "a#2", "b#2", "c#2"


def returning(*names: str) -> Network:
    net = Network()
    net.returning = True
    net.form(*names)
    return net


def reason(net: Network, who: str) -> str:
    end = net.end(who)
    assert end is not None, net.describe()
    return end.reason


def test_an_expelled_process_comes_back_as_another() -> None:
    net = returning("a", "b", "c")
    net.cut_off.add(C)
    net.until(lambda: net.members(A) == {A, B})
    net.heal()
    net.until(lambda: net.end(C) is not None)
    told_ms = net.now_ms
    net.until_view(A, B, C2)
    assert net.end(C) == Ended(3, "expelled", arrived=0)
    assert net.now_ms - told_ms <= 1_000
    net.send(C2, "back")
    net.until(lambda: net.delivered(A)[-1:] == net.delivered(C2)[-1:] == ["back"])


def test_scenario_29_a_paused_member_is_told_that_it_was_expelled_and_is_back_soon() -> None:
    net = returning("a", "b", "c")
    net.pause(A)
    net.until_view(B, C)
    net.pass_ms(3_000)
    net.resume(A)
    woken_ms = net.now_ms
    net.until_view(B, C, A2)
    assert reason(net, A) == "expelled"
    assert net.now_ms - woken_ms <= 1_000


@pytest.mark.slow
def test_scenario_33_a_minority_detaches_and_is_back_soon_after_the_heal() -> None:
    net = returning("a", "b", "c", "d", "e")
    d2, e2 = "d#2", "e#2"
    net.split("a b", "c d e registry")
    net.send("c#1", "meanwhile")
    net.until_view("c#1", D, "e#1")
    net.until(lambda: net.machines[A].detached and net.machines[B].detached)
    net.pass_ms(60_000)
    assert net.machines[A].stage is net.machines[B].stage is Stage.MEMBER
    net.send(D, "later")
    net.heal()
    healed_ms = net.now_ms
    net.until_view("c#1", D, "e#1", A2, B2)
    assert net.now_ms - healed_ms <= 5_000
    assert net.delivered("c#1") == net.delivered(D) == net.delivered("e#1") == ["meanwhile", "later"]
    assert d2 not in net.machines
    assert e2 not in net.machines


def test_without_a_registry_those_who_were_known_are_asked_and_admit_it_once_it_can_be_noted() -> None:
    net = returning("a", "b", "c")
    net.registry_up = False
    net.cut_off.add(A)
    net.until_view(B, C)
    net.until(lambda: net.machines[A].detached)
    net.heal()
    net.until(lambda: any(frame.source == A2 and frame.target in (B, C) for frame in net.carried))
    net.pass_ms(10_000)
    assert net.members(B) == net.members(C) == {B, C}
    assert net.machines[A2].stage is Stage.ENTERING
    net.registry_up = True
    net.until_view(B, C, A2)
    assert net.machines[A2].instance == net.machines[B].instance == net.machines[A].instance


def test_a_registry_that_has_forgotten_the_group_does_not_make_it_twice() -> None:
    net = returning("a", "b", "c")
    net.cut_off.add(C)
    net.until(lambda: net.machines[C].detached)
    net.disk = type(net.disk)()
    net.start_registry()
    net.split("a b", "c registry")
    net.cut_off.clear()
    net.pass_ms(limits.START_GRACE_MS + 2 * limits.LEASE_MS)  # c has registered, and nobody else has
    d = net.start("d")
    net.pass_ms(2 * limits.LEASE_MS)
    assert net.members(C) == {A, B, C}
    assert net.machines[d].stage is Stage.ENTERING
    net.heal()
    net.until_view(A, B, C2, d)
    assert net.machines[C2].instance == net.machines[A].instance == net.machines[C].instance


@pytest.mark.parametrize("newcomer", [False, True])
def test_when_all_others_left_meanwhile_it_is_told_that_the_group_is_dissolved(newcomer: bool) -> None:
    """And is over for good, also where another one was founded under the name meanwhile."""
    net = returning("a", "b", "c")
    net.cut_off.add(C)
    net.until_view(A, B)
    net.leave(A)
    net.leave(B)
    net.until(lambda: net.machines[A].stage is net.machines[B].stage is Stage.ENDED)
    net.until(lambda: net.machines[C].detached)
    if newcomer:
        net.until_view(net.start("d"))
    net.heal()
    net.until(lambda: net.end(C) is not None)
    assert reason(net, C) == "dissolved"
    net.pass_ms(5_000)
    assert C2 not in net.machines
    if newcomer:
        assert net.members("d#1") == {"d#1"}
        assert net.machines["d#1"].instance != net.machines[C].instance


def test_a_name_that_another_took_meanwhile_ends_the_way_back() -> None:
    net = returning("a", "b", "c")
    net.cut_off.add(C)
    net.until(lambda: net.machines[C].detached)
    net.until_view(A, B)
    net.lose = lambda frame: {C, C2} & {frame.source, frame.target} != set()
    net.heal()
    other = net.start("c", "9")
    net.until(lambda: net.members(A) == {A, B, other})
    net.lose = lambda frame: False
    net.until(lambda: C2 in net.machines and net.machines[C2].stage is Stage.ENDED)
    (failed,) = net.of(C2, EntryFailed)
    assert failed.final
    assert isinstance(failed.error, NameTaken)
    assert net.members(A) == net.members(other) == {A, B, other}


def test_a_group_of_another_kind_under_the_name_is_not_entered() -> None:
    """Its registry forgot it, and gave the name to others."""
    net = returning("a", "b")
    net.cut_off.add(B)
    net.until_view(A)
    net.cut_off.add(A)
    net.disk = type(net.disk)()
    net.start_registry()
    net.definition = Definition.parse("g", "NONORDERED")
    net.until_view(net.start("x"))
    net.lose = lambda frame: {frame.source, frame.target} == {A, B2}
    net.split("a", "b x registry")
    net.cut_off.clear()
    net.handle(B, events.Replied(A, Refused("expelled", "the group goes on without it")))
    net.pass_ms(10_000)
    assert net.machines[B2].stage is Stage.ENTERING
    assert "ordering is FIFO, not NONORDERED" in net.machines[B2].waits_for


def test_one_that_was_in_and_out_again_before_it_knew_needs_another_identity() -> None:
    """1. C is admitted, and cut off before it hears of that. 2. It goes. 3. It asks again, as the process that went."""
    net = returning("a", "b")
    net.lose = lambda frame: frame.target == C and bool(frame.control)
    net.start("c")
    net.until(lambda: net.members(A) == net.members(B) == {A, B, C})
    net.lose = lambda frame: C in (frame.source, frame.target)
    net.until_view(A, B)
    net.lose = lambda frame: False
    leader = net.machines[A]._member
    assert leader
    leader._view_change.tombstones._gone[C] = 0  # as one that saw it install
    net.until(lambda: net.machines[C].stage is Stage.ENDED)
    assert isinstance(net.error(C), Detached)


def test_who_waits_for_a_member_that_does_not_answer_asks_the_next_too() -> None:
    net = returning("a", "b", "c", "d")
    net.cut_off.add(D)
    net.until_view(A, B, C)
    net.until(lambda: net.machines[D].detached)
    net.pause(A)
    net.heal()
    began_ms = net.now_ms
    net.until(lambda: any("d#2" in net.members(who) for who in (B, C)))
    assert net.now_ms - began_ms < 5_000


@pytest.mark.parametrize("seconds", [1, pytest.param(60, marks=pytest.mark.slow)])
def test_tries_are_spaced_out_but_never_far(seconds: int) -> None:
    net = returning("a", "b", "c")
    net.cut_off.add(C)
    net.until_view(A, B)
    net.split("a b", "c")
    net.cut_off.clear()
    net.until(lambda: C2 in net.machines)  # the registry says that it is out
    net.pass_ms(1_000 * seconds)
    asked = net.registry_asked[C2]
    net.pass_ms(10_000)
    assert net.machines[C2].stage is Stage.ENTERING
    assert 4 <= net.registry_asked[C2] - asked <= 6


def test_a_newcomer_begins_nothing_before_one_that_was_in_and_is_listed_again() -> None:
    """1. A puts B out, lets it in again, and dies. 2. B has not heard of it. 3. D finds A dead, and B no member."""
    net = returning("a", "b")
    net.cut_off.add(B)
    net.until(lambda: net.members(A) == {A})
    net.send(A, "alone")
    net.lose = lambda frame: any(isinstance(item, Install) for item in frame.control)
    net.heal()
    net.until(lambda: B2 in net.registered.members)
    net.kill(A)
    net.lose = lambda frame: False
    net.cuts = {("b", "registry")}  # B cannot claim for now
    d = net.start("d")
    net.pass_ms(10_000)
    assert not net.members(d), net.describe()
    assert B2 in net.machines[d].waits_for
    net.heal()
    net.until(lambda: len(net.members(d)) == 2)
    view = net.machines[d].view
    assert view is not None
    assert [name_of(member) for member in view.members] == ["b", "d"]


def test_a_newcomer_says_whom_it_waits_for_where_nobody_answers() -> None:
    net = returning("a", "b")
    net.kill(A)
    net.cut_off.add(B)
    d = net.start("d")
    said = f"{B} at b-1:1 to answer"
    net.until(lambda: net.machines[d].waits_for == said)
    net.heal()
    net.until(lambda: net.members(d) == {B, d})
