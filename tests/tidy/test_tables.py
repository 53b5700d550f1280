"""The state tables in docs/protocols are those of the code, and each table is whole."""

from __future__ import annotations

import pytest

from tests.tables import MACHINES, Machine, block
from tests.tidy.source import ROOT

NOTES = ROOT / "docs" / "protocols"
STATELESS = {
    "continuity",  # told of the machines whose tables other notes have
    "connectivity",  # what is computed anew from what members say, at every look
    "registries",  # whom a request goes to; what is said is the home's state
    "security",  # handshakes, which end with what they decide
    "signing",  # each run is judged by its bytes alone
}


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.place)
def test_a_note_has_the_table_of_the_code(machine: Machine) -> None:
    text = (NOTES / f"{machine.note}.md").read_text("utf-8")
    assert block(text, machine) == machine.render(), "make notes brings it up to date"


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.place)
def test_a_table_lists_every_state_and_what_may_follow_is_entered_somewhere(machine: Machine) -> None:
    assert set(machine.follows) == set(machine.states)
    following = {state for states in machine.follows.values() for state in states}
    assert {state for state, where in machine.entered.items() if where} == following


def test_every_note_has_one() -> None:
    assert {path.stem for path in NOTES.glob("*.md")} - {"index"} == {machine.note for machine in MACHINES} | STATELESS
