"""Mutants: what one is, the seed that is recorded for it, and the hunt: seed after seed, each in a core broken anew."""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from itertools import islice
from pathlib import Path

import pytest

from gcom.sim.checkers import Violation
from gcom.sim.faults import healing
from gcom.sim.plan.draw import ENDS, draw
from gcom.sim.plan.events import Fault, Move
from gcom.sim.plan.plan import Plan
from gcom.sim.world import World
from gcom.values.definition import Multicast, Ordering, TieBreaker
from tests.sim import corpus

# A mutant is hunted with the first 50 of these seeds whose groups use what it breaks.
SEEDS = range(1, 8001)
TRIES = 50
# A broken group that never comes to life would talk for a minute. In half of that the whole core passes every recorded
# seed, and no mutant escapes; in a third it fails one.
LIVE_MS = 30_000
TESTS = Path(__file__).parents[2]
RECORD = Path(__file__).with_name("seeds.json")  # written by `make seeds`: for each mutant the seed that catches it

Patch = pytest.MonkeyPatch
When = Callable[[Plan], bool]
Aim = Callable[[Plan], Plan]


@dataclass(frozen=True, slots=True)
class Mutant:
    """A core broken by `mutate`, in groups for which all of `when` holds; `aim` leads them where it is seen."""

    name: str
    mutate: Callable[[Patch], None]
    when: tuple[When, ...]
    aim: Aim | None

    def matters_in(self, plan: Plan) -> bool:
        """Whether what is broken is used in such a group at all."""
        return all(holds(plan) for holds in self.when)

    def seeds(self) -> list[int]:
        """Which seeds to try, in this order."""
        return list(islice((seed for seed in SEEDS if self.matters_in(_plan(seed))), TRIES))

    def plan(self, seed: int) -> Plan:
        """Return the plan of a seed's run."""
        return _plan(seed, self.aim)

    def is_clean(self, seed: int) -> bool:
        """Whether the whole core passes a seed."""
        return _is_clean(seed, self.aim)

    def caught_by(self, seed: int) -> str:
        """Return what is said of a seed that the whole core passes; empty if nothing, or if the whole core fails."""
        said = self.run(seed)
        return said if said and self.is_clean(seed) else ""

    def run(self, seed: int) -> str:
        """Return the words of the checkers or the healed phase on a seed; empty if nothing.

        Another exception than a Violation does not count: an assertion of the core would be no merit of the checkers.
        """
        with Patch.context() as patch:
            self.mutate(patch)
            try:
                _play(self.plan(seed))
            except Violation as violation:
                return "" if str(violation).startswith("VACUOUS") else str(violation)
            except Exception:  # outermost: of a run of a broken core
                return ""
        return ""


def _play(plan: Plan) -> None:
    with Patch.context() as patch:
        patch.setattr(healing, "LIVE_MS", LIVE_MS)
        World(plan).run()


@cache
def _plan(seed: int, aim: Aim | None = None) -> Plan:
    # With one registry, unsigned, not in phases: what came later changes a part of all runs, and with them which seed
    # catches what.
    return aim(_plan(seed)) if aim else draw(seed, several=False, signed=False, in_phases=False, lied_to=False)


@cache
def _is_clean(seed: int, aim: Aim | None) -> bool:
    if aim is None and corpus.holds(seed):  # most mutants are caught by seeds that the session runs anyway
        return not corpus.ran(seed).violation
    try:
        _play(_plan(seed, aim))
    except Exception:  # outermost: of a run, and a defect is no clean one
        return False
    return True


@dataclass(frozen=True, slots=True)
class Catch:
    """The fate of a mutant: the seed that caught it and what was said, or nothing after so many seeds."""

    name: str
    tried: int
    seed: int = 0
    said: str = ""

    def row(self) -> str:
        """For people."""
        where = f"seed {self.seed:<5} {self.tried:>2} tried" if self.said else f"SURVIVES {self.tried:>5} tried"
        return f"{self.name:<66} {where}  {self.said.splitlines()[0][:150] if self.said else ''}"


MUTANTS: dict[str, Mutant] = {}


def mutant(*when: When, aim: Aim | None = None) -> Callable[[Callable[[Patch], None]], Callable[[Patch], None]]:
    """Put a function that breaks the core into the table, under its own name."""

    def put(mutate: Callable[[Patch], None]) -> Callable[[Patch], None]:
        MUTANTS[mutate.__name__] = Mutant(mutate.__name__, mutate, when, aim)
        return mutate

    return put


def hunt(name: str) -> Catch:
    """Try seeds until one catches a mutant; one that the whole core fails catches nothing."""
    found = MUTANTS[name]
    tried = 0
    for tried, seed in enumerate(found.seeds(), 1):
        if said := found.caught_by(seed):
            return Catch(name, tried, seed, said)
    return Catch(name, tried)


def recorded() -> dict[str, int]:
    """Return the recorded seeds by mutant."""
    seeds: dict[str, int] = json.loads(RECORD.read_text())
    return seeds


def replay(name: str) -> Catch:
    """Try the recorded seed alone."""
    seed = recorded().get(name, 0)
    return Catch(name, 1, seed, MUTANTS[name].caught_by(seed)) if seed else Catch(name, 0)


@dataclass(frozen=True, slots=True)
class Told:
    """A core broken where no simulated group comes, or where its checkers do not look: a `scenario`, a test on the
    hand-driven network, tells it.
    """

    name: str
    mutate: Callable[[Patch], None]
    scenario: Callable[[], None]

    def said(self) -> str:
        """Return the scenario's words, or nothing. An assertion of the core's own would be no merit of the test."""
        with Patch.context() as patch:
            self.mutate(patch)
            try:
                self.scenario()
            except Violation as violation:
                return str(violation)
            except AssertionError as error:
                said_in = Path(traceback.extract_tb(error.__traceback__)[-1].filename)
                return str(error) or "an assertion failed" if TESTS in said_in.parents else ""
        return ""


TOLD: dict[str, Told] = {}


def told_by(scenario: Callable[..., None], *given: object) -> Callable[[Callable[[Patch], None]], None]:
    """Put a function that breaks the core into the table of those that a test tells, under its own name."""

    def put(mutate: Callable[[Patch], None]) -> None:
        TOLD[mutate.__name__] = Told(mutate.__name__, mutate, partial(scenario, *given))

    return put


# In which groups a mutant matters


def reliable(plan: Plan) -> bool:
    return plan.definition.multicast is Multicast.RELIABLE


def basic(plan: Plan) -> bool:
    return plan.definition.multicast is Multicast.BASIC


def safe(plan: Plan) -> bool:
    return plan.definition.safe


def unsafe(plan: Plan) -> bool:
    return not plan.definition.safe


def fifo(plan: Plan) -> bool:
    return plan.definition.ordering is Ordering.FIFO


def causal(plan: Plan) -> bool:
    return plan.definition.ordering is Ordering.CAUSAL


def total(plan: Plan) -> bool:
    return plan.definition.total


def causal_total(plan: Plan) -> bool:
    return plan.definition.ordering is Ordering.CAUSALTOTAL


def dynamic(plan: Plan) -> bool:
    return not plan.definition.static


def static(plan: Plan) -> bool:
    return bool(plan.definition.static)


def even(plan: Plan) -> bool:
    return plan.members % 2 == 0


def of_three(plan: Plan) -> bool:
    return plan.members >= 3


def of_four(plan: Plan) -> bool:
    return plan.members >= 4


def of_five(plan: Plan) -> bool:
    return plan.members >= 5


def of_six(plan: Plan) -> bool:
    return plan.members >= 6


def keeping(plan: Plan) -> bool:
    """All applications keep a state, and one joins."""
    return len(plan.keepers) == plan.members and any(event.kind in (Move.JOIN, Move.LEAVE) for event in plan.events)


def small_window(plan: Plan) -> bool:
    return plan.window <= 100


def posting(plan: Plan) -> bool:
    return plan.posting > 0


def witnessed(plan: Plan) -> bool:
    return plan.definition.tie_breaker is TieBreaker.REGISTRY


def hit_by(*kinds: Fault) -> When:
    """Groups whose plan has an event of one of these kinds."""
    return lambda plan: any(event.kind in kinds for event in plan.events)


def stalls(*details: str, until: tuple[str, ...] = ENDS, whom: str = "", most: int = 9) -> When:
    """Groups in which somebody pauses over a call with one of these, when at most so many have had one."""
    return lambda plan: any(
        event.kind is Fault.STALL
        and (event.detail in details and event.until in until and event.whom == whom)
        and event.count <= most
        for event in plan.events
    )


def dies_over(detail: str, *counts: int, last: bool = False, whom: str = "") -> When:
    """Groups in which somebody crashes over a call with this, so many having had one."""
    return lambda plan: any(
        (event.kind, event.detail, event.last, event.whom) == (Fault.FRAME, detail, last, whom)
        and (not counts or event.count in counts)
        for event in plan.events
    )


def of_slow_calls(plan: Plan) -> bool:
    return plan.delay_ms >= 20


def quiet(plan: Plan) -> bool:
    return plan.silent


def forgets(plan: Plan) -> bool:
    """The registry starts again at the heal."""
    return plan.forgets


def lossy(plan: Plan) -> bool:
    return bool(plan.rates.get(Fault.LOSS))


def split_for_long(plan: Plan) -> bool:
    """A side without a quorum has time to find that out, and to be found out."""
    return any(event.kind is Fault.PARTITION and event.for_ms > 6_500 and event.at_ms < 2_500 for event in plan.events)


def gone_silently(plan: Plan) -> bool:
    return any(event.kind is Fault.CRASH and event.detail == "machine" and not event.for_ms for event in plan.events)


def intruded(plan: Plan) -> bool:
    return any(event.kind is Move.INTRUDE for event in plan.events)


def of_just(count: int) -> When:
    return lambda plan: plan.members == count


def of_at_most(count: int) -> When:
    return lambda plan: plan.members <= count


def leaving(plan: Plan) -> bool:
    return any(event.kind == "leave" for event in plan.events)
