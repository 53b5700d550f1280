"""The audit and the simulator's checkers hold each ordering to what DELIVERY_LOG.md promises of it.

Both derive it from one table (`gcom.values.definition`); this one is independent of it.
"""

from __future__ import annotations

import pytest

from gcom.audit.rules.judging import expected_rules
from gcom.sim.checkers import rules_of
from gcom.values.definition import Definition, Multicast, Ordering

ALWAYS = {"NO_CREATION", "NO_DUPLICATION", "SENDING_VIEW", "CLOCK", "VIEW_AGREEMENT", "ONE_LEADER", "CONTINUITY"}
RELIABLE = {"SELF_DELIVERY", "AGREEMENT", "VIRTUAL_SYNCHRONY"}
SERIALS = {"TOTAL", "SERIAL_UNIQUE", "SERIAL_CONTIGUOUS"}
# By ordering: the rules expected, those expected besides over RELIABLE, and the checkers of the simulator.
PROMISED: dict[str, tuple[set[str], set[str], set[str]]] = {
    "NONORDERED": (set(), set(), set()),
    "FIFO": ({"FIFO"}, set(), {"FifoOrder"}),
    "CAUSAL": ({"FIFO", "CAUSAL"}, set(), {"FifoOrder", "CausalOrder", "WholePast"}),
    "TOTAL": (SERIALS, {"TOTAL_GAP_FREE"}, {"TotalOrder", "Serials", "SameSequence"}),
    "CAUSALTOTAL": (
        {"FIFO", "CAUSAL", *SERIALS},
        {"TOTAL_GAP_FREE"},
        {"FifoOrder", "CausalOrder", "WholePast", "TotalOrder", "Serials", "SameSequence"},
    ),
}
OF_ORDERS = {checker for _, _, checkers in PROMISED.values() for checker in checkers}
OVER_RELIABLE = {"WholePast", "SameSequence"}


def test_every_ordering_has_a_row() -> None:
    assert set(PROMISED) == set(Ordering)


@pytest.mark.parametrize("ordering", PROMISED)
@pytest.mark.parametrize("multicast", list(Multicast))
def test_the_audit_expects_what_is_promised(ordering: str, multicast: Multicast) -> None:
    rules, over_reliable, _ = PROMISED[ordering]
    reliable = RELIABLE | over_reliable if multicast is Multicast.RELIABLE else set()
    found = expected_rules({"ordering": ordering, "multicast": str(multicast)}, digests=False)
    assert found == ALWAYS | rules | reliable


def test_an_ordering_that_nobody_knows_promises_none() -> None:
    assert expected_rules({"ordering": "ALPHABETIC", "multicast": "BASIC"}, digests=False) == ALWAYS


@pytest.mark.parametrize("ordering", PROMISED)
@pytest.mark.parametrize("multicast", list(Multicast))
def test_the_simulator_checks_what_is_promised(ordering: str, multicast: Multicast) -> None:
    *_, checkers = PROMISED[ordering]
    found = {kind.__name__ for kind in rules_of(Definition.parse("g", ordering, multicast))}
    assert found & OF_ORDERS == (checkers if multicast is Multicast.RELIABLE else checkers - OVER_RELIABLE)
