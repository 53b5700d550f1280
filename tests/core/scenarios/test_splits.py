"""Scenarios 35 to 40 of the rivals' checklist: split networks, bad links, and what becomes of the group afterwards."""

from __future__ import annotations

import pytest

from gcom.core.messages import frames
from gcom.core.messages.effects import Effect, Ended, MergeState
from gcom.core.messages.frames import Frame
from gcom.core.messages.witness import WitnessAccept
from gcom.values import limits
from gcom.values.definition import Definition
from gcom.values.names import Process
from gcom.values.run import Payload
from tests.core.islands import Islands
from tests.core.network import Network


def returning(*names: str, ordering: str = "FIFO", netsplit: str = "PRIMARY") -> Network:
    net = Network(Definition.parse("g", ordering, netsplit=netsplit))
    net.returning = True
    net.form(*names)
    return net


def latest(net: Network, names: str) -> list[Process]:
    return [net.latest(f"{name}#1") for name in names]


def together(net: Network, names: str) -> bool:
    """Whether these, as who they are now, and nobody else are in one view of one instance."""
    members = latest(net, names)
    return all(net.members(who) == set(members) for who in members)


NEAR = ("a b c registry", "d e registry", "registry")
SIDES = [(ordering, near) for ordering in ("FIFO", "CAUSALTOTAL") for near in NEAR]


@pytest.mark.parametrize(
    ("ordering", "registry"),
    [pytest.param(*each, marks=[pytest.mark.slow] * bool(place)) for place, each in enumerate(SIDES)],
)
def test_both_sides_of_a_partitionable_group_go_on(ordering: str, registry: str) -> None:
    net = returning("a", "b", "c", "d", "e", ordering=ordering, netsplit="PARTITIONABLE")
    sides = {"a b c", "d e", registry} - {registry.removesuffix(" registry")} | {registry}
    net.split(*sorted(sides))
    net.until(lambda: together(net, "abc") and together(net, "de"))
    assert net.instances_alive == 2
    d, e = latest(net, "de")
    net.send("b#1", "here")
    net.send(e, "there")
    net.until(lambda: all(net.delivered(who)[-1:] == ["here"] for who in ("a#1", "b#1", "c#1")))
    net.until(lambda: net.delivered(d) == net.delivered(e) == ["there"])
    net.pass_ms(30_000)
    assert together(net, "abc")
    assert together(net, "de")
    net.heal()
    net.until(lambda: together(net, "abcde"))
    assert net.latest("a#1") == "a#1"  # more members stay
    # Who leads is told by the registry or the other's leader; the other one only where that answers with a frame.
    into = {net.end(who).into for who in (d, e)}  # type: ignore[union-attr]
    assert net.machines["a#1"].instance in into <= {"", net.machines["a#1"].instance}
    net.send("a#1", "all")
    net.until(lambda: all(net.delivered(who)[-1:] == ["all"] for who in latest(net, "abcde")))


def test_a_side_of_a_static_group_that_had_started_goes_on_started() -> None:
    net = Network(Definition.parse("g", static=("a", "b", "c"), netsplit="PARTITIONABLE"))
    net.returning = True
    net.form("a", "b", "c")
    net.split("a b registry", "c")
    net.until(lambda: together(net, "ab") and together(net, "c"))
    alone = net.latest("c#1")
    net.send(alone, "there")
    net.until(lambda: net.delivered(alone) == ["there"])


@pytest.mark.parametrize("ordering", ["FIFO", "TOTAL"])
@pytest.mark.parametrize("registry", [True, False], ids=["registry", "no registry"])
def test_when_the_sides_meet_their_states_are_merged_everywhere_alike(ordering: str, registry: bool) -> None:
    net = Islands(Definition.parse("g", ordering, netsplit="PARTITIONABLE"))
    net.form("a", "b", "c", "d", "e")
    net.send("a#1", "before")
    net.until(lambda: all(net.texts(who) == {"before"} for who in latest(net, "abcde")))
    net.registry_up = registry
    net.split("a b registry", "c d e")
    net.until(lambda: together(net, "ab") and together(net, "cde"))
    net.send(net.latest("a#1"), "of a")
    net.send("d#1", "of d")
    net.until(lambda: net.texts("b#1") == {"before", "of a"} and net.texts("e#1") == {"before", "of d"})
    net.heal()
    net.until(lambda: together(net, "abcde"))
    every = {"before", "of a", "of d"}
    net.until(lambda: all(net.texts(who) == every for who in latest(net, "abcde")))
    assert net.application("c#1").merges
    assert net.latest("d#1") == "d#1"


@pytest.mark.parametrize("netsplit", ["PRIMARY", "PARTITIONABLE"])
def test_scenario_35_three_sides_without_a_majority_are_one_group_after_the_heal(netsplit: str) -> None:
    net = returning("a", "b", "c", "d", "e", "f", netsplit=netsplit)
    first = net.machines["a#1"].instance
    net.split("a b", "c d", "e f", "registry")
    net.pass_ms(10_000)
    if netsplit == "PRIMARY":
        everybody = {f"{name}#1" for name in "abcdef"}
        assert all(net.machines[who].detached and net.members(who) == everybody for who in everybody)
    else:
        assert all(together(net, side) for side in ("ab", "cd", "ef"))
    net.heal()
    net.until(lambda: together(net, "abcdef"), 30_000)
    assert net.instances_alive == 1
    net.pass_ms(5_000)  # who was given up while they met is back, too
    assert together(net, "abcdef")
    assert netsplit == "PARTITIONABLE" or net.machines["a#1"].instance == first
    net.send(net.latest("f#1"), "again")
    net.until(lambda: all(net.delivered(who)[-1:] == ["again"] for who in latest(net, "abcdef")))


@pytest.mark.parametrize("bridge", ["a", "b", "c"])
def test_scenario_36_a_bridge_keeps_one_of_the_two_and_the_view_stays(bridge: str) -> None:
    net = returning("a", "b", "c")
    one, other = sorted({"a", "b", "c"} - {bridge})
    net.cuts = {(one, other), (other, one)}
    kept = sorted([f"{one}#1", f"{bridge}#1"])
    net.until_view(*kept)
    number = net.number(kept[0])
    net.pass_ms(15_000)
    assert {net.number(who) for who in kept} == {number}
    net.heal()
    net.until(lambda: together(net, "abc"))


@pytest.mark.slow
@pytest.mark.parametrize("netsplit", ["PRIMARY", "PARTITIONABLE"])
def test_scenario_37_a_split_of_five_minutes_ends_by_itself(netsplit: str) -> None:
    net = returning("a", "b", "c", netsplit=netsplit)
    net.registry_up = False  # nobody remembers but those who were there
    net.split("a b", "c")
    net.pass_ms(300_000)
    net.heal()
    if netsplit == "PRIMARY":  # nobody is admitted before it is noted
        net.pass_ms(10_000)
        assert not together(net, "abc")
        net.registry_up = True
    net.until(lambda: together(net, "abc"), 10_000)


@pytest.mark.parametrize("dies", ["a", "b", "c"])
def test_scenario_38_whoever_dies_while_two_instances_merge_the_rest_become_one(dies: str) -> None:
    """`a` leads those who give way, `c` those who stay; each dies at the first merge that somebody leaves for."""
    net = Islands(Definition.parse("g", netsplit="PARTITIONABLE"))
    net.form("c", "d", "e", "a", "b")
    net.split("a b", "c d e registry")
    net.until(lambda: together(net, "ab") and together(net, "cde"))
    net.send(net.latest("a#1"), "of a")
    net.send("d#1", "of d")
    net.until(lambda: all(net.texts(who) == {"of a"} for who in latest(net, "ab")))
    net.until(lambda: all(net.texts(who) == {"of d"} for who in latest(net, "cde")))
    killed: list[Process] = []

    def kill_at_the_merge(_: Process, effect: Effect) -> None:
        if isinstance(effect, Ended) and effect.reason == "merge" and not killed:
            killed.append(net.latest(f"{dies}#1"))
            net.kill(killed[0])

    net.watch = kill_at_the_merge
    net.heal()
    net.until(lambda: bool(killed))
    rest = "abcde".replace(dies, "")
    net.until(lambda: together(net, rest), 40_000)
    net.until(lambda: all(net.texts(who) == {"of a", "of d"} for who in latest(net, rest)))


@pytest.mark.parametrize("before_ms", range(0, limits.RENEW_MS, 200))
@pytest.mark.parametrize("names", ["ab", "abc"])
def test_a_newcomer_enters_the_side_of_which_the_registry_has_not_heard_yet(names: str, before_ms: int) -> None:
    """1. All but the last are killed. 2. That one goes on in an instance of its own, and the registry lists the old
    one, as long as its lease runs. 3. `z` comes.
    """
    net = Islands(Definition.parse("g", netsplit="PARTITIONABLE"))
    net.form(*names)
    net.send("a#1", "before")
    net.until(lambda: all(net.texts(who) == {"before"} for who in latest(net, names)))
    net.pass_ms(before_ms)  # the lease runs out soon after a registration of that side, or soon before one
    for name in names[:-1]:
        net.kill(f"{name}#1")
    z = net.start("z")
    net.until(lambda: together(net, f"{names[-1]}z"), 20_000)
    assert net.latest(z) == z
    assert len(net.views(z)[0].view.members) == 2, "it began beside the side that has the state"
    net.until(lambda: net.texts(z) == {"before"})


def test_who_ends_a_side_of_which_the_registry_has_not_heard_knows_it() -> None:
    """It has heard of nobody who is away, and newcomers may begin with nothing where it leaves now."""
    net = Islands(Definition.parse("g", netsplit="PARTITIONABLE"))
    net.form("a")
    assert not net.machines["a#1"].ends_a_side
    net.start("b")
    net.until_view("a#1", "b#1")
    net.kill("a#1")
    net.until(lambda: together(net, "b"))
    side = net.machines[net.latest("b#1")]
    net.pass_ms(limits.DISCOVER_MS // 2)  # it has called `a`, and knows that nobody is there
    assert side.ends_a_side
    net.pass_ms(limits.LEASE_MS + limits.RENEW_MS)
    assert not side.ends_a_side


def test_what_was_merged_by_one_that_dies_with_the_state_is_brought_again() -> None:
    """1. All are alone, and `b` and `c` enter the instance of `a`, which does not read. 2. What they bring is merged at
    a barrier for which they have no state yet. 3. `a` dies, and its state with it, but not theirs.
    """
    net = Islands(Definition.parse("g", netsplit="PARTITIONABLE"))
    net.form("a", "b", "c")
    net.split("a registry", "b", "c")
    net.until(lambda: all(together(net, name) for name in "abc"))
    for name in "abc":
        net.send(net.latest(f"{name}#1"), f"of {name}")
    net.until(lambda: all(net.texts(net.latest(f"{name}#1")) == {f"of {name}"} for name in "abc"))
    donor = net.latest("a#1")
    net.stalled.add(donor)
    merges: list[Process] = []

    def note(who: Process, effect: Effect) -> None:
        if isinstance(effect, MergeState) and who != donor:
            merges.append(who)

    net.watch = note
    net.heal()
    net.until(lambda: set(merges) == set(latest(net, "bc")))
    assert together(net, "abc")
    net.kill(donor)
    net.until(lambda: together(net, "bc"))
    net.until(lambda: all(net.texts(who) == {"of b", "of c"} for who in latest(net, "bc")))


def test_a_leaver_that_waits_for_its_cut_is_not_called() -> None:
    """1. `b` gives way to `x`, which `a` does not reach. 2. The INSTALL of its leave is lost for a while. 3. Who is
    called is in another instance: its link is closed once it has answered, and what else it was told is not read.
    """
    net = returning("x", "y", "z", "a", "b", netsplit="PARTITIONABLE")
    net.split("a b", "x y z registry")
    net.until(lambda: together(net, "ab") and together(net, "xyz"))
    a, b = latest(net, "ab")
    first: list[int] = []

    def fails(frame: Frame) -> bool:
        if (frame.source, frame.target) == (a, b) and any(isinstance(item, frames.Install) for item in frame.control):
            first.append(net.now_ms)
        return bool(first) and (frame.source, frame.target) == (a, b) and net.now_ms < first[0] + 1_200

    net.lose = fails
    net.heal()
    net.cuts = {("a", "x"), ("x", "a")}
    net.until(lambda: net.end(b) is not None)
    assert net.end(b) == Ended(net.number(a) - 1, "merge", net.number(a))


def test_whom_the_first_of_two_views_in_one_step_put_out_is_called() -> None:
    """The registry's vote comes late, and `d` has asked meanwhile: views 3 and 4 begin at one instant."""
    net = Network(Definition.parse("g", netsplit="PARTITIONABLE", tie_breaker="REGISTRY"))
    a, b = net.form("a", "b")
    lost = True
    net.answers_lost = lambda _, request: lost and isinstance(request, WitnessAccept)
    net.split("a d registry", "b")
    net.until(lambda: any(record.decided for record in net.votes.values()))
    d = net.start("d")
    net.pass_ms(150)
    lost = False
    net.until_view(a, d)
    assert [view.view.number for view in net.views(a)[-2:]] == [3, 4]
    net.heal()
    net.until(lambda: any(frame.discovery and (frame.source, frame.target) == (a, b) for frame in net.carried))


def test_scenario_38_a_leader_that_does_not_answer_is_not_gone_over_to() -> None:
    net = returning("a", "b", "c", "d", "e", netsplit="PARTITIONABLE")
    net.split("a b", "c d e")
    net.until(lambda: together(net, "ab") and together(net, "cde"))
    net.split("a b", "c")  # d and e, who would tell of c, are reached
    net.pass_ms(500)
    assert net.members(net.latest("a#1")) == set(latest(net, "ab"))  # it has seen nobody whom it could enter by
    net.heal()
    net.until(lambda: together(net, "abcde"))


def test_who_could_not_give_way_with_the_others_finds_them_when_the_rivals_leader_is_gone() -> None:
    """1. `x` alone does not reach `c`, for whom `a` and `b` give way. 2. `c` leaves; `y` has never known `x`."""
    net = returning("c", "a", "b", "x", netsplit="PARTITIONABLE")
    net.split("a b x", "c y z w registry")
    net.until(lambda: together(net, "abx") and together(net, "c"))
    for name in ("y", "z", "w"):
        net.start(name)
    net.until(lambda: together(net, "cyzw"))
    net.stop_registry()
    net.cuts = {("x", "c"), ("c", "x")}
    net.until(lambda: together(net, "cyzwab"))
    net.leave(net.latest("c#1"))
    net.heal()
    net.until(lambda: together(net, "yzwabx"))


def test_scenario_39_views_that_overlap_become_one() -> None:
    """1. A and B put C out, and C hears nothing of it. 2. So A and B are in view 4, and C in view 3 of all three."""
    net = returning("a", "b", "c")
    net.cut_off.add("c#1")
    net.until_view("a#1", "b#1")
    assert net.members("c#1") == {"a#1", "b#1", "c#1"}
    net.heal()
    net.until(lambda: together(net, "abc"))
    assert net.end("c#1") == Ended(3, "expelled", arrived=0)
    assert net.instances_alive == 1


SPIKE_MS = (
    limits.SILENCE_MIN_MS + limits.PROBE_MS + limits.HEARTBEAT_MS // 2 + 100
)  # beyond what a member that was always regular is allowed, within what one learns of another


def spike(net: Network, who: Process, pause_ms: int, after_ms: int = 400) -> None:
    net.pause(who)
    net.pass_ms(pause_ms)
    net.resume(who)
    net.pass_ms(after_ms)


def test_scenario_40_a_member_that_was_always_regular_goes_for_one_spike_and_comes_back() -> None:
    net = returning("a", "b", "c")
    net.pass_ms(5_000)
    spike(net, "b#1", SPIKE_MS)
    assert [("b#1", "silence")] in (net.suspected("a#1"), net.suspected("c#1"))  # the other may be asked sooner
    net.until(lambda: together(net, "abc"))
    assert net.latest("b#1") == "b#2"


@pytest.mark.parametrize("who", ["a#1", "b#1", "c#1"])
def test_scenario_40_a_member_whose_spikes_are_usual_stays_and_misses_nothing(who: Process) -> None:
    """Its gaps of 1.2 s raise the limit, so that the same spike, and a longer one, is no evidence against it."""
    net = returning("a", "b", "c")
    others = [other for other in ("a#1", "b#1", "c#1") if other != who]
    sent = 0
    for pause_ms in (*[1_200] * 10, SPIKE_MS, 2_500):
        for other in others:
            net.send(other, f"{other} {sent}")
        sent += 1
        spike(net, who, pause_ms)
    assert [net.suspected(other) for other in others] == [[], []]
    assert {net.number(member) for member in (who, *others)} == {3}
    assert sorted(map(str, net.delivered(who))) == sorted(f"{other} {turn}" for other in others for turn in range(sent))
    assert together(net, "abc")


@pytest.mark.parametrize("name", ["a", "b", "c"])
def test_scenario_40_spikes_beyond_every_limit_hold_up_the_others_once_each_and_never_for_good(name: str) -> None:
    net = returning("a", "b", "c")
    others = [f"{other}#1" for other in "abc" if other != name]
    expected: list[Payload] = []
    for turn in range(4):
        net.pause(net.latest(f"{name}#1"))
        net.send(others[turn % 2], f"{turn}")
        expected.append(f"{turn}")
        net.until_view(*others)  # it is put out while it hangs, and nobody waits for it
        net.until(lambda: all(net.delivered(other) == expected for other in others))
        net.resume(net.latest(f"{name}#1"))
        net.until(lambda: together(net, "abc"), limits.FLAP_MAX_MS)
    assert all(net.end(other) is None for other in others)
