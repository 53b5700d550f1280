"""Ambushes at the boundary between two instances of a name: long trouble at the end of a plan, after all else.

What a group of members has may get lost there (DESIGN 10), and what a plan draws otherwise hardly ever leads there: it
takes outages longer than every time-out. Their chance is their own, so that no other seed's plan changes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from gcom.sim.faults.trouble import DISSOLVES, STOPPED, Fault, Move, TroubleEvent

SHARE = 0.2  # of the seeds
LONG_MS = (15_000, 20_000)  # longer than every time-out
REACTION_MS = (3_000, 5_000)  # so long a view takes to go on without somebody
MEMBERS_MIN = 3


@dataclass(frozen=True, slots=True)
class Ambush:
    """What happens after `fault_ms` of a plan, and how much longer its faulty phase lasts. `late` are the names that
    come in it.
    """

    kind: str
    events: tuple[TroubleEvent, ...]
    for_ms: int
    late: tuple[str, ...] = ()


def ambush(seed: int, names: tuple[str, ...], at_ms: int, static: bool) -> Ambush | None:
    """The ambush of a seed, if it has one; it begins at a time. Nobody comes late into a static group."""
    rng = Random(f"boundary {seed}")
    if rng.random() >= SHARE or len(names) < MEMBERS_MIN:
        return None
    kinds = _ALWAYS if static else (*_ALWAYS, *_WITH_NEWCOMERS)
    return rng.choice(kinds)(rng, names, at_ms)


def _all_are_cut_off(rng: Random, names: tuple[str, ...], at_ms: int) -> Ambush:
    """No two reach each other, and all reach the registry."""
    for_ms = rng.randint(*LONG_MS)
    return Ambush("all are cut off", (_apart(names, at_ms, for_ms),), for_ms)


def _a_newcomer_meets_an_outage(rng: Random, names: tuple[str, ...], at_ms: int) -> Ambush:
    """As before, and somebody comes meanwhile who reaches all."""
    for_ms = rng.randint(*LONG_MS)
    comes = TroubleEvent(Move.JOIN, at_ms + rng.randint(1_000, 12_000), order=names[-1:])
    events = (_apart(names[:-1], at_ms, for_ms), comes)
    return Ambush("a newcomer meets an outage", events, for_ms, names[-1:])


def _one_sleeps_and_another_dies(rng: Random, names: tuple[str, ...], at_ms: int) -> Ambush:
    """As many sleep as a view can do without, then one more dies; when they wake there is a quorum again."""
    order = rng.sample(names, len(names))
    count = (len(order) - 1) // 2
    for_ms = rng.randint(*REACTION_MS) + rng.choice((3_000, LONG_MS[0]))
    sleep = [TroubleEvent(Fault.PAUSE, at_ms, for_ms, (name,)) for name in order[:count]]
    dies = TroubleEvent(Fault.CRASH, at_ms + rng.randint(200, 1_400), 0, tuple(order[count:]), "refuses")
    return Ambush("one sleeps and another dies", (*sleep, dies), for_ms + REACTION_MS[1])


def _the_registry_stops(rng: Random, names: tuple[str, ...], at_ms: int) -> Ambush:
    """More newcomers than members wait for a registry that stops with what it was asked, or starts again empty."""
    late = names[min(2, len(names) - 1) :]
    for_ms = rng.randint(1_500, 6_000)
    comes = [TroubleEvent(Move.JOIN, at_ms + rng.randint(50, for_ms), order=(name,)) for name in late]
    stops = TroubleEvent(Fault.OUTAGE, at_ms, for_ms, (), STOPPED)
    forgets = TroubleEvent(Fault.AMNESIA, at_ms, for_ms)
    return Ambush("the registry stops", (rng.choice((stops, forgets, forgets)), *comes), for_ms + LONG_MS[0], late)


def _all_leave_but_one(rng: Random, names: tuple[str, ...], at_ms: int) -> Ambush:
    """One is cut off, all others leave, somebody comes, and the cut heals."""
    *others, lonely = rng.sample(names[:-1], len(names) - 1)
    leave_ms = at_ms + rng.randint(*REACTION_MS)
    come_ms = leave_ms + rng.randint(1_000, 6_000)
    for_ms = come_ms - at_ms + rng.randint(1_000, 6_000)
    cut = TroubleEvent(Fault.PARTITION, at_ms, for_ms, (), "silent", sides=((lonely,), tuple(others)))
    leave = [TroubleEvent(Move.LEAVE, leave_ms + rng.randint(0, 400), 0, (name,), DISSOLVES) for name in others]
    comes = TroubleEvent(Move.JOIN, come_ms, order=names[-1:])
    return Ambush("all leave but one", (cut, *leave, comes), for_ms, names[-1:])


def _all_are_replaced(rng: Random, names: tuple[str, ...], at_ms: int) -> Ambush:
    """One is cut off; newcomers come, and when they are in, all whom it knew leave."""
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


def _apart(names: tuple[str, ...], at_ms: int, for_ms: int) -> TroubleEvent:
    return TroubleEvent(Fault.PARTITION, at_ms, for_ms, names, "silent", sides=tuple((name,) for name in names))


_Drawn = Callable[[Random, tuple[str, ...], int], Ambush]
_ALWAYS: tuple[_Drawn, ...] = (_all_are_cut_off, _one_sleeps_and_another_dies)
_WITH_NEWCOMERS: tuple[_Drawn, ...] = (
    _a_newcomer_meets_an_outage,
    _the_registry_stops,
    _all_leave_but_one,
    _all_are_replaced,
)
