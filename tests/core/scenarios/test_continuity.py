"""Continuity, told in six stories from the boundary between two instances of a name (ARCHITECTURE 10).

Told by what applications and operators see: what was delivered, the state that each keeps, who is in a view of which
instance. A text is *confirmed* once a member of a SAFE group has delivered it.
"""

from __future__ import annotations

import pytest

from gcom.core.messages import frames
from gcom.core.messages.effects import DoubtSettled, Effect, Ended, Installed, SetState, StateUnavailable
from gcom.core.messages.frames import Frame
from gcom.core.messages.registry import Fork, Register, Request
from gcom.core.messages.witness import WitnessAccept
from gcom.sim.checkers import Violation
from gcom.values import limits
from gcom.values.definition import Definition
from gcom.values.names import Process, name_of
from tests.core.keepers import Keepers
from tests.core.making import A, B, C, D
from tests.core.network import Network

SAFE = Definition.parse("g", "TOTAL", safe=True)
HEARD_MS = 500  # all have heard from all
BROKEN = (AssertionError, Violation)


def keepers(*names: str) -> Keepers:
    """Members that have confirmed one text."""
    net = Keepers(SAFE)
    net.form(*names)
    net.confirm(A, "before")
    net.pass_ms(HEARD_MS)
    return net


def instances(net: Keepers, *members: Process) -> set[str]:
    return {net.machines[who].instance for who in members}


@pytest.mark.parametrize("pause_ms", [6_000, pytest.param(20_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("dies", "sleeps"), [("b", "c"), ("a", "c"), ("c", "b")])
def test_story_1_one_sleeps_and_another_dies_after_it_confirmed(dies: str, sleeps: str, pause_ms: int) -> None:
    """1. `c` sleeps. 2. `b` sends; `a` and `b` deliver. 3. `b` dies. 4. `c` wakes, and is a quorum with `a`."""
    net = keepers("a", "b", "c")
    (stays,) = set("abc") - {dies, sleeps}
    net.pause(f"{sleeps}#1")
    net.confirm(f"{dies}#1", "confirmed")
    net.until(lambda: "confirmed" in net.texts(f"{stays}#1"))
    net.kill(f"{dies}#1")
    net.pass_ms(pause_ms)
    net.resume(f"{sleeps}#1")
    left = sorted([stays, sleeps])
    members = net.unite("".join(left))
    assert net.lost(left, "before", "confirmed") == []
    assert instances(net, *members) == {net.machines[A].instance}


@pytest.mark.parametrize("cut_ms", [6_000, pytest.param(20_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("apart_ms", [0, 500])
@pytest.mark.parametrize("apart", ["a", "b", "c"])
def test_story_1_one_is_cut_off_and_then_all_are(apart: str, apart_ms: int, cut_ms: int) -> None:
    """1. `c` is cut off. 2. `a` and `b` confirm a text. 3. All links are cut, for longer than every time-out."""
    net = keepers("a", "b", "c")
    two = sorted(set("abc") - {apart})
    net.split(apart, f"{two[0]} {two[1]} registry")
    net.confirm(f"{two[0]}#1", "confirmed")
    net.until(lambda: "confirmed" in net.texts(f"{two[1]}#1"))
    net.pass_ms(apart_ms)
    net.split("a", "b", "c")
    net.pass_ms(cut_ms)
    net.heal()
    members = net.unite("abc")
    assert net.lost("abc", "before", "confirmed") == []
    assert instances(net, *members) == {net.machines[A].instance}


@pytest.mark.parametrize("cut_ms", [5_000, pytest.param(20_000, marks=pytest.mark.slow)])
def test_story_2_a_newcomer_does_not_found_a_group_whose_members_are_cut_off(cut_ms: int) -> None:
    """1. `a`, `b` and `c` are cut off from each other, and reach the registry. 2. `d` comes. 3. The cuts heal."""
    net = keepers("a", "b", "c")
    net.split("a", "b", "c")
    net.pass_ms(cut_ms)
    d = net.start("d")
    net.pass_ms(10_000)
    began = net.began(d)
    net.heal()
    members = net.unite("abcd")
    assert net.lost("abcd", "before") == []
    assert net.got_state("d")
    assert not began
    assert instances(net, *members) == {net.machines[A].instance}


@pytest.mark.parametrize("down_ms", [500, 5_000])
def test_story_3_a_registry_that_starts_anew_gives_no_name_away(down_ms: int) -> None:
    """1. The registry stops. 2. Three newcomers try again and again. 3. It starts, and they are there before `a`."""
    net = keepers("a", "b")
    net.stop_registry()
    for name in ("c", "d", "e"):
        net.start(name)
    net.pass_ms(down_ms)
    net.start_registry()
    members = net.unite("abcde")
    assert net.lost("abcde", "before") == []
    assert members[:2] == [A, B]
    assert net.end(A) is None
    assert net.end(B) is None


@pytest.mark.parametrize("cut_ms", [4_500, pytest.param(20_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("hangs", ["a", "b", "c"])
def test_story_4_two_of_three_that_hear_each_other_again_go_on(hangs: str, cut_ms: int) -> None:
    net = keepers("a", "b", "c")
    two = sorted(set("abc") - {hangs})
    net.pause(f"{hangs}#1")
    net.split(*two)
    net.pass_ms(cut_ms)
    net.heal()
    members = net.unite("".join(two), 120_000)
    net.confirm(members[0], "after")
    net.until(lambda: not net.lost(two, "before", "after"))
    assert instances(net, *members) == {net.machines[A].instance}


def test_two_of_three_that_miss_each_other_for_two_seconds_go_on() -> None:
    """As story 4, but shorter than the time after which a member without a quorum stops."""
    net = keepers("a", "b", "c")
    net.pause(C)
    net.split("a", "b")
    net.pass_ms(2_000)
    net.heal()
    net.confirm(net.unite("ab")[0], "after")
    net.until(lambda: not net.lost("ab", "before", "after"))
    assert net.members(A) == {A, B}


def cuts(net: Keepers) -> list[frames.Cut]:
    """Every value that was put to a member."""
    return [item for frame in net.carried for item in frame.control if isinstance(item, frames.Cut)]


def test_story_5_a_joiner_begins_where_the_order_of_the_cut_ends() -> None:
    """1. `a` and `b` have twelve of the order, `c` and `d` five. 2. All promise to `a`, for a view with `x` in it.
    3. `a` and `b` accept it, and the registry. 4. Its answer is lost on its way to `a`. 5. `c` asks the registry, which
    tells it of the decision, and tells `x`: but where that order ends, it cannot know yet.
    """
    net = Keepers(Definition.parse("g", "TOTAL", tie_breaker="REGISTRY"))
    net.form("a", "b", "c", "d")
    net.send(A, *[f"{number}" for number in range(5)])
    net.until(lambda: all(len(net.texts(who)) == 5 for who in (A, B, C, D)))
    net.pass_ms(HEARD_MS)

    def is_lost(frame: Frame) -> bool:
        decided = any(isinstance(item, frames.Cut | frames.Install) for item in frame.control)
        return frame.target in (C, D) and bool(frame.orders or frame.runs or decided)

    def is_answer_lost(who: Process, request: Request) -> bool:
        return who in (A, B) and isinstance(request, WitnessAccept)

    net.lose, net.answers_lost = is_lost, is_answer_lost
    number = net.number(A)
    net.send(B, *[f"{number}" for number in range(5, 12)])
    net.pass_ms(50)
    x = net.start("x")
    net.until(lambda: any(cut.view == number for cut in cuts(net)))
    net.cuts = {(one, other) for one in "cd" for other in ("a", "b", "registry")}
    net.until(lambda: any(record.decided for record in net.votes.values()))
    net.lose = lambda frame: False
    net.cuts = {(one, other) for one in "ab" for other in "cdx"}
    net.pass_ms(2_000)
    net.answers_lost = lambda who, request: False
    net.heal()
    members = net.unite("abcdx")
    assert net.first(x).base_serial == 12
    net.send(A, "after")
    net.until(lambda: all("after" in net.texts(who) for who in members))
    assert {net.serials(who)[13] for who in members} == {(A, 6)}


@pytest.mark.parametrize("pause_ms", [0, 6_000])
def test_story_6_who_wakes_does_not_begin_beside_a_joiner_of_the_later_view(pause_ms: int) -> None:
    """1. `c` sleeps; `a` and `b` go on with `d`, and the registry hears nothing of it. 2. `d` has the state, and one
    text is confirmed. 3. `a` and `b` die. 4. `c` wakes, and finds both dead whom it knew.
    """
    net = keepers("a", "b", "c")
    number = net.number(A) + 1
    net.pause(C)

    def cut_off(who: Process, effect: Effect) -> None:
        if isinstance(effect, Installed) and effect.view.number == number and who in (A, B):
            net.cuts |= {("a", "registry"), ("b", "registry")}

    net.watch = cut_off
    d = net.start("d")
    net.until(lambda: net.texts(d) == {"before"})
    net.confirm(B, "confirmed")
    net.until(lambda: "confirmed" in net.texts(d))
    net.kill(A)
    net.kill(B)
    net.heal()
    net.pass_ms(pause_ms)
    net.resume(C)
    net.unite("cd")
    assert net.lost("cd", "before", "confirmed") == []
    assert not any(net.began(who) for who in net.machines if who.startswith("c#"))


def test_story_6_with_two_leaders_one_after_the_other() -> None:
    """1. `c` sleeps. 2. `a` lets `d` in, of which neither `b` nor the registry hears; with `d` it confirms a text.
    3. `b` misses `a`, and has `e` noted, which asks it. 4. `a` and `b` die, `d` sleeps, and `c` wakes.
    """
    net = keepers("a", "b", "c")
    number = net.number(A) + 1
    net.pause(C)

    def cut_off(who: Process, effect: Effect) -> None:
        if isinstance(effect, Installed) and effect.view.number == number and who == A:
            net.cuts |= {("a", "registry"), ("a", "b"), ("b", "a"), ("d", "registry"), ("d", "b"), ("b", "d")}

    net.watch = cut_off
    d = net.start("d")
    net.until(lambda: net.texts(d) == {"before"})
    net.confirm(A, "confirmed")
    net.until(lambda: "confirmed" in net.texts(d))
    net.cuts |= {("e", "a"), ("e", "d"), ("e", "c")}
    e = net.start("e")
    net.pass_ms(8_000)
    assert net.number(B) == number - 1
    net.pause(d)
    net.kill(A)
    net.kill(B)
    net.heal()
    net.resume(C)
    net.pass_ms(8_000)
    net.resume(d)
    net.unite("cde")
    assert net.lost("cde", "before", "confirmed") == []
    assert net.machines[e].instance


def test_who_leaves_while_it_is_detached_leaves_what_it_has_with_the_others() -> None:
    """1. `c` is cut off. 2. `a` and `b` confirm a text. 3. All links are cut. 4. `b` dies, and `a` leaves."""
    net = keepers("a", "b", "c")
    net.split("c", "a b registry")
    net.confirm(A, "confirmed")
    net.until(lambda: "confirmed" in net.texts(B))
    net.split("a", "b", "c")
    net.until(lambda: net.machines[A].detached)
    net.kill(B)
    net.leave(A)
    net.pass_ms(5_000)
    net.heal()
    members = net.unite("c")
    assert net.lost("c", "before", "confirmed") == []
    assert net.end(A) is not None
    assert instances(net, *members) == {net.machines[A].instance}


def test_a_serial_that_one_alone_knows_is_not_given_out_when_it_is_all_that_is_left() -> None:
    """1. `c` is cut off from the others, and has a serial from the registry. 2. `a` and `b` go on without it, and give
    that serial to another message, and no registry hears of it. 3. They die, and `c` goes on by itself.
    """
    net = Keepers(Definition.parse("g", "TOTAL"))
    net.form("a", "b", "c")
    net.confirm(A, "before")
    net.pass_ms(HEARD_MS)
    net.split("c", "a b")
    net.send(C, "mine")
    net.pass_ms(HEARD_MS)
    net.cuts |= {(name, "registry") for name in "abc"}
    net.until(lambda: net.members(A) == {A, B})
    net.confirm(B, "theirs")
    net.until(lambda: "theirs" in net.texts(A))
    net.kill(A)
    net.kill(B)
    net.answers_lost = lambda who, request: isinstance(request, Register)
    net.heal()
    net.until(lambda: net.machines[C].instance != "i0001" and net.members(C) == {C})
    given = net.serials(A)
    assert {serial: given.get(serial) for serial in net.serials(C)}.items() <= given.items()
    assert "mine" not in net.texts(C)


def _sends_and_is_put_out(net: Keepers) -> None:
    """Let `c` send before it hears that the others went on without it: it has what was confirmed, and not its own."""
    net.send(C, "mine")
    net.answers_lost = lambda who, request: isinstance(request, Register)
    net.heal()
    net.until(lambda: net.end(C) is not None)
    net.answers_lost = lambda who, request: False
    net.unite("c")
    assert net.end(C).reason == "expelled"  # type: ignore[union-attr]
    assert "mine" not in net.texts(C)
    assert net.lost("c", "before") == []


def test_one_that_was_put_out_delivers_nothing_that_the_others_went_on_without() -> None:
    """1. `c` is cut off, and put out. 2. `a` and `b` die. 3. `c` sends before it has heard of either, and is alone."""
    net = Keepers(Definition.parse("g", "FIFO", safe=True))
    net.form("a", "b", "c")
    net.confirm(A, "before")
    net.split("c", "a b registry")
    net.until(lambda: net.members(A) == {A, B})
    net.kill(A)
    net.kill(B)
    _sends_and_is_put_out(net)


def test_one_whose_fellows_have_left_since_delivers_nothing_that_they_went_on_without() -> None:
    """1. `c` is put out. 2. `d` comes, `a` and `b` leave, `d` dies. 3. `c` sends, and of its view nobody is left."""
    net = Keepers(Definition.parse("g", "FIFO", safe=True))
    net.form("a", "b", "c")
    net.confirm(A, "before")
    net.split("c", "a b d registry")
    net.until_view(A, B)
    net.start("d")
    net.until_view(A, B, D)
    for gone, left in [(A, (B, D)), (B, (D,))]:
        net.leave(gone)
        net.until_view(*left)
        net.pass_ms(HEARD_MS)  # its leave is told, and the view is registered
        net.kill(gone)
    net.kill(D)
    _sends_and_is_put_out(net)


def test_of_two_that_were_put_out_the_one_of_the_later_instance_begins() -> None:
    """1. `c` is put out of view 3. 2. `b` alone begins a successor, and lets `d` in, with view 2. 3. `d` is put out,
    too, and `b` dies. 4. Both come back.
    """
    net = keepers("a", "b", "c")
    net.split("c", "a b registry")
    net.until_view(A, B)
    net.kill(A)
    net.until(lambda: net.machines[B].instance != "i0001" and net.members(B) == {B})
    net.start("d")
    net.cuts |= {(one, other) for one, other in [("c", "d"), ("d", "c")]}
    net.until(lambda: "d#1" in net.members(B) and net.members("d#1") == {B, "d#1"})
    net.confirm(B, "later")
    net.until(lambda: "later" in net.texts("d#1"))
    net.cuts |= {("d", "b"), ("b", "d"), ("d", "registry")}
    net.until(lambda: net.members(B) == {B})
    net.kill(B)
    net.heal()
    net.unite("cd")
    assert net.lost("cd", "before") == []
    assert net.lost("cd", "later") == []


def _both_out_of_one_view(net: Keepers) -> None:
    """Let `c` and `d` be put out of one view, `c` with a text more, which is confirmed; then `a` and `b` die."""
    net.form("a", "b", "c", "d")
    net.confirm(A, "before")
    net.pass_ms(HEARD_MS)
    net.split("d", "a b c registry")
    net.confirm(A, "later")
    net.until(lambda: "later" in net.texts(C))
    net.split("c", "d", "a b registry")
    net.until_view(A, B)
    net.kill(A)
    net.kill(B)
    net.heal()
    net.unite("cd")


@pytest.mark.parametrize("ordering", ["FIFO", "TOTAL"])
def test_of_two_that_were_put_out_of_one_view_the_one_that_has_more_of_it_begins(ordering: str) -> None:
    net = Keepers(Definition.parse("g", ordering, safe=True))
    _both_out_of_one_view(net)
    assert net.lost("cd", "before") == []
    assert net.lost("cd", "later") == []


def test_a_survivor_of_an_older_view_does_not_pass_over_one_that_is_on_its_way_back() -> None:
    """1. `c` is cut off; the others go on and confirm a text, and cannot register. 2. They put `b` out, and die. 3. `c`
    is heard again: of its view nobody is left, but `b` is on its way back, and has the text.
    """
    net = keepers("a", "b", "c", "d")
    net.split("c", "a b d", "registry")
    net.until_view(A, B, D)
    net.confirm(A, "later")
    net.pass_ms(HEARD_MS)
    net.split("c", "b", "a d", "registry")
    net.until_view(A, D)
    net.split("c", "a b d", "registry")
    net.until(lambda: net.end(B) is not None)
    net.kill(A)
    net.kill(D)
    net.heal()
    net.unite("bc")
    assert net.lost("bc", "before") == []
    assert net.lost("bc", "later") == []


def test_a_newcomer_does_not_pass_over_one_that_is_on_its_way_back() -> None:
    """1. `c` is cut off; `a` and `b` go on, and tell it so when they meet again. 2. They die. 3. `d` comes."""
    net = keepers("a", "b", "c")
    net.split("c", "a b registry")
    net.until(lambda: net.members(A) == {A, B})
    d = net.start("d")  # it looks again and again, and sooner than one that comes back
    net.cuts |= {("d", name) for name in "ab"}
    net.cuts -= {("c", "a"), ("a", "c"), ("c", "b"), ("b", "c")}
    net.until(lambda: net.end(C) is not None)
    net.cuts = {("d", name) for name in "ab"}
    net.kill(A)
    net.kill(B)
    net.unite("cd")
    assert net.lost("cd", "before") == []
    assert not net.began(d)


@pytest.mark.parametrize("count", [2, 4])
@pytest.mark.parametrize("pause_ms", [2_500, 10_000])
def test_those_who_await_the_state_do_not_put_out_the_only_one_that_has_it(count: int, pause_ms: int) -> None:
    """1. `a` alone has the state, and gives it to newcomers, which are a majority. 2. It sleeps. 3. It wakes."""
    net, newcomers = awaiting(count)
    net.pause(A)
    net.pass_ms(pause_ms)
    assert all(net.members(who) == {A, *newcomers} for who in newcomers)
    assert all(net.machines[who].detached == (pause_ms > 6_000) for who in newcomers)
    net.resume(A)
    net.stalled.clear()
    members = net.unite("abcde"[: count + 1])
    assert members[0] == A
    assert net.lost("abcde"[: count + 1], "before") == []
    net.confirm(B, "after")


def test_those_who_await_the_state_go_on_without_it_once_all_who_had_it_are_dead() -> None:
    net, newcomers = awaiting(2)
    net.pause(A)
    net.pass_ms(10_000)
    net.resume(A)
    net.kill(A)
    net.until(lambda: all(net.members(who) == {*newcomers} for who in newcomers))
    assert [who for who in newcomers if net.of(who, StateUnavailable)] == newcomers[:1]  # the others get its state
    net.confirm(B, "anew")


@pytest.mark.parametrize("netsplit", ["PRIMARY", "PARTITIONABLE"])
def test_what_was_confirmed_while_members_await_the_state_outlives_all_who_had_it(netsplit: str) -> None:
    """1. `a` gives its state to `b` and `c`. 2. `b` sends m: all three hold it, so it is confirmed. 3. `a` dies."""
    net, newcomers = awaiting(2, netsplit=netsplit)
    net.send(B, "m")
    net.until(lambda: all("m" in net.delivered(who) for who in (A, *newcomers)))
    net.kill(A)
    net.until(lambda: all(net.members(who) == {*newcomers} for who in newcomers))
    net.confirm(C, "after")
    assert net.lost("bc", "m") == []
    d = net.start("d")
    net.until(lambda: bool(net.of(d, SetState)))
    assert net.lost("d", "m") == []


@pytest.mark.parametrize(("dies", "left"), [("a", "bcd"), ("ab", "cd"), ("abc", "d")])
def test_what_members_hold_as_they_await_the_state_goes_over_into_a_successor(dies: str, left: str) -> None:
    """1. `a` gives its state to `b`, `c` and `d`. 2. Two texts are confirmed, one in each of two views. 3. Some die."""
    net, newcomers = awaiting(2)
    net.send(B, "early")
    net.until(lambda: "early" in net.delivered(C))
    newcomers.append(net.start("d"))
    net.until_view(A, *newcomers)
    net.send(B, "late")
    net.until(lambda: all("late" in net.delivered(who) for who in newcomers))
    for name in dies:
        net.kill(f"{name}#1")
    members = net.unite(left)
    assert (net.machines[D].instance == "i0001") == (dies == "a")
    net.confirm(D, "after")
    early = {"early"} if left != "d" else set()  # before `d` came
    assert {name: net.applications[name].texts for name in left} == dict.fromkeys(left, early | {"late", "after"})
    assert [who for who in members if net.of(who, StateUnavailable)] == members[:1]


def test_what_one_holds_goes_through_several_successors() -> None:
    """1. `b`, `c` and `d` await the state from `a`. 2. `a` and `b` die: `c` is to begin. 3. It dies as it begins."""
    net, newcomers = awaiting(3)
    net.send(B, "m")
    net.until(lambda: all("m" in net.delivered(who) for who in newcomers))
    net.stalled |= {C, D}
    net.kill(A)
    net.kill(B)
    net.until(lambda: net.machines[D].instance != "i0001")
    net.send(C, "n")
    net.until(lambda: "n" in net.delivered(D))
    net.kill(C)
    net.stalled.clear()
    net.unite("d")
    assert net.applications["d"].texts == {"m", "n"}
    assert len(net.of(D, Ended)) == 2


def test_a_state_that_has_come_whole_goes_over_into_a_successor() -> None:
    """1. `a` gives its state to four. 2. Three of them sleep, so a change to which `b` has promised comes to no end. 3.
    `b` is given the state, and would set it with the next view. 4. All others die.
    """
    net, (_, *others) = awaiting(4)
    net.send(B, "m")
    net.until(lambda: "m" in net.delivered(B))
    for who in others:
        net.pause(who)
    net.carried.clear()
    net.start("f")
    net.until(lambda: any(isinstance(item, frames.Prepare) for frame in net.carried for item in frame.control))
    net.stalled.clear()
    net.until(lambda: net.machines[B].transfer.held(A) > 0)
    assert net.of(B, SetState) == []
    net.kill(A)
    for who in others:
        net.kill(who)
        net.resume(who)  # whoever calls it is told
    net.unite("bf")
    assert net.machines[B].instance != "i0001"
    assert net.lost("bf", "before", "m") == []


def test_an_operator_gives_up_who_alone_has_the_state() -> None:
    net, newcomers = awaiting(2)
    net.cut_off.add(A)
    net.until(lambda: all(net.machines[who].detached for who in newcomers))
    net.directory.ask(Fork("g", net.machines[B].instance), net.now_ms)
    net.until(lambda: all(net.members(who) == {*newcomers} for who in newcomers))
    net.confirm(B, "anew")


def awaiting(count: int, netsplit: str = "PRIMARY") -> tuple[Keepers, list[Process]]:
    """One that alone has the state, and so many newcomers that await it."""
    net = Keepers(Definition.parse("g", "TOTAL", safe=True, netsplit=netsplit))
    net.form("a")
    net.confirm(A, "before")
    net.stalled.add(A)  # its application is asked for the state, and takes its time
    newcomers = [net.start(name) for name in "bcde"[:count]]
    net.until(lambda: all(net.members(who) == {A, *newcomers} for who in newcomers))
    net.pass_ms(HEARD_MS)
    return net, newcomers


def test_who_comes_back_to_a_static_group_that_had_started_can_send_though_all_others_are_dead() -> None:
    """1. `c` is cut off, and put out. 2. `a` and `b` tell it so when they meet again, and die. 3. It begins anew."""
    net = Keepers(Definition.parse("g", "TOTAL", safe=True, static=["a", "b", "c"]))
    net.form("a", "b", "c")
    net.confirm(A, "before")
    net.pass_ms(HEARD_MS)
    net.split("c", "a b registry")
    net.until(lambda: net.members(A) == {A, B})
    net.heal()
    net.until(lambda: net.end(C) is not None)
    net.kill(A)
    net.kill(B)
    (back,) = net.unite("c")
    net.confirm(back, "alone")
    assert net.lost("c", "before", "alone") == []


def test_one_that_goes_for_a_tie_is_not_passed_over_either() -> None:
    """1. `a` and `b` lose each other, and the registry votes for `a`. 2. `b` hears of it there, and `a` dies."""
    net = Keepers(Definition.parse("g", "TOTAL", safe=True, tie_breaker="REGISTRY"))
    net.form("a", "b")
    net.confirm(A, "before")
    net.pass_ms(HEARD_MS)
    net.split("a", "b")
    net.until(lambda: any(net.end(who) for who in (A, B)))
    (out,) = [who for who in (A, B) if net.end(who)]
    net.pass_ms(1_000)
    net.kill(B if out == A else A)
    d = net.start("d")
    net.heal()
    net.unite(f"{name_of(out)}d")
    assert net.lost([name_of(out), "d"], "before") == []
    assert not net.began(d)


@pytest.mark.parametrize("heals", [True, False])
def test_who_leaves_gives_those_who_stay_what_they_lack(heals: bool) -> None:
    """1. A sends, which B misses, and leaves. 2. B promises, and is cut off; A and C decide. 3. C dies."""
    net = Network()
    net.form("a", "b", "c")
    net.pass_ms(500)
    cut: list[Frame] = []

    def is_lost(frame: Frame) -> bool:
        if frame.target == B and any(isinstance(item, frames.Cut) for item in frame.control):
            cut.append(frame)
        return bool(frame.target == B and frame.runs) or (bool(cut) and B in (frame.source, frame.target))

    net.lose = is_lost
    net.send(A, "of the leaver")
    net.until(lambda: net.delivered(C) == ["of the leaver"])
    net.leave(A)
    net.until(lambda: net.members(C) == {B, C})
    assert net.end(A) is None
    net.kill(C)
    if heals:
        net.lose = lambda frame: False
        net.until(lambda: net.end(A) is not None)
        assert net.delivered(B) == ["of the leaver"]
        assert net.end(A) == Ended(3, "request", 4)
    else:
        net.pass_ms(limits.TIME_WAIT_MS + 500)
        end = net.end(A)
        assert end is not None
        assert (end.reason, end.settled, end.unconfirmed) == ("request", None, (1, 1))


@pytest.mark.parametrize("told_by", ["a member", "the registry"])
def test_who_asked_to_leave_has_left_where_the_others_did_not_wait_for_it(told_by: str) -> None:
    """1. C sends, which nobody gets, and asks to leave. 2. It sleeps; the others let it go. 3. It hears of that."""
    net = Network()
    net.form("a", "b", "c")
    net.pass_ms(500)
    asked: list[Frame] = []

    def is_lost(frame: Frame) -> bool:
        asked.extend([frame] if any(isinstance(item, frames.Prepare) for item in frame.control) else [])
        return bool(frame.source == C and frame.runs) or (bool(asked) and frame.target == C)

    net.lose = is_lost
    net.send(C, "to nobody")
    net.leave(C)
    net.until(lambda: bool(asked))
    net.pause(C)
    net.until_view(A, B)
    assert net.views(A)[-1].left == {C: "request"}
    net.pass_ms(limits.TIME_WAIT_MS + 500)  # nobody tells it how any more
    net.lose = lambda frame: told_by == "the registry" and C in (frame.source, frame.target)
    net.resume(C)
    net.until(lambda: net.end(C) is not None)
    if told_by == "a member":
        assert net.end(C) == Ended(3, "request", arrived=0)
        assert net.of(C, DoubtSettled) == [DoubtSettled(1, 1, arrived=False)]
    else:
        assert net.end(C) == Ended(3, "request", unconfirmed=(1, 1))


def test_one_whom_only_a_joiner_can_tell_of_the_decision_follows_it() -> None:
    """1. The proposer tells the joiner alone of the view, and falls silent. 2. Of the others of the old view but one is
    left, which has accepted that view.
    """
    net = Network()
    net.form("a", "b", "c")
    net.lose = lambda frame: any(isinstance(item, frames.Install) for item in frame.control) and frame.target in (B, C)
    d = net.start("d")
    net.until(lambda: net.number(d) == 4)
    net.pause(A)
    net.kill(C)
    net.lose = lambda frame: False
    net.until(lambda: net.number(B) == 4)
    assert net.members(B) == {A, B, C, d}
