"""Scenarios 9 and 26 of the rivals' checklist: what one delivered before it died, and what is of another view."""

from __future__ import annotations

from itertools import combinations

import pytest

from gcom.core.messages import frames
from gcom.core.messages.effects import Deliver, Effect, Installed
from gcom.core.messages.frames import Frame
from gcom.core.messages.orders import Orders
from gcom.values import limits
from gcom.values.definition import Definition
from gcom.values.names import Process
from tests.core.making import A, B, C, D, E
from tests.core.network import Network

ALL = (A, B, C, D, E)


@pytest.mark.parametrize("ordering", [pytest.param("FIFO", marks=pytest.mark.slow), "TOTAL"])
@pytest.mark.parametrize("sender", [pytest.param(A, marks=pytest.mark.slow), C])
@pytest.mark.parametrize("reached", [*combinations(ALL, 2)], ids=lambda pair: "".join(who[0] for who in pair))
def test_scenario_09_who_delivers_first_dies_at_once_and_all_others_deliver_it_too(
    reached: tuple[Process, Process], sender: Process, ordering: str
) -> None:
    net = Network(Definition.parse("g", ordering, safe=True))
    net.form("a", "b", "c", "d", "e")
    net.lose = lambda frame: bool(frame.runs) and frame.source == sender and frame.target not in reached
    killed: list[Process] = []

    def kill_the_first_two(who: Process, effect: Effect) -> None:
        if isinstance(effect, Deliver) and len(killed) < 2:
            net.kill(who)
            killed.append(who)

    net.watch = kill_the_first_two
    net.send(sender, "safe")
    net.pass_ms(300)
    if not killed:  # nobody delivered it: no majority held it
        assert len({sender, *reached}) < 3
        net.lose = lambda frame: False
    net.until(lambda: bool(killed))
    net.lose = lambda frame: False
    rest = [who for who in ALL if who not in killed]
    net.until(lambda: all(net.delivered(who) == ["safe"] for who in rest if net.alive(who)))
    net.pass_ms(3_000)
    alive = {who for who in ALL if net.alive(who)}
    assert len(alive) == 3
    net.until_view(*alive)


def test_a_message_that_is_not_safe_may_be_delivered_by_its_dead_sender_alone() -> None:
    net = Network(Definition.parse("g", "FIFO"))
    net.form("a", "b", "c")
    net.watch = lambda who, effect: net.kill(who) if isinstance(effect, Deliver) and effect.run.sender == B else None
    net.send(B, "mine")
    net.until_view(A, C)
    assert (net.delivered(A), net.delivered(B), net.delivered(C)) == ([], ["mine"], [])


@pytest.mark.parametrize("ordering", ["FIFO", "CAUSAL", "TOTAL", "CAUSALTOTAL"])
@pytest.mark.parametrize("safe", [False, True])
def test_scenario_26_what_is_of_the_next_view_waits_for_who_is_not_in_it(ordering: str, safe: bool) -> None:
    net = Network(Definition.parse("g", ordering, safe=safe))
    net.form("a", "b", "c")
    net.send(A, "old")
    net.until(lambda: all(net.delivered(who) == ["old"] for who in (A, B, C)))
    net.lose = lambda frame: frame.target == C and any(isinstance(item, frames.Install) for item in frame.control)
    net.start("d")
    net.until(lambda: net.number(A) == net.number(B) == net.number(D) == 4)
    net.send(A, "new")
    net.pass_ms(300)
    ahead = Frame("g", net.machines[A].instance, A, C, net.machines[A]._status(C), (), ())
    run = net.machines[A]._member.streams.multicast.out.store.after(1, 10**6)  # type: ignore[union-attr]
    orders = Orders(4, 1, ((A, 2, 2),))
    net.arrive(Frame("g", ahead.instance, A, C, ahead.status, runs=tuple(run), orders=orders))
    assert (net.number(C), net.delivered(C)) == (3, ["old"])
    net.lose = lambda frame: False
    net.until(lambda: all(net.delivered(who)[-1:] == ["new"] for who in (A, B, C, D)))
    assert net.delivered(C) == ["old", "new"]
    assert [type(effect) for effect in net.effects[C] if isinstance(effect, Deliver | Installed)][-2:] == [
        Installed,
        Deliver,
    ]


@pytest.mark.parametrize("ordering", ["FIFO", "CAUSAL", "TOTAL", "CAUSALTOTAL"])
def test_scenario_26_what_is_of_the_last_view_brings_nothing_any_more(ordering: str) -> None:
    net = Network(Definition.parse("g", ordering))
    net.form("a", "b", "c")
    net.send(A, "1", "2")
    net.send(B, "3")
    net.until(lambda: all(len(net.delivered(who)) == 3 for who in (A, B, C)))
    old = [frame for frame in net.carried if frame.runs or frame.orders]
    assert old
    net.start("d")
    net.until_view(A, B, C, D)
    before = {who: list(net.effects[who]) for who in (A, B, C, D)}
    for frame in old:
        net.arrive(frame)
    net.pass_ms(1_000)
    for who in (A, B, C, D):
        fresh = net.effects[who][len(before[who]) :]
        assert not [effect for effect in fresh if isinstance(effect, Deliver)]
    net.send(D, "4")
    net.until(lambda: all(net.delivered(who)[-1:] == ["4"] for who in (A, B, C, D)))


def test_who_installs_late_counts_again_where_a_change_waits_for_it() -> None:
    """Found by simulation (seed 1352 of its time). 1. C is in the view of A and B, and paused before it knows. 2. B is
    paused too; A begins a change, and dies alone. 3. B runs again: C has not installed for so long that it
    is stuck, and A's PREPARE comes, which B promises. 4. C runs again, and installs. 5. If B's suspicion stayed since
    it has promised, B would wait for a quorum that it does not count, and C for B: for ever.
    """
    net = Network(Definition.parse("g", "FIFO"))
    net.form("a", "b")
    net.lose = lambda frame: frame.target == C and any(isinstance(item, frames.Install) for item in frame.control)
    net.start("c")
    net.until(lambda: net.number(A) == net.number(B) == 3)
    net.pass_ms(50)
    net.pause(C)
    net.pause(B)
    net.until(lambda: net.machines[A].detached)
    net.kill(A)
    net.pass_ms(limits.SILENCE_MS)
    prepare = frames.Prepare(3, (1, 0))
    status = net.machines[B]._status(A)._replace(view=3)
    net.resume(B)
    net.pass_ms(20)
    assert (C, "stuck") in net.suspected(B)
    net.arrive(Frame("g", net.machines[B].instance, A, B, status, (prepare,)))
    net.lose = lambda frame: False
    net.resume(C)
    net.until_view(B, C)
