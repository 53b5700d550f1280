"""State transfer, whole: joins with state while the group works, and every way in which it may go wrong.

Scenarios 22 and 23 of the list in docs/TESTING.md, and trace 12 of the reviews: Replicas checks at every barrier that
whoever has a state has the donor's history.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest

from gcom.core.machine import Stage
from gcom.core.messages import frames
from gcom.core.messages.effects import Ended, Installed, SetState, StateUnavailable, TakeState
from gcom.values import limits
from gcom.values.definition import Definition, Ordering
from gcom.values.names import Process
from tests.core.making import A, B, C, D, E
from tests.core.replicas import Replicas


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a state of some dozen messages takes many frames."""
    monkeypatch.setattr(limits, "STATE_CHUNK_BYTES", 64)


def replicas(ordering: str = "FIFO", multicast: str = "RELIABLE", **options: tuple[str, ...]) -> Replicas:
    return Replicas(Definition.parse("g", ordering, multicast), **options)


def flood(net: Replicas, *senders: str, rounds: int = 1) -> None:
    for index in range(rounds):
        for who in senders:
            net.send(who, *[f"{who} {index} {part}" for part in range(3)])
        net.step()


def has_state(net: Replicas, who: str) -> bool:
    return bool(net.told(who, SetState))


@pytest.mark.parametrize(
    "ordering", ["CAUSALTOTAL", *[pytest.param(it, marks=pytest.mark.slow) for it in Ordering if it != "CAUSALTOTAL"]]
)
def test_scenario_22_one_that_joins_while_members_flood_has_the_donors_history(ordering: str) -> None:
    net = replicas(ordering)
    net.form("a", "b", "c")
    flood(net, A, B, C, rounds=20)
    net.start("d")
    flood(net, A, B, C, rounds=60)
    net.until(lambda: has_state(net, D))
    flood(net, A, B, C, D, rounds=20)
    net.until(lambda: net.same(A, B, C, D) and len(net.applications[A].history) == 960)
    first = net.told(D, Installed)[0]
    assert isinstance(first, Installed)
    assert D in first.joined
    assert net.applications[D].events[0] == SetState(4, net.of(D, SetState)[0].data, net.views(D)[0].view.leader)


def test_the_creator_has_the_state_and_is_told_nothing_of_it() -> None:
    net = replicas()
    net.form("a")
    net.send(A, "x")
    net.step()
    assert net.told(A, Installed) == net.applications[A].events


def test_the_state_ends_at_the_barrier_in_the_donors_own_queue() -> None:
    """Trace 12: of a hundred messages that wait for the donor's application sixty are read when the joiner comes."""
    net = replicas()
    net.form("a", "b")
    net.slow.add(A)
    for number in range(100):
        net.send(B, f"{number}")
        net.step()
    net.read(A, 60)
    net.start("c")
    net.until(lambda: net.members(C) == {A, B, C})
    net.send(B, "after the barrier")
    net.pass_ms(500)
    assert not net.of(C, SetState)
    assert net.applications[C].own == []
    net.slow.clear()
    net.until(lambda: net.same(A, B, C))
    assert net.applications[C].own == [(B, 101)]
    assert len(net.applications[C].history) == 101


def test_a_state_without_bytes_is_a_state() -> None:
    net = replicas()
    net.form("a")
    net.slow.add(B)
    net.applications[A].state = lambda: b""  # type: ignore[method-assign]
    net.start("b")
    net.until(lambda: bool(net.of(B, SetState)))
    assert net.of(B, SetState)[0].data == b""


@pytest.mark.parametrize("reached", [1, 3, 10])
@pytest.mark.parametrize("ordering", ["FIFO", "TOTAL"])
def test_scenario_23_the_donor_crashes_mid_transfer_and_the_next_oldest_gives_its_own(
    ordering: str, reached: int
) -> None:
    net = replicas(ordering)
    net.form("a", "b", "c")
    flood(net, A, B, C, rounds=10)
    net.kill_after(A, frames.StateChunk, reached)
    net.start("d")
    net.until(lambda: not net.alive(A))
    assert not has_state(net, D)
    flood(net, B, C, rounds=20)
    net.until_view(B, C, D)
    net.until(lambda: net.same(B, C, D))
    assert net.of(B, TakeState) == [TakeState(5)]
    assert [it.view for it in net.of(D, SetState)] == [5]
    first = net.told(D, Installed)[0]
    assert isinstance(first, Installed)
    assert first.view.number == 5  # what it was told of view 4 is behind the new barrier


def test_scenario_23_the_requester_crashes_mid_transfer_and_the_snapshot_goes() -> None:
    net = replicas()
    net.form("a", "b", "c")
    flood(net, A, B, C, rounds=10)
    net.start("d")
    net.until(lambda: bool(net.carried_chunks(D)))
    assert net.machines[A].transfer.giving
    net.kill(D)
    net.until_view(A, B, C)
    assert not net.machines[A].transfer.owes
    flood(net, A, B, C, rounds=10)
    net.until(lambda: net.same(A, B, C))


def test_scenario_23_a_state_callback_that_raises_makes_the_next_oldest_the_donor() -> None:
    net = replicas()
    net.form("a", "b", "c")
    flood(net, A, B, C, rounds=5)
    net.broken[A] = "its get_state raised ValueError: no"
    net.start("d")
    flood(net, A, B, C, rounds=20)
    net.until(lambda: has_state(net, D))
    assert net.members(D) == {A, B, C, D}
    assert net.of(B, TakeState)
    net.until(lambda: net.same(A, B, C, D))


def test_scenario_23_where_every_donor_fails_the_state_is_lost_for_the_joiner_and_it_says_why() -> None:
    net = replicas()
    net.form("a", "b")
    flood(net, A, B, rounds=5)
    net.broken = {A: "its get_state raised ValueError: no", B: "its get_state raised KeyError: 'x'"}
    net.start("c")
    net.until(lambda: bool(net.told(C, StateUnavailable)))
    (lost,) = net.told(C, StateUnavailable)
    assert isinstance(lost, StateUnavailable)
    assert lost.reason == f"{A}: its get_state raised ValueError: no; {B}: its get_state raised KeyError: 'x'"
    net.send(A, "later")
    net.until(lambda: net.applications[C].history[-1:] == [(A, 16)])
    views = net.number(C)
    net.broken.clear()
    net.start("d")
    net.until(lambda: has_state(net, D))
    net.until(lambda: net.same(A, B, D))
    assert net.number(D) == views + 1  # c seeks no more


def test_one_that_lost_the_state_gives_none_while_another_has_it() -> None:
    net = replicas()
    net.form("a", "b")
    net.broken = {A: "no", B: "no"}
    net.start("c")
    net.until(lambda: bool(net.told(C, StateUnavailable)))
    net.start("d")
    net.until(lambda: bool(net.told(D, StateUnavailable)))
    assert not net.of(C, TakeState)


def test_ten_that_join_at_once_share_one_snapshot() -> None:
    net = replicas()
    net.form("a", "b")
    flood(net, A, B, rounds=10)
    joiners = [net.start(f"j{index}") for index in range(10)]
    flood(net, A, B, rounds=20)
    net.until(lambda: all(has_state(net, who) for who in joiners))
    net.until(lambda: net.same(A, B, *joiners))
    assert net.of(A, TakeState)[1:] == [TakeState(3)]  # the first was for b
    assert not net.machines[A].transfer.owes


def test_a_transfer_goes_on_while_others_come_and_go() -> None:
    net = replicas()
    net.form("a", "b", "c")
    flood(net, A, B, C, rounds=10)
    net.start("d")
    net.until(lambda: len(net.carried_chunks(D)) > 2)
    net.start("e")
    net.leave(C)
    net.until(lambda: has_state(net, D) and has_state(net, E))
    assert [it.view for it in net.of(D, SetState)] == [4]
    assert net.of(A, TakeState)[2:] == [TakeState(4), TakeState(net.of(E, SetState)[0].view)]
    net.until(lambda: net.same(A, B, D, E))


def test_12_where_all_who_had_the_state_die_the_rest_go_on_from_the_one_that_waited_longest() -> None:
    """A has the state, b and c wait for it, and c came later than b; a dies."""
    net = replicas(apart=("z",))
    net.form("a", "z")
    net.slow.add(A)
    net.start("b")
    net.until(lambda: len(net.members(B)) == 3)
    net.start("c")
    net.until(lambda: len(net.members(C)) == 4)
    net.send("z#1", "held back by b and c")
    net.pass_ms(300)
    net.kill(A)
    net.until(lambda: bool(net.told(B, StateUnavailable)) and has_state(net, C))
    assert net.told(B, StateUnavailable) == [StateUnavailable(5, "no member has it")]
    assert not net.told(C, StateUnavailable)
    net.send("z#1", "later")
    net.until(lambda: net.applications[B].history == net.applications[C].history == [("z#1", 1), ("z#1", 2)])
    net.start("d")
    net.until(lambda: has_state(net, D))
    net.until(lambda: net.same(B, C, D))
    assert net.of(B, TakeState)


def _waiting_for_a(*more: str, takes_only: tuple[str, ...]) -> Replicas:
    """A has the state, z is apart; b, c and more wait for it, in this order, as a's application is slow."""
    net = replicas(apart=("z",), takes_only=takes_only)
    net.form("a", "z")
    net.slow.add(A)
    for name in ("b", "c", *more):
        joiner = net.start(name)
        net.until(lambda joiner=joiner: joiner in net.members(joiner))  # type: ignore[misc]
    return net


def test_a_joiner_is_told_at_once_that_its_new_donor_gives_no_state() -> None:
    """A has the state, b, which gives none, and c wait for it; a dies, and b has waited longest."""
    net = _waiting_for_a(takes_only=("b",))
    net.kill(A)
    net.until(lambda: bool(net.told(B, StateUnavailable)))
    net.until(lambda: bool(net.told(C, StateUnavailable)), limit_ms=limits.STATE_MS // 5)
    (lost,) = net.told(C, StateUnavailable)
    assert isinstance(lost, StateUnavailable)
    assert lost.reason == f"{B}: it keeps no state that it can give"
    assert not net.machines[B].transfer.owes


def test_so_is_one_that_hears_of_that_donor_late() -> None:
    """B, c and d wait, and each gives no state; the first INSTALL of a view in which d's donor is c is lost."""
    net = _waiting_for_a("d", takes_only=("b", "c", "d"))
    lost: list[frames.Frame] = []

    def lose(frame: frames.Frame) -> bool:
        of_c = any(
            isinstance(item, frames.Install) and item.decision.sources.get(D, ("", 0))[0] == C for item in frame.control
        )
        if frame.target == D and of_c and not lost:
            lost.append(frame)
            return True
        return False

    net.lose = lose
    net.kill(A)
    net.until(lambda: bool(net.told(D, StateUnavailable)), limit_ms=limits.STATE_MS // 5)
    assert lost
    (told,) = net.told(D, StateUnavailable)
    assert isinstance(told, StateUnavailable)
    assert told.reason == f"{B}: it keeps no state that it can give; {C}: it keeps no state that it can give"


def test_a_leaver_waits_for_no_joiner_to_hear_that_it_gives_no_state() -> None:
    net = _waiting_for_a(takes_only=("b",))
    net.kill(A)
    net.until(lambda: bool(net.told(B, StateUnavailable)))
    net.cuts = {("b", "c")}
    net.leave(B, reads_on=True)
    net.until(lambda: bool(net.of(B, Ended)), limit_ms=2_000)


def test_one_that_every_donor_has_failed_goes_on_with_all_that_came_since_it_entered() -> None:
    """1. B and c wait for a. 2. What z sends is confirmed. 3. a's get_state raises. 4. a dies."""
    net = replicas(apart=("z",))
    net.form("a", "z")
    net.broken[A] = "its get_state raised ValueError: no"
    net.slow.add(A)  # its application comes late to the barrier
    net.start("b")
    net.until(lambda: len(net.members(B)) == 3)
    net.send("z#1", "held back by b")
    net.until(lambda: net.machines["z#1"].lacking(1) == [])
    net.start("c")
    net.until(lambda: len(net.members(C)) == 4)
    net.send("z#1", "held back by b and c")
    net.until(lambda: net.machines["z#1"].lacking(2) == [])
    net.slow.discard(A)
    net.until(lambda: bool(net.told(B, StateUnavailable)) and bool(net.told(C, StateUnavailable)))
    net.kill(A)
    net.until(lambda: len(net.members(B)) == 3)
    net.step()
    assert net.applications[B].history == [("z#1", 1), ("z#1", 2)]
    assert net.applications[C].history == [("z#1", 2)]


def test_one_that_wants_state_where_nobody_keeps_any_is_told_at_once() -> None:
    net = replicas(apart=("a", "b"))
    net.form("a", "b")
    net.start("c")
    net.until(lambda: net.members(C) == {A, B, C})
    net.step()
    assert net.applications[C].events[0] == StateUnavailable(3, "no member has it")
    assert isinstance(net.applications[C].events[1], Installed)


def test_one_that_only_gives_is_asked_where_nobody_has_the_whole() -> None:
    net = replicas(apart=("a",), gives_only=("b",))
    net.form("a", "b")
    net.send(A, "x")
    net.until(lambda: len(net.applications[B].history) == 1)
    net.start("c")
    net.until(lambda: has_state(net, C))
    assert net.applications[C].history == [(A, 1)]


def test_a_donor_whose_application_does_not_read_is_given_up() -> None:
    net = replicas()
    net.form("a", "b")
    net.slow.add(A)
    net.start("c")
    net.until(lambda: has_state(net, C), limits.STATE_MS + 2_000)
    assert net.of(B, TakeState)
    assert net.members(C) == {A, B, C}


def test_a_donor_that_leaves_is_replaced_as_one_that_dies() -> None:
    net = replicas()
    net.form("a", "b", "c")
    flood(net, A, B, C, rounds=10)
    net.start("d")
    net.until(lambda: len(net.carried_chunks(D)) > 1)
    net.leave(A, at_once=True)
    net.until(lambda: has_state(net, D))
    net.until(lambda: net.same(B, C, D))
    assert [it.view for it in net.of(D, SetState)] == [5]


def test_who_alone_has_the_state_gives_it_however_long_it_slept() -> None:
    """Its silence is none of its failures: nobody else could give it, and those who wait are detached meanwhile."""
    net = replicas()
    net.form("a")
    flood(net, A, rounds=10)
    net.start("b")
    net.until(lambda: len(net.carried_chunks(B)) > 1)
    net.pause(A)
    net.pass_ms(limits.STATE_MS + 2_000)
    net.resume(A)
    net.until(lambda: has_state(net, B))
    net.until(lambda: net.same(A, B))
    assert not net.of(B, StateUnavailable)


@pytest.mark.parametrize("fails", [Replicas.kill, Replicas.pause])
def test_one_that_leaves_as_the_donor_fails_gives_the_state_first(fails: Callable[[Replicas, str], None]) -> None:
    net = replicas()
    net.form("a", "b")
    flood(net, A, B, rounds=10)
    net.start("c")
    net.until(lambda: len(net.carried_chunks(C)) > 1)
    before = net.applications[B].history
    fails(net, A)
    net.leave(B, reads_on=True)
    net.until(lambda: net.machines[B].stage is Stage.ENDED and net.applications[C].queue.is_open)
    assert net.applications[C].history[: len(before)] == before
    assert not net.of(C, StateUnavailable)


def test_one_that_leaves_as_it_awaits_the_state_gives_what_it_holds_if_nobody_has_more() -> None:
    """1. What `a` confirms c holds, and awaits the state. 2. d comes. 3. `a` fails as c leaves."""
    net = replicas(apart=("b",))
    net.form("a", "b")
    net.slow.add(A)  # its application comes late to the barrier
    net.start("c")
    net.until(lambda: C in net.members(B))
    net.send(A, "held back by c")
    net.until(lambda: net.machines[A].lacking(1) == [])
    net.start("d")
    net.until(lambda: D in net.members(B))
    net.kill(A)
    net.leave(C, reads_on=True)
    net.until(lambda: net.machines[C].stage is Stage.ENDED and net.applications[D].queue.is_open)
    assert net.applications[D].history == [(A, 1)]
    assert net.told(C, StateUnavailable), "it goes on with what it has"
    assert not net.told(D, StateUnavailable)


@pytest.mark.parametrize("steps", range(12))
def test_one_that_leaves_as_one_is_let_in_gives_the_state_if_nobody_who_stays_keeps_any(steps: int) -> None:
    net = replicas(apart=("b",))
    net.form("a", "b")
    net.send(A, "in the state of a")
    net.until(lambda: net.applications[A].history == [(A, 1)])
    net.start("c")
    for _ in range(steps):
        net.step()
    net.leave(A, reads_on=True)
    net.until(
        lambda: net.machines[A].stage is Stage.ENDED and C in net.members(B) and net.applications[C].queue.is_open
    )
    first = net.views(C)[0]
    assert A in first.view.members or A not in first.left, "it goes by the view that lets c in"
    assert net.applications[C].history == ([(A, 1)] if A in first.view.members else [])


@pytest.mark.parametrize("second", range(4))
@pytest.mark.parametrize("first", range(0, 24, 2))
def test_where_all_leave_as_one_joins_it_has_the_state_or_begins_anew(first: int, second: int) -> None:
    """At whatever step they ask: who becomes its donor as it leaves stays until that is done."""
    net = replicas()
    net.form("a", "b")
    flood(net, A, B, rounds=3)
    net.until(lambda: net.same(A, B))
    before = net.applications[A].history
    net.start("c")
    for _ in range(first):
        net.step()
    net.leave(A, reads_on=True)
    for _ in range(second):
        net.step()
    net.leave(B, reads_on=True)
    net.until(lambda: net.machines[C].stage is Stage.MEMBER and net.applications[C].queue.is_open)
    if net.machines[C].instance == net.machines[A].instance:
        assert net.applications[C].history[: len(before)] == before
        assert not net.of(C, StateUnavailable)
    net.until(lambda: all(net.machines[who].stage is Stage.ENDED for who in (A, B)))


def test_lost_calls_cost_the_transfer_nothing_but_time() -> None:
    net = replicas()
    net.form("a", "b")
    flood(net, A, B, rounds=10)
    pattern = iter([False, True, False, False, True, True] * 10_000)
    net.lose = lambda frame: any(isinstance(item, frames.StateChunk) for item in frame.control) and next(pattern)
    net.start("c")
    flood(net, A, B, rounds=20)
    net.until(lambda: has_state(net, C))
    net.until(lambda: net.same(A, B, C))


def test_data_and_state_take_turns_on_a_link() -> None:
    net = replicas()
    net.form("a", "b")
    flood(net, A, rounds=30)
    net.start("c")
    net.until(lambda: len(net.carried_chunks(C)) > 1)
    seen = len(net.carried)
    for _ in range(20):
        net.send(A, *["x"] * 10)
        net.step()
    mine = [frame for frame in net.carried[seen:] if frame.source == A and frame.target == C]
    chunks = [any(isinstance(item, frames.StateChunk) for item in frame.control) for frame in mine]
    assert any(chunks)
    assert any(frame.runs for frame in mine)
    net.until(lambda: has_state(net, C))


def test_a_joiner_that_waits_fills_the_windows_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "WINDOW_MESSAGES_MAX", 30)
    net = replicas()
    net.form("a", "b")
    net.slow.add(A)  # so the barrier is not reached
    net.start("c")
    net.until(lambda: net.members(C) == {A, B, C})
    net.send(B, *["x"] * 100)
    net.pass_ms(1_000)
    assert net.machines[B].unsent_count == 70
    assert len(net.applications[C].queue.tail) < 40
    net.slow.clear()
    net.until(lambda: net.same(A, B, C) and net.machines[B].unsent_count == 0)


def test_one_that_waits_and_ends_is_handed_nothing_but_its_end() -> None:
    net = replicas()
    net.form("a", "b")
    net.slow.add(A)
    net.start("c")
    net.until(lambda: net.members(C) == {A, B, C})
    net.send(B, "never seen by c")
    net.pass_ms(200)
    net.leave(C)
    net.until(lambda: bool(net.told(C, Ended)))
    assert net.applications[C].events == [net.end(C)]
    assert net.applications[C].own == []


def test_a_state_over_the_limit_is_refused_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "STATE_BYTES_MAX", 100)
    net = replicas()
    net.form("a")
    flood(net, A, rounds=10)
    net.start("b")
    net.until(lambda: bool(net.told(B, StateUnavailable)))
    (lost,) = net.told(B, StateUnavailable)
    assert isinstance(lost, StateUnavailable)
    assert "over the limit of 100" in lost.reason


def test_a_donor_holds_no_more_snapshots_than_it_may(monkeypatch: pytest.MonkeyPatch) -> None:
    net = replicas()
    net.form("a", "b")
    flood(net, A, B, rounds=10)
    size = len(net.applications[A].state())
    monkeypatch.setattr(limits, "STATES_BYTES_MAX", size + 100)
    net.lose = lambda frame: [type(item) for item in frame.control] == [frames.StateChunk] and frame.target == C
    net.start("c")
    net.until(lambda: net.machines[A].transfer.giving)
    net.start("d")
    net.until(lambda: has_state(net, D))
    assert net.of(B, TakeState)


class Chance:
    """Joins, crashes, leaves, failing callbacks, slow readers and lost calls, drawn from a seed; then all is well."""

    def __init__(self, seed: int) -> None:
        self.rng = Random(seed)
        ordering = self.rng.choice(["FIFO", "NONORDERED", "CAUSAL", "TOTAL", "CAUSALTOTAL"])
        self.net = replicas(ordering, apart=("z",) if self.rng.random() < 0.3 else ())
        self.members = self.net.form("a", "b", "c", *self.net.apart)
        self.rate = self.rng.choice([0.0, 0.1, 0.3])
        self.net.lose = lambda frame: self.rng.random() < self.rate
        self._names = iter(f"m{index}" for index in range(100))

    @property
    def alive(self) -> list[Process]:
        return [who for who in self.members if self.net.alive(who) and self.net.machines[who].stage is Stage.MEMBER]

    def run(self) -> None:
        for _ in range(self.rng.randint(100, 400)):
            self._do(self.rng.random())
            self.net.step()
        self._heal()

    def _do(self, chance: float) -> None:
        net, alive = self.net, self.alive
        if chance < 0.3 and alive:
            net.send(self.rng.choice(alive), *[f"{index}" for index in range(self.rng.randint(1, 5))])
        elif chance < 0.34 and len(net.machines) < 14:
            self.members.append(net.start(next(self._names)))
        elif chance < 0.36 and self._may_go:
            net.kill(self.rng.choice(alive))
        elif chance < 0.37 and self._may_go:
            net.leave(self.rng.choice(alive))
        elif chance < 0.39 and alive:
            net.broken[self.rng.choice(alive)] = "no"
        elif chance < 0.41:
            net.broken.clear()
        elif chance < 0.44 and alive:
            net.slow ^= {self.rng.choice(alive)}

    @property
    def _may_go(self) -> bool:
        """Whether the view goes on with one member less, and all who stay are in it."""
        settled = [who for who in self.alive if self.net.members(who) == set(self.alive)]
        return len(settled) == len(self.alive) > 3

    def _heal(self) -> None:
        net = self.net
        net.slow.clear()
        net.broken.clear()
        self.rate = 0.0
        entering = [who for who, it in net.machines.items() if it.stage is Stage.ENTERING and net.alive(who)]
        net.until(lambda: all(net.machines[who].stage is not Stage.ENTERING for who in entering))
        net.until(lambda: all(net.members(who) == set(self.alive) for who in self.alive))
        for who in self.alive:
            net.send(who, "marker")
        net.until(lambda: all(net.applications[who].queue.is_open for who in self.alive))
        net.until(lambda: all(net.same(*keepers) for keepers in self._by_origin()))

    def _by_origin(self) -> list[list[Process]]:
        """Those who keep a state, by the history that it belongs to."""
        keepers = [who for who in self.alive if who.partition("#")[0] not in self.net.apart]
        origins = dict.fromkeys(self.net.applications[who].origin for who in keepers)
        return [[who for who in keepers if self.net.applications[who].origin == origin] for origin in origins]


@pytest.mark.parametrize(
    "seeds",
    [range(2), pytest.param(range(2, 8), marks=pytest.mark.slow), pytest.param(range(8, 60), marks=pytest.mark.soak)],
    ids=lambda seeds: f"{seeds[0]}-{seeds[-1]}",
)
def test_whatever_happens_every_state_is_a_donors_history(seeds: range) -> None:
    given = 0
    for seed in seeds:
        try:
            chance = Chance(seed)
            chance.run()
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {error}") from error
        given += sum(bool(chance.net.of(who, SetState)) for who in chance.members)
    assert given >= 2 * len(seeds)
