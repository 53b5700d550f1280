"""Links that fail between two whom others reach: whom the group goes on without, and that it stays so."""

from __future__ import annotations

from collections.abc import Callable, Set
from itertools import combinations
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcom.core.detector.connectivity import EXACT_MAX, Connectivity, Pair, to_drop
from gcom.core.membership.triggers import Triggers
from gcom.core.messages.frames import Decision
from gcom.core.quorum import is_quorum
from gcom.values import limits
from gcom.values.definition import Definition
from gcom.values.names import name_of
from tests.cases import daily_and_rest
from tests.core.making import view
from tests.core.network import Network


def connected(count: int, conflicts: set[Pair]) -> list[tuple[int, ...]]:
    """The largest sets without a conflict, by brute force; the first is the one of the oldest."""
    for size in range(count, 0, -1):
        found = [each for each in combinations(range(count), size) if not any({*pair} <= {*each} for pair in conflicts)]
        if found:
            return found
    return []


def anything(_: Set[int]) -> bool:
    """Return True: any set that is left may go on."""
    return True


def quorum_of(count: int) -> Callable[[Set[int]], bool]:
    """Whether a quorum is left of a view of so many, without these."""
    members = [f"m{rank}#1" for rank in range(count)]
    return lambda gone: is_quorum(view(*members), {members[rank] for rank in range(count) if rank not in gone})


@given(
    st.integers(2, 12).flatmap(
        lambda count: st.tuples(
            st.just(count), st.sets(st.sampled_from(list(combinations(range(count), 2))), max_size=12)
        )
    )
)
def test_what_is_left_is_connected_and_the_largest_where_few_are_concerned(drawn: tuple[int, set[Pair]]) -> None:
    count, conflicts = drawn
    dropped = to_drop(conflicts, anything)
    kept = {rank for rank in range(count) if rank not in dropped}
    assert not any(set(pair) <= kept for pair in conflicts)
    if len({who for pair in conflicts for who in pair}) <= EXACT_MAX:
        best = connected(count, conflicts)
        assert len(kept) == len(best[0])


@given(
    st.integers(2, 8).flatmap(
        lambda count: st.tuples(st.just(count), st.sets(st.sampled_from(list(combinations(range(count), 2)))))
    )
)
def test_some_go_if_and_only_if_a_quorum_without_a_conflict_is_left(drawn: tuple[int, set[Pair]]) -> None:
    count, conflicts = drawn
    suffice = quorum_of(count)
    dropped = to_drop(conflicts, suffice)
    best = [each for each in connected(count, conflicts) if suffice({*range(count)} - {*each})]
    if best and conflicts:
        assert tuple(rank for rank in range(count) if rank not in dropped) in best
    else:
        assert dropped == ()


@pytest.mark.parametrize(
    ("conflicts", "dropped"),
    [
        ([], ()),
        ([(0, 1)], (1,)),
        ([(1, 2)], (2,)),
        ([(0, 3), (0, 4)], (0,)),
        ([(0, 2), (1, 3)], (2, 3)),
        ([(0, 1), (1, 2), (2, 3), (3, 4)], (1, 3)),
    ],
)
def test_the_younger_of_a_pair_goes_and_who_is_in_several(conflicts: list[Pair], dropped: tuple[int, ...]) -> None:
    assert to_drop(set(conflicts), anything) == dropped


def test_half_of_the_view_goes_on_if_it_has_the_leader() -> None:
    ring = {(0, 1), (0, 2), (1, 3), (2, 3)}
    assert to_drop(ring, anything) == (0, 3)
    assert to_drop(ring, quorum_of(4)) == (1, 2)
    assert to_drop(set(combinations(range(4), 2)), quorum_of(4)) == ()


def test_a_conflict_counts_once_it_has_lasted() -> None:
    mesh = Connectivity()
    mesh.observe({2: 0b10}, 1_000)
    mesh.observe({1: 0b100, 2: 0}, 1_500)
    assert mesh.conflicts(1_000 + limits.CUT_MS - 1) == set()
    assert mesh.conflicts(1_000 + limits.CUT_MS) == {(1, 2)}
    mesh.observe({}, 2_500)
    mesh.observe({1: 0b100}, 2_600)
    assert mesh.conflicts(3_000) == set()


def test_a_conflict_waits_for_newer_ones_for_a_while() -> None:
    mesh = Connectivity()
    mesh.observe({0: 0b10}, 1_000)
    mesh.observe({0: 0b10, 2: 0b1}, 1_000 + limits.CUT_MS)
    assert mesh.conflicts(1_000 + limits.CUT_MS) == set()
    assert mesh.conflicts(1_000 + 2 * limits.CUT_MS) == {(0, 1), (0, 2)}
    mesh.observe({0: 0b10, 1: 0b100}, 1_000 + limits.CUTS_GATHER_MS)
    assert mesh.conflicts(1_000 + limits.CUTS_GATHER_MS) == {(0, 1)}


@pytest.mark.slow
def test_all_know_which_of_two_sides_goes_that_one_member_alone_hears_both_of() -> None:
    members = tuple(f"m{rank:02}#1" for rank in range(40))
    left, right, between = set(members[:19]), set(members[19:39]), members[39]
    hears = {who: {*(left if who in left else right), between} - {who} for who in members} | {between: left | right}
    sees = {who: Triggers(who, Definition.parse("g"), "i", view(*members)) for who in members}
    for each in sees.values():
        each.install(Decision(view(*members), (), {}, {}), 0)
    for now_ms in range(limits.HEARTBEAT_MS, 8_000, limits.HEARTBEAT_MS):
        told = {who: (tuple(each.detector.suspects), each.unheard) for who, each in sees.items()}
        for who, each in sees.items():
            for peer in sorted(hears[who]):
                each.detector.heard(peer, now_ms, *told[peer])
            each.detector.on_indirect_ack(members, now_ms)
            each.detector.tick(now_ms)
            each.judge_links(now_ms)
    assert {each.dropped for each in sees.values()} == {members[:19]}


def cut(net: Network, *links: str) -> None:
    """`a>b`: what a says does not reach b."""
    net.cuts |= {(link[0], link[-1]) for link in links}
    net.cuts |= {(link[-1], link[0]) for link in links if link[1] == "-"}


@pytest.mark.parametrize("ordering", ["FIFO", pytest.param("TOTAL", marks=pytest.mark.slow)])
@pytest.mark.parametrize("link", ["b-c", "b>c", "c>b", "a-b", "a>b", "b>a", "a-c", "a>c", "c>a"])
def test_a_bad_link_costs_the_younger_and_it_is_back_when_the_link_is(link: str, ordering: str) -> None:
    net = Network()
    net.definition = net.definition.parse("g", ordering)
    net.returning = True
    net.form("a", "b", "c")
    young = max(link[0], link[-1])
    old = {"a", "b", "c"} - {young}
    kept = [f"{name}#1" for name in sorted(old)]
    cut(net, link)
    cut_ms = net.now_ms
    net.until_view(*kept)
    assert net.now_ms - cut_ms <= limits.SILENCE_MAX_MS + limits.CUT_MS + 1_500
    net.pass_ms(2_000)
    views = net.number(kept[0])
    net.send(kept[0], "on we go")
    net.until(lambda: all(net.delivered(who) == ["on we go"] for who in kept))
    net.pass_ms(10_000)
    assert net.number(kept[0]) == views  # it does not come in and out again
    net.heal()
    net.until(
        lambda: all(net.members(who) == {*kept, net.latest(f"{young}#1")} for who in (*kept, net.latest(f"{young}#1")))
    )
    net.send(net.latest(f"{young}#1"), "back")
    net.until(lambda: all(net.delivered(who)[-1:] == ["back"] for who in kept))


@pytest.mark.parametrize("ordering", ["FIFO", "TOTAL"])
@pytest.mark.parametrize(("caller", "callee"), ["ba", "ca", "cb", "bc"])
def test_a_connection_that_only_one_side_can_open_costs_the_younger(caller: str, callee: str, ordering: str) -> None:
    """Calls of the one hang, while the other's come and are answered: both hear each other all the time."""
    net = Network(Definition.parse("g", ordering))
    net.returning = True
    net.form("a", "b", "c")
    net.lose = lambda frame: (name_of(frame.source), name_of(frame.target)) == (caller, callee)
    kept = [f"{name}#1" for name in sorted({"a", "b", "c"} - {max(caller, callee)})]
    for who in ("a#1", "b#1", "c#1"):
        net.send(who, f"of {who}")
    net.until_view(*kept)
    net.send(kept[1], "on we go")
    net.until(lambda: all(net.delivered(who)[-1:] == ["on we go"] for who in kept))
    net.lose = lambda frame: False
    net.until(lambda: len(net.members(kept[0])) == 3, limits.FLAP_MAX_MS)


def test_a_connection_that_only_one_side_can_open_serves_both_while_nothing_is_sent() -> None:
    """The calls of C carry both heartbeats. What A has to say finds the broken way, and then the younger goes."""
    net = Network()
    net.form("a", "b", "c")
    net.pass_ms(1_000)
    net.lose = lambda frame: (frame.source, frame.target) == ("a#1", "c#1")
    net.pass_ms(20_000)
    assert all(len(net.members(who)) == 3 and not net.suspected(who) for who in ("a#1", "b#1", "c#1"))
    net.send("a#1", "news")
    net.until_view("a#1", "b#1")


def test_who_asks_under_a_name_that_is_put_off_is_told_what_it_waits_for() -> None:
    net = Network()
    net.form("a", "b", "c")
    cut(net, "b-c")
    net.until_view("a#1", "b#1")
    asker = net.start("c", "2")
    net.pass_ms(2_000)
    waited = "a#1 to admit it, once its links to all members have held for a while"
    assert net.machines[asker].waits_for == f"{waited}, which members do through the group's home registry"
    net.heal()
    net.until_view("a#1", "b#1", asker)


def test_who_is_put_off_asks_no_more_often_than_every_heartbeat() -> None:
    net = Network()
    net.returning = True
    net.form("a", "b", "c")
    cut(net, "b-c")
    net.until_view("a#1", "b#1")
    net.pass_ms(2_000)
    before = len(net.carried)
    net.pass_ms(2_000)
    calls = [frame for frame in net.carried[before:] if frame.source == net.latest("c#1")]
    assert 0 < len(calls) <= 2_000 // limits.HEARTBEAT_MS + 1


@pytest.mark.slow
def test_a_link_that_flaps_costs_fewer_views_the_longer_it_does() -> None:
    net = Network()
    net.returning = True
    net.form("a", "b", "c")
    started_ms, views = net.now_ms, []
    for minute in (1, 2, 3):
        before = net.number("a#1")
        while net.now_ms < started_ms + minute * 60_000:
            flapping = (net.now_ms - started_ms) % 5_800
            net.cuts.clear()
            if flapping < 5_300:
                cut(net, "a-b")
            net.step()
        views.append(net.number("a#1") - before)
    assert views[0] <= 10
    assert max(views[1:]) <= 4
    net.heal()
    net.until(lambda: net.members("a#1") == {"a#1", net.latest("b#1"), "c#1"}, limits.FLAP_MAX_MS + 1_000)


@pytest.mark.parametrize(
    ("names", "links", "kept"),
    [
        ("abc", "b>a a>c", "bc"),
        ("abcdef", "b>a a>f", "bcdef"),  # b does not hear that f misses a, nor f that a misses b
        ("abcde", "a>b c>a", "bcde"),  # b, who is to propose, does not hear that a misses c
        ("abcd", "b-d a>d", "abc"),  # d hears no quorum, and is back before a misses it
        ("abcde", "b-d c-d d-e", "abce"),
        ("abcd", "a>b a>c b>d c>d", "ad"),  # of two halves, the older members' is b and c, and has no leader
    ],
)
@pytest.mark.slow
def test_links_that_meet_in_one_member_cost_that_one_and_it_stays_out(names: str, links: str, kept: str) -> None:
    net = Network()
    net.returning = True
    net.form(*names)
    cut(net, *links.split())
    there = [f"{name}#1" for name in kept]
    net.until_view(*there)
    views = net.number(there[0])
    net.send(there[0], "on we go")
    net.until(lambda: all(net.delivered(who) == ["on we go"] for who in there))
    net.pass_ms(10_000)
    assert net.number(there[0]) == views
    net.heal()
    net.until(lambda: len(net.members(there[0])) == len(names))


@pytest.mark.parametrize(
    ("links", "kept"),
    [
        ("a-d a>c d>b b-c", "ab"),  # b and c hear one other member each
        ("b>a a>d d>c a-c b-d", "bc"),
        ("d>a b>d a>c a>b", "bc"),  # neither hears a, and d does; nobody that b hears hears a
    ],
)
def test_half_of_the_view_has_time_to_ask_the_registry_for_its_vote(links: str, kept: str) -> None:
    net = Network(Definition.parse("g", tie_breaker="registry"))
    net.returning = True
    net.form(*"abcd")
    cut(net, *links.split())
    there = [f"{name}#1" for name in kept]
    net.until_view(*there)
    net.send(there[0], "on we go")
    net.until(lambda: all(net.delivered(who) == ["on we go"] for who in there))
    net.pass_ms(limits.TIE_MS)
    assert net.instances_alive == 1
    net.heal()
    net.until(lambda: len(net.members(there[0])) == 4)


@pytest.mark.parametrize(
    ("links", "waits_ms", "detached"),
    [
        ("a-c a-d b-c b-d", limits.DETACH_MS, "abcd"),  # a split: nobody hears whom another misses
        ("a-d a>c d>b b-c", limits.TIE_MS, "bc"),  # a and d hear b and c
    ],
)
def test_half_of_the_view_is_detached_when_the_registry_gives_no_vote(links: str, waits_ms: int, detached: str) -> None:
    net = Network(Definition.parse("g", tie_breaker="registry"))
    net.returning = True
    net.form(*"abcd")
    net.stop_registry()
    cut(net, *links.split())
    net.pass_ms(waits_ms - limits.HEARTBEAT_MS)
    members = [f"{name}#1" for name in "abcd"]
    assert not any(net.machines[who].detached for who in members)
    net.until(lambda: any(net.machines[who].detached for who in members), 3 * limits.HEARTBEAT_MS)
    net.pass_ms(limits.SILENCE_MAX_MS)
    assert [who for who in members if net.machines[who].detached] == [f"{name}#1" for name in detached]
    assert all(net.members(who) == {*members} and net.end(who) is None for who in members)
    net.heal()
    net.start_registry()
    net.until(lambda: all(len(net.members(net.latest(who))) == 4 for who in members))
    assert {net.machines[net.latest(who)].instance for who in members} == {"i0001"}


@pytest.mark.slow
@pytest.mark.parametrize("seed", daily_and_rest(range(36), 10))
def test_the_largest_set_that_is_connected_goes_on(seed: int) -> None:
    rng = Random(seed)
    names = "abcdefg"[: rng.randint(3, 7)]
    net = Network()
    net.returning = True
    members = tuple(net.form(*names))
    pairs = rng.sample(list(combinations(names, 2)), min(rng.randint(1, 4), len(names)))
    apart_ms = rng.choice([0, 0, 300])
    for one, other in pairs:
        cut(net, f"{one}{rng.choice('->')}{other}" if rng.random() < 0.8 else f"{other}>{one}")
        net.pass_ms(rng.randint(0, apart_ms))
    best = connected(len(names), {(names.index(a), names.index(b)) for a, b in pairs})
    sizes = {len(each) for each in best if is_quorum(view(*members), {members[rank] for rank in each})}
    net.pass_ms(15_000)
    number = {who: net.number(who) for who in members}
    present = [who for who in members if net.members(who)]
    if not sizes:
        return
    (kept,) = {frozenset(net.members(who)) for who in present}
    assert kept == set(present)
    assert not any({f"{a}#1", f"{b}#1"} <= kept for a, b in pairs), (pairs, kept)
    assert len(kept) in sizes
    net.send(present[0], "on we go")
    net.until(lambda: all(net.delivered(who) == ["on we go"] for who in present))
    net.pass_ms(8_000)
    assert {who: net.number(who) for who in present} == {who: number[who] for who in present}
    net.heal()
    net.until(lambda: net.members(present[0]) == {net.latest(who) for who in members})
