"""The core, broken in one place at a time."""

from tests.sim.mutants import changes, continuity, letters, membership, multicast, orders, state
from tests.sim.mutants.table import MUTANTS, SEEDS, Catch, Mutant, hunt, replay

__all__ = [
    "MUTANTS",
    "SEEDS",
    "Catch",
    "Mutant",
    "changes",
    "continuity",
    "hunt",
    "letters",
    "membership",
    "multicast",
    "orders",
    "replay",
    "state",
]
