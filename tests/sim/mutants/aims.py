"""Plans that come to the place where a mutant is wrong: as a seed draws them, but for what happens, and when.

Each is an ambush of `gcom.sim.plan`, or two that meet, on a group that nothing has troubled before: what plans come to
once in a thousand seeds, these come to in one of ten. The chance in their details is their own, drawn from the seed.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from random import Random

from gcom.sim.plan.events import (
    CHUNK,
    DISSOLVES,
    FORGETS,
    HEIR,
    LEAVER,
    NEVER,
    ORDER,
    REFUSED,
    REGISTRY,
    RUNS,
    VOTE,
    Fault,
    Move,
    TroubleEvent,
)
from gcom.sim.plan.plan import Plan
from gcom.values.definition import Netsplit

FROM_MS = 300  # the group has formed, and its applications send


def aimed(plan: Plan, *events: TroubleEvent) -> Plan:
    """All are in from the beginning, and these are the events."""
    return replace(plan, late=0, cold=False, events=tuple(sorted(events, key=lambda event: event.at_ms)))


def chance(plan: Plan) -> tuple[Random, tuple[str, ...]]:
    """An aim's own chance, and the names in an order drawn."""
    rng = Random(f"aim {plan.seed}")
    return rng, tuple(rng.sample(plan.names, len(plan.names)))


def halves_one_after_the_other(plan: Plan) -> Plan:
    """Two halves find out, a little after each other, that they are two; between their questions the registry starts
    again.
    """
    rng, order = chance(plan)
    sides = order[: len(order) // 2], order[len(order) // 2 :]
    split = TroubleEvent(Fault.PARTITION, FROM_MS, rng.randint(4_000, 6_000), order, "silent", sides=sides)
    return aimed(plan, split, TroubleEvent(Fault.AMNESIA, FROM_MS, detail=VOTE))


def a_cut_meets_a_rivals(plan: Plan) -> Plan:
    """A proposer pauses with its value in its hands, and puts it just when the others have accepted a rival's."""
    rng, order = chance(plan)
    until = rng.choice(("Cut", "CutOk"))
    stall = TroubleEvent(Fault.STALL, FROM_MS, 5_000, order, "Cut", until=until)
    return aimed(plan, stall, TroubleEvent(Move.LEAVE, FROM_MS + 50, 0, order))


def one_is_needed_that_lags(plan: Plan) -> Plan:
    """One promises and pauses while another comes; who proposes dies when it has told the others.

    Of four one is dead then, and who lags is needed. It pauses until it is suspected (SILENCE_MS), and no longer than
    the others can do without a quorum (DETACH_MS).
    """
    rng, order = chance(plan)
    stall = TroubleEvent(Fault.STALL, FROM_MS, rng.randint(3_000, 4_500), order, "Promise", last=True)
    dies = TroubleEvent(Fault.FRAME, FROM_MS, 0, order, "Install", 1, last=True)
    comes = TroubleEvent(Move.JOIN, FROM_MS + rng.randint(20, 300), order=(plan.names[-1],))
    return replace(aimed(plan, stall, dies, comes), late=1)


def a_dead_one_is_heard_in_the_change(plan: Plan) -> Plan:
    """Frames of one that was cut off arrive when it is dead, in the middle of the change that puts it out.

    The split is over before the packet is sent again for the last time, 3 s after the first (RESENT_MS); by then its
    sender is suspected, and the proposer pauses between promises and cut.
    """
    rng, order = chance(plan)
    at_ms = FROM_MS + rng.randint(0, 500)
    sides = order[:1], order[1:]
    split = TroubleEvent(Fault.PARTITION, at_ms, rng.randint(1_800, 2_400), order, "silent", sides=sides)
    dies = TroubleEvent(Fault.CRASH, at_ms + rng.randint(200, 400), 0, order, "refuses")
    stall = TroubleEvent(Fault.STALL, at_ms, rng.randint(800, 1_500), order, "Cut", until="Prepare")
    return aimed(plan, split, dies, stall)


def some_come_and_go(plan: Plan) -> Plan:
    """All but two come, and soon leave for good; their calls come twice, a Join perhaps when they have left."""
    rng, _ = chance(plan)
    events: list[TroubleEvent] = []
    for name in plan.names[2:]:
        at_ms = rng.randint(FROM_MS, 2_000)
        leave = TroubleEvent(Move.LEAVE, at_ms + rng.randint(300, 1_000), 0, (name,))
        events += [TroubleEvent(Move.JOIN, at_ms, order=(name,)), leave]
    twice = {Fault.DELAY: 0.05, Fault.DUPLICATION: 0.4}
    return replace(aimed(plan, *events), late=plan.members - 2, rates=twice)


def a_new_sequencer(plan: Plan) -> Plan:
    """The registry starts again when it has given serials that one, perhaps the leader, knows nothing of."""
    rng, order = chance(plan)
    split = TroubleEvent(
        Fault.PARTITION, FROM_MS, rng.randint(600, 1_200), order, "silent", sides=(order[:1], order[1:])
    )
    return aimed(plan, split, TroubleEvent(Fault.AMNESIA, FROM_MS + rng.randint(20, 200), detail=ORDER))


def without_a_past(plan: Plan) -> Plan:
    """A message reaches one, who answers it and tells one; both die."""
    rng, order = chance(plan)
    dies = TroubleEvent(Fault.FRAME, FROM_MS + rng.randint(0, 500), 0, order, RUNS, 1, whom=HEIR)
    return replace(aimed(plan, dies), crashed_max=2)


def one_leaves_and_sleeps(plan: Plan) -> Plan:
    """One that leaves agrees and pauses; who proposes dies when it has told another, and is put out meanwhile."""
    rng, order = chance(plan)
    leaves = TroubleEvent(Move.LEAVE, FROM_MS, 0, order)
    stall = TroubleEvent(Fault.STALL, FROM_MS, rng.randint(1_000, 1_600), order, "CutOk", last=True, whom=LEAVER)
    return aimed(plan, leaves, stall, TroubleEvent(Fault.FRAME, FROM_MS, 0, order, "Install", 1))


def nobody_hears_of_a_decision(plan: Plan) -> Plan:
    """One leaves, and who proposes dies when it has carried out what all have accepted, and has told nobody so."""
    rng, order = chance(plan)
    leaves = TroubleEvent(Move.LEAVE, FROM_MS + rng.randint(0, 500), 0, order)
    return aimed(plan, leaves, TroubleEvent(Fault.FRAME, FROM_MS, 0, order, "Install", 0))


def an_old_cut_comes_again(plan: Plan) -> Plan:
    """In the change that lets one back in, the CUT by which it went comes once more; who proposes dies over its own."""
    rng, order = chance(plan)
    change_ms = 50 + 8 * plan.delay_ms  # a change takes so long
    at_ms = FROM_MS + rng.randint(0, 500)
    echo = TroubleEvent(Fault.ECHO, at_ms, 0, order, "Cut", until="Cut")
    leaves = TroubleEvent(Move.LEAVE, at_ms + 20, change_ms + rng.randint(50, 300), order)
    dies = TroubleEvent(Fault.FRAME, at_ms + 20 + change_ms, 0, order, "Cut", rng.choice((1, 2)))
    return aimed(plan, echo, leaves, dies)


def a_donor_dies(plan: Plan) -> Plan:
    """One comes when there is a state to give, and who gives it dies when it has given some of it."""
    rng, order = chance(plan)
    at_ms = FROM_MS + rng.randint(1_000, 3_000)
    dies = TroubleEvent(Fault.FRAME, FROM_MS, 0, order, CHUNK)
    return replace(aimed(plan, dies, TroubleEvent(Move.JOIN, at_ms, order=(plan.names[-1],))), late=1)


def sides_meet(plan: Plan) -> Plan:
    """Sides of a split go on by themselves and meet, while they read slowly; some die meanwhile."""
    rng, order = chance(plan)
    definition = replace(plan.definition, netsplit=Netsplit.PARTITIONABLE)
    cuts = sorted(rng.sample(range(1, len(order)), rng.choice((1, 2))))
    sides = tuple(order[a:b] for a, b in pairwise((0, *cuts, len(order))))
    for_ms = rng.randint(5_000, 6_000)
    meet_ms = FROM_MS + for_ms
    split = TroubleEvent(Fault.PARTITION, FROM_MS, for_ms, order, "silent", sides=sides)
    slow = [
        TroubleEvent(Fault.SLOW_READER, meet_ms - 100, rng.randint(1_000, 3_000), (name,), "stalls") for name in order
    ]
    deaths = [
        TroubleEvent(Fault.CRASH, meet_ms + rng.randint(300, 3_000), rng.choice((0, 500)), (name,), "refuses")
        for name in order[: rng.randint(0, len(order) - 1)]
    ]
    many = replace(
        plan, definition=definition, keepers=plan.names, fault_ms=meet_ms + 3_500, crashed_max=len(order) - 1
    )
    return aimed(many, split, *slow, *deaths)


# Between two instances of a name: all keep a state, and the group is PRIMARY


def continued(plan: Plan, for_ms: int, *events: TroubleEvent, late: int = 0) -> Plan:
    """A PRIMARY group in which everybody may die, and faults last for so long."""
    return replace(
        aimed(plan, *events),
        definition=replace(plan.definition, netsplit=Netsplit.PRIMARY),
        late=late,
        keepers=plan.names,
        refusing=0.0,
        crashed_max=plan.members - 1,
        fault_ms=FROM_MS + for_ms,
    )


def crashes(names: tuple[str, ...], at_ms: int) -> list[TroubleEvent]:
    """All of these crash, and stay away until all is healed; their kernels say so."""
    return [TroubleEvent(Fault.CRASH, at_ms + 40 * index, 0, (name,), "refuses") for index, name in enumerate(names)]


def all_are_cut_off(plan: Plan) -> Plan:
    """One is cut off, and a little later all from each other, longer than every time-out."""
    rng, order = chance(plan)
    first_ms = rng.randint(600, 1_300)
    one = TroubleEvent(Fault.PARTITION, FROM_MS, 9_000, order, "silent", sides=(order[:1], order[1:]))
    apart = TroubleEvent(
        Fault.PARTITION, FROM_MS + first_ms, 9_000, order, "silent", sides=tuple((name,) for name in order)
    )
    return continued(plan, 11_000, one, apart)


def _split_off(plan: Plan, how: str) -> Plan:
    rng, order = chance(plan)
    few = rng.randint(1, (len(order) - 1) // 2)
    split = TroubleEvent(
        Fault.PARTITION, FROM_MS, rng.randint(8_000, 10_000), order, how, sides=(order[:few], order[few:])
    )
    return continued(plan, 11_000, split)


def a_minority_is_cut_off(plan: Plan) -> Plan:
    """Less than half of the group hears nothing of the others for long, and reaches the registry."""
    return _split_off(plan, "silent")


def a_minority_is_refused(plan: Plan) -> Plan:
    """As before, and what lies between them refuses each call, as if nobody listened there."""
    return _split_off(plan, REFUSED)


def one_outlives_the_view_that_put_it_out(plan: Plan) -> Plan:
    """One is cut off, and reaches the registry; all others go on, and die; somebody comes meanwhile."""
    rng, order = chance(plan)
    *old, late = (*[name for name in order if name != plan.names[-1]], plan.names[-1])
    split = TroubleEvent(
        Fault.PARTITION, FROM_MS + 1_000, 7_500, order, "silent", sides=(tuple(old[:1]), tuple(old[1:]))
    )
    die = crashes(tuple(old[1:]), FROM_MS + rng.randint(5_500, 6_000))
    comes = TroubleEvent(Move.JOIN, FROM_MS + rng.randint(5_000, 6_500), order=(late,))
    return continued(plan, 14_000, split, *die, comes, late=1)


def a_newcomer_meets_an_outage(plan: Plan) -> Plan:
    """All are cut off from each other, and reach the registry; somebody comes who reaches nobody else either."""
    rng, order = chance(plan)
    apart = TroubleEvent(Fault.PARTITION, FROM_MS, 19_000, order, "silent", sides=tuple((name,) for name in order))
    comes = TroubleEvent(Move.JOIN, FROM_MS + rng.randint(8_000, 9_000), order=plan.names[-1:])
    return continued(plan, 20_500, apart, comes, late=1)


def all_are_cut_off_in_a_change(plan: Plan) -> Plan:
    """The proposer dies when it has carried out what others have accepted, and these are all cut off at once."""
    rng, order = chance(plan)
    at_ms = FROM_MS + 20 + rng.randint(3, 9) * plan.delay_ms
    apart = TroubleEvent(
        Fault.PARTITION, at_ms, rng.randint(4_500, 6_000), order, "silent", sides=tuple((n,) for n in order)
    )
    leaves = TroubleEvent(Move.LEAVE, FROM_MS, 0, order)
    dies = TroubleEvent(Fault.FRAME, FROM_MS, 0, order, "Install", 0)
    return replace(continued(plan, 9_000, leaves, dies, apart), crashed_max=1)


def one_wakes_beside_a_newcomer(plan: Plan) -> Plan:
    """One sleeps while the others let somebody in, of which the registry cannot be told; they die, and it wakes
    while that one sleeps.
    """
    rng, order = chance(plan)
    *old, late = (*[name for name in order if name != plan.names[-1]], plan.names[-1])
    events = (
        TroubleEvent(Fault.PAUSE, FROM_MS, rng.randint(8_000, 9_000), tuple(old[:1])),
        TroubleEvent(Move.JOIN, FROM_MS + 50, order=(late,)),
        TroubleEvent(Fault.OUTAGE, FROM_MS + rng.randint(1_250, 1_400), 6_000, (), "unreachable"),
        *crashes(tuple(old[1:]), FROM_MS + rng.randint(6_000, 6_500)),
        TroubleEvent(Fault.PAUSE, FROM_MS + 6_700, 5_000, (late,)),
    )
    return continued(plan, 12_000, *events, late=1)


def one_wakes_beside_one_that_was_not_noted(plan: Plan) -> Plan:
    """As beside a newcomer, but no member reaches the registry from the beginning; who comes does until it is in reach
    of the group.
    """
    beside = one_wakes_beside_a_newcomer(plan)
    rng, _ = chance(plan)
    late = plan.names[-1]
    old = tuple(name for name in plan.names if name != late)
    apart = TroubleEvent(Fault.PARTITION, FROM_MS, 7_300, (), "unreachable", sides=(old, (REGISTRY,)))
    outage = TroubleEvent(Fault.OUTAGE, FROM_MS + rng.randint(600, 900), 6_500, (), "unreachable")
    rest = [event for event in beside.events if event.kind is not Fault.OUTAGE]
    return replace(beside, events=(apart, *rest, outage))


def one_wakes_beside_one_that_comes_back(plan: Plan) -> Plan:
    """One sleeps; the others reach no registry, put one of them out, and die before it is back. The first wakes."""
    rng, order = chance(plan)
    sleeper, out, *rest = order
    cut_ms = FROM_MS + rng.randint(3_500, 4_000)
    events = (
        TroubleEvent(Fault.PAUSE, FROM_MS, rng.randint(8_500, 9_500), (sleeper,)),
        TroubleEvent(Fault.PARTITION, FROM_MS, 7_800, (), "unreachable", sides=((out, *rest), (REGISTRY,))),
        TroubleEvent(Fault.PARTITION, cut_ms, 3_000, (), "silent", sides=((out,), tuple(rest))),
        *crashes(tuple(rest), cut_ms + 3_000 + rng.randint(300, 500)),
    )
    return replace(continued(plan, 12_000, *events), rates={})


def two_are_put_out_of_one_view(plan: Plan) -> Plan:
    """Two are cut off, one a little later than the other, and put out together; the rest dies, and both come back."""
    rng, order = chance(plan)
    first, second, *rest = order
    later_ms = FROM_MS + rng.randint(300, 1_200)
    events = (
        TroubleEvent(Fault.PARTITION, FROM_MS, 9_000, (), "silent", sides=((first,), (second, *rest))),
        TroubleEvent(Fault.PARTITION, later_ms, 8_500, (), "silent", sides=((second,), tuple(rest))),
        *crashes(tuple(rest), FROM_MS + rng.randint(6_500, 7_500)),
    )
    return replace(continued(plan, 12_000, *events), rates={})


def one_begins_beside_another_and_dies(plan: Plan) -> Plan:
    """Two sleep, and are put out together; the rest dies. Both come back, one begins anew, and dies. One comes."""
    rng, order = chance(plan)
    late = plan.names[-1]
    first, second, *rest = [name for name in order if name != late]
    asleep = [TroubleEvent(Fault.PAUSE, FROM_MS, rng.randint(7_500, 8_500), (name,)) for name in (first, second)]
    die = crashes((*rest,), FROM_MS + 6_500)
    events = (
        *asleep,
        *die,
        TroubleEvent(Move.JOIN, FROM_MS + 7_000, order=(late,)),
        *crashes((max(first, second),), FROM_MS + rng.randint(10_000, 12_500)),
    )
    return replace(continued(plan, 16_000, *events, late=1), rates={})


def one_wakes_while_the_latest_sleeps(plan: Plan) -> Plan:
    """One sleeps and is put out, and another comes. That one sleeps, and the rest dies; then the first wakes."""
    rng, order = chance(plan)
    *old, late = (*[name for name in order if name != plan.names[-1]], plan.names[-1])
    events = (
        TroubleEvent(Fault.PAUSE, FROM_MS, rng.randint(8_500, 9_500), tuple(old[:1])),
        TroubleEvent(Move.JOIN, FROM_MS + 50, order=(late,)),
        TroubleEvent(Fault.PAUSE, FROM_MS + 6_500, rng.randint(6_000, 7_000), (late,)),
        *crashes(tuple(old[1:]), FROM_MS + 6_600),
    )
    return continued(plan, 14_000, *events, late=1)


def one_sleeps_through_a_succession(plan: Plan) -> Plan:
    """One sleeps and is put out; of the others all but one die, and it wakes when that one goes on by itself."""
    rng, order = chance(plan)
    sleeps = TroubleEvent(Fault.PAUSE, FROM_MS + 1_500, rng.randint(9_000, 10_000), order[:1])
    die_ms = FROM_MS + rng.randint(6_000, 6_500)
    return continued(plan, 13_500, sleeps, *crashes(order[2:], die_ms))


def one_sleeps_and_is_needed(plan: Plan) -> Plan:
    """One hears nothing for a while, another sleeps, and of the others so many die that no quorum can be again."""
    rng, order = chance(plan)
    for_ms = rng.randint(500, 1_200)
    deaf = TroubleEvent(Fault.PARTITION, FROM_MS, for_ms, order, "silent", sides=(order[:1], order[1:]))
    sleeps = TroubleEvent(Fault.PAUSE, FROM_MS + for_ms - 100, rng.randint(7_000, 8_000), order[1:2])
    return continued(plan, 11_000, deaf, sleeps, *crashes(order[2:], FROM_MS + for_ms - 80))


def all_leave_but_one(plan: Plan) -> Plan:
    """One is cut off, all others leave, the cut heals, and somebody comes."""
    rng, order = chance(plan)
    *old, late = (*[name for name in order if name != plan.names[-1]], plan.names[-1])
    sides = (tuple(old[:1]), tuple(old[1:]))
    leave_ms = FROM_MS + rng.randint(3_500, 5_000)
    leave = [TroubleEvent(Move.LEAVE, leave_ms + rng.randint(0, 400), 0, (name,), DISSOLVES) for name in old[1:]]
    come_ms = leave_ms + rng.randint(1_000, 4_000)
    split = TroubleEvent(Fault.PARTITION, FROM_MS, come_ms - FROM_MS + 1_000, order, "silent", sides=sides)
    return continued(plan, come_ms + 3_000, split, *leave, TroubleEvent(Move.JOIN, come_ms, order=(late,)), late=1)


def one_accepts_what_others_decide_otherwise(plan: Plan) -> Plan:
    """One accepts a value, and sleeps; who proposed it dies, and so do the others, before they decide or just after."""
    rng, order = chance(plan)
    leave = TroubleEvent(Move.LEAVE, FROM_MS, 0, order)
    proposer = TroubleEvent(Fault.FRAME, FROM_MS, 0, order, "Cut", 1)
    sleeps = TroubleEvent(Fault.STALL, FROM_MS, 9_000, order, "CutOk", until=NEVER)
    die = crashes(order, FROM_MS + rng.randint(500, 3_000))
    return replace(continued(plan, 12_000, leave, proposer, sleeps, *die[: plan.members]), rates={})


def donors_die_while_one_is_out(plan: Plan) -> Plan:
    """One sleeps and is put out. One comes, and when it has got a part of the state all others die; then it wakes."""
    rng, order = chance(plan)
    *old, late = (*[name for name in order if name != plan.names[-1]], plan.names[-1])
    at_ms = FROM_MS + 1_500
    sleeps = TroubleEvent(Fault.PAUSE, at_ms, rng.randint(11_000, 12_000), tuple(old[:1]))
    comes_ms = at_ms + 5_000
    die = crashes(tuple(old[1:]), comes_ms + 60 + plan.delay_ms * rng.randint(6, 20))
    return continued(plan, 16_000, sleeps, TroubleEvent(Move.JOIN, comes_ms, order=(late,)), *die, late=1)


def the_last_donor_dies_as_one_comes_back(plan: Plan) -> Plan:
    """One sleeps and is put out; it wakes, and who gives it the state dies of the first part. All others are dead."""
    rng, order = chance(plan)
    at_ms = FROM_MS + 1_500
    wakes_ms = at_ms + rng.randint(6_500, 8_000)
    sleeps = TroubleEvent(Fault.PAUSE, at_ms, wakes_ms - at_ms, order[:1])
    dies = TroubleEvent(Fault.FRAME, wakes_ms, 0, order[1:2], CHUNK)
    return replace(continued(plan, 18_000, sleeps, *crashes(order[2:], wakes_ms - 1_200), dies), rates={})


def one_is_back_while_another_waits(plan: Plan) -> Plan:
    """One sleeps and is put out. One comes, and waits for a state that is slow; the first wakes, and the donor dies."""
    rng, order = chance(plan)
    *old, late = (*[name for name in order if name != plan.names[-1]], plan.names[-1])
    at_ms = FROM_MS + 1_500
    wakes_ms = at_ms + rng.randint(6_500, 8_000)
    sleeps = TroubleEvent(Fault.PAUSE, at_ms, wakes_ms - at_ms, tuple(old[:1]))
    slow = TroubleEvent(Fault.SLOW_READER, wakes_ms - 1_000, 5_000, tuple(old[1:2]), "stalls")
    comes = TroubleEvent(Move.JOIN, wakes_ms - 900, order=(late,))
    die = [*crashes(tuple(old[2:]), wakes_ms - 2_500), *crashes(tuple(old[1:2]), wakes_ms + rng.randint(300, 900))]
    return replace(continued(plan, 18_000, sleeps, slow, comes, *die, late=1), rates={})


def donors_die(plan: Plan) -> Plan:
    """Two come, and when they have got a part of the state all who have it die."""
    rng, _ = chance(plan)
    *old, one, two = plan.names
    at_ms = FROM_MS + 1_500
    come = [TroubleEvent(Move.JOIN, at_ms, order=(name,)) for name in (one, two)]
    die_ms = at_ms + 60 + plan.delay_ms * rng.randint(8, 24)
    die = [TroubleEvent(Fault.CRASH, die_ms, 0, (name,), "refuses") for name in old]
    return continued(plan, 12_000, *come, *die, late=2)


def the_registry_forgets_all(plan: Plan) -> Plan:
    """The registry starts again without what it had kept; who keeps trying to come meanwhile asks it first."""
    rng, _ = chance(plan)
    one, two = plan.names[-2:]
    gone_ms = rng.randint(1_500, 2_500)
    dies = TroubleEvent(Fault.AMNESIA, FROM_MS, gone_ms, (), FORGETS)
    come = [TroubleEvent(Move.JOIN, FROM_MS + gone_ms - rng.randint(0, 900), order=(name,)) for name in (one, two)]
    return continued(plan, 13_000, dies, *come, late=2)
