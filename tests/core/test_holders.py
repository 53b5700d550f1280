"""Who is named as a holder of a message has it whatever becomes of the others (gcom/core/holders.py)."""

from __future__ import annotations

import pytest

from gcom.core.messages.frames import Frame
from gcom.values import limits
from gcom.values.definition import Definition
from tests.core.making import A, B, C, D, E
from tests.core.network import Network


@pytest.mark.parametrize("ordering", ["TOTAL", "CAUSALTOTAL"])
@pytest.mark.parametrize("safe", [False, True])
@pytest.mark.parametrize("keeps", [B, C, D])
def test_the_one_holder_that_is_left_has_the_message(ordering: str, safe: bool, keeps: str) -> None:
    """1. `a` sends. 2. As soon as another is named as a holder, all but that one die. 3. It begins a successor."""
    net = Network(Definition.parse("g", ordering, safe=safe))
    members = net.form("a", "b", "c", "d")
    net.pass_ms(limits.HEARTBEAT_MS)
    net.send(A, "one")
    net.until(lambda: keeps not in net.machines[A].lacking(1))
    for member in set(members) - {keeps}:
        net.kill(member)
    net.until(lambda: "one" in net.delivered(keeps) or net.skipped(keeps) > 0, 10_000)
    assert net.delivered(keeps) == ["one"]


@pytest.mark.parametrize("ordering", ["CAUSAL", "CAUSALTOTAL"])
def test_who_lacks_what_a_message_follows_is_no_holder_of_it(ordering: str) -> None:
    """1. What `b` sends reaches `a` alone. 2. `a` delivers it, and sends. 3. All hold that, and none may deliver it."""
    net = Network(Definition.parse("g", ordering))
    members = net.form("a", "b", "c", "d", "e")
    net.pass_ms(limits.HEARTBEAT_MS)

    def is_lost(frame: Frame) -> bool:
        return frame.source == B and frame.target in (C, D, E)

    net.lose = is_lost
    net.send(B, "first")
    net.until(lambda: net.delivered(A) == ["first"])
    net.send(A, "second")
    streams = net.machines[A]._member.streams.multicast  # type: ignore[union-attr]
    net.until(lambda: not {C, D, E} & {*streams.lacking(1)})
    assert {C, D, E} <= {*net.machines[A].lacking(1)}
    net.lose = lambda frame: False
    net.until(lambda: net.machines[A].lacking(1) == [])
    net.until(lambda: all(net.delivered(who) == ["first", "second"] for who in members))


def test_who_has_read_a_message_is_a_holder_though_another_is_silent() -> None:
    """1. `e` sleeps, so nothing becomes stable. 2. `c` and `d` read what `a` sends: they had what it follows."""
    net = Network(Definition.parse("g", "CAUSAL"))
    net.form("a", "b", "c", "d", "e")
    net.pass_ms(limits.HEARTBEAT_MS)
    net.pause(E)
    net.send(B, "first")
    net.until(lambda: net.delivered(A) == ["first"])
    net.send(A, "second")
    net.until(lambda: net.machines[A].lacking(1) == [E], limits.SILENCE_MIN_MS)


@pytest.mark.parametrize("ordering", ["FIFO", "TOTAL"])
def test_a_newcomer_is_no_holder_of_what_was_sent_before(ordering: str) -> None:
    """1. `a` sends, and the ack of `b` is not here. 2. `b` dies, and `c` comes. 3. `c` has never had the message."""
    net = Network(Definition.parse("g", ordering))
    net.form("a", "b")
    net.pause(B)
    net.send(A, "one")
    net.until(lambda: net.machines[A].number == 1)
    assert B in net.machines[A].lacking(1)
    net.kill(B)
    net.start("c")
    net.until(lambda: net.members(A) == {A, C})
    net.until(lambda: net.machines[A].lacking(1) == [])
    assert net.machines[A].newcomers(1) == [C]
    net.send(A, "two")
    net.until(lambda: net.machines[A].lacking(2) == [])
    assert net.machines[A].newcomers(2) == []


def test_a_sender_holds_its_own_message_once_it_knows_the_place() -> None:
    """1. The sequencer's answers are lost. 2. `a` sends: if all others died, nobody could say where that belongs."""
    net = Network(Definition.parse("g", "TOTAL"))
    net.form("a", "b", "c")
    net.pass_ms(limits.HEARTBEAT_MS)
    net.lose_answer = lambda who, request: True
    net.send(A, "one")
    net.until(lambda: net.machines[A].number == 1)
    assert A in net.machines[A].lacking(1)
    net.lose_answer = lambda who, request: False
    net.until(lambda: net.machines[A].lacking(1) == [])


@pytest.mark.parametrize("ordering", ["TOTAL", "CAUSALTOTAL"])
def test_a_holder_stays_one_when_a_later_message_gets_its_place(ordering: str) -> None:
    net = Network(Definition.parse("g", ordering))
    net.form("a", "b", "c", "d", "e")
    net.slow = {B, C, D, E}  # else that they have read it says all
    net.send(A, "one")
    net.until(lambda: net.machines[A].lacking(1) == [])
    net.send(A, "two")

    def placed() -> bool:
        assert net.machines[A].lacking(1) == []
        return net.machines[A].placed(2)

    net.until(placed)


@pytest.mark.parametrize("multicast", ["BASIC", "RELIABLE"])
def test_what_a_message_follows_is_forgotten_though_nobody_asks(multicast: str) -> None:
    """1. Two answer each other for long, in one view. 2. Neither asks who holds what."""
    net = Network(Definition.parse("g", "CAUSAL", multicast))
    net.form("a", "b", "c")
    net.pass_ms(limits.HEARTBEAT_MS)
    for number in range(1, 51):
        net.send(B, f"b{number}")
        net.until(lambda number=number: net.delivered(A)[-1:] == [f"b{number}"])  # type: ignore[misc]
        net.send(A, f"a{number}")
        net.until(lambda number=number: net.delivered(B)[-1:] == [f"a{number}"])  # type: ignore[misc]
    member = net.machines[A]._member
    assert member is not None
    assert len(member.streams.holders._pasts) < 10
