"""The cost of a message in frames, where nobody fails and little is sent: O(N), in every order (ARCHITECTURE 5, 6)."""

from __future__ import annotations

from itertools import permutations

import pytest

from gcom.core.messages import events
from gcom.core.messages.effects import Sent
from gcom.values import limits
from gcom.values.definition import Definition
from tests.core.making import A, B, C
from tests.core.network import STEP_MS, Network

MESSAGES = 20
APART_MS = 20  # time enough for each to be delivered before the next: nothing shares a frame
HEARTBEATS = 3  # of each link in that time


@pytest.mark.parametrize("count", [2, 3, 4, 9])
@pytest.mark.parametrize(
    ("ordering", "safe", "rounds"),
    [
        ("NONORDERED", False, 1),  # the message, to each of the others
        ("FIFO", False, 1),
        ("CAUSAL", False, 1),
        ("FIFO", True, 2),  # and that a majority holds it
        ("TOTAL", False, 3),  # and its serial, and that a majority holds that
        ("CAUSALTOTAL", False, 3),
        ("CAUSALTOTAL", True, 3),  # the frames of the order say what is held, too
    ],
)
def test_a_message_costs_so_many_frames_to_each_member(ordering: str, safe: bool, rounds: int, count: int) -> None:
    network = Network(Definition.parse("g", ordering, "RELIABLE", safe=safe))
    members = network.form(*[f"m{place:02}" for place in range(count)])
    network.pass_ms(500)
    before = len(network.carried)
    for number in range(MESSAGES):
        network.send(members[number % count], b"x")
        network.pass_ms(APART_MS)
    assert all(len(network.delivered(who)) == MESSAGES for who in members)
    links = count * (count - 1)
    assert len(network.carried) - before <= MESSAGES * rounds * (count - 1) + HEARTBEATS * links


IDLE_MS = 10_000


@pytest.mark.slow
@pytest.mark.parametrize("ordering", ["FIFO", "CAUSALTOTAL"])
@pytest.mark.parametrize("count", [2, 3, 5, 9])
def test_an_idle_pair_has_one_exchange_a_heartbeat_and_both_hear_each_other(ordering: str, count: int) -> None:
    network = Network(Definition.parse("g", ordering))
    members = network.form(*[f"m{place:02}" for place in range(count)])
    network.pass_ms(1000)
    before = len(network.carried)
    heard = dict.fromkeys(permutations(members, 2), network.now_ms)
    longest_ms = 0
    for _ in range(IDLE_MS // STEP_MS):
        seen = len(network.carried)
        network.step()
        for frame in network.carried[seen:]:  # a call says how its caller is, and its reply how the other one is
            for pair in ((frame.source, frame.target), (frame.target, frame.source)):
                longest_ms = max(longest_ms, network.now_ms - heard[pair])
                heard[pair] = network.now_ms
    pairs = count * (count - 1) // 2
    periods = IDLE_MS / (limits.HEARTBEAT_MS - limits.HEARTBEAT_LEAD_MS) + 1
    assert len(network.carried) - before <= pairs * periods
    assert longest_ms <= limits.HEARTBEAT_MS
    assert not any(network.suspected(who) for who in members)


@pytest.mark.parametrize("after_ms", range(0, limits.HEARTBEAT_MS, 25))
@pytest.mark.parametrize("dead", [0, 1, 2])
def test_a_crash_in_an_idle_group_is_found_with_the_next_heartbeat(dead: int, after_ms: int) -> None:
    network = Network(Definition.parse("g"))
    members = network.form("a", "b", "c")
    network.pass_ms(1000 + after_ms)
    gone = members.pop(dead)
    network.kill(gone)
    network.pass_ms(limits.HEARTBEAT_MS + 2 * STEP_MS)  # and a redial
    assert [network.suspected(who) for who in members] == [[(gone, "dead")]] * 2


@pytest.mark.parametrize(("ordering", "woken"), [("FIFO", [C]), ("TOTAL", [])])
def test_a_run_that_is_formed_wakes_the_other_links_unless_it_waits_for_its_order(
    ordering: str, woken: list[str]
) -> None:
    network = Network(Definition.parse("g", ordering))
    network.form("a", "b", "c")
    network.send(A, "so that the sequencer has answered in this view")
    network.pass_ms(500)
    machine = network.machines[A]
    machine.handle(events.Submit(["a message"]), network.now_ms)
    assert sorted(machine.woken()) == [B, C]
    frame, effects = machine.take(B, network.now_ms)
    assert [type(effect) for effect in effects if isinstance(effect, Sent)] == [Sent]
    assert (frame is None) == (ordering == "TOTAL")
    assert machine.woken() == woken
