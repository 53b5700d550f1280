"""Traces 4, 5, 6, 9 and 14 of those that broke earlier sketches of the protocols; what each must end in is exact."""

from __future__ import annotations

import pytest

from gcom.core.messages.effects import Ended, Sent, Skip
from gcom.core.messages.frames import Frame
from gcom.core.messages.orders import Orders
from gcom.core.messages.sequencer import Open, Unknown, Want
from gcom.values import limits
from gcom.values.definition import Definition
from gcom.values.names import Process
from tests.core.making import A, B, C, D, E
from tests.core.network import Network


def give_serials(net: Network, *askers: Process) -> dict[Process, Orders]:
    """Let the paused sequencer take what these have asked, in this order; its answers reach nobody yet."""
    answers: dict[Process, Orders] = {}
    for who in askers:
        (request,) = [request for one, request in net.waiting if one == who and isinstance(request, Want)]
        answer = net.sequencer.ask(request)
        assert isinstance(answer, Orders)
        answers[who] = answer
    return answers


def tell(net: Network, who: Process, answer: Orders) -> None:
    (request,) = [request for one, request in net.waiting if one == who and isinstance(request, Want)]
    net.answered(who, request, answer)


@pytest.mark.parametrize("ordering", ["TOTAL", "CAUSALTOTAL"])
def test_trace_04_an_order_that_only_a_minority_heard_of_is_delivered_by_nobody(ordering: str) -> None:
    """1. a1 and b1 reach all, and have no serials. 2. The net parts: A and the registry here, B and C there. 3. The
    registry orders b1 before a1, and only A hears. 4. B and C go on without it, and order by rank: a1, b1. 5. So A must
    not have delivered b1 first.
    """
    net = Network(Definition.parse("g", ordering))
    net.form("a", "b", "c")
    net.sequencer_paused = True
    net.send(A, "a1")
    net.send(B, "b1")
    net.pass_ms(2 * limits.HEARTBEAT_MS)  # by then they wait for no serials any more
    net.split("a registry", "b c")
    heard = give_serials(net, B, A)[A]
    assert heard.spans == ((B, 1, 1), (A, 1, 1))
    tell(net, A, heard)
    net.until_view(B, C)
    assert net.delivered(A) == []
    assert net.delivered(B) == net.delivered(C) == ["a1", "b1"]
    assert net.serials(B) == net.serials(C) == {1: (A, 1), 2: (B, 1)}
    net.until(lambda: net.machines[A].detached)
    net.heal()
    net.until(lambda: net.end(A) is not None)
    assert net.delivered(A) == []
    assert net.end(A) == Ended(3, "expelled", arrived=1)  # all who go on have delivered it


def test_trace_04_nobody_sends_a_reply_to_what_only_it_holds_the_order_of() -> None:
    """1. a1 and b1 are here and there; A alone hears that b1 is first. 2. If it delivered b1, its next message would
    have b1 in its past. 3. A and the registry die, and the rest put a1 before b1.
    """
    net = Network(Definition.parse("g", "CAUSALTOTAL"))
    net.form("a", "b", "c")
    net.sequencer_paused = True
    net.send(A, "a1")
    net.send(B, "b1")
    net.pass_ms(2 * limits.HEARTBEAT_MS)
    net.lose = lambda frame: frame.source == A
    tell(net, A, give_serials(net, B, A)[A])
    net.send(A, "a2")
    net.until(lambda: len(net.of(A, Sent)) == 2)
    assert net.delivered(A) == []
    assert net.of(A, Sent)[1].run.clock == {}
    net.kill(A)
    net.until_view(B, C)
    assert net.delivered(B) == net.delivered(C) == ["a1", "b1"]
    assert net.serials(B) == net.serials(C) == {1: (A, 1), 2: (B, 1)}


def test_trace_05_a_sequencer_that_restarts_within_a_view_gives_no_serial_again() -> None:
    """1. a1 and b1 have serials 1 and 2. 2. The registry restarts. 3. B wants serials for its messages up to 3: a
    sequencer that knew how far it was, and not how far each sender, would order b1 again.
    """
    net = Network(Definition.parse("g", "TOTAL"))
    members = net.form("a", "b", "c")
    net.send(A, "a1")
    net.until(lambda: all(net.delivered(who) == ["a1"] for who in members))
    net.send(B, "b1")
    net.until(lambda: all(net.delivered(who) == ["a1", "b1"] for who in members))
    view = net.number(A)
    net.start_registry()
    since = len(net.asked)
    net.send(B, "b2", "b3")
    net.until(lambda: all(net.delivered(who) == ["a1", "b1", "b2", "b3"] for who in members))
    assert [net.serials(who) for who in members] == [{1: (A, 1), 2: (B, 1), 3: (B, 2), 4: (B, 3)}] * 3
    assert net.number(A) == view + 1
    asked = net.asked[since:]
    assert {answer for _, request, answer in asked if isinstance(request, Want)} == {Unknown()}
    assert not [request for _, request, _ in asked if isinstance(request, Open) and request.view == view]


def test_trace_06_one_member_that_the_sequencer_does_not_serve_moves_it() -> None:
    """1. C does not reach the registry, A and B see no fault. 2. Orders come to C from its peers. 3. What C sends gets
    no serial, so C says so, and the next view has its sequencer at the leader.
    """
    net = Network(Definition.parse("g", "TOTAL"))
    members = net.form("a", "b", "c")
    net.split("registry", "c")
    net.send(A, "a1")
    net.until(lambda: all(net.delivered(who) == ["a1"] for who in members))
    view = net.number(A)
    net.pass_ms(2_000)
    assert net.number(A) == view  # C lacks nothing yet
    net.send(C, "c1")
    net.until(lambda: all(net.delivered(who) == ["a1", "c1"] for who in members), 2_000)
    assert [net.number(who) for who in members] == [view + 1] * 3
    assert [net.serials(who) for who in members] == [{1: (A, 1), 2: (C, 1)}] * 3
    assert net.suspected(A) == net.suspected(B) == net.suspected(C) == []


def test_trace_09_what_is_in_the_cut_without_its_past_is_discarded_by_all() -> None:
    """1. e1 reaches only A, which delivers it. 2. A's a1 reaches C. 3. A and E die. 4. The cut has a1, and nobody
    its past: B, C and D discard it alike, and a2 that follows it, but not what D sent on its own.
    """
    net = Network(Definition.parse("g", "CAUSAL"))
    net.form("a", "b", "c", "d", "e")

    def lost(frame: Frame) -> bool:
        return bool(frame.runs) and (frame.source, frame.target) not in {(E, A), (A, C), (D, B), (D, C)}

    net.lose = lost
    net.send(E, "e1")
    net.until(lambda: net.delivered(A) == ["e1"])
    net.send(A, "a1")
    net.step()
    net.send(A, "a2")
    net.send(D, "d1")
    net.until(lambda: net.delivered(B) == net.delivered(C) == ["d1"])
    net.kill(A)
    net.kill(E)
    net.lose = lambda frame: False
    net.until_view(B, C, D)
    for who in (B, C, D):
        assert net.delivered(who) == ["d1"]
        assert net.of(who, Skip) == [Skip(A, 1, 1, 5), Skip(A, 2, 1, 5)]


def test_trace_09_a_serial_whose_past_nobody_has_is_skipped_by_all() -> None:
    """1. e1 reaches only A, its serial all. 2. A delivers it; its a1 reaches C. 3. A and E die. 4. The order has e1,
    a no-op, then a1, without its past: B, C and D skip both.
    """
    net = Network(Definition.parse("g", "CAUSALTOTAL"))
    net.form("a", "b", "c", "d", "e")
    net.lose = lambda frame: bool(frame.runs) and (frame.source, frame.target) not in {(E, A), (A, C)}
    net.send(E, "e1")
    net.until(lambda: net.delivered(A) == ["e1"])
    net.send(A, "a1")
    net.pass_ms(100)
    net.kill(A)
    net.kill(E)
    net.lose = lambda frame: False
    net.until_view(B, C, D)
    net.send(B, "b1")
    net.until(lambda: all(net.delivered(who) == ["b1"] for who in (B, C, D)))
    assert [net.serials(who)[3] for who in (B, C, D)] == [(B, 1)] * 3


@pytest.mark.parametrize("ordering", ["TOTAL", "CAUSALTOTAL"])
@pytest.mark.parametrize("at_leader", [False, True], ids=["at registry", "at leader"])
@pytest.mark.parametrize("without", [A, B, C])
def test_trace_14_a_lost_last_payload_does_not_stop_the_order(ordering: str, at_leader: bool, without: Process) -> None:
    """1. Over BASIC the last message of a sender is lost on the way to one member, and leaves no gap there. 2. Its
    order comes; who waited for the payload for ever would deliver nothing more.
    """
    net = Network(Definition.parse("g", ordering, "BASIC"))
    members = net.form("a", "b", "c")
    if at_leader:
        net.stop_registry()
        net.send(A, "a1")
        net.until(lambda: all(net.delivered(who) == ["a1"] for who in members))
    sender = B if without != B else C
    net.lose = lambda frame: bool(frame.runs) and frame.target == without
    net.send(sender, "lost")
    start = [(A, 1)] if at_leader else []
    line = dict(enumerate([*start, (sender, 1)], 1))
    net.until(lambda: all(net.serials(who) == line for who in members), 2 * limits.GAP_GRACE_MS)
    net.lose = lambda frame: False
    net.send(without, "goes on")
    line = dict(enumerate([*start, (sender, 1), (without, 1 + (at_leader and without == A))], 1))
    net.until(lambda: all(net.serials(who) == line for who in members))
    assert [net.skipped(who) for who in members] == [int(who == without) for who in members]
    assert net.delivered(without)[-1] == "goes on"


def test_trace_14_a_lost_run_does_not_take_along_what_its_successor_depends_on() -> None:
    """1. B delivers a1, and sends b1 and b2. 2. b1, the first that says so, is lost on the way to C, and a1 is late.
    3. C must not deliver b2 before a1.
    """
    net = Network(Definition.parse("g", "CAUSAL", "BASIC"))
    net.form("a", "b", "c")
    late: list[Frame] = []

    def keep(frame: Frame) -> bool:
        is_late = bool(frame.runs) and (frame.source, frame.target) == (A, C)
        late.extend([frame] * is_late)
        return is_late or (bool(frame.runs) and (frame.source, frame.target) == (B, C))

    net.lose = keep
    net.send(A, "a1")
    net.until(lambda: net.delivered(B) == ["a1"])
    net.send(B, "b1")
    net.until(lambda: "b1" in net.delivered(A))
    net.lose = lambda frame: bool(frame.runs) and (frame.source, frame.target) == (A, C)
    net.send(B, "b2")
    net.until(lambda: "b2" in net.delivered(A))
    net.pass_ms(100)
    assert net.delivered(C) == []
    for frame in late:
        net.arrive(frame)
    net.until(lambda: net.delivered(C) == ["a1", "b2"], 2 * limits.GAP_GRACE_MS)
    assert net.of(C, Skip) == [Skip(B, 1, 1, 3)]
