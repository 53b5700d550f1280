"""When no quorum can be again: what is left goes on as a successor, by proof or by an operator's order, and once."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gcom.core.directory.table import Directory
from gcom.core.machine import Stage
from gcom.core.messages import events, frames
from gcom.core.messages.effects import Deliver, DoubtSettled, Effect, Ended, Installed, Quorum, Skip
from gcom.core.messages.frames import Frame
from gcom.core.messages.orders import Orders
from gcom.core.messages.registry import Fork, GroupInfo, Lookup, Note
from gcom.core.messages.sequencer import Want
from gcom.core.messages.witness import WitnessAccept, WitnessPrepare
from gcom.values import limits, lineage
from gcom.values.definition import Definition
from gcom.values.names import Process
from tests.core.making import A, B, C, D, E
from tests.core.network import Network

ORIGIN = "i0001"


def stored_by_all(net: Network, who: Process) -> bool:
    """Whether all members have what a member has sent, wherever its place will be."""
    member = net.machines[who]._member
    return member is not None and member.streams.multicast.lacking(net.machines[who].number) == []


def formed(*names: str, ordering: str = "FIFO") -> Network:
    net = Network(Definition.parse("g", ordering))
    net.returning = True
    net.form(*names)
    return net


def kill(net: Network, *members: Process) -> None:
    for who in members:
        net.kill(who)


def instance(net: Network, who: Process) -> str:
    return net.machines[who].instance


def until_succeeded(net: Network, *members: Process) -> Installed:
    """Until these, and nobody else, are in view 1 of one successor; returns that view as the first of them saw it."""
    net.until(lambda: all(net.members(who) == {*members} and net.number(who) == 1 for who in members))
    assert {instance(net, who) for who in members} == {instance(net, members[0])}
    return next(installed for installed in net.views(members[0]) if installed.succeeds)


def agreed(net: Network, who: Process) -> int:
    """The serial up to which a majority holds the order, as a member knows."""
    inspection = net.machines[who].inspect(net.now_ms)
    return inspection.sequencer.agreed if inspection and inspection.sequencer else 0


@pytest.mark.parametrize("survivor", ["a", "b", "c"])
def test_trace_10_the_one_that_is_left_of_three_goes_on_in_a_successor(survivor: str) -> None:
    net = formed("a", "b", "c")
    left = f"{survivor}#1"
    dead = [who for who in (A, B, C) if who != left]
    kill(net, *dead)
    killed_ms = net.now_ms
    first = until_succeeded(net, left)
    assert net.now_ms - killed_ms <= 3_000
    made = first.succeeds
    assert made is not None
    assert instance(net, left) == f"{ORIGIN}-1-1" == net.registered.instance
    assert (made.instance, made.view, made.by, set(made.gone), made.gives_up) == (ORIGIN, 3, "proof", {*dead}, ())
    assert net.end(left) == Ended(3, "succession", into=instance(net, left))
    again = [net.start(who[0], "7") for who in dead]  # its name does not keep the others out
    net.until_view(left, *again)


def test_of_two_the_one_that_is_not_the_tie_breaker_goes_on_by_proof() -> None:
    net = formed("a", "b")
    net.kill(A)
    until_succeeded(net, B)


def test_what_is_left_of_a_static_group_that_had_started_can_send() -> None:
    net = Network(Definition.parse("g", static=["a", "b", "c"]))
    net.returning = True
    net.form("a", "b", "c")
    kill(net, B, C)
    until_succeeded(net, A)
    net.send(A, "alone")
    net.until(lambda: net.delivered(A)[-1:] == ["alone"])


def test_what_is_left_of_a_static_group_that_never_started_waits_for_all_its_names() -> None:
    net = Network(Definition.parse("g", static=["a", "b", "c"]))
    net.returning = True
    net.form("a", "b")
    net.kill(A)
    until_succeeded(net, B)
    net.send(B, "early")
    net.pass_ms(5_000)
    assert net.delivered(B) == []
    assert "static group" in net.machines[B].waits_for
    net.start("a", "7")
    net.start("c")
    net.until(lambda: net.delivered(B) == ["early"])


def test_where_a_quorum_is_left_the_instance_itself_goes_on() -> None:
    net = formed("a", "b")
    net.kill(B)
    net.until_view(A)
    net.pass_ms(5_000)
    assert (instance(net, A), net.number(A)) == (ORIGIN, 3)


@pytest.mark.parametrize("ordering", ["FIFO", "TOTAL"])
def test_of_several_that_are_left_all_go_on_together_with_all_that_any_of_them_holds(ordering: str) -> None:
    net = formed("a", "b", "c", "d", "e", ordering=ordering)
    net.send(A, "for all")
    net.until(lambda: all(net.delivered(who) == ["for all"] for who in (A, B, C, D, E)))
    net.pass_ms(500)
    net.lose = lambda frame: bool(frame.runs) and frame.source == A and frame.target != E
    net.send(A, "for e")
    net.until(lambda: any(run.sender == A for frame in net.carried for run in frame.runs if run.first == 2))
    kill(net, A, B, C)
    net.lose = lambda frame: False
    first = until_succeeded(net, D, E)
    assert net.delivered(D) == net.delivered(E)
    assert net.delivered(D)[0] == "for all"
    net.send(D, "on we go")
    net.until(lambda: net.delivered(D)[-1:] == net.delivered(E)[-1:] == ["on we go"])
    assert net.of(E, Deliver)[-1].run.first == 1  # numbers begin anew
    if ordering == "TOTAL":
        assert first.base_serial >= 1
        assert net.serials(D) == net.serials(E)
        assert net.serials(E)[first.base_serial + 1] == (D, 1)  # serials go on


def test_what_a_survivor_alone_held_and_had_in_doubt_is_settled() -> None:
    net = formed("a", "b", "c")
    net.lose = lambda frame: bool(frame.runs) and frame.source == C
    net.send(C, "mine")
    net.until(lambda: net.delivered(C) == ["mine"])
    kill(net, A, B)
    until_succeeded(net, C)
    assert [quorum.in_doubt for quorum in net.of(C, Quorum)] in ([(1, 1)], [])  # detached first, or at once succeeded
    assert net.of(C, DoubtSettled) == [DoubtSettled(1, 1, arrived=True)]


@pytest.mark.parametrize("ordering", ["TOTAL", "CAUSALTOTAL"])
def test_a_message_with_a_serial_that_no_survivor_holds_is_beyond_the_cut_and_only_its_serial_is_used_up(
    ordering: str,
) -> None:
    """1. The sequencer orders a message of A, which reaches nobody. 2. A message of C follows. 3. C is left."""
    net = formed("a", "b", "c", ordering=ordering)
    net.lose = lambda frame: bool(frame.runs) and frame.source == A
    net.send(A, "lost")
    net.until(lambda: net.sequencer.ask(Want("g", ORIGIN, 3, A, 1, 0, 0)) == Orders(3, 0, ((A, 1, 1),)))
    net.send(C, "mine")
    net.until(lambda: agreed(net, C) == 2)
    kill(net, A, B)
    made = until_succeeded(net, C).succeeds
    assert made is not None
    assert (net.delivered(C), net.serials(C)) == (["mine"], {1: (A, 1), 2: (C, 1)})
    assert [skip.no_op for skip in net.of(C, Skip)] == [True]
    # A no-op settles no message: what C has settled is the cut, as the log is to say.
    assert (made.cut, made.serial) == ({A: 0, B: 0, C: 1}, 2)


def test_what_all_held_and_had_no_place_in_the_order_is_in_doubt_and_given_up() -> None:
    net = formed("a", "b", "c", ordering="TOTAL")
    net.send(C, "ordered")
    net.until(lambda: net.delivered(A) == ["ordered"])
    net.sequencer_paused = True
    net.send(C, "two", "three")
    net.until(lambda: stored_by_all(net, C))
    net.split("registry", "a b c")
    kill(net, A, B)
    net.until(lambda: net.machines[C].detached)
    assert net.of(C, Quorum) == [Quorum(3, has=False, in_doubt=(2, 3))]
    net.heal()
    until_succeeded(net, C)
    assert net.delivered(C) == ["ordered"]
    assert net.skipped(C) == 2
    assert net.of(C, DoubtSettled) == [DoubtSettled(2, 3, arrived=False)]


def test_who_leaves_detached_names_what_all_held_and_had_no_place_in_the_order() -> None:
    net = formed("a", "b", "c", ordering="TOTAL")
    net.sequencer_paused = True
    net.send(C, "unordered")
    net.until(lambda: stored_by_all(net, C))
    net.split("registry", "a b c")
    kill(net, A, B)
    net.until(lambda: net.machines[C].detached)
    net.handle(C, events.Exit())
    end = net.end(C)
    assert end is not None
    assert end.unconfirmed == (1, 1)


@pytest.mark.parametrize("loses", ["answer", "registry", "self"])
def test_it_survives_its_proposer_once_the_registry_has_accepted(loses: str) -> None:
    """1. Of five, A, B and C are dead. 2. D proposes, E accepts, the registry accepts. 3. D does not hear of it."""
    net = formed("a", "b", "c", "d", "e")
    net.answers_lost = lambda who, request: who == D and isinstance(request, WitnessAccept)
    kill(net, A, B, C)
    net.until(lambda: any(record.decided for record in net.votes.values()))
    if loses == "registry":
        net.start_registry()
    if loses == "self":
        net.kill(D)
    net.answers_lost = lambda who, request: False
    if loses == "self":
        net.until(lambda: net.members(E) == {E})
        assert instance(net, E) == f"{ORIGIN}-2-1"
        assert [it.succeeds.instance for it in net.views(E) if it.succeeds] == [ORIGIN, f"{ORIGIN}-1-1"]
    else:
        until_succeeded(net, D, E)
        assert instance(net, D) == f"{ORIGIN}-1-1"


def test_all_survivors_must_agree_and_one_that_is_only_silent_is_waited_for() -> None:
    net = formed("a", "b", "c", "d", "e")
    net.pause(E)
    kill(net, A, B, C)
    net.pass_ms(20_000)
    assert (instance(net, D), net.members(D), net.machines[D].detached) == (ORIGIN, {A, B, C, D, E}, True)
    assert net.end(D) is None
    net.resume(E)
    until_succeeded(net, D, E)


def test_silence_is_no_proof_and_a_quorum_that_is_heard_again_goes_on() -> None:
    net = formed("a", "b", "c")
    net.kill(A)
    net.cut_off.add(B)
    net.pass_ms(30_000)
    for who in (B, C):
        assert net.machines[who].stage is Stage.MEMBER
        assert net.machines[who].detached
        assert [(it.view, it.has) for it in net.of(who, Quorum)] == [(3, False)]
    net.send(C, "in doubt")
    net.pass_ms(1_000)
    net.heal()
    net.until_view(B, C)
    net.until(lambda: net.delivered(B) == ["in doubt"])
    assert (instance(net, B), net.number(B)) == (ORIGIN, 4)
    for who in (B, C):
        assert net.end(who) is None
        assert [it.has for it in net.of(who, Quorum)] == [False, True]


def test_a_port_that_refuses_is_no_proof_of_death() -> None:
    """The kernel says nothing of them: on another host, or the address is another's by now."""
    net = formed("a", "b", "c")
    net.tells_of_death = False
    kill(net, A, B)
    net.pass_ms(20_000)
    assert {reason for _, reason in net.suspected(C)} == {"refused"}
    assert (instance(net, C), net.members(C), net.machines[C].detached) == (ORIGIN, {A, B, C}, True)
    assert net.end(C) is None


def test_a_member_that_was_paused_does_not_go_on_beside_those_that_did_without_it() -> None:
    """1. A is paused; B and C go on with D, E and F, and die. 2. A wakes, and finds those dead whom it knew."""
    net = formed("a", "b", "c")
    net.pause(A)
    net.until_view(B, C)
    rest = [net.start(name) for name in ("d", "e", "f")]
    net.until_view(B, C, *rest)
    kill(net, B, C)
    net.resume(A)
    net.until(lambda: net.members(rest[0]) == {*rest, net.latest(A)})
    assert instance(net, net.latest(A)) == instance(net, D) == ORIGIN


def test_without_the_registrys_note_nobody_is_admitted_by_a_primary_group() -> None:
    net = formed("a", "b", "c")
    net.split("registry", "a b c")
    d = net.start("d")
    net.pass_ms(10_000)
    assert net.machines[d].stage is Stage.ENTERING
    assert net.members(A) == {A, B, C}
    net.heal()
    net.until_view(A, B, C, d)


def test_without_a_registry_nothing_is_succeeded_and_with_it_at_last() -> None:
    net = formed("a", "b", "c")
    net.registry_up = False
    kill(net, A, B)
    net.pass_ms(20_000)
    assert (net.machines[C].stage, net.machines[C].detached, instance(net, C)) == (Stage.MEMBER, True, ORIGIN)
    assert net.end(C) is None
    net.registry_up = True
    until_succeeded(net, C)


def test_a_registry_that_forgot_the_group_needs_an_operators_order() -> None:
    net = formed("a", "b", "c")
    net.disk = type(net.disk)()
    net.votes.clear()
    net.start_registry()
    kill(net, A, B)
    net.pass_ms(20_000)
    assert (net.members(C), instance(net, C)) == ({A, B, C}, ORIGIN)
    assert net.end(C) is None
    net.directory.ask(Fork("g", ORIGIN), net.now_ms)
    until_succeeded(net, C)


def late(net: Network, view: int, to: Process) -> Frame:
    """The INSTALL of a view, which did not reach one member; all that would have told it of that view are dead."""
    kept: list[Frame] = []

    def lose(frame: Frame) -> bool:
        items = [item for item in frame.control if isinstance(item, frames.Install)]
        hit = frame.target == to and any(item.decision.view.number == view for item in items)
        kept.extend([frame] if hit else [])
        return hit

    net.lose = lose
    net.leave(B)
    net.until(lambda: bool(kept))
    net.lose = lambda frame: False
    return kept[0]


@pytest.mark.parametrize("attempt", [1, 9])
@pytest.mark.parametrize("after", ["promise", "succession"])
def test_an_install_that_comes_late_is_void_once_a_succession_is_promised(after: str, attempt: int) -> None:
    """1. A decides view 4 without B; C has accepted it, and A and B die. 2. C has promised to succeed view 3.

    Where A needed nine attempts its ballot is the higher one: C had slept, and began with its first.
    """
    net = formed("a", "b", "c")
    frame = late(net, 4, C)
    (install,) = [item for item in frame.control if isinstance(item, frames.Install)]
    frame = frame._replace(control=(replace(install, ballot=(attempt, 0)),))
    kill(net, A, B)
    asked: list[object] = []

    def lost(_: Process, request: object) -> bool:
        asked.append(request)
        return after == "promise" and isinstance(request, WitnessPrepare)

    net.answers_lost = lost
    net.until(lambda: any(isinstance(request, WitnessPrepare | WitnessAccept) for request in asked))
    if after == "succession":
        until_succeeded(net, C)
    net.arrive(frame)
    net.answers_lost = lambda who, request: False
    first = until_succeeded(net, C)
    assert first.succeeds is not None
    assert (first.succeeds.instance, first.succeeds.view) == (ORIGIN, 3)
    assert [it.view.number for it in net.views(C)] == [3, 1]


def test_who_was_noted_must_promise_too_before_anything_is_succeeded() -> None:
    """1. D is noted for view 4, of which C hears nothing. 2. A and B die, and D sleeps. 3. D may be in view 4."""
    net = formed("a", "b", "c")
    d = until_noted(net)
    kill(net, A, B)
    net.pass_ms(20_000)
    assert (net.members(C), net.machines[C].detached) == ({A, B, C}, True)
    net.resume(d)
    until_succeeded(net, C)


def test_who_was_noted_and_promised_gets_into_the_successor() -> None:
    net = formed("a", "b", "c")
    d = until_noted(net)
    kill(net, A, B)
    net.answers_lost = lambda who, request: False
    net.pass_ms(5_000)
    net.resume(d)
    until_succeeded(net, C)
    net.until(lambda: net.error(d) is not None or net.members(d) == {C, d})
    assert net.error(d) is None
    assert instance(net, d) == f"{ORIGIN}-1-1"


def until_noted(net: Network) -> Process:
    """`d` sleeps as soon as the registry has noted it; returns it."""
    noted: list[Effect] = []

    def watch(_: Process, effect: Effect) -> None:
        if isinstance(getattr(effect, "request", None), Note) and not noted:
            noted.append(effect)
            net.pause("d#1")

    net.watch = watch
    net.answers_lost = lambda who, request: isinstance(request, Note)
    d = net.start("d")
    net.until(lambda: bool(noted))
    net.watch = lambda who, effect: None
    assert [who for who, _ in net.registered.others] == [d]
    return d


def test_who_was_noted_and_has_vowed_to_one_that_looks_promises_to_a_survivor_too() -> None:
    """1. A lets B in, which hears nothing of it, has D noted, and dies. 2. D vows to E. 3. A's INSTALL reaches B."""
    net = formed("a")
    installs: list[Frame] = []

    def is_lost(frame: Frame) -> bool:
        told = frame.target == B and any(isinstance(item, frames.Install) for item in frame.control)
        installs.extend([frame] if told else [])
        return told or (frame.target == B and asks(frame))

    def asks(frame: Frame) -> bool:
        return any(isinstance(item, frames.Prepare) for item in frame.control)

    net.lose = is_lost
    net.start("b")
    net.until(lambda: bool(installs))
    net.cuts = {("b", "a"), ("b", "registry")}  # it does not find A dead, and looks for nobody
    d = net.start("d")
    net.until(lambda: d in dict(net.registered.others))
    net.kill(A)
    net.pause(B)
    net.pass_ms(limits.LEASE_MS)  # before that nobody asks for a vow, and then B would look, and vow, too
    net.resume(B)
    e = net.start("e")
    net.until(lambda: any(asks(frame) for frame in net.carried if (frame.source, frame.target) == (e, d)))
    net.lose = lambda frame: False
    net.arrive(installs[0])
    assert net.members(B) == {A, B}
    net.heal()
    until_succeeded(net, B)
    net.until_view(B, d, e)


def test_who_was_noted_and_died_is_waited_for_no_longer() -> None:
    net = formed("a", "b", "c")
    d = until_noted(net)
    net.resume(d)
    kill(net, A, B, d)
    until_succeeded(net, C)


def forked() -> tuple[Network, Installed]:
    """A and B, which reach the registry, go on by an operator's order; C, D and E have, too, and cannot know."""
    net = formed("a", "b", "c", "d", "e")
    net.split("a b registry", "c d e")
    net.until_view(C, D, E)
    net.pass_ms(10_000)
    assert net.machines[A].detached
    assert net.machines[B].detached
    net.directory.ask(Fork("g", instance(net, A)), net.now_ms)
    first = until_succeeded(net, A, B)
    net.send(D, "before the heal")
    net.pass_ms(5_000)
    assert net.members(C) == {C, D, E}
    assert net.delivered(C) == net.delivered(E) == ["before the heal"]
    return net, first


def test_an_operator_lets_the_detached_go_on_and_says_whom_that_gives_up() -> None:
    net, first = forked()
    assert first.succeeds is not None
    assert (first.succeeds.by, set(first.succeeds.gives_up), first.succeeds.gone) == ("operator", {C, D, E}, {})
    assert lineage.descends(instance(net, A), ORIGIN)
    assert not lineage.carries_on(instance(net, A), ORIGIN)  # those given up may have more
    assert net.registered.instance == instance(net, A)


def test_those_whom_an_operator_gave_up_come_over_after_the_heal() -> None:
    net, _ = forked()
    net.heal()
    net.until_view(A, B, "c#2", "d#2", "e#2")
    assert instance(net, "c#2") == instance(net, A)
    assert net.end(C).into == instance(net, A)  # type: ignore[union-attr]


def test_an_operators_order_gives_up_who_was_only_noted_too() -> None:
    """1. D was noted, and is on a host that is gone for good. 2. Of A, B and C, A and B are on it, too."""
    net = formed("a", "b", "c")
    d = until_noted(net)
    net.split("c registry", "a b d")
    net.resume(d)
    net.until(lambda: net.machines[C].detached)
    net.directory.ask(Fork("g", ORIGIN), net.now_ms)
    first = until_succeeded(net, C)
    assert first.succeeds is not None
    assert first.succeeds.by == "operator"


def test_an_operator_lets_half_a_view_go_on_where_the_registry_keeps_no_votes() -> None:
    """1. The registry breaks ties, and starts anew without a disk: it may not vote. 2. A dies, and B is half a view."""
    net = Network(Definition.parse("g", tie_breaker="REGISTRY"))
    net.form("a", "b")
    net.directory = Directory(net.ids, durable=False, grace_ms=limits.FORGOTTEN_GRACE_MS)
    net.until(lambda: isinstance(net.directory.ask(Lookup("g"), net.now_ms), GroupInfo))
    net.kill(A)
    net.until(lambda: net.machines[B].detached)
    net.pass_ms(10_000)
    assert net.members(B) == {A, B}  # it forgot who was noted, so it accepts no succession either
    net.directory.ask(Fork("g", ORIGIN), net.now_ms)
    until_succeeded(net, B)
    net.send(B, "goes on")
    net.until(lambda: net.delivered(B) == ["goes on"])


def test_an_order_to_fork_is_void_where_a_quorum_is_heard() -> None:
    net = formed("a", "b")
    net.directory.ask(Fork("g", instance(net, A)), net.now_ms)
    net.pass_ms(2 * limits.RENEW_MS)
    assert net.members(A) == {A, B}
    assert (net.registered.alive, net.registered.forked, instance(net, A)) == (True, False, ORIGIN)
