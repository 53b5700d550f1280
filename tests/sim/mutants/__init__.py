"""The core, broken in one place at a time."""

from tests.sim.mutants import (
    boundary,
    changes,
    continuity,
    envelopes,
    links,
    membership,
    multicast,
    orders,
    registries,
    signing,
    state,
    strangers,
)
from tests.sim.mutants.table import MUTANTS, SEEDS, TOLD, Catch, Mutant, hunt, replay

__all__ = [
    "MUTANTS",
    "SEEDS",
    "TOLD",
    "Catch",
    "Mutant",
    "boundary",
    "changes",
    "continuity",
    "envelopes",
    "hunt",
    "links",
    "membership",
    "multicast",
    "orders",
    "registries",
    "replay",
    "signing",
    "state",
    "strangers",
]
