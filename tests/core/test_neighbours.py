"""Large groups, in which each member watches two: the ring, the questions about a silent member, arrivals.

The bound on detection is that of a small group. Links that rest must not delay it, and must not be taken for trouble.
"""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcom.core.detector.neighbours import neighbours, rest_ms
from gcom.core.detector.probes import IndirectProbes
from gcom.core.detector.suspicion import Detector
from gcom.core.links import Links
from gcom.core.membership.arrivals import Arrivals
from gcom.core.messages.frames import Frame, IndirectAck, Probe
from gcom.values import limits
from gcom.values.names import Process
from gcom.values.view import View
from tests.core.making import address, view
from tests.core.network import Network

LARGE = limits.WATCH_ALL_MAX + 2
OUT_MS = limits.SILENCE_MAX_MS + limits.WAKE_MS  # silent members are out of the view by then: 5 s, as in a small group

sizes = st.integers(2, limits.MEMBERS_MAX)
large = st.integers(limits.WATCH_ALL_MAX + 1, limits.MEMBERS_MAX)


def _of(size: int) -> View:
    return view(*[f"m{rank:02}#1" for rank in range(size)])


# the ring


@given(sizes)
def test_each_member_is_watched_by_the_members_that_it_watches(size: int) -> None:
    ring = _of(size)
    watched = {member: neighbours(ring, member) for member in ring.members}
    assert all(member in watched[peer] for member in ring.members for peer in watched[member])
    assert all(member not in watched[member] for member in ring.members)
    expected = size - 1 if size <= limits.WATCH_ALL_MAX else 2
    assert {len(peers) for peers in watched.values()} == {expected}


@given(sizes, st.data())
def test_some_live_member_watches_some_dead_one_whichever_die(size: int, data: st.DataObject) -> None:
    ring = _of(size)
    dead = data.draw(st.sets(st.sampled_from(ring.members), min_size=1, max_size=size - 1))
    live = set(ring.members) - dead
    assert any(neighbours(ring, member) & live for member in dead)


@given(large, st.data())
def test_both_ends_of_a_link_let_it_rest_for_the_same_time(size: int, data: st.DataObject) -> None:
    ring = _of(size)
    one, other = data.draw(st.permutations(ring.members))[:2]
    assert rest_ms(ring, one, other) == rest_ms(ring, other, one)
    assert limits.REST_MS // 2 <= rest_ms(ring, one, other) <= limits.REST_MS
    assert rest_ms(ring, one, other) < limits.CONNECTION_IDLE_MS  # or its server would end the connection


# a large group, from outside


@pytest.fixture
def sparse(monkeypatch: pytest.MonkeyPatch) -> int:
    """Make ten members a large group: fewer cost less time, and the rules are the same. Return the new limit."""
    monkeypatch.setattr(limits, "WATCH_ALL_MAX", 8)
    return limits.WATCH_ALL_MAX


@pytest.fixture
def net(sparse: int) -> Network:
    """A group of ten in which most links rest."""
    net = Network()
    members = [net.start(f"m{rank:02}") for rank in range(sparse + 2)]
    net.until_view(*members)
    net.pass_ms(4 * limits.HEARTBEAT_MS)
    net.carried.clear()
    return net


def _pairs(frames: Iterable[Frame]) -> set[frozenset[Process]]:
    return {frozenset((frame.source, frame.target)) for frame in frames}


def _ring(net: Network) -> View:
    (ring,) = {machine.view for machine in net.machines.values()}
    assert ring is not None
    return ring


def test_while_nothing_happens_only_neighbours_call_each_other(net: Network) -> None:
    ring = _ring(net)
    net.pass_ms(limits.SILENCE_MAX_MS)
    called = _pairs(net.carried)
    beside = {frozenset((one, other)) for one in ring.members for other in neighbours(ring, one)}
    # Now and then another link has its exchange, so that its connection is kept.
    assert beside <= called
    assert len(net.carried) <= len(beside) * limits.SILENCE_MAX_MS // limits.HEARTBEAT_MS * 3 // 2
    assert not any(net.suspected(member) for member in ring.members)


def _silent(case: int, members: tuple[Process, ...]) -> list[Process]:
    """Return which members hang: fewer than half; in the first cases such that are next to each other, or to none."""
    most = (len(members) - 1) // 2
    if case == 0:
        return [members[0]]
    if case == 1:
        return [*members[2 : 2 + most]]
    if case == 2:
        return [*members[1 : 2 * most : 2]]
    return Random(f"silent {case}").sample(members, Random(case).randint(1, most))


@pytest.mark.parametrize("case", range(5))
def test_members_that_hang_are_out_of_the_view_as_soon_as_in_a_small_group(net: Network, case: int) -> None:
    ring = _ring(net)
    silent = _silent(case, ring.members)
    for member in silent:
        net.pause(member)
    live = set(ring.members) - set(silent)
    net.until(lambda: all(net.members(member) == live for member in live), OUT_MS)


def test_a_member_that_dies_is_out_within_a_heartbeat_and_a_change(net: Network) -> None:
    members = _ring(net).members
    net.kill(members[4])
    live = set(members) - {members[4]}
    net.until(lambda: all(net.members(member) == live for member in live), 3 * limits.HEARTBEAT_MS)


def test_the_smaller_side_of_a_cut_is_detached_as_soon_as_in_a_small_group(net: Network) -> None:
    members = _ring(net).members
    few = members[2:5]
    net.split(" ".join(_names(set(members) - set(few))), " ".join(_names(few)))
    net.until(lambda: all(net.machines[member].detached for member in few), OUT_MS)
    many = set(members) - set(few)
    net.until(lambda: all(net.members(member) == many for member in many), OUT_MS)


def _names(members: Iterable[Process]) -> list[str]:
    return sorted(member.partition("#")[0] for member in members)


def test_a_cut_between_two_neighbours_that_passes_changes_no_view(net: Network) -> None:
    one, other = _ring(net).members[3:5]
    number = net.number(one)
    net.split(*_names((one, other)))
    net.pass_ms(limits.SILENCE_MIN_MS + 4 * limits.PROBE_MS)
    asked = {frame.source for frame in net.carried for item in frame.control if isinstance(item, Probe)}
    assert asked & {one, other}
    assert not any(net.suspected(member) for member in net.machines)  # others hear them, and say so
    net.heal()
    net.pass_ms(limits.SILENCE_MAX_MS)
    assert {machine.view.number for machine in net.machines.values() if machine.view} == {number}


def test_a_message_reaches_all_at_once_although_their_links_rest(net: Network) -> None:
    sender, *others = _ring(net).members
    net.send(sender, "wakes them")
    net.until(lambda: all("wakes them" in net.delivered(member) for member in others), limits.HEARTBEAT_MS)


@pytest.mark.usefixtures("sparse")
def test_a_group_grows_and_shrinks_over_the_size_at_which_links_rest() -> None:
    net = Network()
    small = [net.start(f"m{rank:02}") for rank in range(limits.WATCH_ALL_MAX)]
    net.until_view(*small)
    late = [net.start(name) for name in ("late", "later")]
    net.until_view(*small, *late)
    net.send(small[0], "one")
    net.pass_ms(limits.SILENCE_MAX_MS)
    for leaver in late:
        net.leave(leaver)
    net.until_view(*small)
    net.send(small[0], "two")
    net.pass_ms(limits.SILENCE_MAX_MS)
    assert [net.delivered(member) for member in small] == [["one", "two"]] * len(small)
    assert not any(net.suspected(member) for member in small)


# the questions about a silent member


class Asked:
    """One member of a large view that others ask about silent ones."""

    def __init__(self) -> None:
        self.ring = _of(LARGE)
        self.me, *_, self.far, self.asker = (self.ring.members[it] for it in (0, 1, 5, 7))
        self.detector = Detector(self.me)
        self.detector.install(self.ring, 0)
        self.links = Links(self.me)
        for peer in self.ring.members[1:]:
            self.links.open(peer, address(peer), 0)
        self.links.woken_peers.clear()
        self.probes = IndirectProbes(self.detector, self.links, self.ring.number)

    def heard(self, peer: Process, now_ms: int) -> None:
        self.detector.heard(peer, now_ms, ())
        self.probes.on_heard(peer)

    def ask(self, now_ms: int, view: int = 1) -> None:
        self.probes.answer(self.asker, Probe(view, (self.far,)), now_ms)

    @property
    def answers(self) -> list[object]:
        return list(self.links[self.asker].control)


def test_a_member_that_hears_the_silent_one_says_so_at_once() -> None:
    it = Asked()
    it.heard(it.far, 20_000)
    it.ask(20_100)
    assert it.answers == [IndirectAck(1, (it.far,))]
    assert not it.links[it.far].owed


def test_a_member_whose_link_rests_calls_the_silent_one_and_answers_once_it_is_heard() -> None:
    it = Asked()
    it.detector.rest(it.far, True)
    it.ask(20_000)
    assert it.answers == []
    assert it.links[it.far].owed
    it.heard(it.far, 20_050)
    assert it.answers == [IndirectAck(1, (it.far,))]


def test_that_a_link_rests_is_no_sign_of_life_for_others() -> None:
    it = Asked()
    it.detector.rest(it.far, True)
    it.ask(20_000)
    it.heard(it.asker, 20_050)
    assert it.answers == []


def test_a_question_of_another_view_is_not_answered() -> None:
    it = Asked()
    it.heard(it.far, 20_000)
    it.ask(20_100, view=2)
    assert it.answers == []


# arrivals


@given(large, st.data())
def test_the_leaders_word_names_all_that_have_arrived(size: int, data: st.DataObject) -> None:
    ring = _of(size)
    leader, *others = ring.members
    reader = data.draw(st.sampled_from(others))
    far = {who: set(ring.members) - neighbours(ring, who) - {who} for who in (leader, reader)}
    says, hears = Arrivals(leader, ring, far[leader]), Arrivals(reader, ring, far[reader])
    arrived = data.draw(st.lists(st.sampled_from(ring.members), unique=True))
    assert [says.add(member) for member in arrived] == [True] * len(arrived)
    assert not any(says.add(member) for member in arrived)
    assert says.tells_all == (len(arrived) == size)
    told = hears.told(says.bits)
    assert set(told) == set(arrived) - {leader}  # the leader's own arrival is its status
    for member in told:
        hears.add(member)
    assert hears.told(says.bits) == []
    assert hears.behind == set(ring.members) - set(told)
    assert hears.stuck == hears.behind - far[reader]
    assert not hears.tells_all


def test_in_a_small_view_each_member_hears_of_each_arrival_itself() -> None:
    ring = _of(limits.WATCH_ALL_MAX)
    arrivals = Arrivals(ring.leader, ring, ())
    arrivals.add(ring.members[1])
    assert (arrivals.bits, arrivals.is_told, arrivals.tells_all) == (0, False, False)
    assert arrivals.stuck == set(ring.members) - {ring.members[1]}
    assert arrivals.first_told(ring.members[1:]) == list(ring.members[1:])


def test_news_go_at_once_to_the_neighbours_and_to_the_oldest_live_member() -> None:
    ring = _of(LARGE)
    me = ring.members[5]
    arrivals = Arrivals(me, ring, set(ring.members) - neighbours(ring, me) - {me})
    live = [member for member in ring.members[1:] if member != me]
    assert arrivals.first_told(live) == [ring.members[1], ring.members[4], ring.members[6]]
