"""The checker that looks across the instances of a name, on histories made by hand, and what its ambushes need."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext

import pytest

from gcom.core.messages.effects import Deliver, Effect, Ended, Installed, Succeeds
from gcom.core.messages.registry import Lookup, Refusal
from gcom.sim.checks.continuity import Continuity
from gcom.sim.checks.record import Violation
from gcom.sim.checks.state import State
from gcom.sim.network import SimConnection
from gcom.sim.plan.draw import draw
from gcom.sim.plan.events import FORGETS, REFUSED, STOPPED, Fault, TroubleEvent
from gcom.sim.world import World
from gcom.values import limits
from gcom.values.definition import Definition
from gcom.values.view import View
from tests.sim.story import run

PLAIN = Definition.parse("g")
SAFE = Definition.parse("g", safe=True)
BASIC = Definition.parse("g", multicast="BASIC")
SPLIT = Definition.parse("g", netsplit="PARTITIONABLE")


class History:
    """The history that the applications of a name see, instance by instance; each keeps a state."""

    def __init__(self, definition: Definition, registries: int = 1) -> None:
        self._continuity = Continuity(definition, registries)
        self._states: dict[str, State] = {}

    def _see(self, instance: str, who: str, effect: Effect) -> History:
        self._continuity.see(instance, who, effect)
        return self

    def view(self, instance: str, number: int, members: str, succeeds: Succeeds | None = None) -> History:
        for who in members:
            self._see(instance, who, Installed(View(number, tuple(members), tuple(members)), (), {}, succeeds=succeeds))
        return self

    def deliver(self, instance: str, view: int, by: str, sender: str, first: int, count: int = 1) -> History:
        for who in by:
            delivery = Deliver(run(sender, first, count, view), view)
            self._see(instance, who, delivery)
            self._states.setdefault(who, State()).add(delivery)
        return self

    def leave(self, instance: str, view: int, who: str) -> History:
        return self._see(instance, who, Ended(view, "request"))

    def give(self, donor: str, who: str, lost: int = 0, told: bool = False) -> History:
        """One is given a donor's state, which began anew at a loss, if there was one."""
        given = State(lost, dict(self._states.get(donor, State()).streams), since=lost)
        self._continuity.on_given(who, self._states.get(who, State()), given, told)
        self._states[who] = given
        return self

    def begin(self, who: str, donor: str, *held: tuple[str, int], lost: int = 0) -> History:
        """One that held so many of a's messages in these instances begins with a donor's state."""
        state = State(lost, dict(self._states.get(donor, State()).streams), since=lost)
        deliveries = [(instance, Deliver(run("a", 1, count), 1)) for instance, count in held]
        self._continuity.on_awaited(who, deliveries, state)
        return self

    def restored(self, who: str, *, told: bool, since: int = 2) -> History:
        """One that held the first of a's messages back is given a state that began anew in a view."""
        self._continuity.on_restored(since)
        self._continuity.on_awaited(who, [("i1", Deliver(run("a", 1), 1))], State(since, since=since), told)
        return self


def three(history: History) -> History:
    """In a view of three all have delivered the first of a, two its second, and one its third."""
    history.view("i1", 1, "abc").deliver("i1", 1, "abc", "a", 1)
    return history.deliver("i1", 1, "ab", "a", 2).deliver("i1", 1, "a", "a", 3)


Telling = Callable[[History], History]

BROKEN: dict[str, tuple[Definition, Telling, str]] = {
    "an older state wins": (PLAIN, lambda h: three(h).view("i2", 1, "c").give("c", "a"), "a had 2 .* of a, .* with 1"),
    "what one delivered under SAFE is gone": (SAFE, lambda h: three(h).view("i2", 1, "c").give("c", "a"), "a had 3"),
    "a state that began at a loss wins": (
        SAFE,
        lambda h: three(h).give("b", "a", lost=2),
        "a had 3 .* of a, .* with 0",
    ),
    "one is told of a loss that was none": (PLAIN, lambda h: three(h).give("a", "b", told=True), "b is told"),
    "a newcomer's empty state wins": (PLAIN, lambda h: three(h).view("i2", 1, "d").give("d", "c"), "c had 1"),
    "a branch gives way": (
        PLAIN,
        lambda h: three(h).view("i2", 1, "c").deliver("i2", 1, "c", "c", 1).give("a", "c"),
        "c had 1 .* of c, .* with 0",
    ),
    "one of two has gone, and the other has not": (
        PLAIN,
        lambda h: three(h).view("i1", 2, "ab").leave("i1", 2, "b").view("i2", 1, "d").give("d", "a"),
        "a had 2",
    ),
    "what one held is not in the state that it is given": (
        PLAIN,
        lambda h: three(h).begin("b", "c", ("i1", 2)),
        "b held 2 .* of a back, .* with 1",
    ),
    "what one held in a predecessor is gone with that": (
        SAFE,
        lambda h: three(h).begin("b", "", ("i1", 1), ("i2", 0), lost=2),
        "b held 1 .* of a back, .* with 0",
    ),
    "one is not told that a restored state lacks what it held": (
        PLAIN,
        lambda h: three(h).restored("b", told=False),
        "b held confirmed messages of a back, .* and is not told",
    ),
}

FINE: dict[str, tuple[Definition, Telling]] = {
    "what no majority had is gone": (PLAIN, lambda h: three(h).view("i2", 1, "b").give("b", "a").give("b", "c")),
    "one that had less gets more": (SAFE, lambda h: three(h).view("i2", 1, "a").give("a", "b").give("a", "c")),
    "who had it is asked no more": (PLAIN, lambda h: three(h).view("i2", 1, "c").give("c", "d")),
    "all have left": (
        PLAIN,
        lambda h: three(h).view("i1", 2, "ab").view("i1", 3, "a").leave("i1", 3, "a").view("i2", 1, "d").give("d", "c"),
    ),
    "what one held is in the state that it is given": (PLAIN, lambda h: three(h).begin("b", "b", ("i1", 2))),
    "what no majority had was held by one": (PLAIN, lambda h: three(h).begin("a", "b", ("i1", 3))),
    "one is told that a restored state lacks what it held": (PLAIN, lambda h: three(h).restored("b", told=True)),
    "what came since is in a restored state": (PLAIN, lambda h: three(h).restored("b", told=False, since=1)),
    "BASIC promises nothing of what was held": (BASIC, lambda h: three(h).begin("b", "", ("i1", 2))),
    "nobody could give the state": (SAFE, lambda h: three(h).give("b", "a", lost=2, told=True)),
    "BASIC promises nothing": (BASIC, lambda h: three(h).view("i2", 1, "d").give("d", "a")),
    "sides of a PARTITIONABLE group merge": (SPLIT, lambda h: three(h).view("i2", 1, "d").give("d", "a")),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_state_that_goes_back_is_reported(name: str) -> None:
    definition, tell, said = BROKEN[name]
    with pytest.raises(Violation, match=f"^CONTINUITY: {said}"):
        tell(History(definition))


@pytest.mark.parametrize("name", FINE)
def test_what_is_right_passes(name: str) -> None:
    definition, tell = FINE[name]
    tell(History(definition))


@pytest.mark.parametrize("registries", [1, 2])
def test_what_begins_twice_after_all_have_left_gives_way_where_registries_are_apart(registries: int) -> None:
    """1. All of i1 leave. 2. i2 and i3 follow it. 3. They meet, and `c` of i2 is told that it gets the state of i3."""
    history = three(History(PLAIN, registries))
    follows = Succeeds("i1", 1, {}, 0, "ended", {})
    history.view("i2", 1, "c", follows).view("i3", 1, "d", follows)
    with nullcontext() if registries > 1 else pytest.raises(Violation, match="c is told"):
        history.give("d", "c", told=True)


def test_a_registry_that_was_stopped_answers_what_it_was_asked_meanwhile() -> None:
    world = World(draw(1))
    world.registry.fail(TroubleEvent(Fault.OUTAGE, 0, 1_000, (), STOPPED))
    world.start("m0")
    world.until(900)
    node = world.node("m0")
    assert node is not None
    assert not node.is_member
    said = "the registry: it waits"  # for members to register, since it stood still; and before it would be asked again
    assert world.until(1_500, lambda: node.session.machine.waits_for.startswith(said))
    assert world.until(6_000, lambda: node.is_member)


def test_those_who_crashed_or_left_are_gathered() -> None:
    world = World(draw(1))
    for name in ("m0", "m1", "m2"):
        world.start(name)
    world.until(5_000, lambda: sum(node.is_member for node in world.living) == 3)
    crashed, left = world.node("m1"), world.node("m2")
    assert crashed
    assert left
    crashed.crash()
    left.leave()
    assert world.until(15_000, lambda: left.session.is_over)
    world.gather()
    assert world.until(30_000, lambda: sum(node.is_member for node in world.living) == 3)


def test_who_lost_a_primary_group_has_its_state_still() -> None:
    """As a real process has: the simulator would see nothing go back if each began with an empty state."""
    world = World(draw(21))
    assert world.plan.boundary
    world.start("m0")
    node = world.node("m0")
    assert node
    world.until(5_000, lambda: node.is_member)
    first = node.session
    first.lost = True
    node.enter()
    assert node.session is not first
    assert node.session.machine.returns
    assert node.session.application.state is first.application.state


def test_a_network_that_refuses_says_that_nobody_listens_and_proves_nothing() -> None:
    world = World(draw(1))
    for name in ("m0", "m1"):
        world.start(name)
    one, other = world.node("m0"), world.node("m1")
    assert one
    assert other
    world.network.split(TroubleEvent(Fault.PARTITION, 0, 1_000, (), REFUSED, sides=(("m0",), ("m1",))))
    ends: list[tuple[bytes | None, bool, bool]] = []
    world.network.call(one, other.address, b"", lambda *end: ends.append(end), SimConnection())
    world.until(500)
    assert ends == [(None, True, False)]


def test_a_registry_that_forgets_has_neither_rows_nor_votes_and_waits_longer() -> None:
    world = World(draw(1))
    world.start("m0")
    world.until(1_000)
    world.registry.restart(TroubleEvent(Fault.AMNESIA, 0, detail=FORGETS))
    answer = world.registry.directory.ask(Lookup(world.plan.definition.group), world.now_ms)
    assert isinstance(answer, Refusal)
    assert answer.code == "RegistryStarting"
    assert world.registry.directory.grace_ms > limits.START_GRACE_MS
