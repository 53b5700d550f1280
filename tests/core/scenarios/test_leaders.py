"""Scenarios 31 and 32 of the rivals' checklist: leaders that die in turn, and two that both believe they lead.

The network's checkers see every step: a number stands for one view, whoever installs it.
"""

from __future__ import annotations

from itertools import permutations, product

import pytest

from gcom.core.membership.consensus import Consensus
from gcom.core.messages import frames
from gcom.core.messages.frames import Control, Frame
from gcom.core.messages.registry import GroupInfo, Lookup, Register, Request
from gcom.values import limits, lineage
from gcom.values.definition import Definition
from gcom.values.names import Process
from gcom.values.view import View
from tests.core.making import A, B, C, D, E
from tests.core.network import Network

TOTAL = Definition.parse("g", "TOTAL")
STEPS: tuple[type[Control], ...] = (frames.Prepare, frames.Cut, frames.Install)


def says(frame: Frame, who: Process, kind: type[Control]) -> bool:
    return frame.source == who and any(isinstance(item, kind) for item in frame.control)


def with_last_words(*names: str) -> tuple[Network, list[Process]]:
    """A total order, whose leader has just sent what only the last member has."""
    net = Network(TOTAL)
    net.returning = True
    members = net.form(*names)
    net.pass_ms(500)
    net.lose = lambda frame: bool(frame.runs) and frame.source == A and frame.target != members[-1]
    net.send(A, "last words")
    net.until(lambda: net.delivered(members[-1]) == ["last words"])
    net.carried.clear()
    return net, members


def one_line(net: Network, *members: Process) -> list[object]:
    """Return the one sequence that all of these have delivered, under the same serials."""
    assert all(net.serials(who) == net.serials(members[0]) for who in members)
    assert all(net.delivered(who) == net.delivered(members[0]) for who in members)
    return [*net.delivered(members[0])]


def seen(net: Network) -> dict[int, View]:
    """Every view that anybody installed, the dead too, in order."""
    return dict(sorted((it.view.number, it.view) for who in net.machines for it in net.views(who)))


# the leader dies, and its successors in turn


@pytest.mark.parametrize(
    "reached", [1, pytest.param(2, marks=pytest.mark.slow), pytest.param(4, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("steps", [*permutations(STEPS)], ids=lambda steps: "-".join(step.__name__ for step in steps))
def test_scenario_31_each_successor_dies_at_another_step_of_its_change(
    steps: tuple[type[Control], ...], reached: int
) -> None:
    """Of nine the leader dies, and B, C and D in turn, each when one step of its change has reached so many."""
    net, members = with_last_words(*"abcdefghi")
    for successor, step in zip((B, C, D), steps, strict=True):
        net.kill_after(successor, step, reached)
    net.kill(A)
    left = members[4:]
    net.until_view(*left)
    assert not any(net.alive(who) for who in (B, C, D))
    assert all(any(says(frame, who, step) for frame in net.carried) for who, step in zip((B, C, D), steps, strict=True))
    assert {net.machines[who].instance for who in left} == {net.machines[A].instance}
    net.send(left[0], "on we go")
    net.until(lambda: all(net.delivered(who)[-1] == "on we go" for who in left))
    assert one_line(net, *left) == ["last words", "on we go"]
    ranks = [members.index(each.leader) for each in seen(net).values()]
    assert ranks == sorted(ranks)
    assert net.views(left[0])[-1].view.leader == left[0]


@pytest.mark.parametrize("reached", [1, 2])
@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.__name__)
def test_scenario_31_all_leaders_die_until_a_successor_instance_goes_on(step: type[Control], reached: int) -> None:
    """Of five A, B and C die in turn; D and E are no quorum, and go on as a successor. Then D dies, and E is left."""
    net, members = with_last_words(*"abcde")
    instance = net.machines[A].instance
    net.kill_after(B, step, reached)
    net.kill(A)
    net.until(lambda: not net.alive(B))
    net.kill_after(C, step, 1)
    net.until(lambda: not net.alive(C))
    net.until_view(D, E)
    net.send(D, "for two")
    net.until(lambda: net.delivered(D)[-1] == net.delivered(E)[-1] == "for two")
    assert one_line(net, D, E) == ["last words", "for two"]
    assert net.machines[D].instance == net.machines[E].instance
    net.kill(D)
    net.until_view(E)
    assert lineage.descends(net.machines[E].instance, instance)
    net.send(E, "for one")
    net.until(lambda: net.delivered(E)[-1] == "for one")
    assert [*net.serials(E)] == [1, 2, 3]
    again = [net.start(who[0], "7") for who in members[:4]]
    net.until_view(E, *again)


# two that both believe they lead


def change(net: Network, who: Process) -> Consensus:
    member = net.machines[who]._member
    assert member is not None
    return member._view_change.consensus


def stall(net: Network, who: Process, step: type[Control], told: Process) -> None:
    """Run until a proposer has come to a step of its change, and go on so: of the others only `told` hears of it."""
    tried: set[Process] = set()

    def is_lost(frame: Frame) -> bool:
        if not says(frame, who, step):
            return False
        tried.add(frame.target)
        return frame.target != told

    net.lose = is_lost
    net.until(lambda: bool(tried) and tried >= {peer for peer in net.members(who) if net.members(peer)} - {who, A, E})


def nacks(net: Network, who: Process) -> list[frames.Nack]:
    """Record the refusals that tell a proposer of a higher ballot, from now on."""
    told: list[frames.Nack] = []

    def is_lost(reply: Frame) -> bool:
        told.extend(item for item in reply.control if isinstance(item, frames.Nack) and reply.target == who)
        return False

    net.lose_reply = is_lost
    return told


@pytest.mark.parametrize("apart", [False, True], ids=["together", "apart"])
@pytest.mark.parametrize("told", [pytest.param("", id="nobody"), pytest.param(C, id="one", marks=pytest.mark.slow)])
@pytest.mark.parametrize(("first", "second"), [*product(STEPS[:2], STEPS)], ids=lambda step: step.__name__)
def test_scenario_32_a_leader_wakes_while_its_successor_decides_too(
    first: type[Control], second: type[Control], told: Process, apart: bool
) -> None:
    """1. E leaves; A proposes a view, and is paused at a step of that. 2. B proposes another, and comes to some step.
    3. A wakes, and goes on with its own; `apart`, it hears nothing of B and of the only one who knows what B decided.
    4. All hear each other, and what either said before arrives again.
    """
    net = Network(TOTAL)
    net.returning = True
    net.form(*"abcde")
    net.pass_ms(500)
    net.leave(E)
    stall(net, A, first, told)
    net.send(A, "of the first")
    net.pause(A)
    net.send(B, "of the second")
    net.carried.clear()
    stall(net, B, second, D)
    refused = nacks(net, A)
    if apart:
        net.split("a c e registry", "b d")
    net.resume(A)
    assert change(net, A).proposing
    assert change(net, B).proposing or net.number(B) == 6
    net.pass_ms(limits.SILENCE_MAX_MS + 2_000 if apart else 300)
    assert refused or second is not frames.Cut, "nobody told A of the higher ballot"
    net.lose = lambda frame: False
    net.heal()
    net.until(lambda: are_one(net, A, B, C, D))
    for frame in [frame for frame in net.carried if frame.control]:
        net.arrive(frame)
    net.send(net.latest(C), "after all")
    net.until(lambda: all("after all" in net.delivered(net.latest(who)) for who in (A, B, C, D)))
    assert are_one(net, A, B, C, D)
    net.until(lambda: net.end(E) is not None)
    assert net.instances_alive == 1


def are_one(net: Network, *members: Process) -> bool:
    """Whether these are in one view, as what they are by now; what they have of the order is the same."""
    now = [net.latest(who) for who in members]
    serials: dict[int, tuple[Process, int]] = {}
    for who in now:
        assert all(serials.setdefault(*item) == item[1] for item in net.serials(who).items())
    return all(net.members(who) == set(now) for who in now)


def test_scenario_32_the_registry_keeps_the_later_of_two_leaders_views() -> None:
    net = Network(TOTAL)
    net.returning = True
    net.form("a", "b", "c")
    net.pause(A)
    net.until_view(B, C)
    net.split("a", "b c")
    asked: list[Request] = []

    def note(who: Process, request: Request) -> bool:
        asked.extend([request] if who == A else [])
        return False

    net.answers_lost = note
    net.resume(A)
    net.send(A, "of a former leader")
    for _ in range(2 * limits.LEASE_MS // 100):
        net.pass_ms(100)
        entry = net.directory.ask(Lookup("g"), net.now_ms)
        assert isinstance(entry, GroupInfo)
        assert (entry.view, entry.members, entry.alive) == (4, (B, C), True)
    assert next(request.view.leader for request in asked if isinstance(request, Register)) == A
    assert all(net.members(who) == {B, C} for who in (B, C))
    net.heal()
    net.until(lambda: all(net.members(who) == {B, C, net.latest(A)} for who in (B, C, net.latest(A))))
    assert "of a former leader" not in net.delivered(B)
