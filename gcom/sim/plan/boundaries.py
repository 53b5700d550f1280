"""Ambushes at the boundary between two instances of a name: long trouble at the end of a plan, after all else.

A group's state may get lost there (ARCHITECTURE 10), and the other events of a plan hardly ever lead there: it takes
outages longer than every timeout. They have a random stream of their own, so that no other seed's plan changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random

from gcom.sim.plan.events import ACCEPTED, DISSOLVES, LISTENS, NOTED, REGISTRY, STOPPED, Fault, Move, TroubleEvent

SHARE = 0.2  # of the seeds
IN_PHASES = 0.25  # of the seeds that have no ambush
PHASES = (2, 5)
PHASE_MS = (2_500, 9_000)  # from less than a view needs to go on without a silent member to more than all time-outs
AFTER_PHASES_MS = 3_000
FORKED = 0.06  # of the seeds that have neither
ORDER_MS = (6_000, 10_000)  # after it begins: the rest is detached, and has told the registry so
LONG_MS = (15_000, 20_000)  # longer than every time-out
REACTION_MS = (3_000, 5_000)  # until a view goes on without a silent member
MEMBERS_MIN = 3  # of fewer, no majority is left that could go on


@dataclass(frozen=True, slots=True)
class Ambush:
    """The events after `fault_ms` of a plan, and the extra time of its faulty phase. `late` are the names that come in
    it.
    """

    kind: str
    events: tuple[TroubleEvent, ...]
    for_ms: int
    late: tuple[str, ...] = ()
    deaths: int = 0  # so many may be dead at a time


def ambush(seed: int, names: tuple[str, ...], at_ms: int, static: bool) -> Ambush | None:
    """Return the ambush of a seed, or None; it begins at `at_ms`. Nobody comes late into a static group."""
    rng = Random(f"boundary {seed}")
    if rng.random() >= SHARE or len(names) < MEMBERS_MIN:
        return None
    kinds = _ALWAYS if static else (*_ALWAYS, *_WITH_NEWCOMERS)
    return rng.choice(kinds)(rng, names, at_ms)


def _all_are_cut_off(rng: Random, names: tuple[str, ...], at_ms: int) -> Ambush:
    """Cut off all members from each other, but not from the registry."""
    for_ms = rng.randint(*LONG_MS)
    return Ambush("all are cut off", (_apart(names, at_ms, for_ms),), for_ms)


def _a_newcomer_meets_an_outage(rng: Random, names: tuple[str, ...], at_ms: int) -> Ambush:
    """Cut off all members from each other while a newcomer arrives that reaches all."""
    for_ms = rng.randint(*LONG_MS)
    # Sometimes before the members are detached, sometimes long after: a newcomer that reaches all must found nothing
    # in either case.
    comes = TroubleEvent(Move.JOIN, at_ms + rng.randint(1_000, 12_000), order=names[-1:])
    events = (_apart(names[:-1], at_ms, for_ms), comes)
    return Ambush("a newcomer meets an outage", events, for_ms, names[-1:])


def _one_sleeps_and_another_dies(rng: Random, names: tuple[str, ...], at_ms: int) -> Ambush:
    """Pause as many as a view can do without, then kill one more; when they wake there is a quorum again."""
    order = rng.sample(names, len(names))
    # With one more dead less than a quorum is awake, until the sleepers are back.
    count = (len(order) - 1) // 2
    # Some wake while the others still act upon the death, some when all time-outs are over.
    for_ms = rng.randint(*REACTION_MS) + rng.choice((3_000, LONG_MS[0]))
    sleep = [TroubleEvent(Fault.PAUSE, at_ms, for_ms, (name,)) for name in order[:count]]
    dies = TroubleEvent(Fault.CRASH, at_ms + rng.randint(200, 1_400), 0, tuple(order[count:]), "refuses")
    return Ambush("one sleeps and another dies", (*sleep, dies), for_ms + REACTION_MS[1])


def _the_registry_stops(rng: Random, names: tuple[str, ...], at_ms: int) -> Ambush:
    """Stop a registry that keeps its requests or loses its memory, while more newcomers than members wait for it."""
    late = names[min(2, len(names) - 1) :]
    for_ms = rng.randint(1_500, 6_000)
    comes = [TroubleEvent(Move.JOIN, at_ms + rng.randint(50, for_ms), order=(name,)) for name in late]
    stops = TroubleEvent(Fault.OUTAGE, at_ms, for_ms, (), STOPPED)
    # Twice as likely to forget: a registry that keeps its requests is the milder one.
    forgets = TroubleEvent(Fault.AMNESIA, at_ms, for_ms)
    return Ambush("the registry stops", (rng.choice((stops, forgets, forgets)), *comes), for_ms + LONG_MS[0], late)


def _all_leave_but_one(rng: Random, names: tuple[str, ...], at_ms: int) -> Ambush:
    """Cut one off, have all others leave and a newcomer come, then heal the cut."""
    *others, lonely = rng.sample(names[:-1], len(names) - 1)
    leave_ms = at_ms + rng.randint(*REACTION_MS)
    come_ms = leave_ms + rng.randint(1_000, 6_000)
    for_ms = come_ms - at_ms + rng.randint(1_000, 6_000)
    cut = TroubleEvent(Fault.PARTITION, at_ms, for_ms, (), "silent", sides=((lonely,), tuple(others)))
    # Without DISSOLVES the driver keeps two members in, and nothing would be dissolved.
    leave = [TroubleEvent(Move.LEAVE, leave_ms + rng.randint(0, 400), 0, (name,), DISSOLVES) for name in others]
    comes = TroubleEvent(Move.JOIN, come_ms, order=names[-1:])
    return Ambush("all leave but one", (cut, *leave, comes), for_ms, names[-1:])


def _all_are_replaced(rng: Random, names: tuple[str, ...], at_ms: int) -> Ambush:
    """Cut one off; have newcomers replace all members that it knows."""
    count = len(names) // 2
    old, late = names[: len(names) - count], names[len(names) - count :]
    *others, lonely = rng.sample(old, len(old))
    come_ms = at_ms + rng.randint(*REACTION_MS)
    leave_ms = come_ms + rng.randint(*REACTION_MS)
    for_ms = leave_ms - at_ms + rng.randint(*REACTION_MS)
    cut = TroubleEvent(Fault.PARTITION, at_ms, for_ms, (), "silent", sides=((lonely,), (*others, *late)))
    come = [TroubleEvent(Move.JOIN, come_ms + rng.randint(0, 400), order=(name,)) for name in late]
    leave = [TroubleEvent(Move.LEAVE, leave_ms + rng.randint(0, 400), 0, (name,)) for name in others]
    return Ambush("all are replaced", (cut, *come, *leave), for_ms, late)


def _a_joiner_is_let_in_and_nobody_says_so(rng: Random, names: tuple[str, ...], at_ms: int) -> Ambush:
    """Pause one, take the registry away when it noted a joiner, and kill the leader that admits it before it tells."""
    order = tuple(rng.sample(names[:-1], len(names) - 1))
    sleeps = TroubleEvent(Fault.PAUSE, at_ms, rng.randint(6_000, 9_000), order[-1:])
    stops = TroubleEvent(Fault.OUTAGE, at_ms, rng.randint(3_000, 8_000), (), "unreachable", until=NOTED)
    # The hardest instant: the view is decided, the joiner is in it, and nobody or few know.
    dies = TroubleEvent(Fault.FRAME, at_ms, 0, names, "Install", rng.choice((0, 1, 2)), last=rng.random() < 0.5)
    comes = TroubleEvent(Move.JOIN, at_ms + rng.randint(50, 3_000), order=names[-1:])
    return Ambush("a joiner is let in and nobody says so", (sleeps, stops, dies, comes), LONG_MS[0], names[-1:])


def _a_proposer_stops_with_its_succession(rng: Random, names: tuple[str, ...], at_ms: int) -> Ambush:
    """Kill so many that no quorum can be again; the successor's proposer dies or pauses as the registry accepts."""
    order = rng.sample(names, len(names))
    left = max(1, (len(order) - 1) // 2)
    stall = TroubleEvent(Fault.STALL, at_ms, rng.randint(1_000, 8_000), names, ACCEPTED)
    # Dead or asleep: in one case the registry alone knows the decision, in the other its proposer comes back with it.
    stops = rng.choice((stall, TroubleEvent(Fault.FRAME, at_ms, 0, names, ACCEPTED)))
    die = [TroubleEvent(Fault.CRASH, at_ms + rng.randint(100, 900), 0, (name,), "refuses") for name in order[left:]]
    return Ambush("a proposer stops with its succession", (stops, *die), LONG_MS[0] - 1_000, deaths=len(names) - 1)


def _another_listens_at_a_dead_port(rng: Random, names: tuple[str, ...], at_ms: int) -> Ambush:
    """Pause one, kill another, and start a newcomer at the port of the dead one."""
    dead, sleeper, *_ = rng.sample(names[:-1], len(names) - 1)
    # So that its word is missing when the others ask who is dead.
    sleeps = TroubleEvent(Fault.PAUSE, at_ms, rng.randint(*REACTION_MS) + 2_000, (sleeper,))
    dies = TroubleEvent(Fault.CRASH, at_ms + rng.randint(100, 1_500), 0, (dead,), "refuses")
    comes = TroubleEvent(Move.JOIN, dies.at_ms + rng.randint(50, 3_000), order=(names[-1], dead), detail=LISTENS)
    return Ambush("another listens at a dead port", (sleeps, dies, comes), 2 * REACTION_MS[1], names[-1:])


def _a_namesake_comes(rng: Random, names: tuple[str, ...], at_ms: int) -> Ambush:
    """Cut one off, and start a second process under its name, which reaches nobody else either."""
    lonely, *others = rng.sample(names, len(names))
    for_ms = rng.randint(*LONG_MS)
    cut = TroubleEvent(Fault.PARTITION, at_ms, for_ms, (), "silent", sides=((lonely,), tuple(others)))
    comes = TroubleEvent(Move.INTRUDE, at_ms + rng.randint(200, 8_000), order=(lonely,))
    return Ambush("a namesake comes", (cut, comes), for_ms)


def _donors_die(rng: Random, names: tuple[str, ...], at_ms: int) -> Ambush:
    """Kill all earlier members when newcomers have got a part of the state, or all of it; one may sleep, and be out."""
    late = names[min(2, len(names) - 1) :][-2:]
    old = names[: len(names) - len(late)]
    die_ms = rng.randint(100, 2_500)
    come_ms = [rng.randint(0, 100) for _ in late]
    # Who has been put out has all that the dead had, and comes back when the newcomers have lost it.
    sleeps = old[:1] if len(old) > 1 and rng.random() < 0.5 else ()
    begin_ms = at_ms + (REACTION_MS[1] if sleeps else 0)
    sleep = [TroubleEvent(Fault.PAUSE, at_ms, LONG_MS[0] - 2_000, sleeps)] if sleeps else []
    come = [TroubleEvent(Move.JOIN, begin_ms + ms, order=(name,)) for name, ms in zip(late, come_ms, strict=True)]
    # One shortly after the other: each time another donor is asked, which then dies too.
    die = [
        TroubleEvent(Fault.CRASH, begin_ms + die_ms + 20 * place, 0, (name,), "refuses")
        for place, name in enumerate(old[len(sleeps) :])
    ]
    for_ms = begin_ms - at_ms + LONG_MS[0]
    return Ambush("donors die", (*sleep, *come, *die), for_ms, late, deaths=len(old) - len(sleeps))


def _apart(names: tuple[str, ...], at_ms: int, for_ms: int) -> TroubleEvent:
    return TroubleEvent(Fault.PARTITION, at_ms, for_ms, names, "silent", sides=tuple((name,) for name in names))


def phases(seed: int, names: tuple[str, ...], at_ms: int, static: bool, registries: int) -> Ambush | None:
    """Return phases of long trouble that chance puts together, or None. An ambush is a story that somebody thought of;
    phases find the stories of which nobody did.

    A phase begins before the group has got over the one before, and what begins in it may outlast it.
    """
    rng = Random(f"phases {seed}")
    if rng.random() >= IN_PHASES or len(names) < MEMBERS_MIN:
        return None
    late = () if static else names[max(2, len(names) - rng.randint(0, 2)) :]
    waiting = list(late)
    events: list[TroubleEvent] = []
    begin_ms = at_ms
    for _ in range(rng.randint(*PHASES)):
        for_ms = rng.randint(*PHASE_MS)
        events += _phase(rng, names, begin_ms, for_ms, registries)
        if waiting and rng.random() < 0.5:
            events.append(TroubleEvent(Move.JOIN, begin_ms + rng.randint(0, for_ms), order=(waiting.pop(),)))
        begin_ms += for_ms
    events += [TroubleEvent(Move.JOIN, begin_ms + rng.randint(0, 1_000), order=(name,)) for name in waiting]
    for_ms = begin_ms - at_ms + AFTER_PHASES_MS
    return Ambush("phase after phase", tuple(events), for_ms, late, deaths=len(names) - 1)


def _phase(rng: Random, names: tuple[str, ...], at_ms: int, for_ms: int, registries: int) -> Iterator[TroubleEvent]:
    """Draw one phase: a division of all, registries too, or not, and what happens to some of them meanwhile."""

    def when_ms() -> int:
        return at_ms + rng.randint(0, for_ms)

    def some(most: int) -> list[str]:
        return rng.sample(names, rng.randint(0, most))

    def lasting_ms() -> int:
        return int(for_ms * rng.choice((0.5, 1, 1, 2)))

    if rng.random() < 0.7:
        # A registry that is on no side is reached by all.
        placed = [at for at in (REGISTRY, f"{REGISTRY} 2")[:registries] if rng.random() < 0.5]
        sides: list[list[str]] = [[] for _ in range(rng.choice((2, 2, 3, len(names))))]
        for place in rng.sample((*names, *placed), len(names) + len(placed)):
            rng.choice(sides).append(place)
        kept = tuple(tuple(side) for side in sides if side)
        if len(kept) > 1:
            how = rng.choice(("silent", "silent", "unreachable"))
            yield TroubleEvent(Fault.PARTITION, at_ms, lasting_ms(), names, how, sides=kept)
    for name in some(2):
        yield TroubleEvent(Fault.PAUSE, when_ms(), lasting_ms(), (name,))
    for name in some(2):
        back_ms = rng.choice((0, rng.randint(5, 300), rng.randint(300, 9_000)))
        how = rng.choice(("refuses", "refuses", "same port", "machine"))
        yield TroubleEvent(Fault.CRASH, when_ms(), back_ms, (name,), how)
    for name in some(1):
        yield TroubleEvent(Move.LEAVE, when_ms(), rng.choice((0, rng.randint(50, 6_000))), (name,))
    if rng.random() < 0.3:
        which, how = rng.randrange(registries), rng.choice(("silent", "unreachable", STOPPED))
        yield TroubleEvent(Fault.OUTAGE, when_ms(), lasting_ms(), (), how, registry=which)


def forked(seed: int, names: tuple[str, ...], at_ms: int, static: bool) -> Ambush | None:
    """Return an operator's order to go on without some members, who then come back, for a few seeds; or None."""
    rng = Random(f"operator {seed}")
    if rng.random() >= FORKED or len(names) < MEMBERS_MIN:
        return None
    late = () if static else names[-1:]
    order = rng.sample(names[: len(names) - len(late)], len(names) - len(late))
    # So many that the others have no quorum, and not all.
    count = rng.randint((len(order) + 1) // 2, max(1, len(order) - 1))
    given_up, rest = tuple(order[:count]), tuple(order[count:])
    order_ms = at_ms + rng.randint(*ORDER_MS)
    for_ms = rng.randint(*LONG_MS)
    events = [TroubleEvent(Move.FORK, order_ms)]
    # Those given up sleep, or go on out of the registry's sight, and confirm messages of which nobody else hears.
    if rng.random() < 0.4:
        events += [TroubleEvent(Fault.PAUSE, at_ms, for_ms - rng.randint(0, 4_000), (name,)) for name in given_up]
    else:
        sides = (given_up, (*rest, *late, REGISTRY))
        events.append(TroubleEvent(Fault.PARTITION, at_ms, for_ms, names, "silent", sides=sides))
    # 1. The rest, which went on, dies. 2. Those given up come back, and a newcomer may have founded the name meanwhile.
    dying = (*(rest if rng.random() < 0.4 else ()), *(given_up[:1] if rng.random() < 0.4 else ()))
    for name in dying:
        dies_ms = order_ms + rng.randint(500, LONG_MS[0])
        events.append(TroubleEvent(Fault.CRASH, dies_ms, 0, (name,), rng.choice(("refuses", "refuses", "machine"))))
    events += [TroubleEvent(Move.JOIN, order_ms + rng.randint(0, LONG_MS[0]), order=(name,)) for name in late]
    return Ambush("an operator gives some up", tuple(events), 2 * for_ms, late, deaths=len(names) - 1)


_Drawn = Callable[[Random, tuple[str, ...], int], Ambush]
_ALWAYS: tuple[_Drawn, ...] = (
    _all_are_cut_off,
    _one_sleeps_and_another_dies,
    _a_proposer_stops_with_its_succession,
    _a_namesake_comes,
)
_WITH_NEWCOMERS: tuple[_Drawn, ...] = (
    _a_newcomer_meets_an_outage,
    _the_registry_stops,
    _all_leave_but_one,
    _all_are_replaced,
    _a_joiner_is_let_in_and_nobody_says_so,
    _another_listens_at_a_dead_port,
    _donors_die,
)
