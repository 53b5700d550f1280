"""Draw a plan from its seed, all of it before the run begins, so that it can be printed.

A plan never leaves a run empty: it has at least three kinds of fault that are sure to happen and 500 messages to send,
and the run itself fails if they did not (gcom/sim/world.py).
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from random import Random

from gcom.sim.plan.boundaries import Ambush, ambush, forked, phases
from gcom.sim.plan.events import (
    CHUNK,
    FORGETS,
    HEIR,
    LATE_RUNS,
    LEAVER,
    OCCASIONAL,
    ORDER,
    REGISTRY,
    RUNS,
    STOPPED,
    VOTE,
    Fault,
    Move,
    TroubleEvent,
)
from gcom.sim.plan.plan import KINDS_MIN, MESSAGES_MIN, Plan
from gcom.values import limits
from gcom.values.definition import Definition, Multicast, Netsplit, Ordering, TieBreaker
from gcom.values.detection import LAN, Detection

GROUP = "sim"
MEMBERS = (2, 9)  # from, to
LARGE = 0.04  # of all seeds: groups in which nobody watches all others
LARGE_MEMBERS = (10, 12, 16, 20, 24, 32, 64)
REST_MS = 6_000  # before an ambush at the end: all are together again
SECONDS = (2, 3, 6, 12)  # of silence, where a group is not in a local network; the last is `wan`
SIGNED = 0.2  # of all seeds
TWO_GROUPS = 0.2
STRANGER = 0.3
FRAGMENTS_LOAD_BYTES = 240  # of a frame in a run where a part of the messages travels in fragments
# In turn, seed by seed: every ordering over BASIC, RELIABLE, and RELIABLE that is safe.
SCHEMES = tuple(
    (ordering, multicast, safe)
    for multicast, safe in ((Multicast.RELIABLE, False), (Multicast.RELIABLE, True), (Multicast.BASIC, False))
    for ordering in Ordering
)

# Sure to happen where they are drawn; each other kind waits for an occasion, or follows a crash.
RATES = (Fault.LOSS, Fault.DELAY, Fault.DUPLICATION, Fault.REORDERING)
TIMED = (
    Fault.CUT,
    Fault.PARTITION,
    Fault.CRASH,
    Fault.PAUSE,
    Fault.SLOW_MEMBER,
    Fault.SLOW_READER,
    Fault.OUTAGE,
    Fault.AMNESIA,
    Fault.EFFECT,
    Fault.FRAME,
    Fault.STALL,
    Fault.ECHO,
)
HOW_DOWN = ("silent", "unreachable", STOPPED)
EFFECTS = ("Sent", "Deliver", "Installed", "Suspected")  # a step with one of these may be cut short
OF_A_CHANGE = ("Prepare", "Promise", "Cut", "CutOk", "Install", "Install", "Install")
ITEMS = (RUNS, LATE_RUNS, *OF_A_CHANGE)  # a frame with one of these may be a process's last
STALLS = ("Prepare", "Promise", "Cut", "Cut", "CutOk", "Install")  # a process pauses over a frame with one of these
# And runs again when a rival's change has come so far.
ENDS = ("Prepare", "Promise", "Cut", "CutOk", "CutOk", "Install")


def draw(seed: int, *, several: bool = True, signed: bool = True, in_phases: bool = True, lied_to: bool = True) -> Plan:
    """Draw the plan of a seed; without `several`, of a group that has one registry, without `signed`, of an unsigned
    one, without `in_phases`, one that never ends in phase after phase of trouble, without `lied_to`, no strangers.
    """
    plan = _drawn(seed)
    plan = _with_registries(plan) if several else plan
    # A stream of its own, and last: the seeds whose groups are unsigned are what they were, byte for byte.
    if signed and Random(f"signed {seed}").random() < SIGNED:
        plan = replace(plan, definition=replace(plan.definition, signed=True))
    plan = replace(plan, two_groups=Random(f"two groups {seed}").random() < TWO_GROUPS)
    plan = replace(plan, stranger=lied_to and Random(f"stranger {seed}").random() < STRANGER)
    begin_ms, static = plan.fault_ms + REST_MS, bool(plan.definition.static)
    found = ambush(seed, plan.names, begin_ms, static)
    if found is None and in_phases:
        # Last, so that a seed whose plan ends with an ambush keeps the plan that it had before there were phases.
        found = phases(seed, plan.names, begin_ms, static, plan.registries) or forked(
            seed, plan.names, begin_ms, static
        )
    return _lengthened(plan, found) if found else plan


def _lengthened(plan: Plan, ambush: Ambush) -> Plan:
    """Add an ambush to a plan: on a PRIMARY group, whose members all keep a state, and some of which come late."""
    # Who comes in the ambush must not have come before.
    before = [event for event in plan.events if event.kind is not Move.JOIN or event.order[0] not in ambush.late]
    gather = TroubleEvent(Move.GATHER, plan.fault_ms)
    return replace(
        plan,
        # Its events are timed for a local network: a longer silence would hide what they are to show.
        definition=replace(plan.definition, netsplit=Netsplit.PRIMARY, detection=LAN),
        late=max(plan.late, len(ambush.late)),
        fault_ms=plan.fault_ms + REST_MS + ambush.for_ms,
        keepers=plan.names,
        refusing=0.0,
        crashed_max=max(plan.crashed_max, ambush.deaths),
        events=(*before, gather, *sorted(ambush.events, key=lambda event: event.at_ms)),
        boundary=ambush.kind,
    )


def _drawn(seed: int) -> Plan:
    rng = Random(seed)
    members = rng.choice((2, 3, 3, 4, 4, 5, 5, 5, 6, 7, 8, 9))
    large = Random(f"group size: {seed}")  # of its own: all other seeds draw what they drew
    if large.random() < LARGE:
        members = large.choice(LARGE_MEMBERS)
    definition = _definition(rng, seed, members)
    fault_ms = rng.randint(5_000, 10_000)
    cold = not definition.static and rng.random() < 0.3
    names = [f"m{index}" for index in range(members)]
    late = 0 if definition.static else rng.randint(0, max(0, members - 3))
    rates = {kind: rng.choice(_RATES[kind]) for kind in RATES if rng.random() < 0.45}
    for kind in rng.sample(RATES, 2):  # so that no seed is without
        rates.setdefault(kind, _RATES[kind][0])
    drifting = rng.random() < 0.4
    delay_ms = rng.choice((2, 5, 20, 60, 120))
    fragments = delay_ms <= 20  # else a small frame would carry too little in a run's time
    # Streams of their own for what was added to plans later: the draws of older seeds stay what they were, and so do
    # the mutants that they catch.
    keeping, more = Random(f"state {seed}"), Random(f"more {seed}")
    return Plan(
        seed=seed,
        definition=definition,
        members=members,
        late=late,
        cold=cold,
        messages=MESSAGES_MIN + rng.randint(50, 300),
        window=rng.choice((48, 100, 400, limits.WINDOW_MESSAGES_MAX)),
        fault_ms=fault_ms,
        delay_ms=delay_ms,
        rates=rates,
        drift=tuple(
            (rng.randint(900, 1100) if drifting else 1000, rng.randint(0, 5_000_000) if drifting else 0) for _ in names
        ),
        crashed_max=max(1, rng.choice(((members - 1) // 2, members // 2, members - 1))),
        answering=rng.choice((0.0, 0.0, 0.1, 0.4)),
        size=rng.choice((1, 3, 30)),
        keepers=tuple(keeping.sample(names, keeping.choice((members, members, members, members // 2, 0)))),
        refusing=keeping.choice((0.0, 0.0, 0.2, 0.6)),
        silent=Random(f"silence {seed}").random() < 0.5,
        posting=more.choice((0.0, 0.05, 0.2)),
        load_bytes=FRAGMENTS_LOAD_BYTES if more.random() < 0.4 and fragments else limits.LOAD_BYTES_MAX,
        forgets=more.random() < 0.25,
        registries=1,
        events=_with_state(keeping, _events(rng, names, late, fault_ms)),
    )


# The least rate makes sure that a kind which is drawn happens: a run has a thousand calls and more.
_RATES: dict[Fault, tuple[float, ...]] = {
    Fault.LOSS: (0.02, 0.05, 0.1),
    Fault.DELAY: (0.02, 0.05, 0.1),
    Fault.DUPLICATION: (0.02, 0.05, 0.2),
    Fault.REORDERING: (0.03, 0.05, 0.1),
}


def _definition(rng: Random, seed: int, members: int) -> Definition:
    """Draw the group's definition: every ordering and multicast in turn, and one of everything else."""
    ordering, multicast, safe = SCHEMES[seed % len(SCHEMES)]
    static = tuple(f"m{index}" for index in range(members)) if rng.random() < 0.2 else ()
    netsplit = rng.choice(list(Netsplit)) if rng.random() < 0.4 else Netsplit.PRIMARY
    tie_breaker = TieBreaker.REGISTRY if rng.random() < 0.4 else TieBreaker.LEADER
    timing = Random(f"detection {seed}")  # a stream of its own, as all that came later
    detection = Detection.parse(timing.choice(SECONDS)) if timing.random() < 0.25 else LAN
    return Definition(GROUP, ordering, multicast, static, safe, netsplit, tie_breaker, detection)


def _events(rng: Random, names: list[str], late: int, fault_ms: int) -> list[TroubleEvent]:
    """Draw the events: one after the other in some seeds, all together in others."""
    last_ms = fault_ms - 1_500  # so that each still has time to do harm
    # Episodes and ambushes have roles for three.
    style = rng.random() if len(names) > 2 else 1.0
    draw_events = _episodes if style < 0.3 else _ambushes if style < 0.6 else _turmoil
    found = draw_events(rng, names, last_ms)
    if rng.random() < 0.2:
        found.append(TroubleEvent(Move.INTRUDE, rng.randint(200, last_ms), order=_order(rng, names)))
    found += [TroubleEvent(Move.JOIN, rng.randint(100, last_ms), order=(name,)) for name in names[len(names) - late :]]
    return sorted(found, key=lambda event: event.at_ms)


def _order(rng: Random, names: list[str]) -> tuple[str, ...]:
    return tuple(rng.sample(names, len(names)))


def _episodes(rng: Random, names: list[str], last_ms: int) -> list[TroubleEvent]:
    """Repeat view changes that a member does not survive, with time to recover in between."""
    found: list[TroubleEvent] = []
    at_ms = 200
    surely = rng.sample((Fault.FRAME, Fault.EFFECT, Fault.CRASH, Fault.PAUSE), KINDS_MIN)
    while at_ms < last_ms or surely:
        kind = (
            surely.pop()
            if surely
            else rng.choice(
                (Fault.FRAME, Fault.FRAME, Fault.FRAME, Fault.FRAME, Fault.EFFECT, Fault.CRASH, Fault.PAUSE)
            )
        )
        trouble = _EVENTS[kind](rng, at_ms, _order(rng, names))
        found.append(replace(trouble, for_ms=rng.randint(5, 500)))
        if kind is not Fault.CRASH and rng.random() < 0.8:
            # The other kinds may wait for a view change: the leave makes one.
            leave_ms = at_ms + rng.randint(10, 100)
            found.append(TroubleEvent(Move.LEAVE, leave_ms, rng.randint(50, 800), _order(rng, names)))
        at_ms += rng.randint(500, 1_200)
    return found


def _ambushes(rng: Random, names: list[str], last_ms: int) -> list[TroubleEvent]:
    """Return the ambushes of the recorded traces (docs/protocols), and a member that leaves during them."""
    # One kind that surely happens: the ambushes may all wait in vain for their occasion.
    found = [_EVENTS[rng.choice((Fault.PAUSE, Fault.SLOW_MEMBER, Fault.AMNESIA))](rng, last_ms, _order(rng, names))]
    at_ms = 200
    while at_ms < last_ms:
        order = _order(rng, names)
        found += rng.choice(_AMBUSHES)(rng, at_ms, order)
        found.append(TroubleEvent(Move.LEAVE, at_ms + rng.randint(10, 100), rng.randint(50, 800), order[::-1]))
        at_ms += rng.randint(1_000, 4_000)
    return [event for event in found if event.at_ms <= last_ms]


def _over_a_call(rng: Random, at_ms: int, order: tuple[str, ...]) -> list[TroubleEvent]:
    """Traces 2 and 3: a proposer, or a member that promised, pauses and goes on in the middle of another's change."""
    return [_stall(rng, at_ms, order)]


def _leaver_sleeps(rng: Random, at_ms: int, order: tuple[str, ...]) -> list[TroubleEvent]:
    """A leaver pauses before its promise is out, and wakes when the view goes on without it."""
    return [
        TroubleEvent(Fault.STALL, at_ms, 4_000, order, "Promise", until="Install", whom=LEAVER, last=rng.random() < 0.2)
    ]


def _without_a_past(rng: Random, at_ms: int, order: tuple[str, ...]) -> list[TroubleEvent]:
    """Trace 9: a message reaches one member alone, its answer one more; its sender and the answerer die."""
    return [replace(_frame(rng, at_ms, order), detail=RUNS, count=1, whom=HEIR)]


def _supplier_dies(rng: Random, at_ms: int, order: tuple[str, ...]) -> list[TroubleEvent]:
    """A member promises messages that only it holds, and dies."""
    return [replace(_frame(rng, at_ms, order), detail="Promise", last=True)]


def _lags_behind(rng: Random, at_ms: int, order: tuple[str, ...]) -> list[TroubleEvent]:
    """A member promises and pauses; the one that installs without it dies as soon as it has said so."""
    stall = TroubleEvent(Fault.STALL, at_ms, 6_000, order, "Promise", until="Install", last=True)
    return [stall, replace(_frame(rng, at_ms + 1_500, order), detail="Install", count=9, last=True)]


def _told_one(rng: Random, at_ms: int, order: tuple[str, ...]) -> list[TroubleEvent]:
    """Trace 3: one member alone has heard of a decision when its proposer dies."""
    return [replace(_frame(rng, at_ms, order), detail="Install", count=1, last=False)]


def _one_sleeps(rng: Random, at_ms: int, order: tuple[str, ...]) -> list[TroubleEvent]:
    """Trace 10: a paused member is put out, and wakes when those that did so are dead."""
    # When the sleeper is out of their view: then it wakes, and is all that is left.
    others = [TroubleEvent(Fault.CRASH, at_ms + rng.randint(3_000, 5_000), 0, (name,), "refuses") for name in order[1:]]
    return [TroubleEvent(Fault.PAUSE, at_ms, rng.randint(5_000, 6_000), order[:1]), *others]


def _halves(rng: Random, at_ms: int, order: tuple[str, ...]) -> list[TroubleEvent]:
    """Trace 1: two halves that both reach the registry, which starts again between their questions."""
    sides = order[: len(order) // 2], order[len(order) // 2 :]
    # As long as DETACH_MS, or longer: each half has time to ask for the registry's vote.
    split = TroubleEvent(Fault.PARTITION, at_ms, rng.randint(3_000, 6_000), order, "silent", sides=sides)
    return [split, TroubleEvent(Fault.AMNESIA, at_ms, rng.choice((0, 0, 200)), detail=VOTE)]


def _new_sequencer(rng: Random, at_ms: int, order: tuple[str, ...]) -> list[TroubleEvent]:
    """Trace 5: the registry restarts after giving serials that some member, perhaps the leader, knows nothing of."""
    split = TroubleEvent(Fault.PARTITION, at_ms, rng.randint(600, 1_500), order, "silent", sides=(order[:1], order[1:]))
    return [split, TroubleEvent(Fault.AMNESIA, at_ms + rng.randint(20, 200), detail=ORDER)]


def _echoes(rng: Random, at_ms: int, order: tuple[str, ...]) -> list[TroubleEvent]:
    """A call of one change comes again in the next: a cut, say, of a view that is over."""
    echo = _echo(rng, at_ms, order)
    if rng.random() < 0.5:
        echo = replace(echo, detail="Cut", until="Cut")
    return [echo, TroubleEvent(Move.LEAVE, at_ms + rng.randint(150, 600), rng.randint(50, 300), order)]


_AMBUSHES = (
    _over_a_call,
    _leaver_sleeps,
    _without_a_past,
    _supplier_dies,
    _lags_behind,
    _told_one,
    _one_sleeps,
    _halves,
    _new_sequencer,
    _echoes,
)


def _turmoil(rng: Random, names: list[str], last_ms: int) -> list[TroubleEvent]:
    """Draw several kinds of trouble; most gather at a few moments, so that they meet each other's handling."""
    moments = [rng.randint(200, last_ms) for _ in range(rng.randint(1, 3))]

    def at_ms() -> int:
        near = rng.choice(moments) + rng.randint(0, 400)
        return min(last_ms, near) if rng.random() < 0.6 else rng.randint(200, last_ms)

    kinds = rng.sample(TIMED, rng.randint(2, 5))
    if not set(kinds) - OCCASIONAL:
        kinds.append(Fault.PAUSE)
    found = [_EVENTS[kind](rng, at_ms(), _order(rng, names)) for kind in kinds for _ in range(rng.randint(1, 3))]
    if len(names) > 2:
        for _ in range(rng.choice((0, 0, 1, 2, 3))):
            back_ms = rng.choice((0, rng.randint(10, 3_000), rng.randint(10, 3_000)))  # 0: it stays away
            found.append(TroubleEvent(Move.LEAVE, at_ms(), back_ms, _order(rng, names)))
    return found


def _with_state(rng: Random, events: list[TroubleEvent]) -> tuple[TroubleEvent, ...]:
    """Sort by time, after turning some crashes over calls into crashes over a state's chunks."""
    found = [
        replace(event, detail=CHUNK) if event.kind is Fault.FRAME and rng.random() < 0.4 else event for event in events
    ]
    return tuple(sorted(found, key=lambda event: event.at_ms))


def _with_registries(plan: Plan) -> Plan:
    """Add a second registry to some plans."""
    rng = Random(f"registries {plan.seed}")
    # Without faults the first one founds the group. In a cold start it may not answer then, and two be founded.
    if plan.cold or rng.random() >= 0.35:
        return plan
    return replace(plan, registries=2, events=_of_registries(rng, plan.events, plan.fault_ms))


def _of_registries(rng: Random, events: tuple[TroubleEvent, ...], fault_ms: int) -> tuple[TroubleEvent, ...]:
    """Have some of the registry's troubles happen to the second one, and more: it dies, forgets, and comes back."""
    found = [
        replace(event, registry=rng.randint(0, 1)) if event.kind in (Fault.OUTAGE, Fault.AMNESIA) else event
        for event in events
    ]
    for _ in range(rng.randint(1, 4)):
        at_ms, which = rng.randint(200, fault_ms - 1_500), rng.randint(0, 1)
        if rng.random() < 0.4:
            event = TroubleEvent(Fault.OUTAGE, at_ms, rng.randint(1_300, 6_000), (), rng.choice(HOW_DOWN))
        else:
            # A copy may be lost: the home has all. A home that is lost makes strangers, which is no defect.
            how = FORGETS if which and rng.random() < 0.5 else ""
            event = TroubleEvent(Fault.AMNESIA, at_ms, rng.choice((0, rng.randint(50, 6_000))), detail=how)
        found.append(replace(event, registry=which))
    return tuple(sorted(found, key=lambda event: event.at_ms))


def _cut(rng: Random, at_ms: int, order: tuple[str, ...]) -> TroubleEvent:
    how = rng.choice(("one way", "one way", "both ways"))
    return TroubleEvent(Fault.CUT, at_ms, rng.choice((rng.randint(300, 1_500), rng.randint(1_500, 6_000))), order, how)


def _partition(rng: Random, at_ms: int, order: tuple[str, ...]) -> TroubleEvent:
    places = [*order, REGISTRY] if rng.random() < 0.6 else list(order)
    count = 3 if len(order) > 3 and rng.random() < 0.3 else 2
    cuts = sorted(rng.sample(range(1, len(order)), count - 1))
    rng.shuffle(places)
    if places[0] == REGISTRY:  # no side is the registry alone: that is an outage
        places.append(places.pop(0))
    bounds = [0, *cuts, len(places)]
    sides = tuple(tuple(places[a:b]) for a, b in pairwise(bounds))
    sides = tuple(side for side in sides if side != (REGISTRY,))
    # Silent: packets vanish and only time-outs tell; unreachable: a router says so at once.
    how = rng.choice(("silent", "unreachable"))
    return TroubleEvent(
        Fault.PARTITION, at_ms, rng.choice((rng.randint(300, 2_000), rng.randint(2_000, 9_000))), order, how, 0, sides
    )


def _crash(rng: Random, at_ms: int, order: tuple[str, ...]) -> TroubleEvent:
    how = rng.choice(("refuses", "refuses", "same port", "machine"))
    return TroubleEvent(Fault.CRASH, at_ms, _down_ms(rng), order, how)


def _down_ms(rng: Random) -> int:
    """Draw how long a crashed process stays down; 0: until all is healed."""
    return rng.choice((0, rng.randint(5, 300), rng.randint(5, 300), rng.randint(300, 4_000)))


def _pause(rng: Random, at_ms: int, order: tuple[str, ...]) -> TroubleEvent:
    return TroubleEvent(Fault.PAUSE, at_ms, rng.choice((rng.randint(100, 1_500), rng.randint(1_500, 6_000))), order)


def _slow_member(rng: Random, at_ms: int, order: tuple[str, ...]) -> TroubleEvent:
    return TroubleEvent(Fault.SLOW_MEMBER, at_ms, rng.randint(1_000, 4_000), order, count=rng.choice((50, 200, 600)))


def _slow_reader(rng: Random, at_ms: int, order: tuple[str, ...]) -> TroubleEvent:
    return TroubleEvent(Fault.SLOW_READER, at_ms, rng.randint(1_000, 5_000), order, rng.choice(("stalls", "crawls")))


def _outage(rng: Random, at_ms: int, _: tuple[str, ...]) -> TroubleEvent:
    return TroubleEvent(Fault.OUTAGE, at_ms, rng.randint(1_300, 5_000), (), rng.choice(("silent", "unreachable")))


def _amnesia(rng: Random, at_ms: int, _: tuple[str, ...]) -> TroubleEvent:
    how = rng.choice(("", "", ORDER, VOTE))
    return TroubleEvent(Fault.AMNESIA, at_ms, rng.choice((0, rng.randint(50, 3_000))), detail=how)


def _effect(rng: Random, at_ms: int, order: tuple[str, ...]) -> TroubleEvent:
    return TroubleEvent(Fault.EFFECT, at_ms, _down_ms(rng), order, rng.choice(EFFECTS), rng.randint(0, 5))


def _frame(rng: Random, at_ms: int, order: tuple[str, ...]) -> TroubleEvent:
    told = rng.choice((0, 0, 0, 1, 2, 3))
    return TroubleEvent(Fault.FRAME, at_ms, _down_ms(rng), order, rng.choice(ITEMS), told, last=rng.random() < 0.2)


def _stall(rng: Random, at_ms: int, order: tuple[str, ...]) -> TroubleEvent:
    whom, last = rng.choice(("", "", LEAVER)), rng.random() < 0.3
    told = rng.choice((0, 0, 1, 2))
    return TroubleEvent(
        Fault.STALL,
        at_ms,
        rng.randint(2_500, 5_000),
        order,
        rng.choice(STALLS),
        told,
        until=rng.choice(ENDS),
        last=last,
        whom=whom,
    )


def _echo(rng: Random, at_ms: int, order: tuple[str, ...]) -> TroubleEvent:
    return TroubleEvent(Fault.ECHO, at_ms, 0, order, rng.choice(STALLS), until=rng.choice(("Prepare", *STALLS)))


_EVENTS = {
    Fault.CUT: _cut,
    Fault.PARTITION: _partition,
    Fault.CRASH: _crash,
    Fault.PAUSE: _pause,
    Fault.SLOW_MEMBER: _slow_member,
    Fault.SLOW_READER: _slow_reader,
    Fault.OUTAGE: _outage,
    Fault.AMNESIA: _amnesia,
    Fault.EFFECT: _effect,
    Fault.FRAME: _frame,
    Fault.STALL: _stall,
    Fault.ECHO: _echo,
}
