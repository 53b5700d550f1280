"""The core, broken in one place at a time."""

from tests.sim.mutants import changes, letters, membership, multicast, orders
from tests.sim.mutants.table import MUTANTS, SEEDS, Catch, Mutant, hunt

__all__ = [
    "AT_LARGE",
    "MUTANTS",
    "SEEDS",
    "Catch",
    "Mutant",
    "changes",
    "hunt",
    "letters",
    "membership",
    "multicast",
    "orders",
]

# Not caught by their 50 seeds, and why that is. The table hunts them all the same: one that is caught is to leave.
AT_LARGE = frozenset(
    {
        # The ballot's owner is one of three guards. Who proposes needs a quorum's suspicion of all above it, and the
        # promise of every member that it does not suspect, the other proposer's with its value among them.
        "trace_02_ballots_name_no_proposer",
        # A serial whose payload nobody holds while a message that depends on it is held: the sender must die after its
        # WANT has been answered to another and before a second copy is out, and its one reader after one copy of the
        # answer. It is a golden scenario (tests/core/scenarios/test_traces.py); no plan has come there yet.
        "trace_09_a_serial_is_delivered_though_nobody_has_its_past",
        # Who lacks a payload of a view that others have left was suspected when they left it, and mostly the next view
        # can put it out. It is seen only where it is needed for a quorum there.
        "the_last_views_payloads_are_dropped_with_the_view",
        "the_last_views_payloads_are_dropped_though_a_suspect_lacks_them",
    }
)
