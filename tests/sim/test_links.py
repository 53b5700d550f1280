"""Links that are bad for long, and links that flap; plans of seeds draw the first seldom, the second never (0009)."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from random import Random

import pytest

from gcom.sim.plan.draw import draw
from gcom.sim.plan.events import Fault, TroubleEvent
from gcom.sim.plan.plan import Plan
from gcom.sim.world import World
from gcom.values import limits
from gcom.values.definition import Netsplit
from tests.cases import daily_and_rest

LASTING_MS, FLAPPING_MS = 18_000, 120_000


def lasting(rng: Random, names: tuple[str, ...]) -> list[TroubleEvent]:
    """One to four links fail, at about the same time, one way or both, and stay so."""
    pairs = rng.sample(list(combinations(names, 2)), rng.randint(1, 4))
    cuts: list[TroubleEvent] = []
    for pair in pairs:
        ends, how = rng.sample(pair, 2), rng.choice(("one way", "both ways"))
        at_ms = 1_000 + rng.choice((0, rng.randint(0, 300), rng.randint(0, 3_000)))
        cuts.append(TroubleEvent(Fault.CUT, at_ms, LASTING_MS - at_ms, tuple(ends), how))
    return cuts


def flapping(rng: Random, names: tuple[str, ...]) -> list[TroubleEvent]:
    """One or two links are down for longer than every limit of the detector, then up for a while, all the time."""
    cuts: list[TroubleEvent] = []
    for one, other in rng.sample(list(combinations(names, 2)), rng.choice((1, 1, 2))):
        down_ms, up_ms = rng.randint(3_500, 8_000), rng.randint(200, 3_000)
        starts = range(1_000, FLAPPING_MS - down_ms, down_ms + up_ms)
        sides = ((one,), (other,))
        cuts += [TroubleEvent(Fault.PARTITION, at_ms, down_ms, (), "silent", sides=sides) for at_ms in starts]
    return sorted(cuts, key=lambda cut: cut.at_ms)


def plan_of(seed: int, members: int, fault_ms: int) -> Plan:
    """The definition of a seed's plan, in a PRIMARY group that all may join and whose members are all there."""
    plan = draw(seed)
    names = tuple(f"m{index}" for index in range(members))
    return replace(
        plan,
        definition=replace(plan.definition, netsplit=Netsplit.PRIMARY, static=()),
        members=members,
        late=0,
        cold=False,
        messages=200 + 8 * fault_ms // 1_000,
        fault_ms=fault_ms,
        delay_ms=5,
        rates={Fault.DELAY: 0.01, Fault.DUPLICATION: 0.01},
        drift=((1000, 0),) * members,
        keepers=names,
        refusing=0.0,
        silent=False,
        load_bytes=limits.LOAD_BYTES_MAX,
        forgets=False,
        boundary="",
    )


@pytest.mark.slow
@pytest.mark.parametrize("seed", daily_and_rest(range(1, 41), 2))
def test_a_group_goes_on_over_links_that_are_bad_for_long(seed: int) -> None:
    rng = Random(f"links {seed}")
    plan = plan_of(seed, rng.randint(4, 6), LASTING_MS)
    World(replace(plan, events=tuple(lasting(rng, plan.names)))).run()


@pytest.mark.slow
@pytest.mark.parametrize("seed", daily_and_rest(range(1, 31), 1))
def test_a_group_goes_on_over_links_that_flap(seed: int) -> None:
    rng = Random(f"links {seed}")
    plan = plan_of(seed, rng.randint(3, 5), FLAPPING_MS)
    World(replace(plan, events=tuple(flapping(rng, plan.names)))).run()
