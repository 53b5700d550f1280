"""Scenarios 15 to 20 of the rivals' checklist: the sequencer, or who asks it, goes away at the worst moment."""

from __future__ import annotations

from collections import Counter

import pytest

from gcom.core.messages import frames
from gcom.core.messages.effects import Deliver, Ended, Skip
from gcom.core.messages.orders import Orders
from gcom.core.messages.registry import GroupInfo, Lookup
from gcom.core.messages.sequencer import Open, Unknown, Want
from gcom.values import limits
from gcom.values.definition import Definition
from gcom.values.names import Process
from tests.core.making import A, B, C, D, E
from tests.core.network import Network

TOTAL = Definition.parse("g", "TOTAL")


def at_registry(net: Network, who: Process) -> bool:
    """Where a member's view has its sequencer."""
    member = net.machines[who]._member
    assert member is not None
    assert member.streams.serials is not None
    return member.streams.serials.at_registry


def stored(net: Network, who: Process, number: int) -> bool:
    """Whether all members have stored a message, be it without a place."""
    member = net.machines[who]._member
    assert member is not None
    return member.streams.multicast.lacking(number) == []


def one_line(net: Network, *members: Process) -> list[str | bytes]:
    """Return the one sequence that all of these have delivered, in the one order."""
    lines = [net.delivered(who) for who in members]
    assert lines == [lines[0]] * len(members)
    serials = [net.serials(who) for who in members]
    assert serials == [serials[0]] * len(members)
    assert [*serials[0]] == [*range(1, len(serials[0]) + 1)]
    return lines[0]


@pytest.mark.parametrize("asker", [A, B, C])
def test_scenario_15_the_sequencer_dies_between_giving_a_serial_and_telling_it(asker: Process) -> None:
    net = Network(TOTAL)
    members = net.form("a", "b", "c")
    net.send(A, "before")
    net.until(lambda: all(net.delivered(who) == ["before"] for who in members))
    net.lose_answer = lambda who, request: True
    net.send(asker, "mine")
    net.until(lambda: isinstance(net.asked[-1][2], Orders) and net.asked[-1][2].end == 2)  # given, and told nobody
    net.stop_registry()
    net.send(B, "another")
    net.until(lambda: all(len(net.delivered(who)) == 3 for who in members), 2_000)
    assert sorted(map(str, one_line(net, *members))) == ["another", "before", "mine"]
    assert not at_registry(net, A)
    assert net.serials(A)[1] == (A, 1)


def test_the_last_member_delivers_what_has_no_serial_yet_before_it_leaves() -> None:
    """As a leaver does beside others: what it sent is delivered, or its Departure says that it was not."""
    net = Network(TOTAL)
    net.form("a")
    net.send(A, "before")
    net.until(lambda: net.delivered(A) == ["before"])
    net.sequencer_paused = True
    net.send(A, "one", "two")
    assert net.delivered(A) == ["before"]
    net.leave(A)
    assert net.delivered(A) == ["before", "one", "two"]
    assert isinstance(net.effects[A][-1], Ended)
    assert list(net.serials(A)) == [1, 2, 3]


@pytest.mark.parametrize("ordering", ["TOTAL", "CAUSALTOTAL"])
def test_scenario_16_a_serial_whose_sender_died_before_it_sent_is_skipped_by_all_in_one_place(ordering: str) -> None:
    net = Network(Definition.parse("g", ordering))
    net.form("a", "b", "c")
    net.lose = lambda frame: bool(frame.runs) and frame.source == C
    net.send(C, "unheard", "unheard, too")
    net.until(lambda: isinstance(net.asked[-1][2], Orders) and net.asked[-1][2].end == 2)  # they have their serials
    net.send(A, "after it")
    net.pass_ms(200)
    assert net.delivered(C) == ["unheard", "unheard, too", "after it"]  # it holds its own
    assert net.delivered(A) == net.delivered(B) == []
    net.kill(C)
    net.until_view(A, B)
    for who in (A, B):
        ups = [effect for effect in net.effects[who] if isinstance(effect, Deliver | Skip)]
        assert ups[0] == Skip(C, 1, 2, 3, 1)
        assert net.serials(who) == {1: (C, 1), 2: (C, 2), 3: (A, 1)}
    net.send(B, "goes on")
    net.until(lambda: net.delivered(A) == net.delivered(B) == ["after it", "goes on"])
    assert net.serials(A)[4] == (B, 1)


def test_scenario_17_five_threads_send_in_turn_while_the_sequencer_dies_at_the_registry() -> None:
    net = Network(TOTAL)
    net.form("a", "b", "c")
    rounds = [[f"{turn}. of {thread}" for thread in range(5)] for turn in range(4)]
    for turn, texts in enumerate(rounds):
        for text in texts:
            net.send(C, text)
            net.step()
            if turn == 1:
                net.stop_registry()
    net.until(lambda: all(len(net.delivered(who)) == 20 for who in (A, B, C)))
    assert one_line(net, A, B, C) == [text for texts in rounds for text in texts]


def test_scenario_17_five_threads_send_in_turn_while_the_sequencing_leader_dies() -> None:
    net = Network(TOTAL)
    net.form("a", "b", "c", "d")
    net.stop_registry()
    net.send(B, "first")
    net.until(lambda: net.delivered(D) == ["first"])
    assert not at_registry(net, D)
    rounds = [[f"{turn}. of {thread}" for thread in range(5)] for turn in range(4)]
    for turn, texts in enumerate(rounds):
        for text in texts:
            net.send(C, text)
            net.send(D, f"D's {text}")
            net.step()
        if turn == 1:
            net.kill(A)  # what it ordered last may have reached nobody
    net.until(lambda: all(len(net.delivered(who)) == 41 for who in (B, C, D)))
    line = one_line(net, B, C, D)
    assert [text for text in line if str(text)[0].isdigit()] == [text for texts in rounds for text in texts]


def test_scenario_18_a_sequencing_leader_that_was_paused_orders_nothing_more() -> None:
    net = Network(TOTAL)
    net.form("a", "b", "c")
    net.stop_registry()
    net.send(A, "first")
    net.until(lambda: all(net.delivered(who) == ["first"] for who in (A, B, C)))
    net.send(A, "in the old view")
    net.pause(A)
    net.pass_ms(limits.SILENCE_MS + 1_000)
    assert net.members(B) == net.members(C) == {B, C}
    net.send(B, "in the new view")
    net.until(lambda: net.delivered(C) == ["first", "in the new view"])
    late = [frame for frame in net.carried if frame.source == A and frame.orders]
    net.resume(A)
    net.until(lambda: net.end(A) is not None)
    for frame in late:
        net.arrive(frame)
    net.pass_ms(500)
    assert one_line(net, B, C) == ["first", "in the new view"]
    assert net.delivered(A)[0] == "first"
    assert "in the new view" not in net.delivered(A)


def test_scenario_18_an_answer_that_a_paused_registry_gives_late_is_of_a_view_that_is_over() -> None:
    net = Network(TOTAL)
    members = net.form("a", "b", "c")
    net.lose_answer = lambda who, request: who == B and isinstance(request, Want)  # it will come ten seconds late
    net.send(B, "slow")
    net.until(lambda: all(net.delivered(who) == ["slow"] for who in members))
    assert not at_registry(net, B)
    late = [(request, answer) for who, request, answer in net.asked if who == B and isinstance(answer, Orders)]
    assert len(late) > 1  # it asked again, for a while
    net.lose_answer = lambda who, request: False
    net.send(C, "order of the leader")
    net.until(lambda: all(len(net.delivered(who)) == 2 for who in members))
    for who in members:
        for request, answer in late:
            net.answered(who, request, answer)
    net.send(A, "goes on")
    net.until(lambda: all(len(net.delivered(who)) == 3 for who in members))
    assert one_line(net, *members) == ["slow", "order of the leader", "goes on"]


def test_a_run_and_its_order_go_in_one_frame() -> None:
    net = Network(TOTAL)
    members = net.form("a", "b", "c")
    net.send(B, "b1")
    net.until(lambda: all(net.delivered(who) == ["b1"] for who in members))
    with_runs: list[frames.Frame] = []

    def is_lost(frame: frames.Frame) -> bool:
        with_runs.extend([frame] if frame.source == B and frame.runs else [])
        return False

    net.lose = is_lost
    net.send(B, "b2")
    net.until(lambda: all(net.delivered(who) == ["b1", "b2"] for who in members))
    assert sorted(frame.target for frame in with_runs) == [A, C]
    assert all(frame.orders and frame.orders.spans == ((B, 2, 2),) for frame in with_runs)


def test_a_run_does_not_wait_for_a_sequencer_that_is_slow() -> None:
    """1. The sequencer is paused. 2. A sends, and dies. 3. What A sent must not have waited here alone."""
    net = Network(TOTAL)
    members = net.form("a", "b", "c")
    net.send(A, "a1")
    net.until(lambda: all(net.delivered(who) == ["a1"] for who in members))
    net.sequencer_paused = True
    net.send(A, "a2")
    net.until(lambda: stored(net, A, 2), 2 * limits.HEARTBEAT_MS)
    assert net.delivered(B) == ["a1"]
    net.kill(A)
    net.until(lambda: net.delivered(B) == net.delivered(C) == ["a1", "a2"])


def test_one_answer_that_is_lost_costs_a_moment_and_no_view() -> None:
    net = Network(TOTAL)
    members = net.form("a", "b", "c")
    asked: Counter[Process] = Counter()

    def is_first(who: Process) -> bool:
        asked[who] += 1
        return asked[who] == 1

    net.lose_answer = lambda who, request: is_first(who)
    for who in members:
        net.send(who, f"of {who}")
    net.until(lambda: all(len(net.delivered(who)) == 3 for who in members), limits.SEQUENCER_GRACE_MS)
    assert set(asked) == set(members)
    assert [net.number(who) for who in members] == [3, 3, 3]
    assert at_registry(net, A)


def test_scenario_19_a_registry_that_starts_again_goes_on_above_the_highest_serial() -> None:
    net = Network(TOTAL)
    members = net.form("a", "b", "c")
    for index in range(5):
        net.send(members[index % 3], f"before {index}")
    net.until(lambda: all(len(net.delivered(who)) == 5 for who in members))
    net.start_registry()
    net.send(B, "as it is away")
    net.until(lambda: all(len(net.delivered(who)) == 6 for who in members), 3_000)
    assert not at_registry(net, A)
    asked = [(who, answer) for who, request, answer in net.asked if isinstance(request, Want) and who == B]
    assert Unknown() in [answer for _, answer in asked]
    net.until(lambda: all(at_registry(net, who) for who in members), limits.RETURN_MS + 5_000)
    net.send(C, "as it is back")
    net.until(lambda: all(len(net.delivered(who)) == 7 for who in members))
    assert [*net.serials(A)] == [1, 2, 3, 4, 5, 6, 7]
    opened = [request for _, request, _ in net.asked if isinstance(request, Open)]
    assert opened[-1].serial == 6
    assert opened[-1].settled == {A: 2, B: 3, C: 1}
    assert one_line(net, *members)[-2:] == ["as it is away", "as it is back"]


@pytest.mark.slow
def test_scenario_20_without_a_registry_for_a_minute_members_go_on_and_elect() -> None:
    net = Network(TOTAL)
    net.form("a", "b", "c", "d", "e")
    net.stop_registry()
    for second in range(60):
        net.send(B, f"second {second}")
        if second == 20:
            net.kill(A)
        if second == 40:
            net.leave(E)
        net.pass_ms(1_000)
    members = (B, C, D)
    net.until(lambda: all(len(net.delivered(who)) == 60 for who in members))
    assert one_line(net, *members) == [f"second {second}" for second in range(60)]
    assert net.members(C) == set(members)
    end = net.end(E)
    assert end is not None
    assert end.settled is not None
    net.start_registry()
    net.until(lambda: all(at_registry(net, who) for who in members), limits.RETURN_MS + 5_000)
    entry = net.directory.ask(Lookup("g"), net.now_ms)
    assert isinstance(entry, GroupInfo)
    assert (entry.members, entry.view, entry.alive) == (members, net.number(B), True)
    late = net.start("late")
    net.until_view(*members, late)
    net.send(late, "hello")
    net.until(lambda: all(net.delivered(who)[-1] == "hello" for who in (*members, late)))
    assert net.serials(late) == {61: (late, 1)}


def test_the_order_goes_back_to_the_registry_only_when_all_reach_it() -> None:
    net = Network(TOTAL)
    members = net.form("a", "b", "c")
    net.split("registry", "c")
    net.send(C, "c reaches nobody who orders")
    net.until(lambda: all(net.delivered(who) for who in members))
    net.pass_ms(2 * limits.RETURN_MS)
    assert not any(at_registry(net, who) for who in members)
    views = net.number(A)
    net.heal()
    net.until(lambda: all(at_registry(net, who) for who in members), limits.RETURN_MS + 5_000)
    assert net.number(A) == views + 1
    net.send(C, "now it does")
    net.until(lambda: all(len(net.delivered(who)) == 2 for who in members))


def test_the_last_member_closes_its_order_at_the_sequencer() -> None:
    net = Network(TOTAL)
    net.form("a", "b")
    net.leave(A)
    net.until(lambda: net.members(B) == {B})
    net.leave(B)
    net.until(lambda: net.end(B) is not None)
    instance = net.machines[B].instance
    assert net.sequencer.ask(Want("g", instance, net.number(B), B, 1, 0, 0)) == Unknown()


def test_a_joiner_is_told_after_which_serial_it_begins() -> None:
    net = Network(TOTAL)
    net.form("a", "b")
    net.send(A, "1", "2", "3")
    net.until(lambda: len(net.delivered(B)) == 3)
    net.start("c")
    net.until_view(A, B, C)
    assert [view.base_serial for view in net.views(C)] == [3]
    net.send(C, "4")
    net.until(lambda: all(net.serials(who).get(4) == (C, 1) for who in (A, B, C)))
    assert [*net.serials(C)] == [4]


def test_a_joiner_that_hears_of_its_view_by_another_is_told_the_serial_too() -> None:
    net = Network(TOTAL)
    net.form("a", "b")
    net.send(A, "1", "2")
    net.until(lambda: len(net.delivered(B)) == 2)
    net.lose = lambda frame: (
        frame.target == C and any(isinstance(item, frames.Install) for item in frame.control) and (frame.source == A)
    )
    net.start("c")
    net.until(lambda: bool(net.views(C)))
    assert [view.base_serial for view in net.views(C)] == [2]
