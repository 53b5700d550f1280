"""More plans that come to the place where a mutant is wrong: of what goes on from instance to instance of a name."""

from __future__ import annotations

from dataclasses import replace

from gcom.sim.plan.events import FORGETS, REGISTRY, STOPPED, Fault, Move, TroubleEvent
from gcom.sim.plan.plan import Plan
from tests.sim.mutants.aims import FROM_MS, chance, continued, crashes


def the_registry_forgets_and_stops(plan: Plan) -> Plan:
    """The registry starts again without what it had kept, and is stopped at once. No member reaches it for a while, and
    newcomers do, whose questions wait for it.
    """
    rng, _ = chance(plan)
    *old, one, two = plan.names
    cut_ms = rng.randint(12_000, 13_000)
    forgets = TroubleEvent(Fault.AMNESIA, FROM_MS, 0, (), FORGETS)
    stops = TroubleEvent(Fault.OUTAGE, FROM_MS + rng.randint(300, 800), rng.randint(8_500, 9_500), (), STOPPED)
    apart = TroubleEvent(Fault.PARTITION, FROM_MS, cut_ms, (), "silent", sides=(tuple(old), (one, two, REGISTRY)))
    come = [TroubleEvent(Move.JOIN, FROM_MS + rng.randint(50, 4_000), order=(name,)) for name in (one, two)]
    return continued(plan, cut_ms + 6_000, forgets, apart, stops, *come, late=2)


def the_registry_knows_an_older_view_only(plan: Plan) -> Plan:
    """One is cut off, newcomers take the place of all others, and the registry forgets. The one tells it of its view,
    and dies; then somebody comes, before those who are left reach the registry.
    """
    rng, _ = chance(plan)
    *old, one, two, last = plan.names
    lonely, *gone = old
    at_ms = FROM_MS + 9_000  # when the registry forgets
    alone = TroubleEvent(
        Fault.PARTITION, FROM_MS, at_ms - FROM_MS, (), "silent", sides=((lonely,), (*gone, one, two, last, REGISTRY))
    )
    rest = (lonely, *gone, last, REGISTRY)
    apart = TroubleEvent(Fault.PARTITION, at_ms - 500, 6_500, (), "silent", sides=((one, two), rest))
    return continued(
        plan,
        23_000,
        alone,
        *[TroubleEvent(Move.JOIN, FROM_MS + 3_500 + rng.randint(0, 200), order=(name,)) for name in (one, two)],
        *[TroubleEvent(Move.LEAVE, FROM_MS + 6_500 + rng.randint(0, 400), 0, (name,)) for name in gone],
        TroubleEvent(Fault.AMNESIA, at_ms, 0, (), FORGETS),
        apart,
        *crashes((lonely,), at_ms + rng.randint(2_000, 2_300)),
        TroubleEvent(Move.JOIN, at_ms + 2_500, order=(last,)),
        late=3,
    )


def one_awaits_the_state_and_another_has_it(plan: Plan) -> Plan:
    """Two come. Then the calls of one become so slow that the other has the state before it; and all others die."""
    rng, _ = chance(plan)
    *old, one, two = plan.names
    at_ms = FROM_MS + 1_500
    slow = TroubleEvent(Fault.SLOW_MEMBER, at_ms + 6 * plan.delay_ms, 9_000, (one,), count=800)
    come = [TroubleEvent(Move.JOIN, at_ms, order=(name,)) for name in (one, two)]
    die = crashes(tuple(old), at_ms + 300 + plan.delay_ms * rng.randint(25, 45))
    return replace(continued(plan, 16_000, *come, slow, *die, late=2), rates={})


def one_that_enters_is_asked_for_another(plan: Plan) -> Plan:
    """One is let in slowly, and meanwhile asked by another, which reaches nobody else; it sleeps, and the rest dies."""
    rng, _ = chance(plan)
    *old, one, two = plan.names
    slow = [TroubleEvent(Fault.SLOW_MEMBER, FROM_MS, 2_500, (name,), count=150) for name in old]
    apart = TroubleEvent(Fault.PARTITION, FROM_MS, 19_000, (), "unreachable", sides=(tuple(old), (two,)))
    come = (
        TroubleEvent(Move.JOIN, FROM_MS + rng.randint(100, 600), order=(one,)),
        TroubleEvent(Move.JOIN, FROM_MS + 50, order=(two,)),
    )
    sleeps = TroubleEvent(Fault.PAUSE, FROM_MS + 6_000, rng.randint(11_500, 12_500), (one,))
    aimed = continued(plan, 20_000, *slow, apart, *come, sleeps, *crashes(tuple(old), FROM_MS + 6_100), late=2)
    return replace(aimed, rates={})
