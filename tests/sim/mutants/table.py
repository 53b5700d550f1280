"""What a mutant is, and the hunt for one: seed after seed, each in a core that is broken anew."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from gcom.sim.checkers import Violation
from gcom.sim.plan import Fault, Plan, draw
from gcom.sim.world import World
from gcom.values.definition import Multicast, Ordering

# The seeds of the table: the whole core passes all of them, and each mutant fails at least one.
SEEDS = tuple(range(1, 51))

Patch = pytest.MonkeyPatch
When = Callable[[Plan], bool]


@dataclass(frozen=True, slots=True)
class Mutant:
    """A core broken by `mutate`, in groups for which all of `when` holds; seeds `first` are tried first."""

    name: str
    mutate: Callable[[Patch], None]
    when: tuple[When, ...]
    first: tuple[int, ...]

    def matters_in(self, plan: Plan) -> bool:
        """Whether what is broken is used in such a group at all."""
        return all(holds(plan) for holds in self.when)

    def seeds(self, among: tuple[int, ...] = SEEDS) -> list[int]:
        """Which seeds to try, in this order."""
        found = [seed for seed in among if self.matters_in(draw(seed))]
        return sorted(found, key=lambda seed: self.first.index(seed) if seed in self.first else len(self.first))

    def run(self, seed: int) -> str:
        """What the checkers or the healed phase say of a seed; empty if nothing.

        Another exception than a Violation does not count: an assertion of the core would be no merit of the checkers.
        """
        with Patch.context() as patch:
            self.mutate(patch)
            try:
                World(draw(seed)).run()
            except Violation as violation:
                return "" if str(violation).startswith("VACUOUS") else str(violation)
            except Exception:  # outermost: of a run of a broken core
                return ""
        return ""


@dataclass(frozen=True, slots=True)
class Catch:
    """What became of a mutant: the seed that caught it and what was said, or nothing after so many seeds."""

    name: str
    tried: int
    seed: int = 0
    said: str = ""

    def row(self) -> str:
        """For people."""
        where = f"seed {self.seed:<5} {self.tried:>2} tried" if self.said else f"SURVIVES {self.tried:>5} tried"
        return f"{self.name:<66} {where}  {self.said.splitlines()[0][:150] if self.said else ''}"


MUTANTS: dict[str, Mutant] = {}


def mutant(*when: When, first: tuple[int, ...] = ()) -> Callable[[Callable[[Patch], None]], Callable[[Patch], None]]:
    """Put a function that breaks the core into the table, under its own name."""

    def put(mutate: Callable[[Patch], None]) -> Callable[[Patch], None]:
        MUTANTS[mutate.__name__] = Mutant(mutate.__name__, mutate, when, first)
        return mutate

    return put


def hunt(name: str, among: tuple[int, ...] = SEEDS) -> Catch:
    """Try seeds until one catches a mutant."""
    found = MUTANTS[name]
    tried = 0
    for tried, seed in enumerate(found.seeds(among), 1):
        said = found.run(seed)
        if said:
            return Catch(name, tried, seed, said)
    return Catch(name, tried)


# In which groups a mutant matters


def reliable(plan: Plan) -> bool:
    return plan.definition.multicast is Multicast.RELIABLE


def basic(plan: Plan) -> bool:
    return plan.definition.multicast is Multicast.BASIC


def safe(plan: Plan) -> bool:
    return plan.definition.safe


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


def of_five(plan: Plan) -> bool:
    return plan.members >= 5


def small_window(plan: Plan) -> bool:
    return plan.window <= 100


def hit_by(*kinds: Fault) -> When:
    """Groups whose plan has an event of one of these kinds."""
    return lambda plan: any(event.kind in kinds for event in plan.events)


def leaving(plan: Plan) -> bool:
    return any(event.kind == "leave" for event in plan.events)
